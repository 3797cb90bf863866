"""The axes of a table, and what goes across, makes lines or is held: as a sweep says, else by effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from apuflow.core.errors import AnalysisError
from apuflow.core.units import clock_hertz, size_bytes
from apuflow_analysis.tables.columns import MACHINE, NOT_OPTIONS, axis_column

COMPUTE_UNITS = "num_compute_units"
TOGETHER = "+"
"""Joins the names of columns, and their values, that are one axis."""
_FEW = 3
"""An axis of fewer values goes across only where no other has as many."""
_TIMES = ("gpu_time", "gpu_cycles")
_ATTRIBUTE = "choice"
Where: TypeAlias = Mapping[str, Any] | None
"""Rows to keep: column to a value or several; None: all."""
_LABELS = {
    COMPUTE_UNITS: "Compute units",
    "num_tccs": "TCC banks",
    "tcc_size": "TCC size",
    "tcp_size": "TCP size",
    "wfs_per_simd": "Wavefront slots per SIMD",
    "simds_per_cu": "SIMDs per compute unit",
    "gpu_clock": "GPU clock",
    "ruby_clock": "Network clock",
    "bw_scalor": "Network bandwidth factor (bw-scalor)",
    "num_dirs": "DRAM channels",
    "mem_type": "DRAM type",
    "vreg_file_size": "Vector registers per SIMD",
    "lds_size": "LDS size (B)",
    "layer.n": "Batch size n",
    "layer.c": "Channels c",
    "layer.h": "Height h",
    "layer.w": "Width w",
}
_SHORT = {
    COMPUTE_UNITS: "CUs",
    "mem_type": "DRAM",
    "bw_scalor": "bw-scalor",
    "wfs_per_simd": "slots per SIMD",
    "simds_per_cu": "SIMDs",
    "vreg_file_size": "VGPRs",
    "lds_size": "LDS",
}


class FigureError(AnalysisError):
    """A table cannot carry the wanted figure."""


@dataclass(frozen=True)
class Axis:
    """Something that varies over the rows.

    Attributes:
        values: the distinct values in order.
        positions: of each value: its size where all have one, else 0, 1, 2 ...
        numeric: whether positions are sizes.
    """

    column: str
    label: str
    values: tuple[Any, ...]
    positions: Mapping[Any, float]
    numeric: bool

    @staticmethod
    def text(value: Any) -> str:
        """A value as written at the axis: a column of whole numbers holds floats where a row has none."""
        return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def quantity(value: object) -> float | None:
    """A plain number, or ``256kB`` in bytes and ``1.5GHz`` in hertz as gem5 reads them; None for others."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float | np.number):
        return float(value)
    text = str(value)
    try:
        return float(text)
    except ValueError:
        size = size_bytes(text)
        return clock_hertz(text) if size is None else float(size)


def label(column: str) -> str:
    """What to write at an axis or in a note for a column."""
    if column in _LABELS:
        return _LABELS[column]
    if TOGETHER in column:
        members = column.split(TOGETHER)
        name = short_label if "layer.m" in members else label  # of a matrix product n is no batch
        return f" {TOGETHER} ".join(map(name, members))
    if column.startswith("layer."):
        return f"Layer key {column.removeprefix('layer.')}"
    meaning = {entry.name: entry.meaning for entry in MACHINE}.get(column)
    return meaning[0].upper() + meaning[1:] if meaning else column


def in_sentence(text: str) -> str:
    """A label inside a sentence: its first letter small, unless it is a name in capitals."""
    return text[0].lower() + text[1:] if len(text) > 1 and text[1].islower() else text


def short_label(column: str) -> str:
    """A name for a column that is short enough for a legend entry."""
    if TOGETHER in column:
        return f" {TOGETHER} ".join(map(short_label, column.split(TOGETHER)))
    if column in _SHORT or column.startswith("layer."):
        return _SHORT.get(column, column.removeprefix("layer."))
    return _LABELS.get(column, column.replace("_", "-"))


