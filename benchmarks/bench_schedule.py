"""End of a mixed sweep: longest runs first within the memory, against random order and the lower bound.

    .venv/bin/python benchmarks/bench_schedule.py

137 recorded runs of gem5 with their host times, a plan's expected lengths, memory as in
tests/unit/schedules.py, and Snakemake's greedy scheduler. Goal: at most 1.1 times the bound. It reads no
clock: numbers are equal on all machines.
"""

from __future__ import annotations

import random
import sys
from dataclasses import replace

from measuring import ROOT

sys.path.extend([str(ROOT / "tests"), str(ROOT / "tests/unit")])
from schedules import Run, bound, makespan, recorded_runs

WANTED = 1.1
CHANCES = 10


def main() -> None:
    runs = recorded_runs()
    print(f"{len(runs)} runs, {sum(run.seconds for run in runs):,.0f} s of one core")
    print("cores   memory     bound   longest first        by chance (median of 10)")
    worst = 0.0
    for cores, memory_mb in ((2, 4000), (4, 6000), (4, 16000), (8, 16000), (16, 16000)):
        least = bound(runs, cores, memory_mb)
        ours = makespan(runs, cores, memory_mb)
        chance = sorted(_by_chance(runs, cores, memory_mb, seed) for seed in range(CHANCES))[CHANCES // 2]
        worst = max(worst, ours / least)
        print(
            f"{cores:5} {memory_mb / 1000:6.0f} GB {least:7.0f} s {ours:9.0f} s {ours / least:5.3f} x"
            f" {chance:11.0f} s {chance / least:5.3f} x"
        )
    if worst > WANTED:
        sys.exit(f"more than {WANTED} times the bound: {worst:.3f}")


def _by_chance(runs: list[Run], cores: int, memory_mb: int, seed: int) -> float:
    """Equal priorities in an arbitrary order."""
    mixed = [replace(run, priority=0.0) for run in runs]
    random.Random(seed).shuffle(mixed)
    return makespan(mixed, cores, memory_mb)


if __name__ == "__main__":
    main()
