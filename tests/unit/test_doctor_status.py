"""What doctor says of a machine, and what status shows of runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.configure import Release, Site, load_release
from apuflow.configure.site import Gem5Build, Mirrors
from apuflow.containers import Owner
from apuflow.core.errors import EngineError
from apuflow.core.record import Provenance, RunRecord, Status
from apuflow.prepare.doctor import State, Use, check_gem5_ready, examine, ready
from apuflow.run.progress import Progress
from apuflow.run.status import RunState, all_well, runs

ROOT = Path(__file__).parents[2]


@pytest.fixture
def release() -> Release:
    return load_release("v23.0", ROOT)


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Site:
    """A machine without a container engine."""
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    return Site(socket=str(tmp_path / "no.sock"))


def test_a_bare_machine_gets_one_message_with_every_fix_and_what_runs(
    nothing: Site, release: Release, tmp_path: Path
) -> None:
    with pytest.raises(EngineError) as caught:
        check_gem5_ready(nothing, release, tmp_path)
    text = str(caught.value)
    assert "no Docker engine on this machine" in text
    assert "install docker" in text
    assert "results/quickstart/softmax_fwd.csv" in text
    assert text.count("  1. ") == 1
    assert "Traceback" not in text


def test_what_is_missing_is_told_per_engine(nothing: Site, release: Release, tmp_path: Path) -> None:
    checks = examine(nothing, release, tmp_path, network=False)
    assert ready(checks, Use.PREVIEW)
    assert not ready(checks, Use.DNNMARK)
    for check in checks:
        assert check.fix is not None or check.state is State.OK
    names = [check.name for check in checks]
    assert len(names) == len(set(names))


def test_dnnmarks_tools_are_asked_only_where_dnnmark_runs(release: Release, tmp_path: Path) -> None:
    """A program of one's own needs gem5 and nothing that compiles DNNMark."""
    mirrors = Mirrors(gem5_resources=f"file://{tmp_path}/nowhere")
    checks = examine(Site(container="host", mirrors=mirrors), release, tmp_path, network=True)
    [dnnmark] = [check for check in checks if check.name == "DNNMark sources"]
    assert dnnmark.state is State.MISSING and dnnmark.uses == ("gem5",)
    [scons] = [check for check in checks if check.name == "scons"]
    assert set(scons.uses) == {"gem5", "gem5-kernels", "command"}


def test_a_gem5_of_ones_own_is_examined(release: Release, tmp_path: Path) -> None:
    site = Site(
        container="host", gem5=Gem5Build(binary=str(tmp_path / "gem5.opt"), source=str(tmp_path / "gem5"))
    )
    [check] = [check for check in examine(site, release, tmp_path, network=False) if "yours" in check.name]
    assert check.state is State.MISSING
    assert "no such source directory" in check.detail


def test_a_source_that_does_not_answer_is_missing(release: Release, tmp_path: Path) -> None:
    mirrors = Mirrors(gem5=f"file://{tmp_path}/nowhere", gem5_resources=str(tmp_path))
    checks = {
        check.name: check for check in examine(Site(container="host", mirrors=mirrors), release, tmp_path)
    }
    assert checks["gem5 sources"].state is State.MISSING
    assert "mirrors" in str(checks["gem5 sources"].fix)
    assert checks["DNNMark sources"].state is State.OK


def test_the_doctor_command_ends_with_1_where_gem5_cannot_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    result = CliRunner().invoke(build_app(), ["doctor", "--offline"])
    assert result.exit_code == 1, result.output
    assert "MISSING  container engine" in result.output
    assert "gem5          not ready" in result.output
    assert "preview       ready" in result.output


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
