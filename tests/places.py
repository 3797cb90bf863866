"""Where tests find the project, recorded files, and what is made once for all workers."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The project."""
DATA = ROOT / "tests/data"
GEM5_RUNS = DATA / "gem5_runs"
STATS = GEM5_RUNS / "stats"
"""Statistics files of real gem5 runs."""


def made_once(name: str, make: Callable[[Path], object]) -> Path:
    """A directory that the first worker that asks for it makes, for all of them; nobody changes it.

    It lies outside /tmp, which a program inside gem5 cannot see.
    """
    place = Path(os.environ["APUFLOW_TEST_RUN"]) / name
    done = place.with_suffix(".done")
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            place.mkdir()
            make(place)
            done.touch()
    return place
