"""Time of gem5 runs by part (start, filling buffers, kernels, rest), and GPU cycles per host second.

    .venv/bin/python benchmarks/bench_simulation.py runs/gem5-kernels/*/*

Reads finished runs of engine gem5-kernels. gem5's hostSeconds of each block of statistics separates filling,
kernels and the end; the rest of the wall time is gem5's start, writing statistics, and apuflow. Make the runs
on an idle machine with --cores 1.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

from apuflow.core.errors import AnalysisError
from apuflow.core.record import RunRecord, Status, read_run
from apuflow.gem5.stats.reader import read_stats

SELECTED = ["hostSeconds", "*.dispatcher.numKernelLaunched", "*.shaderActiveTicks"]
PARTS = ("filling", "kernels", "end", "start, statistics, ours")


def parts(record: RunRecord, directory: Path) -> tuple[dict[str, float], float]:
    """Host seconds of each part, and GPU ticks of the kernels."""
    seconds = dict.fromkeys(PARTS, 0.0)
    ticks, launched = 0.0, False
    for file in record.statistics_files(directory):
        for dump in read_stats(file, select=SELECTED):
            rows = dump.numbers
            host = rows.get("hostSeconds", 0.0)
            kernels = sum(value for name, value in rows.items() if name.endswith("numKernelLaunched"))
            launched = launched or kernels > 0
            seconds["kernels" if kernels else "end" if launched else "filling"] += host
            if kernels:
                ticks += sum(value for name, value in rows.items() if name.endswith("shaderActiveTicks"))
    seconds[PARTS[-1]] = record.wall_seconds - sum(seconds.values())
    return seconds, ticks


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    rates: dict[object, list[float]] = defaultdict(list)
    heads = "  ".join(f"{part:>10}" for part in PARTS)
    print(f"{'run':56} {'units':>5} {'wall':>8}  {heads}  cycles/s")
    for place in map(Path, sys.argv[1:]):
        try:
            record = read_run(place / "run.json")
        except AnalysisError as error:
            print(f"{place}: {error.message}", file=sys.stderr)
            continue
        if record.status is not Status.COMPLETED or not record.own_kernels_only:
            continue
        seconds, ticks = parts(record, place)
        units = record.options.get("num-compute-units")
        rate = ticks / 1000 / seconds["kernels"] if seconds["kernels"] else float("nan")
        rates[units].append(rate)
        shares = "  ".join(f"{seconds[part] / record.wall_seconds:10.1%}" for part in PARTS)
        name = f"{record.workload} {record.point}"
        print(f"{name[:56]:56} {units!s:>5} {record.wall_seconds:6.1f} s  {shares}  {rate:8,.0f}")
    for size, known in rates.items():
        print(f"{size} compute units: {median(known):,.0f} GPU cycles per host second (median)")


if __name__ == "__main__":
    main()
