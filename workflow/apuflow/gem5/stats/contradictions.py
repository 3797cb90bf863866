"""Find rows of a block of statistics that contradict each other, whoever read the block."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from apuflow.gem5.stats.relations import RELATIONS, SECONDS, SHADER, Relation

_EXACT = 2.0**53
_WORDS = re.compile(r" ([+-]) ")

Lookup = Callable[[str], float | None]
"""The number of a row by its name; None: it is not there, or holds several cells."""


@dataclass(frozen=True)
class Broken:
    """A relation that does not hold.

    Attributes:
        identity: what should hold, and of which object.
        left, right: the numbers on its two sides.
    """

    identity: str
    left: float
    right: float

    def __str__(self) -> str:
        return f"broken: {self.identity} ({self.left:.17g} against {self.right:.17g})"


@dataclass(frozen=True)
class Element:
    """One of an array of objects: its name, and the rows that it prints."""

    name: str
    row: Lookup


@dataclass(frozen=True)
class Rows:
    """A block of statistics as relations see it.

    Attributes:
        shader: name of the GPU.
        row: any row that belongs to the whole block, by its full name.
        elements: the objects of an array by the array's name behind ``system.``; ``CUs``: the compute units.
        unit_rows: names of the rows of a compute unit.
    """

    shader: str
    row: Lookup
    elements: Callable[[str], Sequence[Element]]
    unit_rows: Sequence[str]


@dataclass(frozen=True)
class _Term:
    sign: int
    factors: tuple[tuple[str, ...], ...]
    optional: bool


_WHOLE = (Element("", lambda _: None),)


def find_contradictions(rows: Rows, *, quick: bool = False) -> Iterator[Broken]:
    """The relations of ``apuflow.gem5.stats.relations`` that a block breaks.

    Args:
        rows: the block.
        quick: only those that need few rows.
    """
    reading = _Reading(rows)
    for relation in RELATIONS:
        if quick and not relation.quick:
            continue
        if relation.since_start and not reading.since_start:
            continue
        if relation.idle and not reading.idle:
            continue
        for one in reading.expanded(relation):
            for element in rows.elements(relation.of) if relation.of else _WHOLE:
                broken = reading.check(one, element)
                if broken is not None:
                    yield broken


def overlapping(sim_ticks: float, before: float, final_tick: float) -> bool:
    """Whether a dump counts ticks that the dump before it counted.

    gem5's simTicks are those since the last reset, finalTick those since the start (src/sim/root.cc): a dump
    begins at their difference.

    Args:
        sim_ticks, final_tick: of the dump.
        before: finalTick of the dump before it in the same file.
    """
    return final_tick - sim_ticks < before


class _Reading:
    """Evaluates expressions over one block."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        ticks, final, freq = (rows.row(name) for name in ("simTicks", "finalTick", "simFreq"))
        self._seconds = ticks / freq if ticks and freq else None
        self.since_start = ticks is not None and ticks == final
        self._matching: dict[str, Sequence[str]] = {}

    @property
    def idle(self) -> bool:
        """As many wavefronts began as ended: none was there when the block began or ended."""
        units = self._rows.elements("CUs")
        began, ended = "waveLevelParallelism::samples", "completedWfs"
        return bool(units) and all(
            unit.row(began) is not None and unit.row(began) == unit.row(ended) for unit in units
        )

    def expanded(self, relation: Relation) -> Sequence[Relation]:
        """The relation for each element of the vectors that it names with ``@``."""
        if "@" not in relation.left:
            return (relation,)
        prefix = _parsed(relation.left)[0].factors[0][0].partition("@")[0]
        parts = [name.removeprefix(prefix) for name in self._rows.unit_rows if name.startswith(prefix)]
        return [replace(relation, left=relation.left.replace("@", part)) for part in parts]

    def check(self, relation: Relation, element: Element) -> Broken | None:
        left, right = (self._value(side, element) for side in (relation.left, relation.right))
        if left is None or right is None or not math.isfinite(left - right):
            return None
        if any(self._value(event, element) for event in relation.unless):
            return None
        if relation.over:
            return self._check_quotient(relation, element, left, right)
        right *= relation.factor
        if relation.times:
            right *= len(self._names(relation.times))
        allowed = 1e-9 * max(abs(left), abs(right)) if max(abs(left), abs(right)) > _EXACT else 0.0
        if relation.rounding:
            allowed += 1e-6 * (self._value(relation.rounding, element) or 0.0)
        if left - right <= allowed and (relation.at_most or right - left <= allowed):
            return None
        return _broken(relation, element, left, right)

    def _check_quotient(
        self, relation: Relation, element: Element, left: float, right: float
    ) -> Broken | None:
        over = self._value(relation.over, element)
        if not over:
            return None
        expected = relation.factor * right / over
        digits = _decimals(left) if relation.digits is None else relation.digits
        if abs(left - expected) <= 0.501 * 10.0**-digits + 1e-12 * abs(expected):
            return None
        return _broken(relation, element, left, expected)

    def _value(self, expression: str, element: Element) -> float | None:
        total = 0.0
        for term in _parsed(expression):
            value = float(term.sign)
            for names in term.factors:
                number = self._first(names, element)
                if number is None and not term.optional:
                    return None
                value *= number or 0.0
            total += value
        return total

    def _first(self, names: Sequence[str], element: Element) -> float | None:
        for name in names:
            number = self._whole(name[1:]) if name[0] == "/" else self._of(name, element)
            if number is not None:
                return number
        return None

    def _of(self, name: str, element: Element) -> float | None:
        if "*" not in name:
            return element.row(name)
        numbers = [element.row(row) for row in self._names(name)]
        return math.fsum(number or 0.0 for number in numbers) if numbers else None

    def _whole(self, name: str) -> float | None:
        if name == SECONDS:
            return self._seconds
        array, star, rest = name.partition("*.")
        if star:
            numbers = [element.row(rest) for element in self._rows.elements(array)]
            known = [number for number in numbers if number is not None]
            return math.fsum(known) if known and len(known) == len(numbers) else None
        if "." not in name:
            return self._rows.row(name)
        if name.startswith(SHADER):
            return self._rows.row(self._rows.shader + name[len(SHADER) :])
        total = self._rows.row(f"system.{name}::total") if "_Controller." in name else None
        return self._rows.row(f"system.{name}") if total is None else total

    def _names(self, pattern: str) -> Sequence[str]:
        """The rows of a compute unit that a pattern with ``*`` stands for."""
        if pattern not in self._matching:
            self._matching[pattern] = _matching(pattern, self._rows.unit_rows)
        return self._matching[pattern]


def _broken(relation: Relation, element: Element, left: float, right: float) -> Broken:
    return Broken(f"{relation}{f', {element.name}' if element.name else ''}", left, right)


def _decimals(value: float) -> int:
    """Digits behind the point that a printed number shows."""
    text = repr(value)
    return 0 if "e" in text or value.is_integer() else len(text.partition(".")[2])


def _matching(pattern: str, rows: Sequence[str]) -> Sequence[str]:
    expression = re.compile(re.escape(pattern).replace(r"\*", r"[^.]*"))
    return [name for name in rows if expression.fullmatch(name)]


@cache
def _parsed(expression: str) -> Sequence[_Term]:
    words = _WORDS.split(f" + {expression}")[1:]
    terms = []
    for sign, text in zip(words[::2], words[1::2], strict=True):
        factors = tuple(tuple(factor.removesuffix("?").split("|")) for factor in text.split(" * "))
        terms.append(_Term(1 if sign == "+" else -1, factors, text.endswith("?")))
    return tuple(terms)
