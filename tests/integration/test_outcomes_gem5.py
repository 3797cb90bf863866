"""How runs of a real gem5 end: APUFLOW_TEST_GEM5=.../build/GCN3_X86/gem5.opt (or VEGA_X86). Minutes."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import real_gem5
from kernel_builds import compiled
from places import ROOT
from real_gem5 import APU, DISCRETE

from apuflow.containers.host import HostEngine
from apuflow.containers.job import Limits
from apuflow.core.proc import process_tree
from apuflow.core.record import RunRecord, Status
from apuflow.dnnmark import parse
from apuflow.engines.derived_kernels import kernel_run
from apuflow.engines.simulated import statistics_of
from apuflow.launcher.program import build_launcher
from apuflow.miopen import launches
from apuflow.run.attempt import simulate
from apuflow.run.command import Guest
from apuflow.run.outcome import Expectation
from apuflow.run.process import PointFacts, Process, RunFailed, Simulation

pytestmark = pytest.mark.gem5

# A matrix product: its kernel is this project's own, so MIOpen's sources are not needed.
LAYER = (
    "[DNNMark]\nrun_mode=standalone\n[FullyConnected]\nname=l\nn=20\nc=200\nh=1\nw=1\n"
    "previous_layer=null\nnum_output=100\n"
)
OPTIONS: dict[str, Any] = {
    "num-cpus": 3,
    "num-compute-units": 4,
    "cu-per-sa": 4,
    "mem-size": "1GB",
    "gfx-version": APU,
}
Run = Callable[..., RunRecord]


@pytest.fixture
def run() -> Iterator[Run]:
    """Runs the layer's kernel on the real gem5, with changes; returns its record, published or not."""
    release = real_gem5.release()
    gem5 = real_gem5.gem5(release)
    directory = Path(tempfile.mkdtemp(prefix=".gem5-test-", dir=ROOT))
    found = launches(parse(LAYER), "fwd", 4)
    paths = compiled(found, APU, directory, directory)
    build_launcher("gcc", directory / "launcher")

    def run(
        options: dict[str, Any] | None = None,
        change: Callable[[Process], Process] = lambda process: process,
        **changes: Any,
    ) -> RunRecord:
        given = {**OPTIONS, **(options or {})}
        planned = kernel_run(
            found,
            gfx=APU,
            options=given,
            launcher=directory / "launcher",
            objects=paths,
            statistics=statistics_of(release),
        )
        simulation = Simulation(
            project=directory,
            run_dir=directory / "run",
            point=PointFacts(
                "gem5-kernels", "fc_fwd", "fwd", "p", {}, {}, given, APU, release.name, release.facts
            ),
            gem5=gem5,
            process=change(planned.process),
            container=HostEngine(),
            launches=planned.launches,
            **{"limits": Limits(wall_seconds=900, grace_seconds=60), **changes},
        )
        try:
            record = simulate(simulation)
        except RunFailed as failed:
            assert not (directory / "run/run.json").exists()
            return failed.record
        assert (directory / "run/run.json").exists()
        return record

    yield run
    shutil.rmtree(directory)


def test_a_run_is_proven(run: Run) -> None:
    record = run(compress="zst")
    assert (record.status, record.statistics) == (Status.COMPLETED, "stats.txt.zst")
    assert record.ticks is not None
    assert record.peak_memory_bytes is not None
    assert record.peak_memory_bytes > 100 << 20


@pytest.mark.parametrize(
    ("options", "status", "evidence"),
    [
        ({"abs-max-tick": 1_000_000_000}, Status.INCOMPLETE, "simulate() limit reached"),
        ({"no-such-option": 3}, Status.CONFIG_ERROR, "unrecognized arguments: --no-such-option=3"),
        ({"mem-type": "DDR9"}, Status.CONFIG_ERROR, "invalid choice: 'DDR9'"),
        ({"gfx-version": DISCRETE}, Status.CONFIG_ERROR, "Incorrect gfx version for APU"),
        ({"CUExecPolicy": "NONE"}, Status.CONFIG_ERROR, "fatal: "),
        ({"mem-size": "16kB"}, Status.GUEST_OUT_OF_MEMORY, "increase size of physical memory"),
    ],
)
def test_options_that_end_a_run(run: Run, options: dict[str, Any], status: Status, evidence: str) -> None:
    record = run(options)
    assert (record.status, evidence in record.evidence) == (status, True), record.evidence


def test_a_wall_limit_is_a_timeout(run: Run) -> None:
    """gem5 is asked to end, not killed: with 0 where it simulates, with 1 where it still starts."""
    record = run(limits=Limits(wall_seconds=3, grace_seconds=60))
    assert record.status is Status.TIMEOUT
    assert record.exit_code in (0, 1)


def test_memory_beyond_the_limit(run: Run) -> None:
    record = run(limits=Limits(memory_bytes=100 << 20, wall_seconds=900))
    assert record.status is Status.HOST_OUT_OF_MEMORY


def once_gem5_runs(action: Callable[[int], None]) -> threading.Thread:
    """Do something with the process of gem5 as soon as there is one."""

    def look() -> None:
        for _ in range(6000):
            for pid in process_tree(os.getpid())[1:]:
                with contextlib.suppress(OSError):
                    if b"apu_se.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
                        action(pid)
                        return
            time.sleep(0.01)

    thread = threading.Thread(target=look)
    thread.start()
    return thread


def test_a_kill_from_outside_is_never_a_result(run: Run) -> None:
    thread = once_gem5_runs(lambda pid: os.kill(pid, signal.SIGKILL))
    record = run(on_failure="record")
    thread.join()
    assert (record.status, record.exit_code) == (Status.INTERRUPTED, 137)


def test_a_signal_to_us_is_never_a_result(run: Run) -> None:
    thread = once_gem5_runs(lambda pid: os.kill(os.getpid(), signal.SIGTERM))
    record = run(on_failure="record")
    thread.join()
    assert record.status is Status.INTERRUPTED


def test_a_guest_that_fails_has_full_statistics_and_no_record(run: Run) -> None:
    def without_list(process: Process) -> Process:
        return replace(process, guest=replace(process.guest, arguments=("nonesuch.list",)))

    record = run(change=without_list)
    assert record.status is Status.GUEST_FAILURE
    assert record.ticks is not None


def test_todays_libc_is_refused_by_the_simulated_cpu(run: Run) -> None:
    """A program of this machine: a newer C library stops, an older one runs but launches no kernel."""

    def of_this_machine(process: Process) -> Process:
        return Process(Guest(Path("/bin"), "true"), process.options, Expectation())

    record = run(change=of_this_machine)
    assert record.status in (Status.GUEST_FAILURE, Status.GEM5_FATAL, Status.GEM5_PANIC)
