"""Result tables: one row per point, from run records to CSV, Parquet and a description of the columns."""

from __future__ import annotations

import dataclasses
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from analysis import metrics
from analysis.atomic import write_files
from analysis.columns import AXIS, IDENTITY, Column, axis_column, layout
from analysis.counter_table import BY_NAME as COUNTERS
from analysis.errors import AnalysisError
from analysis.records import COMPLETED, Row, read_rows

_AXES = "axes"
_TEXT_KINDS = ("identity", "check", "provenance")


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
    rows = [row for record in records for row in read_rows(record)]
    return from_rows(rows if axes is None else [_with_axes(row, axes) for row in rows])


def _with_axes(row: Row, axes: Mapping[tuple[str, str], Mapping[str, Any]]) -> Row:
    asked = axes.get((row.values["engine"], row.values["point"]), row.axes)
    return dataclasses.replace(row, axes={axis_column(name): value for name, value in asked.items()})


def from_rows(rows: Sequence[Row]) -> pd.DataFrame:
    """The table of rows that are already read (see ``build``)."""
    axes = tuple(dict.fromkeys(name for row in rows for name in row.axes))
    names = [column.name for column in layout(axes)]
    ordered = sorted(rows, key=lambda row: _order(row, axes))
    _refuse_duplicates(ordered)
    cells = [{**row.values, **row.axes, **row.counters} for row in ordered]
    data = {name: _series([cell.get(name) for cell in cells]) for name in names}
    for name in COUNTERS:
        data[name] = pd.to_numeric(data[name]).astype("float64")
    frame = metrics.compute(pd.DataFrame(data))
    frame["flags"] = pd.Series(
        [
            ";".join([flag for flag in (flags, *row.findings) if flag])
            for flags, row in zip(frame["flags"], ordered, strict=True)
        ],
        dtype="object",
    )
    frame = frame[names]
    for name, counter in COUNTERS.items():
        if counter.integer and not frame[name].isna().any():
            frame[name] = frame[name].round().astype("int64")
    frame.attrs[_AXES] = axes
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
        remedy="mend the points and run again, or let the sweep record failures (on_failure: record)",
    )


def columns(frame: pd.DataFrame) -> tuple[Column, ...]:
    """Units and meanings of a table's columns, in its order."""
    names = list(frame.columns)
    axes = frame.attrs.get(_AXES)
    described = {column.name: column for column in layout(_guess_axes(names) if axes is None else axes)}
    return tuple(described.get(name, Column(name, AXIS, "", "")) for name in names)


def _guess_axes(names: Sequence[str]) -> Sequence[str]:
    """The axes of a table that was read from a file: they stand between the identity and the machine."""
    start = len(IDENTITY)
    for stop in range(start, len(names)):
        if [column.name for column in layout(names[start:stop])] == list(names):
            return names[start:stop]
    known = {column.name for column in layout(())}
    return [name for name in names if name not in known]


def write(
    frame: pd.DataFrame,
    csv: str | Path | None = None,
    parquet: str | Path | None = None,
    columns_json: str | Path | None = None,
) -> None:
    """Write a table; all files or none. The same frame gives the same bytes.

    Args:
        frame: from ``build``.
        csv: comma separated values; empty where nothing is known.
        parquet: the same with types; units and meanings are the fields' metadata.
        columns_json: name, kind, unit, meaning, formula and range of every column.
    """
    described = columns(frame)
    contents: dict[str | Path, bytes] = {}
    if csv is not None:
        contents[csv] = _csv(frame)
    if parquet is not None:
        contents[parquet] = _parquet(frame, described)
    if columns_json is not None:
        contents[columns_json] = _json(frame, described)
    write_files(contents)


def read(path: str | Path) -> pd.DataFrame:
    """A table that ``write`` wrote, from its CSV or Parquet.

    Raises:
        AnalysisError: not a table of ours.
    """
    try:
        frame = pd.read_parquet(path) if Path(path).suffix == ".parquet" else _read_csv(path)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise AnalysisError(f"cannot read this table: {error}", file=path) from None
    missing = [column.name for column in IDENTITY if column.name not in frame.columns]
    if missing:
        raise AnalysisError(
            "this is not a result table: a column is missing",
            file=path,
            key=missing[0],
            remedy="give a table that the workflow wrote (results/*.csv or results/*.parquet)",
        )
    described = columns(frame)
    for column in described:
        values = frame[column.name]
        number = column.kind in ("counter", "metric", "run") or values.notna().any()
        if not (number and pd.api.types.is_numeric_dtype(values)):
            frame[column.name] = values.astype("object").where(values.notna(), None)
    frame.attrs[_AXES] = tuple(column.name for column in described if column.kind == AXIS)
    return frame


