"""Read what engines leave of a run: one row of raw values per point."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from analysis.columns import IDENTITY, MACHINE, RUN, axis_column
from analysis.counter_table import NAMES as COUNTER_NAMES
from analysis.counters import counters
from analysis.errors import AnalysisError
from analysis.stats_files import TORN, open_packed

COMPLETED = "completed"
_REMEDY = "remove the run's directory and start the workflow again: the run is made anew"
_PROVENANCE = (*(column.name for column in RUN if column.kind == "provenance"), "mmap_bytes")
_MACHINE = tuple(column.name for column in MACHINE)


@dataclass(frozen=True)
class Row:
    """One point as its engine reported it.

    Attributes:
        values: identity, machine, run and provenance columns.
        axes: what the sweep varied, by column name, in the sweep's order.
        counters: counter columns; empty unless the run completed.
        findings: broken identities of the statistics, with numbers, and what is missing at their end.
    """

    values: Mapping[str, Any]
    axes: Mapping[str, Any]
    counters: Mapping[str, float] = field(default_factory=dict)
    findings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Batch:
    """Many points at once, as columns.

    Attributes:
        frame: identity, machine, run and counter columns and the axes; counters are NaN where a point did not
            complete.
        axes: names of the axis columns, in the sweep's order.
    """

    frame: pd.DataFrame
    axes: tuple[str, ...]


def read_record(path: str | Path) -> Row | Batch:
    """What a run directory, a preview batch's directory, or the ``run.json`` in either holds.

    Raises:
        AnalysisError: the record is missing, not JSON or lacks a key, or a completed run's statistics cannot
            be read.
    """
    file = Path(path)
    file = file if file.name.endswith(".json") else file / "run.json"
    record = load_record(file)
    batch = file.parent / "counters.parquet"
    if batch.exists():
        return _batch(record, batch)
    return _row(record, file)


def load_record(file: str | Path) -> dict[str, Any]:
    """The content of a ``run.json``.

    Raises:
        AnalysisError: missing, not JSON, or without engine and workload.
    """
    try:
        record = json.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise AnalysisError(
            f"no run record here: {error.strerror}", file=file, remedy="give a directory that a run has left"
        ) from None
    except ValueError as error:
        raise AnalysisError(
            f"the run record is not JSON: {error}",
            file=file,
            remedy="remove it and let the run be made again",
        ) from None
    missing = [key for key in ("engine", "workload") if not isinstance(record, dict) or key not in record]
    if missing:
        raise AnalysisError("the run record lacks a key", file=file, key=missing[0])
    damaged = next(_damage(record), None)
    if damaged is not None:
        raise AnalysisError("the run record is damaged", file=file, key=damaged, remedy=_REMEDY)
    return dict(record)


_NUMBER = re.compile(r"v?(\d+\.\d+)")
_NUMBERS = ("wall_seconds", "peak_memory_bytes")


def _damage(record: Mapping[str, Any]) -> Iterator[str]:
    """Keys whose values cannot stand in a row."""
    for name in (*(column.name for column in IDENTITY), "release", "gfx", "evidence", "bound"):
        value = record.get(name)
        if not (isinstance(value, str | None) or value != value):  # a frame's own "nothing" is NaN
            yield name
    for name in _NUMBERS:
        if isinstance(value := record.get(name), bool) or not isinstance(value, int | float | None):
            yield name
    launches = record.get("launches") or []
    if not isinstance(launches, list) or not all(isinstance(one, Mapping) for one in launches):
        yield "launches"
    for name in ("options", "axes", "provenance", "results"):
        value = record.get(name)
        if isinstance(value, Mapping) and name == "axes" and record.get("engine") == "preview":
            continue  # a batch lists each axis's values
        if isinstance(value, Mapping):
            for key, cell in value.items():
                wanted = name != "provenance" or key in _PROVENANCE
                if wanted and not isinstance(cell, str | int | float | None):
                    yield f"{name}.{key}"
        elif name == "axes" and isinstance(value, list):  # a preview batch names its axes only
            if not all(isinstance(axis, str) for axis in value):
                yield name
        elif value is not None:
            yield name


def statistics_files(record: Mapping[str, Any], directory: str | Path) -> tuple[Path, ...]:
    """The statistics files that a record names, in the order of its launches.

    Raises:
        AnalysisError: a name is none, or leads out of the run's directory.
    """
    named = record.get("statistics") or ()
    names = [named] if isinstance(named, str) else named
    if not isinstance(names, list | tuple) or not all(
        isinstance(name, str) and name not in ("", ".", "..") and not set(name) & set("/\\\0")
        for name in names
    ):
        raise AnalysisError(
            "the run record names no file of its own directory",
            file=Path(directory) / "run.json",
            key="statistics",
            value=named,
            remedy=_REMEDY,
        )
    return tuple(Path(directory) / name for name in names)


def run_values(record: Mapping[str, Any]) -> dict[str, Any]:
    """The machine columns of a run record."""
    options = {axis_column(name): value for name, value in (record.get("options") or {}).items()}
    return {name: options.get(name) for name in _MACHINE} | {
        "release": record.get("release"),
        "gfx": record.get("gfx", options.get("gfx_version")),
    }


def _row(record: Mapping[str, Any], file: Path) -> Row:
    provenance = record.get("provenance") or {}
    values: dict[str, Any] = {column.name: record.get(column.name) for column in IDENTITY}
    values |= run_values(record)
    values |= {name: record.get(name) for name in ("evidence", "bound", "wall_seconds", "peak_memory_bytes")}
    values |= {name: provenance.get(name) for name in _PROVENANCE}
    results = record.get("results") or {}
    values["max_relative_error"] = results.get("max_relative_error")
    values["stand_in"] = stand_ins(record) or None
    axes = {axis_column(name): value for name, value in (record.get("axes") or {}).items()}
    if record.get("status") != COMPLETED:
        return Row(values, axes)
    files = statistics_files(record, file.parent)
    if not files:
        raise AnalysisError(
            "a completed run without statistics", file=file, key="statistics", remedy="make the run again"
        )
    _check_unchanged(files, provenance.get("statistics_sha256"), file)
    own = (
        record.get("engine") == "gem5-kernels"
    )  # dumps around its kernels: the rest is the CPU filling memory
    found = counters(files, release=record.get("release"), kernels_only=own)
    findings = [str(broken) for broken in found.broken] + ([f"cut: {found.cut}"] if found.cut else [])
    findings = [*filter(None, [judgement(record), _other_gem5(record)]), *findings]
    return Row(values, axes, dict(found), tuple(findings))


def judgement(record: Mapping[str, Any]) -> str:
    """What a row must say of what the run's kernels computed; "" if it was right, or nobody could tell."""
    results = record.get("results") or {}
    if not results or results.get("agree") is True:
        return ""
    kind = "wrong results" if results.get("agree") is False else "results not checked"
    return f"{kind}: {results.get('note')}"


