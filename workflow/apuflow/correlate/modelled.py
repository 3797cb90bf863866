"""What a model says of a measurement, and what a measurement runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from apuflow.configure.kernel_workload import KernelsWork
from apuflow.configure.loading import workload_names
from apuflow.configure.point import Point
from apuflow.configure.workloads import load_workload
from apuflow.core.errors import ConfigError
from apuflow.core.units import clock_hertz
from apuflow.correlate.measured import Measurement
from apuflow.interpret.state import LANES


class Modelled(NamedTuple):
    """What a model says of a measurement.

    Attributes:
        measured: the measurement. engine: that modelled it.
        launches: of kernels.
        seconds: of GPU time, of all launches.
        bound: what bounds most of that time; "": the table does not say it.
        lane_operations: lanes that vector ALU instructions compute.
        bytes: of the buffers that the launches are given, each launch's.
        first: whether the launches are a process' first ones, which find nothing in caches and TLBs.
    """

    measured: Measurement
    engine: str
    launches: int
    seconds: float
    bound: str
    lane_operations: float
    bytes: float
    first: bool


class LeftOut(NamedTuple):
    """A measurement that is not compared, and why."""

    measured: Measurement
    why: str


class Shape(NamedTuple):
    """Launches of a program, and their wavefronts where each has 64 work-items."""

    launches: int
    wavefronts: int


def works_of(measured: Sequence[Measurement], root: Path) -> list[KernelsWork | None]:
    """What each measurement runs; None: no workload computes it.

    Raises:
        ConfigError: there is no such workload, or it does not take these parameters.
    """
    known = set(workload_names(root))
    found: list[KernelsWork | None] = []
    for one in measured:
        if one.workload and one.workload not in known:
            remedy = f"write configs/workloads/{one.workload}.yaml (`apuflow init` has the shipped ones)"
            raise ConfigError("no workload of this name", key=one.kernel, value=one.workload, remedy=remedy)
        found.append(_work(one, root) if one.workload else None)
    return found


def _work(one: Measurement, root: Path) -> KernelsWork:
    problems: list[ConfigError] = []
    work = load_workload(one.workload, root).work(one.parameters, problems.append)
    if problems:
        raise problems[0]
    if not isinstance(work, KernelsWork):
        remedy = "name a workload of kind kernels"
        raise ConfigError("its kernels are not its own", key="workload", value=one.workload, remedy=remedy)
    return work


@lru_cache(maxsize=4096)
def shape_of(work: KernelsWork) -> Shape:
    """What a program launches; a grid that asks for compute units sees one."""
    launches = work.program(1, work.usual_gpu).launches
    return Shape(len(launches), sum(-(-math.prod(launch.grid) // LANES) for launch in launches))


def clock_of(point: Point) -> float:
    """Cycles a second of a point's GPU."""
    return clock_hertz(str(point.options["gpu-clock"])) or math.nan


def bytes_of(work: KernelsWork, point: Point) -> float:
    """``Modelled.bytes``."""
    program = work.program(point.compute_units, point.gfx)
    sizes = {buffer.name: buffer.size for buffer in program.buffers}
    each = (
        {str(one.value) for one in launch.arguments if one.kind == "buffer"} for launch in program.launches
    )
    return float(sum(sizes[name] for names in each for name in names))
