"""Read what engines leave of a run: one row of raw values per point."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from apuflow.core.errors import AnalysisError
from apuflow.core.products import of_launches
from apuflow.core.record import BatchRecord, LaunchRecord, ReleaseFacts, RunRecord, Status, read
from apuflow.gem5.stats.blocks import text_sha256
from apuflow_analysis.counters.counters import CACHES, Counters, counters, with_matrix
from apuflow_analysis.counters.extrapolate import Extrapolation, extrapolations, half_width, interval, told
from apuflow_analysis.counters.matrix import COLUMNS as TYPES
from apuflow_analysis.counters.program import COLUMNS as PROGRAM
from apuflow_analysis.counters.program import Counted, program_time
from apuflow_analysis.counters.table import NAMES as COUNTER_NAMES
from apuflow_analysis.tables.columns import IDENTITY, INTERVAL, MACHINE, RUN, axis_column

COMPLETED = Status.COMPLETED.value
_REMEDY = "remove the run's directory and start the workflow again: the run is made again"
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
        columns: identity, machine, run and counter columns and the axes, of equal length; counters are NaN
            where a point did not complete.
        axes: names of the axis columns, in the sweep's order.
    """

    columns: Mapping[str, Sequence[Any] | pd.Series[Any] | NDArray[Any]]
    axes: tuple[str, ...]


def by_name(frame: pd.DataFrame) -> dict[str, pd.Series[Any]]:
    """The columns of a frame."""
    return {str(name): values for name, values in frame.items()}


def read_record(path: str | Path) -> Row | Batch:
    """What a run directory, a preview batch's directory, or the ``run.json`` in either holds.

    Raises:
        AnalysisError: the record, a completed run's statistics or a batch's counters are missing or damaged.
    """
    file = Path(path)
    file = file if file.name.endswith(".json") else file / "run.json"
    record = read(file)
    if isinstance(record, BatchRecord):
        return _batch(record, file.parent / "counters.parquet")
    return _row(record, file)


def run_values(record: RunRecord) -> dict[str, Any]:
    """The machine columns of a run record."""
    options = {axis_column(name): value for name, value in record.options.items()}
    others = {"release": record.release, "gfx": record.gfx, "inputs": record.inputs}
    return {name: options.get(name) for name in _MACHINE} | others


def _row(record: RunRecord, file: Path) -> Row:
    values: dict[str, Any] = {column.name: getattr(record, column.name) for column in IDENTITY}
    values |= {"status": record.status.value, "bound": None}
    values |= run_values(record)
    values |= {name: getattr(record, name) for name in ("evidence", "wall_seconds", "peak_memory_bytes")}
    values |= {name: getattr(record.provenance, name) for name in _PROVENANCE}
    values["max_relative_error"] = record.results.max_relative_error if record.results else None
    values["products"] = of_launches((one.stand_in, one.library) for one in record.launches) or None
    named = (f"{one.kernel}: {one.stand_in}" for one in record.launches if one.stand_in)
    values["stand_in"] = _distinct(named)
    values["library"] = _distinct(launch.library for launch in record.launches)
    changes = (change for one in record.launches for change in (one.changed or "").split("; "))
    values["changed"] = _distinct(changes)
    axes = {axis_column(name): value for name, value in record.axes.items()}
    if record.status is not Status.COMPLETED:
        return Row(values, axes)
    files = record.statistics_files(file.parent)
    if not files:
        raise AnalysisError("a completed run without statistics", file=file, key="statistics", remedy=_REMEDY)
    check_unchanged(record, file)
    # Its statistics frame its own kernels: the rest is the CPU filling memory.
    own = record.own_kernels_only
    facts = record.release_facts
    parts = extrapolations(record)
    ran: list[Counters] = []
    numbers = counters(files, facts, kernels_only=own, wholly=_wholly(record, parts, ran))
    if ran:
        values |= _program(record, parts, ran)
    if parts:
        kept = (f"{one.kernel} ran whole: {one.kept_whole}" for one in record.launches if one.kept_whole)
        values["extrapolated"] = _distinct([told(parts, numbers), *kept])
        values |= _interval(parts, numbers)
    matrix = any(numbers[f"matrix_lanes_{kind}"] for kind in TYPES)
    said = [
        judgement(record),
        _other_gem5(record, facts),
        *(facts.doubts(record.release, matrix) if facts else ()),
        _without_facts(numbers, facts),
        _other_kernels(record, numbers),
        *map(str, numbers.broken),
        f"cut: {numbers.cut}" if numbers.cut else "",
    ]
    return Row(values, axes, dict(numbers), tuple(filter(None, said)))


def _wholly(
    record: RunRecord, parts: Sequence[Extrapolation | None], ran: list[Counters]
) -> list[Callable[[Counters], Counters]]:
    """What makes the counters of each launch from its dump; none: they are, of all launches.

    Args:
        ran: gets the counters of each launch, where some have a weight.
    """
    weighted = any(launch.weight is not None for launch in record.launches)
    if not parts and not weighted and all(launch.matrix is None for launch in record.launches):
        return []

    def whole(dump: Counters, launch: LaunchRecord, part: Extrapolation | None) -> Counters:
        dump = with_matrix(dump, launch.matrix)
        dump = part.of(dump) if part is not None else dump
        if weighted:
            ran.append(dump)
        return dump

    pairs = zip(record.launches, parts or [None] * len(record.launches), strict=True)
    return [partial(whole, launch=launch, part=part) for launch, part in pairs]


