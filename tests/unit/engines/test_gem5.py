"""What a record of engine gem5 says before its run."""

from __future__ import annotations

from pathlib import Path

from sweep_texts import HEAD, one

from apuflow.engines.dnnmark_program import kernel_launches


def test_products_of_a_whole_program_are_the_images_own(root: Path) -> None:
    """DNNMark calls rocBLAS as its image has it: no stand-in, and not the kernels that gem5-kernels takes."""
    head = HEAD.replace("preview", "gem5")
    layer = kernel_launches(one(root, head.replace("softmax_fwd", "conv_fwd"), "conv_fwd"))
    found = [(launch.library, launch.stand_in) for launch in layer if launch.kernel == "sgemm"]
    assert set(found) == {("rocBLAS of the image", None)}
    assert {launch.library for launch in layer if launch.kernel != "sgemm"} == {None}
    assert [launch.library for launch in kernel_launches(one(root, head))] == [None]
