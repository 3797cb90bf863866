"""Executors whose jobs share no file system with the workflow, and those that need a command alone."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gem5_project
import pandas as pd
import pytest
import yaml
from gem5_project import SNAKEMAKE, Gem5Project
from places import ROOT
from slurm_cluster import until
from standins import repositories

from apuflow.run.status import RunState, runs
from apuflow.study.score import recorded

SCHEDULER = [sys.executable, str(ROOT / "tests/standins/cluster.py")]
BINARY = "build/GCN3_X86/gem5.opt"


class Machines:
    """A project and a stand-in scheduler for its jobs."""

    def __init__(self, project: Gem5Project, place: Path) -> None:
        self.project, self.jobs, self.store = project, place / "jobs", place / "store"
        self.binary = place / "gem5" / BINARY

    def command(self, submit: str, *targets: str) -> list[str]:
        """``submit``: jobs share the project's directory; ``elsewhere``: they find nothing of it."""
        given = [str(SNAKEMAKE), "--executor", "cluster-generic", "--jobs", "4"]
        given += ["--seconds-between-status-checks", "1"]
        for what, option in ((submit, "submit"), ("status", "status")):
            given += [f"--cluster-generic-{option}-cmd", shlex.join([*SCHEDULER, what, str(self.jobs)])]
        if submit == "elsewhere":
            given += ["--shared-fs-usage", "none", "--job-deploy-sources"]
            given += ["--default-storage-provider", "fs", "--default-storage-prefix", str(self.store)]
        return [*given, *targets]

    def run(self, submit: str, *targets: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(submit, *targets),
            cwd=self.project.root,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=600,
        )

    @property
    def environment(self) -> dict[str, str]:
        """Jobs call ``python``, as in an image of theirs."""
        standins = repositories.environment()
        return {**standins, "PATH": f"{SNAKEMAKE.parent}:{standins['PATH']}"}

    def said(self) -> str:
        """What the jobs printed, for messages."""
        return "\n".join(log.read_text()[-3000:] for log in self.jobs.glob("*/log"))


