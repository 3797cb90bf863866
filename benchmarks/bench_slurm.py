"""Points of a second on a Slurm of three nodes that is started here: makespan, jobs, processor time, kills.

    python benchmarks/bench_slurm.py --points 1000 --seconds 1
    python benchmarks/bench_slurm.py --points 10000 --seconds 0 --kills 10

Needs root and Debian's slurm-wlm and munge. The stand-in for gem5 repeats what one run left, after so many
seconds of sleep, so that the processor time is ours, Snakemake's and Slurm's. A kill is SIGKILL of a job or
of the login process in turn; after each the workflow is started again as a user does it. All processor time
of the whole tree is counted: Slurm's daemons, the jobs, Snakemake twice in each job and once on the login
node, the table.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import bench_load
from bench_load import ROOT, make_project, proven, records
from gem5_project import SNAKEMAKE, Gem5Project
from slurm_cluster import Cluster
from standins import repositories

TABLE = "results/many/softmax_fwd.csv"
PROFILE = ["--workflow-profile", "profiles/slurm", "--slurm-status-command", "squeue", "--latency-wait", "5"]
PROFILE += ["--slurm-init-seconds-before-status-checks", "2", "--seconds-between-status-checks", "2"]
_PR_SET_CHILD_SUBREAPER = 36


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=1.0, help="that a run sleeps")
    parser.add_argument("--batch", default="3m", help="length of a job (configs/site.yaml)")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=600.0, help="no kill and no restart after this")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)  # so that the jobs' processor time is counted here
    bench_load.INSTANT = bench_load.INSTANT.replace("exec cp", f"sleep {given.seconds}\nexec cp")
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="apuflow-slurm-") as directory:
        project = make_project(Path(directory), 1)
        first = given.points if given.points <= 1000 else 1000
        axes = {
            "num-compute-units": [4],
            "gpu-clock": [f"{500 + number}MHz" for number in range(first)],
            "mem-req-latency": [10 + number for number in range(-(-given.points // first))],
        }
        project.sweep("many", axes=axes)
        site = project.root / "configs/site.yaml"
        site.write_text(f"{site.read_text()}batch: {given.batch}\n")
        return measure(project, given.kills, random.Random(given.seed), time.monotonic() + 60 * given.minutes)


@contextmanager
def slurm() -> Iterator[Cluster]:
    cluster = Cluster(Path(tempfile.mkdtemp(dir="/var/tmp", prefix="slurm-")))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def measure(project: Gem5Project, kills: int, chance: random.Random, end: float) -> int:
    before, started, lost, killed = processor(), time.monotonic(), 0, 0
    with slurm() as cluster:
        count = points(project)
        thresholds = sorted(chance.sample(range(1, count), min(kills, count - 1)))
        for number, threshold in enumerate([*thresholds, None]):
            kept = proven(project)
            run_until(project, cluster, threshold, killed_is_job=number % 2 == 0, end=end)
            now = proven(project)
            lost += sum(now.get(path) != mark for path, mark in kept.items())
            killed += threshold is not None
        jobs = cluster.jobs()
    seconds = time.monotonic() - started
    reap()
    tries = [len(list(path.parent.glob("attempts/*/proven.json"))) for path in records(project)]
    print(f"points                    {count}")
    print(f"makespan                  {seconds:.0f} s, {killed} kills")
    print(f"jobs submitted            {len(jobs)}")
    print(f"processor time per point  {(processor() - before) / max(1, len(tries)):.2f} s, of everything")
    print(f"runs proven               {len(tries)} of {count}")
    print(f"finished runs lost        {lost}")
    print(f"runs proven twice         {sum(each != 1 for each in tries)}")
    print(f"table                     {'made' if (project.root / TABLE).exists() else 'not made'}")
    return 0 if lost == 0 and set(tries) == {1} else 1


def points(project: Gem5Project) -> int:
    code = (
        "from apuflow.campaign.campaign import Campaign; print(len(Campaign().points('many', 'softmax_fwd')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project.root, capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def run_until(
    project: Gem5Project, cluster: Cluster, threshold: int | None, *, killed_is_job: bool, end: float
) -> None:
    """Start the workflow; with this many records, kill a job or the login process (None: neither)."""
    standins = repositories.environment()
    environment = {
        **standins,
        **cluster.environment,
        "PATH": f"{cluster.place}/bin:{standins['PATH']}:/usr/sbin",
    }

    def snakemake(*arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [str(SNAKEMAKE), *PROFILE, "--cores", "2", "-q", "all", *arguments],
            cwd=project.root, env=environment, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    process = snakemake("--", TABLE)
    try:
        follow(project, cluster, process, threshold, killed_is_job=killed_is_job, end=end)
    finally:
        process.kill()
        process.wait()
    snakemake("--unlock").wait()


def follow(
    project: Gem5Project,
    cluster: Cluster,
    process: subprocess.Popen[bytes],
    threshold: int | None,
    *,
    killed_is_job: bool,
    end: float,
) -> None:
    """Wait for the workflow's end, and do what run_until says on the way."""
    told = time.monotonic()
    while process.poll() is None:
        time.sleep(2)
        count = sum(1 for _ in records(project))
        if time.monotonic() - told > 60:
            told = time.monotonic()
            print(f"{time.strftime('%H:%M:%S')} {count} runs", file=sys.stderr, flush=True)
        if threshold is not None and count >= threshold and time.monotonic() < end:
            living = [number for number, job in cluster.jobs().items() if job["JobState"] == "RUNNING"]
            if killed_is_job and living:
                cluster.run("scancel", "--full", "--signal=KILL", str(living[0]))
                threshold = None
            else:
                process.send_signal(signal.SIGKILL)


def processor() -> float:
    """Seconds of processor time of all processes that have ended and been waited for, and of this one."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def reap() -> None:
    """Wait for what fell to this process when its parent ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, 0)[0]:
            pass


if __name__ == "__main__":
    if os.getuid() != 0 or not (ROOT / "tests").is_dir():
        raise SystemExit("needs root and a checkout")
    raise SystemExit(main())
