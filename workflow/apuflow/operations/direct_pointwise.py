"""MIOpen's direct kernels of 1x1 filters: ``MIOpenConv1x1J1.cl`` forward, ``MIOpenConv1x1S.cl`` backward.

Source: MIOpen rocm-4.0.1 ``src/solver/conv_ocl_dir2Dfwd1x1.cpp``,
``conv_ocl_dir2Dfwd_exhaustive_search.cpp`` (``GetPerformanceConfig``).
"""

from __future__ import annotations

from typing import NamedTuple

from apuflow.miopen.launch import Launch, defines
from apuflow.miopen.rocm_4_0_1.common import FP32_ALL
from apuflow.operations.direct_pass import GEMM, DataPass, Objection, strides
from apuflow.operations.filter import Filter
from apuflow.operations.launching import WAVE

MOST_CHANNELS = 128
"""Of MIOpenConv1x1J1 in one pass; beyond them it adds up passes with atomic operations."""
OUTPUTS = 32
"""Output channels of a work-item of MIOpenConv1x1J1."""


class Share(NamedTuple):
    """What a work-item of ``MIOpenConv1x1S.cl`` has.

    Attributes:
        pixels: neighbours that it reads.
        inputs, outputs: channels that it holds at once.
    """

    pixels: int
    inputs: int
    outputs: int


def _whole(wanted: int, of: int) -> int:
    """``wanted`` halved until it divides ``of``."""
    found = min(wanted, of)
    while of % found and found > 1:
        found //= 2
    return found


def share(work: DataPass) -> Share:
    """Settings of no search."""
    image, out = work.image, work.out
    even = out.h * out.w % 2 == 0 if work.layer.stride_w == 1 else out.w % 2 == image.w % 2 == 0
    pixels = _whole(_whole(2 if even else 1, out.w), image.w)
    return Share(pixels, _whole(4, image.c), _whole(16, out.c))


def objection(work: DataPass) -> Objection | None:
    """Why no kernel of MIOpen runs this here; None: one does."""
    layer = work.layer
    stride = layer.stride_h, layer.stride_w
    if layer.pad_h or layer.pad_w:
        return "pad_h", "MIOpen's direct kernels of 1x1 take no padding", GEMM
    if work.forward:
        return _forward_objection(layer)
    whole = work.out.w // stride[1] == work.image.w
    if not whole and max(stride) > 2 and share(work).pixels > 1:
        return "stride_w", "MIOpenConv1x1pquv writes beyond the rows of this gradient", GEMM
    return None


def _forward_objection(layer: Filter) -> Objection | None:
    if (layer.stride_h, layer.stride_w) != (1, 1):
        return (
            "stride_h",
            "of MIOpen's direct kernels of 1x1 forward only that without stride runs here",
            GEMM,
        )
    if layer.c % 16 or layer.c > MOST_CHANNELS:
        what = f"MIOpenConv1x1J1 takes multiples of 16 channels, up to {MOST_CHANNELS} without atomic sums"
        return "c", what, GEMM
    if layer.num_output % OUTPUTS:
        what = "MIOpenConv1x1J1 for 16 output channels has instructions (v_movrels_b32) that gem5 does not"
        return "num_output", f"{what} decode: only multiples of {OUTPUTS} run", GEMM
    return None


def launch(work: DataPass) -> Launch:
    """The one launch (``objection`` is None)."""
    return _forward(work) if work.forward else _gradient(work)


def _forward(work: DataPass) -> Launch:
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


def _gradient(work: DataPass) -> Launch:
    layer, image, out = work.layer, work.image, work.out
    own = share(work)
    stride = layer.stride_h, layer.stride_w
    strided = stride != (1, 1)
    width, places = out.w, -(-out.h * out.w // own.pixels)
    if strided:
        width = -(-out.w // (own.pixels * stride[1]))
        places = width * -(-out.h // stride[0])
    values = {
        "DIR_FORWARD": 0,
        "FILTER_SIZE0": 1,
        "FILTER_SIZE1": 1,
        "FILTER_STRIDE0": stride[1],
        "FILTER_STRIDE1": stride[0],
        "FILTER_PAD0": 0,
        "FILTER_PAD1": 0,
        "IN_WIDTH": image.w,
        "IN_HEIGHT": image.h,
        "OUT_WIDTH": out.w,
        "OUT_HEIGHT": out.h,
        "N_OUTPUTS": out.c,
        "N_INPUTS": image.c,
        "BATCH_SZ": layer.n,
        **strides("OUT", out),
        **strides("IN", image),
        "WEI_BSTRIDE": layer.c,
        "WEI_CHANNEL_STRIDE": 1,
        "GRP_SZ0": WAVE,
        "GRP_SZ1": 1,
        "GRP_SZ2": 1,
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
