"""Many points through the whole gem5 path, with an instant stand-in for gem5 and kills.

    python benchmarks/bench_load.py --points 1000 --kills 10

The stand-in copies a run of the tests' stand-in, so only apuflow and Snakemake take time. All points have the
statistics of one compute unit (1.2 MB each). It measures cost per run, memory, open files, and times of
planning and of a rerun without changes. It checks that a run proven before a kill stays the same file, and
that each point has exactly one proven try. Standard error gets a line of progress per minute.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import math
import os
import random
import shlex
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

import apuflow  # noqa: E402

DEVELOPMENT = Path(".venv/.dev")
SWEEP = "load"
TABLE = f"results/{SWEEP}/softmax_fwd.csv"
UNITS = (4, 8, 16, 32, 64)
LATENCIES = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100)


@dataclass
class Watch:
    """Memory and open files of the workflow's process, highest and current, and its processor time."""

    pid: int
    memory: int = 0
    files: int = 0
    now: int = 0
    processor: float = 0.0
    _stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        page, tick = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")
        while not self._stop.wait(0.5):
            with contextlib.suppress(OSError, IndexError):
                self.now = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * page
                self.memory = max(self.memory, self.now)
                times = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
                self.processor = (int(times[11]) + int(times[12])) / tick
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
    parser.add_argument("--minutes", type=float, help="stop in an orderly way after this, and report")
    given = parser.parse_args()
    end = time.monotonic() + 60 * given.minutes if given.minutes else math.inf
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="apuflow-load-") as directory:
        project = make_project(Path(directory), given.points)
        return measure(project, given.kills, given.cores, random.Random(given.seed), end)


def make_project(directory: Path, points: int) -> Gem5Project:
    """A project with its toolchain and a sweep of this many points.

    Processes import the project's copy of the code, so that changes of the checkout do not affect the
    measurement.
    """
    if not Path(apuflow.__file__).is_relative_to(ROOT):
        raise SystemExit(
            f"this environment has apuflow from {Path(apuflow.__file__).parent}, not from {ROOT}\n"
            f"  fix:  cd {ROOT}; make {DEVELOPMENT}; {DEVELOPMENT.parent}/bin/python benchmarks/..."
        )
    copy = copy_project(directory)
    os.environ["PYTHONPATH"] = f"{copy / 'workflow'}:{copy / 'analysis'}"
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # like a user's project, which keeps bytecode
    project = gem5_project.make(copy, directory, {"container": "host"})
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
    make_instant(project, directory / "recorded")
    return project


INSTANT = """#!/bin/sh
while [ "$1" != -d ]; do shift; done
mkdir -p "$2/fs/proc"
exec cp {recorded}/* "$2"
"""


def make_instant(project: Gem5Project, recorded: Path) -> None:
    """Replace gem5 by a program that copies its first run."""
    [run] = project.records()
    recorded.mkdir()
    for name in ("simout", "simerr", "config.ini"):
        shutil.copy(run.parent / "attempts/1/m5out" / name, recorded)
    shutil.copy(run.with_name("stats.txt"), recorded)
    project.binary.write_text(INSTANT.format(recorded=shlex.quote(str(recorded))))
    [record] = (project.root / "build/toolchain").glob("*/gem5-*.json")
    content = json.loads(record.read_text())
    content["sha256"] = hashlib.sha256(project.binary.read_bytes()).hexdigest()
    record.write_text(json.dumps(content))


