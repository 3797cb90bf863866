"""Recorded failures that are let try again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from run_records import run_record
from sweep_texts import expand

from apuflow.core.errors import ConfigError
from apuflow.results.retry import recorded_failures, release_for_rerun

SWEEP = "description: x\nengines: [gem5]\nworkloads: [softmax_fwd]\naxes: {num-compute-units: [4, 8]}\n"


def write_run(root: Path, workload: str, point: str, status: str) -> Path:
    directory = root / "runs/gem5" / workload / point
    (directory / "attempts/1").mkdir(parents=True)
    record = run_record(engine="gem5", workload=workload, point=point, status=status, attempt=1)
    (directory / "run.json").write_text(json.dumps(record))
    if status != "completed":
        (directory / "attempts/1/failure.json").write_text(json.dumps(record))
    return directory


@pytest.fixture
def project(root: Path) -> Path:
    """A sweep of two points: one done, one out of time. Two failures that no sweep asks for."""
    done, late = expand(root, SWEEP, name="mine")
    write_run(root, "softmax_fwd", done.id, "completed")
    write_run(root, "softmax_fwd", late.id, "timeout")
    write_run(root, "softmax_fwd", "old", "deadlock")
    write_run(root, "lrn_fwd", "older", "timeout")
    return root


def names(project: Path, **chosen: Any) -> list[str]:
    return [run.point.split("-")[0] for run in recorded_failures(project, **chosen)]


def test_failures_are_chosen_by_sweep_workload_and_status(project: Path) -> None:
    assert sorted(names(project)) == ["old", "older", "v23.0_u8"]
    assert names(project, sweep="mine") == ["v23.0_u8"]
    assert names(project, workload="lrn_fwd") == ["older"]
    assert names(project, outcomes=["deadlock"]) == ["old"]
    assert names(project, outcomes=["deadlock"], workload="lrn_fwd") == []


def test_unknown_names_are_refused(project: Path) -> None:
    for chosen in ({"outcomes": ["completed"]}, {"outcomes": ["timeot"]}, {"sweep": "nosuch"}):
        with pytest.raises(ConfigError):
            names(project, **chosen)


def test_a_failure_that_runs_again_is_gone_with_its_tables_and_keeps_its_evidence(
    project: Path,
) -> None:
    results = project / "results/mine"
    (results / "figures").mkdir(parents=True)
    [late] = recorded_failures(project, sweep="mine")
    (results / "softmax_fwd.csv").write_text(f"point\n{late.point}\n")
    (results / "lrn_fwd.csv").write_text("point\nanother\n")
    made = ["softmax_fwd.parquet", "softmax_fwd.columns.json", "report.html", "figures/speedup.svg"]
    for name in made:
        (results / name).touch()
    evidence = (late.log / "failure.json").read_text()
    release_for_rerun(project, late)
    assert not list(recorded_failures(project, sweep="mine"))
    assert not (project / "runs/gem5/softmax_fwd" / late.point / "run.json").exists()
    assert (late.log / "failure.json").read_text() == evidence
    assert sorted(path.name for path in results.rglob("*.*")) == ["lrn_fwd.csv"]


def test_a_record_without_its_evidence_becomes_the_evidence(project: Path) -> None:
    [old] = recorded_failures(project, outcomes=["deadlock"])
    record = project / "runs/gem5/softmax_fwd/old/run.json"
    text = record.read_text()
    (old.log / "failure.json").unlink()
    release_for_rerun(project, old)
    assert not record.exists()
    assert (old.log / "failure.json").read_text() == text
