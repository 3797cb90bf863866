"""Runs as the engines record them, one row per kernel, for scoring.

A result table (``results/<sweep>/<workload>.csv``) has a row per point. The run's own record beside it
(``runs/<engine>/<workload>/<point>/run.json``) says network and options, its statistics the cycles of each
dispatch.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.columns import axis_column
from analysis.kernels import UNNAMED, kernel_table
from analysis.records import COMPLETED
from apuflow import paths
from apuflow.core.errors import AnalysisError, ApuflowError, ConfigError
from apuflow.core.record import read_run
from apuflow.dnnmark import parse
from apuflow.miopen import Launch, expand, launches

POINT = ("engine", "workload", "point", "status")
ENGINES = ("gem5", "gem5-kernels")
"""Engines whose kernels are measured."""


def is_result_table(frame: pd.DataFrame) -> bool:
    """Whether a table has points of engines, not kernels."""
    return set(POINT) <= set(frame.columns) and "kernel" not in frame.columns


def project_of(table: Path, run: str) -> Path | None:
    """The directory above ``table`` that holds the run directory ``run``."""
    for parent in table.resolve().parents:
        if (parent / run / "run.json").is_file():
            return parent
    return None


def record_rows(file: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """The kernels of a result table's completed gem5 runs.

    Returns:
        one row per launch, with the columns of a table of runs (``preview.rows``) and ``config``, the
        network; ``gpu_cycles`` is the mean of a launch's dispatches. Runs that cannot be taken apart have one
        row with ``refusal``, the reason.

    Raises:
        ConfigError: the table has no completed run of gem5, or none of its runs is there.
    """
    chosen = frame[frame["engine"].isin(ENGINES) & (frame["status"] == COMPLETED)]
    if chosen.empty:
        raise ConfigError(
            "the table has no completed run of gem5",
            file=file,
            key="engine",
            value=", ".join(sorted(set(frame["engine"].astype(str)))),
            remedy="score tables of engine gem5-kernels or gem5",
        )
    rows: list[dict[str, Any]] = []
    missing = 0
    for point in chosen.to_dict("records"):
        cells = {str(key): value for key, value in point.items()}
        who = str(cells["engine"]), str(cells["workload"]), str(cells["point"])
        run = paths.run_dir(*who)
        root = project_of(file, run)
        missing += root is None
        rows += _refused(*who, "the run is not beside the table") if root is None else _run(root / run)
    if missing == len(chosen):
        raise ConfigError(
            "no run of the table is there",
            file=file,
            key="point",
            value=str(chosen["point"].iloc[0]),
            remedy="score the table inside its project, with runs/ beside results/",
        )
    return pd.DataFrame(rows)


def _refused(engine: str, workload: str, point: str, reason: str) -> list[dict[str, Any]]:
    return [
        {
            "id": point,
            "primitive": workload,
            "engine": engine,
            "gpu_cycles": float("nan"),
            "refusal": reason,
        }
    ]


def _run(directory: Path) -> list[dict[str, Any]]:
    """Rows of one run."""
    record = read_run(directory / "run.json")
    who = record.engine, record.workload, record.point
    config, direction = record.identity.get("config"), record.direction
    if not isinstance(config, str) or direction not in ("fwd", "bwd", "both"):
        return _refused(*who, "not a DNNMark network")
    facts = record.release_facts
    if facts is None:
        return _refused(*who, "the run's record does not say how many barrier slots its gem5 has")
    options = record.options
    try:
        table = kernel_table(directory)
        layer = launches(parse(config), direction, int(options.get("num-compute-units") or 0))
    except (AnalysisError, ApuflowError) as error:
        return _refused(*who, str(error).splitlines()[0])
    named = table[table["kernel"] != UNNAMED]
    order = list(expand(layer))
    if list(named["kernel"]) != [launch.kernel for launch in order]:
        return _refused(*who, "the run's launches are not those that the network has now")
    machine = {axis_column(name): value for name, value in options.items()}
    first = {
        **machine,
        "primitive": record.workload,
        "engine": record.engine,
        "barrier_slots": facts.barrier_slots,
        "direction": direction,
        "config": config,
        "status": COMPLETED,
    }
    cycles: dict[object, list[float]] = {}
    for launch, value in zip(order, named["gpu_cycles"].astype(float), strict=True):
        cycles.setdefault(_same(launch), []).append(value)
    return [
        {**first, **_launch(number, launch, cycles[_same(launch)]), "id": f"{record.point}.{number}"}
        for number, launch in enumerate(layer)
    ]


def _same(launch: Launch) -> object:
    """What the passes of a loop have in common."""
    product = launch.gemm and launch.gemm[:6]
    return launch.layer, launch.direction, launch.kernel, launch.grid, launch.arguments, product


def _launch(number: int, launch: Launch, measured: Sequence[float]) -> dict[str, Any]:
    return {
        "launch": number,
        "kernel": launch.kernel,
        **dict(zip(("grid_x", "grid_y", "grid_z"), launch.grid, strict=True)),
        **dict(zip(("workgroup_x", "workgroup_y", "workgroup_z"), launch.workgroup, strict=True)),
        "gpu_cycles": sum(measured) / len(measured),
    }
