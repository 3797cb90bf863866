"""Runs that are forks of one started gem5: the same results, and what happens when either is killed."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from standins.repositories import behave, make_gem5

from apuflow.containers.host import HostEngine
from apuflow.containers.job import Limits
from apuflow.core import proc
from apuflow.core.owner import Owner
from apuflow.core.record import Status
from apuflow.run import process as share_start
from apuflow.run.attempt import simulate
from apuflow.run.command import Gem5, Guest
from apuflow.run.outcome import Expectation
from apuflow.run.process import PointFacts, Process, RunFailed, Simulation

MARKER = "the program has ended"
Make = Callable[..., Simulation]


@pytest.fixture(scope="module")
def gem5(tmp_path_factory: pytest.TempPathFactory) -> Gem5:
    root = make_gem5(tmp_path_factory.mktemp("upstream") / "gem5").path
    subprocess.run([sys.executable, "SConstruct", "build/GCN3_X86/gem5.opt"], cwd=root, check=True)
    return Gem5(root / "build/GCN3_X86/gem5.opt", root / "configs/example/apu_se.py")


@pytest.fixture
def make(tmp_path: Path, gem5: Gem5) -> Iterator[Make]:
    """Makes a point with a name, on a machine, whose run behaves as said."""
    behaviours: dict[str, str] = {}
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs/program").write_text(f"{MARKER}\n")

    def simulation(point: str, behaviour: str = "ok", units: int = 4, **changes: Any) -> Simulation:
        behaviours["--cmd="] = behaviour
        behave(gem5.binary, behaviours)
        options: dict[str, int | str] = {"num-compute-units": units, "gfx-version": "gfx801"}
        process = Process(
            Guest(tmp_path / "programs", "program"),
            options,
            Expectation(end_marker=MARKER),
            files={"list": point, "all/list": point},
        )
        values: dict[str, Any] = {
            "project": tmp_path,
            "run_dir": tmp_path / "runs/gem5-kernels/demo" / point,
            "point": PointFacts("gem5-kernels", "demo", None, point, {}, {}, options, "gfx801", "v22.1"),
            "gem5": gem5,
            "process": process,
            "container": HostEngine(),
            "limits": Limits(wall_seconds=600, grace_seconds=1),
            "shared_start": tmp_path / "started",
        }
        return Simulation(**{**values, **changes})

    yield simulation
    for pid in started(tmp_path):
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda pid=pid: not alive(pid))  # type: ignore[misc]


def started(project: Path) -> list[int]:
    """Processes of the project that wait for runs, or the forks of which are running."""
    found = []
    for pid in proc.pids():
        try:
            words = proc.command_line(pid)
        except OSError:
            continue
        if str(share_start.SERVER).encode() in words and os.fsencode(project) in b" ".join(words):
            found.append(pid)
    return [pid for pid in found if proc.parent(pid) not in found and alive(pid)]


def alive(pid: int) -> bool:
    """Neither gone nor a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_subreaper() -> bool:
    """Whether what others lose falls to this process (``PR_GET_CHILD_SUBREAPER``)."""
    answer = ctypes.c_int()
    ctypes.CDLL(None).prctl(37, ctypes.byref(answer))
    return bool(answer.value)


def places(project: Path) -> list[Path]:
    return sorted((project / "started").glob("*/*"))


def test_runs_of_one_machine_share_a_start_and_have_the_results_of_runs_by_themselves(
    make: Make, tmp_path: Path
) -> None:
    alone = simulate(make("alone", shared_start=None))
    first = simulate(make("first"))
    (kept,) = started(tmp_path)
    second = simulate(make("second"))
    assert started(tmp_path) == [kept]
    texts = set()
    for record in (alone, first, second):
        directory = tmp_path / "runs/gem5-kernels/demo" / record.point
        assert record.status is Status.COMPLETED
        assert record.provenance.gem5_version == "23.0.1.0"
        assert str(directory) in " ".join(record.command)
        texts.add((directory / "stats.txt").read_bytes())
        assert (directory / "attempts/1/m5out/config.ini").exists()
    assert len(texts) == 1
    assert not [entry.name for entry in places(tmp_path)[0].iterdir() if entry.is_symlink()]


def test_another_machine_has_another_start(make: Make, tmp_path: Path) -> None:
    simulate(make("four"))
    simulate(make("eight", units=8))
    assert len(started(tmp_path)) == len({place.parent for place in places(tmp_path)}) == 2


def test_no_more_starts_are_kept_idle_than_are_in_use(make: Make, tmp_path: Path) -> None:
    for units in (1, 2, 4, 8, 16):
        simulate(make(f"u{units}", units=units))
        assert len(started(tmp_path)) == len(places(tmp_path)) == min(units, 2)


