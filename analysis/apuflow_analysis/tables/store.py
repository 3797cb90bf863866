"""Files of a table: CSV, Parquet and a description of the columns, each with hashes of all three."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from apuflow.core.errors import AnalysisError
from apuflow.core.files import write_files
from apuflow_analysis.counters.table import BY_NAME as COUNTERS
from apuflow_analysis.tables.columns import AXIS, IDENTITY, Column, layout
from apuflow_analysis.tables.tables import AXES, LARGEST_WHOLE, columns

_TEXT_KINDS = ("identity", "check", "provenance")
COLUMNS_SUFFIX = ".columns.json"
_OURS = "give a table that the workflow wrote (results/*.csv or results/*.parquet)"
_ANEW = "remove the table's files and start the workflow again: no run is repeated for it"


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
        hashes = {Path(file).suffix.removeprefix("."): _sha256(content) for file, content in contents.items()}
        contents[columns_json] = _json(frame, described, hashes)
    write_files(contents)


def read(path: str | Path, *, whole: bool = False) -> pd.DataFrame:
    """A table that ``write`` wrote, from its CSV or Parquet.

    Args:
        path: the file; the description of its columns is in ``NAME.columns.json``.
        whole: refuse a table without that description: nothing shows then that it is as it was written.

    Raises:
        AnalysisError: not a table of ours, or its files are not those that were written together.
    """
    _check_together(Path(path), whole)
    try:
        parquet = Path(path).suffix == ".parquet"
        frame = pd.read_parquet(path, page_checksum_verification=True) if parquet else _read_csv(path)
    except (OSError, ValueError, pa.ArrowException) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise AnalysisError(f"cannot read this table: {why}", file=path, remedy=_OURS) from None
    missing = [column.name for column in IDENTITY if column.name not in frame.columns]
    if missing:
        message = "this is not a result table: a column is missing"
        raise AnalysisError(message, file=path, key=missing[0], remedy=_OURS)
    described = columns(frame)
    for column in described:
        values = frame[column.name]
        number = column.kind in ("counter", "metric", "run") or values.notna().any()
        if not (number and pd.api.types.is_numeric_dtype(values)):
            frame[column.name] = values.astype("object").where(values.notna(), None)
    frame.attrs[AXES] = tuple(column.name for column in described if column.kind == AXIS)
    return frame


def _check_together(path: Path, whole: bool) -> None:
    """The files of a table are those that were written together: not edited, not damaged, not mixed.

    Tables of format 1 may be older than the hashes, and have none to compare.
    """
    description = path.with_suffix(COLUMNS_SUFFIX)
    if not description.is_file():
        if whole:
            message = "the description of the table's columns is gone"
            raise AnalysisError(message, file=description, remedy=_ANEW)
        return
    try:
        content = json.loads(description.read_bytes())
        recorded = dict(content.pop("sha256", {}))
        if not (recorded or whole) and content["format"] == 1:
            return
        names = {name: path.with_suffix(f".{name}") for name in recorded if name != "columns"}
        hashes = {name: _sha256(file.read_bytes()) for name, file in names.items()}
        hashes["columns"] = _sha256(content)
    except OSError as error:
        message = f"the files of this table cannot be compared: {error.strerror}"
        raise AnalysisError(message, file=error.filename, remedy=_ANEW) from None
    except (ValueError, LookupError, AttributeError, TypeError, RecursionError):
        raise AnalysisError("this is no description of a table", file=description, remedy=_ANEW) from None
    if path.suffix.removeprefix(".") not in hashes:
        raise AnalysisError("this table was written without hashes", file=path, remedy=_ANEW)
    for name, sha256 in hashes.items():
        if sha256 != recorded.get(name):
            file, key = names.get(name, description), f"sha256.{name} in {description.name}"
            message = "the table is not as it was written"
            raise AnalysisError(message, file=file, key=key, value=sha256, remedy=_ANEW)


def _sha256(content: bytes | Mapping[str, Any]) -> str:
    """Of a file's content, or of a description in its canonical form."""
    text = content if isinstance(content, bytes) else json.dumps(content, sort_keys=True).encode()
    return hashlib.sha256(text).hexdigest()


def _read_csv(path: str | Path) -> pd.DataFrame:
    text = {column.name: "object" for column in layout(()) if column.kind in _TEXT_KINDS}
    frame = pd.read_csv(path, dtype=text, low_memory=False)
    frame["flags"] = frame["flags"].fillna("") if "flags" in frame else ""
    return frame


def _arrow(frame: pd.DataFrame, described: Sequence[Column]) -> pa.Table:
    arrays = [_array(column, frame[column.name]) for column in described]
    fields = [
        pa.field(one.name, array.type, metadata={"kind": one.kind, "unit": one.unit, "meaning": one.meaning})
        for one, array in zip(described, arrays, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata={"apuflow.table": "1"}))


def _csv(table: pa.Table) -> bytes:
    names = (f'"{name}"' if set(name) & set(',"\n') else name for name in table.column_names)
    stream = io.BytesIO()
    stream.write((",".join(names) + "\n").encode())
    pa_csv.write_csv(table, stream, pa_csv.WriteOptions(include_header=False, quoting_style="needed"))
    return stream.getvalue()


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
        exact = (known % 1 == 0) & (known.abs() < LARGEST_WHOLE)
        return whole.cast(pa.int64()) if len(known) and exact.all() else whole
    texts = [None if value is None or value != value else str(value) for value in values]
    return pa.array(texts, pa.string())


def _json(frame: pd.DataFrame, described: Sequence[Column], hashes: Mapping[str, str]) -> bytes:
    status = frame["status"].value_counts().sort_index()
    content: dict[str, Any] = {
        "format": 2,
        "rows": len(frame),
        "engines": sorted(set(map(str, frame["engine"]))),
        "status": {str(key): int(count) for key, count in status.items()},
        "columns": [
            {key: value for key, value in dataclasses.asdict(column).items() if value not in ("", None)}
            for column in described
        ],
    }
    content["sha256"] = {**hashes, "columns": _sha256(content)}
    return (json.dumps(content, indent=1, sort_keys=False) + "\n").encode()
