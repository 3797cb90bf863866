"""A run's job finds its point and its inputs without the work for the rest of the sweep."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import yaml

from apuflow.campaign.campaign import Campaign
from apuflow.campaign.points import point_at, points
from apuflow.configure import load_sweep
from apuflow.core import paths
from apuflow.core.engines import EngineName
from apuflow.core.errors import ConfigError
from apuflow.engines import simulating_engine
from apuflow.engines.base import Inputs, Needs
from apuflow.miopen.objects import KernelObject
from apuflow.miopen.prepare import DatabasePlan
from apuflow.prepare.tools import Toolset

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


def test_inputs_are_what_the_rule_was_given_and_else_what_the_point_needs(
    swept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [point, *_] = Campaign(swept).points("some", "softmax_fwd", "gem5-kernels")
    row = SimpleNamespace(program="MIOpenSoftmax.cl", arguments=" -DNUM_BATCH=1")
    item = cast(KernelObject, SimpleNamespace(row=row, gfx="gfx801", name="softmax-1"))
    plan = cast(DatabasePlan, SimpleNamespace(path="cachefiles/some.ukdb", objects=(item,)))
    needs = Needs(("build/gem5.json", "build/image.json"), (item,), plan, "build/mmap.bin", None)
    tools = cast(Toolset, SimpleNamespace())
    kernels = {("MIOpenSoftmax.cl", " -DNUM_BATCH=1"): paths.kernel_object("gfx801", "softmax-1")}
    wanted = Inputs("build/gem5.json", "cachefiles/some.ukdb", "build/mmap.bin")
    whole = simulating_engine("gem5")
    assert whole.inputs(tools, point, needs.rule_inputs()) == wanted
    bare = Needs(("build/gem5.json", "build/image.json")).rule_inputs()
    assert whole.inputs(tools, point, bare) == Inputs("build/gem5.json")
    for name, given in (("gem5", {}), ("gem5-kernels", needs.rule_inputs())):
        engine = simulating_engine(cast(EngineName, name))
        monkeypatch.setattr(type(engine), "needs", lambda *_: needs)
        found = engine.inputs(tools, point, given)
        assert found == Inputs(wanted.gem5, wanted.database, wanted.data, None, kernels)


def test_a_job_loads_nothing_that_its_run_has_no_use_for() -> None:
    """Each run starts Python anew: clients of container engines and tables would double its time."""
    code = (
        "import sys; import apuflow.campaign.campaign, apuflow.campaign.script;"
        "import apuflow.engines.run_point, apuflow.engines.gem5, apuflow.engines.gem5_kernels;"
        "print(*{'numpy', 'pandas', 'docker', 'matplotlib', 'typer', 'jinja2'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
