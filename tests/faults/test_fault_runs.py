"""One point, one fault: what gem5, its files or its disk do wrong, and that nothing wrong is published."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from places import STATS
from standins.repositories import behave, make_gem5

import apuflow.core.files
from apuflow.commands.stats import show as run_stats
from apuflow.containers.host import HostEngine
from apuflow.containers.job import Limits
from apuflow.core.errors import AnalysisError, EngineError
from apuflow.core.record import Status, read_run
from apuflow.run import attempt, publish
from apuflow.run.attempt import simulate
from apuflow.run.command import Gem5, Guest
from apuflow.run.outcome import ExitFacts, Expectation, Outcome, classify
from apuflow.run.process import PointFacts, Process, RunFailed, Simulation
from apuflow.run.status import RunState, runs
from apuflow_analysis.tables import tables
from apuflow_analysis.tables.kernels import kernel_table

MARKER = "DNNMark suites: Tear down..."
BEHAVIOURS = {
    "panic": (Status.GEM5_PANIC, "General-Protection"),
    "assert": (Status.GEM5_PANIC, "setMtype"),
    "fatal": (Status.GEM5_FATAL, "memfd_create"),
    "deadlock": (Status.DEADLOCK, "deadlock"),
    "segfault": (Status.GEM5_CRASH, "segmentation fault"),
    "exit1": (Status.GUEST_FAILURE, "status 1"),
    "abort_zero": (Status.GUEST_FAILURE, "Aborted"),
    "max_tick": (Status.INCOMPLETE, "limit reached"),
    "guest_oom": (Status.GUEST_OUT_OF_MEMORY, "Out of memory"),
    "host_memory": (Status.HOST_OUT_OF_MEMORY, "Could not mmap"),
    "cut_stats": (Status.NO_STATISTICS, "cut"),
    "two_blocks": (Status.NO_STATISTICS, "counts again what the block before it counted"),
    "other_stats": (Status.NO_STATISTICS, "simTicks <= finalTick"),
    "no_stats": (Status.NO_STATISTICS, "empty"),
    "no_kernels": (Status.GUEST_FAILURE, "0 kernels"),
}

Make = Callable[..., Simulation]


@pytest.fixture(scope="module")
def gem5(tmp_path_factory: pytest.TempPathFactory) -> Gem5:
    root = make_gem5(tmp_path_factory.mktemp("upstream") / "gem5").path
    subprocess.run([sys.executable, "SConstruct", "build/GCN3_X86/gem5.opt"], cwd=root, check=True)
    return Gem5(root / "build/GCN3_X86/gem5.opt", root / "configs/example/apu_se.py")


@pytest.fixture
def make(tmp_path: Path, gem5: Gem5) -> Make:
    """Makes a point whose run behaves as said (standin_gem5.py)."""

    def simulation(behaviour: str = "ok", place: Path | None = None, **changes: Any) -> Simulation:
        behave(gem5.binary, {"--cmd=": behaviour})
        programs = tmp_path / "programs"
        programs.mkdir(exist_ok=True)
        # as a DNNMark benchmark: its last line goes to stderr, and only when it ends well
        (programs / "program").write_text("" if behaviour == "abort_zero" else f"{MARKER}\n")
        if behaviour == "abort_zero":
            (programs / "program").write_text("Aborted\n")
        project = place or tmp_path / "project"
        options: dict[str, int | str] = {"num-compute-units": 4, "gfx-version": "gfx801"}
        expectation = Expectation(end_marker=MARKER)
        process = Process(Guest(programs, "program"), options, expectation)
        facts = PointFacts("gem5", "demo", None, "u4-0123abcd", {}, {}, options, "gfx801", "v22.1")
        values: dict[str, Any] = {
            "project": project,
            "run_dir": project / "runs/gem5/demo/u4-0123abcd",
            "point": facts,
            "gem5": gem5,
            "process": process,
            "container": HostEngine(),
            "limits": Limits(wall_seconds=600, grace_seconds=2),
        }
        return Simulation(**{**values, **changes})

    return simulation


def holds_no_row(simulation: Simulation) -> None:
    """Nothing of the run can reach a table."""
    assert not (simulation.run_dir / "run.json").exists()
    with pytest.raises(AnalysisError, match="no run record"):
        tables.build([simulation.run_dir])


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(("behaviour", "expected"), BEHAVIOURS.items())
def test_a_failed_run_is_named_leaves_no_row_and_a_rerun_completes(
    make: Make, tmp_path: Path, behaviour: str, expected: tuple[Status, str], shared: bool
) -> None:
    changes = {"shared_start": tmp_path / "started"} if shared else {}
    simulation = make(behaviour, **changes)
    with pytest.raises(RunFailed) as caught:
        simulate(simulation)
    status, evidence = expected
    assert caught.value.record.status is status
    assert evidence in caught.value.record.evidence
    holds_no_row(simulation)
    assert simulate(make("ok", **changes)).status is Status.COMPLETED
    assert tables.build([simulation.run_dir])["status"].tolist() == ["completed"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGINT])
def test_gem5_killed_by_a_stranger_is_no_result(make: Make, number: signal.Signals) -> None:
    simulation = make("hang", on_failure="record")
    threading.Thread(target=_when_running, args=(simulation, number), daemon=True).start()
    killed = {signal.SIGSEGV: Status.GEM5_CRASH}.get(number, Status.INTERRUPTED)
    if killed is Status.INTERRUPTED:
        with pytest.raises(RunFailed, match="interrupted"):
            simulate(simulation)
        holds_no_row(simulation)
    else:
        assert simulate(simulation).status is killed
        frame = tables.build([simulation.run_dir])
        assert frame["gpu_cycles"].isna().all()


def _when_running(simulation: Simulation, number: int) -> None:
    deadline = time.monotonic() + 500
    simerr = simulation.run_dir / "attempts/1/m5out/simerr"
    while time.monotonic() < deadline:
        if simerr.exists() and "event queue" in simerr.read_text():
            for entry in Path("/proc").glob("[0-9]*/cmdline"):
                text = _read(entry)
                if b"gem5.opt" in text and os.fsencode(simulation.run_dir) in text:
                    os.kill(int(entry.parent.name), number)
            return
        time.sleep(0.02)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0, 1))
def test_statistics_cut_at_any_byte_prove_nothing(tmp_path: Path, share: float) -> None:
    text = _statistics()
    cut = int(share * (len(text) - 1))
    file = tmp_path / "stats.txt"
    file.write_bytes(text[:cut])
    ticks = re.findall(rb"^finalTick +(\d+)", text, re.M)[-1].decode()
    simout = f"{MARKER}\nTicks: {ticks}\nExiting because  exiting with last active thread context\n"
    expectation = Expectation(end_marker=MARKER)
    assert classify(ExitFacts(0), simout, "", file, expectation).status is Status.NO_STATISTICS
    file.write_bytes(text)
    assert classify(ExitFacts(0), simout, "", file, expectation).completed


def _statistics() -> bytes:
    import lzma

    data = STATS
    return lzma.decompress((data / "softmax_fwd-100x1000x1x1-u4.txt.xz").read_bytes())


# statistics of a proven run, touched afterwards -------------------------------------------------------------
@pytest.mark.parametrize("compress", ["none", "gz", "zst"])
def test_published_statistics_that_change_reach_no_table(make: Make, compress: Any) -> None:
    simulation = make(compress=compress)
    record = simulate(simulation)
    file = simulation.run_dir / str(record.statistics)
    whole = file.read_bytes()
    for damaged in (whole[:-1], whole[: len(whole) // 2], whole + whole, b""):
        file.write_bytes(damaged)
        with pytest.raises(AnalysisError, match="not those that the run was proven with") as caught:
            tables.build([simulation.run_dir])
        assert "remove the run's directory" in str(caught.value)
    file.unlink()
    with pytest.raises(AnalysisError, match="are gone"):
        tables.build([simulation.run_dir])
    file.write_bytes(whole)
    assert len(tables.build([simulation.run_dir])) == 1


def _other_digit(file: Path) -> None:
    """Change a number that no relation between rows covers."""
    text = file.read_text()
    file.write_text(re.sub(r"^(simInsts +)\d", r"\g<1>0", text, flags=re.M))
    assert file.read_text() != text


def test_statistics_that_change_between_gem5s_end_and_their_proof_prove_nothing(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(facts: ExitFacts, simout: str, simerr: str, file: Path, *others: Any) -> Outcome:
        _other_digit(file)
        return classify(facts, simout, simerr, file, *others)

    monkeypatch.setattr(attempt, "classify", late)
    with pytest.raises(RunFailed, match=r"m5out/stats\.txt changed after gem5 ended") as caught:
        simulate(make())
    assert caught.value.record.status is Status.NO_STATISTICS


def test_statistics_that_change_between_their_proof_and_publishing_are_not_published(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = publish._place

    def late(source: Path, target: Path, sha256: str | None) -> None:
        _other_digit(source)
        place(source, target, sha256)

    monkeypatch.setattr(publish, "_place", late)
    simulation = make()
    with pytest.raises(EngineError, match="changed after they were proven") as caught:
        simulate(simulation)
    assert "m5out/stats.txt" in str(caught.value)
    holds_no_row(simulation)


def test_a_published_file_of_several_that_changes_is_named_by_every_reader(make: Make) -> None:
    """Records of earlier versions name a file for each of several processes."""
    simulation = make()
    record = simulate(simulation)
    second, sha256 = simulation.run_dir / "stats-001-b.txt", record.provenance.statistics_sha256
    shutil.copyfile(simulation.run_dir / "stats.txt", second)
    provenance = record.provenance.model_copy(update={"statistics_sha256": f"{sha256} {sha256}"})
    several = {"statistics": ["stats.txt", second.name], "provenance": provenance}
    record.model_copy(update=several).write(simulation.run_dir / "run.json")
    _other_digit(second)
    readers: list[Callable[[], object]] = [
        lambda: tables.build([simulation.run_dir]),
        lambda: kernel_table(simulation.run_dir),
        lambda: run_stats(simulation.run_dir / "stats-001-b.txt"),
    ]
    for reader in readers:
        with pytest.raises(AnalysisError, match="not those that the run was proven with") as caught:
            reader()
        assert "stats-001-b.txt" in str(caught.value)


def test_a_record_that_names_files_elsewhere_is_refused(make: Make) -> None:
    simulation = make()
    simulate(simulation)
    record = simulation.run_dir / "run.json"
    text = record.read_text()
    for name in ("../u8-ffffffff/stats.txt", "/etc/passwd", ".."):
        record.write_text(text.replace('"stats.txt"', f'"{name}"'))
        with pytest.raises(AnalysisError, match="no file of its own directory"):
            tables.build([simulation.run_dir])


# publishing -------------------------------------------------------------------------------------------------
def test_a_run_that_ended_is_not_repeated_because_its_publishing_was_cut_short(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in ("_place", "publish"):
        simulation = make()
        shutil.rmtree(simulation.run_dir, ignore_errors=True)

        def stop(*arguments: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patch:
            patch.setattr(publish, step, stop)
            with pytest.raises(EngineError, match="No space left"):
                simulate(simulation)
        holds_no_row(simulation)
        record = simulate(make("panic"))  # would fail if it ran
        assert (record.status, record.attempt) == (Status.COMPLETED, 1)
        assert not (simulation.run_dir / "attempts/2").exists()
        assert len(tables.build([simulation.run_dir])) == 1


def test_a_record_that_was_removed_comes_back_without_a_run(make: Make) -> None:
    simulation = make()
    first = simulate(simulation)
    (simulation.run_dir / "run.json").unlink()
    assert simulate(make("panic")) == first


def test_a_record_that_was_removed_with_damaged_statistics_is_run_again(make: Make) -> None:
    simulation = make()
    simulate(simulation)
    (simulation.run_dir / "run.json").unlink()
    with (simulation.run_dir / "stats.txt").open("ab") as stream:
        stream.write(b"x")
    assert simulate(make()).attempt == 2


# disks ------------------------------------------------------------------------------------------------------
def test_a_disk_that_fills_up_is_said_and_a_rerun_completes(
    make: Make, tmp_path: Path, mounted: Callable[..., Path]
) -> None:
    place = mounted(tmp_path / "small disk", "size=4m")
    ballast = place / "ballast"
    for left in (0, 4096, 40_960, 163_840):
        simulation = make(place=place, on_failure="record")
        ballast.write_bytes(b"x" * (shutil.disk_usage(place).free - left))
        with pytest.raises((EngineError, RunFailed)) as caught:
            simulate(simulation)
        assert re.search(r"No space left|disk is full", str(caught.value)), str(caught.value)
        ballast.unlink()
        assert not (simulation.run_dir / "run.json").exists()
        shutil.rmtree(place / "runs")
    simulation = make(place=place)
    assert simulate(simulation).status is Status.COMPLETED


def test_a_read_only_directory_is_said(make: Make, tmp_path: Path, mounted: Callable[..., Path]) -> None:
    simulation = make(place=tmp_path / "project")
    simulation.run_dir.mkdir(parents=True)
    place = mounted(tmp_path / "project", "ro", tmp_path / "project")
    with pytest.raises(EngineError, match="Read-only file system"):
        simulate(simulation)
    subprocess.run(["umount", str(place)], check=True)
    assert simulate(simulation).status is Status.COMPLETED


def test_a_file_system_without_locks_still_runs(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*arguments: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    assert simulate(make()).status is Status.COMPLETED


def test_a_write_that_fails_leaves_the_old_file_whole(tmp_path: Path, mounted: Callable[..., Path]) -> None:
    place = mounted(tmp_path / "disk", "size=64k")
    file = place / "file"
    apuflow.core.files.write_text(file, "old")
    with pytest.raises(OSError, match="No space"):
        apuflow.core.files.write_text(file, "x" * 200_000)
    assert file.read_text() == "old"
    assert [entry.name for entry in place.iterdir()] == ["file"]


# clocks -----------------------------------------------------------------------------------------------------
def test_a_clock_that_jumps_back_changes_no_outcome(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publish, "now", lambda: "1999-12-31T23:59:59+00:00")
    simulation = make("slow 0.5")
    record = simulate(simulation)
    assert record.ended < record.started
    assert record.status is Status.COMPLETED
    assert 0.5 <= record.wall_seconds < 600
    assert tables.build([simulation.run_dir])["wall_seconds"].tolist() == [record.wall_seconds]


def test_a_run_from_before_a_reboot_counts_as_lost_and_is_made_again(make: Make) -> None:
    simulation = make()
    attempt = simulation.run_dir / "attempts/1"
    attempt.mkdir(parents=True)
    owner = f"{os.uname().nodename}/00000000-0000-0000-0000-000000000000/1/1"
    (simulation.run_dir / "progress.json").write_text(
        f'{{"point": "u4-0123abcd", "attempt": 1, "owner": "{owner}", "started": "x", "seconds": 9}}'
    )
    (simulation.run_dir / ".lock").touch()
    assert [run.state for run in runs(simulation.project)] == [RunState.LOST]
    record = simulate(simulation)
    assert (record.status, record.attempt) == (Status.COMPLETED, 2)
    assert read_run(simulation.run_dir / "run.json") == record
    assert [run.state for run in runs(simulation.project)] == [RunState.COMPLETED]
