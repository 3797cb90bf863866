"""What differs between two sides: outcomes, counters by size, instructions."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from apuflow.answers.answer import WORK
from apuflow.core.errors import ConfigError
from apuflow.forms.table import Row, Table
from apuflow.regress.sides import Key, Result, Side


@dataclass(frozen=True)
class CounterChange:
    """A counter that changed.

    Attributes:
        points: number of points in which it did.
        of: number of points that both sides completed.
        median: median of the relative changes, of those points.
        largest: the largest relative change; infinite from zero.
        at: its point, with the values of A and B.
    """

    name: str
    points: int
    of: int
    median: float
    largest: float
    at: Key
    a: float
    b: float

    @property
    def is_work(self) -> bool:
        """Whether code and input alone decide it, so that an instruction is executed in another way."""
        return self.name in WORK


@dataclass(frozen=True)
class InstructionChange:
    """A form of an instruction with another outcome. A verdict is empty where a side has none."""

    form: str
    a: str
    b: str
    text: str
    why: str


@dataclass(frozen=True)
class Findings:
    """All that differs.

    Attributes:
        ended: points that end in another way: point, result of A, result of B.
        rows: parts of the machine with other statistics, by number of points.
        common: points that both sides have.
        only_a, only_b: points that one side has.
        tables: builds whose tables of instructions were compared.
        launchers: number of points whose kernels another launcher started.
    """

    counters: tuple[CounterChange, ...]
    ended: tuple[tuple[Key, Result, Result], ...]
    rows: tuple[tuple[str, int], ...]
    instructions: tuple[InstructionChange, ...]
    common: int
    only_a: tuple[Key, ...]
    only_b: tuple[Key, ...]
    tables: tuple[str, ...]
    launchers: int = 0

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not (self.counters or self.ended or self.rows or self.instructions)


def compare(a: Side, b: Side) -> Findings:
    """Compare two sides.

    Raises:
        ConfigError: they have no point in common.
    """
    common = [key for key in a.results if key in b.results]
    if not common:
        first, second = next(iter(a.results), None), next(iter(b.results), None)
        told, remedy = f"{first}; {second}", "compare runs of the same workloads, layers and axes"
        raise ConfigError("A and B have no point in common", value=told, remedy=remedy)
    pairs = [(key, a.results[key], b.results[key]) for key in common]
    both = [pair for pair in pairs if pair[1].counters and pair[2].counters]
    return Findings(
        tuple(sorted(_counters(both), key=lambda each: (-each.largest, -each.points, each.name))),
        tuple(pair for pair in pairs if pair[1].status != pair[2].status),
        _rows(both),
        tuple(_instructions(a, b)),
        len(common),
        tuple(key for key in a.results if key not in b.results),
        tuple(key for key in b.results if key not in a.results),
        tuple(build for build in a.tables if build in b.tables),
        sum(
            bool(one.launcher and other.launcher) and one.launcher != other.launcher for _, one, other in both
        ),
    )


def _counters(pairs: list[tuple[Key, Result, Result]]) -> Iterator[CounterChange]:
    """Counters that both sides know; one that is new in a release is no change."""
    found: dict[str, list[tuple[float, Key, float, float]]] = defaultdict(list)
    for key, a, b in pairs:
        for name in a.counters.keys() & b.counters.keys():
            before, after = a.counters[name], b.counters[name]
            if not math.isclose(before, after, rel_tol=1e-8):  # recorded answers have nine digits
                change = after / before - 1 if before else math.inf
                found[name].append((change, key, before, after))
    for name, changes in found.items():
        _, key, before, after = largest = max(changes, key=lambda each: abs(each[0]))
        median = statistics.median(change for change, *_ in changes)
        yield CounterChange(name, len(changes), len(pairs), median, abs(largest[0]), key, before, after)


def _rows(pairs: list[tuple[Key, Result, Result]]) -> tuple[tuple[str, int], ...]:
    parts = dict.fromkeys(part for _, a, b in pairs for part in a.rows if part in b.rows)
    counts = {part: sum(a.rows.get(part) != b.rows.get(part) for _, a, b in pairs) for part in parts}
    return tuple((part, count) for part, count in counts.items() if count)


def _instructions(a: Side, b: Side) -> Iterator[InstructionChange]:
    for build in a.tables:
        if build in b.tables:
            yield from changed_instructions(a.tables[build], b.tables[build])


def changed_instructions(a: Table, b: Table) -> Iterator[InstructionChange]:
    """Forms that are right on one side alone, or fail in another way."""
    seen = set()
    for row in (*a.rows, *b.rows):
        form = (row.encoding, row.instruction, row.features)
        if row.verdict not in ("wrong", "stops") or form in seen:
            continue
        seen.add(form)
        before, after = (table.of(*form) for table in (a, b))
        if _verdict(before) != _verdict(after):
            yield InstructionChange(
                row.form, _verdict(before), _verdict(after), row.text, _why(after) or _why(before)
            )


def _verdict(row: Row | None) -> str:
    return "" if row is None else row.verdict


def _why(row: Row | None) -> str:
    if row is None or row.verdict not in ("wrong", "stops"):
        return ""
    return row.message or f"{row.inputs}: {row.got}, expected {row.expected}"