@pytest.fixture(scope="module")
def machines(new_project: Callable[[Path], Path]) -> Iterator[Machines]:
    """The site's own gem5 and DNNMark lie outside of the project, as in an image."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="apuflow-test-") as directory:
        place = Path(directory)
        project = gem5_project.make(new_project(place), place, {"container": "host", "batch": "0s"})
        subprocess.run(
            ["scons", BINARY],
            cwd=place / "gem5",
            env=repositories.environment(),
            check=True,
            capture_output=True,
        )
        site = project.root / "configs/site.yaml"
        own = {"binary": str(place / "gem5" / BINARY), "source": str(place / "gem5")}
        site.write_text(yaml.safe_dump({**yaml.safe_load(site.read_text()), "gem5": own}))
        yield Machines(project, place)


def table(machines: Machines, sweep: str) -> pd.DataFrame:
    return pd.read_csv(machines.project.root / f"results/{sweep}/softmax_fwd.csv")


def test_a_table_of_the_quickstart_sweep_goes_through_storage(machines: Machines) -> None:
    """It is in the project and in storage; what is in storage is not made again."""
    target = "results/quickstart/softmax_fwd.csv"
    done = machines.run("elsewhere", target)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (machines.project.root / target).read_bytes() == (machines.store / target).read_bytes()
    assert not (machines.store / "configs").exists()
    (machines.project.root / target).unlink()
    again = machines.run("elsewhere", target)
    assert again.returncode == 0 and "to do" not in again.stdout + again.stderr


def test_runs_on_machines_without_the_project_come_back_whole(machines: Machines) -> None:
    """Record, statistics and tries; of the one that failed, its tries and what gem5 said."""
    machines.project.sweep("apart", axes={"num-compute-units": [4, 16]})
    repositories.behave(machines.binary, {"--num-compute-units=16 ": "panic"})
    failed = machines.run("elsewhere", "results/apart/softmax_fwd.csv")
    assert failed.returncode != 0
    found = {run.point.partition("-")[0]: run for run in runs(machines.project.root)}
    assert found["v23.0_u16"].state is RunState.FAILED, failed.stderr + machines.said()
    assert "panic: fault" in found["v23.0_u16"].detail
    assert "panic" in (found["v23.0_u16"].log / "m5out/simerr").read_text()
    stored = {path.parent.name.partition("-")[0] for path in (machines.store / "runs/gem5").rglob("run.json")}
    assert stored == {"v23.0_u4"}

    repositories.behave(machines.binary, {})
    done = machines.run("elsewhere", "results/apart/softmax_fwd.csv")
    assert done.returncode == 0, done.stderr + machines.said()
    known = pd.read_csv(recorded()[0]).set_index("id")
    for _, row in table(machines, "apart").iterrows():
        expected = known.loc[f"softmax_fwd-100x1000x1x1-u{row['num_compute_units']}"]
        for column in ("gpu_active_ticks", "instructions", "wavefronts"):
            assert row[column] == expected[column]
    for record in machines.project.records():
        assert (record.parent / json.loads(record.read_text())["statistics"]).is_file()
        assert (record.parent / "attempts/1/command.sh").is_file()


def test_a_run_that_ends_after_its_workflow_was_killed_is_kept(machines: Machines) -> None:
    """Snakemake calls its outputs incomplete, and would remove them and run it once more."""
    machines.project.sweep("killed", axes={"num-compute-units": [8]})
    repositories.behave(machines.binary, {"--num-compute-units=8 ": "held"})
    first = subprocess.Popen(
        machines.command("elsewhere", "results/killed/softmax_fwd.csv"),
        cwd=machines.project.root,
        env=machines.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        running = "*/machine/runs/gem5/softmax_fwd/*_u8-*/progress.json"
        until("the run goes on", lambda: any(machines.jobs.glob(running)))
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
    repositories.behave(machines.binary, {})
    until("it is stored", lambda: any((machines.store / "runs").rglob("*_u8-*/run.json")))
    [record] = (machines.store / "runs").rglob("*_u8-*/run.json")
    before = record.stat().st_mtime_ns
    assert machines.run("elsewhere", "--unlock").returncode == 0
    done = machines.run("elsewhere", "results/killed/softmax_fwd.csv")
    assert done.returncode == 0, done.stderr + machines.said()
    assert record.stat().st_mtime_ns == before
    assert table(machines, "killed")["status"].tolist() == ["completed"]


def test_a_command_to_submit_with_makes_a_scheduler(machines: Machines) -> None:
    """Where machines share the project's directory: no profile of ours and no code knows this scheduler."""
    machines.project.sweep("shared", axes={"num-compute-units": [1, 64]})
    jobs = len(list(machines.jobs.glob("*"))) if machines.jobs.exists() else 0
    done = machines.run("submit", "results/shared/softmax_fwd.csv")
    assert done.returncode == 0, done.stderr + machines.said()
    assert len(list(machines.jobs.glob("*"))) >= jobs + 2
    assert table(machines, "shared")["status"].tolist() == ["completed"] * 2


def test_builds_of_this_machine_are_refused_where_jobs_cannot_see_them(machines: Machines) -> None:
    site = machines.project.root / "configs/site.yaml"
    before = site.read_text()
    content: dict[str, Any] = yaml.safe_load(before)
    machines.project.sweep("built", axes={"num-compute-units": [2]})
    site.write_text(yaml.safe_dump({key: value for key, value in content.items() if key != "gem5"}))
    try:
        done = machines.run("elsewhere", "results/built/softmax_fwd.csv")
    finally:
        site.write_text(before)
    assert done.returncode == 2
    assert "gem5.binary" in done.stderr and "configs/site.yaml" in done.stderr
