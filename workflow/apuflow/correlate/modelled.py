"""Modelled times of what was measured: by the preview on a machine, or from the tables of a sweep that ran."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from apuflow import preview
from apuflow.ask import api, question
from apuflow.configure import option_rules
from apuflow.configure.kernel_workload import KernelsWork
from apuflow.configure.loading import workload_names
from apuflow.configure.point import Point
from apuflow.configure.workloads import load_workload
from apuflow.core import paths
from apuflow.core.engines import EngineName
from apuflow.core.errors import ApuflowError, ConfigError
from apuflow.core.record import ReleaseFacts
from apuflow.core.units import clock_hertz
from apuflow.correlate.measured import Measurement
from apuflow.interpret.run import TooLong
from apuflow.interpret.state import LANES
from apuflow.miopen import Launch
from apuflow.preview.evaluate import kernels_frame
from apuflow_analysis.tables import store

if TYPE_CHECKING:
    import pandas as pd

    from apuflow.preview.profile import Profile

MOST_BYTES: Final = 1 << 30
"""Of the buffers of a program that is executed for the preview."""


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


@dataclass(frozen=True)
class _Again:
    """A point whose launches run twice in one process, as the preview reads it (``PointLike``)."""

    point: Point

    @property
    def id(self) -> str:
        """The point's."""
        return self.point.id

    @property
    def options(self) -> Mapping[str, Any]:
        """The point's."""
        return self.point.options

    @property
    def release_facts(self) -> ReleaseFacts:
        """The point's."""
        return self.point.release_facts

    @property
    def release(self) -> str:
        """The point's."""
        return self.point.release

    @property
    def in_memory(self) -> bool:
        """The point's."""
        return self.point.in_memory

    @cached_property
    def _twice(self) -> tuple[tuple[Launch, ...], tuple[Profile, ...] | None]:
        launches, profiles = self.point.previewed()
        return launches * 2, None if profiles is None else profiles * 2

    def previewed(self, compute_units: int) -> tuple[tuple[Launch, ...], tuple[Profile, ...] | None]:
        """Its launches, and once more."""
        return self._twice


def by_preview(
    measured: Sequence[Measurement], machine: str, release: str, budget: int, root: Path
) -> Iterator[Modelled | LeftOut]:
    """What the preview says of each measurement on a machine: of its launches' second run, as a program that
    measures runs them several times.

    Args:
        measured: whose workloads exist (``works_of``).
        machine: file of ``configs/machines``. release: file of ``configs/gem5``.
        budget: wavefront instructions of a point that are executed at most, to learn what its kernels do.

    Raises:
        ConfigError: the machine, or a parameter, cannot be.
    """
    works = works_of(measured, root)
    points = _points([(one, work) for one, work in zip(measured, works, strict=True) if work], machine, release, root)
    too_long: list[Measurement] = []
    for one, work in sorted(zip(measured, works, strict=True), key=lambda pair: _wavefronts(pair[1])):
        if work is None:
            yield LeftOut(one, one.host)
            continue
        point = points[work.text]
        why = _too_large(work, budget) or _larger(one, too_long)
        if not why:
            try:
                work.execute(point.compute_units, point.gfx, budget)
                yield _second(one, work, point)
                continue
            except TooLong:
                too_long.append(one)
                why = _BEYOND
        yield LeftOut(one, why)


_BEYOND: Final = "it executes more wavefront instructions than --budget allows"


def _too_large(work: KernelsWork, budget: int) -> str:
    if work.device_bytes > MOST_BYTES:
        return "its buffers take more than 1 GiB, which the interpreter would fill"
    return _BEYOND if _wavefronts(work) > budget else ""


def _larger(one: Measurement, too_long: Sequence[Measurement]) -> str:
    """Why a measurement need not be tried: it is no smaller in anything than one that was too long."""
    for other in too_long:
        names = other.parameters.keys() & one.parameters.keys()
        if one.workload == other.workload and all(one.parameters[k] >= other.parameters[k] for k in names):
            return _BEYOND
    return ""


class Shape(NamedTuple):
    """Launches of a program, and their wavefronts where each has 64 work-items."""

    launches: int
    wavefronts: int


