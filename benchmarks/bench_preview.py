"""The preview engine on 10,000 points, by as many processes as there are processors.

    .venv/bin/python benchmarks/bench_preview.py [--repeat N] [--many VALUES_PER_AXIS] [--runs RUNS.csv]

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
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

from measuring import ROOT, best, parser, timed

import apuflow
from apuflow import preview
from apuflow.configure import load_release, option_rules
from apuflow.core import forked
from apuflow.core.options import Options
from apuflow.core.record import ReleaseFacts
from apuflow.dnnmark import Direction, parse
from apuflow.miopen import Launch, launches
from apuflow.preview.counters import counter_columns
from apuflow.preview.evaluate import collect
from apuflow.preview.timing import times_of
from apuflow.score.errors import read_runs, score

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
        options = shared.setdefault(str(values), Options.of(values))
        found.append(Point(f"{first}-{second}", text, "fwd", options))
    return found


def gem5_seconds(table: Path) -> list[float]:
    """Host seconds of the recorded runs."""
    with table.open(newline="") as file:
        return [float(row["host_seconds"]) for row in csv.DictReader(file) if row["host_seconds"]]


def measure(title: str, many: int, repeat: int, table: Path) -> None:
    """Measure a shape with empty caches."""
    defaults = option_rules.defaults(preview.RELEASE)
    found = points(SHAPES[title], many)
    preview.run(found[:1], defaults)
    first = timed(lambda: preview.run(found, defaults, forked.usable()))
    [later] = best(repeat, lambda: preview.run(found, defaults, forked.usable()))
    real, alone = gem5_seconds(table), formulas_alone(found, defaults)
    each = first / len(found) * 1e6
    ratio = sum(real) / len(real) / each * 1e6
    numbers = f"{first:7.2f} {later:7.2f} {alone:7.2f} {later / alone:6.1f} {each:9.1f} {ratio:8.0f}"
    print(f"{title:30} {numbers}", flush=True)


def formulas_alone(found: list[Point], defaults: dict[str, Any]) -> float:
    """The best of five in one process."""
    pairs = collect(found, defaults).pairs
    counter_columns(times_of(pairs))
    return best(5, lambda: counter_columns(times_of(pairs)))[0]


def against_gem5(table: Path) -> None:
    """Host seconds of recorded runs of gem5, and of predicting them."""
    real = sum(gem5_seconds(table))
    frame = read_runs(table)
    ours = timed(lambda: score(frame))
    print(f"{len(frame)} runs: gem5 {real:.0f} s, preview {ours:.3f} s, ratio {real / ours:.0f}")


def ask() -> None:
    """Measure ``apuflow.evaluate``."""
    values = list(range(1, 101))
    apuflow.evaluate("softmax_fwd", {"num-compute-units": 101})
    asked: dict[str, list[dict[str, Any]]] = {
        "asked before": [{"num-compute-units": 101}] * 100,
        "new": [{"num-compute-units": 102, "mem-req-latency": latency} for latency in values],
        "10,000 points": [{"num-compute-units": values, "mem-req-latency": values}] * 2,
    }
    for title, options in asked.items():
        seconds = min(timed(partial(apuflow.evaluate, "softmax_fwd", one)) for one in options)
        print(f"evaluate, {title}: best {seconds * 1e3:.1f} ms", flush=True)


def main() -> None:
    command = parser(__doc__, repeat=5, many=100)
    command.add_argument("--runs", type=Path, default=RUNS)
    command.add_argument("--shape", choices=list(SHAPES), help=argparse.SUPPRESS)
    options = command.parse_args()
    if options.shape:
        measure(options.shape, options.many, options.repeat, options.runs)
        return
    heads = f"{'first s':>7} {'later s':>7} {'NumPy s':>7} {'ratio':>6} {'us/point':>9} {'to gem5':>8}"
    print(f"{'points':30} {heads}", flush=True)
    for title in SHAPES:
        subprocess.run([sys.executable, *sys.argv, "--shape", title], check=True)
    against_gem5(options.runs)
    ask()


if __name__ == "__main__":
    main()
