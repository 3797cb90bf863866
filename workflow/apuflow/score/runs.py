"""Rows of a table of runs (``runs.csv``) as launches and machines, for scoring.

Columns: ``primitive kernel n c h w grid_* workgroup_*``, keys of the layer's DNNMark section
(``kernel_size``, ``num_output``, ...), optionally ``direction`` and ``launch`` (number of the launch in the
layer's direction, which tells the matrix products of a layer apart), option columns (underscored
``apu_se.py`` names) and ``barrier_slots`` of the gem5 release. Empty cells mean the default, of options and
barrier slots that of v23.0.1.0. Compile and kernel arguments are those that MIOpen derives for the layer. A
column ``config`` with the network as text takes the place of shape and keys.

A result table (``results/<sweep>/<workload>.csv``) has a row per point. The run's own record beside it
says network and options, its statistics the cycles of each dispatch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from apuflow import operations, preview
from apuflow.configure import option_rules
from apuflow.core import paths
from apuflow.core.engines import ENGINES, SIMULATING
from apuflow.core.errors import AnalysisError, ApuflowError, ConfigError, NotModelled
from apuflow.core.record import read_run
from apuflow.core.scalar import Scalar
from apuflow.dnnmark import LAYER_KEYS, Direction
from apuflow.miopen import Launch, expand
from apuflow.operations import Layers
from apuflow.preview.kept import Kept, kept
from apuflow.preview.machine import FIXED, OPTIONS, GpuModel, machine
from apuflow.preview.process import steps
from apuflow.preview.step import Step
from apuflow.rocblas.call import library_launches
from apuflow_analysis.tables.columns import axis_column
from apuflow_analysis.tables.kernels import UNNAMED, kernel_table
from apuflow_analysis.tables.records import COMPLETED

_ROCBLAS = frozenset(name for name, facts in ENGINES.items() if not facts.own_products)
"""Engines whose matrix products are rocBLAS' own kernels, which the preview does not model."""

KEYS = {key.replace("-", "_"): key for key in (*OPTIONS, *FIXED)}
"""Columns of options that the model reads, or refuses for some values."""
MODES = ("sigmoid", "tanh", "relu", "soft_relu")
CONVOLUTION = ("Im2d2Col", "Col2Im2d", "SubTensorOpWithScalar1d")
SHAPE_KEYS = ("name", "n", "c", "h", "w", "previous_layer")


def text(row: Mapping[str, Any], key: str) -> str:
    """A cell as text, empty for NaN and absent columns; whole floats without their point."""
    value = row.get(key)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    cell = str(value).strip()
    return cell[:-2] if cell.endswith(".0") else cell


def _int(row: Mapping[str, Any], key: str, default: int | None = None) -> int:
    cell = text(row, key)
    if not cell:
        if default is None:
            raise NotModelled("a run has no value in a column", key=key, value="")
        return default
    try:
        return int(float(cell))
    except ValueError:
        raise NotModelled("a run's cell is not a number", key=key, value=cell) from None


def row_machine(row: Mapping[str, Any]) -> GpuModel:
    """The GPU of a run from its option columns."""
    options: dict[str, Scalar] = {key: text(row, column) for column, key in KEYS.items() if text(row, column)}
    known = option_rules.defaults(preview.RELEASE)
    return machine(options, known, barrier_slots=_int(row, "barrier_slots", 4))


def _section(row: Mapping[str, Any], kernel: str) -> tuple[str, dict[str, str]]:
    """DNNMark section of the layer that launches ``kernel``, and the mode that its names tell."""
    name = text(row, "primitive").rsplit("_", 1)[0]
    if kernel.startswith("Softmax"):
        return "Softmax", {}
    if kernel.startswith("MIOpenActive"):
        if name == "bypass":
            return "Bypass", {}
        mode = {"softrelu": "soft_relu"}.get(name, name)
        return "Activation", {"activation_mode": mode if mode in MODES else "relu"}
    if kernel.startswith("MIOpenBatchNorm"):
        return "BatchNorm", {"batchnorm_mode": "spatial" if "Spatial" in kernel else "per_activation"}
    if kernel.startswith("mloPooling"):
        average = "Ave" in kernel or "avg" in name or "ave" in name
        return "Pooling", {"pool_mode": "avg" if average else "max"}
    if kernel.startswith("MIOpenLRN"):
        return "LRN", {"lrn_mode": "within_channel" if "Within" in kernel else "cross_channel_dim1"}
    if kernel == "sgemm" and name.startswith(("fc", "fully")):
        return "FullyConnected", {}
    if kernel in (*CONVOLUTION, "sgemm") or kernel.startswith("transpose_"):
        return "Convolution", {"conv_mode": "cross_correlation"}
    raise NotModelled("the preview does not model this kernel", key="kernel", value=kernel)


