"""What readers of a run's statistics rely on: rows that must be there, with numbers a counter can hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from apuflow.run.proof_block import Block, Objects
from apuflow.run.proof_rows import Damage
from apuflow_analysis.counters.table import ACTIVE, LAUNCHED

_LARGEST = 2.0**53
"""gem5 counts in doubles, which cannot count further by ones."""

Row = tuple[str, bytes | None]
"""The name of a row and its value as printed; None: it is not there."""


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


@dataclass(frozen=True)
class RequiredRows:
    """Everything that readers of the statistics rely on.

    Attributes:
        rows: what must be there.
        as_many: vectors of a compute unit that have the same elements.
    """

    rows: tuple[RequiredRow, ...] = ()
    as_many: tuple[tuple[str, str], ...] = ()


def check_required_rows(required: RequiredRows, block: Block) -> None:
    """Find every row that is relied on.

    Raises:
        Damage: one is missing or holds what no counter can hold.
    """
    if required.rows and block.shader is None:
        raise Damage(f"the block that ends here holds no GPU: no row ends in {ACTIVE}")
    for row in required.rows:
        _check_row(row, block)
    for pair in required.as_many:
        _check_as_many(pair, block.arrays.get("CUs", {}))


def _check_row(required: RequiredRow, block: Block) -> None:
    lacking = []
    for pattern in required.names:
        rows = list(_find(pattern, block))
        missing = [name for name, value in rows if value is None] if rows else [pattern]
        lacking += missing[:1]
        for name, value in rows:
            if value is not None:
                _check_number(name, value, block)
    if len(lacking) == len(required.names) and not required.optional:
        raise Damage(f"the block that ends here has no {lacking[0]}")
    for pattern in required.names:
        if pattern.endswith("::total"):
            _check_totals(pattern, block)


def _find(pattern: str, block: Block) -> Iterator[Row]:
    """The rows that a pattern names."""
    array, star, rest = pattern.partition("*.")
    shader = (block.shader or b"").decode()
    if pattern.endswith(LAUNCHED):
        launched = (row for row in block.values.items() if row[0].endswith(LAUNCHED.encode()))
        yield next(((name.decode(), value) for name, value in launched), (pattern, None))
    elif star:
        prefix = f"{shader}.{array}" if array == "CUs" else f"system.{array}"
        objects = block.arrays.get(array, {})
        names = _names((rest,), objects) or [rest.encode()]
        for index, rows in objects.items():
            for row in names:
                yield f"{prefix}{index.decode()}.{row.decode()}", rows.get(row)
    else:
        name = pattern if "." not in pattern else f"system.{pattern}"
        name = shader + pattern if pattern.startswith(".") else name
        total = f"{name}::total" if "_Controller." in name else name
        yield next(
            (
                (row_name, block.values[row_name.encode()])
                for row_name in (total, name)
                if row_name.encode() in block.values
            ),
            (name, None),
        )


def _names(patterns: Sequence[str], objects: Objects) -> list[bytes]:
    """The rows of the first object that match; a ``*`` stands for anything."""
    first: Mapping[bytes, bytes] = next(iter(objects.values()), {})
    if not any("*" in pattern for pattern in patterns):
        return [name for name in (pattern.encode() for pattern in patterns) if name in first]
    every = re.compile("|".join(re.escape(name).replace(r"\*", r"[^.]*") for name in patterns).encode())
    return [name for name in first if every.fullmatch(name)]


def _check_number(name: str, value: bytes, block: Block) -> None:
    """A counter holds a number that it can have reached; a mean is nan where there are no samples."""
    if name.endswith("::mean") and block.values.get(f"{name.removesuffix('mean')}samples".encode()) == b"0":
        return
    if not 0 <= float(value) <= _LARGEST:
        raise Damage(f"in the block that ends here {name} is {value.decode()}: no counter holds that")


def _check_totals(pattern: str, block: Block) -> None:
    """The elements of a vector add up to its total."""
    array, _, rest = pattern.partition("*.")
    total, base = rest.encode(), rest.removesuffix("total").encode()
    for index, rows in block.arrays.get(array, {}).items():
        parts = sum(float(value) for name, value in rows.items() if name.startswith(base) and name != total)
        if parts != float(rows.get(total, b"0")):
            raise Damage(
                f"in the block that ends here the rows {array}{index.decode()}.{base.decode()}... "
                f"add up to {parts:.0f}, not to their total"
            )


def _check_as_many(pair: tuple[str, str], units: Objects) -> None:
    first, second = (
        {name.partition(b"::")[2] for name in _names((f"{vector}::*",), units)} for vector in pair
    )
    if first != second:
        lost = min(first ^ second).decode()
        vector = pair[0] if lost.encode() not in first else pair[1]
        raise Damage(f"in the block that ends here a compute unit has no {vector}::{lost}")
