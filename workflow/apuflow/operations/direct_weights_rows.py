"""``MIOpenConvBwdWrW_LxG_P53.cl``: gradients of weights at stride 1, a span of a row per work-item.

Source: MIOpen rocm-4.0.1 ``src/solver/conv_ocl_dir2D_bwdWrW_53.cpp``. Images whose rows it would cut are left
out.
"""

from __future__ import annotations

from typing import NamedTuple

from apuflow.miopen.launch import Launch, defines
from apuflow.miopen.rocm_4_0_1.common import FP32_ALL, read_type
from apuflow.operations import mlo
from apuflow.operations.filter import Filter
from apuflow.operations.launching import WAVE

MOST_FLOATS = 8192
"""Of the LDS, by MIOpen's reckoning."""
SMALL = 16
"""Taps of a filter that several channels share."""


class _Plan(NamedTuple):
    """Wavefronts of a workgroup; channels that it works on and rows of an image in the LDS at once.

    ``span``: gradients of a row that a work-item has; ``images``: that a workgroup goes through; ``parts``:
    workgroups that share them.
    """

    waves: int
    inputs: int
    outputs: int
    rows: int
    span: int
    images: int
    parts: int


def _plan(layer: Filter) -> _Plan | None:
    """What MIOpen chooses; None: the rows do not fit."""
    out, taps = layer.out, layer.kernel_h * layer.kernel_w
    waves = 4 if taps <= SMALL and out.w > 8 else 1 if out.w <= 16 else 2
    items = WAVE * waves
    inputs = min(4 if out.w <= 32 and taps <= SMALL else 1, layer.c // layer.groups)
    unit = mlo.largest_unit(layer.w)
    width = -(-layer.w // unit) * unit + 2 * layer.pad_w
    rows = (layer.h + 1) // 2 if layer.h > 32 and layer.w <= 64 and taps <= SMALL else layer.h
    while inputs * rows * (width + layer.kernel_w - 1) > MOST_FLOATS:
        if rows < 2 and inputs >= 2:
            rows, inputs = out.h, -(-inputs // 2)
        elif rows >= 2 * layer.kernel_h:
            rows = -(-rows // 2)
        else:
            return None
    if items * layer.kernel_w > MOST_FLOATS:
        return None
    span = max(-(-out.w // items), mlo.largest_unit(out.w))
    outputs = 1
    if layer.groups == 1:
        outputs = min(layer.num_output, max(1, items // -(-out.w // span)))
    images = 1
    if layer.num_output * layer.c > MOST_FLOATS:
        images = layer.n if layer.n <= 16 or out.w <= 32 else 4
    return _Plan(waves, inputs, outputs, rows, span, images, -(-layer.n // images))


def takes(layer: Filter) -> bool:
    """Whether MIOpen's solver takes the layer (its dilation is 1)."""
    size, pad = (layer.kernel_h, layer.kernel_w), (layer.pad_h, layer.pad_w)
    wide = layer.h % 112 == 0 or layer.w % 112 == 0
    miscompiled = (size == (7, 7) and layer.pad_w in (1, 3) and wide) or (
        size == (3, 3) and pad == (2, 2) and layer.w == 1024
    )
    return (
        (layer.stride_h, layer.stride_w) == (1, 1)
        and layer.kernel_h > layer.pad_h
        and not miscompiled
        and _plan(layer) is not None
    )


def launches(layer: Filter) -> tuple[Launch, ...]:
    """What computes the gradient of a layer that it takes."""
    plan, out = _plan(layer), layer.top
    assert plan is not None
    unit, items = mlo.largest_unit(layer.w), WAVE * plan.waves
    steps = {"STRIDE_W": 1, "STRIDE_H": 1}
    before = {"DIR_FORWARD": 0, "GRP_SZ": items, **mlo.group_size(items), **mlo.window(layer)}
    rest: dict[str, int | str] = {
        "N_OUTPUTS": layer.num_output,
        "N_INPUTS": layer.c,
        **mlo.groups(layer),
        "BATCH_SZ": layer.n,
        "N_BATCH_LOOPS": plan.images,
        **mlo.strides("OUT", out),
        **mlo.strides("IN", layer.bottom),
        **mlo.weight_strides(layer),
        **mlo.extent("IN", layer.bottom),
        **mlo.extent("OUT", out),
        "IN_TILE1": 1,
        "IN_TILE0": plan.span,
        "N_LCL_BATCHS": 1,
        "N_LCL_OUT_MAPS": 1,
        "N_LCL_IN_MAPS": plan.inputs,
        **mlo.pair("OUT_TILE", layer.kernel_w, layer.kernel_h),
        "OUT_STACKS": plan.outputs,
        "N_WAVES": plan.waves,
        "READ_TYPE": read_type(unit),
        "READ_UNIT": unit,
        "HW_WAVE_SZ": WAVE,
        "LG2_PHYS_WAVE_SZ": 6,
        "IN_EXTENT1": plan.rows,
        "IN_N_VERT_LOOPS": -(-layer.h // plan.rows),
        "IN_WIDTH_CHUNK": layer.w,
        "IN_WIDTH_N_LOOPS": 1,
        "IN_WIDTH_LAST_CHUNK_VALID_READ_UNITS": 0,
        "IN_WIDTH_LAST_CHUNK_VALID_PIXELS_IN_LAST_READ_UNIT": unit,
        "OUT_WIDTH_CHUNK": out.w,
        "OUT_WIDTH_N_LOOPS": 1,
        "OUT_WIDTH_LAST_CHUNK_VALID_SPANS": 0,
        "OUT_WIDTH_LAST_CHUNK_VALID_PIXELS_IN_LAST_SPAN": plan.span,
        "CONV_BIAS": 0,
        **mlo.adding(layer),
    }
    arguments = defines(before) + defines(steps, prefix="") + defines(rest) + FP32_ALL
    inputs, outputs = layer.c // layer.groups, layer.num_output
    grid = (items * -(-inputs // plan.inputs), -(-outputs // plan.outputs), plan.parts)
    return mlo.per_image(layer, arguments, "ConvBwdWrW_LxG_P53.cl", grid, items, plan.parts)
