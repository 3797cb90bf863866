"""What readers of a run's statistics rely on: rows that must be there, with numbers a counter can hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from apuflow.gem5.stats.objects import ACTIVE, LAUNCHED, UNITS, Machine, Objects
from apuflow.gem5.stats.rows import Damage

_LARGEST = 2.0**53
"""gem5 counts in doubles, which cannot count further by ones."""

_AS_MANY: tuple[tuple[str, str], ...] = (
    ("ScheduleStage.rdyListNotEmpty", "ScheduleStage.rdyListEmpty"),
    ("ExecStage.numCyclesWithInstrTypeIssued", "ExecStage.numCyclesWithNoInstrTypeIssued"),
)
"""Vectors of a compute unit that have the same elements."""


@dataclass(frozen=True)
class RequiredRow:
    """A row that readers of the statistics rely on.

    Attributes:
        names: its names in different releases: ``CUs*.x`` of every compute unit, ``.x`` of the shader,
            ``array*.x`` of every element of ``system.array``; a ``*`` at the end stands for anything.
        optional: gem5 leaves it out while it is zero.
    """

    names: tuple[str, ...]
    optional: bool = False


def check_required_rows(required: Sequence[RequiredRow], machine: Machine) -> None:
    """Find every row that is relied on.

    Raises:
        Damage: one is missing or holds what no counter can hold.
    """
    if not required:
        return
    if machine.shader is None:
        raise Damage(f"the block that ends here holds no GPU: no row ends in {ACTIVE}")
    for row in required:
        _check_row(row, machine)
    units = machine.arrays.get(UNITS, {})
    for pair in _AS_MANY:
        first, second = ({name.partition("::")[2] for name in _names(f"{one}::*", units)} for one in pair)
        if first != second:
            lost = min(first ^ second)
            vector = pair[0] if lost not in first else pair[1]
            raise Damage(f"in the block that ends here a compute unit has no {vector}::{lost}")


def _check_row(required: RequiredRow, machine: Machine) -> None:
    lacking = []
    for pattern in required.names:
        rows = list(_find(pattern, machine)) or [(pattern, None)]
        lacking += [name for name, value in rows if value is None][:1]
        for name, value in rows:
            if value is not None:
                _check_number(name, value, machine)
    if len(lacking) == len(required.names) and not required.optional:
        raise Damage(f"the block that ends here has no {lacking[0]}")
    for pattern in required.names:
        if pattern.endswith("::total"):
            _check_totals(pattern, machine)


def _find(pattern: str, machine: Machine) -> Iterator[tuple[str, float | None]]:
    """The rows that a pattern names, with their numbers; None: the row is not there."""
    array, star, rest = pattern.partition("*.")
    if pattern.endswith(LAUNCHED):
        choices = [name for name in machine.rows if name.endswith(LAUNCHED)] or [pattern]
    elif star:
        prefix = f"{machine.shader if array == UNITS else 'system'}.{array}"
        objects = machine.arrays.get(array, {})
        names = (_names(rest, objects) if "*" in rest else None) or [rest]
        yield from (
            (f"{prefix}{index}.{name}", rows.get(name)) for index, rows in objects.items() for name in names
        )
        return
    elif pattern.startswith("."):
        choices = [f"{machine.shader}{pattern}"]
    else:
        name = f"system.{pattern}" if "." in pattern else pattern
        choices = [f"{name}::total", name] if "_Controller." in name else [name]
    found = next((name for name in choices if name in machine.rows), choices[-1])
    yield found, machine.rows.get(found)


def _names(pattern: str, objects: Objects) -> list[str]:
    """The rows of the first object that match; a ``*`` stands for anything."""
    every = re.compile(re.escape(pattern).replace(r"\*", r"[^.]*"))
    return [name for name in next(iter(objects.values()), {}) if every.fullmatch(name)]


def _check_number(name: str, value: float, machine: Machine) -> None:
    """A counter holds a number that it can have reached; a mean is nan where there are no samples."""
    if name.endswith("::mean") and machine.rows.get(f"{name.removesuffix('mean')}samples") == 0:
        return
    if not 0 <= value <= _LARGEST:
        raise Damage(f"in the block that ends here {name} is {value:.17g}: no counter holds that")


def _check_totals(pattern: str, machine: Machine) -> None:
    """The elements of a vector add up to its total."""
    array, _, total = pattern.partition("*.")
    base = total.removesuffix("total")
    for index, rows in machine.arrays.get(array, {}).items():
        parts = sum(value for name, value in rows.items() if name.startswith(base) and name != total)
        if parts != rows.get(total, 0):
            raise Damage(
                f"in the block that ends here the rows {array}{index}.{base}... "
                f"add up to {parts:.0f}, not to their total"
            )
