"""A run's job finds its point without the work for the rest of the sweep."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from apuflow.configure import load_sweep
from apuflow.core.errors import ConfigError
from apuflow.plan.campaign import Campaign
from apuflow.plan.points import point_at, points

SWEEP = {
    "description": "a test",
    "engines": ["preview", "gem5-kernels"],
    "workloads": ["softmax_fwd", "conv_fwd"],
    "axes": {"layer": {"n": [1, 2]}, "num-compute-units": [4, 8]},
    "zip": [{"num-tccs": [1, 2], "tcc-size": ["256kB", "512kB"]}],
    "per_workload": {"conv_*": {"axes": {"layer": {"num_output": [16, 32]}}}},
}


@pytest.fixture
def swept(project: Path) -> Path:
    (project / "configs/sweeps/some.yaml").write_text(yaml.safe_dump(SWEEP, sort_keys=False))
    return project


@pytest.mark.parametrize("workload", ["softmax_fwd", "conv_fwd"])
def test_a_point_by_its_values_is_the_point_of_the_sweep(swept: Path, workload: str) -> None:
    sweep = load_sweep("some", swept)
    found = points(sweep, workload, swept)
    assert len(found) == 2 * 2 * 2 * 2 * (2 if workload == "conv_fwd" else 1)
    for point in found:
        alone = point_at(sweep, workload, point.engine, point.axes, swept)
        assert alone == point
        assert alone.id == point.id


def test_a_point_that_is_another_one_by_now_is_refused(swept: Path) -> None:
    campaign = Campaign(swept)
    [point, *_] = campaign.points("some", "softmax_fwd", "gem5-kernels")
    same = campaign.replan_point("some", point.engine, "softmax_fwd", point.id, point.axes)
    assert same == point
    text = {**SWEEP, "options": {"wfs-per-simd": 4}}
    (swept / "configs/sweeps/some.yaml").write_text(yaml.safe_dump(text, sort_keys=False))
    with pytest.raises(ConfigError, match="not what it was when the workflow started"):
        Campaign(swept).replan_point("some", point.engine, "softmax_fwd", point.id, point.axes)
    text = {**SWEEP, "options": {"wfs-per-simd": -1}}
    (swept / "configs/sweeps/some.yaml").write_text(yaml.safe_dump(text, sort_keys=False))
    with pytest.raises(ConfigError, match="wfs-per-simd"):
        Campaign(swept).replan_point("some", point.engine, "softmax_fwd", point.id, point.axes)
