"""Find the relations between rows that a block of statistics breaks, whoever read the block.

``relations.txt`` holds the relations and says how their formulas are written.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

_FORMULA = re.compile(r"(.+?) (<?=) (.+?)(?: / \(?(.+?)\)?)?(?: within (.+?))?(?: unless (.+))?")
_SIGN = re.compile(r" ([+-]) ")
_CHOICE = re.compile(r"<(\w+)>")
_DEFINITION = re.compile("([A-Z0-9_]+) = (.+)")

LARGEST = 2.0**53
"""gem5 counts in doubles, which cannot count further by ones."""

Lookup = Callable[[str], float | None]
"""The number of a row by its name; None: it is not there, or holds several cells."""

_BLOCK = "block"
_CONDITIONS = frozenset({"quick", "since-start", "idle", "as-printed"})
_WHOLE: Sequence[tuple[str, Lookup]] = (("", lambda _: None),)


@dataclass(frozen=True)
class Relation:
    """A formula that holds for every object of a kind, under the conditions of ``relations.txt``."""

    of: str
    conditions: frozenset[str]
    formula: str

    def __str__(self) -> str:
        text = re.split(" within | unless ", self.formula)[0]
        text += "" if self.of == _BLOCK else f" (of {self.of})"
        text = text.replace("/.", "the GPU's ").replace("/SECONDS", "simSeconds")
        return re.sub(r"\?|(?<![^ (])/(?! )", "", text.replace("#", "number of "))


@cache
def relations() -> tuple[Relation, ...]:
    """All relations of ``relations.txt``; ValueError: a condition that nothing here checks."""
    text = Path(__file__).with_name("relations.txt").read_text(encoding="utf-8")
    found: list[Relation] = []
    words: dict[str, list[str]] = {}
    group = ""
    for line in re.sub(r"\n +", " ", re.sub(r"(?m)^#.*\n", "", text)).splitlines():
        if line.startswith("["):
            group = line
        elif definition := _DEFINITION.fullmatch(line):
            words[definition[1]] = [each for word in definition[2].split() for each in _expanded(word, words)]
        elif line.strip():
            for each in _expanded(f"{group} {line}", words):
                objects, formula = each[1:].split("] ", 1)
                of, *conditions = objects.split()
                if unknown := {*conditions} - _CONDITIONS:
                    raise ValueError(f"relations.txt: no such condition: {', '.join(unknown)}")
                found.append(Relation(of, frozenset(conditions), formula))
    return tuple(found)


def _expanded(text: str, words: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The text with each choice of words for its names in angle brackets."""
    name = _CHOICE.search(text)
    if name is None:
        yield text
        return
    for word in words[name[1]]:
        yield from _expanded(text.replace(name[0], word), words)


@dataclass(frozen=True)
class Broken:
    """A relation that does not hold (and of which object), and the numbers on its two sides."""

    identity: str
    left: float
    right: float

    def __str__(self) -> str:
        return f"broken: {self.identity} ({self.left:.17g} against {self.right:.17g})"


class View(NamedTuple):
    """A block of statistics as relations see it.

    Attributes:
        shader: name of the GPU.
        row: any row that belongs to the whole block, by its full name.
        elements: the objects of an array by its name behind ``system.``, or ``CUs``: their names and rows.
        unit_rows: names of the rows of a compute unit.
    """

    shader: str
    row: Lookup
    elements: Callable[[str], Sequence[tuple[str, Lookup]]]
    unit_rows: Sequence[str]

    def find(self, name: str) -> list[tuple[str, float | None]]:
        """Rows by their full name, with their numbers; None: the row is not there.

        ``.x`` is a row of the GPU, ``array*.x`` one of every element of an array; every other name with a dot
        begins behind ``system.``. The events of a controller may be a vector, of which this is the total.
        """
        array, star, rest = name.partition("*.")
        if star:
            return [(f"{element}.{rest}", row(rest)) for element, row in self.elements(array)]
        if name.startswith("."):
            name = self.shader + name
        elif "." in name:
            name = f"system.{name}"
        total = self.row(f"{name}::total") if "_Controller." in name else None
        return [(name, self.row(name) if total is None else total)]


def find_contradictions(view: View, *, quick: bool = False) -> Iterator[Broken]:
    """The relations that a block breaks; ``quick``: only those that need few rows."""
    block = _Block(view)
    for general in relations():
        if (quick and "quick" not in general.conditions) or not block.meets(general.conditions):
            continue
        for relation in block.of_elements(general):
            for name, row in _WHOLE if relation.of == _BLOCK else view.elements(relation.of):
                sides = block.unequal(relation, row)
                if sides is not None:
                    yield Broken(f"{relation}, {name}" if name else str(relation), *sides)


def overlapping(sim_ticks: float, before: float, final_tick: float) -> bool:
    """Whether a dump counts ticks that the dump before it counted.

    gem5's simTicks are those since the last reset, finalTick those since the start (src/sim/root.cc): a dump
    begins at their difference. ``before``: finalTick of the dump before it in the same file.
    """
    return final_tick - sim_ticks < before


