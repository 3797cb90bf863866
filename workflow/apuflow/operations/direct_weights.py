"""MIOpen's direct gradients of weights in OpenCL, with the settings that it takes without a search.

Of the kernels that can do it MIOpen measures all and takes the fastest. Here the one made for 1x1 filters
comes first (``MIOpenConvBwdWrW1x1_PAD_read4.cl``), else the first in MIOpen's list that takes the layer:
``MIOpenConvBwdWrWS2.cl`` (any stride, six gradients of a row at a time), ``MIOpenConvBwdWrW_LxG_P53.cl``
(``direct_weights_rows``). Each image has its own sums in the workspace; a second kernel adds them up.

Source: MIOpen rocm-4.0.1 ``src/mlo_dir_conv.cpp`` (``GetBwdWrW2DSolvers``),
``src/solver/conv_ocl_dir2D_bwdWrW_1x1.cpp``, ``conv_ocl_dir2D_bwdWrW_2.cpp``.
"""

from __future__ import annotations

from typing import NamedTuple

from apuflow.miopen.launch import Launch, defines
from apuflow.miopen.rocm_4_0_1.common import FP32_ALL, floats, read_type
from apuflow.miopen.rocm_4_0_1.gemm import LDS_BYTES
from apuflow.operations import direct_weights_rows, mlo
from apuflow.operations.filter import Filter
from apuflow.operations.launching import WAVE
from apuflow.operations.operation import Wrong

READ = 6
"""Gradients of a row that a work-item of ``MIOpenConvBwdWrWS2.cl`` reads at once."""
INDEXED = 16
"""Sums of a work-item up to which clang keeps them in registers that it numbers while it runs."""
UNROLLED = " -mllvm -unroll-full-max-count=8"
"""Has clang unroll the loop over a workgroup's output channels, so that it numbers their sums itself. Else
it may write v_movrels_b32, which gem5's decoder for GCN3 does not have (``decode_invalid``)."""
LARGE = 7
"""Rows of a filter from which on clang does not unroll everything (``sums_in_memory``)."""
PRODUCTS = 600
"""Products of a work-item with all output channels from which on it does not unroll the loop over these."""
LONG = 8
"""Steps along a row from which on it does not unroll them either, and keeps the sums in registers again."""
LARGEST_WORKSPACE = 6 << 30
FEW_WAVES = 512
"""Below so many workgroups ``MIOpenConvBwdWrW1x1_PAD_read4.cl`` takes four wavefronts for each."""


def objection(layer: Filter) -> Wrong | None:
    """Why MIOpen has no direct kernel here; None: it has one."""
    if (layer.dilation_h, layer.dilation_w) != (1, 1):
        return mlo.DILATED
    if _pointwise(layer) or _scanned(layer) or direct_weights_rows.takes(layer):
        return None
    return "kernel_h", "MIOpen has no direct kernel in OpenCL for this gradient of weights", mlo.GEMM


def launches(layer: Filter) -> tuple[Launch, ...]:
    """What computes the gradient (``objection`` is None)."""
    if _pointwise(layer):
        return _of_points(layer)
    if _scanned(layer):
        return _of_scans(layer)
    return direct_weights_rows.launches(layer)


def spills(layer: Filter) -> bool:
    """Whether the gradient (``objection`` is None) has sums in private memory, which the preview refuses."""
    if _pointwise(layer) or not _scanned(layer):
        return False
    plan = _scan(layer)
    return sums_in_memory(layer.kernel_h, plan.taps, plan.outputs, plan.steps)


def sums_in_memory(kernel_h: int, taps: int, outputs: int, steps: int) -> bool:
    """Whether clang-15 keeps the sums of a work-item of ``MIOpenConvBwdWrWS2.cl`` in private memory.

    Args:
        taps: of a row of the filter that it has.
        outputs: channels of its workgroup.
        steps: that it takes along a row.
    """
    products = kernel_h * steps * taps * outputs
    return kernel_h >= LARGE and outputs * taps > INDEXED and products > PRODUCTS and steps < LONG


def _pointwise(layer: Filter) -> bool:
    return mlo.pointwise(layer) and layer.c % 16 == 0 and layer.num_output % 16 == 0


class _Side(NamedTuple):
    """Along one side: what a filter of 1x1 sees of the padded image."""

    first_in: int
    first_out: int
    size: int


