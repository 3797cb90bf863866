"""What a job reads of the plan that its workflow has written."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from places import ROOT
from plan_tasks import task

from apuflow.configure import Sweep
from apuflow.core import project
from apuflow.core.engines import ENGINES
from apuflow.core.errors import EngineError
from apuflow.plan import manifest
from apuflow.plan.campaign import Campaign
from apuflow.plan.manifest import Manifest, Settings, Task

TASKS = [task(number, batch="b" * 16 if number < 2 else "") for number in range(3)]


def written(root: Path, sweep: Sweep, tasks: list[Task] = TASKS) -> Manifest:
    points = [one.point for one in tasks]
    return manifest.write(sweep, "softmax_fwd", points, {one.point.record: one for one in tasks}, root)


@pytest.fixture
def sweep() -> Sweep:
    return Campaign(ROOT).load("kernels")


@pytest.mark.parametrize(
    ("sweep", "workload"), [("known_answers", None), ("networks", "operations"), ("own_kernels", None)]
)
def test_points_of_every_kind_come_back_as_they_were_planned(
    tmp_path: Path, sweep: str, workload: str | None
) -> None:
    campaign = Campaign(ROOT)
    loaded = campaign.load(sweep)
    for name in [workload] if workload else campaign.workloads(loaded):
        points = campaign.points(sweep, name)
        plan = manifest.write(loaded, name, points, {}, tmp_path)
        assert plan.points() == points
        assert [point.id for point in plan.points()] == [point.id for point in points]
        assert list(plan.axes()) == [(point.engine, point.id) for point in points]
    assert set(ENGINES) >= {point.engine for point in points}


def test_a_job_reads_its_row_and_what_all_runs_have_in_common(tmp_path: Path, sweep: Sweep) -> None:
    plan = written(tmp_path, sweep)
    for one in TASKS:
        assert plan.tasks(engine=one.point.engine, id=one.point.id) == [one]
    assert plan.tasks(engine="gem5", id=TASKS[0].point.id) == []
    assert plan.tasks(batch="b" * 16) == TASKS[:2] and plan.tasks(batch="c" * 16) == []
    assert plan.settings == Settings.of(sweep)
    assert (plan.sweep, plan.workload) == ("kernels", "softmax_fwd")


def test_the_name_follows_from_all_that_a_plan_was_made_from(
    tmp_path: Path, sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {written(tmp_path, sweep).path}
    assert written(tmp_path, sweep).path in names
    names.add(written(tmp_path, sweep, [replace(TASKS[0], memory_mb=4001), *TASKS[1:]]).path)
    names.add(written(tmp_path, sweep.model_copy(update={"products": "stand-in"})).path)
    monkeypatch.setattr(project, "code_version", lambda: "another")
    names.add(written(tmp_path, sweep).path)
    assert len(names) == 4


def test_a_plan_of_another_version_ends_the_job_with_the_command_to_run(
    tmp_path: Path, sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = written(tmp_path, sweep)
    monkeypatch.setattr(project, "code_version", lambda: "another")
    with pytest.raises(EngineError, match="another version of apuflow") as caught:
        plan.settings  # noqa: B018
    assert caught.value.file == str(plan.file)
    assert "snakemake --cores all results/kernels/softmax_fwd.csv" in str(caught.value.remedy)


@pytest.mark.parametrize(
    ("damage", "said"),
    [(Path.unlink, "is not there"), (lambda file: os.truncate(file, 5000), "cannot be read")],
)
def test_a_plan_that_is_gone_or_damaged_is_named_with_the_command_to_run(
    tmp_path: Path, sweep: Sweep, damage: object, said: str
) -> None:
    plan = written(tmp_path, sweep)
    assert callable(damage)
    damage(plan.file)
    with pytest.raises(EngineError, match=said) as caught:
        plan.points()
    assert caught.value.file == str(plan.file) and "snakemake --cores all" in str(caught.value.remedy)


def test_a_write_that_is_cut_short_leaves_no_plan(
    tmp_path: Path, sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(sqlite3, "connect", full_disk)
    with pytest.raises(sqlite3.OperationalError):
        written(tmp_path, sweep)
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]


def test_jobs_look_into_the_newest_plan_first_and_into_unfinished_ones_of_earlier_calls(
    tmp_path: Path, sweep: Sweep
) -> None:
    assert manifest.published(tmp_path) == []
    first, second = written(tmp_path, sweep), written(tmp_path, sweep, TASKS[:1])
    manifest.publish([first], tmp_path)
    manifest.publish([second], tmp_path)
    assert [plan.path for plan in manifest.published(tmp_path)] == [second.path, first.path]
    first.file.unlink()
    manifest.publish([second], tmp_path)
    assert [plan.path for plan in manifest.published(tmp_path)] == [second.path]


def test_a_plan_is_done_when_each_of_its_runs_has_a_record(tmp_path: Path, sweep: Sweep) -> None:
    plan = written(tmp_path, sweep)
    for one in TASKS:
        assert not plan.is_done()
        record = tmp_path / one.point.record
        record.parent.mkdir(parents=True)
        record.touch()
    assert plan.is_done()
