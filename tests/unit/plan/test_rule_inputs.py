"""What the rules of the expensive stages ask."""

from __future__ import annotations

from pathlib import Path

import pytest
from sweep_texts import one

from apuflow.configure.point import Point
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.plan.campaign import Campaign
from apuflow.plan.orders import OWN_MEMORY_MB, START_MINUTES
from apuflow.plan.rule_inputs import RuleInputs
from apuflow.prepare.tools import Toolset

SWEEP = "description: x\nengines: [{engine}]\nworkloads: [{workload}]\nlimits: {{wall_time: 90m}}\n"


@pytest.fixture
def root(root: Path) -> Path:
    """A project of one small sweep: whose a run is, is asked of all sweeps, and most that ship are large."""
    for sweep in (root / "configs/sweeps").glob("*.yaml"):
        if sweep.stem != "quickstart":
            sweep.unlink()
    return root


def run_of(root: Path, engine: str, workload: str) -> tuple[RuleInputs, Point, dict[str, str]]:
    """The rules' questions, a point, and the wildcards of the rule that runs it."""
    point = one(root, SWEEP.format(engine=engine, workload=workload), workload)
    wildcards = {"engine": point.engine, "workload": workload, "point": point.id}
    return RuleInputs(Campaign(root)), point, wildcards


def wildcards_of(record: str) -> dict[str, str]:
    """Those of the rule that makes a tool's record; a tool's own name has no wildcard."""
    found = paths.matcher(paths.tool_record()).fullmatch(record)
    assert found is not None
    return found.groupdict()


def test_a_run_may_take_twice_the_memory_that_it_needs(root: Path) -> None:
    """LRN of 100x32x256x256: gem5 keeps 6.7 GB of tensors and the 0.8 GB file that fills them, both twice."""
    inputs, _, wildcards = run_of(root, "gem5-kernels", "lrn_fwd")
    needed = 800e6 + 4 * 6.3e6 + 2 * (6_710_886_400 + 838_860_800)
    assert 2 * needed < inputs.simulation_order(wildcards)["memory_mb"] * 2**20 < 2 * (needed + 102e6)


def test_a_small_run_may_take_4_gb(root: Path) -> None:
    inputs, _, wildcards = run_of(root, "gem5-kernels", "softmax_fwd")
    assert inputs.simulation_memory(wildcards) == 4000 + OWN_MEMORY_MB
    assert (
        inputs.simulation_order(wildcards)["memory_mb"] == 4000
    )  # its own limit strikes before the scheduler's


def test_a_run_of_unknown_length_may_take_its_sweeps_wall_limit(root: Path) -> None:
    inputs, _, wildcards = run_of(root, "gem5-kernels", "softmax_fwd")
    assert inputs.point_sweep(wildcards) == "t"
    assert inputs.simulation_minutes(wildcards) == 90 + START_MINUTES


def test_a_job_is_told_what_varies(root: Path) -> None:
    text = SWEEP.format(engine="gem5-kernels", workload="softmax_fwd") + "axes: {num-compute-units: [8]}\n"
    point = one(root, text)
    wildcards = {"engine": point.engine, "workload": "softmax_fwd", "point": point.id}
    order = RuleInputs(Campaign(root)).simulation_order(wildcards)
    assert order["sweep"] == "t" and order["axes"] == {"num-compute-units": 8}


def test_a_proven_run_needs_no_toolchain(root: Path) -> None:
    inputs, point, wildcards = run_of(root, "gem5-kernels", "softmax_fwd")
    record = root / paths.run_record(point.engine, point.workload, point.id)
    record.parent.mkdir(parents=True)
    record.touch()
    assert inputs.simulation_inputs(wildcards) == {}
    inputs.check_ready()  # asks nothing of this machine


def test_a_run_that_no_sweep_asks_for_is_refused(root: Path) -> None:
    inputs, _, wildcards = run_of(root, "gem5-kernels", "softmax_fwd")
    with pytest.raises(ConfigError, match="no sweep has this point"):
        inputs.simulation_inputs({**wildcards, "point": "u4-00000000"})


@pytest.mark.parametrize(
    ("release", "site", "needs_sources"),
    [
        ("v24.0", "image: {mode: build}\n", True),
        ("v22.1", "image: {mode: build}\n", False),  # another gem5's Dockerfile
        ("v24.0", "image: {mode: local, name: mine}\n", False),
        ("v24.0", "container: host\nimage: {mode: build}\n", False),
    ],
)
def test_an_image_needs_gem5s_checkout_where_it_is_built_from_it(
    root: Path, release: str, site: str, needs_sources: bool
) -> None:
    (root / "configs/site.yaml").write_text(site)
    tools = Toolset(release, root)
    found = RuleInputs(Campaign(root)).image_sources(wildcards_of(tools.record("image")))
    assert found == ([tools.record("source-gem5")] if needs_sources else [])


def test_a_gem5_is_compiled_in_an_image_and_ones_own_is_not(root: Path) -> None:
    tools = Toolset("v22.1", root)
    wildcards = {**wildcards_of(tools.record("gem5-GCN3_X86")), "target": "GCN3_X86"}
    found = RuleInputs(Campaign(root)).gem5_sources(wildcards)
    assert found == [tools.record("source-gem5"), tools.record("image")]
    (root / "gem5.opt").write_bytes(b"mine")
    (root / "configs/site.yaml").write_text("gem5: {binary: gem5.opt, source: .}\n")
    tools = Toolset("v22.1", root)
    found = RuleInputs(Campaign(root)).gem5_sources(wildcards_of(tools.record("gem5")))
    assert found == [tools.record("source-gem5")]


def test_a_record_of_another_wish_is_refused_with_the_right_one(root: Path) -> None:
    other = wildcards_of(Toolset("v22.1", root).record("image"))
    (root / "configs/site.yaml").write_text("image: {mode: local, name: mine}\n")
    with pytest.raises(ConfigError) as caught:
        RuleInputs(Campaign(root)).image_sources(other)
    assert Toolset("v22.1", root).record("image") in str(caught.value)


def test_a_kernel_that_no_sweep_asks_for_is_refused(root: Path) -> None:
    inputs, _, _ = run_of(root, "preview", "softmax_fwd")
    with pytest.raises(ConfigError, match="no sweep needs this file") as caught:
        inputs.kernels.object_order({"gfx": "gfx801", "object": "MIOpenSoftmax-0123"})
    assert caught.value.value == "cachefiles/objects/gfx801/MIOpenSoftmax-0123.o"