def _side(size: int, out: int, pad: int, stride: int) -> _Side:
    if not pad:
        return _Side(0, 0, out)
    first = (stride - pad % stride) % stride
    return _Side(first, -(-pad // stride), -(-(size - first) // stride))


def _of_points(layer: Filter) -> tuple[Launch, ...]:
    n, c, k, out, image = layer.n, layer.c, layer.num_output, layer.top, layer.bottom
    maps = 16 if 4 * -(-k // 16) * -(-c // 16) >= 512 else 8
    blocks_of_k, blocks_of_c = -(-k // maps), -(-c // maps)
    items = 4 * WAVE if blocks_of_k * blocks_of_c < FEW_WAVES else WAVE
    strided, padded = max(layer.stride_h, layer.stride_w) > 1, bool(layer.pad_h or layer.pad_w)
    twice = strided and not padded and (n >= 16 or 2 * c > k)  # first the pixels that it sees are copied
    seen = image._replace(h=out.h, w=out.w) if twice else image
    across = _side(layer.w, out.w, layer.pad_w, layer.stride_w)
    down = _side(layer.h, out.h, layer.pad_h, layer.stride_h)
    unit, loads = 4, out.h * out.w // 4 * n
    if padded or (strided and not twice):
        unit = mlo.largest_unit(across.size)
        loads = across.size // unit * down.size * n
    written = mlo.largest_unit(across.size)
    values = {
        **mlo.group_size(items),
        **mlo.group_size(4 * WAVE, "GRP0"),
        **mlo.window(layer),
        **(mlo.pair("FILTER_STRIDE", 1, 1) if twice else {}),
        **mlo.pair("FILTER0_STRIDE", layer.stride_w, layer.stride_h),
        **mlo.counts(k, c, n),
        **mlo.extent("IN", seen),
        **mlo.extent("OUT", out),
        "N_LOAD_DWORDS_PER_MAP_ONCE": 16 if maps == 16 else 64,
        "N_LCL_IN_MAPS": maps,
        "N_LCL_OUT_MAPS": maps,
        "READ_UNIT": unit,
        "WRITE_UNIT": written,
        **mlo.strides("OUT", out),
        **mlo.strides("IN", seen),
        **mlo.strides("IN0", image),
        "WEI_BATCH_STRIDE": k * c,
        "WEI_CHANNEL_STRIDE": c,
        "MAX_LOADS": loads,
        "ACCUM_SZ": 64,
        "OUT_READ_SZ": maps * unit,
        "IN_READ_SZ": maps * unit,
        "OUT_CHANNEL_READ_SZ": out.h * out.w // unit,
        "N_IN_TILE_BLOCK": 8,
        "N_LCL_OUT_MAPS_ONCE": 8,
        "N_LCL_IN_MAPS_ONCE": 8,
        "IN_PAD_MIN_X": across.first_in,
        "IN_PAD_MIN_Y": down.first_in,
        "OUT_PAD_MIN_X": across.first_out,
        "OUT_PAD_MIN_Y": down.first_out,
        "OUT_PAD_WIDTH": across.size,
        "OUT_PAD_HEIGHT": down.size,
        "TWO_PASSES": int(twice),
    }
    arguments = defines(values) + FP32_ALL
    x = mlo.bottom(layer, "in", "x")
    found: tuple[Launch, ...] = ()
    if twice:
        taken = layer.buffer("workspace", seen.elements, "out")
        grid, program = (seen.elements // n // written, n, 1), "MIOpenUtilKernels3.cl"
        found = (layer.launch("bwd", program, arguments, "SubSample", grid, 4 * WAVE, (x, taken), mlo.NOTE),)
        x = taken._replace(role="in", name="x")
    blocks = (blocks_of_k, blocks_of_c)
    if seen.elements < out.elements:
        blocks = blocks[::-1]
    args = (mlo.top_gradient(layer), x, mlo.gradient(layer), *floats(padding=0.0))
    program, kernel = "MIOpenConvBwdWrW1x1_PAD_read4.cl", f"MIOpenCvBwdWrW_{maps}x{maps}map"
    grid = (items * blocks[0], blocks[1], 1)
    return (*found, layer.launch("bwd", program, arguments, kernel, grid, items, args, mlo.NOTE))


class _Scan(NamedTuple):
    """Settings of ``MIOpenConvBwdWrWS2.cl``.

    Attributes:
        outputs: channels of the output that a workgroup works on, one after the other.
        row, image: floats of the LDS that hold a row of the input, and all rows of it.
        taps: of a row of the filter that a work-item has.
        steps: of a work-item along a row of the gradient.
        lds: bytes that it needs.
    """

    outputs: int
    row: int
    image: int
    taps: int
    steps: int
    lds: int


def _scan(layer: Filter) -> _Scan:
    outputs = mlo.largest_unit(layer.num_output // layer.groups)
    rows = layer.kernel_h
    padded = layer.w + 2 * layer.pad_w
    read = layer.pad_w + -(-layer.w // READ) * READ
    reached = layer.kernel_w + (layer.out.w - 1) * layer.stride_w
    beyond = max(padded, read, reached) - padded
    row = (layer.pad_w + layer.w + beyond) // 2 * 2 + 1
    image = row * ((rows - 1) * layer.stride_h + layer.kernel_h) + layer.pad_w + beyond
    taps = layer.kernel_w if layer.kernel_w <= 7 or layer.kernel_w % 2 else layer.kernel_w // 2
    block = layer.kernel_h * -(-layer.kernel_w // taps)
    blocks = WAVE // block
    if not blocks:
        return _Scan(outputs, row, image, taps, 0, LDS_BYTES + 1)
    steps = -(-layer.out.w // blocks)
    used = min(blocks, -(-layer.out.w // steps))
    gradients = rows * max(steps * used, -(-layer.out.w // READ) * READ)
    return _Scan(outputs, row, image, taps, steps, 4 * max(image + gradients, block * taps * used))


def _scanned(layer: Filter) -> bool:
    """Whether ``MIOpenConvBwdWrWS2.cl`` takes the layer."""
    return (
        layer.out.w >= READ
        and 2 <= layer.kernel_h <= 11
        and layer.kernel_h - layer.stride_h >= layer.pad_h
        and not (layer.kernel_w >= 8 and layer.kernel_w % 2 == 0)
        and _scan(layer).lds <= LDS_BYTES
        and (layer.n == 1 or 4 * layer.n * layer.weights <= LARGEST_WORKSPACE)
    )


def _of_scans(layer: Filter) -> tuple[Launch, ...]:
    plan, out = _scan(layer), layer.top
    values: dict[str, int | str] = {
        "DIR_FORWARD": 0,
        "GRP_SZ": WAVE,
        **mlo.group_size(WAVE),
        **mlo.window(layer),
        **mlo.counts(layer.num_output, layer.c, layer.n),
        "N_BATCH_LOOPS": 1,
        "N_BATCH_BLKS": layer.n,
        **mlo.strides("OUT", out),
        **mlo.strides("IN", layer.bottom),
        **mlo.weight_strides(layer),
        **mlo.extent("IN", layer.bottom),
        **mlo.extent("OUT", out),
        "N_LCL_OUT_MAPS": 1,
        "N_LCL_IN_MAPS": 1,
        "N_WAVES": 1,
        "READ_TYPE": read_type(READ),
        "READ_UNIT": READ,
        "ALIGNED_OUT_SCAN_LN": -(-out.w // READ),
        "N_ALIGNED_OUT_SCAN_BLK": layer.kernel_h,
        "WEI_WKITEM": plan.taps,
        "N_OUT_BLK_GRP": plan.outputs,
        "N_OUT_BLK": -(-out.h // layer.kernel_h),
        "HW_WAVE_SZ": WAVE,
        "OUT_N_PIXS_OFF": out.w % READ,
        "IN_LCL_WIDTH": plan.row,
        "IN_LCL_SZ": plan.image,
        "CONV_BIAS": 0,
        **mlo.adding(layer),
        **mlo.groups(layer),
    }
    grid = (WAVE * (layer.c // layer.groups), -(-layer.num_output // plan.outputs), layer.n)
    arguments = defines(values) + FP32_ALL
    if plan.outputs > 1 and plan.outputs * plan.taps <= INDEXED:
        arguments += UNROLLED
    return mlo.per_image(layer, arguments, "ConvBwdWrWS2.cl", grid, WAVE, layer.n)
