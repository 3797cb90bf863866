"""Gradients of weights of each image, and what adds them up (``MakeOclWrWRdcInvokerFactory``)."""

from __future__ import annotations

from apuflow.miopen.launch import Arg, Extent, Launch
from apuflow.miopen.rocm_4_0_1.common import floats, read_type, read_unit
from apuflow.operations.direct_pass import bottom, direct_launch, top_gradient
from apuflow.operations.filter import Filter
from apuflow.operations.launching import buffer

ADDING = 256
"""Work-items of a workgroup that adds up."""


def gradient(layer: Filter) -> Arg:
    """The gradient of the weights."""
    return buffer("convolution.weights_diff", layer.weights, "out", "dw")


def adding(layer: Filter) -> dict[str, int | str]:
    """Compile arguments of the kernel that adds up."""
    unit = _unit(layer)
    return {"UT_READ_TYPE": read_type(unit), "UT_READ_UNIT": unit, "UT_GRP_SZ0": ADDING}


def per_image(
    layer: Filter, arguments: str, source: str, grid: Extent, group: int, parts: int
) -> tuple[Launch, ...]:
    """``MIOpenCvBwdWrW``, and ``MIOpenCvBwdWrW_rdc`` where there are several parts.

    Args:
        source: of the program, without ``MIOpen`` (``MIOpenGroup`` for the first kernel of groups).
        grid, group: work-items of the first kernel.
        parts: gradients that are made, one behind the other.
    """
    program = f"MIOpen{'Group' if layer.groups > 1 else ''}{source}"
    images = top_gradient(layer), bottom(layer, "in", "x")
    target = gradient(layer)
    if parts > 1:
        target = buffer("convolution.workspace", parts * layer.weights, "out")
    args = (*images, target, *floats(padding=0.0))
    first = direct_launch(layer, "bwd", program, arguments, "MIOpenCvBwdWrW", grid, group, args)
    if parts == 1:
        return (first,)
    items = (layer.weights // _unit(layer), 1, 1)
    sums = target._replace(role="in"), gradient(layer)
    added = f"MIOpen{source}"
    return first, direct_launch(layer, "bwd", added, arguments, "MIOpenCvBwdWrW_rdc", items, ADDING, sums)


def _unit(layer: Filter) -> int:
    """Weights that a work-item adds up."""
    return read_unit(layer.kernel_h * layer.kernel_w)
