"""What each axis does to the time, in a sentence: how much, where it saturates or turns, what stays open.

A conclusion is drawn only where it holds for all values of the intervals, each point's taken on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from apuflow.core.words import many
from apuflow_analysis.figures import interval
from apuflow_analysis.figures.axis import (
    Axis,
    axis,
    axis_columns,
    choice_of,
    effects,
    held_at,
    in_sentence,
    independent,
    label,
    ranked,
)
from apuflow_analysis.tables.records import COMPLETED

SETTLED = 0.9
"""A line has saturated at the first value that reaches this share of its best speed."""
OPEN = "within the interval: no difference shown"
_NAMED = 3
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Ratio:
    """A time over another one, with its smallest and largest value."""

    middle: float
    low: float
    high: float

    @property
    def text(self) -> str:
        """The ratio above 1, with its interval if it has one: ``4x (3.3x to 4.9x)``."""
        middle, low, high = self.middle, self.low, self.high
        if middle < 1:
            middle, low, high = 1 / middle, 1 / high, 1 / low
        return f"{middle:.3g}x" + (f" ({low:.3g}x to {high:.3g}x)" if high > low * (1 + 1e-9) else "")


@dataclass(frozen=True)
class Line:
    """The times of one workload along an axis, all else fixed.

    Attributes:
        times, low, high: at each value of the axis, with the ends of the intervals.
        measured: whether all its points lie within what was measured.
    """

    name: str
    times: Array
    low: Array
    high: Array
    measured: bool = True

    def ratio(self, over: int, under: int) -> Ratio:
        """The time at one place over that at another."""
        ends = self.low[over] / self.high[under], self.high[over] / self.low[under]
        return Ratio(float(self.times[over] / self.times[under]), float(ends[0]), float(ends[1]))

    def differ(self, one: int, other: int) -> bool:
        """Whether the intervals tell two places apart."""
        return bool(self.low[one] > self.high[other] or self.low[other] > self.high[one])

    @property
    def best(self) -> int:
        """The place of the shortest time."""
        return int(self.times.argmin())

    @property
    def turns(self) -> bool:
        """Whether the last place surely misses ``SETTLED`` of the speed of an earlier one but the first."""
        return bool(SETTLED * self.low[-1] > self.high[self.best]) and self.best > 0

    @property
    def saturates(self) -> int | None:
        """The first place but the last that surely reaches ``SETTLED`` of the best speed."""
        places = np.flatnonzero(SETTLED * self.high[:-1] <= self.low.min())
        return int(places[0]) if len(places) else None

    @property
    def level(self) -> int | None:
        """The first place but the last from which on the intervals tell no two places apart."""
        for place in range(len(self.times) - 1):
            if self.low[place:].max() <= self.high[place:].min():
                return place
        return None


def answers(frame: pd.DataFrame) -> list[tuple[str, str]]:
    """Of each axis and engine its label and the sentence; nothing where nothing varies.

    Other axes are at the sweep's baseline, else where most rows are.
    """
    rows = frame[(frame["status"] == COMPLETED) & (frame["gpu_cycles"] > 0)]
    keys, _ = independent(rows, [axis(rows, name) for name in axis_columns(rows)])
    told = []
    for key in ranked(keys, effects(rows, keys), None):
        for engine, own in rows.groupby("engine", sort=True):
            held: dict[str, Any] = {}
            found = [_line(line) for line in _lines(own, key, keys, held)]
            if found:
                names = f"{key.label} ({engine})" if rows["engine"].nunique() > 1 else key.label
                told.append((names, _sentence(key, found, held, _unanswered(frame, key, engine, found))))
    return told


def _unanswered(frame: pd.DataFrame, key: Axis, engine: object, found: Sequence[Line]) -> list[str]:
    """Workloads whose points along an axis did not all complete."""
    own = frame[(frame["engine"] == engine) & frame[key.column].notna()]
    return sorted({str(name) for name in own["workload"]} - {line.name for line in found})


def _lines(
    rows: pd.DataFrame, key: Axis, keys: Sequence[Axis], held: dict[str, Any]
) -> Iterator[pd.DataFrame]:
    """Per workload the rows along one axis, in its order, where it has all values.

    ``held`` gets the values of the other axes; None where they are not the same for all workloads.
    """
    baseline = choice_of(rows).baseline
    for _, own in rows.groupby("workload", sort=True):
        values: dict[str, Any] = {}
        for other in keys:
            here = axis(own, other.column)
            if other is not key and len(here.values) > 1:
                values[other.column] = held_at(own, here, baseline)
                own = own[own[other.column] == values[other.column]]
        own = own.dropna(subset=[key.column]).drop_duplicates(key.column)
        if set(own[key.column]) == set(key.values):
            for name, value in values.items():
                held[name] = value if held.get(name, value) == value else None
            yield own.loc[own[key.column].map(key.positions).sort_values(kind="stable").index]


def _line(rows: pd.DataFrame) -> Line:
    """The rows of one workload, in the order of an axis."""
    time = "gpu_time" if "gpu_time" in rows.columns and rows["gpu_time"].notna().all() else "gpu_cycles"
    values = rows[time].to_numpy(dtype=float)
    ends = interval.ends(rows, rows[time].astype(float), 1)
    low, high = (np.where(np.isfinite(ends[name]), ends[name], values) for name in ("low", "high"))
    return Line(str(rows["workload"].iloc[0]), values, low, high, not bool(interval.unmeasured(rows).any()))


def _sentence(key: Axis, lines: Sequence[Line], held: Mapping[str, Any], missing: Sequence[str]) -> str:
    """One sentence on all lines of an axis."""
    words = _Words(key, lines)
    told = list(words.of_sizes() if key.numeric else words.of_names())
    if away := [line for line in lines if not line.measured]:
        told.append(f"the interval is a guess{words.of(away)}: not measured there")
    if missing:
        told.append(f"no answer for {_names(missing)}: points are missing or failed")
    fixed = [f"{in_sentence(label(name))} {value}" for name, value in held.items() if value is not None]
    head = f"from {words.first} to {words.last}: " if key.numeric else ""
    return f"{head}{'; '.join(told)}" + (f" (at {', '.join(fixed)})" if fixed else "") + "."


@dataclass(frozen=True)
class _Words:
    """The parts of the sentence on an axis."""

    key: Axis
    lines: Sequence[Line]

    @property
    def first(self) -> str:
        return self.key.text(self.key.values[0])

    @property
    def last(self) -> str:
        return self.key.text(self.key.values[-1])

    def of(self, some: Sequence[Line]) -> str:
        """For which workloads; empty where there is one only."""
        if len(self.lines) == 1:
            return ""
        return f" for {_names([line.name for line in some])}"

    def of_sizes(self) -> Iterator[str]:
        """What more of something does: first to last, then where that ends."""
        turning = [line for line in self.lines if line.turns]
        rest = [line for line in self.lines if not line.turns]
        changed = [line for line in rest if line.differ(0, -1)]
        for word, group in (
            ("faster", [line for line in changed if line.times[-1] < line.times[0]]),
            ("slower", [line for line in changed if line.times[-1] > line.times[0]]),
        ):
            if group:
                yield self._factors(group, word, lambda line: line.ratio(0, -1))
        yield from self._at_each("fastest at", turning, lambda line: line.best, self._around)
        quicker = [line for line in changed if line.times[-1] < line.times[0]]
        ends = {line.name: line.saturates for line in quicker}
        sure = [line for line in quicker if ends[line.name] is not None]
        yield from self._at_each("saturates at", sure, lambda line: ends[line.name])
        open_ = [line for line in quicker if line not in sure and line.level is not None]
        yield from self._at_each(
            "beyond", open_, lambda line: line.level, lambda _: " no difference shown within the interval"
        )
        if unsure := [line for line in rest if line not in changed]:
            yield OPEN + self.of(unsure) + _speeds([line.ratio(0, -1) for line in unsure])

    def of_names(self) -> Iterator[str]:
        """Which value is the fastest and which the slowest."""
        pairs: dict[tuple[int, int], list[Line]] = {}
        unsure = []
        for line in self.lines:
            worst = int(line.times.argmax())
            if line.differ(line.best, worst):
                pairs.setdefault((line.best, worst), []).append(line)
            else:
                unsure.append(line)
        for (best, worst), group in pairs.items():
            fast, slow = (self.key.text(self.key.values[place]) for place in (best, worst))

            def over(line: Line, places: tuple[int, int] = (worst, best)) -> Ratio:
                return line.ratio(*places)

            yield f"{fast} is {self._factors(group, 'faster', over)} than {slow}"
        if unsure:
            ratios = [line.ratio(int(line.times.argmax()), line.best) for line in unsure]
            yield OPEN + self.of(unsure) + _speeds(ratios)

    def _factors(self, group: Sequence[Line], word: str, ratio: Callable[[Line], Ratio]) -> str:
        """The smallest and the largest factor of some lines: ``1.3x (bn_fwd) to 4x (softmax_fwd) faster``."""
        ordered = sorted(group, key=lambda line: abs(np.log(ratio(line).middle)))
        if len(ordered) == 1:
            return f"{ratio(ordered[0]).text} {word}{self.of(ordered)}"
        ends = [f"{ratio(line).text} for {line.name}" for line in (ordered[0], ordered[-1])]
        return f"{word} for {len(group)} of {many(len(self.lines), 'workload')}, by {' to '.join(ends)}"

    def _around(self, group: Sequence[Line]) -> str:
        """How much slower both ends are than the best value."""
        best = group[0].best
        told = [f", {self._factors(group, 'faster', lambda line: line.ratio(-1, best))} than at {self.last}"]
        if all(line.differ(0, best) for line in group):
            told += [f" and {self._factors(group, 'faster', lambda line: line.ratio(0, best))}"]
            told += [f" than at {self.first}"]
        return "".join(told)

    def _at_each(
        self,
        verb: str,
        lines: Sequence[Line],
        place: Callable[[Line], int | None],
        more: Callable[[Sequence[Line]], str] = lambda _: "",
    ) -> Iterator[str]:
        """For each value at which something happens a part, in the order of the axis."""
        at: dict[int, list[Line]] = {}
        for line in lines:
            found = place(line)
            if found is not None:
                at.setdefault(found, []).append(line)
        for index in sorted(at):
            text = more(at[index])
            named = "" if text.startswith(", ") else self.of(at[index])
            yield f"{verb} {self.key.text(self.key.values[index])}{named}{text}"


def _speeds(ratios: Sequence[Ratio]) -> str:
    """The estimates that the intervals do not carry."""
    low, high = (
        f"{end:.3g}x" for end in (min(each.middle for each in ratios), max(each.middle for each in ratios))
    )
    return f" (estimated speed {low})" if low == high else f" (estimated speeds {low} to {high})"


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED} more"
