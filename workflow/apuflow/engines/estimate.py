"""What a run will cost the host, before it runs: seconds and bytes, with where the numbers come from.

Host time was measured on 137 single-kernel runs of gem5 v23.0.1.0 (two runs side by side on two cores): a
fit of ``SETUP + PER_INSTRUCTION * wavefront instructions + PER_CYCLE * cycles summed over CUs`` is 30 % off
in the median and 60 % at the 90th percentile. On gem5 with the ROCm runtime the simulated CPUs come on top: a
100x1000 softmax kernel took three times as long as without it, and a whole DNNMark program fills its tensors
first.
"""

from __future__ import annotations

import contextlib
import functools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from apuflow import dnnmark
from apuflow.configure.points import Point
from apuflow.core import paths
from apuflow.core.errors import AnalysisError
from apuflow.core.record import Status, read_run
from apuflow.core.units import size_bytes

SETUP_SECONDS = 0.6
SECONDS_PER_INSTRUCTION = 3.0e-5
SECONDS_PER_CYCLE = 3.6e-6

GEM5_BYTES = 800_000_000
"""gem5 itself with an empty machine (v23.0.1.0, from hostMemory less the two copies of guest memory)."""
BYTES_PER_CU = 6_300_000
"""More per compute unit, from hostMemory at 1 and 64 CUs."""
COPIES = 2
"""Ruby keeps guest data twice: in the backing store and in the DRAM model (access_backing_store)."""
RUNTIME_BYTES = 200_000_000
"""Touched by the ROCm runtime and its code objects."""


@dataclass(frozen=True)
class Duration:
    """Seconds of host time for one run, and where the number comes from."""

    seconds: float
    basis: str


def host_memory(point: Point) -> int:
    """Bytes of host memory that the run of a point will touch, rounded up to 100 MB; 0 for the preview."""
    if point.engine == "preview":
        return 0
    if point.config_text is None or point.direction is None:
        guest = size_bytes(str(point.options["mem-size"])) or 0
    else:
        guest = _tensors(point.config_text, point.direction)
    if point.engine == "gem5":
        guest += RUNTIME_BYTES
    total = GEM5_BYTES + BYTES_PER_CU * int(point.options["num-compute-units"]) + COPIES * guest
    return -(-total // 100_000_000) * 100_000_000


def from_preview(points: Sequence[Point]) -> list[Duration]:
    """Host time of simulating each point, from the instructions and cycles that the preview counts.

    Raises:
        NotModelled: the preview does not know a kernel or an option of theirs.
    """
    from apuflow import preview
    from apuflow.configure import option_rules

    frame = preview.run(points, option_rules.defaults(preview.RELEASE))
    seconds = (
        SETUP_SECONDS
        + SECONDS_PER_INSTRUCTION * frame["instructions"].to_numpy()
        + SECONDS_PER_CYCLE * frame["cu_cycles"].to_numpy()
    )
    return [Duration(float(each), BASIS[point.engine]) for each, point in zip(seconds, points, strict=True)]


BASIS = {
    "preview": "",
    "gem5-kernels": "the preview's counts at the host speed of 137 recorded runs",
    "gem5": "GPU part alone, from the preview's counts at the host speed of 137 recorded runs; the simulated "
    "CPUs come on top",
}


def from_records(engine: str, workload: str, root: Path = Path()) -> Duration | None:
    """Median of the completed runs of this workload that are already there; None without any."""
    directory = (root / paths.run_dir(engine, workload, "any")).parent
    seconds = []
    for record in directory.glob("*/run.json"):
        with contextlib.suppress(AnalysisError):
            run = read_run(record)
            if run.status is Status.COMPLETED:
                seconds.append(run.wall_seconds)
    if not seconds:
        return None
    return Duration(statistics.median(seconds), f"median of {len(seconds)} completed runs here")


@functools.lru_cache(maxsize=1024)
def _tensors(config_text: str, direction: dnnmark.Direction) -> int:
    network = dnnmark.parse(config_text)
    return dnnmark.device_bytes(network, direction) + dnnmark.mmap_bytes(network, direction)
