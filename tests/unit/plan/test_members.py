"""Suites in a sweep: which points they have, what they share, which choices they take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from apuflow.configure import load_sweep
from apuflow.configure.point import Point
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.plan.campaign import Campaign
from apuflow.plan.points import points
from apuflow.plan.targets import check_targets

LISTS = {"deepbench_gemm": 248, "deepbench_all_reduce": 0, "deepbench_sparse": 0}


def write(root: Path, name: str = "some", **keys: Any) -> Path:
    sweep = {"description": "a test", "engines": ["preview"], **keys}
    (root / f"configs/sweeps/{name}.yaml").write_text(yaml.safe_dump(sweep, sort_keys=False))
    return root


def ids(root: Path, name: str = "some") -> set[str]:
    return {point.id for point in points(load_sweep(name, root), paths.OPERATIONS, root)}


def test_each_distinct_operation_of_a_network_is_one_point(project: Path) -> None:
    write(project, suites=["resnet50"], layer={"direction": "both", "n": 1})
    [member] = Campaign(project).members(load_sweep("some", project))
    # 53 convolutions, 53 normalisations, 49 ReLUs, 2 poolings, 1 fully connected, each forward and backward;
    # their distinct shapes were counted by hand in the reference data: 100
    layers = [
        point
        for step, point in member.items
        if step.op in ("conv", "batchnorm", "relu", "maxpool", "avgpool", "fc") and isinstance(point, Point)
    ]
    assert len(layers) == 2 * (53 + 53 + 49 + 2 + 1)
    assert len({point.id for point in layers}) == 100


def test_what_one_suite_has_the_next_one_has(project: Path) -> None:
    write(project, suites=["resnet50"], layer={"n": 1})
    write(project, "other", suites=["resnet152"], layer={"n": 1})
    write(project, "both", suites=["resnet50", "resnet152"], layer={"n": 1})
    assert ids(project) == ids(project, "other") == ids(project, "both")


def test_the_first_layer_needs_no_gradient_of_the_images(project: Path) -> None:
    write(project, suites=["vgg16"], layer={"n": 1, "direction": "bwd", "op": "conv"})
    texts = [
        str(p.axes["layer.operation"]) for p in points(load_sweep("some", project), "operations", project)
    ]
    [first] = [text for text in texts if " c=3 " in text]
    assert first.endswith("propagation=false")
    assert sum("propagation" in text for text in texts) == 1


def test_values_of_a_suite_are_axes_like_options_of_the_machine(project: Path) -> None:
    write(
        project,
        suites=["resnet18", "deepbench_gemm"],
        axes={"num-compute-units": [4, 8]},
        per_workload={
            "resnet18": {"axes": {"layer": {"n": [1, 2], "direction": ["fwd", "both"]}}},
            "deepbench_*": {"layer": {"set": "training", "subset": 3}},
        },
    )
    found = Campaign(project).members(load_sweep("some", project))
    assert [member.suite.name for member in found] == ["resnet18"] * 8 + ["deepbench_gemm"] * 2
    names = [step.name for step, _ in found[-1].items]
    # the three products of DeepBench's training set with the least work
    assert sorted(names) == ["1760x16x1760 NN", "1760x16x1760 TN", "35x700x2048 NN"] or len(names) == 3
    assert dict(found[3].assignment) == {"num-compute-units": 4, "layer.n": 2, "layer.direction": "both"}
    assert found[2].choice.direction == "fwd"
    assert all(step.phase == "forward" for step, _ in found[2].items)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"suites": ["resnet5"]}, "resnet50"),
        ({"suites": ["deepbench_gemm"], "layer": {"n": 4}}, "layer.n"),
        ({"suites": ["deepbench_gemm"], "layer": {"set": "train"}}, "training, inference_server"),
        ({"suites": ["deepbench_gemm"], "layer": {"direction": "bwd"}}, "direction: fwd"),
        ({"suites": ["resnet50"], "layer": {"subset": 3}}, "no iteration"),
        ({"suites": ["resnet50"], "layer": {"batch": 3}}, "one of n, image, direction"),
        ({"suites": ["resnet50"], "layer": {"n": 0}}, "whole number"),
        ({"suites": ["resnet50"], "layer": {"direction": "up"}}, "fwd, bwd, both"),
        ({"suites": ["resnet50"], "layer": {"op": "convolution"}}, "one of conv"),
        ({"suites": ["resnet50"], "layer": {"algorithm": "direkt"}}, "one of gemm, direct"),
        ({"suites": ["resnet50"], "layer": {"bias": 1}}, "true or false"),
        ({"suites": ["deepbench_gemm"], "layer": {"bias": True}}, "leave bias out"),
        ({"suites": ["resnet50"], "layer": {"devices": 8, "bandwidth": 0}}, "more than 0"),
        ({"suites": ["resnet50"], "layer": {"devices": 8, "latency": -1}}, "0 or more"),
        ({"suites": ["resnet50"], "engines": ["gem5"]}, "gem5-kernels or preview"),
        ({"suites": [], "workloads": []}, "runs nothing"),
    ],
)
def test_what_a_suite_does_not_have_is_refused_with_what_it_has(
    project: Path, keys: dict[str, Any], said: str
) -> None:
    write(project, **keys)
    with pytest.raises(ConfigError) as refused:
        Campaign(project).members(load_sweep("some", project))
    assert said in str(refused.value)
    assert "some.yaml" in str(refused.value)


def test_suites_of_which_nothing_runs_are_refused_with_the_reason(project: Path) -> None:
    """All-reduces are reckoned, sparse products have no kernel; beside others they keep their items."""
    write(project, suites=["deepbench_all_reduce", "deepbench_sparse"])
    with pytest.raises(ConfigError) as refused:
        Campaign(project).points("some", paths.OPERATIONS)
    said = str(refused.value)
    assert "computed by the ring formula" in said and "no sparse product" in said and "some.yaml" in said
    with pytest.raises(ConfigError, match="nothing of the sweep's suites runs"):
        check_targets(Campaign(project), ["results/some/report.html"])
    write(project, suites=["deepbench_all_reduce", "squeezenet1_1"])
    assert Campaign(project).points("some", paths.OPERATIONS)


def test_a_change_of_a_table_is_a_change_of_the_suites_rows(project: Path) -> None:
    write(project, suites=["resnet18"], workloads=["softmax_fwd"])
    campaign = Campaign(project)
    sweep = campaign.load("some")
    assert campaign.workloads(sweep) == ["softmax_fwd", "operations"]
    assert campaign.shown(sweep) == ["softmax_fwd", "resnet18"]
    assert "configs/networks/resnet18.csv" in campaign.configuration(sweep, "operations")
    assert "configs/suites/resnet18.yaml" in campaign.configuration(sweep, "resnet18")
    assert campaign.records(sweep, "resnet18") == ["results/some/operations.parquet"]


@pytest.mark.parametrize(("suite", "count"), LISTS.items())
def test_items_that_no_engine_runs_have_no_point_and_say_why(project: Path, suite: str, count: int) -> None:
    write(project, suites=[suite, "resnet18"], per_workload={suite: {"layer": {"direction": "fwd"}}})
    found = Campaign(project).members(load_sweep("some", project))
    items = next(member.items for member in found if member.suite.name == suite)
    assert sum(isinstance(point, Point) for _, point in items) == count
    assert all(isinstance(point, Point) or point.why for _, point in items)