class _Term(NamedTuple):
    """A product of a number and rows, each by its names in different releases."""

    number: float
    rows: tuple[tuple[str, ...], ...]
    optional: bool


_Sum = tuple[_Term, ...]


class _Formula(NamedTuple):
    left: _Sum
    at_most: bool
    right: _Sum
    divisor: _Sum
    error: _Sum
    unless: _Sum


@cache
def _formula(text: str) -> _Formula:
    match = _FORMULA.fullmatch(text)
    assert match is not None, text
    left, sign, *right = match.groups()
    return _Formula(_sum(left), sign == "<=", *map(_sum, right))


@cache
def _sum(text: str | None) -> _Sum:
    if text is None:
        return ()
    words = _SIGN.split(f" + {text}")[1:]
    terms = []
    for sign, term in zip(words[::2], words[1::2], strict=True):
        factors = term.removesuffix("?").split(" * ")
        number = math.prod(float(factor) for factor in factors if factor[0].isdigit())
        rows = tuple(tuple(factor.split("|")) for factor in factors if not factor[0].isdigit())
        terms.append(_Term(number if sign == "+" else -number, rows, term.endswith("?")))
    return tuple(terms)


class _Block:
    """Evaluates formulas over one block."""

    def __init__(self, view: View) -> None:
        self._view = view
        ticks, final, freq = map(view.row, ("simTicks", "finalTick", "simFreq"))
        self._seconds = ticks / freq if ticks and freq else None
        self._since_start = ticks is not None and ticks == final
        self._rows = cache(partial(matching, names=view.unit_rows))

    def meets(self, conditions: Collection[str]) -> bool:
        """Whether a relation with these conditions holds for the block."""
        return ("since-start" not in conditions or self._since_start) and (
            "idle" not in conditions or self._idle
        )

    @property
    def _idle(self) -> bool:
        """As many wavefronts began as ended: none was there when the block began or ended."""
        numbers = [
            (row("waveLevelParallelism::samples"), row("completedWfs"))
            for _, row in self._view.elements("CUs")
        ]
        return bool(numbers) and all(began is not None and began == ended for began, ended in numbers)

    def of_elements(self, relation: Relation) -> Iterator[Relation]:
        """The relation for each element of the vector that it begins with, where that is named with ``@``."""
        prefix, at, _ = relation.formula.partition("@")
        if not at:
            yield relation
        for name in self._view.unit_rows if at else ():
            if name.startswith(prefix):
                yield replace(relation, formula=relation.formula.replace("@", name.removeprefix(prefix)))

    def unequal(self, relation: Relation, row: Lookup) -> tuple[float, float] | None:
        """The two sides for an object, where they differ by more than gem5's rounding."""
        formula = _formula(relation.formula)
        left, right = self._value(formula.left, row), self._value(formula.right, row)
        if left is None or right is None or not math.isfinite(left - right):
            return None
        if self._value(formula.unless, row):
            return None
        if formula.divisor:
            divisor = self._value(formula.divisor, row)
            if not divisor:
                return None
            right /= divisor
            digits = _decimals(left) if "as-printed" in relation.conditions else 6
            allowed = 0.501 * 10.0**-digits + 1e-12 * abs(right)
        else:
            largest = max(abs(left), abs(right))
            allowed = 1e-9 * largest if largest > LARGEST else 0.0
            allowed += self._value(formula.error, row) or 0.0
        off = left - right if formula.at_most else abs(left - right)
        return None if off <= allowed else (left, right)

    def _value(self, terms: _Sum, row: Lookup) -> float | None:
        total = 0.0
        for term in terms:
            value = term.number
            for names in term.rows:
                known = (self._number(name, row) for name in names)
                number = next((each for each in known if each is not None), None)
                if number is None and not term.optional:
                    return None
                value *= number or 0.0
            total += value
        return total

    def _number(self, name: str, row: Lookup) -> float | None:
        if name == "/SECONDS":
            return self._seconds
        if name[0] == "/":
            found = [number for _, number in self._view.find(name[1:])]
            known = [number for number in found if number is not None]
            return math.fsum(known) if known and len(known) == len(found) else None
        if name[0] == "#":
            return float(len(self._rows(name[1:])))
        if "*" not in name:
            return row(name)
        numbers = [row(each) for each in self._rows(name)]
        return math.fsum(number or 0.0 for number in numbers) if numbers else None


def matching(pattern: str, names: Iterable[str]) -> list[str]:
    """The names that a pattern stands for; its ``*`` is anything without a dot."""
    expression = re.compile(re.escape(pattern).replace(r"\*", r"[^.]*"))
    return [name for name in names if expression.fullmatch(name)]


def _decimals(value: float) -> int:
    """Digits behind the point that a printed number shows."""
    text = repr(value)
    return 0 if "e" in text or value.is_integer() else len(text.partition(".")[2])
