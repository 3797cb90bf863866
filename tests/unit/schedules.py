"""What Snakemake's greedy scheduler makes of runs with priorities and memory, without a clock."""

from __future__ import annotations

import csv
import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from snakemake.scheduling.greedy import Scheduler, SchedulerSettings

from apuflow.engines import estimate
from apuflow.plan import schedule
from apuflow.score.errors import recorded


@dataclass
class Run:
    """A job as the scheduler sees it.

    Attributes:
        seconds: how long it takes.
        expected: how long it was expected to take; None: that is not known.
    """

    seconds: float
    memory_mb: int
    priority: float
    expected: float | None = None
    input: tuple[Any, ...] = ()

    @property
    def scheduler_resources(self) -> dict[str, int]:
        return {"_cores": 1, "expected_mb": self.memory_mb, "_job_count": 1}

    def __hash__(self) -> int:
        return id(self)


def makespan(runs: Sequence[Run], cores: int, memory_mb: int) -> float:
    """Seconds until the last run ends when Snakemake's own greedy scheduler picks among those that wait."""
    scheduler: Any = object.__new__(Scheduler)
    scheduler.settings = SchedulerSettings()
    waiting, now = list(runs), 0.0
    going: list[tuple[float, int, Run]] = []
    free = {"_cores": cores, "expected_mb": memory_mb, "_job_count": 1 << 60}
    while waiting or going:
        chosen = scheduler.select_jobs(waiting, waiting, dict(free), {}) if waiting and free["_cores"] else []
        for run in chosen:
            waiting.remove(run)
            heapq.heappush(going, (now + run.seconds, id(run), run))
            free["_cores"] -= 1
            free["expected_mb"] -= run.memory_mb
        assert free["_cores"] >= 0 and free["expected_mb"] >= 0
        now, _, ended = heapq.heappop(going)
        free["_cores"] += 1
        free["expected_mb"] += ended.memory_mb
    return now


def bound(runs: Sequence[Run], cores: int, memory_mb: int) -> float:
    """No schedule is shorter: the longest run, all work on all cores, all memory over the time it is held."""
    return max(
        max(run.seconds for run in runs),
        sum(run.seconds for run in runs) / cores,
        sum(run.seconds * run.memory_mb for run in runs) / memory_mb,
    )


def recorded_runs() -> list[Run]:
    """137 runs of gem5 with the host time that each took, expected from its counts as a plan expects it.

    Memory is that of a point of their compute units; every fifth has tensors of 2 GB, as shipped shapes do.
    """
    runs = []
    with recorded()[0].open() as stream:
        for number, row in enumerate(csv.DictReader(stream)):
            expected = (
                estimate.SETUP_SECONDS
                + estimate.SECONDS_PER_INSTRUCTION * float(row["instructions"])
                + estimate.SECONDS_PER_CYCLE * float(row["cu_cycles"])
            )
            memory = estimate.GEM5_BYTES + estimate.BYTES_PER_CU * int(row["num_compute_units"])
            memory += (estimate.COPIES << 30) if number % 5 == 0 else 0
            runs.append(Run(float(row["host_seconds"]), memory >> 20, schedule.priority(expected), expected))
    return runs