def _program(
    record: RunRecord, parts: Sequence[Extrapolation | None], ran: Sequence[Counters]
) -> dict[str, float]:
    """Cycles of the program of which these launches ran."""
    launches = []
    for launch, part, dump in zip(record.launches, parts or [None] * len(ran), ran, strict=True):
        cycles = dump["gpu_active_ticks"] / dump["gpu_clock_ticks"]
        doubt = part.half_width / dump["gpu_clock_ticks"] if part is not None else 0.0
        weight = 1.0 if launch.weight is None else launch.weight
        ends = cycles - doubt, cycles + doubt
        launches.append(Counted(launch.kernel, weight, cycles, *ends, dump["instructions"]))
    return dict(zip(PROGRAM, program_time(launches), strict=True))


def _interval(parts: Sequence[Extrapolation | None], numbers: Mapping[str, float]) -> dict[str, float]:
    """The ends of the interval of the cycles, where launches were extrapolated."""
    if not math.isfinite(half_width(parts)):
        return {}
    clock = numbers["gpu_clock_ticks"]
    ends = interval(parts, numbers["gpu_cycles"] * clock)
    return {name: end / clock for name, end in zip(INTERVAL, ends, strict=True)}


def judgement(record: RunRecord) -> str:
    """What a row must say of what the run's kernels computed; "" if it was right, or nobody could tell."""
    if record.results is None or record.results.agree:
        return ""
    kind = "wrong results" if record.results.agree is False else "results not checked"
    return f"{kind}: {record.results.note}"


def _other_gem5(record: RunRecord, facts: ReleaseFacts | None) -> str:
    """A warning if the program that ran calls itself another version than the release's file says."""
    said = record.provenance.gem5_version
    expected = facts.gem5_version if facts is not None else None
    if said is None or expected is None or said == expected:
        return ""
    return f"another gem5: release {record.release} is {expected}, {said} ran"


def _without_facts(numbers: Mapping[str, float], facts: ReleaseFacts | None) -> str:
    """Says which counters are unknown only because the record does not say how its gem5 counts."""
    if facts is not None or not (unknown := [name for name in CACHES if math.isnan(numbers[name])]):
        return ""
    return f"no release_facts in run.json: unknown are {', '.join(unknown)}"


def _other_kernels(record: RunRecord, numbers: Mapping[str, float]) -> str:
    """A warning if a whole program launched more or fewer kernels than its layers have.

    On a discrete GPU ROCm copies by kernels of its own. How many rocBLAS' own kernels are is not derived.
    """
    ran, known = numbers["kernels_launched"], len(record.launches)
    own = any(launch.library and not launch.changed for launch in record.launches)
    if record.engine != "gem5" or not known or own or ran == known:
        return ""
    extra = " (ROCm copies by kernels on a discrete GPU): the row counts them" if ran > known else ""
    return f"{ran:g} kernel{'' if ran == 1 else 's'} ran, the layers have {known}{extra}"


def _distinct(texts: Iterable[str | None]) -> str | None:
    return "; ".join(dict.fromkeys(text for text in texts if text)) or None


def check_unchanged(record: RunRecord, file: Path) -> None:
    """The statistics beside a completed run's record are the very ones that proved the run.

    Raises:
        AnalysisError: they are missing or differ from the hash that the run recorded.
    """
    files = record.statistics_files(file.parent)
    for one in files:
        if not one.is_file():
            raise AnalysisError("the statistics of a completed run are gone", file=one, remedy=_REMEDY)
    proven = (record.provenance.statistics_sha256 or "").split()
    if not proven:
        return
    key = "provenance.statistics_sha256"
    if len(proven) != len(files):
        message = f"the record has {len(proven)} hashes of {len(files)} statistics files"
        raise AnalysisError(message, file=file, key=key, remedy=_REMEDY)
    for one, expected in zip(files, proven, strict=True):
        actual = text_sha256(one)
        if actual != expected:
            message = "the statistics are not those that the run was proven with"
            value = actual or "it cannot be read to its end"
            raise AnalysisError(message, file=one, key=f"{key} in {file.name}", value=value, remedy=_REMEDY)


def _batch(record: BatchRecord, file: Path) -> Batch:
    try:
        frame = pd.read_parquet(file, page_checksum_verification=True)
    except (OSError, ValueError, pa.ArrowException) as error:
        message = f"the counters of a preview batch cannot be read: {error}"
        raise AnalysisError(message, file=file, remedy=_REMEDY) from None
    frame.columns = pd.Index([axis_column(str(name)) for name in frame.columns])
    known = {column.name for column in (*IDENTITY, *MACHINE, *RUN)} | set(COUNTER_NAMES)
    axes = tuple(axis_column(name) for name in record.axes)
    absent = [name for name in ("point", "status", *axes) if name not in frame.columns]
    if absent:
        raise AnalysisError("the batch lacks a column", file=file, key=absent[0])
    shared = [name for name in ("engine", "workload", "direction", "evidence") if name not in frame.columns]
    frame = frame[[name for name in frame.columns if name in known or name in axes]]
    frame = frame.assign(**{name: getattr(record, name) for name in shared})
    counted = [name for name in COUNTER_NAMES if name in frame.columns]
    frame.loc[frame["status"] != COMPLETED, counted] = float("nan")
    return Batch(by_name(frame), axes)
