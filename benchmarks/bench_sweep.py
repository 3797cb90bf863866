"""From a sweep to points: expanding 1,000 and 10,000 points, and networks and suites with their preview.

    .venv/bin/python benchmarks/bench_sweep.py [--repeat N]

Prints per shape: seconds (best of N), microseconds per point, and the ratio to the minimum work for these
points: canonical JSON of their identities and a SHA-256. Then per suite: points, seconds of processor time
(once, with empty caches; modules are loaded), and microseconds per point.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import time
from typing import Any

from measuring import best, parser, project

from apuflow import preview
from apuflow.configure import load_sweep, option_rules
from apuflow.configure.point import Point
from apuflow.plan.points import points
from apuflow.preflight.plan import plan_sweep

SHAPES: dict[str, tuple[dict[str, int], dict[str, int]]] = {
    "1,000: 50 CU counts x 20 latencies": ({"num-compute-units": 50, "mem-req-latency": 20}, {}),
    "1,000: 10 CU counts x 100 batches": ({"num-compute-units": 10}, {"n": 100}),
    "10,000: 100 CU counts x 100 latencies": ({"num-compute-units": 100, "mem-req-latency": 100}, {}),
    "10,000: 100 CU counts x 100 batches": ({"num-compute-units": 100}, {"n": 100}),
    "10,000: 100 batches x 100 channels": ({}, {"n": 100, "c": 100}),
}
"""Values of each axis of options and of the layer."""
BATCHES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16]
SUITES: dict[str, dict[str, Any]] = {
    "ResNet-50 forward and backward, previewed": {"engines": ["preview"], "suites": ["resnet50"]},
    "all suites on one machine, previewed": {"engines": ["preview"], "suites": ["*"]},
    "1,000 layer points on gem5-kernels, planned": {
        "engines": ["gem5-kernels"],
        "suites": ["resnet50"],
        "axes": {"layer": {"n": BATCHES}},
    },
}


def identities(found: list[Point]) -> None:
    """The minimum work of an expansion."""
    for point in found:
        text = json.dumps(point.describe(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        hashlib.sha256(text.encode()).hexdigest()


def expand(title: str, repeat: int) -> None:
    options, layer = (
        {name: list(range(1, count + 1)) for name, count in counts.items()} for counts in SHAPES[title]
    )
    axes: dict[str, object] = {**options, **({"layer": layer} if layer else {})}
    with project({"engines": ["preview"], "workloads": ["softmax_fwd"], "axes": axes}) as root:
        found = points(load_sweep("t", root), "softmax_fwd", root)
        [seconds] = best(repeat, lambda: [p.id for p in points(load_sweep("t", root), "softmax_fwd", root)])
        [least] = best(repeat, lambda: identities(found))
    print(f"{title:40} {seconds:8.3f} {seconds / len(found) * 1e6:9.1f} {seconds / least:6.1f}", flush=True)


def fold(title: str) -> None:
    """Measure a suite, in a process of its own."""
    sweep = SUITES[title]
    with project({"release": "v23.0", **sweep}) as root:
        start = time.process_time()
        if sweep["engines"] == ["preview"]:
            found = points(load_sweep("t", root), "operations", root)
            expanded = time.process_time()
            preview.run(found, option_rules.defaults(preview.RELEASE))
            count, parts = len(found), f"expanded in {expanded - start:.2f}"
        else:
            plan = plan_sweep("t", root=root)
            count, parts = sum(len(one.points) for one in plan.workloads), ""
        seconds = time.process_time() - start
    print(f"{title:46} {count:7,} {seconds:8.2f} {seconds / count * 1e6:9.0f}  {parts}", flush=True)


def main() -> None:
    repeat = parser(__doc__, repeat=3).parse_args().repeat
    print(f"{'points':40} {'seconds':>8} {'us/point':>9} {'ratio':>6}", flush=True)
    for title in SHAPES:
        expand(title, repeat)
    print(f"{'':46} {'points':>7} {'seconds':>8} {'us/point':>9}", flush=True)
    context = multiprocessing.get_context("spawn")
    for title in SUITES:
        process = context.Process(target=fold, args=(title,))
        process.start()
        process.join()
        if process.exitcode:
            raise SystemExit(process.exitcode)


if __name__ == "__main__":
    main()
