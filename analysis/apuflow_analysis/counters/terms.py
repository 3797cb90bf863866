"""Evaluate the ``stats`` expressions of the counter table over one dump.

Whatever read the dump, it is laid out here as a ``Snapshot``: the rows of every compute unit by their name
within the unit, and all other rows by their full name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from apuflow.core.errors import AnalysisError
from apuflow.gem5.stats.checks import LAUNCHED
from apuflow_analysis.counters.table import ARRAYS, COUNTERS, GPU_MEMORY, RELATED_ARRAYS, VALU_CYCLES

NAN = math.nan
_LARGEST = 2.0**53
UNIT = "CUs*."
_RANKS = ".rank*."
_WORDS = re.compile(r"\s+([+|-])\s+")
_MEAN = re.compile(r"samples\*mean\((.*)\)(?: mod (\d+))?")

Lookup = Callable[[str], float | None]


@dataclass(frozen=True)
class Term:
    """One summand: ``sign`` times the sum over the pattern's objects; sums of samples modulo ``modulus``.

    ``optional``: rows that are absent count as 0.
    """

    sign: int
    pattern: str
    mean: bool = False
    modulus: float = math.inf
    optional: bool = False


@dataclass(frozen=True)
class Snapshot:
    """What the counters need of a dump.

    Attributes:
        shader: name of the GPU, ``system.cpu3``.
        units: the wanted rows of each compute unit, by name within the unit.
        row: number of any other row by its full name, ``None`` if it is not there.
        launched: number of kernels launched, ``None`` if the dispatcher is not there.
        slots: wavefront slots of a compute unit; NaN if unknown.
        whole: whether ``units`` have all their rows.
    """

    shader: str
    units: Sequence[Mapping[str, float]]
    row: Lookup
    launched: float | None
    slots: float
    whole: bool = False

    @cached_property
    def unit_rows(self) -> Sequence[str]:
        """Names of the rows that any compute unit has."""
        return tuple(dict.fromkeys(name for unit in self.units for name in unit))


@cache
def parse(expression: str) -> tuple[tuple[Term, ...], ...]:
    """Alternatives (``|``) of sums of terms."""
    alternatives: list[list[Term]] = [[]]
    sign = 1
    for word in _WORDS.split(expression):
        if word in ("+", "-"):
            sign = 1 if word == "+" else -1
        elif word == "|":
            alternatives.append([])
            sign = 1
        else:
            name, absent = word.removesuffix("?"), word.endswith("?")
            mean = _MEAN.fullmatch(name)
            modulus = float(mean[2]) if mean and mean[2] else math.inf
            alternatives[-1].append(Term(sign, mean[1] if mean else name, mean is not None, modulus, absent))
    return tuple(tuple(terms) for terms in alternatives)


@cache
def unit_rows() -> tuple[str, ...]:
    """The rows that counters need of every compute unit; a ``*`` stands for anything."""
    wanted: dict[str, None] = {VALU_CYCLES: None}
    for counter in COUNTERS:
        for terms in parse(counter.stats) if counter.stats else ():
            for term in terms:
                if term.pattern.startswith(UNIT):
                    name = term.pattern[len(UNIT) :]
                    wanted |= dict.fromkeys((f"{name}::samples", f"{name}::mean") if term.mean else (name,))
    return tuple(wanted)


def relied_on() -> tuple[tuple[tuple[str, ...], bool], ...]:
    """The rows that counters are read from: names in different releases, and whether absence means 0."""
    rows: dict[tuple[str, ...], bool] = {(f"{array}*{probe}",): False for array, probe in ARRAYS.items()}
    for counter in COUNTERS:
        alternatives = parse(counter.stats) if counter.stats else ()
        for terms in zip(*alternatives, strict=True):
            names = tuple(term.pattern for term in terms)
            ends = ("::samples", "::mean") if terms[0].mean else ("",)
            for end in ends:
                row = tuple(name + end for name in names)
                rows[row] = rows.get(row, True) and (not counter.needed or terms[0].optional)
    return tuple(rows.items())


def evaluate(expression: str, dump: Snapshot, optional: bool) -> float:
    """The value of an expression (``counters.table``); NaN when the dump lacks what it needs.

    Args:
        optional: rows that are absent count as 0.
    """
    for terms in parse(expression):
        values = [0.0 if (v := _term(t, dump)) is None and t.optional else v for t in terms]
        if any(value is not None for value in values) and (optional or None not in values):
            return math.fsum(t.sign * (v or 0.0) for t, v in zip(terms, values, strict=True))
    return 0.0 if optional else NAN


def elements(array: str, row: Lookup) -> list[str]:
    """The full names of an array's elements (``system.l1_tlb``, or ``system.l1_tlb0`` and so on)."""
    probe = ARRAYS.get(array) or RELATED_ARRAYS[array]
    if row(f"system.{array}{probe}") is not None:
        return [f"system.{array}"]
    names: list[str] = []
    while row(f"system.{array}{len(names)}{probe}") is not None:
        names.append(f"system.{array}{len(names)}")
    return names


