"""Every run as it stands."""

from __future__ import annotations

from pathlib import Path

import pytest
from run_states import write_one_of_each

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