@lru_cache(maxsize=16384)
def _of_layer(config: str, direction: Direction, compute_units: int, library: str) -> tuple[Launch, ...]:
    found = operations.parse(config).launches(direction, compute_units)
    return library_launches(found, library) if library else found


def _directions(row: Mapping[str, Any]) -> tuple[Direction, ...]:
    """The pass that launched the kernel; both where neither ``direction`` nor the primitive says."""
    said = text(row, "direction") or text(row, "primitive").rsplit("_", 1)[-1]
    if said == "fwd":
        return ("fwd",)
    return ("bwd",) if said == "bwd" else ("fwd", "bwd")


def _config(row: Mapping[str, Any], kernel: str) -> str:
    """The layer of a row as a DNNMark network."""
    if text(row, "config"):
        return str(row["config"])
    section, keys = _section(row, kernel)
    if kernel == "sgemm" and not text(row, "num_output"):
        problem = "a matrix product needs the layer's number of outputs"
        remedy = "add a column num_output to the table"
        raise NotModelled(problem, key="num_output", value="", remedy=remedy)
    shape = {key: str(_int(row, key)) for key in "nchw"}
    given = {key: text(row, key) for key in LAYER_KEYS[section] if key not in SHAPE_KEYS and text(row, key)}
    return Layers.single(section, {**shape, **keys, **given, "previous_layer": "null"}, "layer").text


def row_steps(row: Mapping[str, Any], box: GpuModel) -> list[Step]:
    """What a run launches, and how often.

    A row with ``config`` is of the launch that ``launch`` names, after those before it; others are of their
    kernel alone.

    Raises:
        NotModelled: as ``row_launch``.
    """
    if not (text(row, "config") and text(row, "launch")):
        return steps([replace(row_launch(row), count=1)], kept(box))
    row_launch(row)  # refuses a row that is no launch of its layer
    directions = _directions(row)
    direction: Direction = directions[0] if len(directions) == 1 else "both"
    layer = _of_layer(_config(row, ""), direction, box.compute_units, text(row, "library_gfx"))
    every = _steps_of(layer, kept(box), text(row, "inputs") == "memory")
    return [step for step in every if step.number == _int(row, "launch")]


@lru_cache(maxsize=4096)
def _steps_of(layer: tuple[Launch, ...], found_in: Kept, in_memory: bool) -> list[Step]:
    return steps(layer, found_in, in_memory)


def row_launch(row: Mapping[str, Any]) -> Launch:
    """Launch of a run.

    It is the one that ``launch`` names, else the layer's launch of that kernel and geometry, else the first
    of that kernel with the row's geometry (a table may have launched it by itself).

    Raises:
        NotModelled: no layer of this shape launches the kernel, or the shape is not one of a layer.
    """
    kernel = text(row, "kernel")
    if kernel == "sgemm" and text(row, "engine") in _ROCBLAS:
        raise NotModelled("rocBLAS's kernels are not those of the preview", key="kernel", value=kernel)
    config = _config(row, kernel)
    grid = (_int(row, "grid_x"), _int(row, "grid_y", 1), _int(row, "grid_z", 1))
    group = (_int(row, "workgroup_x"), _int(row, "workgroup_y", 1), _int(row, "workgroup_z", 1))
    compute_units, number = _int(row, "num_compute_units", 4), text(row, "launch")
    launches: list[Launch] = []
    try:
        for direction in _directions(row):
            layer = _of_layer(config, direction, compute_units, text(row, "library_gfx"))
            chosen = layer[_int(row, "launch") :][:1] if number else layer
            launches += [launch for launch in chosen if launch.kernel == kernel]
    except ApuflowError as error:
        raise NotModelled(error.message, key=error.key, value=kernel) from error
    if not launches:
        raise NotModelled("no layer of this shape launches the kernel", key="kernel", value=kernel)
    exact = [launch for launch in launches if (launch.grid, launch.workgroup) == (grid, group)]
    if kernel == "sgemm" and not exact:
        raise NotModelled("no matrix product of the layer has this grid", key="grid_x", value=grid[0])
    return exact[0] if exact else replace(launches[0], grid=grid, workgroup=group)


