"""The order of runs, how they are divided into jobs of a scheduler, and what memory and time each asks for.

The longest runs start first, as many at a time as the memory holds. A list schedule by falling length ends at
most a third later than the best possible one (R. L. Graham, 1969), where one by chance may take twice as
long: the long run that was left for the end.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from apuflow.configure.point import Point
from apuflow.engines import get_engine
from apuflow.plan.manifest import Task

MEMORY = "expected_mb"
"""Snakemake resource: memory that a run is expected to take; ``mem_mb`` is the limit at which it is ended."""
_MEMINFO = Path("/proc/meminfo")
_SHORT_SECONDS = 60.0
"""A run below that waits for others of its machine: gem5's start is up to half of it."""

_MACHINES = 1 << 16

MARGIN = 4
"""A job asks for this many times its expected time: nine of ten estimates are less than 85 % off."""

START_MINUTES = 10
"""Asked for besides: to start on a slow file system, to stop at the wall limit, and to publish."""

OVERHEAD_SECONDS = 0.3
"""What a run in a batch takes besides its own time: gem5's start, the proof, the record."""

OWN_MEMORY_MB = 1000
"""Asked for above a run's own limit, for Snakemake (twice) and the job's script, 150 MB each: the run's limit
strikes first, and its record names it."""

LEAST_MEMORY_MB = 4000
MEMORY_MARGIN = 2
"""A run is ended above this many times its estimated memory: room for a wrong estimate, none for a leak."""


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
    with contextlib.suppress(OSError):
        if said := re.search(r"^MemAvailable: +(\d+) kB", _MEMINFO.read_text(), re.M):
            return int(said[1]) >> 10
    return (os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) >> 20


def expected_memory(point: Point) -> int:
    """Megabytes that a run is expected to take."""
    return get_engine(point.engine).host_memory(point) >> 20


def memory_limit(point: Point) -> int:
    """Megabytes above which a run is ended."""
    return max(LEAST_MEMORY_MB, MEMORY_MARGIN * expected_memory(point))


def minutes(expected: Iterable[float | None], wall_seconds: float) -> int:
    """Minutes that a job asks for.

    Args:
        expected: seconds that its runs take; None: unknown, so one may take its wall limit.
        wall_seconds: the sweep's wall limit, which ends a run.
    """
    most = (wall_seconds if each is None else min(wall_seconds, MARGIN * _taken(each)) for each in expected)
    return math.ceil(sum(most) / 60) + START_MINUTES


def batch_name(tasks: Iterable[Task]) -> str:
    """Sixteen hex digits that name just these points."""
    text = "\n".join(task.point.record for task in tasks)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def divide(tasks: Iterable[Task], seconds: float) -> Iterator[Sequence[Task]]:
    """Divide points into batches that take about ``seconds`` each.

    A point has a job of its own where its time is unknown, where it takes more than half of a batch, and
    where it would be alone in one. A batch asks for the memory of its largest run, so points of one batch
    differ in memory by less than a factor of two.
    """
    groups: dict[tuple[str, int], list[Task]] = {}
    for task in tasks:
        if task.seconds is not None and _taken(task.seconds) <= seconds / 2:
            key = (task.point.engine, int(math.log2(max(1, task.memory_mb))))
            groups.setdefault(key, []).append(task)
    for group in groups.values():
        start = 0
        for size in _sizes([task.seconds or 0.0 for task in group], seconds):
            if size > 1:
                yield group[start : start + size]
            start += size


def batch_sizes(expected: Iterable[float], seconds: float) -> Iterator[int]:
    """Points of each batch into which points that take so many seconds would be divided."""
    short = [each for each in expected if _taken(each) <= seconds / 2]
    return (size for size in _sizes(short, seconds) if size > 1)


def _sizes(expected: Iterable[float], seconds: float) -> Iterator[int]:
    """How many to take each time, in their order, for about ``seconds``."""
    count, taken = 0, 0.0
    for each in map(_taken, expected):
        if count and taken + each > seconds:
            yield count
            count, taken = 0, 0.0
        count += 1
        taken += each
    if count:
        yield count


def _taken(seconds: float | None) -> float:
    return (seconds or 0.0) + OVERHEAD_SECONDS
