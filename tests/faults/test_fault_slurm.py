"""The whole path on a real Slurm, started here: batches, who ended a job, daemons and login process killed.

With APUFLOW_SLURM_EVENTS=FILE, what happened at each event is written there as a table
(docs/howto/cluster.md has it).
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import needs
import pandas as pd
import pytest
from gem5_project import SNAKEMAKE, Gem5Project
from places import ROOT
from slurm_cluster import Cluster, until
from standins import repositories

from apuflow.core.record import read_run
from apuflow.plan.schedule import OVERHEAD_SECONDS
from apuflow.run.status import Run, RunState, runs

BATCH = [sys.executable, str(ROOT / "tests/faults/slurm_batch.py")]
PATIENCE = 1800.0
PROFILE = ["--workflow-profile", "profiles/slurm", "--slurm-status-command", "squeue", "--latency-wait", "5"]
PROFILE += ["--slurm-init-seconds-before-status-checks", "1", "--seconds-between-status-checks", "1"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    needs.SLURM.required_program()
    if os.getuid() != 0:
        needs.SLURM.skip()
    # Short, because it holds a socket, whose path may have 107 letters.
    running = Cluster(Path(tempfile.mkdtemp(dir="/var/tmp", prefix="slurm-")))
    try:
        running.start()
        yield running
    finally:
        running.stop()


@pytest.fixture
def project(cluster: Cluster, made: Gem5Project) -> Iterator[Gem5Project]:
    """A project with one finished run; another of its sweeps has a mistake."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="apuflow-slurm-") as directory:
        copy = made.copy(Path(directory) / "project")
        (copy.root / "configs/sweeps/broken.yaml").write_text("engines: [")
        repositories.behave(copy.binary, {})
        yield copy


@pytest.fixture(scope="module")
def limited(cluster: Cluster, made: Gem5Project) -> Iterator[Event]:
    """A batch with three minutes to run, whose second point takes longer; it is looked at in the end."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="apuflow-slurm-") as directory:
        copy = made.copy(Path(directory) / "project")
        repositories.behave(copy.binary, {f"--gpu-clock={CLOCKS['time limit'] + 1}MHz ": "hang"})
        yield Event("time limit", copy, cluster)


def environment(cluster: Cluster) -> dict[str, str]:
    """Of the login process: the stand-ins, and Slurm's commands for this cluster."""
    standins = repositories.environment()
    path = f"{cluster.place}/bin:{standins['PATH']}:/usr/sbin:/sbin"
    return {**standins, **cluster.environment, "PATH": path}