POINT = ("engine", "workload", "point", "status")
"""Columns that every result table has."""


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
    chosen = frame[frame["engine"].isin(SIMULATING) & (frame["status"] == COMPLETED)]
    if chosen.empty:
        engines = ", ".join(sorted(set(frame["engine"].astype(str))))
        problem = "the table has no completed run of gem5"
        remedy = "score tables of engine gem5-kernels or gem5"
        raise ConfigError(problem, file=file, key="engine", value=engines, remedy=remedy)
    rows: list[dict[str, Any]] = []
    missing = 0
    for point in chosen.to_dict("records"):
        engine, workload, name = (str(point[key]) for key in POINT[:3])
        run = paths.run_dir(engine, workload, name)
        root = project_of(file, run)
        missing += root is None
        try:
            if root is None:
                raise NotModelled("the run is not beside the table")
            rows += _run(root / run)
        except NotModelled as refusal:
            about = {"id": name, "point": name, "primitive": workload, "engine": engine}
            rows.append({**about, "gpu_cycles": math.nan, "refusal": refusal.message})
    if missing == len(chosen):
        problem = "the directories of the table's runs are not there"
        remedy = "score the table inside its project, with runs/ beside results/"
        raise ConfigError(problem, file=file, key="point", value=str(chosen["point"].iloc[0]), remedy=remedy)
    return pd.DataFrame(rows)


def _run(directory: Path) -> list[dict[str, Any]]:
    """Rows of one run; a NotModelled says why it cannot be taken apart."""
    record = read_run(directory / "run.json")
    config, direction = record.config, record.direction
    if config is None or direction not in ("fwd", "bwd", "both"):
        raise NotModelled("neither a network nor an operation")
    if any(launch.ran for launch in record.launches):
        raise NotModelled("its cycles are extrapolated: gem5 did not run all workgroups")
    facts = record.release_facts
    if facts is None:
        raise NotModelled("the run's record does not say how many barrier slots its gem5 has")
    library = record.gfx if record.products is not None else ""
    try:
        table = kernel_table(directory)
        layer = _of_layer(config, direction, int(record.options.get("num-compute-units") or 0), library)
    except (AnalysisError, ApuflowError) as error:
        raise NotModelled(str(error).splitlines()[0]) from error
    named = table[table["kernel"] != UNNAMED]
    order = list(expand(layer))
    if list(named["kernel"]) != [launch.kernel for launch in order]:
        raise NotModelled("the run's launches are not those that the network has now")
    first = {
        **{axis_column(name): value for name, value in record.options.items()},
        "primitive": record.workload,
        "engine": record.engine,
        "point": record.point,
        "barrier_slots": facts.barrier_slots,
        "direction": direction,
        "config": config,
        "inputs": record.inputs,
        "library_gfx": library,
        "status": COMPLETED,
    }
    cycles: dict[object, list[float]] = {}
    for launch, value in zip(order, named["gpu_cycles"].astype(float), strict=True):
        cycles.setdefault(_same(launch), []).append(value)
    return [
        {
            **first,
            "launch": number,
            "kernel": launch.kernel,
            **dict(zip(("grid_x", "grid_y", "grid_z"), launch.grid, strict=True)),
            **dict(zip(("workgroup_x", "workgroup_y", "workgroup_z"), launch.workgroup, strict=True)),
            "gpu_cycles": fmean(cycles[_same(launch)]),
            "id": f"{record.point}.{number}",
        }
        for number, launch in enumerate(layer)
    ]


def _same(launch: Launch) -> object:
    """What the passes of a loop have in common."""
    product = launch.gemm and launch.gemm[:6]
    return launch.layer, launch.direction, launch.kernel, launch.grid, launch.arguments, product
