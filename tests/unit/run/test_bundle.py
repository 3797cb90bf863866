"""What a run leaves beside its record, as one file."""

from __future__ import annotations

from pathlib import Path

import pytest

from apuflow.run.packing import bundled, unpack


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """A run with an attempt, a link to an input, and marks of a run that goes on."""
    attempt = tmp_path / "project/runs/gem5/w/p/attempts/1"
    attempt.mkdir(parents=True)
    (attempt / "simerr").write_text("said")
    (attempt / "data").symlink_to("/an/input")
    directory = attempt.parents[1]
    for name in ("stats.txt.gz", "run.json", ".lock", "progress.json"):
        (directory / name).write_text(name)
    return directory


def files(directory: Path) -> dict[str, str]:
    found = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_text() for path in found}


def test_a_finished_run_comes_back_as_it_was(run_dir: Path, tmp_path: Path) -> None:
    """Its record is an output of its own; what was in the way is replaced."""
    there = tmp_path / "there"
    with bundled(run_dir, str(there / "run.tar.gz")):
        pass
    (there / "attempts/1").mkdir(parents=True)
    (there / "attempts/1/simerr").write_text("of another time")
    unpack(there / "run.tar.gz")
    assert files(there) == {"attempts/1/simerr": "said", "stats.txt.gz": "stats.txt.gz"}


@pytest.mark.parametrize("error", [RuntimeError, SystemExit, KeyboardInterrupt])
def test_what_a_failed_run_left_is_packed_before_the_job_ends(
    run_dir: Path, tmp_path: Path, error: type[BaseException]
) -> None:
    with pytest.raises(error), bundled(run_dir, str(tmp_path / "run.tar.gz")):
        raise error
    unpack(tmp_path / "run.tar.gz")
    assert (tmp_path / "attempts/1/simerr").read_text() == "said"


def test_an_empty_bundle_is_that_of_a_run_that_left_nothing(tmp_path: Path) -> None:
    (tmp_path / "run.tar.gz").touch()
    unpack(tmp_path / "run.tar.gz")
    assert files(tmp_path) == {}


def test_where_machines_share_the_project_nothing_is_packed(run_dir: Path) -> None:
    before = files(run_dir)
    with pytest.raises(RuntimeError), bundled(run_dir, None):
        raise RuntimeError
    with bundled(run_dir, None):
        pass
    assert files(run_dir) == before
