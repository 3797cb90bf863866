"""Per-kernel tables: one row per dispatch, its launch joined to its statistics.

gem5 gives them in two ways: v24.0 dumps and resets its statistics after every kernel, so that a file holds a
dump per kernel (copies and fills that the runtime launches included, and a last one without a kernel); the
engine that dispatches the kernels of a layer itself has gem5 do so on every release (a first and a last dump
are without a kernel), or leaves a statistics file per dispatch.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from apuflow.core.errors import AnalysisError
from apuflow.core.record import LaunchRecord, RunRecord, read_run
from apuflow_analysis.counters.counters import (
    Counters,
    combine,
    counted,
    counters,
    file_counters,
    since_reset,
    with_matrix,
)
from apuflow_analysis.counters.extrapolate import extrapolations, told
from apuflow_analysis.counters.table import BY_NAME
from apuflow_analysis.metrics import compute
from apuflow_analysis.tables.records import COMPLETED, check_unchanged, run_values

LAUNCH_COLUMNS = (
    *("dispatch", "layer", "layer_kind", "direction", "kernel", "grid", "workgroup"),
    *("stand_in", "library", "changed", "extrapolated"),
)
UNNAMED = "(not a kernel of the layers)"


def kernel_table(directory: str | Path) -> pd.DataFrame:
    """One row per dispatch of the run in a directory: launch, counters, metrics.

    Returns:
        Columns ``LAUNCH_COLUMNS``, machine parameters, counters, metrics and ``flags``. Where gem5 dumped per
        kernel, dumps are matched with the launches in order by their number of workgroups; dumps that match
        none (copies and fills of the runtime) are named ``UNNAMED``.

    Raises:
        AnalysisError: the run did not complete, its statistics are not per kernel, or launches are missing
            from them, or the statistics are not those that the run was proven with.
    """
    file = Path(directory) / "run.json"
    record = read_run(file)
    if record.status != COMPLETED:
        raise AnalysisError("the run did not complete", file=file, key="status", value=record.status.value)
    check_unchanged(record, file)
    named = record.launches
    files = record.statistics_files(directory)
    facts = record.release_facts
    pairs: list[tuple[LaunchRecord | None, Counters]]
    if len(files) > 1 or len(files) == len(named) == 1:
        dumps_of_files = [counters(path, facts, kernels_only=True) for path in files]
        if len(dumps_of_files) != len(named):
            message = f"{len(dumps_of_files)} statistics files for {len(named)} launches"
            raise AnalysisError(message, file=file, key="launches")
        pairs = list(zip(named, dumps_of_files, strict=True))
    else:
        dumps = [dump for path in files for dump in since_reset(file_counters(path)[0], facts, path)]
        launching = [counted(dump, facts) for dump in dumps if dump["kernels_launched"] > 0]
        pairs = _match(named, launching, file)
    machine = run_values(record)
    missing = iter(extrapolations(record) or [None] * len(named))
    rows = []
    for number, (launch, counts) in enumerate(pairs):
        part = next(missing) if launch is not None else None
        counts = with_matrix(counts, launch.matrix if launch is not None else None)
        whole = part.of(counts) if part is not None else counts
        cells = {**_cells(launch, record), "extrapolated": told([part], whole) or ""}
        rows.append({"dispatch": number, **cells, **machine, **whole})
    return compute.compute(pd.DataFrame(rows))


def phases(table: pd.DataFrame, by: Sequence[str] = ("direction",)) -> pd.DataFrame:
    """Add up a kernel table: forward against backward (``direction``), per ``layer_kind``, per ``layer``.

    Args:
        table: from ``kernel_table``; a column ``dispatches`` says how many of them a row adds up already.
        by: columns whose values make a group; of a table of several points the first is ``point``.

    Returns:
        One row per group in the order of its first dispatch: the ``by`` columns, ``dispatches``, counters,
        metrics over the whole group, ``time_share`` (its share of the GPU's active time) and ``flags``.

    Raises:
        AnalysisError: the table lacks one of the columns.
    """
    for name in by:
        if name not in table.columns:
            raise AnalysisError("no such column in the kernel table", key=name)
    rows = []
    machine = [name for name in compute.machine_columns() if name in table.columns]
    for key, group in table.groupby(list(by), sort=False, dropna=False):
        parts = [Counters({name: row[name] for name in BY_NAME}) for row in group.to_dict("records")]
        rows.append(
            dict(zip(by, key, strict=True))
            | {"dispatches": int(group["dispatches"].sum()) if "dispatches" in group else len(group)}
            | {name: group[name].iloc[0] for name in machine}
            | dict(combine(parts))
        )
    frame = compute.compute(pd.DataFrame(rows))
    ticks = frame["gpu_active_ticks"]
    whole = ticks.groupby(frame["point"]).transform("sum") if "point" in by else ticks.sum()
    frame.insert(len(by) + 1, "time_share", ticks / whole)
    return frame


def _cells(launch: LaunchRecord | None, record: RunRecord) -> dict[str, Any]:
    if launch is None:
        return dict.fromkeys(LAUNCH_COLUMNS[1:], "") | {"kernel": UNNAMED}
    return {
        "layer": launch.layer or "",
        "layer_kind": launch.layer_kind or "",
        "direction": launch.direction or record.direction or "",
        "kernel": launch.kernel,
        "grid": "x".join(map(str, launch.grid)),
        "workgroup": "x".join(map(str, launch.workgroup)),
        "stand_in": launch.stand_in or "",
        "library": launch.library or "",
        "changed": launch.changed or "",
    }


def _match(
    named: Sequence[LaunchRecord], dumps: Sequence[Counters], file: Path
) -> list[tuple[LaunchRecord | None, Counters]]:
    """Give each dump the next launch with its number of workgroups; all launches must find theirs."""
    pairs: list[tuple[LaunchRecord | None, Counters]] = []
    waiting = list(named)
    for dump in dumps:
        fits = waiting and waiting[0].launched_workgroups == dump["workgroups"]
        pairs.append((waiting.pop(0) if fits else None, dump))
    if waiting:
        first = f"the first is {waiting[0].kernel} with {waiting[0].launched_workgroups} workgroups"
        lost = f"{len(waiting)} of {len(named)} launches are not in the statistics"
        message = f"{lost} ({len(dumps)} kernel dumps); {first}"
        remedy = "per-kernel statistics need gem5 v24.0, or the engine gem5-kernels"
        raise AnalysisError(message, file=file, key="launches", remedy=remedy)
    return pairs
