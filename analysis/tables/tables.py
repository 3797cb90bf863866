"""Result tables: one row per point, built from run records."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.counters.table import BY_NAME as COUNTERS
from analysis.metrics import compute
from analysis.tables.columns import AXIS, IDENTITY, INTERVAL, Column, axis_column, layout
from analysis.tables.records import COMPLETED, Batch, Row, read_record
from apuflow.core.errors import AnalysisError
from apuflow.core.units import clock_hertz, size_bytes

AXES = "axes"
LARGEST_WHOLE = 2**53
"""Above it a float holds no longer every whole number: such values stay floats."""


def build(
    records: Iterable[str | Path], axes: Mapping[tuple[str, str], Mapping[str, Any]] | None = None
) -> pd.DataFrame:
    """The table of all points that the records hold.

    Args:
        records: run directories (or their ``run.json``) and preview batches, in any order.
        axes: what this sweep varies, by (engine, point); a run that two sweeps share was recorded with the
            axes of the first. Without it, the recorded axes.

    Returns:
        One row per point in an order that depends only on the rows; columns as ``columns(frame)`` describes
        them, all of them always present. Rows that did not complete have no counters and metrics.

    Raises:
        AnalysisError: a record or its statistics cannot be read, or two records claim the same point.
    """
    results = [read_record(record) for record in records]
    batches = [item for item in results if isinstance(item, Batch)]
    if rows := [item for item in results if isinstance(item, Row)]:
        batches.insert(0, _gather(rows))
    return assemble(batches if axes is None else [_with_axes(batch, axes) for batch in batches])


def of_counters(frame: pd.DataFrame, axes: Sequence[str]) -> pd.DataFrame:
    """The table of points whose counters are at hand, as ``build`` makes it of their records.

    Args:
        frame: one row per point with its identity, axes, machine options and counters.
        axes: names of what varies.
    """
    named = frame.rename(columns={str(name): axis_column(str(name)) for name in frame.columns})
    return assemble([Batch(named, tuple(axis_column(name) for name in axes))])


def _gather(rows: Sequence[Row]) -> Batch:
    axes = tuple(dict.fromkeys(name for row in rows for name in row.axes))
    cells = [{**row.values, **row.axes, **row.counters, "flags": ";".join(row.findings)} for row in rows]
    return Batch(pd.DataFrame(cells, dtype="object"), axes)


def _with_axes(batch: Batch, axes: Mapping[tuple[str, str], Mapping[str, Any]]) -> Batch:
    own: list[Mapping[Any, Any]] = list(batch.frame[list(batch.axes)].to_dict("records"))
    keys = zip(batch.frame["engine"], batch.frame["point"], strict=True)
    values = [
        {axis_column(str(name)): value for name, value in axes.get(key, recorded).items()}
        for key, recorded in zip(keys, own, strict=True)
    ]
    names = dict.fromkeys(name for row in values for name in row)
    cells = {name: _series([row.get(name) for row in values]).array for name in names}
    return Batch(batch.frame.assign(**cells), tuple(cells))


def assemble(batches: Sequence[Batch]) -> pd.DataFrame:
    """The table of these rows: counters as they are, metrics reckoned from them."""
    axes = tuple(dict.fromkeys(name for batch in batches for name in batch.axes))
    described = layout(axes)
    raw = pd.concat([batch.frame.astype("object") for batch in batches], ignore_index=True)
    raw = raw.reindex(columns=[column.name for column in described if column.kind != "metric"])
    _refuse_duplicates(raw)
    raw = raw.iloc[_order(raw, ("engine", "workload", "direction", *axes, "point"))].reset_index(drop=True)
    data = {}
    for column in described:
        if column.kind == "counter" or column.name in INTERVAL:
            data[column.name] = pd.to_numeric(raw[column.name]).astype("float64")
        elif column.kind != "metric":
            data[column.name] = _series(raw[column.name].tolist())
    findings = ["" if text is None else str(text) for text in data["flags"]]
    frame = compute.compute(pd.DataFrame(data))
    frame["flags"] = pd.Series(
        [";".join(text for text in pair if text) for pair in zip(frame["flags"], findings, strict=True)],
        dtype="object",
    )
    frame = frame[[column.name for column in described]].copy()
    for name, counter in COUNTERS.items():
        if counter.integer:
            whole = frame[name].round()
            frame[name] = whole if whole.isna().any() else whole.astype("int64")
    frame.attrs[AXES] = axes
    return frame


def require_completed(frame: pd.DataFrame) -> None:
    """Refuse a table in which a point failed.

    Raises:
        AnalysisError: names every point that is not completed, with its status and evidence.
    """
    failed = frame[frame["status"] != COMPLETED]
    if len(failed) == 0:
        return
    lines = [
        f"{row['engine']}/{row['workload']}/{row['point']}: {row['status']}: "
        + str(row["evidence"] or "no evidence recorded")
        for row in failed.to_dict("records")
    ]
    raise AnalysisError(
        f"{len(failed)} of {len(frame)} points did not complete\n  " + "\n  ".join(lines),
        remedy="correct the cause, allow another try with `apuflow retry`, and start the workflow again; "
        "or let the sweep record failures (on_failure: record)",
    )


def columns(frame: pd.DataFrame) -> tuple[Column, ...]:
    """Units and meanings of a table's columns, in its order."""
    names = list(frame.columns)
    axes = frame.attrs.get(AXES)
    described = {column.name: column for column in layout(_guess_axes(names) if axes is None else axes)}
    return tuple(described.get(name, Column(name, AXIS, "", "")) for name in names)