def test_a_gem5_that_was_built_again_is_started_again(make: Make, tmp_path: Path, gem5: Gem5) -> None:
    simulate(make("before"))
    os.utime(gem5.binary)
    simulate(make("after"))
    assert len(started(tmp_path)) == 2


def test_runs_at_the_same_time_have_a_start_each(make: Make, tmp_path: Path) -> None:
    simulations = [make("a", "slow 1.0"), make("b", "slow 1.0")]
    threads = [threading.Thread(target=simulate, args=(one,)) for one in simulations]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not is_subreaper()
    assert all((one.run_dir / "run.json").exists() for one in simulations)
    assert [place.name for place in places(tmp_path)] == ["0", "1"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_fork_that_is_killed_is_no_result_and_its_start_lives_on(
    make: Make, tmp_path: Path, number: signal.Signals
) -> None:
    simulation = make("killed", "hang", on_failure="record")
    threading.Thread(target=kill_the_fork, args=(simulation, number), daemon=True).start()
    if number == signal.SIGKILL:
        with pytest.raises(RunFailed, match="interrupted"):
            simulate(simulation)
    else:
        assert simulate(simulation).status is Status.GEM5_CRASH
    (kept,) = started(tmp_path)
    assert simulate(make("next")).status is Status.COMPLETED
    assert started(tmp_path) == [kept]


def running_fork(simulation: Simulation) -> tuple[int, int]:
    """The started gem5 and its fork, as soon as that simulates."""
    simerr = simulation.run_dir / "attempts/1/m5out/simerr"
    wait_until(lambda: simerr.exists() and "event queue" in simerr.read_text())
    (pid,) = started(simulation.project)
    (fork,) = proc.children(pid)
    return pid, fork


def kill_the_fork(simulation: Simulation, number: int) -> None:
    os.kill(running_fork(simulation)[1], number)


def test_a_start_that_is_killed_takes_its_fork_with_it_and_the_next_run_has_another(make: Make) -> None:
    simulation, forks = make("killed", "hang"), []

    def kill() -> None:
        pid, fork = running_fork(simulation)
        forks.append(fork)
        os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    with pytest.raises(RunFailed, match="interrupted"):
        simulate(simulation)
    thread.join()
    wait_until(lambda: not any(map(alive, forks)))
    assert simulate(make("next")).status is Status.COMPLETED


def test_the_limits_of_a_run_are_those_of_its_fork(make: Make, tmp_path: Path) -> None:
    with pytest.raises(RunFailed) as caught:
        simulate(make("long", "hang", limits=Limits(wall_seconds=2, grace_seconds=0.5)))
    assert caught.value.record.status is Status.TIMEOUT
    with pytest.raises(RunFailed) as caught:
        simulate(make("large", "oom", limits=Limits(memory_bytes=300 << 20, grace_seconds=0.5)))
    assert caught.value.record.status is Status.HOST_OUT_OF_MEMORY
    assert len(started(tmp_path)) == 1


def test_a_gem5_that_cannot_start_fails_as_it_does_by_itself(make: Make) -> None:
    simulation = make("wrong")
    process = simulation.process
    wrong = replace(process, options={**process.options, "no-such-option": 1})
    with pytest.raises(RunFailed) as caught:
        simulate(replace(simulation, process=wrong))
    assert "unrecognized arguments: --no-such-option=1" in caught.value.record.evidence


def test_a_start_that_nobody_asks_for_ends_and_leaves_nothing(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(share_start, "IDLE_SECONDS", 1)
    simulate(make("first"))
    (pid,) = started(tmp_path)
    wait_until(lambda: not alive(pid))
    assert not places(tmp_path)
    assert simulate(make("next")).status is Status.COMPLETED


def test_a_start_ends_with_its_workflow(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen(["sleep", "600"]) as workflow:
        owner = Owner.of(workflow.pid)
        monkeypatch.setattr("apuflow.containers.shared_start.outermost_workflow", lambda: owner)
        simulate(make("first"))
        (pid,) = started(tmp_path)
        workflow.kill()
    wait_until(lambda: not alive(pid))
    assert not places(tmp_path)


def test_a_run_whose_job_is_killed_ends_with_it(make: Make) -> None:
    simulation = make("orphan", "hang")
    job = os.fork()
    if job == 0:
        try:
            simulate(simulation)
        finally:
            os._exit(0)
    _, fork = running_fork(simulation)
    os.kill(job, signal.SIGKILL)
    os.waitpid(job, 0)
    wait_until(lambda: not alive(fork))
