"""Every run as it stands."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest
from run_states import progress, record, write_one_of_each

from apuflow.core.owner import Owner
from apuflow.core.record import Status
from apuflow.run import status
from apuflow.run.publish import Proven, ProvenFile
from apuflow.run.status import RunState, all_well, runs


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_one_of_each(tmp_path)
    return tmp_path


def test_every_run_is_shown_as_it_stands(project: Path) -> None:
    found = {run.point[0]: run for run in runs(project)}
    assert {key: run.state for key, run in found.items()} == {
        "a": RunState.COMPLETED,
        "b": RunState.FAILED,
        "c": RunState.FAILED,
        "d": RunState.RUNNING,
        "e": RunState.LOST,
        "f": RunState.FAILED,
    }
    assert found["b"].detail == "the later one"
    assert found["a"].ticks_per_second == 100_000_000
    assert found["d"].ticks_per_second == 500_000_000
    assert "Running [Softmax]" in found["d"].detail
    assert not all_well(found.values())
    assert all_well([found["a"], found["d"]])


@pytest.mark.parametrize(
    ("jobs", "silent", "state"),
    [
        (frozenset({"7"}), 3600, RunState.RUNNING),
        (frozenset({"8"}), 0, RunState.LOST),
        (None, 0, RunState.RUNNING),
        (None, 3600, RunState.LOST),
    ],
    ids=["its job runs", "its job is gone", "nobody to ask", "nobody to ask, and silent for an hour"],
)
def test_a_run_on_another_machine_is_shown_with_its_job_and_node(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    jobs: frozenset[str] | None,
    silent: float,
    state: RunState,
) -> None:
    monkeypatch.setattr(status, "living_jobs", lambda: jobs)
    there = progress(Owner("another-host", "boot", 1, 1)).model_copy(update={"job": "7", "node": "node3"})
    file = tmp_path / "runs/gem5/softmax_fwd/u8-0123abcd/progress.json"
    there.write(file)
    os.utime(file, (time.time() - silent,) * 2)
    [run] = runs(tmp_path)
    assert (run.state, run.place) == (state, "job 7 on node3")


def proven(run_dir: Path, attempt: int, text: bytes) -> Path:
    """A try that was proven by these statistics, and killed before it was published."""
    directory = run_dir / f"attempts/{attempt}"
    statistics = directory / "m5out/stats.txt"
    statistics.parent.mkdir(parents=True)
    statistics.write_bytes(text)
    file = ProvenFile(source="m5out/stats.txt", name="stats.txt", sha256=hashlib.sha256(text).hexdigest())
    note = Proven(record=record(Status.COMPLETED, attempt=attempt), files=(file,))
    (directory / "proven.json").write_text(note.model_dump_json())
    return statistics


@pytest.mark.parametrize(
    "beside", ["nothing", "a failed try", "a recorded failure", "progress of a killed process"]
)
def test_a_proven_run_that_is_not_published_is_shown(tmp_path: Path, beside: str) -> None:
    """docs/reliability.md: what was proven is published by the next start and not made again."""
    run_dir = tmp_path / "runs/gem5/softmax_fwd/u4-0123abcd"
    statistics = proven(run_dir, 2, b"statistics\n")
    failure = record(Status.DEADLOCK, "the earlier one")
    if beside == "a failed try":
        failure.write(run_dir / "attempts/1/failure.json")
    elif beside == "a recorded failure":
        failure.write(run_dir / "run.json")
    elif beside == "progress of a killed process":
        progress(Owner(Owner.current().host, "boot", 1, 1)).write(run_dir / "progress.json")
    [run] = runs(tmp_path)
    assert (run.state, run.ticks) == (RunState.PROVEN, 6_000_000_000)
    assert "not published" in run.detail
    assert all_well([run])
    statistics.write_text("other statistics\n")
    assert all(run.state in (RunState.FAILED, RunState.LOST) for run in runs(tmp_path))
