"""What each axis does to the time, in a sentence: how much, where it ends or turns, and what stays open."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from apuflow.core.words import many
from apuflow_analysis.figures import interval
from apuflow_analysis.figures.axis import (
    Axis,
    axis,
    axis_columns,
    choice_of,
    effects,
    held_at,
    independent,
    ranked,
)
from apuflow_analysis.tables.records import COMPLETED

SETTLED = 0.9
"""A line has saturated at the first value that may reach this share of its best speed."""
_NAMED = 3


@dataclass(frozen=True)
class Line:
    """What an axis does to one workload, all else fixed.

    Attributes:
        speedup: the time at the first value over that at the last, with its smallest and largest.
        saturates: index of the first value that the intervals do not tell from the best; None at the last.
        turns: index of the fastest value, where the last is surely slower.
        perhaps: whether the last looks slower than the fastest, and the intervals do not carry it.
        measured: whether all its points lie within what was measured.
    """

    name: str
    speedup: tuple[float, float, float]
    saturates: int | None
    turns: int | None
    perhaps: bool
    measured: bool

    @property
    def carried(self) -> bool:
        """Whether the intervals tell the time at the first value from that at the last."""
        return self.speedup[1] > 1 or self.speedup[2] < 1


def answers(frame: pd.DataFrame) -> list[tuple[str, str]]:
    """Of each axis and engine its label and the sentence; nothing where nothing varies.

    Other axes are at the sweep's baseline, else where most rows are.
    """
    rows = frame[(frame["status"] == COMPLETED) & (frame["gpu_cycles"] > 0)]
    keys, _ = independent(rows, [axis(rows, name) for name in axis_columns(rows)])
    told = []
    for key in ranked(keys, effects(rows, keys), None):
        for engine, own in rows.groupby("engine", sort=True):
            found = [_line(line, key) for line in _lines(own, key, keys)]
            if found:
                names = f"{key.label} ({engine})" if rows["engine"].nunique() > 1 else key.label
                told.append((names, _sentence(key, found)))
    return told


def _lines(rows: pd.DataFrame, key: Axis, keys: list[Axis]) -> Iterator[pd.DataFrame]:
    """Per workload the rows along one axis, in its order, where it has all values."""
    baseline = choice_of(rows).baseline
    for _, own in rows.groupby("workload", sort=True):
        for other in keys:
            here = axis(own, other.column)
            if other is not key and len(here.values) > 1:
                own = own[own[other.column] == held_at(own, here, baseline)]
        own = own.dropna(subset=[key.column]).drop_duplicates(key.column)
        if set(own[key.column]) == set(key.values):
            yield own.loc[own[key.column].map(key.positions).sort_values(kind="stable").index]


def _line(rows: pd.DataFrame, key: Axis) -> Line:
    """What the rows of one workload say, in the order of an axis."""
    time = "gpu_time" if "gpu_time" in rows.columns and rows["gpu_time"].notna().all() else "gpu_cycles"
    values = rows[time].to_numpy(dtype=float)
    ends = interval.ends(rows, rows[time].astype(float), 1)
    low, high = (np.where(np.isfinite(ends[name]), ends[name], values) for name in ("low", "high"))
    best, last = int(values.argmin()), len(values) - 1
    settled = int(np.flatnonzero(SETTLED * low <= high[best])[0])
    slower = values[last] > values[best]
    return Line(
        str(rows["workload"].iloc[0]),
        (values[0] / values[-1], low[0] / high[-1], high[0] / low[-1]),
        settled if key.numeric and settled < last else None,
        best if key.numeric and low[last] > high[best] else None,
        bool(key.numeric and slower and low[last] <= high[best]),
        not bool(interval.unmeasured(rows).any()),
    )


def _sentence(key: Axis, lines: list[Line]) -> str:
    """One sentence on all lines of an axis."""
    parts = []
    first, last = key.text(key.values[0]), key.text(key.values[-1])
    for word, group in (
        ("faster", [line for line in lines if line.carried and line.speedup[0] > 1]),
        ("slower", [line for line in lines if line.carried and line.speedup[0] < 1]),
    ):
        if group:
            ordered = sorted(group, key=lambda line: max(line.speedup[0], 1 / line.speedup[0]))
            shown = dict.fromkeys(_factor(line, word == "slower") for line in (ordered[0], ordered[-1]))
            parts.append(f"{word} for {_count(group, lines)} by {' to '.join(shown)}")
    for verb, index in (("saturates", "saturates"), ("turns, with more being slower,", "turns")):
        at: dict[Any, list[Line]] = {}
        for line in lines:
            if line.carried and getattr(line, index) is not None:
                at.setdefault(key.values[getattr(line, index)], []).append(line)
        if at:
            places = [f"{key.text(value)} ({_names(at[value])})" for value in key.values if value in at]
            parts.append(f"{verb} at {', '.join(places)}")
    if unsure := [line for line in lines if not line.carried]:
        parts.append(f"open for {_names(unsure)}, whose intervals allow either")
    if perhaps := [line for line in lines if line.perhaps and line.carried]:
        parts.append(f"open whether {last} is past the best value for {_names(perhaps)}")
    if away := [line for line in lines if not line.measured]:
        parts.append(f"error not measured for {_count(away, lines)}, so that their intervals are guesses")
    return f"from {first} to {last}: {'; '.join(parts)}."


def _factor(line: Line, slower: bool) -> str:
    middle, low, high = line.speedup
    if slower:
        middle, low, high = 1 / middle, 1 / high, 1 / low
    spread = f", between {low:.2g} and {high:.2g}" if high > low * (1 + 1e-9) else ""
    return f"{middle:.2g}x ({line.name}{spread})"


def _count(some: list[Line], lines: list[Line]) -> str:
    return some[0].name if len(lines) == 1 else f"{len(some)} of {many(len(lines), 'workload')}"


def _names(lines: list[Line]) -> str:
    shown = ", ".join(line.name for line in lines[:_NAMED])
    return shown if len(lines) <= _NAMED else f"{shown} and {len(lines) - _NAMED} more"