@lru_cache(maxsize=4096)
def shape_of(work: KernelsWork) -> Shape:
    """What a program launches; a grid that asks for compute units sees one."""
    launches = work.program(1, work.usual_gpu).launches
    return Shape(len(launches), sum(-(-math.prod(launch.grid) // LANES) for launch in launches))


def _wavefronts(work: KernelsWork | None) -> int:
    return 0 if work is None else shape_of(work).wavefronts


def _points(
    wanted: Sequence[tuple[Measurement, KernelsWork]], machine: str, release: str, root: Path
) -> dict[str, Point]:
    """The points on a machine, by what they run."""
    found: dict[str, Point] = {}
    for name in dict.fromkeys(one.workload for one, _ in wanted):
        sizes = [dict(work.parameters) for one, work in wanted if one.workload == name]
        content = {
            "description": "apuflow correlate",
            "engines": ["preview"],
            "release": release,
            "machine": machine,
            "workloads": [name],
            "layers": sizes,
        }
        for point in api.points(question.question(content, root), name, root):
            found[point.work.text] = point
    return found


def _second(one: Measurement, work: KernelsWork, point: Point) -> Modelled:
    """What the second of two runs of a point's launches takes."""
    frame = kernels_frame([_Again(point)], option_rules.defaults(preview.RELEASE))
    launches = len(frame) // 2
    second = frame.iloc[launches:]
    cycles = second.groupby("bound")["gpu_cycles"].sum()
    return Modelled(
        one,
        "preview",
        launches,
        float(cycles.sum()) / _clock(point),
        str(cycles.idxmax()),
        float(second["valu_thread_cycles"].sum()),
        _bytes(work, point),
        first=False,
    )


def _clock(point: Point) -> float:
    return clock_hertz(str(point.options["gpu-clock"])) or math.nan


def _bytes(work: KernelsWork, point: Point) -> float:
    program = work.program(point.compute_units, point.gfx)
    sizes = {buffer.name: buffer.size for buffer in program.buffers}
    return float(
        sum(
            sizes[name]
            for launch in program.launches
            for name in {str(given.value) for given in launch.arguments if given.kind == "buffer"}
        )
    )


def by_tables(
    measured: Sequence[Measurement], sweep: str, engine: EngineName | None, root: Path
) -> tuple[list[Modelled | LeftOut], Point]:
    """What the tables of a sweep say of the measurements.

    Args:
        engine: whose rows; None: the sweep's first.

    Returns:
        an entry for each measurement, and a point, which says what the machine is.

    Raises:
        ConfigError: no such sweep, it varies the machine, it has no table yet, or no row is of a measurement.
    """
    loaded = api.sweep(sweep, root)
    chosen = engine or loaded.engines[0]
    works = works_of(measured, root)
    wanted = {work.text: (one, work) for one, work in zip(measured, works, strict=True) if work}
    points = [p for p in api.points(loaded, root=root) if p.engine == chosen and p.work.text in wanted]
    machines = {(point.release, point.options.get("gpu-clock"), point.compute_units) for point in points}
    if len(machines) > 1:
        remedy = "exclude all but one machine of the sweep, or name another sweep"
        raise ConfigError("its points are of several machines", key="sweep", value=sweep, remedy=remedy)
    rows = _rows(sweep, {point.workload for point in points}, root)
    found: dict[str, Modelled] = {}
    for point in points:
        if (row := rows.get(point.id)) is not None:
            one, work = wanted[point.work.text]
            found[point.work.text] = _of_row(one, work, point, row)
    if not found:
        remedy = f"snakemake --cores all all results/{sweep}/report.html, of sizes that were measured"
        message = f"no row of engine {chosen} is of a measured size"
        raise ConfigError(message, key="sweep", value=sweep, remedy=remedy)
    entries: list[Modelled | LeftOut] = []
    for one, own in zip(measured, works, strict=True):
        modelled = None if own is None else found.get(own.text)
        entries.append(modelled or LeftOut(one, one.host if own is None else f"no row of sweep {sweep}"))
    return entries, points[0]


def _rows(sweep: str, workloads: set[str], root: Path) -> dict[str, Mapping[str, Any]]:
    """Rows of completed points by their id, of the tables that are there."""
    found: dict[str, Mapping[str, Any]] = {}
    for name in sorted(workloads):
        table = root / paths.table(paths.under(sweep), name, "parquet")
        if table.is_file():
            frame: pd.DataFrame = store.read(table, whole=True)
            done = frame[frame["status"] == "completed"]
            found |= {str(row["point"]): row for row in done.to_dict("records")}
    return found


def _of_row(one: Measurement, work: KernelsWork, point: Point, row: Mapping[str, Any]) -> Modelled:
    bound = row.get("bound")
    return Modelled(
        one,
        point.engine,
        shape_of(work).launches,
        float(row["gpu_cycles"]) / _clock(point),
        bound if isinstance(bound, str) else "",
        float(row["valu_thread_cycles"]),
        _bytes(work, point),
        first=True,
    )


def refuse_other(machine: str, engine: EngineName | None) -> None:
    """Refuse to simulate a machine's points here.

    Raises:
        ApuflowError: the engine is not the preview.
    """
    if engine not in (None, "preview"):
        raise ApuflowError(
            "this engine runs points of a sweep, not here",
            key="--engine",
            value=engine,
            remedy=f"write a sweep with machine: {machine}, run it, then apuflow correlate SWEEP --engine {engine}",
        )
