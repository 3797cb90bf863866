"""The preview engine on 10,000 points, by as many processes as there are processors.

    .venv/bin/python benchmarks/bench_preview.py [--repeat N] [--runs RUNS.csv]

Prints per shape: seconds of the first call (empty caches) and of the best later one; seconds of the model's
formulas alone, and the ratio of the best call to them; microseconds per point of the first call, and the
ratio of gem5's seconds per run (mean ``host_seconds`` of ``RUNS.csv``) to it. Then the same for the runs
of that table, and milliseconds of ``apuflow.evaluate`` for a cached point, a new point, and 10,000.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from apuflow.configure import load_release
from apuflow.core import forked
from apuflow.core.options import Options
from apuflow.core.record import ReleaseFacts
from apuflow.dnnmark import Direction, parse
from apuflow.miopen import Launch, launches

ROOT = Path(__file__).resolve().parents[1]
FACTS = load_release("v23.0", ROOT).facts
RUNS = ROOT / "data/gem5_runs/runs.csv"
LAYER = """[DNNMark]
run_mode=standalone

[Softmax]
n={n}
c={c}
h=1
w=1
softmax_algo=accurate
softmax_mode=channel
previous_layer=null
"""
SHAPES = {
    "100 CU counts x 100 latencies": ("num-compute-units", "mem-req-latency"),
    "100 CU counts x 100 batches": ("num-compute-units", "n"),
    "100 batches x 100 channels": ("n", "c"),
}


@dataclass(frozen=True)
class Point:
    """The attributes of a point that the engine reads."""

    id: str
    text: str
    direction: Direction
    options: Options
    release_facts: ReleaseFacts = FACTS
    release: str = "v23.0"
    in_memory: bool = False

    def launches(self, compute_units: int) -> tuple[Launch, ...]:
        return launches_of(self.text, self.direction, compute_units)

    def previewed(self, compute_units: int) -> tuple[tuple[Launch, ...], None]:
        return self.launches(compute_units), None


@cache
def launches_of(text: str, direction: Direction, compute_units: int) -> tuple[Launch, ...]:
    return launches(parse(text), direction, compute_units)


def points(axes: tuple[str, str], many: int) -> list[Point]:
    """``many`` x ``many`` points over two axes, with shared options as in a sweep."""
    found = []
    shared: dict[str, Options] = {}
    for first, second in product(range(1, many + 1), repeat=2):
        values = {"n": 64, "c": 100, "num-compute-units": 4, axes[0]: first, axes[1]: second}
        text = LAYER.format(n=values.pop("n"), c=values.pop("c"))
        found.append(
            Point(f"{first}-{second}", text, "fwd", shared.setdefault(str(values), Options.of(values)))
        )
    return found


def gem5_seconds(table: Path) -> list[float]:
    """Host seconds of the recorded runs."""
    with table.open(newline="") as file:
        return [float(row["host_seconds"]) for row in csv.DictReader(file) if row["host_seconds"]]


def measure(title: str, many: int, repeat: int, table: Path) -> None:
    """Measure a shape with empty caches."""
    from apuflow import preview
    from apuflow.configure import option_rules

    defaults = option_rules.defaults(preview.RELEASE)
    found = points(SHAPES[title], many)
    preview.run(found[:1], defaults)
    seconds = []
    for _ in range(repeat + 1):
        start = time.perf_counter()
        preview.run(found, defaults, forked.usable())
        seconds.append(time.perf_counter() - start)
    real = gem5_seconds(table)
    first, later, alone = seconds[0], min(seconds[1:]), formulas_alone(found, defaults)
    each = first / len(found) * 1e6
    ratio = sum(real) / len(real) / each * 1e6
    print(
        f"{title:30} {first:7.2f} {later:7.2f} {alone:7.2f} {later / alone:6.1f} {each:9.1f} {ratio:8.0f}",
        flush=True,
    )


def formulas_alone(found: list[Point], defaults: dict[str, Any]) -> float:
    """The best of five in one process."""
    from apuflow.preview.counters import counter_columns
    from apuflow.preview.evaluate import collect
    from apuflow.preview.timing import times_of

    launches = collect(found, defaults).pairs
    counter_columns(times_of(launches))
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        counter_columns(times_of(launches))
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def against_gem5(table: Path) -> None:
    """Host seconds of recorded runs of gem5, and of predicting them."""
    from apuflow.score.errors import read_runs, score

    real = sum(gem5_seconds(table))
    frame = read_runs(table)
    start = time.perf_counter()
    score(frame)
    ours = time.perf_counter() - start
    print(f"{len(frame)} runs: gem5 {real:.0f} s, preview {ours:.3f} s, ratio {real / ours:.0f}")


def ask() -> None:
    """Measure ``apuflow.evaluate``."""
    import apuflow

    latencies, units = range(1, 101), list(range(1, 101))
    apuflow.evaluate("softmax_fwd", {"num-compute-units": 101})
    seconds: dict[str, list[float]] = {"asked before": [], "new": [], "10,000 points": []}
    for title, options in (
        *(("asked before", {"num-compute-units": 101}) for _ in latencies),
        *(("new", {"num-compute-units": 102, "mem-req-latency": latency}) for latency in latencies),
        *(("10,000 points", {"num-compute-units": units, "mem-req-latency": list(latencies)}),) * 2,
    ):
        start = time.perf_counter()
        apuflow.evaluate("softmax_fwd", options)
        seconds[title].append(time.perf_counter() - start)
    for title, found in seconds.items():
        print(f"evaluate, {title}: best {min(found) * 1e3:.1f} ms", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--many", type=int, default=100, help="values per axis")
    parser.add_argument("--runs", type=Path, default=RUNS)
    parser.add_argument("--shape", choices=list(SHAPES), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.shape:
        measure(options.shape, options.many, options.repeat, options.runs)
        return
    print(
        f"{'points':30} {'first s':>7} {'later s':>7} {'NumPy s':>7} {'ratio':>6} {'us/point':>9} "
        f"{'to gem5':>8}",
        flush=True,
    )
    for title in SHAPES:
        given = ["--shape", title, "--many", str(options.many), "--repeat", str(options.repeat)]
        given += ["--runs", str(options.runs)]
        subprocess.run([sys.executable, __file__, *given], check=True)
    against_gem5(options.runs)
    ask()


if __name__ == "__main__":
    main()