def _other_gem5(record: Mapping[str, Any]) -> str:
    """Says so where the program that ran calls itself another release than the one that was asked for."""
    said = _NUMBER.match(str((record.get("provenance") or {}).get("gem5_version") or ""))
    asked = _NUMBER.match(str(record.get("release") or ""))
    if said is None or asked is None or said[1] == asked[1]:
        return ""
    return f"another gem5: release {record.get('release')} was asked for, {said[1]} ran"


def stand_ins(record: Mapping[str, Any]) -> str:
    """``kernel: what it stands in for`` of a run's launches, once each."""
    launches = record.get("launches") or ()
    named = [f"{one.get('kernel')}: {one['stand_in']}" for one in launches if one.get("stand_in")]
    return "; ".join(dict.fromkeys(named))


def _check_unchanged(files: Sequence[Path], sha256: object, record: Path) -> None:
    """The statistics are the very ones that proved the run: not cut, not another run's, not edited.

    Raises:
        AnalysisError: they are missing or differ from the hash that the run recorded.
    """
    for file in files:
        if not file.is_file():
            raise AnalysisError("the statistics of a completed run are gone", file=file, remedy=_REMEDY)
    if sha256 is None or len(files) != 1:
        return
    digest = hashlib.sha256()
    try:
        with open_packed(files[0]) as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
        found = digest.hexdigest()
    except (OSError, *TORN) as error:
        found = str(error)
    if found != sha256:
        raise AnalysisError(
            "the statistics are not those that the run was proven with",
            file=files[0],
            key=f"provenance.statistics_sha256 in {record.name}",
            value=found,
            remedy=_REMEDY,
        )


def _batch(record: Mapping[str, Any], file: Path) -> Batch:
    try:
        frame = pd.read_parquet(file, page_checksum_verification=True)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise AnalysisError(f"cannot read this batch: {error}", file=file, remedy=_REMEDY) from None
    frame.columns = pd.Index([axis_column(str(name)) for name in frame.columns])
    known = {column.name for column in (*IDENTITY, *MACHINE, *RUN)} | set(COUNTER_NAMES)
    axes = tuple(axis_column(name) for name in record.get("axes") or ())
    axes = axes or tuple(name for name in frame.columns if name not in known)
    absent = [name for name in ("point", "status", *axes) if name not in frame.columns]
    if absent:
        raise AnalysisError("the batch lacks a column", file=file, key=absent[0])
    shared = _row({**record, "status": None}, file).values
    given = {name: value for name, value in shared.items() if name not in frame.columns and value is not None}
    frame = frame[[name for name in frame.columns if name in known or name in axes]].assign(**given)
    counted = [name for name in COUNTER_NAMES if name in frame.columns]
    frame.loc[frame["status"] != COMPLETED, counted] = float("nan")
    return Batch(frame, axes)
