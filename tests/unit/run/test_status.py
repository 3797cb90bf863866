"""Every run as it stands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.containers import Owner
from apuflow.core.record import Provenance, RunRecord, Status
from apuflow.run.progress import Progress
from apuflow.run.status import RunState, all_well, runs


def record(status: Status, evidence: str = "", attempt: int = 1) -> RunRecord:
    return RunRecord(
        engine="gem5", workload="softmax_fwd", direction="fwd", point="u4-0123abcd", identity={}, axes={},
        options={},
        gfx="gfx801", release="v23.0", status=status, evidence=evidence, exit_code=0, attempt=attempt,
        started="2026-11-21T00:00:00+00:00", ended="2026-11-21T00:01:00+00:00", wall_seconds=60.0,
        peak_memory_bytes=2 << 30, host={}, command=["gem5.opt"], statistics=None, ticks=6_000_000_000,
        provenance=Provenance(),
    )  # fmt: skip


def progress(owner: Owner) -> Progress:
    return Progress(
        point="u8-0123abcd",
        attempt=1,
        owner=str(owner),
        started="2026-11-21T00:00:00+00:00",
        seconds=10.0,
        ticks=5_000_000_000,
        memory_bytes=1 << 30,
        line="DNNMark: Running [Softmax] forward: STARTED",
        log="log",
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """One run of every kind."""
    base = tmp_path / "runs/gem5/softmax_fwd"
    record(Status.COMPLETED).write(base / "a-completed/run.json")
    record(Status.DEADLOCK, "Possible [bold]deadlock").write(base / "b-failed/attempts/1/failure.json")
    record(Status.GEM5_PANIC, "the later one", 10).write(base / "b-failed/attempts/10/failure.json")
    record(Status.TIMEOUT, "stopped at its wall limit").write(base / "c-recorded/run.json")
    progress(Owner.current()).write(base / "d-running/progress.json")
    gone = Owner("localhost", "boot", 1, 1)
    progress(Owner(Owner.current().host, gone.boot, 1, 1)).write(base / "e-lost/progress.json")
    (base / "f-broken").mkdir()
    (base / "f-broken/run.json").write_text('{"half": ')
    (base / "g-empty").mkdir()
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


def test_the_status_command_names_the_evidence_and_ends_with_1(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    monkeypatch.setenv("COLUMNS", "400")
    result = CliRunner().invoke(build_app(), ["status"])
    assert result.exit_code == 1
    for text in (
        "the later one",
        "wall limit",
        "1 completed, 1 running, 3 failed, 1 lost",
        ">5e+09",
        "[Softmax]",
    ):
        assert text in result.output
    only = CliRunner().invoke(build_app(), ["status", "--failed"]).output
    assert "a-completed" not in only
    assert "b-failed" in only


def test_status_without_runs_says_how_to_start(tmp_path: Path) -> None:
    command: list[str | Path] = [Path(sys.executable).with_name("apuflow"), "status"]
    environment = {**os.environ, "COLUMNS": "200"}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "snakemake --cores" in done.stdout