def axis(rows: pd.DataFrame, column: str) -> Axis:
    """The distinct values of a column, in order of size where they have one."""
    distinct = [value for value in pd.unique(rows[column]) if value is not None and value == value]
    sizes = {value: quantity(value) for value in distinct}
    numeric = all(size is not None for size in sizes.values())
    if numeric:
        values = sorted(distinct, key=lambda value: sizes[value] or 0.0)
        positions = {value: float(sizes[value] or 0.0) for value in values}
    else:
        separator = f" {TOGETHER} "  # values of several columns: sizes as sizes, the first column first
        parts = {value: str(value).split(separator) for value in distinct}
        values = sorted(distinct, key=lambda value: [(quantity(one) or 0.0, one) for one in parts[value]])
        positions = {value: float(index) for index, value in enumerate(values)}
    return Axis(column, label(column), tuple(values), positions, numeric)


def axis_columns(frame: pd.DataFrame) -> tuple[str, ...]:
    """Columns that the sweep varies: as the table says, else machine and layer columns."""
    named = frame.attrs.get("axes")
    if named is None:
        known = [column.name for column in MACHINE if column.name not in NOT_OPTIONS]
        named = [name for name in frame.columns if name in known or str(name).startswith("layer.")]
    return tuple(name for name in named if name in frame.columns and frame[name].nunique() > 1)


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
        """From names as a sweep has them: ``num-compute-units``, ``layer.n``."""
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
    of = [name for name in ("workload", "suite") if name in frame]
    rows = frame[[*of, *own]].drop_duplicates()
    if len(own) < 2 or any(not rows.duplicated([*of, name]).any() for name in own):
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


def independent(
    rows: pd.DataFrame, axes: Sequence[Axis], given: Sequence[str] = (), first: str | None = None
) -> tuple[list[Axis], list[Axis]]:
    """Split axes into those that tell rows apart and those that others determine (lists that go together).

    Axes of more values are taken first: of lists that go together, one that repeats a value does not
    determine the others.

    Args:
        given: columns that tell rows apart already.
        first: the axis to take before all others.
    """
    keys: list[Axis] = []
    for candidate in sorted(axes, key=lambda axis: (axis.column != first, -len(axis.values))):
        by = ["engine", "workload", *given, *(key.column for key in keys)]
        counts = rows.groupby(by, dropna=False, sort=False)[candidate.column].nunique(dropna=False)
        if counts.max() > 1:
            keys.append(candidate)
    return [axis for axis in axes if axis in keys], [axis for axis in axes if axis not in keys]


@dataclass(frozen=True)
class Axes:
    """The axes of some rows.

    Attributes:
        varying: all of them.
        keys: those that tell rows apart.
        effect: of each key the factor by which it changes the GPU time.
        x: the key across; None where nothing varies.
    """

    varying: list[Axis]
    keys: list[Axis]
    effect: dict[str, float]
    x: Axis | None


def axes_of(rows: pd.DataFrame, x: str | None = None) -> Axes:
    """The axes of rows, with ``x`` across, else what was chosen, else the size with the greatest effect.

    An axis of the work, of names, or of two values goes across only where there is no other.

    Raises:
        FigureError: ``x`` does not vary.
    """
    varying = [axis(rows, name) for name in axis_columns(rows)]
    chosen = choice_of(rows).x
    if x is None and chosen in {one.column for one in varying}:
        x = chosen
    keys, _ = independent(rows, varying, first=x)
    effect = effects(rows, keys)
    by_name = {key.column: key for key in keys}
    if x is not None and x not in by_name:
        remedy = f"put one of these across: {', '.join(by_name) or 'nothing varies'}"
        raise FigureError("this does not vary in the table", key=x, remedy=remedy)

    def place(key: Axis) -> tuple[bool, bool, bool, float]:
        machine = not key.column.startswith("layer.")
        return key.numeric, len(key.values) >= _FEW, machine, effect[key.column]

    return Axes(varying, keys, effect, max(keys, key=place, default=None) if x is None else by_name[x])


def ranked(axes: Sequence[Axis], effect: Mapping[str, float], lines: Sequence[str] | None) -> list[Axis]:
    """Axes by importance: the chosen lines in their order, then by effect."""
    places = {column: place for place, column in enumerate(lines or ())}
    return sorted(axes, key=lambda one: (places.get(one.column, len(places)), -effect.get(one.column, 1.0)))


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
