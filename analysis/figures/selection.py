"""What of a table a figure draws: completed rows, the axis across, the lines, and what is held fixed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis.columns import MACHINE
from analysis.errors import AnalysisError

COMPLETED = "completed"
COMPUTE_UNITS = "num_compute_units"
MOST_LINES = 8
"""Lines in one panel that a reader can still tell apart."""

DIRECTIONS = {"fwd": "forward", "bwd": "backward", "both": "forward and backward"}
ENGINES = {
    "gem5": "gem5 (whole program)",
    "gem5-kernels": "gem5-kernels (only the layer's kernels)",
    "preview": "preview (timing model, not gem5)",
}
_PROGRAMS = ("conv", "pool", "lrn", "activation", "fc", "softmax", "bn", "dropout", "bypass")
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
_BYTES = {"": 1.0, "k": 2.0**10, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40}
_HERTZ = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_QUANTITY = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?)\s*([kMGT]?)i?(B|Hz)\s*$")


class FigureError(AnalysisError):
    """A table cannot carry the figure that was asked for."""


@dataclass(frozen=True)
class Axis:
    """Something that varies over the rows.

    Attributes:
        column: its column.
        label: what to write at it.
        values: the distinct values in order.
        positions: where each stands: its size where all have one, else 0, 1, 2 ...
        numeric: whether positions are sizes.
    """

    column: str
    label: str
    values: tuple[Any, ...]
    positions: Mapping[Any, float]
    numeric: bool

    def text(self, value: Any) -> str:
        """A value as written at the axis."""
        if isinstance(value, float) and value.is_integer():
            return str(int(value))
        return str(value)


@dataclass(frozen=True)
class Selection:
    """The rows of a figure and how they are told apart.

    Attributes:
        rows: completed rows, with the columns ``program`` and, per entry of ``keys``, one value per line.
        x: the axis across, or None when nothing varies.
        keys: columns that tell the lines of one panel apart, apart from direction and engine.
        programs: panel names in order.
        notes: what the reader must be told.
    """

    rows: pd.DataFrame
    x: Axis | None
    keys: tuple[Axis, ...]
    programs: tuple[str, ...]
    directions: tuple[str, ...]
    engines: tuple[str, ...]
    notes: tuple[str, ...]


def quantity(value: object) -> float | None:
    """A plain number, or ``256kB`` in bytes and ``1.5GHz`` in hertz as gem5 reads them; None for others."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float | np.number):
        return float(value)
    match = _QUANTITY.match(str(value))
    if match:
        return float(match[1]) * (_BYTES if match[3] == "B" else _HERTZ)[match[2]]
    try:
        return float(str(value))
    except ValueError:
        return None


def label(column: str) -> str:
    """What to write at an axis or in a note for a column."""
    if column in _LABELS:
        return _LABELS[column]
    if column.startswith("layer."):
        return f"Layer key {column.removeprefix('layer.')}"
    meaning = {entry.name: entry.meaning for entry in MACHINE}.get(column)
    return meaning[0].upper() + meaning[1:] if meaning else column


def axis(rows: pd.DataFrame, column: str) -> Axis:
    """The distinct values of a column, in order of size where they have one."""
    distinct = [value for value in pd.unique(rows[column]) if value is not None and value == value]
    sizes = {value: quantity(value) for value in distinct}
    numeric = all(size is not None for size in sizes.values())
    if numeric:
        values = sorted(distinct, key=lambda value: sizes[value] or 0.0)
        positions = {value: float(sizes[value] or 0.0) for value in values}
    else:
        values = sorted(distinct, key=str)
        positions = {value: float(index) for index, value in enumerate(values)}
    return Axis(column, label(column), tuple(values), positions, numeric)


