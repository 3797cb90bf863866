"""Options that follow from the workload and the machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from sweep_texts import HEAD, expand, one

from apuflow.configure.point import Point
from apuflow.core.errors import ConfigError


def test_memory_follows_the_workload_and_the_topology_the_units(root: Path) -> None:
    """3.4 GB of tensors and the file that is mapped to fill them need 8 GB; softmax fits into 1 GB."""
    activation = one(root, HEAD.replace("softmax_fwd", "activation_fwd"), "activation_fwd")
    assert activation.options["mem-size"] == "8GB"
    assert one(root, HEAD).options["mem-size"] == "1GB"
    assert one(root, HEAD + "options: {num-compute-units: 64}\n").options["cu-per-sa"] == 64
    given = HEAD + "options: {num-compute-units: 64, cu-per-sa: 16, sa-per-complex: 4, mem-size: 3GB}\n"
    assert one(root, given).options["cu-per-sa"] == 16
    assert one(root, given).options["mem-size"] == "3GB"


def test_a_point_has_every_option_of_its_release(root: Path) -> None:
    options = one(root, HEAD).options
    assert options["simds-per-cu"] == 4 and options["num-cpus"] == 3 and options["FunctionalTLB"] is False
    assert len(options) == len(set(options)) == len(dict(options))
    with pytest.raises(KeyError):
        options["no-such"]


def test_whose_products_run_is_part_of_what_a_point_is(root: Path) -> None:
    """rocBLAS' kernels are another point, on a GPU that executes them, in a network with products."""
    head = "description: x\nengines: [gem5-kernels]\nworkloads: [softmax_fwd, fc_fwd]\n"
    text = head + "axes: {gfx-version: [GFX]}\n"

    def points(gfx: str) -> dict[str, Point]:
        both = ("softmax_fwd", "fc_fwd")
        return {name: one(root, text.replace("GFX", gfx), name) for name in both}

    (root / "configs/site.yaml").write_text("products: stand-in\n")
    before, before_902 = points("gfx801"), points("gfx902")
    (root / "configs/site.yaml").unlink()
    after, after_902 = points("gfx801"), points("gfx902")
    assert after["softmax_fwd"].id == before["softmax_fwd"].id
    assert after_902["fc_fwd"].id == before_902["fc_fwd"].id
    assert after["fc_fwd"].id != before["fc_fwd"].id
    assert [launch.kernel for launch in before["fc_fwd"].launches()] == ["sgemm"]
    assert all(launch.kernel.startswith("Cijk_") for launch in after["fc_fwd"].launches())


BOTH_GPUS = """description: x
engines: [ENGINE]
workloads: [NAME]
axes: {gfx-version: [gfx801, gfx902]}
release: v23.0
"""


@pytest.mark.parametrize("engine", ["preview", "gem5-kernels"])
def test_a_table_of_rocblas_kernels_and_the_stand_in_is_refused(root: Path, engine: str) -> None:
    """A line from gfx801 to gfx902 would show the products as well as the GPU."""
    text = BOTH_GPUS.replace("ENGINE", engine)
    with pytest.raises(ConfigError, match="one table would hold") as caught:
        expand(root, text.replace("NAME", "fc_fwd"))
    assert "products: stand-in" in str(caught.value)
    alike = expand(root, text.replace("NAME", "fc_fwd") + "products: stand-in\n")
    assert [point.products for point in alike] == ["stand-in", "stand-in"]
    assert len(expand(root, text.replace("NAME", "softmax_fwd"))) == 2  # it has no product


def test_a_layer_is_rocblas_kernels_by_default_and_the_sweeps_key_names_the_stand_in(root: Path) -> None:
    head = "description: x\nengines: [ENGINE]\nworkloads: [fc_fwd, conv_fwd, softmax_fwd]\nrelease: v23.0\n"

    def products(engine: str, more: str = "") -> list[str]:
        return [point.products for point in expand(root, head.replace("ENGINE", engine) + more)]

    for engine in ("preview", "gem5-kernels"):
        assert products(engine) == ["rocBLAS", "rocBLAS", ""]
        assert products(engine, "products: stand-in\n") == ["stand-in", "stand-in", ""]
    (root / "configs/site.yaml").write_text("miopen_source: MIOpen\n")
    assert products("preview") == ["rocBLAS", "rocBLAS", ""]
    assert products("gem5-kernels") == ["stand-in", "stand-in", ""]
    assert products("gem5-kernels", "products: rocblas\n") == ["rocBLAS", "rocBLAS", ""]


def test_a_product_that_rocblas_has_no_tuned_kernel_for_is_named_the_stand_ins(root: Path) -> None:
    """Both operands transposed: rocBLAS' files for the R9 Nano have no measured size of that problem."""
    text = (
        "description: x\nengines: [preview]\nworkloads: [gemm]\nlayer: {transpose_a: true, transpose_b: TB}\n"
    )
    assert one(root, text.replace("TB", "false"), "gemm").products == "rocBLAS"
    assert one(root, text.replace("TB", "true"), "gemm").products == "stand-in"
