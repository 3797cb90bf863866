"""What goes across, what makes lines and what is held: as a sweep's key ``figures`` says, else by effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from apuflow.core.errors import AnalysisError
from apuflow_analysis.figures.axis import TOGETHER, Axis, quantity
from apuflow_analysis.tables.columns import axis_column

FEW = 3
"""An axis of fewer values goes across only where no other has as many."""

_TIMES = ("gpu_time", "gpu_cycles")
_ATTRIBUTE = "choice"


class FigureError(AnalysisError):
    """A table cannot carry the wanted figure."""


@dataclass(frozen=True)
class Choice:
    """What somebody wants of figures; columns are those of the table.

    Attributes:
        x: the column across; None: the one with the greatest effect.
        lines: columns that make lines, the most important first; others are held. None: by effect.
        baseline: values that speedups are relative to, and at which axes are held.
        together: columns that advance together.
        objectives: expressions over columns, the smaller the better.
    """

    x: str | None = None
    lines: tuple[str, ...] | None = None
    baseline: Mapping[str, Any] = field(default_factory=dict)
    together: tuple[tuple[str, ...], ...] = ()
    objectives: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        x: str | None,
        lines: Sequence[str] | None,
        baseline: Mapping[str, Any],
        together: Sequence[Sequence[str]] = (),
        objectives: Sequence[str] = (),
    ) -> Choice:
        """From names as they stand in a sweep: ``num-compute-units``, ``layer.n``."""
        return cls(
            None if x is None else axis_column(x),
            None if lines is None else tuple(map(axis_column, lines)),
            {axis_column(name): value for name, value in baseline.items()},
            tuple(tuple(map(axis_column, group)) for group in together),
            tuple(objectives),
        )


def choose(frame: pd.DataFrame, choice: Choice) -> pd.DataFrame:
    """The table, whose figures are drawn as chosen."""
    chosen = frame.copy(deep=False)
    chosen.attrs = {**frame.attrs, _ATTRIBUTE: choice}
    named = {choice.x, *(choice.lines or ()), *choice.baseline}
    for group in choice.together:
        if not named & set(group):
            chosen = _joined(chosen, group)
    return chosen


def _joined(frame: pd.DataFrame, group: Sequence[str]) -> pd.DataFrame:
    """The table with one axis of columns that advance together, if none of them alone tells rows apart."""
    axes = tuple(frame.attrs.get("axes") or ())
    own = [name for name in group if name in axes and frame[name].nunique() > 1]
    rows = frame[["workload", *own]].drop_duplicates()
    if len(own) < 2 or any(not rows.duplicated(["workload", name]).any() for name in own):
        return frame
    name = TOGETHER.join(own)
    values = [
        f" {TOGETHER} ".join(str(value) for value in row if not pd.isna(value)) or None
        for row in frame[own].itertuples(index=False, name=None)
    ]
    column = pd.Series(values, frame.index, dtype=object, name=name)
    joined = pd.concat([frame, column], axis="columns")
    joined.attrs = {**frame.attrs, "axes": (name, *(axis for axis in axes if axis not in own))}
    return joined


def choice_of(frame: pd.DataFrame) -> Choice:
    """What was chosen for a table."""
    found = frame.attrs.get(_ATTRIBUTE)
    return found if isinstance(found, Choice) else Choice()


def effects(rows: pd.DataFrame, axes: Sequence[Axis]) -> dict[str, float]:
    """Of each axis the factor by which it changes the GPU time where all else stays (geometric mean)."""
    time = next((name for name in _TIMES if name in rows.columns and rows[name].notna().any()), None)
    found = dict.fromkeys((axis.column for axis in axes), 1.0)
    if time is None:
        return found
    timed = rows[rows[time] > 0]
    for axis in axes:
        others = [other.column for other in axes if other is not axis]
        groups = timed.groupby(["engine", "workload", *others], dropna=False, sort=False)[time]
        ratios = (groups.max() / groups.min())[groups.size() > 1]
        if len(ratios):
            found[axis.column] = float(np.exp(np.log(ratios).mean()))
    return found


def across(axes: Sequence[Axis], effect: Mapping[str, float], x: str | None) -> Axis | None:
    """The axis across: ``x``, else of the machine's sizes the one with the greatest effect.

    An axis of the work, of names, or of two values goes across only where there is no other.

    Raises:
        FigureError: ``x`` does not vary.
    """
    by_name = {axis.column: axis for axis in axes}
    if x is not None:
        if x not in by_name:
            raise FigureError(
                "this does not vary in the table",
                key=x,
                remedy=f"put one of these across: {', '.join(by_name) or 'nothing varies'}",
            )
        return by_name[x]
    return max(
        axes,
        key=lambda axis: (
            axis.numeric,
            len(axis.values) >= FEW,
            not axis.column.startswith("layer."),
            effect[axis.column],
        ),
        default=None,
    )


def ranked(axes: Sequence[Axis], effect: Mapping[str, float], lines: Sequence[str] | None) -> list[Axis]:
    """Axes by importance: the chosen lines in their order, then by effect."""
    named = list(lines or ())
    places = {column: place for place, column in enumerate(named)}
    return sorted(
        axes, key=lambda axis: (places.get(axis.column, len(places)), -effect.get(axis.column, 1.0))
    )


def matching(axis: Axis, wanted: Any) -> Any:
    """The value of the axis that is ``wanted``, however it is written (``1MB``, ``1024kB``), or None."""
    for value in axis.values:
        size = quantity(value)
        if value == wanted or str(value) == str(wanted) or (size is not None and size == quantity(wanted)):
            return value
    return None


def held_at(own: pd.DataFrame, axis: Axis, baseline: Mapping[str, Any]) -> Any:
    """The value at which an axis is held: the baseline's, else the one of most rows, the first of those."""
    wanted = matching(axis, baseline[axis.column]) if axis.column in baseline else None
    if wanted is not None:
        return wanted
    counts = own[axis.column].value_counts()
    return max(axis.values, key=lambda value: counts.get(value, 0))
