"""Which points belong to a suite, and what a suite says of itself."""

from __future__ import annotations

from pathlib import Path

from places import ROOT

from apuflow.campaign.points import points
from apuflow.configure import load_sweep
from apuflow.configure.suite import load_suite
from apuflow.core import paths
from apuflow.study.suite_text import details, overview
from apuflow.study.suites import points_of_suite

SWEEP = "description: a test\nengines: [gem5-kernels]\nsuites: [{}]\nlayer: {{direction: fwd}}\n"


def test_runs_of_a_suite_are_those_of_all_sweeps_that_name_it(project: Path) -> None:
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
    assert overview(load_suite("deepbench_sparse", ROOT))[2:5] == ("32", "0", "32")
