"""Short points on a Slurm of three nodes started here: makespan, jobs, processor time, kills.

    python benchmarks/bench_slurm.py --points 1000 --seconds 1
    python benchmarks/bench_slurm.py --points 10000 --seconds 0 --kills 10

Needs root, Debian's slurm-wlm and munge, and this checkout's environment (``make .venv/.dev``). The stand-in
for gem5 sleeps for ``--seconds`` and copies a run. Kills are SIGKILL of a job or the login process in turn;
the workflow is started again until its table is made or ``--minutes`` are over. Processor time is that of the
whole tree: Slurm's daemons, jobs with Snakemake, Snakemake on the login node, the table.
"""

from __future__ import annotations

import ctypes
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import bench_load
import pandas as pd
from bench_load import expected, follow, kept_all, make_project, proven
from gem5_project import SNAKEMAKE, Gem5Project
from measuring import ROOT, parser
from slurm_cluster import Cluster
from standins import repositories

TABLE = "results/many/softmax_fwd.csv"
PROFILE = ["--workflow-profile", "profiles/slurm", "--slurm-status-command", "squeue", "--latency-wait", "5"]
PROFILE += ["--slurm-init-seconds-before-status-checks", "2", "--seconds-between-status-checks", "2"]


def main() -> int:
    command = parser(__doc__, points=1000, seconds=1.0, kills=0, minutes=600.0, seed=1)
    command.add_argument("--batch", default="3m", help="length of a job (configs/site.yaml)")
    given = command.parse_args()
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
    """Wait for a child and its orphans: their time counts, and Slurm drains a node with a zombie."""
    ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER
    code = 1
    with suppress(ChildProcessError):
        while True:
            pid, status = os.wait()
            if pid == child:
                code = os.waitstatus_to_exitcode(status)
    return code


def measure(project: Gem5Project, kills: int, chance: random.Random, end: float) -> int:
    started = time.monotonic()
    cluster = Cluster(Path(tempfile.mkdtemp(dir="/var/tmp", prefix="slurm-")))
    try:
        cluster.start()
        count = expected(project, "many")
        left = sorted(chance.sample(range(1, count), min(kills, count - 1)))
        load = Load(project, cluster, left, end)
        load.run()
        jobs = cluster.jobs()
    finally:
        cluster.stop()
    seconds = time.monotonic() - started
    file = project.root / TABLE
    rows = int((pd.read_csv(file)["status"] == "completed").sum()) if file.exists() else 0
    print(f"points                    {count}")
    print(f"makespan                  {seconds:.0f} s, {load.starts} starts of the workflow")
    print(f"killed                    {load.killed_jobs} jobs, {load.killed_logins} times the login process")
    print(f"jobs submitted            {len(jobs)}")
    print(f"table                     {rows} rows completed")
    return 0 if kept_all(project, load.lost, count) and rows == count else 1


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
                follow(process, self.project, partial(self._look, process))
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

    def _look(self, process: subprocess.Popen[bytes], count: int) -> str:
        """Kill as planned: the login process, or a job as soon as one runs."""
        if self.kill_at and count >= self.kill_at[0] and time.monotonic() < self.end:
            if self.killed_jobs > self.killed_logins:
                process.send_signal(signal.SIGKILL)
                process.wait()
                self.killed_logins += 1
                del self.kill_at[0]
            elif running := self.cluster.running():
                self.cluster.run("scancel", "--full", "--signal=KILL", str(running[0]))
                self.killed_jobs += 1
                del self.kill_at[0]
        return f"{self.killed_jobs + self.killed_logins} kills"


def processor() -> float:
    """Seconds of processor time of this process and its finished children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)]
    return sum(each.ru_utime + each.ru_stime for each in used)


if __name__ == "__main__":
    if os.getuid() != 0 or not (ROOT / "tests").is_dir():
        raise SystemExit("needs root and a checkout")
    raise SystemExit(main())