def measure(project: Gem5Project, kills: int, cores: int, chance: random.Random, end: float) -> int:
    count = expected(project)
    planned = timed(project, "-n", "-q", "all", "--", TABLE)
    print(f"points                    {count}")
    print(f"snakemake -n              {planned:.1f} s", flush=True)
    started, watches, lost = time.monotonic(), [], 0
    reach = count if end == math.inf else count * 3 // 4
    thresholds = sorted(chance.sample(range(1, reach), min(kills, reach - 1)))
    killed = 0
    for threshold in [*thresholds, None]:
        before = proven(project)
        watches.append(run_until(project, cores, threshold, end))
        after = proven(project)
        lost += sum(after.get(path) != mark for path, mark in before.items())
        if time.monotonic() >= end:
            break
        killed += threshold is not None
    seconds, done = time.monotonic() - started, len(after)
    tries = [len(list(path.parent.glob("attempts/*/proven.json"))) for path in records(project)]
    print(
        f"time per run              {seconds / done:.2f} s ({cores} cores; {seconds:.0f} s, {killed} kills)"
    )
    print(f"memory of the workflow    {max(watch.memory for watch in watches) / 2**20:.0f} MiB")
    print(f"open files of it          {max(watch.files for watch in watches)}")
    print(f"runs proven               {done} of {count}")
    print(f"finished runs lost        {lost}")
    print(f"runs proven twice         {sum(each != 1 for each in tries)}")
    whole = lost == 0 and set(tries) == {1}
    if (project.root / TABLE).exists():
        frame = pd.read_csv(project.root / TABLE)
        rows = int((frame["status"] == "completed").sum())
        print(f"rows completed            {rows} of {count}")
        print(f"rerun without changes     {timed(project, '--', TABLE):.1f} s")
        whole = whole and rows == len(frame) == count
    return 0 if whole else 1


def expected(project: Gem5Project) -> int:
    """Points of the sweep."""
    code = (
        "from apuflow.campaign.campaign import Campaign;"
        f"print(len(Campaign().points('{SWEEP}', 'softmax_fwd')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project.root, capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def records(project: Gem5Project) -> Iterator[Path]:
    """Records of the sweep's points, without the first sweep's point."""
    return (path for path in project.records() if not path.parent.name.startswith("u1-"))


def timed(project: Gem5Project, *arguments: str) -> float:
    start = time.monotonic()
    done = project.run(*arguments)
    if done.returncode != 0:
        raise SystemExit(done.stdout[-3000:] + done.stderr[-3000:])
    return time.monotonic() - start


def proven(project: Gem5Project) -> dict[Path, tuple[int, int]]:
    """Statistics of finished runs, with values that reveal a repeated run."""
    found = {}
    for path in records(project):
        statistics = path.with_name("stats.txt")
        record = json.loads(path.read_text())
        found[statistics] = (statistics.stat().st_mtime_ns, int(record["attempt"]))
    return found


def run_until(project: Gem5Project, cores: int, wanted: int | None, end: float) -> Watch:
    """Start the workflow; kill it at this many records (None: let it end).

    After the time it starts no new jobs.
    """
    process = subprocess.Popen(
        [str(SNAKEMAKE), "--cores", str(cores), "-q", "all", "--", TABLE],
        cwd=project.root,
        env=repositories.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    watch = Watch(process.pid)
    thread = threading.Thread(target=watch.run, daemon=True)
    thread.start()
    told = next_look = 0.0
    asked = False
    while process.poll() is None:
        time.sleep(0.5)
        if time.monotonic() < next_look:
            continue
        count = len(list(records(project)))
        next_look = time.monotonic() + 0.5 + count / 1000
        if time.monotonic() >= told + 60:
            told = time.monotonic()
            print(
                f"{time.strftime('%H:%M:%S')} {count} runs, {watch.now / 2**20:.0f} MiB, "
                f"{watch.files} files, {watch.processor:.0f} s of processor",
                file=sys.stderr,
                flush=True,
            )
        if wanted is not None and count >= wanted:
            time.sleep(random.random())
            process.send_signal(signal.SIGKILL)
            break
        if time.monotonic() >= end and not asked:
            asked = True
            process.send_signal(signal.SIGTERM)
    process.wait()
    watch.stop()
    thread.join()
    if wanted is None and not asked and process.returncode != 0:
        raise SystemExit(f"the workflow ended with status {process.returncode}")
    return watch


if __name__ == "__main__":
    if shutil.which("git") is None:
        raise SystemExit("git is needed")
    raise SystemExit(main())
