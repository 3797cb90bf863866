"""Points on the host engine with the stand-in gem5: what is published, what is kept, what is refused."""

from __future__ import annotations

import contextlib
import fcntl
import json
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from places import ROOT
from standins.repositories import behave, make_gem5

from apuflow.configure import load_release
from apuflow.containers.host import HostEngine
from apuflow.containers.job import Limits
from apuflow.core.errors import ConfigError, EngineError
from apuflow.core.proc import start_time
from apuflow.core.record import Status, read_run
from apuflow.run.attempt import Busy, simulate
from apuflow.run.command import Gem5, Guest
from apuflow.run.outcome import Expectation
from apuflow.run.process import PointFacts, Process, RunFailed, Simulation
from apuflow.run.proof import read_proof
from apuflow.run.status import RunState, all_well, runs

BEHAVIOURS = {
    "panic": Status.GEM5_PANIC,
    "assert": Status.GEM5_PANIC,
    "deadlock": Status.DEADLOCK,
    "fatal": Status.GEM5_FATAL,
    "guest_oom": Status.GUEST_OUT_OF_MEMORY,
    "host_memory": Status.HOST_OUT_OF_MEMORY,
    "segfault": Status.GEM5_CRASH,
    "exit1": Status.GUEST_FAILURE,
    "missing_kernel": Status.MISSING_KERNEL,
    "max_tick": Status.INCOMPLETE,
    "cut_stats": Status.NO_STATISTICS,
    "other_stats": Status.NO_STATISTICS,
    "two_blocks": Status.NO_STATISTICS,
    "no_stats": Status.NO_STATISTICS,
    "no_kernels": Status.GUEST_FAILURE,
}


@pytest.fixture(scope="module")
def gem5(tmp_path_factory: pytest.TempPathFactory) -> Gem5:
    """The stand-in, built; every program named after a behaviour shows it."""
    root = make_gem5(tmp_path_factory.mktemp("upstream") / "gem5 of ours").path
    subprocess.run([sys.executable, "SConstruct", "build/GCN3_X86/gem5.opt"], cwd=root, check=True)
    binary = root / "build/GCN3_X86/gem5.opt"
    behave(
        binary,
        {f"--cmd={name} ": name for name in [*BEHAVIOURS, "hang", "oom"]} | {"--cmd=slow ": "slow 0.6"},
    )
    return Gem5(binary, root / "configs/example/apu_se.py")


@pytest.fixture
def make(tmp_path: Path, gem5: Gem5) -> Callable[..., Simulation]:
    """Makes a simulation of a program that behaves as its name says."""
    project = tmp_path / "it's a project"

    def simulation(behaviour: str = "ok", **changes: Any) -> Simulation:
        programs = project / "programs"
        programs.mkdir(parents=True, exist_ok=True)
        (programs / behaviour).write_text("#!program\nall is well\n")
        guest = Guest(programs, behaviour, ("--n", "4"))
        options: dict[str, int | str] = {"num-compute-units": 4, "gfx-version": "gfx801"}
        expectation = changes.pop("expectation", Expectation(end_marker="all is well"))
        values: dict[str, Any] = {
            "project": project,
            "run_dir": project / "runs/gem5/demo/u4-0123abcd",
            "point": PointFacts(
                "gem5",
                "demo",
                None,
                "u4-0123abcd",
                {"a": 1},
                {"num-compute-units": 4},
                options,
                "gfx801",
                "v23.0",
                load_release("v23.0", ROOT).facts,
            ),
            "gem5": gem5,
            "process": Process(guest, options, expectation, files={"in.txt": "x"}),
            "container": HostEngine(),
            "limits": Limits(wall_seconds=600, grace_seconds=2),
        }
        return Simulation(**{**values, **changes})

    return simulation


