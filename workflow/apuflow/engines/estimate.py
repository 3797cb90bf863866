"""What a run will cost the host, before it runs: seconds and bytes, with where the numbers come from.

Host time was measured on 137 single-kernel runs of gem5 v23.0.1.0 (two runs side by side on two cores): a
fit of ``SETUP + PER_INSTRUCTION * wavefront instructions + PER_CYCLE * cycles summed over CUs`` is 30 % off
in the median and 60 % at the 90th percentile; with the preview's counts, which is what a plan has, 34 % and
85 %. On engine gem5 the simulated CPUs come on top: DNNMark with ROCm 4.0 took 150 to 300 s for small layers
that the launcher does in 2 to 28 s.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from apuflow.configure.point import Point
from apuflow.core import paths
from apuflow.core.errors import AnalysisError, ApuflowError
from apuflow.core.record import Status, read_run
from apuflow.core.units import size_bytes

if TYPE_CHECKING:
    import pandas as pd

SETUP_SECONDS = 0.6
SECONDS_PER_INSTRUCTION = 3.0e-5
SECONDS_PER_CYCLE = 3.6e-6

GEM5_BYTES = 800_000_000
"""gem5 itself with an empty machine (v23.0.1.0, from hostMemory less the two copies of guest memory)."""
BYTES_PER_CU = 6_300_000
"""More per compute unit, from hostMemory at 1 and 64 CUs."""
COPIES = 2
"""Ruby keeps guest data twice: in the backing store and in the DRAM model (access_backing_store)."""
FROM_COUNTS = "the preview's counts at the host speed of 137 recorded runs"
"""What an estimate from the preview stands on."""

RUNTIME_BYTES = 200_000_000
"""Touched by the ROCm runtime and its code objects."""


def host_memory(point: Point, *, runtime_bytes: int) -> int:
    """Bytes of host memory that a gem5 run of a point will touch, rounded up to 100 MB."""
    memory = size_bytes(str(point.options["mem-size"])) or 0
    guest = point.work.touched_bytes(memory) + runtime_bytes
    total = GEM5_BYTES + BYTES_PER_CU * point.compute_units + COPIES * guest
    return -(-total // 100_000_000) * 100_000_000


def from_preview(points: Sequence[Point]) -> list[float]:
    """Seconds of host time of each point on gem5, from the instructions and cycles that the preview counts.

    Raises:
        NotModelled: the preview does not know a kernel or an option of theirs.
    """
    from apuflow import preview
    from apuflow.configure import option_rules

    return seconds_of(preview.run(points, option_rules.defaults(preview.RELEASE)))


def seconds_of(frame: pd.DataFrame) -> list[float]:
    """Seconds of host time of each point on gem5, from its row of the preview."""
    seconds = (
        SETUP_SECONDS
        + SECONDS_PER_INSTRUCTION * frame["instructions"].to_numpy(dtype=float)
        + SECONDS_PER_CYCLE * frame["cu_cycles"].to_numpy(dtype=float)
    )
    return [float(each) for each in seconds]


RECORDS_READ = 50
"""Records of earlier runs that an estimate looks at, evenly among those that are there."""


def each_point(points: Sequence[Point], *, lower_bound: bool, root: Path = Path()) -> list[float | None]:
    """Seconds of host time that each point is expected to take; None: not known.

    From the preview's counts, times what completed runs among these points took over their own estimate.
    Where the preview leaves out a part of the run, and for the points whose layer it does not know: the
    median of the completed runs.

    Args:
        points: of one workload and engine; those with a completed run serve to correct the others.
        lower_bound: the preview's counts leave out a part of the run.
    """
    places = {root / point.record: place for place, point in enumerate(points)}
    walls = _walls([record for record in places if record.exists()])
    counted: list[float | None] = [None] * len(points) if lower_bound else _counted(points)
    estimates = {record: counted[places[record]] for record in walls}
    factor = _median([walls[record] / seconds for record, seconds in estimates.items() if seconds]) or 1.0
    if all(seconds is not None for seconds in counted):
        return [factor * seconds for seconds in counted if seconds is not None]
    every = sorted(root.glob(paths.run_record(points[0].engine, points[0].workload, "*")))
    unknown = _median(list(_walls(every).values()))
    return [unknown if seconds is None else factor * seconds for seconds in counted]


def _counted(points: Sequence[Point]) -> list[float | None]:
    """Seconds by the preview's counts; None for the points alone that it does not know, or cannot execute."""
    try:
        return list(from_preview(points))
    except ApuflowError:
        return [None] if len(points) == 1 else [_counted([point])[0] for point in points]


def _walls(records: Sequence[Path]) -> dict[Path, float]:
    """Seconds that completed runs took."""
    found: dict[Path, float] = {}
    for record in records[:: max(1, -(-len(records) // RECORDS_READ))]:
        with contextlib.suppress(AnalysisError):
            run = read_run(record)
            if run.status is Status.COMPLETED:
                found[record] = run.wall_seconds
    return found


def _median(values: Sequence[float]) -> float | None:
    from statistics import median  # a job that runs a point has no use for it

    return median(values) if values else None
