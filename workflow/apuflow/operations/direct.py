"""MIOpen's direct convolutions in OpenCL, forward, with the settings that it takes without a search.

``MIOpenConvDirUni.cl`` for filters of 3x3 to 11x11 (of any size with groups), ``MIOpenConv1x1J1.cl`` for 1x1.

Source: MIOpen rocm-4.0.1 ``src/solver/conv_ocl_dir2Dfwd.cpp``, ``conv_ocl_dir2Dfwd1x1.cpp``,
``conv_ocl_dir2Dfwd_exhaustive_search.cpp`` (``GetPerformanceConfig``).
"""

from __future__ import annotations

from typing import NamedTuple

from apuflow.miopen.launch import Launch
from apuflow.miopen.rocm_4_0_1.common import FP32_ALL, floats
from apuflow.operations.filter import Filter
from apuflow.operations.launching import buffer, launch

NOTE = "MIOpen's direct algorithm instead of DNNMark's GEMM"
LARGEST_LDS = 65536
SQUARE = (3, 5, 7, 9, 11)
WAVE = 64
MOST_CHANNELS = 128
"""Of a 1x1 convolution in one pass; beyond them the kernel adds up passes with atomic operations."""
OUTPUTS = 32
"""Output channels of a work-item of a 1x1 convolution."""


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


def tiles(layer: Filter) -> Tiles:
    """What MIOpen chooses by the size of the image and the stride."""
    sides = (layer.w, layer.stride_w), (layer.h, layer.stride_h)
    tile, pixels, group = [], [], []
    for size, stride in sides:
        span = 8 if size <= 8 else 16 if size <= 16 else 32
        own = max(stride, 1 if span == 8 else 2)
        items = max(8, span // own)
        tile.append(items * own)
        pixels.append(own)
        group.append(items)
    inputs = min(layer.c // layer.groups, 2)
    outputs = min(layer.num_output // layer.groups, 8)
    return Tiles((tile[0], tile[1]), (pixels[0], pixels[1]), (group[0], group[1]), inputs, outputs)


def objection(layer: Filter) -> tuple[str, str, str] | None:
    """Why MIOpen has no direct kernel here, as (key, what, fix); None: it has one."""
    gemm = "set algorithm to gemm"
    if (layer.dilation_h, layer.dilation_w) != (1, 1):
        return "dilation_h", "MIOpen's direct kernels take no dilation", gemm
    if layer.pad_h != layer.pad_w or layer.stride_h != layer.stride_w or layer.stride_h > 2:
        return "stride_h", "MIOpen's direct kernels take equal paddings, and equal strides up to 2", gemm
    size = layer.kernel_h, layer.kernel_w
    if size == (1, 1) and layer.groups == 1:
        if layer.pad_h or layer.stride_h != 1:
            return "stride_h", "only 1x1 without padding and stride runs here by MIOpenConv1x1J1", gemm
        if layer.c % 16 or layer.c > MOST_CHANNELS:
            what = (
                f"MIOpenConv1x1J1 takes multiples of 16 channels, up to {MOST_CHANNELS} without atomic sums"
            )
            return "c", what, gemm
        if layer.num_output % OUTPUTS:
            what = (
                "MIOpenConv1x1J1 for 16 output channels has instructions (v_movrels_b32) that gem5 does not"
            )
            return "num_output", f"{what} decode: only multiples of {OUTPUTS} run", gemm
        return None
    if layer.groups == 1 and (size[0] != size[1] or size[0] not in SQUARE):
        return "kernel_h", "MIOpenConvUni takes square filters of 3, 5, 7, 9 or 11", gemm
    plan = tiles(layer)
    spans = (
        (plan.tile[i] - 1) * stride + kernel
        for i, stride, kernel in ((0, layer.stride_w, layer.kernel_w), (1, layer.stride_h, layer.kernel_h))
    )
    wide, high = spans
    floats_needed = plan.inputs * (wide * high + plan.outputs * layer.kernel_h * layer.kernel_w)
    if 4 * floats_needed > LARGEST_LDS:
        return "kernel_h", f"MIOpenConvUni would need {4 * floats_needed} bytes of LDS", gemm
    return None


def forward(layer: Filter) -> Launch:
    """The one launch of a direct convolution (``objection`` is None)."""
    if (layer.kernel_h, layer.kernel_w) == (1, 1) and layer.groups == 1:
        return _pointwise(layer)
    plan, out = tiles(layer), layer.out
    per_group = layer.num_output // layer.groups
    stacks = -(-per_group // plan.outputs)
    values = {
        "HW_WAVE_SZ": WAVE,
        "DIR_FORWARD": 1,
        "FILTER_SIZE0": layer.kernel_w,
        "FILTER_SIZE1": layer.kernel_h,
        "FILTER_PAD0": layer.pad_w,
        "FILTER_PAD1": layer.pad_h,
        "FILTER_STRIDE0": layer.stride_w,
        "FILTER_STRIDE1": layer.stride_h,
        "N_OUTPUTS": layer.num_output,
        "N_INPUTS": layer.c,
        "BATCH_SZ": layer.n,
        "OUT_WIDTH": out.w,
        "OUT_HEIGHT": out.h,
        "OUT_BATCH_STRIDE": layer.num_output * out.h * out.w,
        "OUT_CHANNEL_STRIDE": out.h * out.w,
        "OUT_STRIDE": out.w,
        "IN_WIDTH": layer.w,
        "IN_HEIGHT": layer.h,
        "IN_BATCH_STRIDE": layer.c * layer.h * layer.w,
        "IN_CHANNEL_STRIDE": layer.h * layer.w,
        "IN_STRIDE": layer.w,
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
    arguments = "".join(f" -DMLO_{name}={value}" for name, value in values.items()) + FP32_ALL
    if layer.groups > 1:
        arguments += (
            f" -DMLO_GROUP_COUNTS={layer.groups} -DMLO_GROUP_TILES={per_group}"
            f" -DMLO_STACK_PERGROUP={stacks} -DGRP_MOD_ENABLE"
        )
    arguments += f" -DMLO_CONV_BIAS=0{FP32_ALL}"
    items = plan.group[0] * plan.group[1]
    blocks = -(-out.w // plan.tile[0]) * -(-out.h // plan.tile[1])
    grid = (blocks * items, stacks * layer.groups, layer.n)
    return _launch(layer, "MIOpenConvDirUni.cl", arguments, "MIOpenConvUni", grid, items)


def _pointwise(layer: Filter) -> Launch:
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
    arguments = "".join(f" -D{name}={value}" for name, value in values.items()) + FP32_ALL
    pixels = -(-layer.h * layer.w * layer.n // WAVE) * WAVE
    grid = (pixels * (layer.num_output // OUTPUTS), 1, 1)
    return _launch(layer, "MIOpenConv1x1J1.cl", arguments, "MIOpenConv1x1", grid, WAVE)


def _launch(
    layer: Filter, program: str, arguments: str, kernel: str, grid: tuple[int, int, int], group: int
) -> Launch:
    args = (
        buffer("convolution.bottom", layer.bottom.elements, "in", "x"),
        buffer("convolution.weights", layer.weights, "in"),
        buffer("convolution.top", layer.top.elements, "out", "y"),
        *floats(padding=0.0),
    )
    return launch(layer, "fwd", program, arguments, kernel, grid, (group, 1, 1), args, NOTE)
