"""What MIOpen's direct convolutions share: compile arguments ``MLO_...`` by name, buffers, launches."""

from __future__ import annotations

from typing import Final

from apuflow.dnnmark import Shape
from apuflow.miopen.launch import Arg, Extent, Launch, Role
from apuflow.miopen.rocm_4_0_1.common import floats, read_type, read_unit
from apuflow.operations.filter import Filter
from apuflow.operations.operation import Wrong

NOTE: Final = "MIOpen's direct algorithm instead of DNNMark's GEMM"
GEMM: Final = "set algorithm to gemm"
DILATED: Final[Wrong] = "dilation_h", "MIOpen's direct kernels take no dilation", GEMM
ADDING: Final = 256
"""Work-items of a workgroup that adds up gradients of weights."""


def pair(name: str, across: int, down: int) -> dict[str, int]:
    """A value along each axis."""
    return {f"{name}0": across, f"{name}1": down}


def window(layer: Filter) -> dict[str, int]:
    """Size, padding and stride of the filter."""
    return {
        **pair("FILTER_SIZE", layer.kernel_w, layer.kernel_h),
        **pair("FILTER_PAD", layer.pad_w, layer.pad_h),
        **pair("FILTER_STRIDE", layer.stride_w, layer.stride_h),
    }


def counts(outputs: int, inputs: int, images: int) -> dict[str, int]:
    """Channels and images."""
    return {"N_OUTPUTS": outputs, "N_INPUTS": inputs, "BATCH_SZ": images}


def extent(side: str, images: Shape) -> dict[str, int]:
    """Width and height of images."""
    return {f"{side}_WIDTH": images.w, f"{side}_HEIGHT": images.h}


def strides(side: str, images: Shape) -> dict[str, int]:
    """Elements from one image, channel and row of packed images to the next."""
    pixels = images.h * images.w
    return {
        f"{side}_BATCH_STRIDE": images.c * pixels,
        f"{side}_CHANNEL_STRIDE": pixels,
        f"{side}_STRIDE": images.w,
    }


def group_size(items: int, name: str = "GRP") -> dict[str, int]:
    """Work-items of a workgroup."""
    return {f"{name}_SZ0": items, f"{name}_SZ1": 1, f"{name}_SZ2": 1}


def weight_strides(layer: Filter) -> dict[str, int]:
    """Elements from the weights of one output to the next, and of one input."""
    taps = layer.kernel_h * layer.kernel_w
    return {"WEI_BATCH_STRIDE": layer.c // layer.groups * taps, "WEI_CHANNEL_STRIDE": taps}


def groups(layer: Filter) -> dict[str, int]:
    """Groups of channels."""
    c, k = layer.c // layer.groups, layer.num_output // layer.groups
    return {"GROUP_COUNTS": layer.groups, "N_INPUTS_PER_GROUP": c, "N_OUTPUTS_PER_GROUP": k}


def adding(layer: Filter) -> dict[str, int | str]:
    """Those of the kernel that adds up gradients of weights."""
    unit = adding_unit(layer)
    return {"UT_READ_TYPE": read_type(unit), "UT_READ_UNIT": unit, "UT_GRP_SZ0": ADDING}


def adding_unit(layer: Filter) -> int:
    """Weights that a work-item adds up."""
    return read_unit(layer.kernel_h * layer.kernel_w)


def largest_unit(size: int) -> int:
    """The largest of 4, 3, 2 and 1 that divides ``size``."""
    return next(unit for unit in (4, 3, 2, 1) if size % unit == 0)


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
    items = (layer.weights // adding_unit(layer), 1, 1)
    sums, kernel = (target._replace(role="in"), gradient(layer)), "MIOpenCvBwdWrW_rdc"
    return first, layer.launch("bwd", f"MIOpen{source}", arguments, kernel, items, ADDING, sums, NOTE)
