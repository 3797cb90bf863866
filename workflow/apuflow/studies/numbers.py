"""Numbers of a study's statements from result tables, with their intervals."""

from __future__ import annotations

import fnmatch
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pandas as pd

from apuflow.core.engines import is_batch
from apuflow.core.errors import ApuflowError
from apuflow.studies.criterion import Interval, divided, exactly
from apuflow.studies.study import Value
from apuflow_analysis.tables.columns import INTERVAL, UNMEASURED, axis_column

POWERS: Final = {
    "gpu_cycles": 1,
    "gpu_time": 1,
    "ipc": -1,
    "dram_read_bandwidth": -1,
    "dram_write_bandwidth": -1,
}
"""Columns that go with the GPU's cycles, by their power: they have the interval of the preview's cycles."""
_REDUCTIONS: Final[Mapping[str, Callable[[Sequence[float]], float]]] = {
    "geomean": statistics.geometric_mean,
    "mean": statistics.fmean,
    "median": statistics.median,
    "min": min,
    "max": max,
}


class NotThere(ApuflowError):
    """The tables do not have a number that a statement needs."""


def number(frame: pd.DataFrame, value: Value, tolerance: float) -> Interval:
    """A value of a statement.

    Args:
        frame: the sweep's tables as one.
        tolerance: half width of the interval of a number that has none, as a part of it.

    Raises:
        NotThere: no row, several without ``reduce``, or a row without this number.
    """
    rows = _alike(frame[_named(frame["workload"], value.workload)], value.where)
    rows = _completed(rows, value)
    if value.column not in rows.columns:
        raise NotThere("the tables have no such column", key="column", value=value.column)
    found = [_interval(row, value.column, tolerance) for _, row in rows.iterrows()]
    if value.over:
        found = [
            divided(own, _interval(_base(frame, row, value), value.column, tolerance))
            for own, (_, row) in zip(found, rows.iterrows(), strict=True)
        ]
    if value.reduce is None:
        if len(found) > 1:
            remedy = "reduce: geomean, or name one row with where"
            message = f"{len(found)} rows where one is needed"
            raise NotThere(message, key="where", value=dict(value.where), remedy=remedy)
        return found[0]
    reduced = _REDUCTIONS[value.reduce]
    return Interval(*(reduced([each[end] for each in found]) for end in range(3)))


def _named(names: pd.Series[Any], pattern: str) -> pd.Series[bool]:
    return names.map(lambda name: fnmatch.fnmatchcase(str(name), pattern)).astype(bool)


def _alike(rows: pd.DataFrame, where: Mapping[str, Any]) -> pd.DataFrame:
    for axis, wanted in where.items():
        column = axis_column(axis)
        if column not in rows.columns:
            raise NotThere("the tables have no such axis", key="where", value=axis)
        rows = rows[rows[column].map(str) == str(wanted)]
    return rows


def _completed(rows: pd.DataFrame, value: Value) -> pd.DataFrame:
    """The rows, none of which may have failed."""
    if rows.empty:
        told = {"workload": value.workload, **value.where}
        raise NotThere("no row of the tables is this", key="where", value=told)
    failed = rows[rows["status"] != "completed"]
    if len(failed):
        first = failed.iloc[0]
        message = f"the run of {first['workload']} ended as {first['status']}"
        raise NotThere(message, key="point", value=str(first["point"]))
    return rows


def _base(frame: pd.DataFrame, row: pd.Series[Any], value: Value) -> pd.Series[Any]:
    """The row that is alike but for the axes of ``over``."""
    changed = {axis_column(axis): wanted for axis, wanted in value.over.items()}
    axes = [name for name in frame.attrs.get("axes", ()) if name not in changed]
    rows = frame[(frame["workload"] == row["workload"]) & (frame["engine"] == row["engine"])]
    for name in axes:
        rows = rows[(rows[name] == row[name]) | (rows[name].isna() & pd.isna(row[name]))]
    rows = _completed(_alike(rows, value.over), value)
    if len(rows) > 1:
        message = f"{len(rows)} rows could be the base"
        raise NotThere(message, key="over", value=dict(value.over), remedy="name more axes in over")
    return rows.iloc[0]


def _interval(row: pd.Series[Any], column: str, tolerance: float) -> Interval:
    """The number of a row between its ends: those of the preview's cycles, or the tolerance.

    Outside of what the preview was measured on, a number that does not go with the cycles is taken to be as
    far off as they may be.
    """
    value = row[column]
    if value != value or value is None:
        message = f"the engine has no number of this for {row['workload']}"
        raise NotThere(message, key="column", value=column)
    value = float(value)
    if not is_batch(str(row["engine"])):
        return exactly(value)
    low, high = _factors(row)
    power = POWERS.get(column, 0)
    if power and low == low:
        ends = sorted([low**power, high**power])
    elif low == low and UNMEASURED in str(row.get("flags", "")):
        ends = [min(low, 1 - tolerance), max(high, 1 + tolerance)]
    else:
        ends = [1 - tolerance, 1 + tolerance]
    return Interval(min(value * ends[0], value * ends[1]), value, max(value * ends[0], value * ends[1]))


def _factors(row: pd.Series[Any]) -> tuple[float, float]:
    """The ends of the interval of a row's cycles over its cycles; NaN where it has none."""
    ends = [float(row[name]) if name in row.index else math.nan for name in INTERVAL]
    low, high = (end / float(row["gpu_cycles"]) for end in ends)
    return low, high
