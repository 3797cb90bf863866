"""MIOpen's direct convolutions in OpenCL, forward and of the input's gradient, without a search.

``MIOpenConvDirUni.cl`` for filters of 3x3 to 11x11 (of any size with groups); for those of 1x1
``MIOpenConv1x1J1.cl`` forward and ``MIOpenConv1x1S.cl`` backward. Gradients of weights: ``direct_weights``.

Source: MIOpen rocm-4.0.1 ``src/solver/conv_ocl_dir2Dfwd.cpp``, ``conv_ocl_dir2Dfwd1x1.cpp``,
``conv_ocl_dir2Dfwd_exhaustive_search.cpp`` (``GetPerformanceConfig``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from apuflow.dnnmark import Shape
from apuflow.miopen.launch import Extent, Launch, defines
from apuflow.miopen.rocm_4_0_1.common import FP32_ALL, floats
from apuflow.miopen.rocm_4_0_1.gemm import LDS_BYTES
from apuflow.operations import mlo
from apuflow.operations.filter import Filter
from apuflow.operations.launching import WAVE
from apuflow.operations.operation import Pass, Wrong

SQUARE = (3, 5, 7, 9, 11)
MOST_CHANNELS = 128
"""Of MIOpenConv1x1J1 in one pass; beyond them it adds up passes with atomic operations."""
OUTPUTS = 32
"""Output channels of a work-item of MIOpenConv1x1J1."""


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
            args = mlo.bottom(layer, "in", "x"), weights, top
        else:
            args = mlo.top_gradient(layer), weights, mlo.bottom(layer, "out", "dx")
        direction: Pass = "fwd" if self.forward else "bwd"
        every = (*args, *floats(padding=0.0))
        return layer.launch(direction, program, arguments, kernel, grid, group, every, mlo.NOTE)


class _Tiles(NamedTuple):
    """Settings of ``MIOpenConvUni``.

    Attributes:
        tile: output pixels of a workgroup, across and down; pixels: of them a work-item's.
        group: work-items across and down.
        inputs, outputs: channels that are in the LDS at once.
    """

    tile: tuple[int, int]
    pixels: tuple[int, int]
    group: tuple[int, int]
    inputs: int
    outputs: int


def _tiles(work: DataPass) -> _Tiles:
    """What MIOpen chooses by the size of the image that is read and the stride."""
    layer = work.layer
    (across, own_w, items_w), (down, own_h, items_h) = (
        _tile(work.image.w, layer.stride_w),
        _tile(work.image.h, layer.stride_h),
    )
    inputs, outputs = min(work.image.c // layer.groups, 2), min(work.out.c // layer.groups, 8)
    return _Tiles((across, down), (own_w, own_h), (items_w, items_h), inputs, outputs)


def _tile(size: int, stride: int) -> tuple[int, int, int]:
    """Along one side: pixels of a workgroup and of a work-item, work-items."""
    span = 8 if size <= 8 else 16 if size <= 16 else 32
    own = max(stride, 1 if span == 8 else 2)
    items = max(8, span // own)
    return items * own, own, items


def objection(layer: Filter, forward: bool) -> Wrong | None:
    """Why MIOpen has no direct kernel here; None: it has one."""
    if (layer.dilation_h, layer.dilation_w) != (1, 1):
        return mlo.DILATED
    work = DataPass(layer, forward)
    if mlo.pointwise(layer):
        return _pointwise_objection(work)
    if layer.pad_h != layer.pad_w or layer.stride_h != layer.stride_w or layer.stride_h > 2:
        return "stride_h", "MIOpen's direct kernels take equal paddings, and equal strides up to 2", mlo.GEMM
    size = layer.kernel_h, layer.kernel_w
    if layer.groups == 1 and (size[0] != size[1] or size[0] not in SQUARE):
        return "kernel_h", "MIOpenConvUni takes square filters of 3, 5, 7, 9 or 11", mlo.GEMM
    if not forward and max(layer.pad_h - size[0], layer.pad_w - size[1]) >= 0:
        return "pad_h", "MIOpenConvUni takes paddings smaller than the filter backward", mlo.GEMM
    plan = _tiles(work)
    sides = zip(plan.tile, (layer.stride_w, layer.stride_h), (size[1], size[0]), strict=True)
    if forward:
        wide, high = ((tile - 1) * stride + kernel for tile, stride, kernel in sides)
    else:
        wide, high = (-(-(tile + kernel - 1) // stride) for tile, stride, kernel in sides)
    floats_needed = plan.inputs * (wide * high + plan.outputs * size[0] * size[1])
    if 4 * floats_needed > LDS_BYTES:
        return "kernel_h", f"MIOpenConvUni would need {4 * floats_needed} bytes of LDS", mlo.GEMM
    return None


def launches(layer: Filter, forward: bool) -> tuple[Launch, ...]:
    """The one launch of a direct convolution (``objection`` is None)."""
    work = DataPass(layer, forward)
    if mlo.pointwise(layer):
        return (_pointwise_forward(work) if forward else _pointwise_gradient(work),)
    plan, image, out = _tiles(work), work.image, work.out
    per_group = out.c // layer.groups
    stacks = -(-per_group // plan.outputs)
    pad = (layer.pad_w, layer.pad_h)
    if not forward:
        pad = layer.kernel_w - 1 - layer.pad_w, layer.kernel_h - 1 - layer.pad_h
    items = plan.group[0] * plan.group[1]
    values = {
        "HW_WAVE_SZ": WAVE,
        "DIR_FORWARD": int(forward),
        **mlo.window(layer),
        **mlo.pair("FILTER_PAD", *pad),
        **mlo.counts(out.c, image.c, layer.n),
        **mlo.extent("OUT", out),
        **mlo.strides("OUT", out),
        **mlo.extent("IN", image),
        **mlo.strides("IN", image),
        **mlo.pair("IN_TILE", *plan.tile),
        **mlo.pair("GRP_TILE", *plan.group),
        **mlo.pair("OUT_TILE", *plan.pixels),
        "N_STACKS": 1,
        "N_OUT_TILES": plan.outputs,
        "N_OUT_TILES_PERSTACK": plan.outputs,
        "N_IN_TILES_PERSTACK": plan.inputs,
        "N_READ_PROCS": items,
        **mlo.pair("ALU_VTILE", *plan.group),
    }
    arguments = defines(values) + FP32_ALL
    if layer.groups > 1:
        grouped = {"GROUP_COUNTS": layer.groups, "GROUP_TILES": per_group, "STACK_PERGROUP": stacks}
        arguments += f"{defines(grouped)} -DGRP_MOD_ENABLE"
    arguments += f"{defines({'CONV_BIAS': 0})}{FP32_ALL}"
    blocks = -(-out.w // plan.tile[0]) * -(-out.h // plan.tile[1])
    grid = (blocks * items, stacks * layer.groups, layer.n)
    return (work.launch("MIOpenConvDirUni.cl", arguments, "MIOpenConvUni", grid, items),)


class _Share(NamedTuple):
    """Pixels that a work-item of ``MIOpenConv1x1S.cl`` reads, and channels that it holds at once."""

    pixels: int
    inputs: int
    outputs: int


def _whole(wanted: int, of: int) -> int:
    """``wanted`` halved until it divides ``of``."""
    found = min(wanted, of)
    while of % found and found > 1:
        found //= 2
    return found


def _share(work: DataPass) -> _Share:
    """Settings of no search."""
    image, out = work.image, work.out
    even = out.h * out.w % 2 == 0 if work.layer.stride_w == 1 else out.w % 2 == image.w % 2 == 0
    pixels = _whole(_whole(2 if even else 1, out.w), image.w)
    return _Share(pixels, _whole(4, image.c), _whole(16, out.c))


def _pointwise_objection(work: DataPass) -> Wrong | None:
    layer = work.layer
    stride = layer.stride_h, layer.stride_w
    key, what = "", ""
    if layer.pad_h or layer.pad_w:
        key, what = "pad_h", "MIOpen's direct kernels of 1x1 take no padding"
    elif not work.forward:
        whole = work.out.w // stride[1] == work.image.w
        if not whole and max(stride) > 2 and _share(work).pixels > 1:
            key, what = "stride_w", "MIOpenConv1x1pquv writes beyond the rows of this gradient"
    elif stride != (1, 1):
        key = "stride_h"
        what = "of MIOpen's direct kernels of 1x1 forward only that without stride runs here"
    elif layer.c % 16 or layer.c > MOST_CHANNELS:
        key = "c"
        what = f"MIOpenConv1x1J1 takes multiples of 16 channels, up to {MOST_CHANNELS} without atomic sums"
    elif layer.num_output % OUTPUTS:
        key = "num_output"
        what = "MIOpenConv1x1J1 for 16 output channels has instructions (v_movrels_b32) that gem5 does not"
        what += f" decode: only multiples of {OUTPUTS} run"
    return (key, what, mlo.GEMM) if key else None


def _pointwise_forward(work: DataPass) -> Launch:
    layer = work.layer
    values = {
        "MLO_FILTER_STRIDE0": 1,
        "MLO_FILTER_STRIDE1": 1,
        "MLO_N_LCL_IN_MAPS_ONCE": 8,
        "BATCHSIZE": layer.n,
        "H": layer.h,
        "W": layer.w,
        "C": layer.c,
        "K": layer.num_output,
        "MLO_N_LCL_IN_MAPS": layer.c,
        "MLO_N_INPUTS": layer.c,
        "MLO_N_OUTPUTS": layer.num_output,
        "H_out": layer.h,
        "W_out": layer.w,
        "MLO_N_IN_GROUPS": 1,
        "MLO_CLOOP0": layer.c // 8,
        "MLO_CLOOP2": layer.c // 8,
        "MLO_N_LCL_OUT_MAPS": OUTPUTS,
        "MLO_CHEAT_SHADER_COMPILER": 0,
        "MLopen_RUNNING": 1,
    }
    pixels = -(-layer.h * layer.w * layer.n // WAVE) * WAVE
    grid = (pixels * (layer.num_output // OUTPUTS), 1, 1)
    arguments = defines(values, prefix="") + FP32_ALL
    return work.launch("MIOpenConv1x1J1.cl", arguments, "MIOpenConv1x1", grid, WAVE)


def _pointwise_gradient(work: DataPass) -> Launch:
    layer, image, out = work.layer, work.image, work.out
    own = _share(work)
    stride = layer.stride_h, layer.stride_w
    strided = stride != (1, 1)
    width, places = out.w, -(-out.h * out.w // own.pixels)
    if strided:
        width = -(-out.w // (own.pixels * stride[1]))
        places = width * -(-out.h // stride[0])
    values = {
        "DIR_FORWARD": 0,
        **mlo.pair("FILTER_SIZE", 1, 1),
        **mlo.pair("FILTER_STRIDE", layer.stride_w, layer.stride_h),
        **mlo.pair("FILTER_PAD", 0, 0),
        **mlo.extent("IN", image),
        **mlo.extent("OUT", out),
        **mlo.counts(out.c, image.c, layer.n),
        **mlo.strides("OUT", out),
        **mlo.strides("IN", image),
        "WEI_BSTRIDE": layer.c,
        "WEI_CHANNEL_STRIDE": 1,
        **mlo.group_size(WAVE),
        "MAP_SZ4": places,
        "OUT_WIDTH4": width,
        "VERT_ALIGNED": int(out.h // stride[0] == image.h),
        "HORIZ_ALIGNED": int(out.w // stride[1] == image.w),
        "N_LCL_BATCHS": 1,
        "N_LCL_OUT_MAPS": own.outputs,
        "N_LCL_IN_MAPS": own.inputs,
        "CONV_BIAS": 0,
        "READ_UNIT": own.pixels,
        "CLOOP0": -(-image.c // own.inputs),
    }
    grid = (layer.n * places, -(-out.c // own.outputs), 1)
    kernel = "MIOpenConv1x1pquv" if strided else "MIOpenConv1x1"
    return work.launch("MIOpenConv1x1S.cl", defines(values) + FP32_ALL, kernel, grid, WAVE)
