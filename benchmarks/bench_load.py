"""Many points through the whole gem5 path, with an instant stand-in for gem5 and kills.

    python benchmarks/bench_load.py --points 1000 --kills 10

The stand-in copies a run of the tests' stand-in, so only apuflow and Snakemake take time. All points have the
statistics of one compute unit (1.2 MB each). It measures cost per run, memory, open files, and times of
planning and of a rerun without changes. It checks that a run proven before a kill stays the same file, and
that each point has exactly one proven try. Standard error gets a line of progress per minute.
"""

from __future__ import annotations

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
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from measuring import ROOT, parser

sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/integration")]

import gem5_project  # noqa: E402
import pandas as pd  # noqa: E402
from conftest import copy_project  # noqa: E402
from gem5_project import SNAKEMAKE, Gem5Project  # noqa: E402
from standins import repositories  # noqa: E402

import apuflow  # noqa: E402

SWEEP = "load"
TABLE = f"results/{SWEEP}/softmax_fwd.csv"
UNITS = (4, 8, 16, 32, 64)
LATENCIES = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100)


@dataclass
class Watch:
    """Memory and open files of a process, highest and current, and its processor time."""

    pid: int
    memory: int = 0
    files: int = 0
    now: int = 0
    processor: float = 0.0

    def look(self) -> None:
        place = Path(f"/proc/{self.pid}")
        with contextlib.suppress(OSError, IndexError):
            self.now = int((place / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            self.memory = max(self.memory, self.now)
            times = (place / "stat").read_text().rpartition(")")[2].split()
            self.processor = (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")
            self.files = max(self.files, len(list((place / "fd").iterdir())))


def main() -> int:
    command = parser(__doc__, points=1000, kills=10, cores=os.cpu_count() or 1, seed=1)
    command.add_argument("--minutes", type=float, help="stop in an orderly way after this, and report")
    given = command.parse_args()
    end = time.monotonic() + 60 * given.minutes if given.minutes else math.inf
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="apuflow-load-") as directory:
        project = make_project(Path(directory), given.points)
        return measure(project, given.kills, given.cores, random.Random(given.seed), end)


def make_project(directory: Path, points: int) -> Gem5Project:
    """A project with its toolchain and a sweep of this many points; processes import its copy of the code."""
    if not Path(apuflow.__file__).is_relative_to(ROOT):
        raise SystemExit(
            f"this environment has apuflow from {Path(apuflow.__file__).parent}, not from {ROOT}\n"
            f"  fix:  cd {ROOT}; make .venv/.dev; .venv/bin/python benchmarks/..."
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
    count = expected(project, SWEEP)
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
    each = f"{seconds / done:.2f} s ({cores} cores; {seconds:.0f} s, {killed} kills)"
    print(f"time per run              {each}")
    print(f"memory of the workflow    {max(watch.memory for watch in watches) / 2**20:.0f} MiB")
    print(f"open files of it          {max(watch.files for watch in watches)}")
    whole = kept_all(project, lost, count)
    if (project.root / TABLE).exists():
        frame = pd.read_csv(project.root / TABLE)
        rows = int((frame["status"] == "completed").sum())
        print(f"rows completed            {rows} of {count}")
        print(f"rerun without changes     {timed(project, '--', TABLE):.1f} s")
        whole = whole and rows == len(frame) == count
    return 0 if whole else 1


def kept_all(project: Gem5Project, lost: int, count: int) -> bool:
    """Print how many runs are proven; whether none was lost or made twice."""
    tries = [len(list(path.parent.glob("attempts/*/proven.json"))) for path in records(project)]
    print(f"runs proven               {len(tries)} of {count}")
    print(f"finished runs lost        {lost}")
    print(f"runs proven twice         {sum(each != 1 for each in tries)}")
    return lost == 0 and set(tries) == {1}


def expected(project: Gem5Project, sweep: str) -> int:
    """Points of a sweep."""
    points = f"Campaign().points('{sweep}', 'softmax_fwd')"
    code = f"from apuflow.plan.campaign import Campaign; print(len({points}))"
    return int(subprocess.check_output([sys.executable, "-c", code], cwd=project.root))


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
    files = {path.with_name("stats.txt"): json.loads(path.read_text()) for path in records(project)}
    return {file: (file.stat().st_mtime_ns, int(record["attempt"])) for file, record in files.items()}


def run_until(project: Gem5Project, cores: int, wanted: int | None, end: float) -> Watch:
    """Start the workflow; kill it at this many records (None: let it end). After the time no job starts."""
    process = subprocess.Popen(
        [str(SNAKEMAKE), "--cores", str(cores), "-q", "all", "--", TABLE],
        cwd=project.root,
        env=repositories.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    watch = Watch(process.pid)

    def look(count: int) -> str:
        watch.look()
        if wanted is not None and count >= wanted:
            time.sleep(random.random())
            process.send_signal(signal.SIGKILL)
            process.wait()
        elif time.monotonic() >= end:
            process.send_signal(signal.SIGTERM)
            process.wait()
        return f"{watch.now / 2**20:.0f} MiB, {watch.files} files, {watch.processor:.0f} s of processor"

    follow(process, project, look)
    if wanted is None and time.monotonic() < end and process.returncode != 0:
        raise SystemExit(f"the workflow ended with status {process.returncode}")
    return watch


def follow(process: subprocess.Popen[bytes], project: Gem5Project, look: Callable[[int], str]) -> None:
    """Call ``look`` with the number of runs until the workflow ends; tell what it says once a minute."""
    told = time.monotonic()
    while process.poll() is None:
        count = sum(1 for _ in records(project))
        said = look(count)
        if time.monotonic() >= told + 60:
            told = time.monotonic()
            print(f"{time.strftime('%H:%M:%S')} {count} runs, {said}", file=sys.stderr, flush=True)
        time.sleep(0.5 + count / 1000)


if __name__ == "__main__":
    if shutil.which("git") is None:
        raise SystemExit("git is needed")
    raise SystemExit(main())
