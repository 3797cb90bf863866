"""The points of a batch, one after the other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from run_records import run_record

from apuflow.core.errors import ConfigError
from apuflow.core.record import RunRecord, Status
from apuflow.plan.orders import BatchOrder, PointOrder
from apuflow.plan.run_batch import each_point
from apuflow.run.attempt import Busy
from apuflow.run.process import RunFailed

NAMES = ("a", "b", "c")


def record_of(name: str) -> str:
    return f"runs/gem5/softmax_fwd/{name}/run.json"


def batch() -> BatchOrder:
    return BatchOrder(
        tuple(PointOrder("gem5", "softmax_fwd", n, "t", {}, {}, 4000, 15, 1.0) for n in NAMES), 12
    )


class Runs:
    """Runs that end as said; remembers which were begun."""

    def __init__(self, **ends: Exception) -> None:
        self.ends: dict[str, Any] = dict(ends)
        self.begun: list[tuple[str, bool]] = []

    def __call__(self, one: PointOrder, wait: bool) -> str:
        self.begun.append((one.point, wait))
        end = self.ends.get(one.point)
        if end is not None and not (isinstance(end, Busy) and wait):
            raise end
        return "completed"


def failed(status: Status, *, stopped: bool = False) -> RunFailed:
    record = RunRecord.model_validate_json(json.dumps(run_record(status=status, evidence="so it ended")))
    return RunFailed(record, Path("there"), stopped=stopped)


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (failed(Status.GEM5_PANIC), "gem5_panic: so it ended"),
        (ConfigError("no such option"), "no such option"),
    ],
)
def test_a_point_that_fails_does_not_stop_the_others(end: Exception, said: str) -> None:
    runs = Runs(b=end)
    assert each_point(batch(), runs) == {record_of("b"): said}
    assert [name for name, _ in runs.begun] == ["a", "b", "c"]


def test_a_signal_stops_the_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runs = Runs(b=failed(Status.INTERRUPTED, stopped=True))
    problems = each_point(batch(), runs)
    assert problems[record_of("c")] == "not begun: the batch was stopped"
    assert [name for name, _ in runs.begun] == ["a", "b"]


def test_a_point_that_another_process_runs_comes_last() -> None:
    runs = Runs(a=Busy("another process is running this point"))
    assert each_point(batch(), runs) == {}
    assert runs.begun == [("a", False), ("b", False), ("c", False), ("a", True)]
