"""What MIOpen's direct convolutions have in common: passes as its solvers see them, buffers, launches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from apuflow.dnnmark import Shape
from apuflow.miopen.launch import Arg, Extent, Launch, Role
from apuflow.miopen.rocm_4_0_1.common import floats
from apuflow.operations import mlo
from apuflow.operations.filter import Filter
from apuflow.operations.operation import Pass, Wrong

NOTE: Final = "MIOpen's direct algorithm instead of DNNMark's GEMM"
GEMM: Final = "set algorithm to gemm"
DILATED: Final[Wrong] = "dilation_h", "MIOpen's direct kernels take no dilation", GEMM


def pointwise(layer: Filter) -> bool:
    """Whether the filter is 1x1, in one group."""
    return (layer.kernel_h, layer.kernel_w, layer.groups) == (1, 1, 1)


def bottom(layer: Filter, role: Role, meaning: str) -> Arg:
    """The input. Backward its gradient takes its place, as DNNMark has it."""
    return layer.buffer("bottom", layer.bottom.elements, role, meaning)


def top_gradient(layer: Filter) -> Arg:
    """The gradient of the output."""
    return layer.buffer("top_diff", layer.top.elements, "in", "dy")


def gradient(layer: Filter) -> Arg:
    """The gradient of the weights."""
    return layer.buffer("weights_diff", layer.weights, "out", "dw")


def per_image(
    layer: Filter, arguments: str, source: str, grid: Extent, group: int, parts: int
) -> tuple[Launch, ...]:
    """``MIOpenCvBwdWrW``, and ``MIOpenCvBwdWrW_rdc`` where there are several parts.

    Source: MIOpen's ``MakeOclWrWRdcInvokerFactory``.

    Args:
        source: of the program, without ``MIOpen`` (``MIOpenGroup`` for the first kernel of groups).
        grid, group: work-items of the first kernel.
        parts: gradients that are made, one behind the other.
    """
    program = f"MIOpen{'Group' if layer.groups > 1 else ''}{source}"
    images = top_gradient(layer), bottom(layer, "in", "x")
    target = gradient(layer)
    if parts > 1:
        target = layer.buffer("workspace", parts * layer.weights, "out")
    args = (*images, target, *floats(padding=0.0))
    first = layer.launch("bwd", program, arguments, "MIOpenCvBwdWrW", grid, group, args, NOTE)
    if parts == 1:
        return (first,)
    items = (layer.weights // mlo.adding_unit(layer), 1, 1)
    sums, kernel = (target._replace(role="in"), gradient(layer)), "MIOpenCvBwdWrW_rdc"
    return first, layer.launch("bwd", f"MIOpen{source}", arguments, kernel, items, mlo.ADDING, sums, NOTE)


@dataclass(frozen=True)
class DataPass:
    """A pass that makes an image of an image (``ConvolutionContext``): forward, or the input's gradient.

    Backward it reads the gradient of the output.
    """

    layer: Filter
    forward: bool

    @property
    def image(self) -> Shape:
        """What is read."""
        return self.layer.bottom if self.forward else self.layer.top

    @property
    def out(self) -> Shape:
        """What is written."""
        return self.layer.top if self.forward else self.layer.bottom

    def launch(self, program: str, arguments: str, kernel: str, grid: Extent, group: int) -> Launch:
        """A launch of image, weights, result and the value of padding."""
        layer = self.layer
        weights = layer.buffer("weights", layer.weights, "in")
        if self.forward:
            top = layer.buffer("top", layer.top.elements, "out", "y")
            args = bottom(layer, "in", "x"), weights, top
        else:
            args = top_gradient(layer), weights, bottom(layer, "out", "dx")
        direction: Pass = "fwd" if self.forward else "bwd"
        every = (*args, *floats(padding=0.0))
        return layer.launch(direction, program, arguments, kernel, grid, group, every, NOTE)