def _guess_axes(names: Sequence[str]) -> Sequence[str]:
    """The axes of a table that was read from a file: they stand between the identity and the machine.

    What follows the machine may be from another version, with a column more or less.
    """
    start = len(IDENTITY)
    for stop in range(start, len(names)):
        leading = [
            column.name
            for column in layout(names[start:stop])
            if column.kind in (AXIS, "identity", "machine")
        ]
        if leading == list(names[: len(leading)]):
            return names[start:stop]
    known = {column.name for column in layout(())}
    return [name for name in names if name not in known]


def _series(values: list[Any]) -> pd.Series[Any]:
    """A column of integers, of floats (NaN where nothing is known) or of objects (None there)."""
    known = [value for value in values if value is not None and value == value]
    numeric = all(
        isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in known
    )
    if known and numeric:
        whole = all(float(value).is_integer() and abs(value) < LARGEST_WHOLE for value in known)
        if len(known) == len(values) and whole:
            return pd.Series([int(value) for value in values], dtype="int64")
        return pd.Series([math.nan if value is None else float(value) for value in values], dtype="float64")
    return pd.Series([value if value == value else None for value in values], dtype="object")


def _order(frame: pd.DataFrame, names: Sequence[str]) -> list[int]:
    """Positions of the rows in order: unknown, numbers, sizes and clocks, other texts; column by column."""
    keys = []
    for name in names:
        codes, values = pd.factorize(frame[name], use_na_sentinel=False)
        ranks = {value: rank for rank, value in enumerate(sorted(values, key=_sort_key))}
        keys.append(np.array([ranks[value] for value in values], dtype=np.int64)[codes])
    return np.lexsort(keys[::-1]).tolist() if len(frame) else []


def _sort_key(value: Any) -> tuple[int, float, str]:
    if value is None or value != value:
        return (0, 0.0, "")
    if isinstance(value, int | float | np.number):
        return (1, float(value), "")
    text = str(value)
    size = size_bytes(text)
    measure = clock_hertz(text) if size is None else float(size)
    return (3, 0.0, text) if measure is None else (2, measure, text)


def _refuse_duplicates(frame: pd.DataFrame) -> None:
    keys = ["engine", "workload", "point"]
    doubled = frame[frame.duplicated(keys)]
    if len(doubled):
        raise AnalysisError(
            "two records of the same point",
            key="point",
            value="/".join(map(str, doubled.iloc[0][keys])),
            remedy="give each record once",
        )
