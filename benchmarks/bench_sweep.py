"""Reading a sweep and expanding it into checked points with identities: 1,000 and 10,000 points.

    .venv/bin/python benchmarks/bench_sweep.py [--repeat N]

Prints per shape: seconds (best of N), microseconds per point, and the ratio to the minimum work for these
points: canonical JSON of their identities and a SHA-256.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from apuflow.campaign.points import points
from apuflow.configure import load_sweep
from apuflow.configure.point import Point

ROOT = Path(__file__).resolve().parents[1]
SHAPES = {
    "1,000: 50 CU counts x 20 latencies": ("num-compute-units", 50, "mem-req-latency", 20),
    "1,000: 10 CU counts x 100 batches": ("num-compute-units", 10, "n", 100),
    "10,000: 100 CU counts x 100 latencies": ("num-compute-units", 100, "mem-req-latency", 100),
    "10,000: 100 CU counts x 100 batches": ("num-compute-units", 100, "n", 100),
    "10,000: 100 batches x 100 channels": ("n", 100, "c", 100),
}


def best(work: Callable[[], object], repeat: int) -> float:
    """Seconds of the fastest of ``repeat`` runs."""
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def identities(found: list[Point]) -> None:
    """The minimum work of an expansion."""
    for point in found:
        text = json.dumps(point.describe(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        hashlib.sha256(text.encode()).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3)
    repeat = parser.parse_args().repeat
    print(f"{'points':40} {'seconds':>8} {'us/point':>9} {'ratio':>6}")
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        shutil.copytree(ROOT / "configs", root / "configs")
        for title, (first, many, second, few) in SHAPES.items():
            axes: dict[str, object] = {}
            for name, count in ((first, many), (second, few)):
                values = list(range(1, count + 1))
                if len(name) == 1:
                    axes["layer"] = {**dict(axes.get("layer", {})), name: values}  # type: ignore[call-overload]
                else:
                    axes[name] = values
            sweep = {"description": "x", "engines": ["preview"], "workloads": ["softmax_fwd"], "axes": axes}
            (root / "configs/sweeps/t.yaml").write_text(json.dumps(sweep))

            def expand(root: Path = root) -> list[str]:
                return [point.id for point in points(load_sweep("t", root), "softmax_fwd", root)]

            seconds = best(expand, repeat)
            found = points(load_sweep("t", root), "softmax_fwd", root)
            least = best(lambda found=found: identities(found), repeat)  # type: ignore[misc]
            print(f"{title:40} {seconds:8.3f} {seconds / len(found) * 1e6:9.1f} {seconds / least:6.1f}")


if __name__ == "__main__":
    main()