def _term(term: Term, dump: Snapshot) -> float | None:
    if term.mean:
        return _samples_times_mean(term, dump)
    pattern = term.pattern
    if pattern.startswith(UNIT):
        return _sum_units(pattern[len(UNIT) :], dump)
    if pattern.endswith(LAUNCHED):
        return None if dump.launched is None else _counted(pattern, dump.launched)
    if pattern.startswith("."):
        return _plain(dump.shader + pattern, dump.row)
    if "*" in pattern:
        array, _, rest = pattern.partition("*")
        own = elements(GPU_MEMORY[array], dump.row) if array in GPU_MEMORY else ()
        values = [_plain(name + rest, dump.row) for name in own or elements(array, dump.row)]
        return _sum(values)
    return _plain(f"system.{pattern}" if "." in pattern else pattern, dump.row)


def matches(pattern: str, name: str) -> bool:
    """Whether a row of a compute unit is one that a pattern with ``*`` stands for."""
    return _expression(pattern).fullmatch(name) is not None


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    return re.compile(re.escape(pattern).replace(r"\*", "[^.]*"))


def _sum(values: Iterable[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return math.fsum(present) if present else None


def _plain(name: str, row: Lookup) -> float | None:
    """A scalar, or the total of a vector (a vector of one element is printed as a scalar)."""
    if _RANKS in name:
        return _of_ranks(name, row)
    total = row(f"{name}::total") if "::" not in name and "_Controller." in name else None
    value = row(name) if total is None else total
    return None if value is None else _counted(name, value)


def _of_ranks(name: str, row: Lookup) -> float | None:
    """A number of all ranks of a memory channel."""
    values: list[float | None] = []
    while (value := _plain(name.replace(_RANKS, f".rank{len(values)}."), row)) is not None:
        values.append(value)
    return _sum(values)


def _counted(name: str, value: float) -> float:
    """A number that a counter can hold: gem5 counts in doubles, which cannot count further by ones."""
    if not 0 <= value <= _LARGEST:
        message = "the statistics are damaged: no counter holds this number"
        remedy = "make the run again, or read another copy of the file"
        raise AnalysisError(message, key=name, value=value, remedy=remedy)
    return value


def _sum_units(name: str, dump: Snapshot) -> float | None:
    names = [name]
    if "*" in name:
        names = [row for row in dump.unit_rows if matches(name, row)]
    return _sum(_counted(row, unit[row]) for unit in dump.units for row in names if row in unit)


def _samples_times_mean(term: Term, dump: Snapshot) -> float | None:
    """Sums of samples, exact while samples times the mean's half last digit is below one half."""
    pattern = term.pattern
    if pattern.startswith(UNIT):
        name = pattern[len(UNIT) :]
        pairs = [(unit.get(f"{name}::samples"), unit.get(f"{name}::mean")) for unit in dump.units]
    else:
        name = dump.shader + pattern
        pairs = [(dump.row(f"{name}::samples"), dump.row(f"{name}::mean"))]
    if not pairs or any(samples is None for samples, _ in pairs):
        return None
    return math.fsum(
        round(_counted(name, samples) * _counted(name, mean)) % term.modulus
        for samples, mean in pairs
        if samples and mean is not None
    )
