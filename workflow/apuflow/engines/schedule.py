"""In which order simulations start: the longest first, as many at a time as the memory holds.

A list schedule by falling length ends at most a third later than the best possible one (R. L. Graham, 1969),
where one by chance may take twice as long: the long run that was left for the end.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

MEMORY = "expected_mb"
"""Snakemake resource: memory that a run is expected to take; ``mem_mb`` is the limit at which it is ended."""

_MEMINFO = Path("/proc/meminfo")


_SHORT_SECONDS = 60.0
"""A run below that waits for others of its machine: gem5's start is up to half of it."""

_MACHINES = 1 << 16


def priority(seconds: float | None, machine: str | None = None) -> float:
    """Snakemake's priority of a run and of what is made for it; below that of all other jobs.

    Args:
        seconds: expected; None: not known, then it is one of the first.
        machine: what names the machine, where runs of one share gem5's start. Short ones then come last,
            machine by machine.
    """
    if seconds is None:
        return -1e-9
    if machine is None or seconds >= _SHORT_SECONDS:
        return -1.0 / (1.0 + seconds)
    turn = int(hashlib.sha256(machine.encode()).hexdigest(), 16) % _MACHINES
    return -1.0 - (turn + 0.5 / (1.0 + seconds)) / _MACHINES


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
