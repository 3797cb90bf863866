"""The whole workflow, one fault each: no row without a proven run, none lost or repeated, a rerun completes.

Every copy of the project stands in a directory whose name would break careless quoting.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest
import yaml
from gem5_project import SNAKEMAKE, Gem5Project
from standins import repositories

TABLE = "results/two/softmax_fwd.csv"


class Workflow:
    """A Snakemake that runs while a test does something to it."""

    def __init__(self, project: Gem5Project, *arguments: str) -> None:
        self.project = project
        environment = {**os.environ, "PATH": repositories.path_with_scons()}
        self.process = subprocess.Popen(
            [str(SNAKEMAKE), "--cores", "2", *arguments],
            cwd=project.root,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def until_running(self, units: int) -> int:
        """Wait until gem5 simulates this many compute units; returns its process."""
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            for pid, command in processes(self.project):
                if "gem5.opt" in command and f"--num-compute-units={units} " in command:
                    simerr = self.project.root / "runs/gem5/softmax_fwd"
                    if any(
                        "event queue" in file.read_text() for file in simerr.glob(f"u{units}-*/**/simerr")
                    ):
                        return pid
            time.sleep(0.05)
        raise AssertionError("gem5 did not start")

    def job(self) -> int:
        """The process of the rule's script."""
        return next(pid for pid, command in processes(self.project) if ".snakemake/scripts/" in command)

    def end(self) -> tuple[int, str]:
        _, errors = self.process.communicate(timeout=120)
        return self.process.returncode, errors


def processes(project: Gem5Project) -> Iterator[tuple[int, str]]:
    """Processes whose command line names the project."""
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if f"{project.root}/" in command and int(entry.name) != os.getpid():
                yield int(entry.name), command


@pytest.fixture
def two(project_copy: Gem5Project) -> Gem5Project:
    """A sweep of a point that is done (4 CUs) and one that is not (8 CUs)."""
    project_copy.sweep("two", axes={"num-compute-units": [4, 8]})
    return project_copy


def stamp(project: Gem5Project) -> tuple[int, int]:
    """Tells whether the finished run was touched: time and inode of its statistics, number of tries."""
    [directory] = (project.root / "runs/gem5/softmax_fwd").glob("u4-*")
    return (directory / "stats.txt").stat().st_mtime_ns, len(list((directory / "attempts").iterdir()))


def completes(project: Gem5Project, before: tuple[int, int], *units: int) -> str:
    """A plain rerun makes the table and leaves the finished run alone; returns what it said."""
    repositories.behave(project.binary, {})
    done = project.run(TABLE)
    assert done.returncode == 0, done.stdout + done.stderr
    frame = pd.read_csv(project.root / TABLE)
    assert frame["num_compute_units"].tolist() == list(units or (4, 8))
    assert set(frame["status"]) == {"completed"}
    assert stamp(project) == before
    assert not list(processes(project))
    return done.stderr


def no_row(project: Gem5Project) -> None:
    assert not (project.root / TABLE).exists()
    assert len(project.records()) == 1


def failure(project: Gem5Project) -> dict[str, str]:
    """The last failed try of the point with 8 CUs."""
    found = sorted((project.root / "runs").glob("gem5/softmax_fwd/u8-*/attempts/*/failure.json"))
    return dict(json.loads(found[-1].read_text()))


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
    repositories.behave(two.binary, {"num-compute-units=8 ": "slow 3"})
    workflow = Workflow(two, TABLE)
    workflow.until_running(8)
    workflow.process.terminate()
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
    repositories.behave(two.binary, {"num-compute-units=8 ": "slow 8"})
    first = Workflow(two, TABLE)
    first.until_running(8)
    second = two.run(TABLE)
    assert second.returncode != 0
    assert "cannot be locked" in second.stdout + second.stderr
    code, errors = first.end()
    assert code == 0, errors
    assert stamp(two) == before
    assert len(pd.read_csv(two.root / TABLE)) == 2
    [directory] = (two.root / "runs/gem5/softmax_fwd").glob("u8-*")
    assert [entry.name for entry in (directory / "attempts").iterdir()] == ["1"]


# limits -----------------------------------------------------------------------------------------------------
def test_endless_runs_and_memory_hogs_end_and_say_so_in_their_rows(two: Gem5Project) -> None:
    before = stamp(two)
    site = two.root / "configs/site.yaml"
    site.write_text(site.read_text() + "memory: 200MB\n")
    limits = {"wall_time": "4s"}
    two.sweep("two", axes={"num-compute-units": [4, 8, 16]}, on_failure="record", limits=limits)
    repositories.behave(two.binary, {"num-compute-units=8 ": "hang", "num-compute-units=16 ": "oom"})
    done = two.run(TABLE)
    assert done.returncode == 0, done.stderr
    frame = pd.read_csv(two.root / TABLE).set_index("num_compute_units")
    assert frame["status"].to_dict() == {4: "completed", 8: "timeout", 16: "host_out_of_memory"}
    assert frame["gpu_cycles"].isna().to_dict() == {4: False, 8: True, 16: True}
    assert "4 s" in frame.loc[8, "evidence"] and "209,715,200" in frame.loc[16, "evidence"]
    assert stamp(two) == before

    # the same points under a strict sweep: no table, and the way to make them again
    (two.root / TABLE).unlink()
    two.sweep("two", axes={"num-compute-units": [4, 8, 16]})
    done = two.run(TABLE)
    assert done.returncode != 0
    assert not (two.root / TABLE).exists()
    assert "timeout" in done.stderr and "runs/gem5/softmax_fwd/u8-" in done.stderr
    for failed in (two.root / "runs/gem5/softmax_fwd").glob("u[18]*-*"):
        shutil.rmtree(failed)
    completes(two, before, 4, 8, 16)


