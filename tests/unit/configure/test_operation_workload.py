"""Workloads of one operation: file, points of a sweep, engines."""

from __future__ import annotations

from pathlib import Path

import pytest

from apuflow.configure import load_sweep, load_workload
from apuflow.configure.work import OperationWork
from apuflow.core.errors import ConfigError
from apuflow.engines import runs_on
from apuflow.plan.points import points

FILE = """\
description: a product
kind: operation
operation: gemm
shape: {m: 64, n: 16, k: 48, beta: 1}
"""


@pytest.fixture
def product(root: Path) -> Path:
    (root / "configs/workloads/product.yaml").write_text(FILE)
    return root


def test_the_shape_is_read_and_described(product: Path) -> None:
    workload = load_workload("product", product)
    assert workload.program == "operation gemm"
    said = "\n".join(workload.about())
    assert "gemm m=64 n=16 k=48 beta=1.0" in said
    assert "fwd: 0.0 million multiply-adds" in said


def test_engines_that_run_its_kernels_run_it(product: Path) -> None:
    workload = load_workload("product", product)
    assert runs_on(workload, "preview").state == "yes"
    assert runs_on(workload, "gem5-kernels").state == "yes"
    refused = runs_on(workload, "gem5")
    assert refused.state == "no"
    assert "operation gemm is none of DNNMark's layers" in refused.reason


def test_gem5_is_refused_in_a_sweep(product: Path) -> None:
    (product / "configs/sweeps/t.yaml").write_text("description: x\nengines: [gem5]\nworkloads: [product]\n")
    with pytest.raises(ConfigError, match="use gem5-kernels or preview"):
        points(load_sweep("t", product), "product", product)


def test_keys_of_the_shape_are_axes_and_change_the_identity(product: Path) -> None:
    (product / "configs/sweeps/t.yaml").write_text(
        "description: x\nengines: [preview]\nworkloads: [product]\naxes: {layer: {m: [32, 64]}}\n"
    )
    small, shipped = points(load_sweep("t", product), "product", product)
    assert (small.label, shipped.label) == ("v23.0_u4_m32", "v23.0_u4")
    assert small.identity != shipped.identity
    assert small.describe()["config"] == "[gemm]\nm=32\nn=16\nk=48\nbeta=1.0\n"
    assert isinstance(shipped.work, OperationWork)
    assert [launch.gemm is not None for launch in shipped.launches()] == [
        False,
        True,
    ]  # cleared, then added to
    assert shipped.work.device_bytes == 4 * (64 * 48 + 48 * 16 + 64 * 16)


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [("m: 64", "mm: 64", "mm"), ("operation: gemm", "operation: gamm", "operation"), ("k: 48, ", "", "k")],
)
def test_what_is_wrong_with_the_file_is_found_in_it(product: Path, old: str, new: str, key: str) -> None:
    (product / "configs/workloads/product.yaml").write_text(FILE.replace(old, new))
    with pytest.raises(ConfigError) as caught:
        load_workload("product", product)
    assert caught.value.key == key
    assert "product.yaml" in str(caught.value.file)


def test_a_wrong_axis_value_is_named_as_the_sweep_has_it(product: Path) -> None:
    (product / "configs/sweeps/t.yaml").write_text(
        "description: x\nengines: [preview]\nworkloads: [product]\naxes: {layer: {m: [0]}}\n"
    )
    with pytest.raises(ConfigError, match=r"layer\.m"):
        points(load_sweep("t", product), "product", product)
