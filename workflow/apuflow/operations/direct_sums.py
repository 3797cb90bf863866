"""Gradients of weights of each image, and what adds them up (``MakeOclWrWRdcInvokerFactory``)."""

from __future__ import annotations

from apuflow.miopen.launch import Arg, Extent, Launch
from apuflow.miopen.rocm_4_0_1.common import floats
from apuflow.operations.direct_pass import bottom, direct_launch, top_gradient
from apuflow.operations.filter import Filter
from apuflow.operations.launching import buffer

ADDING = 256
"""Work-items of a workgroup that adds up."""


def gradient(layer: Filter) -> Arg:
    """The gradient of the weights."""
    return buffer("convolution.weights_diff", layer.weights, "out", "dw")


def per_image(
    layer: Filter,
    arguments: str,
    program: str,
    grid: Extent,
    group: int,
    parts: int,
    unit: int,
    adding: str,
) -> tuple[Launch, ...]:
    """``MIOpenCvBwdWrW``, and ``MIOpenCvBwdWrW_rdc`` where there are several parts.

    Args:
        parts: gradients that are made, one behind the other.
        unit: weights that a work-item adds up.
        adding: program of the second kernel.
    """
    images = top_gradient(layer), bottom(layer, "in", "x")
    target = gradient(layer)
    if parts > 1:
        target = buffer("convolution.workspace", parts * layer.weights, "out")
    args = (*images, target, *floats(padding=0.0))
    first = direct_launch(layer, "bwd", program, arguments, "MIOpenCvBwdWrW", grid, group, args)
    if parts == 1:
        return (first,)
    items = (layer.weights // unit, 1, 1)
    sums = target._replace(role="in"), gradient(layer)
    return first, direct_launch(layer, "bwd", adding, arguments, "MIOpenCvBwdWrW_rdc", items, ADDING, sums)
