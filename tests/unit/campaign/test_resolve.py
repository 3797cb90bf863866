"""Options that follow from the workload and the machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from sweep_texts import HEAD, one

from apuflow.configure.point import Point


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