def test_a_proven_run_is_published_with_everything_that_made_it(make: Callable[..., Simulation]) -> None:
    simulation = make()
    record = simulate(simulation)
    assert record == read_run(simulation.run_dir / "run.json")
    assert record.status is Status.COMPLETED
    assert record.statistics == "stats.txt"
    proof = read_proof(simulation.run_dir / "stats.txt")
    assert (proof.problem, proof.final_tick, proof.sha256) == (
        None,
        record.ticks,
        record.provenance.statistics_sha256,
    )
    assert record.provenance.gem5_version == "23.0.1.0"
    assert record.release_facts == simulation.point.release_facts
    assert record.command[0] == str(simulation.gem5.binary)
    assert record.exit_code == 0
    assert [(one.grid, one.workgroup, one.name) for one in record.dispatches] == [
        ((1024, 1, 1), (64, 1, 1), "Some kernel")
    ]
    assert record.peak_memory_bytes is None or record.peak_memory_bytes > 0
    assert not (simulation.run_dir / "progress.json").exists()
    attempt = simulation.run_dir / "attempts/1"
    assert (attempt / "m5out/simout").exists()
    assert not (attempt / "home").exists()


def test_the_command_file_runs_the_same_command_by_hand(make: Callable[..., Simulation]) -> None:
    simulation = make()
    simulate(simulation)
    script = simulation.run_dir / "attempts/1/command.sh"
    (script.parent / "m5out/simout").unlink()
    assert subprocess.run([script], cwd="/", capture_output=True, check=False).returncode == 0
    assert "Exiting because  exiting with" in (script.parent / "m5out/simout").read_text()


@pytest.mark.parametrize("compress", ["gz", "zst"])
def test_statistics_are_compressed_after_the_proof(make: Callable[..., Simulation], compress: str) -> None:
    simulation = make(compress=compress)
    record = simulate(simulation)
    assert record.statistics == f"stats.txt.{compress}"
    assert read_proof(simulation.run_dir / record.statistics).sha256 == record.provenance.statistics_sha256
    assert not list(simulation.run_dir.glob("attempts/1/m5out/stats.txt*"))


@pytest.mark.parametrize(("behaviour", "status"), BEHAVIOURS.items())
def test_a_failed_run_is_never_published_and_keeps_its_evidence(
    make: Callable[..., Simulation], behaviour: str, status: Status
) -> None:
    simulation = make(behaviour)
    with pytest.raises(RunFailed, match=str(status)) as caught:
        simulate(simulation)
    assert caught.value.record.status is status
    assert not (simulation.run_dir / "run.json").exists()
    assert not list(simulation.run_dir.glob("stats*"))
    attempt = simulation.run_dir / "attempts/1"
    kept = read_run(attempt / "failure.json")
    assert (kept.status, kept.statistics) == (status, None)
    assert (attempt / "m5out/simerr").stat().st_size > 0


def test_a_recording_sweep_publishes_a_failure_with_its_status(make: Callable[..., Simulation]) -> None:
    simulation = make("deadlock", on_failure="record")
    assert simulate(simulation).status is Status.DEADLOCK
    published = read_run(simulation.run_dir / "run.json")
    assert published.status is Status.DEADLOCK
    assert "deadlock" in published.evidence
    assert published.statistics is None


def test_an_endless_run_is_a_timeout_though_gem5_ends_with_0(make: Callable[..., Simulation]) -> None:
    simulation = make("hang", limits=Limits(wall_seconds=15, grace_seconds=60), on_failure="record")
    record = simulate(simulation)
    assert (record.status, record.exit_code) == (Status.TIMEOUT, 0)


def test_memory_beyond_the_limit_is_host_out_of_memory(make: Callable[..., Simulation]) -> None:
    simulation = make("oom", limits=Limits(memory_bytes=150 << 20, wall_seconds=600))
    with pytest.raises(RunFailed, match="157,286,400"):
        simulate(simulation)
    assert read_run(simulation.run_dir / "attempts/1/failure.json").status is Status.HOST_OUT_OF_MEMORY


def test_an_interrupted_run_is_never_published_and_a_rerun_completes(make: Callable[..., Simulation]) -> None:
    simulation = make("hang", on_failure="record")
    started = simulation.run_dir / "attempts/1/m5out/simerr"
    code = (
        "import os, sys, time\n"
        "while not os.path.exists(sys.argv[1]): time.sleep(0.02)\n"
        "os.kill(os.getppid(), 15)\n"
    )
    killer = subprocess.Popen([sys.executable, "-c", code, started])
    with pytest.raises(RunFailed, match="interrupted"):
        simulate(simulation)
    killer.wait()
    assert not (simulation.run_dir / "run.json").exists()
    again = make("ok")
    record = simulate(again)
    assert (record.status, record.attempt) == (Status.COMPLETED, 2)
    assert (simulation.run_dir / "attempts/1/failure.json").exists()


