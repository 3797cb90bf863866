"""Networks and suites: expansion and preview of ResNet-50 and of all suites, the plan of 1,000 layer points.

    .venv/bin/python benchmarks/bench_suites.py

Prints per row: points, seconds of processor time, and microseconds per point. Caches are empty at the start
of each row; modules are loaded.
"""

from __future__ import annotations

import json
import multiprocessing
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BATCHES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16]
SWEEPS: dict[str, dict[str, Any]] = {
    "ResNet-50 forward and backward, previewed": {"suites": ["resnet50"]},
    "all suites on one machine, previewed": {"suites": ["*"]},
    "1,000 layer points on gem5-kernels, planned": {
        "engines": ["gem5-kernels"],
        "suites": ["resnet50"],
        "axes": {"layer": {"n": BATCHES}},
    },
}


def measure(title: str) -> None:
    """Measure a row with empty caches."""
    from apuflow import preview
    from apuflow.campaign.points import points
    from apuflow.configure import load_sweep, option_rules
    from apuflow.study.plan import plan_sweep

    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        shutil.copytree(ROOT / "configs", root / "configs")
        sweep = {"description": "x", "engines": ["preview"], "release": "v23.0", **SWEEPS[title]}
        (root / "configs/sweeps/t.yaml").write_text(json.dumps(sweep))
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
    print(f"{'':46} {'points':>7} {'seconds':>8} {'us/point':>9}")
    context = multiprocessing.get_context("spawn")
    for title in SWEEPS:
        process = context.Process(target=measure, args=(title,))
        process.start()
        process.join()
        if process.exitcode:
            raise SystemExit(process.exitcode)


if __name__ == "__main__":
    main()
