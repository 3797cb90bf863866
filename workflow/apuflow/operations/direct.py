"""MIOpen's direct convolutions in OpenCL, forward and of the input's gradient, without a search.

``MIOpenConvDirUni.cl`` for filters of 3x3 to 11x11 (of any size with groups); those of 1x1 are
``direct_pointwise``'s, gradients of weights ``direct_weights``'.

Source: MIOpen rocm-4.0.1 ``src/solver/conv_ocl_dir2Dfwd.cpp``,
``conv_ocl_dir2Dfwd_exhaustive_search.cpp`` (``GetPerformanceConfig``).
"""

from __future__ import annotations

from typing import NamedTuple

from apuflow.miopen.launch import Launch, defines
from apuflow.miopen.rocm_4_0_1.common import FP32_ALL
from apuflow.miopen.rocm_4_0_1.gemm import LDS_BYTES
from apuflow.operations import direct_pointwise
from apuflow.operations.direct_pass import DILATED, GEMM, DataPass, Objection, pointwise, strides
from apuflow.operations.filter import Filter
from apuflow.operations.launching import WAVE

SQUARE = (3, 5, 7, 9, 11)


class Tiles(NamedTuple):
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


def tiles(work: DataPass) -> Tiles:
    """What MIOpen chooses by the size of the image that is read and the stride."""
    layer = work.layer
    tile, pixels, group = [], [], []
    for size, stride in ((work.image.w, layer.stride_w), (work.image.h, layer.stride_h)):
        span = 8 if size <= 8 else 16 if size <= 16 else 32
        own = max(stride, 1 if span == 8 else 2)
        items = max(8, span // own)
        tile.append(items * own)
        pixels.append(own)
        group.append(items)
    inputs = min(work.image.c // layer.groups, 2)
    outputs = min(work.out.c // layer.groups, 8)
    return Tiles((tile[0], tile[1]), (pixels[0], pixels[1]), (group[0], group[1]), inputs, outputs)


def objection(layer: Filter, forward: bool) -> Objection | None:
    """Why MIOpen has no direct kernel here, as (key, what, fix); None: it has one."""
    if (layer.dilation_h, layer.dilation_w) != (1, 1):
        return DILATED
    work = DataPass(layer, forward)
    if pointwise(layer):
        return direct_pointwise.objection(work)
    if layer.pad_h != layer.pad_w or layer.stride_h != layer.stride_w or layer.stride_h > 2:
        return "stride_h", "MIOpen's direct kernels take equal paddings, and equal strides up to 2", GEMM
    size = layer.kernel_h, layer.kernel_w
    if layer.groups == 1 and (size[0] != size[1] or size[0] not in SQUARE):
        return "kernel_h", "MIOpenConvUni takes square filters of 3, 5, 7, 9 or 11", GEMM
    if not forward and max(layer.pad_h - size[0], layer.pad_w - size[1]) >= 0:
        return "pad_h", "MIOpenConvUni takes paddings smaller than the filter backward", GEMM
    plan = tiles(work)
    sides = zip(plan.tile, (layer.stride_w, layer.stride_h), (size[1], size[0]), strict=True)
    if forward:
        wide, high = ((tile - 1) * stride + kernel for tile, stride, kernel in sides)
    else:
        wide, high = (-(-(tile + kernel - 1) // stride) for tile, stride, kernel in sides)
    floats_needed = plan.inputs * (wide * high + plan.outputs * size[0] * size[1])
    if 4 * floats_needed > LDS_BYTES:
        return "kernel_h", f"MIOpenConvUni would need {4 * floats_needed} bytes of LDS", GEMM
    return None


def launches(layer: Filter, forward: bool) -> tuple[Launch, ...]:
    """The one launch of a direct convolution (``objection`` is None)."""
    work = DataPass(layer, forward)
    if pointwise(layer):
        return (direct_pointwise.launch(work),)
    plan, image, out = tiles(work), work.image, work.out
    per_group = out.c // layer.groups
    stacks = -(-per_group // plan.outputs)
    pad = (layer.pad_w, layer.pad_h)
    if not forward:
        pad = layer.kernel_w - 1 - layer.pad_w, layer.kernel_h - 1 - layer.pad_h
    values = {
        "HW_WAVE_SZ": WAVE,
        "DIR_FORWARD": int(forward),
        "FILTER_SIZE0": layer.kernel_w,
        "FILTER_SIZE1": layer.kernel_h,
        "FILTER_PAD0": pad[0],
        "FILTER_PAD1": pad[1],
        "FILTER_STRIDE0": layer.stride_w,
        "FILTER_STRIDE1": layer.stride_h,
        "N_OUTPUTS": out.c,
        "N_INPUTS": image.c,
        "BATCH_SZ": layer.n,
        "OUT_WIDTH": out.w,
        "OUT_HEIGHT": out.h,
        **strides("OUT", out),
        "IN_WIDTH": image.w,
        "IN_HEIGHT": image.h,
        **strides("IN", image),
        "IN_TILE0": plan.tile[0],
        "IN_TILE1": plan.tile[1],
        "GRP_TILE0": plan.group[0],
        "GRP_TILE1": plan.group[1],
        "OUT_TILE0": plan.pixels[0],
        "OUT_TILE1": plan.pixels[1],
        "N_STACKS": 1,
        "N_OUT_TILES": plan.outputs,
        "N_OUT_TILES_PERSTACK": plan.outputs,
        "N_IN_TILES_PERSTACK": plan.inputs,
        "N_READ_PROCS": plan.group[0] * plan.group[1],
        "ALU_VTILE0": plan.group[0],
        "ALU_VTILE1": plan.group[1],
    }
    arguments = defines(values) + FP32_ALL
    if layer.groups > 1:
        grouped = {"GROUP_COUNTS": layer.groups, "GROUP_TILES": per_group, "STACK_PERGROUP": stacks}
        arguments += f"{defines(grouped)} -DGRP_MOD_ENABLE"
    arguments += f"{defines({'CONV_BIAS': 0})}{FP32_ALL}"
    items = plan.group[0] * plan.group[1]
    blocks = -(-out.w // plan.tile[0]) * -(-out.h // plan.tile[1])
    grid = (blocks * items, stacks * layer.groups, layer.n)
    return (work.launch("MIOpenConvDirUni.cl", arguments, "MIOpenConvUni", grid, items),)
