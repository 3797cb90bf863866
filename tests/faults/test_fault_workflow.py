"""The whole workflow, killed: no row without a proven run, none lost or repeated, a rerun completes.

Every copy of the project stands in a directory whose name would break careless quoting.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
from pathlib import Path

import pandas as pd
from gem5_project import Gem5Project
from standins import repositories
from workflow_faults import TABLE, Workflow, completes, failure, no_row, processes, stamp


# killed -----------------------------------------------------------------------------------------------------
def test_a_workflow_killed_outright_leaves_no_process_and_no_lock_in_the_way(two: Gem5Project) -> None:
    before = stamp(two)
    repositories.behave(two.binary, {"num-compute-units=8 ": "hang"})
    workflow = Workflow(two, TABLE)
    workflow.until_running(8)
    workflow.process.kill()
    workflow.end()
    assert list((two.root / ".snakemake/locks").glob("*.lock"))
    no_row(two)
    repositories.behave(two.binary, {})
    said = completes(two, before)
    assert "removed the lock of a workflow that was killed" in said
    assert failure(two)["status"] == "interrupted"


def test_ctrl_c_ends_the_runs_and_names_the_cause(two: Gem5Project) -> None:
    before = stamp(two)
    repositories.behave(two.binary, {"num-compute-units=8 ": "hang"})
    workflow = Workflow(two, TABLE)
    workflow.until_running(8)
    os.killpg(workflow.process.pid, signal.SIGINT)
    code, _ = workflow.end()
    assert code != 0
    assert not list(processes(two))
    assert failure(two)["evidence"] == "stopped by a signal to the workflow"
    no_row(two)
    completes(two, before)


def test_sigterm_lets_running_simulations_finish_and_starts_nothing_new(two: Gem5Project) -> None:
    before = stamp(two)
    repositories.behave(two.binary, {"num-compute-units=8 ": "held"})
    workflow = Workflow(two, TABLE)
    workflow.until_running(8)
    workflow.process.terminate()
    repositories.behave(two.binary, {})
    code, _ = workflow.end()
    assert code != 0
    assert not (two.root / TABLE).exists()
    assert len(two.records()) == 2
    kept = {path: path.stat().st_mtime_ns for path in two.records()}
    completes(two, before)
    assert {path: path.stat().st_mtime_ns for path in two.records()} == kept


def test_a_job_killed_outright_takes_gem5_along_and_spares_the_others(two: Gem5Project) -> None:
    before = stamp(two)
    two.sweep("two", axes={"num-compute-units": [4, 8, 16]})
    repositories.behave(two.binary, {"num-compute-units=8 ": "hang", "num-compute-units=16 ": "slow 2"})
    workflow = Workflow(two, TABLE)
    gem5 = workflow.until_running(8)
    parent = int(Path(f"/proc/{gem5}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(parent, signal.SIGKILL)
    code, _ = workflow.end()
    assert code != 0
    assert not list(processes(two))
    assert not (two.root / TABLE).exists()
    assert len(two.records()) == 2
    completes(two, before, 4, 8, 16)


def test_a_workflow_rests_while_its_runs_go_on(two: Gem5Project) -> None:
    """It looks at the waiting jobs when one has ended, not all the time."""
    two.sweep("two", axes={"num-compute-units": [8, 16, 32, 64]})
    repositories.behave(two.binary, {"--cmd=": "slow 2"})
    done = two.run("--verbose", TABLE, cores=1)
    assert done.returncode == 0, done.stderr
    looks = done.stderr.count("Ready jobs: ")
    assert 5 <= looks <= 12, looks  # four databases, the data file, four runs, the table


# after a reboot ---------------------------------------------------------------------------------------------
def plant_a_dead_workflow(project: Gem5Project, host: str) -> None:
    """What a machine that lost its power leaves: locks, marks, an entry of the workflow, a progress file."""
    state = project.root / ".snakemake"
    [done] = (str(path.relative_to(project.root)) for path in project.records())
    (state / "locks").mkdir(exist_ok=True)
    (state / "locks/0.output.lock").write_text(f"{TABLE}\n{done}\n")
    (state / "locks/0.input.lock").write_text("configs/sweeps/two.yaml\n")
    (state / "incomplete" / base64.urlsafe_b64encode(done.encode()).decode()).write_text("{}")
    owner = f"{host}/00000000-0000-0000-0000-000000000000/1/1"
    (state / "apuflow/workflows").mkdir(parents=True, exist_ok=True)
    (state / "apuflow/workflows/1-1").write_text(f"{owner}\n")
    directory = (project.root / done).parent
    (directory / ".lock").touch()
    progress = {"point": directory.name, "attempt": 9, "owner": owner, "started": "x", "seconds": 1.0}
    (directory / "progress.json").write_text(json.dumps(progress))


def test_after_a_reboot_a_plain_rerun_completes_and_repeats_nothing(two: Gem5Project) -> None:
    before = stamp(two)
    plant_a_dead_workflow(two, os.uname().nodename)
    said = completes(two, before)
    assert "removed the lock" in said


def test_a_lock_that_may_be_alive_elsewhere_stays_and_the_way_out_is_named(two: Gem5Project) -> None:
    plant_a_dead_workflow(two, "another-host")
    done = two.run(TABLE)
    assert done.returncode != 0
    assert "--unlock" in done.stdout + done.stderr
    assert (two.root / ".snakemake/locks/0.output.lock").exists()
    no_row(two)
    assert two.run("--unlock").returncode == 0
    assert two.run(TABLE).returncode == 0


def test_two_workflows_at_once_do_not_disturb_each_other(two: Gem5Project) -> None:
    before = stamp(two)
    repositories.behave(two.binary, {"num-compute-units=8 ": "held"})
    first = Workflow(two, TABLE)
    first.until_running(8)
    second = two.run(TABLE)
    assert second.returncode != 0
    assert "cannot be locked" in second.stdout + second.stderr
    repositories.behave(two.binary, {})
    code, errors = first.end()
    assert code == 0, errors
    assert stamp(two) == before
    assert len(pd.read_csv(two.root / TABLE)) == 2
    [directory] = (two.root / "runs/gem5/softmax_fwd").glob("*_u8-*")
    assert [entry.name for entry in (directory / "attempts").iterdir()] == ["1"]


# limits -----------------------------------------------------------------------------------------------------
def test_endless_runs_and_memory_hogs_end_and_say_so_in_their_rows(two: Gem5Project) -> None:
    before = stamp(two)
    site = two.root / "configs/site.yaml"
    site.write_text(site.read_text() + "memory: 200MB\n")
    limits = {"wall_time": "20s"}
    two.sweep("two", axes={"num-compute-units": [4, 8, 16]}, on_failure="record", limits=limits)
    repositories.behave(two.binary, {"num-compute-units=8 ": "hang", "num-compute-units=16 ": "oom"})
    done = two.run(TABLE)
    assert done.returncode == 0, done.stderr
    frame = pd.read_csv(two.root / TABLE).set_index("num_compute_units")
    assert frame["status"].to_dict() == {4: "completed", 8: "timeout", 16: "host_out_of_memory"}
    assert frame["gpu_cycles"].isna().to_dict() == {4: False, 8: True, 16: True}
    assert "20 s" in frame["evidence"][8] and "209,715,200" in frame["evidence"][16]
    assert stamp(two) == before

    # the same points under a strict sweep: no table, and the way to make them again
    (two.root / TABLE).unlink()
    two.sweep("two", axes={"num-compute-units": [4, 8, 16]})
    done = two.run(TABLE)
    assert done.returncode != 0
    assert not (two.root / TABLE).exists()
    assert "timeout" in done.stderr and "runs/gem5/softmax_fwd/v23.0_u8-" in done.stderr
    for failed in (two.root / "runs/gem5/softmax_fwd").glob("*_u[18]*-*"):
        shutil.rmtree(failed)
    completes(two, before, 4, 8, 16)
