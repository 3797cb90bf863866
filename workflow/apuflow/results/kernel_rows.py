"""A sweep's points kernel by kernel: the data of the figure of kernel times."""

from __future__ import annotations

import contextlib
from typing import Any

import pandas as pd

from apuflow.configure import Sweep, option_rules
from apuflow.configure.point import Point
from apuflow.core import paths
from apuflow.core.engines import is_batch
from apuflow.core.errors import AnalysisError
from apuflow.core.record import read_run
from apuflow.launcher.plan import SGEMM
from apuflow.plan.campaign import Campaign
from apuflow_analysis.tables.columns import axis_column
from apuflow_analysis.tables.kernels import kernel_table
from apuflow_analysis.tables.records import COMPLETED, judgement

_STAND_IN = " (stand-in for rocBLAS)"


def kernel_rows(campaign: Campaign, sweep: Sweep) -> pd.DataFrame:
    """One row per kernel launch of every point of a sweep.

    Returns:
        ``engine workload direction point status flags kernel gpu_cycles release gfx``, the options, and the
        axes (their names in ``attrs["axes"]``). Points whose engine did not tell kernels apart have no rows.
    """
    points = [
        point
        for workload in campaign.workloads(sweep)
        if workload != paths.OPERATIONS  # suites have figures of their own
        for point in campaign.points(sweep.name, workload)
    ]
    rows: list[dict[str, Any]] = []
    axes: dict[str, None] = {}
    modelled = [point for point in points if is_batch(point.engine)]
    if modelled:
        from apuflow import preview

        launches = preview.kernels_frame(modelled, option_rules.defaults(preview.RELEASE))
        by_id = {point.id: point for point in modelled}
        cycles = launches["gpu_cycles"] * launches["count"]
        for identifier, kernel, value in zip(launches["point"], launches["kernel"], cycles, strict=True):
            name = f"{kernel}{_STAND_IN if kernel == SGEMM else ''}"
            rows.append({**_about(by_id[str(identifier)]), "kernel": name, "gpu_cycles": float(value)})
    for point in points:
        axes |= dict.fromkeys(axis_column(name) for name in point.axes)
        if is_batch(point.engine):
            continue
        directory = campaign.root / paths.run_dir(point.engine, point.workload, point.id)
        with contextlib.suppress(AnalysisError):
            table = kernel_table(directory)
            flags = judgement(read_run(directory / "run.json"))
            for kernel, ours, value in zip(
                table["kernel"], table["stand_in"], table["gpu_cycles"], strict=True
            ):
                name = f"{kernel}{_STAND_IN if ours else ''}"
                about = {**_about(point), "flags": flags}
                rows.append({**about, "kernel": name, "gpu_cycles": float(value)})
    frame = pd.DataFrame(rows)
    frame.attrs["axes"] = tuple(axes)
    return frame


def _about(point: Point) -> dict[str, Any]:
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
        **{axis_column(name): value for name, value in point.axes.items()},
    }
