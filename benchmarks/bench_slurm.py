"""Short points on a Slurm of three nodes started here: makespan, jobs, processor time, kills.

    python benchmarks/bench_slurm.py --points 1000 --seconds 1
    python benchmarks/bench_slurm.py --points 10000 --seconds 0 --kills 10

Needs root, Debian's slurm-wlm and munge, and this checkout's environment (``make .venv/.dev``). The stand-in
for gem5 sleeps and copies a run. Kills are SIGKILL of a job or of the login process in turn; the workflow is
started again until its table is made. Processor time is that of the whole tree: Slurm's daemons, jobs with
Snakemake, Snakemake on the login node, the table.
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
from dataclasses import dataclass
from pathlib import Path

import bench_load
import pandas as pd
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
        before, measuring = processor(), os.fork()
        if measuring == 0:
            end = time.monotonic() + 60 * given.minutes
            code = measure(project, given.kills, random.Random(given.seed), end)
            sys.stdout.flush()
            os._exit(code)
        code = adopt(measuring)
        print(f"processor time per point  {(processor() - before) / given.points:.2f} s, of everything")
        return code


def adopt(child: int) -> int:
    """Wait for a child and its orphans, so that their processor time counts and no zombie stays.

    Slurm's proctrack/pgid drains a node with a zombie.
    """
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    code = 1
    with suppress(ChildProcessError):
        while True:
            pid, status = os.wait()
            if pid == child:
                code = os.waitstatus_to_exitcode(status)
    return code


@contextmanager
def slurm() -> Iterator[Cluster]:
    cluster = Cluster(Path(tempfile.mkdtemp(dir="/var/tmp", prefix="slurm-")))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def measure(project: Gem5Project, kills: int, chance: random.Random, end: float) -> int:
    started = time.monotonic()
    with slurm() as cluster:
        count = points(project)
        left = sorted(chance.sample(range(1, count), min(kills, count - 1)))
        load = Load(project, cluster, left, end)
        load.run()
        jobs = cluster.jobs()
    seconds = time.monotonic() - started
    tries = [len(list(path.parent.glob("attempts/*/proven.json"))) for path in records(project)]
    print(f"points                    {count}")
    print(f"makespan                  {seconds:.0f} s, {load.starts} starts of the workflow")
    print(f"killed                    {load.killed_jobs} jobs, {load.killed_logins} times the login process")
    print(f"jobs submitted            {len(jobs)}")
    print(f"runs proven               {len(tries)} of {count}")
    print(f"finished runs lost        {load.lost}")
    print(f"runs proven twice         {sum(each != 1 for each in tries)}")
    print(f"table                     {rows_completed(project)} rows completed")
    whole = load.lost == 0 and set(tries) == {1} and rows_completed(project) == len(tries) == count
    return 0 if whole else 1


def rows_completed(project: Gem5Project) -> int:
    """Completed rows of the table; 0 without one."""
    file = project.root / TABLE
    return int((pd.read_csv(file)["status"] == "completed").sum()) if file.exists() else 0


def points(project: Gem5Project) -> int:
    code = (
        "from apuflow.campaign.campaign import Campaign; print(len(Campaign().points('many', 'softmax_fwd')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project.root, capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@dataclass
class Load:
    """The workflow, started repeatedly until its table is made.

    Attributes:
        kill_at: numbers of records at which a running job or the login process is killed, in turn.
        end: no kill and no new start after this.
        lost: finished runs that changed after a kill.
    """

    project: Gem5Project
    cluster: Cluster
    kill_at: list[int]
    end: float
    starts: int = 0
    lost: int = 0
    killed_jobs: int = 0
    killed_logins: int = 0

    def run(self) -> None:
        kept: dict[Path, tuple[int, int]] = {}
        while not (self.project.root / TABLE).exists() and time.monotonic() < self.end:
            process = self._snakemake("--", TABLE)
            self.starts += 1
            try:
                self._follow(process)
            finally:
                process.kill()
                process.wait()
            now = proven(self.project)
            self.lost += sum(now.get(path) != mark for path, mark in kept.items())
            if len(now) == len(kept) and process.returncode != -signal.SIGKILL:
                said = self._log.read_text(errors="replace").splitlines()
                print("the workflow ended without a new run:", *said[-40:], sep="\n", file=sys.stderr)
                break
            kept = now
            self._snakemake("--unlock").wait()

    @property
    def _log(self) -> Path:
        """Snakemake's output on the login node, of all starts."""
        return self.project.root.with_name("workflow.log")

    def _snakemake(self, *arguments: str) -> subprocess.Popen[bytes]:
        standins = repositories.environment()
        path = f"{self.cluster.place}/bin:{standins['PATH']}:/usr/sbin"
        with self._log.open("ab") as log:
            return subprocess.Popen(
                [str(SNAKEMAKE), *PROFILE, "--cores", "2", "-q", "all", *arguments],
                cwd=self.project.root,
                env={**standins, **self.cluster.environment, "PATH": path},
                start_new_session=True,
                stdout=log,
                stderr=log,
            )

    def _follow(self, process: subprocess.Popen[bytes]) -> None:
        """Wait for the workflow's end and kill as planned."""
        told = time.monotonic()
        while process.poll() is None:
            count = sum(1 for _ in records(self.project))
            if time.monotonic() - told > 60:
                told = time.monotonic()
                print(f"{time.strftime('%H:%M:%S')} {count} runs", file=sys.stderr, flush=True)
            if self.kill_at and count >= self.kill_at[0] and time.monotonic() < self.end:
                self._kill(process)
            time.sleep(1 + count / 1000)

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        """Kill the login process, or a job as soon as one runs."""
        if self.killed_jobs > self.killed_logins:
            process.send_signal(signal.SIGKILL)
            process.wait()
            self.killed_logins += 1
        else:
            running = self.cluster.running()
            if not running:
                return
            self.cluster.run("scancel", "--full", "--signal=KILL", str(running[0]))
            self.killed_jobs += 1
        del self.kill_at[0]


def processor() -> float:
    """Seconds of processor time of this process and its finished children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)]
    return sum(each.ru_utime + each.ru_stime for each in used)


if __name__ == "__main__":
    if os.getuid() != 0 or not (ROOT / "tests").is_dir():
        raise SystemExit("needs root and a checkout")
    raise SystemExit(main())
