"""In which order simulations start: the longest first, as many at a time as the memory holds.

A list schedule by falling length ends at most a third later than the best possible one (R. L. Graham, 1969),
where one by chance may take twice as long: the long run that was left for the end.
"""

from __future__ import annotations

import os
from pathlib import Path

MEMORY = "expected_mb"
"""Snakemake resource: memory that a run is expected to take; ``mem_mb`` is the limit at which it is ended."""

_MEMINFO = Path("/proc/meminfo")


def priority(seconds: float | None) -> float:
    """Snakemake's priority of a run and of what is made for it; below that of all other jobs.

    Args:
        seconds: expected; None: not known, then it is one of the first.
    """
    return -1.0 / (1.0 + seconds) if seconds is not None else -1e-9


def available_memory_mb() -> int:
    """Memory that this machine has to give now, in MB; all of it where the system does not say."""
    try:
        for line in _MEMINFO.read_text().splitlines():
            name, _, value = line.partition(":")
            if name == "MemAvailable":
                return int(value.split()[0]) >> 10
    except (OSError, ValueError, IndexError):
        pass
    return (os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) >> 20
