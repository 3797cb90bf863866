"""Points and preview batches kernel by kernel."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from apuflow import preview
from apuflow.configure import Sweep, option_rules
from apuflow.configure.command_line import tcc
from apuflow.configure.kernel_workload import KernelsWork
from apuflow.configure.point import Point
from apuflow.core import paths
from apuflow.core.engines import PREVIEW_VERSION, is_batch
from apuflow.core.errors import AnalysisError
from apuflow.core.record import BatchRecord, read, read_run
from apuflow.core.units import size_bytes
from apuflow.launcher.plan import SGEMM
from apuflow.plan.campaign import Campaign
from apuflow.preview.lines import PAGE
from apuflow_analysis.counters.table import NAMES as COUNTERS
from apuflow_analysis.metrics import compute
from apuflow_analysis.tables.columns import axis_column
from apuflow_analysis.tables.kernels import kernel_table
from apuflow_analysis.tables.records import COMPLETED, judgement


def run_kernels(run: Path) -> tuple[pd.DataFrame, list[str]]:
    """A row per kernel of a run or of a preview batch, and the axes that tell the batch's points apart.

    Raises:
        AnalysisError: the run has no kernels to tell apart (``kernel_table``).
    """
    record = read(run / "run.json")
    if isinstance(record, BatchRecord):
        table = preview_kernel_table(run, record)
        return table, list(table.attrs["axes"])
    return kernel_table(run), []


def kernel_rows(campaign: Campaign, sweep: Sweep) -> pd.DataFrame:
    """One row per kernel launch of every point of a sweep: the data of the figure of kernel times.

    Returns:
        ``engine workload direction point status flags kernel gpu_cycles release gfx machine``, the options,
        the axes (their names in ``attrs["axes"]``), parameters of kernels of the user's own as
        ``layer.NAME``, and bytes of a TCP, of the TCC and of the pages of an L1 TLB. Points whose engine did
        not tell kernels apart have no rows.
    """
    points = [
        point
        for workload in campaign.workloads(sweep)
        if workload != paths.OPERATIONS  # suites have figures of their own
        for point in campaign.points(sweep.name, workload)
    ]
    rows: list[dict[str, Any]] = []
    modelled = {point.id: point for point in points if is_batch(point.engine)}
    if modelled:
        launches = preview.kernels_frame([*modelled.values()], option_rules.defaults(preview.RELEASE))
        cycles = launches["gpu_cycles"] * launches["count"]
        for identifier, kernel, value in zip(launches["point"], launches["kernel"], cycles, strict=True):
            rows.append(_row(sweep, modelled[str(identifier)], kernel, kernel == SGEMM, value))
    for point in points:
        if is_batch(point.engine):
            continue
        directory = (campaign.root / point.record).parent
        with contextlib.suppress(AnalysisError):
            table = kernel_table(directory)
            flags = judgement(read_run(directory / "run.json"))
            for columns in zip(table["kernel"], table["stand_in"], table["gpu_cycles"], strict=True):
                rows.append({**_row(sweep, point, *columns), "flags": flags})
    frame = pd.DataFrame(rows)
    frame.attrs["axes"] = tuple(dict.fromkeys(axis_column(name) for point in points for name in point.axes))
    return frame


def _row(sweep: Sweep, point: Point, kernel: str, stand_in: object, cycles: float) -> dict[str, Any]:
    work = point.work
    parameters = dict(work.parameters) if isinstance(work, KernelsWork) else {}
    return {
        "engine": point.engine,
        "workload": point.workload,
        "direction": point.direction,
        "point": point.id,
        "status": COMPLETED,
        "release": point.release,
        "gfx": point.gfx,
        "gpu_clock": point.options.get("gpu-clock"),
        "num_compute_units": point.options.get("num-compute-units"),
        "machine": sweep.machine,
        **_levels(point),
        **{axis_column(f"layer.{name}"): value for name, value in parameters.items()},
        **{axis_column(name): value for name, value in point.axes.items()},
        "kernel": f"{kernel}{' (stand-in for rocBLAS)' if stand_in else ''}",
        "gpu_cycles": float(cycles),
    }


def _levels(point: Point) -> dict[str, float]:
    """Bytes of a TCP, of what gem5 can index of the TCC, and of the pages that an L1 TLB holds."""
    options = point.options
    return {
        "tcp_bytes": float(size_bytes(str(options["tcp-size"])) or 0),
        "tcc_bytes": float(tcc(options)[1]),
        "tlb_bytes": float(options["L1TLBentries"]) * PAGE,
    }


def points_of_batch(directory: Path, record: BatchRecord, root: Path = Path()) -> Sequence[Point]:
    """The points of the preview batch in a directory, from its sweep's file.

    Raises:
        AnalysisError: the batch is of another version of the model or of other points than the sweep has.
        ConfigError: the sweep's file is gone, or has a mistake.
    """
    sweep, _, version = directory.resolve().name.rpartition(".v")
    points = Campaign(root).points(sweep, record.workload, "preview")
    numbers = pd.read_parquet(directory / "counters.parquet", columns=["point"])
    if version != PREVIEW_VERSION or list(numbers["point"]) != [point.id for point in points]:
        raise AnalysisError(
            "the batch is of another version of the model or of its sweep",
            file=directory,
            remedy=f"make it again: snakemake --cores all results/{sweep}/{record.workload}.csv",
        )
    return points


def preview_kernel_table(directory: Path, record: BatchRecord, root: Path = Path()) -> pd.DataFrame:
    """One row per point and launch of the preview batch in a directory: the model says it anew.

    Returns:
        Columns ``point``, a column per axis, those of ``apuflow_analysis.tables.kernels.kernel_table``, and
        ``dispatches``, how many launches the row adds up.

    Raises:
        AnalysisError: the batch is of another version of the model or of other points than the sweep has.
        ConfigError: the sweep's file is gone, or has a mistake.
    """
    points = points_of_batch(directory, record, root)
    numbers = pd.read_parquet(directory / "counters.parquet").set_index("point")
    frame = preview.kernels_frame(points, option_rules.defaults(preview.RELEASE))
    frame = frame.rename(columns={"count": "dispatches", "note": "stand_in"})
    added = [name for name in COUNTERS if name in frame.columns and name not in preview.RATES]
    frame[added] = frame[added].mul(frame["dispatches"], axis=0)
    axes = {
        axis_column(name): [point.axes.get(name) for point in points]
        for name in dict.fromkeys(name for point in points for name in point.axes)
    }
    machine = [name for name in compute.machine_columns() if name in numbers.columns and name not in axes]
    about = pd.DataFrame(axes, index=numbers.index).join(numbers[machine])
    frame = frame.copy()  # in one block: hundreds of columns were added one by one
    frame.insert(1, "dispatch", frame.groupby("point", sort=False).cumcount())
    table = frame.merge(about.reset_index(), on="point", how="left")
    table = compute.compute(table.reindex(columns=[*dict.fromkeys([*table.columns, *COUNTERS])]))
    table.attrs["axes"] = tuple(axes)
    return table
