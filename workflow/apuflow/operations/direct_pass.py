"""What MIOpen's direct convolutions have in common: passes as its solvers see them, arguments, buffers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from apuflow.dnnmark import Shape
from apuflow.miopen.launch import Arg, Extent, Launch, Role
from apuflow.miopen.rocm_4_0_1.common import floats
from apuflow.operations.filter import Filter
from apuflow.operations.launching import buffer, launch

NOTE: Final = "MIOpen's direct algorithm instead of DNNMark's GEMM"
GEMM: Final = "set algorithm to gemm"
Objection = tuple[str, str, str]
"""Why there is no direct kernel: key, what, what to do."""
DILATED: Final[Objection] = "dilation_h", "MIOpen's direct kernels take no dilation", GEMM


def pointwise(layer: Filter) -> bool:
    """Whether the filter is 1x1, in one group."""
    return (layer.kernel_h, layer.kernel_w, layer.groups) == (1, 1, 1)


def strides(side: str, images: Shape) -> dict[str, int]:
    """Compile arguments: elements from one image, channel and row of packed images to the next."""
    pixels = images.h * images.w
    return {
        f"{side}_BATCH_STRIDE": images.c * pixels,
        f"{side}_CHANNEL_STRIDE": pixels,
        f"{side}_STRIDE": images.w,
    }


def largest_unit(size: int) -> int:
    """The largest of 4, 3, 2 and 1 that divides ``size``."""
    return next(unit for unit in (4, 3, 2, 1) if size % unit == 0)


def bottom(layer: Filter, role: Role, meaning: str) -> Arg:
    """The input. Backward its gradient takes its place, as DNNMark has it."""
    return buffer("convolution.bottom", layer.bottom.elements, role, meaning)


def top_gradient(layer: Filter) -> Arg:
    """The gradient of the output."""
    return buffer("convolution.top_diff", layer.top.elements, "in", "dy")


def direct_launch(
    layer: Filter,
    direction: Literal["fwd", "bwd"],
    program: str,
    arguments: str,
    kernel: str,
    grid: Extent,
    group: int,
    args: tuple[Arg, ...],
) -> Launch:
    """A launch that is labelled as the direct algorithm's."""
    return launch(layer, direction, program, arguments, kernel, grid, (group, 1, 1), args, NOTE)


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
        weights = buffer("convolution.weights", layer.weights, "in")
        if self.forward:
            top = buffer("convolution.top", layer.top.elements, "out", "y")
            args = bottom(layer, "in", "x"), weights, top
        else:
            args = top_gradient(layer), weights, bottom(layer, "out", "dx")
        direction: Literal["fwd", "bwd"] = "fwd" if self.forward else "bwd"
        every = (*args, *floats(padding=0.0))
        return direct_launch(layer, direction, program, arguments, kernel, grid, group, every)
