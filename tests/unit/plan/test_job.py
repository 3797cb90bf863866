"""The points of a batch, one after the other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from plan_tasks import task
from run_records import run_record

from apuflow.core.errors import ConfigError
from apuflow.core.record import RunRecord, Status
from apuflow.kernels.sources import source_identity
from apuflow.plan.campaign import Campaign
from apuflow.plan.job import each_task, refuse_what_changed
from apuflow.plan.manifest import Settings, Task
from apuflow.prepare.tools import Toolset
from apuflow.run.attempt import Busy
from apuflow.run.process import RunFailed

TASKS = [task(number) for number in range(3)]


class Runs:
    """Runs that end as said; remembers which were begun."""

    def __init__(self, **ends: Exception) -> None:
        self.ends: dict[str, Any] = dict(ends)
        self.begun: list[tuple[str, bool]] = []

    def __call__(self, one: Task, wait: bool) -> str:
        self.begun.append((one.point.label, wait))
        end = self.ends.get(one.point.label)
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
    runs = Runs(u1=end)
    assert each_task(TASKS, runs) == {TASKS[1].point.record: said}
    assert [name for name, _ in runs.begun] == ["u0", "u1", "u2"]


def test_a_signal_stops_the_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runs = Runs(u1=failed(Status.INTERRUPTED, stopped=True))
    problems = each_task(TASKS, runs)
    assert problems[TASKS[2].point.record] == "not begun: the batch was stopped"
    assert [name for name, _ in runs.begun] == ["u0", "u1"]


def test_a_point_that_another_process_runs_comes_last() -> None:
    runs = Runs(u0=Busy("another process is running this point"))
    assert each_task(TASKS, runs) == {}
    assert runs.begun == [("u0", False), ("u1", False), ("u2", False), ("u0", True)]


@pytest.mark.parametrize("workload", ["softmax_fwd", "gemm", "operations"])
def test_a_job_refuses_software_that_its_point_was_not_planned_with(root: Path, workload: str) -> None:
    """The site's gem5 is another program when the job starts: its numbers would have the first one's name."""
    site = "container: host\ngem5: {binary: gem5.opt, source: .}\n"
    (root / "gem5.opt").write_bytes(b"one")
    (root / "configs/site.yaml").write_text(site)
    runs = "suites: [deepbench_gemm]" if workload == "operations" else f"workloads: [{workload}]"
    text = f"description: x\nengines: [gem5-kernels]\n{runs}\nproducts: stand-in\n"
    (root / "configs/sweeps/t.yaml").write_text(text)
    campaign = Campaign(root)
    point = campaign.points("t", workload)[0]
    settings = Settings.of(campaign.load("t"))
    planned = task(1, point=point)
    refuse_what_changed(planned, settings, Toolset(point.release, root))
    (root / "other.opt").write_bytes(b"another")
    (root / "configs/site.yaml").write_text(site.replace("gem5.opt", "other.opt"))
    with pytest.raises(ConfigError, match="not what it was when the workflow started"):
        refuse_what_changed(planned, settings, Toolset(point.release, root))


@pytest.mark.parametrize("file", ["vector_add.cl", "vector_add.py"])
def test_a_job_refuses_kernels_that_its_point_was_not_planned_with(root: Path, file: str) -> None:
    """A kernel, or its reference, is edited while the workflow runs."""
    text = "description: x\nengines: [gem5-kernels]\nworkloads: [own_vector_add]\n"
    (root / "configs/sweeps/t.yaml").write_text(text)
    (root / "configs/site.yaml").write_text("container: host\ngem5: {binary: gem5.opt, source: .}\n")
    (root / "gem5.opt").write_bytes(b"one")
    campaign = Campaign(root)
    point = campaign.points("t", "own_vector_add")[0]
    settings, planned = Settings.of(campaign.load("t")), task(1, point=point)
    refuse_what_changed(planned, settings, Toolset(point.release, root))
    with (root / "configs/workloads/kernels" / file).open("a") as stream:
        stream.write("\n")
    source_identity.cache_clear()  # a job is a process of its own
    with pytest.raises(ConfigError, match="not what it was when the workflow started"):
        refuse_what_changed(planned, settings, Toolset(point.release, root))
