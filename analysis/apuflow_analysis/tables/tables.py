"""Result tables: one row per point, built from run records."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from apuflow.core.errors import AnalysisError
from apuflow.core.units import clock_hertz, size_bytes
from apuflow_analysis.counters.program import COLUMNS as PROGRAM
from apuflow_analysis.counters.table import BY_NAME as COUNTERS
from apuflow_analysis.metrics import compute
from apuflow_analysis.tables.columns import AXIS, IDENTITY, INTERVAL, Column, axis_column, layout
from apuflow_analysis.tables.records import COMPLETED, Batch, Row, by_name, read_record

ArrayLike: TypeAlias = "np.ndarray[Any, Any]"

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
        recorded = tuple(dict.fromkeys(name for row in rows for name in row.axes))
        cells = [{**row.values, **row.axes, **row.counters, "flags": ";".join(row.findings)} for row in rows]
        batches.insert(0, Batch(by_name(pd.DataFrame(cells, dtype="object")), recorded))
    return assemble(batches if axes is None else [_with_axes(batch, axes) for batch in batches])


def _with_axes(batch: Batch, axes: Mapping[tuple[str, str], Mapping[str, Any]]) -> Batch:
    identity = zip(_listed(batch.columns["engine"]), _listed(batch.columns["point"]), strict=True)
    own = {name: _listed(batch.columns[name]) for name in batch.axes}
    values = []
    for row, key in enumerate(identity):
        given = axes[key] if key in axes else {name: cells[row] for name, cells in own.items()}
        values.append({axis_column(str(name)): value for name, value in given.items()})
    names = dict.fromkeys(name for row in values for name in row)
    cells = {name: _column([row.get(name) for row in values]) for name in names}
    return Batch({**batch.columns, **cells}, tuple(cells))


def assemble(batches: Sequence[Batch]) -> pd.DataFrame:
    """The table of these rows: counters as they are, metrics computed from them."""
    axes = tuple(dict.fromkeys(name for batch in batches for name in batch.axes))
    described = layout(axes)
    real = (*INTERVAL, *PROGRAM)
    numbers = {column.name for column in described if column.kind == "counter" or column.name in real}
    texts = [column.name for column in described if column.kind != "metric" and column.name not in numbers]
    raw = {name: _cells(batches, name) for name in texts}
    _refuse_duplicates(raw)
    order = _order([raw[name] for name in ("engine", "workload", "direction", *axes, "point")])
    data: dict[str, ArrayLike] = {name: _column([raw[name][row] for row in order]) for name in texts}
    data |= {name: np.array(_cells(batches, name), dtype=np.float64)[order] for name in numbers}
    metrics, findings = compute.evaluate(data, len(order))
    pairs = zip(findings, data["flags"], strict=True)
    data["flags"] = _objects([";".join(filter(None, pair)) for pair in pairs])
    for name, counter in COUNTERS.items():
        if counter.integer:
            whole = np.round(data[name])
            data[name] = whole if np.isnan(whole).any() else whole.astype(np.int64)
    data |= metrics
    frame = _frame({column.name: data[column.name] for column in described})
    frame.attrs[AXES] = axes
    return frame


def _frame(data: Mapping[str, ArrayLike]) -> pd.DataFrame:
    """These columns, gathered by type first: pandas takes milliseconds for hundreds of single ones."""
    alike: dict[np.dtype[Any], list[str]] = {}
    for name, values in data.items():
        alike.setdefault(values.dtype, []).append(name)
    blocks = [
        pd.DataFrame(np.array([data[name] for name in names], dtype=dtype).T, columns=names, dtype=dtype)
        for dtype, names in alike.items()
    ]
    place = {name: k for k, name in enumerate(name for names in alike.values() for name in names)}
    return pd.concat(blocks, axis=1).take([place[name] for name in data], axis=1)


def require_completed(frame: pd.DataFrame) -> None:
    """Refuse a table in which a point failed.

    Raises:
        AnalysisError: names every point that is not completed, with its status and evidence.
    """
    failed = frame[frame["status"] != COMPLETED]
    if len(failed) == 0:
        return
    rows = failed[["engine", "workload", "point", "status", "evidence"]].to_dict("records")
    lines = [
        f"{row['engine']}/{row['workload']}/{row['point']}: {row['status']}: "
        f"{row['evidence'] or 'no evidence recorded'}"
        for row in rows
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
    """The axes of a table that was read from a file: they are between the identity and the machine.

    What follows the machine may be from another version, with a column more or less.
    """
    start = len(IDENTITY)
    for stop in range(start, len(names)):
        described = layout(names[start:stop])
        leading = [one.name for one in described if one.kind in (AXIS, "identity", "machine")]
        if leading == list(names[: len(leading)]):
            return names[start:stop]
    known = {column.name for column in layout(())}
    return [name for name in names if name not in known]


def _cells(batches: Sequence[Batch], name: str) -> list[Any]:
    """A column of all rows; None where a batch does not have it."""
    cells: list[Any] = []
    for batch in batches:
        own = batch.columns.get(name)
        cells += [None] * len(batch.columns["point"]) if own is None else _listed(own)
    return cells


def _listed(values: Sequence[Any] | pd.Series[Any] | ArrayLike) -> Sequence[Any]:
    return values.tolist() if isinstance(values, np.ndarray | pd.Series) else values


def _column(values: Sequence[Any]) -> ArrayLike:
    """A column of integers, of floats (NaN where nothing is known) or of objects (None there)."""
    kinds = set(map(type, values))
    if kinds == {str}:
        return _objects(values)
    numbers_alone = all(issubclass(kind, int | float | np.number) for kind in kinds - {NoneType})
    known = [value for value in values if value is not None and value == value]
    if known and numbers_alone and bool not in kinds:
        numbers = np.array([math.nan if value is None else value for value in values], dtype=np.float64)
        whole = (np.floor(numbers) == numbers) & (np.abs(numbers) < LARGEST_WHOLE)
        return numbers.astype(np.int64) if whole.all() else numbers
    return _objects([value if value == value else None for value in values])


def _objects(values: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Values as they are."""
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def _order(columns: Sequence[Sequence[Any]]) -> list[int]:
    """Positions of the rows in order: unknown, numbers, sizes and clocks, other texts; column by column."""
    keys = []
    for cells in columns:
        codes, values = pd.factorize(np.array(cells, dtype=object), use_na_sentinel=False)
        ranks = {value: rank for rank, value in enumerate(sorted(values, key=_sort_key))}
        keys.append(np.array([ranks[value] for value in values], dtype=np.int64)[codes])
    return [int(row) for row in np.lexsort(keys[::-1])]


def _sort_key(value: Any) -> tuple[int, float, str]:
    if value is None or value != value:
        return (0, 0.0, "")
    if isinstance(value, int | float | np.number):
        return (1, float(value), "")
    text = str(value)
    size = size_bytes(text)
    measure = clock_hertz(text) if size is None else float(size)
    return (3, 0.0, text) if measure is None else (2, measure, text)


def _refuse_duplicates(raw: Mapping[str, Sequence[Any]]) -> None:
    rows = Counter(zip(raw["engine"], raw["workload"], raw["point"], strict=True))
    for row, times in rows.items():
        if times > 1:
            value, remedy = "/".join(map(str, row)), "give each record once"
            raise AnalysisError("two records of the same point", key="point", value=value, remedy=remedy)
