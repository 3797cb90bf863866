"""What a sweep will cost, and what of it is already there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from run_records import run_record
from sweep_texts import HEAD, expand
from typer.testing import CliRunner

from apuflow import preview
from apuflow.cli import build_app
from apuflow.configure import option_rules
from apuflow.configure.point import Point
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.engines import get_engine
from apuflow.study import plan

ROOT = Path(__file__).parents[2]


def one(root: Path, text: str, workload: str = "softmax_fwd") -> Point:
    (point,) = expand(root, text, workload)
    return point


def test_plan_counts_what_is_there(root: Path) -> None:
    found = expand(root, HEAD.replace("preview", "gem5-kernels") + "axes: {num-compute-units: [1, 2, 4]}\n")
    records = (run_record(status="completed", wall_seconds=12), run_record(status="timeout"))
    for point, content in zip(found, records, strict=False):
        record = root / paths.run_record(point.engine, point.workload, point.id)
        record.parent.mkdir(parents=True)
        record.write_text(json.dumps(content))
    (planned,) = plan.plan_sweep("t", None, root).workloads
    assert [point.status for point in planned.points] == ["completed", "timeout", ""]
    assert (planned.done, planned.failed) == (1, 1)
    assert planned.total_seconds == 24 and "1 completed" in planned.basis


def test_plan_estimates_from_the_preview_when_nothing_ran(root: Path) -> None:
    """Recorded host seconds of this kernel alone: 11.95 to 60.6 for 1 to 64 CUs."""
    expand(root, HEAD.replace("preview", "gem5-kernels") + "axes: {num-compute-units: [1, 64]}\n")
    (planned,) = plan.plan_sweep("t", None, root).workloads
    assert planned.seconds is not None
    assert 4 < planned.seconds[0] < 40 and 20 < planned.seconds[1] < 200


def test_memory_estimate_grows_with_tensors_and_units(root: Path) -> None:
    head = HEAD.replace("preview", "gem5")
    small, wide = one(root, head), one(root, head + "options: {num-compute-units: 64}\n")
    large = one(root, head.replace("softmax_fwd", "lrn_fwd"), "lrn_fwd")
    gem5, preview = get_engine("gem5"), get_engine("preview")
    assert gem5.host_memory(small) < gem5.host_memory(wide) < gem5.host_memory(large)
    assert gem5.host_memory(large) > 2 * 6_700_000_000
    assert preview.host_memory(one(root, HEAD)) == 0


def test_commands(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    app, runner = build_app(), CliRunner()
    shown = runner.invoke(app, ["plan", "quickstart", "softmax_fwd"])
    assert shown.exit_code == 0 and "u64-" in shown.output and "7 points, 0 done" in shown.output
    listed = json.loads(runner.invoke(app, ["plan", "quickstart", "pool_bwd", "--json"]).output)
    assert len(listed["workloads"][0]["points"]) == 7 and listed["workloads"][0]["warnings"]
    assert "unproven" in runner.invoke(app, ["workloads"]).output
    assert "transposed" not in runner.invoke(app, ["workloads", "conv_fwd"]).output
    assert isinstance(runner.invoke(app, ["plan", "nosuch"]).exception, ConfigError)
    assert isinstance(runner.invoke(app, ["plan", "quickstart", "dropout_fwd"]).exception, ConfigError)
    assert runner.invoke(app, ["new", "study", "mine"]).exit_code == 0
    assert "4.0 GB" not in runner.invoke(app, ["plan", "mine"]).output


def test_plan_knows_which_points_a_preview_batch_has(root: Path) -> None:
    found = expand(root, HEAD + "axes: {num-compute-units: [1, 2]}\n")
    counters = root / paths.preview_counters("t", "softmax_fwd")
    counters.parent.mkdir(parents=True)
    preview.run(found, option_rules.defaults("v23.0")).to_parquet(counters)
    expand(root, HEAD + "axes: {num-compute-units: [1, 2, 4]}\n")
    (planned,) = plan.plan_sweep("t", None, root).workloads
    assert [point.status for point in planned.points] == ["completed", "completed", ""]
    counters.write_bytes(b"half a file")
    assert plan.plan_sweep("t", None, root).workloads[0].done == 0
