"""A disk that is full or read-only at a step of a run: nothing is published, a rerun completes the work."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import needs
import pytest
from standins.repositories import make_gem5

from apuflow.containers.host import HostEngine
from apuflow.containers.job import Limits
from apuflow.core.errors import ApuflowError, EngineError
from apuflow.core.record import Status
from apuflow.prepare.data_file import write_mmap
from apuflow.run.attempt import simulate
from apuflow.run.command import Gem5, Guest
from apuflow.run.outcome import Expectation
from apuflow.run.process import PointFacts, Process, Simulation

pytestmark = pytest.mark.engine


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB."""
    if os.getuid() != 0:
        needs.MOUNT.skip()
    place = tmp_path / "small"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", place], check=False)
    if done.returncode != 0:
        needs.MOUNT.skip()
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


@pytest.fixture(scope="module")
def gem5(tmp_path_factory: pytest.TempPathFactory) -> Gem5:
    root = make_gem5(tmp_path_factory.mktemp("upstream") / "gem5").path
    subprocess.run([sys.executable, "SConstruct", "build/GCN3_X86/gem5.opt"], cwd=root, check=True)
    return Gem5(root / "build/GCN3_X86/gem5.opt", root / "configs/example/apu_se.py")


def simulation(project: Path, programs: Path, gem5: Gem5) -> Simulation:
    programs.mkdir(exist_ok=True)
    (programs / "ok").write_text("#!program\nall is well\n")
    options: dict[str, int | str] = {"num-compute-units": 4, "gfx-version": "gfx801"}
    guest = Guest(programs, "ok")
    return Simulation(
        project=project,
        run_dir=project / "runs/gem5/demo/u4-0123abcd",
        point=PointFacts("gem5", "demo", None, "u4-0123abcd", {}, {}, options, "gfx801", "v23.0"),
        gem5=gem5,
        process=Process(guest, options, Expectation(end_marker="all is well")),
        container=HostEngine(),
        limits=Limits(wall_seconds=60),
        compress="zst",
        on_failure="record",
    )


@pytest.mark.parametrize("free", [0, 8 << 10, 40 << 10, 1 << 20, 2_400_000, 2_560_000])
def test_a_run_on_a_full_disk_is_not_published_and_runs_again(
    small: Path, tmp_path: Path, gem5: Gem5, free: int
) -> None:
    """The statistics take 2.5 MB: the disk is full while laying out, running, or putting them away."""
    ballast = small / "ballast"
    ballast.write_bytes(b"\0" * ((4 << 20) - 4096 * 8 - free))
    made = simulation(small, tmp_path / "programs", gem5)
    try:
        record = simulate(made)
    except EngineError as error:
        assert "disk" in str(error) or "space" in str(error)
        assert not (made.run_dir / "run.json").exists()
        ballast.unlink()
        record = simulate(made)
    assert record.status is Status.COMPLETED


def test_a_read_only_place_is_said(small: Path, tmp_path: Path, gem5: Gem5) -> None:
    subprocess.run(["mount", "-o", "remount,ro", small], check=True)
    with pytest.raises(EngineError, match="Read-only file system"):
        simulate(simulation(small, tmp_path / "programs", gem5))


def test_a_data_file_that_does_not_fit_leaves_nothing(small: Path) -> None:
    with pytest.raises(ApuflowError, match="no space for the data file"):
        write_mmap(small / "mmap.bin", 8 << 20)
    assert list(small.iterdir()) == []
