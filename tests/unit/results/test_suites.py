"""Which points belong to a suite, and what a suite says of itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from places import ROOT

from apuflow.configure import load_sweep
from apuflow.configure.loading import suite_names
from apuflow.configure.suite import load_suite
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.plan.campaign import Campaign
from apuflow.plan.points import points
from apuflow.results.suites import iterations, points_of_suite
from apuflow.suites.suite import details, overview

SWEEP = "description: a test\nengines: [gem5-kernels]\nsuites: [{}]\nlayer: {{direction: fwd}}\n"


def test_runs_of_a_suite_are_those_of_all_sweeps_that_name_it(project: Path) -> None:
    for shipped in (project / "configs/sweeps").glob("*.yaml"):
        shipped.unlink()
    for name, suites in (("a", "squeezenet1_1, deepbench_gemm"), ("b", "squeezenet1_1")):
        (project / f"configs/sweeps/{name}.yaml").write_text(SWEEP.format(suites))
    (project / "configs/sweeps/wrong.yaml").write_text("suites: [squeezenet1_1]\n")
    mine = points_of_suite("squeezenet1_1", project)
    every = {point.id for point in points(load_sweep("a", project), paths.OPERATIONS, project)}
    assert mine == {point.id for point in points(load_sweep("b", project), paths.OPERATIONS, project)}
    assert mine < every


def test_a_suite_says_what_runs_as_what_and_what_does_not() -> None:
    said = details(load_suite("alexnet_caffe", ROOT))
    assert "60,965,224 learnt values, 0.724 G multiply-adds per image; 512 images" in said
    assert "   3 conv forward: convolution" in said  # in two groups
    assert "   2 conv forward: Convolution" in said
    assert "dropout forward: DNNMark has no kernel for it on HIP" in said
    assert overview(load_suite("deepbench_sparse", ROOT))[2:5] == (32, 0, 32)


@pytest.mark.parametrize("name", suite_names(ROOT))
def test_every_suite_can_be_described(name: str) -> None:
    assert details(load_suite(name, ROOT)).startswith(f"{name}: ")


def test_the_memory_of_a_suite_ends_where_its_operations_no_longer_run() -> None:
    """A level of the pyramid, 256x200x336 elements, is 2.2 G of 128 images: more than 2^31 - 1."""
    said = details(load_suite("maskrcnn_resnet50_fpn", ROOT)).split("\n")
    first = next(number for number, line in enumerate(said) if line.startswith("memory of an iteration"))
    images = [line.split()[0] for line in said[first + 2 : first + 10]]
    assert images == ["1", "2", "4", "8", "16", "32", "64", "128"]
    assert (
        said[first + 9]
        == "  128 images do not run: operation convolution: a buffer has more elements than a C int counts"
    )


def shared(project: Path, suite: str, layer: str) -> dict[str, float]:
    """Milliseconds of what devices share, by name."""
    text = f"description: a test\nengines: [preview]\nsuites: [{suite}]\nlayer: {{{layer}}}\n"
    (project / "configs/sweeps/ring.yaml").write_text(text)
    campaign = Campaign(project)
    [one] = iterations(campaign, campaign.load("ring"), suite)
    return {item.name: item.formula_ms for item in one.items if item.formula_ms is not None}


def test_devices_share_the_gradients_of_all_weights(project: Path) -> None:
    """ResNet-18, 8 devices: 14 steps of an eighth of 46.8 MB at 20 GB/s, 2 us more each."""
    found = shared(project, "resnet18", "n: 1, devices: 8, bandwidth: 20, latency: 2")
    assert found == {"all_reduce": pytest.approx(14 * (2e-3 + 4 * 11_689_512 / 8 / 20e9 * 1e3))}
    assert shared(project, "resnet18", "n: 1, devices: 8, direction: fwd") == {}
    assert shared(project, "resnet18", "n: 1") == {}


def test_an_all_reduce_of_deepbench_is_reckoned_where_devices_are_given(project: Path) -> None:
    found = shared(project, "deepbench_all_reduce", "devices: 2, bandwidth: 1, latency: 0")
    assert found["100,000 floats"] == pytest.approx(0.4)  # both halves of 400 kB, one after the other
    with pytest.raises(ConfigError, match="share nothing with other devices"):
        shared(project, "deepbench_gemm", "devices: 2")