def test_a_completed_run_is_not_repeated(make: Callable[..., Simulation]) -> None:
    first = simulate(make())
    assert simulate(make("panic")) == first


def test_a_point_that_another_process_runs_is_left_to_it(make: Callable[..., Simulation]) -> None:
    """Who need not wait is told; who waits gets what the other has proven, and runs nothing."""
    simulation = make()
    first = simulate(simulation)
    published = simulation.run_dir / "run.json"
    aside = published.rename(simulation.run_dir / "aside.json")
    (simulation.run_dir / "attempts/1/proven.json").unlink()
    with (simulation.run_dir / ".lock").open("w") as held, ThreadPoolExecutor() as pool:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(Busy, match="another process is running this point"):
            simulate(simulation, wait=False)
        waiting = pool.submit(simulate, make("panic"))
        with pytest.raises(TimeoutError):
            waiting.result(timeout=2)
        aside.rename(published)
        fcntl.flock(held, fcntl.LOCK_UN)
        assert waiting.result(timeout=600) == first
    assert [entry.name for entry in (simulation.run_dir / "attempts").iterdir()] == ["1"]


def test_the_progress_file_shows_a_run_while_it_runs(make: Callable[..., Simulation]) -> None:
    simulation = make("hang")
    script = (
        "import pickle,sys; sys.path.insert(0, sys.argv[2]); from apuflow.run.attempt import Busy, simulate;"
        "simulate(pickle.load(open(sys.argv[1], 'rb')))"
    )
    packed = simulation.project / "simulation"
    packed.write_bytes(pickle.dumps(simulation))
    process = subprocess.Popen([sys.executable, "-c", script, packed, "."], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 300
        while not (found := list(runs(simulation.project))) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert [run.state for run in found] == [RunState.RUNNING]
        guests = _gem5_processes(simulation.project)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    [lost] = runs(simulation.project)
    assert lost.state is RunState.LOST
    assert not all_well([lost])
    HostEngine().remove_leftovers(simulation.project)
    deadline = time.monotonic() + 10
    while (left := [pid for pid in guests if start_time(pid) is not None]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left
    assert simulate(make()).status is Status.COMPLETED
    assert [run.state for run in runs(simulation.project)] == [RunState.COMPLETED]


def _gem5_processes(project: Path) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if (
                    str(project).encode() in (entry / "cmdline").read_bytes()
                    and b"gem5.opt" in (entry / "cmdline").read_bytes()
                ):
                    found.append(int(entry.name))
    return found


def test_arguments_that_apu_se_would_split_are_refused(make: Callable[..., Simulation]) -> None:
    simulation = make()
    process = simulation.process
    guest = Guest(process.guest.directory, process.guest.program, ("-config", "my file"))
    broken = make(process=Process(guest, process.options))
    with pytest.raises(ConfigError, match="white space"):
        simulate(broken)


def test_a_shell_sees_nothing_of_odd_options(make: Callable[..., Simulation], tmp_path: Path) -> None:
    simulation = make()
    process = simulation.process
    mark = tmp_path / "mark"
    odd = Guest(process.guest.directory, process.guest.program, (f"$(touch${{IFS}}{mark});", "`id`", "'\"&|"))
    record = simulate(make(process=Process(odd, process.options, process.expectation)))
    assert record.status is Status.COMPLETED
    subprocess.run([simulation.run_dir / "attempts/1/command.sh"], capture_output=True, check=True)
    assert not mark.exists()
    assert json.loads((simulation.run_dir / "run.json").read_text())["command"][-1].endswith("'\"&|")


def test_a_file_outside_the_run_directory_is_refused(make: Callable[..., Simulation]) -> None:
    simulation = make()
    process = simulation.process
    for name in ("../escape", "/tmp/escape"):
        broken = make(process=Process(process.guest, process.options, files={name: "x"}))
        with pytest.raises(EngineError, match="must lie in"):
            simulate(broken)


def test_a_missing_gem5_is_said_plainly(make: Callable[..., Simulation], tmp_path: Path) -> None:
    broken = make(gem5=Gem5(tmp_path / "nowhere/gem5.opt", tmp_path / "apu_se.py"))
    with pytest.raises(EngineError, match="cannot start"):
        simulate(broken)