def axis_columns(frame: pd.DataFrame) -> tuple[str, ...]:
    """Columns that the sweep varies: as the table says, else machine and layer columns."""
    named = frame.attrs.get("axes")
    if named is None:
        known = [column.name for column in MACHINE if column.name not in ("release", "gfx")]
        named = [name for name in frame.columns if name in known or str(name).startswith("layer.")]
    return tuple(name for name in named if name in frame.columns and frame[name].nunique() > 1)


def combine(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The tables of a sweep's workloads as one, its axes being those of all of them."""
    axes = tuple(dict.fromkeys(name for frame in frames for name in frame.attrs.get("axes", ())))
    bare = []
    for frame in frames:
        copy = frame.copy()
        copy.attrs = {}
        bare.append(copy.dropna(axis="columns", how="all"))
    names = list(dict.fromkeys(name for frame in frames for name in frame.columns))
    joined = pd.concat(bare, ignore_index=True).reindex(columns=names)
    joined.attrs["axes"] = axes
    return joined


def completed(frame: pd.DataFrame, where: Mapping[str, Any] | None = None) -> tuple[pd.DataFrame, list[str]]:
    """Rows that carry numbers, with ``program`` added, and notes on what was left out.

    Raises:
        FigureError: a column of ``where`` is unknown, or no row is left.
    """
    notes: list[str] = []
    absent = [name for name in ("engine", "workload", "direction", "status") if name not in frame.columns]
    if absent:
        raise FigureError("this is not a result table: a column is missing", key=absent[0])
    rows = frame
    for column, wanted in (where or {}).items():
        if column not in rows.columns:
            raise FigureError("no such column to select by", key=column, remedy="use a column of the table")
        chosen = list(wanted) if isinstance(wanted, list | tuple | set | frozenset) else [wanted]
        rows = rows[rows[column].isin(chosen)]
        notes.append(f"{label(column)}: {', '.join(map(str, chosen))}")
    done = rows[rows["status"] == COMPLETED].copy()
    if len(done) < len(rows):
        notes.append(f"{len(rows) - len(done)} of {len(rows)} points did not complete and are not drawn")
    if done.empty:
        raise FigureError(
            "no completed point to draw",
            value=f"{len(rows)} rows selected",
            remedy="see the column evidence for what went wrong, or select other rows",
        )
    done["program"] = [re.sub(r"_(fwd|bwd)$", "", str(name)) for name in done["workload"]]
    done.attrs = dict(frame.attrs)
    return done, notes


def select(
    frame: pd.DataFrame,
    needed: Sequence[str],
    *,
    x: str | None = None,
    where: Mapping[str, Any] | None = None,
    across: bool = True,
) -> Selection:
    """Decide what goes across, what makes lines and what is held.

    Args:
        frame: a result table, or several combined.
        needed: columns of which each row must have a number to be drawn.
        x: column to put across; by default compute units, else the numeric axis with most values.
        where: rows to keep: column to a value or several.
        across: whether the figure has an axis across at all.

    Raises:
        FigureError: a needed column is missing or empty, or ``x`` does not vary.
    """
    rows, notes = completed(frame, where)
    rows = _with_numbers(rows, needed, notes)
    varying = [axis(rows, name) for name in axis_columns(rows)]
    chosen = _across(rows, varying, x) if across else None
    others = [one for one in varying if chosen is None or one.column != chosen.column]
    keys: list[Axis] = []
    follows: list[str] = []
    for one in others:
        given = ["engine", "workload", *([chosen.column] if chosen else []), *(key.column for key in keys)]
        if rows.groupby(given, dropna=False, sort=False)[one.column].nunique(dropna=False).max() <= 1:
            follows.append(one.label)
        else:
            keys.append(one)
    if follows and chosen is not None:
        notes.append(f"{' and '.join(follows)}: set together with {chosen.label}")
    rows, keys = _hold(rows, keys, notes)
    names = sorted(pd.unique(rows["program"]), key=lambda name: (*_place(name), name))
    engines = tuple(
        name
        for name in (*ENGINES, *sorted(set(rows["engine"]) - set(ENGINES)))
        if name in set(rows["engine"])
    )
    directions = tuple(name for name in DIRECTIONS if name in set(rows["direction"]))
    return Selection(
        rows, chosen, tuple(keys), tuple(names), directions, engines, (_machine(rows, engines), *notes)
    )


def _place(name: str) -> tuple[int]:
    return (_PROGRAMS.index(name) if name in _PROGRAMS else len(_PROGRAMS),)


def _with_numbers(rows: pd.DataFrame, needed: Sequence[str], notes: list[str]) -> pd.DataFrame:
    for name in needed:
        if name not in rows.columns:
            raise FigureError("the table lacks a column that this figure shows", key=name)
    kept = rows.dropna(subset=list(needed))
    if kept.empty:
        empty = [name for name in needed if rows[name].isna().all()] or list(needed)
        engines = ", ".join(sorted(set(map(str, rows["engine"]))))
        raise FigureError(
            "the table has no value of what this figure shows",
            key=", ".join(empty),
            remedy=f"engine {engines} does not report it; run the sweep with one that does",
        )
    if len(kept) < len(rows):
        absent = sorted({f"{row.workload} ({row.engine})" for row in rows.drop(kept.index).itertuples()})
        shown = ", ".join(absent[:4]) + (f" and {len(absent) - 4} more" if len(absent) > 4 else "")
        notes.append(f"no value for {shown}")
    kept.attrs = dict(rows.attrs)
    return kept


def _across(rows: pd.DataFrame, varying: Sequence[Axis], x: str | None) -> Axis | None:
    by_name = {one.column: one for one in varying}
    if x is not None:
        if x not in by_name:
            raise FigureError(
                "this does not vary in the table",
                key=x,
                remedy=f"put one of these across: {', '.join(by_name) or 'nothing varies'}",
            )
        return by_name[x]
    if COMPUTE_UNITS in by_name:
        return by_name[COMPUTE_UNITS]
    candidates = [one for one in varying if one.numeric] or list(varying)
    return max(candidates, key=lambda one: len(one.values), default=None)


def _hold(rows: pd.DataFrame, keys: list[Axis], notes: list[str]) -> tuple[pd.DataFrame, list[Axis]]:
    """Reduce the axes that make lines until a panel has at most MOST_LINES."""
    keys = list(keys)
    attrs = dict(rows.attrs)
    while np.prod([len(key.values) for key in keys], dtype=float) > MOST_LINES:
        widest = max(range(len(keys)), key=lambda index: len(keys[index].values))
        key = keys[widest]
        if len(key.values) > 3:
            kept: tuple[Any, ...] = (key.values[0], key.values[len(key.values) // 2], key.values[-1])
        else:
            kept = key.values[:1]
        rows = rows[rows[key.column].isin(kept)]
        shown = ", ".join(key.text(value) for value in kept)
        notes.append(f"{key.label}: drawn for {shown} of {len(key.values)} values")
        if len(kept) == 1:
            keys.pop(widest)
        else:
            keys[widest] = axis(rows, key.column)
    rows.attrs = attrs
    return rows, keys


def _machine(rows: pd.DataFrame, engines: Sequence[str]) -> str:
    parts = [
        ("Engine: " if len(engines) == 1 else "Engines: ")
        + "; ".join(ENGINES.get(name, name) for name in engines)
    ]
    for name in ("gfx", "release", "gpu_clock", COMPUTE_UNITS):
        if name in rows.columns and rows[name].nunique() == 1:
            value = rows[name].dropna().iloc[0]
            shown = str(int(value)) if name == COMPUTE_UNITS else str(value)
            parts.append(
                {
                    "gpu_clock": f"GPU at {shown}",
                    COMPUTE_UNITS: f"{shown} compute units",
                    "release": f"gem5 {shown}",
                }.get(name, shown)
            )
    return " · ".join(parts)
