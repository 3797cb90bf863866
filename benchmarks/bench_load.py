"""Many points through the whole gem5 path, with an instant stand-in for gem5 and kills on the way.

    python benchmarks/bench_load.py --points 1000 --kills 10

What it costs per run, what the workflow takes in memory and open files, how long planning and a rerun without
changes take; and that nothing is lost or repeated: every run that was proven before a kill is the same file
after it, and each point has exactly one proven try.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/integration")]

import gem5_project  # noqa: E402
import pandas as pd  # noqa: E402
from conftest import copy_project  # noqa: E402
from gem5_project import SNAKEMAKE, Gem5Project  # noqa: E402
from standins import repositories  # noqa: E402

SWEEP = "load"
TABLE = f"results/{SWEEP}/softmax_fwd.csv"
UNITS = (4, 8, 16, 32, 64)
LATENCIES = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100)


@dataclass
class Watch:
    """Highest memory and open files of the workflow's own process."""

    pid: int
    memory: int = 0
    files: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        page = os.sysconf("SC_PAGE_SIZE")
        while not self._stop.wait(0.2):
            with contextlib.suppress(OSError):
                resident = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * page
                self.memory = max(self.memory, resident)
                self.files = max(self.files, len(list(Path(f"/proc/{self.pid}/fd").iterdir())))

    def stop(self) -> None:
        self._stop.set()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--points", type=int, default=1000, help="runs (default 1000)")
    parser.add_argument(
        "--kills", type=int, default=10, help="SIGKILLs of the workflow on the way (default 10)"
    )
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="apuflow-load-") as directory:
        project = make_project(Path(directory), given.points)
        return measure(project, given.points, given.kills, given.cores, random.Random(given.seed))


def make_project(directory: Path, points: int) -> Gem5Project:
    """A project with its toolchain made, and a sweep of this many points."""
    project = gem5_project.make(copy_project(directory), directory, {"engine": "host"})
    each = len(UNITS) * len(LATENCIES)
    axes = {
        "num-compute-units": list(UNITS),
        "mem-req-latency": list(LATENCIES),
        "layer": {"n": list(range(1, -(-points // each) + 1))},
    }
    project.sweep(SWEEP, axes=axes, on_failure="record", limits={"max_points": 10 * points + each})
    project.sweep("first", axes={"num-compute-units": [1]})
    done = project.run("results/first/softmax_fwd.csv")
    if done.returncode != 0:
        raise SystemExit(done.stdout + done.stderr)
    return project


def measure(project: Gem5Project, points: int, kills: int, cores: int, chance: random.Random) -> int:
    count = expected(project)
    planned = timed(project, "-n", "-q", "all", "--", TABLE)
    print(f"points                    {count}")
    print(f"snakemake -n              {planned:.1f} s")
    started, watches, lost = time.monotonic(), [], 0
    thresholds = sorted(chance.sample(range(1, count), min(kills, count - 1)))
    for threshold in [*thresholds, None]:
        before = proven(project)
        watches.append(run_until(project, cores, threshold))
        after = proven(project)
        lost += sum(after.get(path) != mark for path, mark in before.items())
    seconds = time.monotonic() - started
    frame = pd.read_csv(project.root / TABLE)
    tries = [len(list(path.parent.glob("attempts/*/proven.json"))) for path in records(project)]
    again = timed(project, "--", TABLE)
    print(
        f"time per run              {seconds / count:.2f} s ({cores} cores; {seconds:.0f} s, {kills} kills)"
    )
    print(f"memory of the workflow    {max(watch.memory for watch in watches) / 2**20:.0f} MiB")
    print(f"open files of it          {max(watch.files for watch in watches)}")
    print(f"rerun without changes     {again:.1f} s")
    print(f"rows completed            {int((frame['status'] == 'completed').sum())} of {count}")
    print(f"finished runs lost        {lost}")
    print(f"runs proven twice         {sum(each != 1 for each in tries)}")
    whole = (frame["status"] == "completed").sum() == len(frame) == count
    return 0 if whole and lost == 0 and set(tries) == {1} else 1


def expected(project: Gem5Project) -> int:
    """Points of the sweep."""
    code = f"from apuflow.campaign import Campaign; print(len(Campaign().points('{SWEEP}', 'softmax_fwd')))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project.root, capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def records(project: Gem5Project) -> Iterator[Path]:
    """Records of the sweep's points; the first sweep's own point is none of them."""
    return (path for path in project.records() if not path.parent.name.startswith("u1-"))


def timed(project: Gem5Project, *arguments: str) -> float:
    start = time.monotonic()
    done = project.run(*arguments)
    if done.returncode != 0:
        raise SystemExit(done.stdout[-3000:] + done.stderr[-3000:])
    return time.monotonic() - start


def proven(project: Gem5Project) -> dict[Path, tuple[int, int]]:
    """Statistics of finished runs, with what would show that a run was made again."""
    found = {}
    for path in records(project):
        statistics = path.with_name("stats.txt")
        record = json.loads(path.read_text())
        found[statistics] = (statistics.stat().st_mtime_ns, int(record["attempt"]))
    return found


def run_until(project: Gem5Project, cores: int, wanted: int | None) -> Watch:
    """Start the workflow; kill it outright once there are this many records. None: let it end."""
    process = subprocess.Popen(
        [str(SNAKEMAKE), "--cores", str(cores), "-q", "all", "--", TABLE],
        cwd=project.root,
        env={**os.environ, "PATH": repositories.path_with_scons()},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    watch = Watch(process.pid)
    thread = threading.Thread(target=watch.run, daemon=True)
    thread.start()
    while process.poll() is None:
        if wanted is not None and len(list(records(project))) >= wanted:
            time.sleep(random.random())
            process.send_signal(signal.SIGKILL)
            break
        time.sleep(0.5)
    process.wait()
    watch.stop()
    thread.join()
    if wanted is None and process.returncode != 0:
        raise SystemExit(f"the workflow ended with status {process.returncode}")
    return watch


if __name__ == "__main__":
    if shutil.which("git") is None:
        raise SystemExit("git is needed")
    raise SystemExit(main())