# hands in the works -----------------------------------------------------------------------------------------
def test_a_gem5_that_changed_under_its_record_runs_nothing(two: Gem5Project) -> None:
    before = stamp(two)
    with two.binary.open("a") as stream:
        stream.write("# another build\n")
    done = two.run(TABLE)
    assert done.returncode != 0
    assert "not the program that was built and recorded" in done.stderr
    no_row(two)
    two.binary.unlink()
    (two.root / "build/toolchain/v22.1/gem5-GCN3_X86.json").unlink()
    completes(two, before)


def test_what_is_deleted_by_hand_comes_back_without_a_run_where_the_proof_is_left(two: Gem5Project) -> None:
    assert two.run(TABLE).returncode == 0
    before = stamp(two)
    four, eight = two.records()
    assert four.parent.name.startswith("u4-")
    (two.root / TABLE).unlink()
    four.unlink()
    shutil.rmtree(eight.parent)
    shutil.rmtree(two.root / "logs")
    completes(two, before)


def test_results_of_another_run_reach_no_table(two: Gem5Project) -> None:
    before = stamp(two)
    two.sweep("two", axes={"num-compute-units": [4, 16]})
    assert two.run(TABLE).returncode == 0
    [four] = (two.root / "runs/gem5/softmax_fwd").glob("u4-*")
    [other] = (two.root / "runs/gem5/softmax_fwd").glob("u16-*")
    own = (other / "stats.txt").read_bytes()
    for swap, said in (("stats.txt", "proven with"), ("run.json", "two records")):
        (two.root / TABLE).unlink(missing_ok=True)
        (other / swap).unlink()
        shutil.copy(four / swap, other / swap)
        done = two.run(TABLE)
        assert done.returncode != 0
        assert not (two.root / TABLE).exists()
        assert said in done.stderr or "proven with" in done.stderr, done.stderr
        (other / "stats.txt").write_bytes(own)
    (other / "run.json").unlink()
    completes(two, before, 4, 16)


def test_a_clock_that_jumped_back_a_day_neither_stops_nor_repeats_runs(two: Gem5Project) -> None:
    """All files are from tomorrow then."""
    tomorrow = time.time() + 86_400
    for path in two.root.rglob("*"):
        if path.is_file() and not path.is_symlink():
            os.utime(path, (tomorrow, tomorrow))
    before = stamp(two)
    completes(two, before)


def test_coarse_time_stamps_repeat_nothing(two: Gem5Project) -> None:
    """Two seconds, as on file systems of old: inputs and outputs then often have the same time."""
    assert two.run(TABLE).returncode == 0
    for path in two.root.rglob("*"):
        if path.is_file() and not path.is_symlink():
            seconds = path.stat().st_mtime // 2 * 2
            os.utime(path, (seconds, seconds))
    done = two.run(TABLE)
    assert done.returncode == 0
    assert "Nothing to be done" in done.stdout + done.stderr


def test_a_read_only_project_is_said_without_a_traceback(
    two: Gem5Project, mounted: Callable[..., Path]
) -> None:
    place = mounted(two.root, "ro", two.root)
    done = two.run(TABLE)
    assert done.returncode != 0
    assert "Read-only file system" in done.stdout + done.stderr
    subprocess.run(["umount", "-l", str(place)], check=True)
    no_row(two)


def test_a_full_disk_stops_the_workflow_and_room_completes_it(
    two: Gem5Project, mounted: Callable[..., Path]
) -> None:
    before = stamp(two)
    place = mounted(two.root / "results", "size=64k")
    for name in ("one", "two"):
        (place / name).mkdir()
    (place / "ballast").write_bytes(b"x" * 50_000)
    done = two.run(TABLE)
    assert done.returncode != 0
    assert "No space left" in done.stderr and "Traceback" not in done.stderr
    assert not (two.root / TABLE).exists()
    subprocess.run(["umount", str(place)], check=True)
    completes(two, before)


def test_a_site_with_an_own_gem5_may_replace_it(copies: Callable[[], Gem5Project]) -> None:
    """Its hash is part of the points' names: the new program makes new runs, under its own hash."""
    project = copies()
    site = project.root / "configs/site.yaml"
    content = yaml.safe_load(site.read_text())
    binary = project.root / "own gem5/build/GCN3_X86/gem5.opt"
    checkout = project.root / "own gem5"
    shutil.copytree(project.binary.parents[2], checkout)
    content["gem5"] = {"binary": str(binary), "source": str(checkout)}
    site.write_text(yaml.safe_dump(content))
    hashes = []
    for _ in range(2):
        done = project.run("results/one/softmax_fwd.csv")
        assert done.returncode == 0, done.stderr
        hashes.append(
            pd.read_csv(project.root / "results/one/softmax_fwd.csv")["gem5_binary_sha256"].tolist()
        )
        with binary.open("a") as stream:
            stream.write("# another build\n")
    assert len(project.records()) == 3  # the one of before, built here, and one for each of the two
    assert hashes[0] != hashes[1] and len(hashes[1]) == 1
