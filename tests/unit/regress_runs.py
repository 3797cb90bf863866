"""A run that real gem5 recorded, as a run directory, with what a test changes in it."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

from places import DATA
from run_records import run_record

RUN = "runs/gem5-kernels/softmax_fwd/u4"
STATS = DATA / "gem5_runs/stats/softmax_fwd-100x1000x1x1-u4.txt.xz"
MEAN = "loadLatencyDist::mean        583578.958333"
"""Of 4,800 loads of the vector cache that this run measured."""


def recorded_run(directory: Path, units: int = 4, **changes: Any) -> Path:
    """Write a run of softmax on gem5 v23.0."""
    directory.mkdir(parents=True, exist_ok=True)
    axes = {"num-compute-units": units}
    record = {"workload": "softmax_fwd", "axes": axes, "options": axes, "identity": {}, **changes}
    (directory / "run.json").write_text(json.dumps(run_record(**record)))
    (directory / "stats.txt").write_bytes(lzma.decompress(STATS.read_bytes()))
    return directory


def slow_loads(directory: Path) -> None:
    """A fifth more latency of each load: 583578.958333 * 1.2 is 700294.75."""
    file = directory / "stats.txt"
    text = file.read_text()
    assert MEAN in text
    file.write_text(text.replace(MEAN, "loadLatencyDist::mean        700294.750000"))
