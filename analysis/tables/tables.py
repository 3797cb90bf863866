"""Result tables: one row per point, from run records to CSV, Parquet and a description of the columns."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from analysis.counters.table import BY_NAME as COUNTERS
from analysis.metrics import compute
from analysis.tables.columns import AXIS, IDENTITY, Column, axis_column, layout
from analysis.tables.records import COMPLETED, Batch, Row, read_record
from apuflow.core.errors import AnalysisError
from apuflow.core.files import write_files

_AXES = "axes"
_TEXT_KINDS = ("identity", "check", "provenance")
_TABLE_FILES = ("csv", "parquet")
COLUMNS_SUFFIX = ".columns.json"
_ANEW = "remove the table's files and start the workflow again: no run is repeated for it"


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
    return _table(batches if axes is None else [_with_axes(batch, axes) for batch in batches])


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


def _table(batches: Sequence[Batch]) -> pd.DataFrame:
    axes = tuple(dict.fromkeys(name for batch in batches for name in batch.axes))
    described = layout(axes)
    raw = pd.concat([batch.frame.astype("object") for batch in batches], ignore_index=True)
    raw = raw.reindex(columns=[column.name for column in described if column.kind != "metric"])
    _refuse_duplicates(raw)
    raw = raw.iloc[_order(raw, ("engine", "workload", "direction", *axes, "point"))].reset_index(drop=True)
    data = {}
    for column in described:
        if column.kind == "counter":
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
        remedy="correct the cause, allow another try with `apuflow retry`, and start the workflow again; "
        "or let the sweep record failures (on_failure: record)",
    )


def columns(frame: pd.DataFrame) -> tuple[Column, ...]:
    """Units and meanings of a table's columns, in its order."""
    names = list(frame.columns)
    axes = frame.attrs.get(_AXES)
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
        columns_json: name, kind, unit, meaning, formula and range of every column, and the hashes of all
            three files.
    """
    described = columns(frame)
    table = _arrow(frame, described)
    contents: dict[str | Path, bytes] = {}
    if csv is not None:
        contents[csv] = _csv(table)
    if parquet is not None:
        contents[parquet] = _parquet(table)
    if columns_json is not None:
        contents[columns_json] = _json(frame, described, _hashes(contents))
    write_files(contents)


def read(path: str | Path, *, whole: bool = False) -> pd.DataFrame:
    """A table that ``write`` wrote, from its CSV or Parquet.

    Args:
        path: the file; the description of its columns stands beside it as ``NAME.columns.json``.
        whole: refuse a table without that description: nothing shows then that it is as it was written.

    Raises:
        AnalysisError: not a table of ours, or its files are not those that were written together.
    """
    _check_together(Path(path), whole)
    try:
        frame = read_parquet(path) if Path(path).suffix == ".parquet" else _read_csv(path)
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


def read_parquet(path: str | Path) -> pd.DataFrame:
    """A Parquet file; its pages are checked where it holds their checksums.

    Raises:
        OSError, pyarrow.ArrowException: it cannot be read, or a page is damaged.
    """
    return pd.read_parquet(path, page_checksum_verification=True)


def _check_together(path: Path, whole: bool) -> None:
    """The files of a table are those that were written together: not edited, not damaged, not mixed.

    Tables of versions before hashes were recorded have none to compare.
    """
    description = path.with_suffix(COLUMNS_SUFFIX)
    if not description.is_file():
        if whole:
            raise AnalysisError(
                "the description of the table's columns is gone", file=description, remedy=_ANEW
            )
        return
    try:
        content = json.loads(description.read_bytes())
        recorded = content.pop("sha256", {})
        names = {name: path.with_suffix(f".{name}") for name in recorded if name in _TABLE_FILES}
        hashes = {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in names.items()}
        hashes |= {"columns": _sha256(content)} if recorded else {}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise AnalysisError(
            f"the files of this table cannot be compared: {error}", file=description, remedy=_ANEW
        ) from None
    if whole and path.suffix.removeprefix(".") not in hashes:
        raise AnalysisError("this table was written without hashes", file=path, remedy=_ANEW)
    for name, sha256 in hashes.items():
        if sha256 != recorded.get(name):
            raise AnalysisError(
                "the table is not as it was written",
                file=names.get(name, description),
                key=f"sha256.{name} in {description.name}",
                value=sha256,
                remedy=_ANEW,
            )


def _hashes(contents: Mapping[str | Path, bytes]) -> dict[str, str]:
    return {
        Path(file).suffix.removeprefix("."): hashlib.sha256(content).hexdigest()
        for file, content in contents.items()
    }


def _sha256(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


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


def _order(frame: pd.DataFrame, names: Sequence[str]) -> list[int]:
    """Positions of the rows in order: unknown before numbers before texts, column by column."""
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
    return (2, 0.0, str(value))


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


def _arrow(frame: pd.DataFrame, described: Sequence[Column]) -> pa.Table:
    fields, arrays = [], []
    for column in described:
        array = _array(column, frame[column.name])
        metadata = {"kind": column.kind, "unit": column.unit, "meaning": column.meaning}
        fields.append(pa.field(column.name, array.type, metadata=metadata))
        arrays.append(array)
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata={"apuflow.table": "1"}))


def _csv(table: pa.Table) -> bytes:
    stream = io.BytesIO((",".join(map(_quoted, table.column_names)) + "\n").encode())
    stream.seek(0, io.SEEK_END)
    options = pa_csv.WriteOptions(include_header=False, quoting_style="needed")
    pa_csv.write_csv(table, stream, options)
    return stream.getvalue()


def _quoted(name: str) -> str:
    return f'"{name}"' if set(name) & set(',"\n') else name


def _parquet(table: pa.Table) -> bytes:
    stream = io.BytesIO()
    pq.write_table(table, stream, compression="zstd", write_page_checksum=True)
    return stream.getvalue()


def _array(column: Column, values: pd.Series[Any]) -> pa.Array:
    """A column with the type that its kind always has, whatever its values are here."""
    if column.kind == "counter" and COUNTERS[column.name].integer:
        return pa.array(values, pa.float64(), from_pandas=True).cast(pa.int64())
    if column.kind in ("counter", "metric", "run"):
        return pa.array(pd.to_numeric(values), pa.float64(), from_pandas=True)
    if column.kind not in _TEXT_KINDS and pd.api.types.is_numeric_dtype(values):
        whole = pa.array(values, from_pandas=True)
        known = values.dropna()
        return whole.cast(pa.int64()) if len(known) and (known % 1 == 0).all() else whole
    return pa.array(
        [None if value is None or value != value else str(value) for value in values], pa.string()
    )


def _json(frame: pd.DataFrame, described: Sequence[Column], hashes: Mapping[str, str]) -> bytes:
    content: dict[str, Any] = {
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
    content["sha256"] = {**hashes, "columns": _sha256(content)}
    return (json.dumps(content, indent=1, sort_keys=False) + "\n").encode()