def start(project: Gem5Project, cluster: Cluster, *arguments: str) -> subprocess.Popen[str]:
    """Snakemake on the login node."""
    return subprocess.Popen(
        [str(SNAKEMAKE), *PROFILE, "--cores", "2", *arguments],
        cwd=project.root,
        env=environment(cluster),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def snakemake(project: Gem5Project, cluster: Cluster, *arguments: str) -> tuple[int, str]:
    process = start(project, cluster, *arguments)
    try:
        said, _ = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    return process.returncode, said


def clocks(first: int, number: int) -> dict[str, list[str]]:
    """An axis of so many points that share all their inputs with the finished run."""
    return {"num-compute-units": [4], "gpu-clock": [f"{first + each}MHz" for each in range(number)]}  # type: ignore[list-item]


def site(project: Gem5Project, text: str) -> None:
    file = project.root / "configs/site.yaml"
    file.write_text(f"{file.read_text()}{text}\n")


def tries(project: Gem5Project, clock: str) -> list[str]:
    """The numbers of a point's tries."""
    return sorted(entry.name for entry in (run_dir(project, clock) / "attempts").iterdir())


def run_dir(project: Gem5Project, clock: str) -> Path:
    [directory] = (project.root / "runs/gem5/softmax_fwd").glob(f"*_u4_*{clock}*")
    return directory


def take_a_second(project: Gem5Project, other: str) -> None:
    """From now on gem5 leaves after a second what its finished run left; what has ``other`` is run."""
    [run] = project.records()
    recorded = project.root / "recorded"
    recorded.mkdir()
    for name in ("simout", "simerr", "config.ini"):
        shutil.copy(run.parent / "attempts/1/m5out" / name, recorded)
    shutil.copy(run.with_name("stats.txt"), recorded)
    standin = project.binary.rename(project.binary.with_name("standin"))
    project.binary.write_text(
        f'#!/bin/sh\ncase "$* " in *"{other}"*) exec {standin} "$@";; esac\n'
        f'while [ "$1" != -d ]; do shift; done\nmkdir -p "$2/fs/proc"\nsleep 1\nexec cp {recorded}/* "$2"\n'
    )
    project.binary.chmod(0o755)
    content = json.loads(project.gem5_record.read_text())
    content["sha256"] = hashlib.sha256(project.binary.read_bytes()).hexdigest()
    project.gem5_record.write_text(json.dumps(content))


@pytest.mark.usefixtures("limited")
def test_200_points_of_a_second_share_jobs_and_one_that_fails_costs_no_other(
    project: Gem5Project, cluster: Cluster
) -> None:
    """Although another sweep has a mistake. The one that failed has a job of its own in the next start."""
    project.sweep("many", axes=clocks(601, 200))
    [recorded] = [read_run(record).wall_seconds for record in project.records()]
    site(project, f"batch: {45 * (recorded + OVERHEAD_SECONDS):.3f}s")
    take_a_second(project, "--gpu-clock=650MHz ")
    repositories.behave(project.binary, {"--gpu-clock=650MHz ": "panic"})
    before = set(cluster.jobs())
    code, said = snakemake(project, cluster, "results/many/softmax_fwd.csv")
    assert code != 0, said
    jobs = set(cluster.jobs()) - before
    assert len(jobs) == 5, said
    assert not (project.root / "results/many/softmax_fwd.csv").exists()
    kept = {record: record.stat().st_mtime_ns for record in project.records()}
    assert len(kept) == 1 + 199, said
    assert all(not record.stat().st_mode & 0o222 for record in kept)

    repositories.behave(project.binary, {})
    code, said = snakemake(project, cluster, "results/many/softmax_fwd.csv")
    assert code == 0, said
    frame = pd.read_csv(project.root / "results/many/softmax_fwd.csv")
    assert frame["status"].tolist() == ["completed"] * 200
    assert kept == {record: record.stat().st_mtime_ns for record in kept}
    assert tries(project, "650MHz") == ["1", "2"]
    assert len(set(cluster.jobs()) - before - jobs) == 1
    assert not list((project.root / "build/batches").iterdir())


# who ended a job --------------------------------------------------------------------------------------------
EVENTS = ("time limit", "memory limit", "scancel", "preemption", "node failure")
CLOCKS = {event: 700 + 10 * number for number, event in enumerate(EVENTS)}
PLACES = {
    "time limit": ("--time=3", "--nodelist=node1"),
    "memory limit": ("--nodelist=node1",),
    "scancel": ("--nodelist=node1",),
    "preemption": ("--nodelist=node2", "--cpus-per-task=4"),
    "node failure": ("--nodelist=node3", "--cpus-per-task=4"),
}


CAUSES = {
    "time limit": "Slurm's time limit of 00:03:00 ended job {}",
    "memory limit": "killed at its memory limit of 314,572,800 bytes",
    "scancel": "job {} was cancelled (scancel)",
    "preemption": "Slurm preempted or requeued job {}: it will be started again",
    "node failure": "Slurm had taken job {} back (preemption, requeue or a node that failed)",
}


class Event:
    """A batch of three points on Slurm, of which the second goes on until something ends it."""

    def __init__(self, name: str, project: Gem5Project, cluster: Cluster) -> None:
        self.name, self.project, self.cluster = name, project, cluster
        first = CLOCKS[name]
        self.clocks = [f"{first + each}MHz" for each in range(3)]
        sweep = name.replace(" ", "_")
        project.sweep(sweep, axes=clocks(first, 3))
        done = subprocess.run(
            [*BATCH, "plan", sweep],
            cwd=project.root,
            env=environment(cluster),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        [self.batch] = done.stdout.split()
        self.job = self.submit(*PLACES[name])

    def submit(self, *options: str) -> str:
        """Run the batch in a job; its number."""
        command = " ".join(["srun", "-n1", *BATCH, "run", self.batch])
        output = f"{self.project.root}/{self.name.replace(' ', '-')}-%j.txt"
        given = [
            "--parsable",
            "--time=10",
            "--mem=1000",
            "--requeue",
            f"--output={output}",
            "--open-mode=append",
        ]
        done = subprocess.run(
            ["sbatch", *given, *options, f"--wrap={command}"],
            cwd=self.project.root,
            env=environment(self.cluster),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    @property
    def state(self) -> str:
        """What Slurm says of the job."""
        return self.cluster.jobs()[int(self.job)]["JobState"]

    def done(self) -> bool:
        """Whether the job has completed; a test does not wait for one that has ended otherwise."""
        state = self.state
        assert state not in ("FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY"), self.said()
        return state == "COMPLETED"

    def hangs(self) -> bool:
        """Whether the second point's gem5 simulates."""
        found = list((self.project.root / "runs/gem5/softmax_fwd").glob(f"*_u4_*{self.clocks[1]}*"))
        logs = [log for directory in found for log in directory.glob("attempts/1/m5out/simerr")]
        return any("event queue" in log.read_text() for log in logs)

    def records(self) -> list[bool]:
        """Which of the points have a record."""
        runs = self.project.root / "runs/gem5/softmax_fwd"
        return [any(runs.glob(f"*_u4_*{clock}*/run.json")) for clock in self.clocks]

    def said(self) -> str:
        """Everything about it, for messages."""
        logs = [file.read_text() for file in self.project.root.glob(f"{self.name.replace(' ', '-')}-*.txt")]
        return "\n".join([self.name, str(self.cluster.jobs().get(int(self.job))), *logs])

    def cause(self) -> str:
        """Who ended the second point's first try, as the project's own files and status say."""
        directory = run_dir(self.project, self.clocks[1])
        failure = directory / "attempts/1/failure.json"
        if failure.exists():
            return str(json.loads(failure.read_text())["evidence"])
        lost = directory / "attempts/1/lost.txt"
        if lost.exists():
            return lost.read_text().strip()
        return next((run.detail for run in runs(self.project.root) if run.point == directory.name), "")


def test_who_ended_a_job_is_named_and_only_the_point_it_was_in_is_lost(
    project: Gem5Project, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run's memory limit, scancel, preemption, a node without power: all at once.

    The run's own memory limit is below Slurm's, so it strikes first, and the batch goes on with its next
    point. (A Slurm without cgroups does not see the memory of gem5, which has a session of its own.)
    """
    site(project, "memory: 300MB")
    monkeypatch.setenv("SLURM_CONF", str(cluster.place / "slurm.conf"))
    seconds = {name: f"--gpu-clock={first + 1}MHz " for name, first in CLOCKS.items()}
    behaviours = {text: "oom" if name == "memory limit" else "hang" for name, text in seconds.items()}
    repositories.behave(project.binary, behaviours)
    events = [Event(name, project, cluster) for name in EVENTS if name != "time limit"]
    by_name = {event.name: event for event in events}

    def all_said() -> str:
        return "\n".join(event.said() for event in events) + cluster.logs()

    for event in events:
        until(f"{event.name}: its second point runs", event.hangs, PATIENCE, all_said)
    shown = {run.point: run for run in runs(project.root) if run.state is RunState.RUNNING}
    place = shown[run_dir(project, by_name["scancel"].clocks[1]).name].place
    assert place == f"job {by_name['scancel'].job} on node1"
    repositories.behave(project.binary, {})  # for who is started again

    cluster.run("scancel", by_name["scancel"].job)
    urgent = cluster.run(
        "sbatch", "--parsable", "--partition=urgent", "--nodelist=node2", "--cpus-per-task=4", "--mem=100",
        "--output=/dev/null", "--time=1", "--wrap=sleep 1",
    )  # fmt: skip
    assert urgent.returncode == 0, urgent.stderr
    cluster.kill_node("node3")
    ended = {"scancel": "CANCELLED", "memory limit": "FAILED"}
    for name, state in ended.items():
        until(f"{name}: {state}", lambda n=name, s=state: by_name[n].state == s, PATIENCE, all_said)  # type: ignore[misc]
        records = [True, False, name == "memory limit"]
        assert by_name[name].records() == records, by_name[name].said()
    causes = {name: by_name[name].cause() for name in ended}
    until("node3 is down", lambda: cluster.states()["node3"].startswith("down"), PATIENCE, all_said)
    cluster.start_node("node3")
    for name in ("preemption", "node failure"):  # Slurm starts these again by itself
        until(f"{name}: done", by_name[name].done, PATIENCE, all_said)
        causes[name] = by_name[name].cause()
    assert causes == {name: CAUSES[name].format(by_name[name].job) for name in by_name}, all_said()

    for name in ended:
        by_name[name].job = by_name[name].submit("--nodelist=node1")
    for event in events:
        until(f"{event.name}: done in the end", event.done, PATIENCE, all_said)
        assert event.records() == [True, True, True], event.said()
        assert [len(tries(project, clock)) for clock in event.clocks] == [1, 2, 1], event.said()


def test_slurms_time_limit_is_named_and_the_rest_is_done_by_the_next_job(
    limited: Event, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_CONF", str(cluster.place / "slurm.conf"))
    until("time limit", lambda: limited.state == "TIMEOUT", PATIENCE, limited.said)
    assert limited.records() == [True, False, False], limited.said()
    assert limited.cause() == CAUSES["time limit"].format(limited.job), limited.said()
    repositories.behave(limited.project.binary, {})
    limited.job = limited.submit("--nodelist=node1")
    until("done in the end", limited.done, PATIENCE, limited.said)
    assert [len(tries(limited.project, clock)) for clock in limited.clocks] == [1, 2, 1], limited.said()
    write_table()


def test_killed_daemons_and_a_killed_login_process_lose_and_repeat_nothing(
    project: Gem5Project, cluster: Cluster
) -> None:
    """The lock that stays is explained; after `--unlock` the rerun waits for the runs that still go on."""
    project.sweep("go_on", axes=clocks(801, 3))
    site(project, "batch: 0s")
    repositories.behave(project.binary, {"--cmd=": "held"})
    before = set(cluster.jobs())
    first = start(project, cluster, "results/go_on/softmax_fwd.csv")
    try:
        until("all three run", lambda: len(running(project)) == 3, PATIENCE, cluster.logs)
        assert {run.place.partition(" on ")[2] for run in running(project)} <= {"node1", "node2", "node3"}
    finally:
        first.kill()
        first.communicate()
    cluster.kill("slurmctld")
    cluster.kill("node1")
    cluster.start_controller()
    cluster.start_node("node1")

    code, said = snakemake(project, cluster, "results/go_on/softmax_fwd.csv")
    assert code != 0 and "\n    snakemake --unlock\n" in said, said
    code, said = snakemake(project, cluster, "--unlock")
    assert code == 0, said
    again = start(project, cluster, "results/go_on/softmax_fwd.csv")
    try:
        until("a job of the rerun waits", lambda: len(cluster.running()) > 3, PATIENCE, cluster.logs)
        repositories.behave(project.binary, {})
        said, _ = again.communicate(timeout=PATIENCE)
    finally:
        again.kill()
    assert again.returncode == 0, said
    frame = pd.read_csv(project.root / "results/go_on/softmax_fwd.csv")
    assert frame["status"].tolist() == ["completed"] * 3
    assert [tries(project, f"{801 + each}MHz") for each in range(3)] == [["1"]] * 3, said
    assert len(set(cluster.jobs()) - before) <= 6


def write_table() -> None:
    """What happened, where APUFLOW_SLURM_EVENTS says."""
    if target := os.environ.get("APUFLOW_SLURM_EVENTS"):
        lines = ["| event | what the try says | points lost | run twice |", "| --- | --- | --- | --- |"]
        for name, said in CAUSES.items():
            lines.append(f"| {name} | {said.format('N')} | the point it was in | none |")
        Path(target).write_text("\n".join(lines) + "\n")


def running(project: Gem5Project) -> list[Run]:
    return [run for run in runs(project.root) if run.state is RunState.RUNNING]