def _read_csv(path: str | Path) -> pd.DataFrame:
    text = {column.name: "object" for column in layout(()) if column.kind in _TEXT_KINDS}
    frame = pd.read_csv(path, dtype=text, low_memory=False)
    frame["flags"] = frame["flags"].fillna("") if "flags" in frame else ""
    return frame


def _series(values: list[Any]) -> pd.Series[Any]:
    """A column of integers, of floats (NaN where nothing is known) or of objects (None there)."""
    known = [value for value in values if value is not None and value == value]
    numeric = all(
        isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in known
    )
    if known and numeric:
        if len(known) == len(values) and all(float(value).is_integer() for value in known):
            return pd.Series([int(value) for value in values], dtype="int64")
        return pd.Series([math.nan if value is None else float(value) for value in values], dtype="float64")
    return pd.Series([value if value == value else None for value in values], dtype="object")


def _order(row: Row, axes: Sequence[str]) -> tuple[tuple[int, float, str], ...]:
    cells = [row.values.get(name) for name in ("engine", "workload", "direction")]
    cells += [row.axes.get(name) for name in axes] + [row.values.get("point")]
    return tuple(_sort_key(cell) for cell in cells)


def _sort_key(value: Any) -> tuple[int, float, str]:
    if value is None or value != value:
        return (0, 0.0, "")
    if isinstance(value, int | float | np.number):
        return (1, float(value), "")
    return (2, 0.0, str(value))


def _refuse_duplicates(rows: Sequence[Row]) -> None:
    seen: set[tuple[Any, ...]] = set()
    for row in rows:
        key = tuple(row.values.get(name) for name in ("engine", "workload", "point"))
        if key in seen:
            raise AnalysisError(
                "two records of the same point",
                key="point",
                value="/".join(map(str, key)),
                remedy="give each once",
            )
        seen.add(key)


def _cells(values: list[Any], kind: str) -> list[str]:
    known = [value for value in values if isinstance(value, float) and value == value]
    integer = kind not in ("metric", "run") and all(value.is_integer() for value in known)
    return [_cell(value, integer) for value in values]


def _cell(value: Any, integer: bool) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, float):
        return str(int(value)) if integer else repr(value)
    return str(value)


def _csv(frame: pd.DataFrame) -> bytes:
    kinds = {column.name: column.kind for column in columns(frame)}
    text = pd.DataFrame(
        {name: _cells(frame[name].tolist(), kinds[name]) for name in frame.columns},
        columns=frame.columns,
        dtype="object",
    )
    stream = io.StringIO()
    text.to_csv(stream, index=False, lineterminator="\n")
    return stream.getvalue().encode()


def _parquet(frame: pd.DataFrame, described: Sequence[Column]) -> bytes:
    fields, arrays = [], []
    for column in described:
        values = [None if value is None or value != value else value for value in frame[column.name].tolist()]
        array = _array(column, values)
        metadata = {"kind": column.kind, "unit": column.unit, "meaning": column.meaning}
        fields.append(pa.field(column.name, array.type, metadata=metadata))
        arrays.append(array)
    table = pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata={"apuflow.table": "1"}))
    stream = io.BytesIO()
    pq.write_table(table, stream, compression="zstd")
    return stream.getvalue()


def _array(column: Column, values: list[Any]) -> pa.Array:
    if column.kind in _TEXT_KINDS:
        return pa.array([None if value is None else str(value) for value in values], pa.string())
    if column.kind == "counter" and COUNTERS[column.name].integer:
        return pa.array([None if value is None else round(value) for value in values], pa.int64())
    if column.kind in ("counter", "metric", "run"):
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values], pa.string())


def _json(frame: pd.DataFrame, described: Sequence[Column]) -> bytes:
    content: Mapping[str, Any] = {
        "format": 1,
        "rows": len(frame),
        "engines": sorted({str(engine) for engine in frame["engine"]}),
        "status": {
            str(key): int(count) for key, count in frame["status"].value_counts().sort_index().items()
        },
        "columns": [
            {key: value for key, value in dataclasses.asdict(column).items() if value not in ("", None)}
            for column in described
        ],
    }
    return (json.dumps(content, indent=1, sort_keys=False) + "\n").encode()
