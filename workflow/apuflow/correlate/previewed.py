"""The preview's times of what was measured, on a machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from apuflow import preview
from apuflow.ask import api, question
from apuflow.configure import option_rules
from apuflow.configure.kernel_workload import KernelsWork
from apuflow.configure.point import Point
from apuflow.core.errors import NotModelled
from apuflow.core.record import ReleaseFacts
from apuflow.correlate.measured import Measurement
from apuflow.correlate.modelled import LeftOut, Modelled, bytes_of, clock_of, shape_of, works_of
from apuflow.interpret.pool import TooLong
from apuflow.miopen import Launch
from apuflow.preview.evaluate import kernels_frame
from apuflow.preview.profile import Profile

MOST_BYTES: Final = 1 << 30
"""Of the buffers of a program that is executed for the preview."""
_BEYOND: Final = "it executes more wavefront instructions than --budget allows"


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

    def previewed(self, compute_units: int) -> tuple[tuple[Launch, ...], tuple[Profile, ...] | None]:
        """Its launches, and once more."""
        launches, profiles = self.point.previewed(compute_units)
        return launches * 2, None if profiles is None else profiles * 2


def by_preview(
    measured: Sequence[Measurement], machine: str, release: str, budget: int, root: Path
) -> Iterator[Modelled | LeftOut]:
    """What the preview says of each measurement on a machine, of the second run of its launches.

    Programs that measure run them several times, so that caches and TLBs have what the run before left.

    Args:
        measured: whose workloads exist (``works_of``).
        machine: file of ``configs/machines``. release: file of ``configs/gem5``.
        budget: wavefront instructions of a point that are executed at most, to learn what its kernels do.

    Raises:
        ConfigError: the machine, or a parameter, cannot be.
    """
    works = works_of(measured, root)
    points = points_on(machine, release, measured, works, root)
    too_long: list[Measurement] = []
    for one, work in sorted(zip(measured, works, strict=True), key=lambda pair: _wavefronts(pair[1])):
        if work is None:
            yield LeftOut(one, one.host)
            continue
        if why := _too_large(work, budget) or _larger(one, too_long):
            yield LeftOut(one, why)
            continue
        point = points[work.canonical]
        try:
            work.execute(point.compute_units, point.gfx, budget)
        except TooLong:
            too_long.append(one)
            yield LeftOut(one, _BEYOND)
        except NotModelled as error:
            yield LeftOut(one, error.message)
        else:
            yield _second(one, work, point)


def _wavefronts(work: KernelsWork | None) -> int:
    return 0 if work is None else shape_of(work).wavefronts


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


def points_on(
    machine: str,
    release: str,
    measured: Sequence[Measurement],
    works: Sequence[KernelsWork | None],
    root: Path,
) -> dict[str, Point]:
    """The points of the measurements on a machine, by what they run (``KernelsWork.canonical``).

    Raises:
        ConfigError: as ``by_preview`` says.
    """
    sizes: dict[str, list[dict[str, int | str]]] = {}
    for one, work in zip(measured, works, strict=True):
        if work is not None:
            sizes.setdefault(one.workload, []).append(dict(work.parameters))
    found: dict[str, Point] = {}
    for name, layers in sizes.items():
        content = {
            "description": "apuflow correlate",
            "engines": ["preview"],
            "release": release,
            "machine": machine,
            "workloads": [name],
            **({"layers": layers} if layers[0] else {}),
        }
        for point in api.points(question.question(content, root), name, root):
            if isinstance(point.work, KernelsWork):
                found[point.work.canonical] = point
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
        float(cycles.sum()) / clock_of(point),
        str(cycles.idxmax()),
        float(second["valu_thread_cycles"].sum()),
        bytes_of(work, point),
        first=False,
    )
