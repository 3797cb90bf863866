"""MIOpenConv1x1S.cl: the gradient of a 1x1 convolution's input, a work-item for one or two pixels.

Counts: basic blocks of the kernels compiled by clang-15 -O3 for gfx801. A work-item has up to 16 channels
and reads up to four of the output at a time; weights are scalar loads. With a stride it writes the zeros
beside its pixels, too.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil

import numpy as np

from apuflow.preview.instructions import Counts, block
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.kernels.sample import sampled_waves, touched_lines
from apuflow.preview.lines import PAGE, lines_of, pages_of
from apuflow.preview.profile import Profile, Stream

_UNROLLED = 400
"""Products up to which the compiler unrolls the loop over the channels."""
_WEIGHTS = 0.27
"""Of the lines of weights that all groups of channels load in a step, those that a wavefront waits for."""
_PAIRED = 5
"""Channels whose two pixels one instruction stores."""
_MOST_WAVES = 64


@lru_cache(maxsize=4096)
def _lines(places: int, n: int, row: int, pitch: int, image: int, plane: int, unit: int) -> float:
    """Mean lines of a wavefront's accesses to a channel, ``unit`` neighbours of each lane.

    Args:
        places: of an image, each with a work-item. row: of them. pitch, image: elements between.
    """
    waves = ceil(places * n / 64)
    lane = sampled_waves(waves, _MOST_WAVES)[:, None] * 64 + np.arange(64, dtype=np.int64)
    inside = lane < places * n
    within = lane % places
    first = lane // places * image + within // row * pitch + within % row * unit
    index = (first[:, :, None] + np.arange(unit, dtype=np.int64)).reshape(len(first), -1)
    phases = sorted({channel * plane % 16 for channel in range(16)})
    seen = np.repeat(inside, unit, axis=1)
    return sum(touched_lines(index + phase, seen) for phase in phases) / len(phases) / len(first)


def _stored(unit: int, outputs: int, strides: tuple[int, int], whole: bool) -> tuple[Counts, float]:
    """What storing takes, beside the first addresses; instructions that write each line of a row."""
    across, down = strides
    if max(strides) == 1:
        number = max(outputs, 2 * outputs - _PAIRED) if unit == 2 else outputs
        return block(f"v{6 + 2 * number} st{number}"), number / outputs
    if whole:
        each = 4.2 if unit * across > 2 else 2.7
        each *= down / 2
        return block(
            f"v{10.6 * each / 4.2 * outputs:.0f} s{each * outputs:.0f} st{each * outputs:.0f}"
        ), each / down
    each = unit * across * down
    return block(f"v{11 * outputs} s{5 * outputs} br{3 * outputs} st{each * outputs}"), unit * across


def pointwise_gradient(facts: Facts) -> Profile:
    """A wavefront per 64 places of all images and group of channels."""
    unit, inputs, outputs = (
        facts.define(f"MLO_{name}") for name in ("READ_UNIT", "N_LCL_IN_MAPS", "N_LCL_OUT_MAPS")
    )
    loops, places, n = facts.define("MLO_CLOOP0"), facts.define("MLO_MAP_SZ4"), facts.define("MLO_BATCH_SZ")
    strides = facts.define("MLO_FILTER_STRIDE0"), facts.define("MLO_FILTER_STRIDE1")
    strided = max(strides) > 1
    whole = bool(facts.define("MLO_VERT_ALIGNED")) and bool(facts.define("MLO_HORIZ_ALIGNED"))
    image_in, image_out = facts.define("MLO_IN_BATCH_STRIDE"), facts.define("MLO_OUT_BATCH_STRIDE")
    plane_in, plane_out = facts.define("MLO_IN_CHANNEL_STRIDE"), facts.define("MLO_OUT_CHANNEL_STRIDE")
    channels, width = facts.define("MLO_N_INPUTS"), facts.define("MLO_OUT_WIDTH")
    groups, items = facts.grid[1], facts.grid[0]
    waves = ceil(items / 64) * groups
    products = outputs * inputs * unit
    looped = loops * products > _UNROLLED
    sums = outputs * unit
    loads = inputs * (1.5 if strided and unit == 2 else 1)
    weights = inputs if strided else inputs * max(0, outputs - _PAIRED) + 2 * inputs + 1
    storing, repeated = _stored(unit, outputs, strides, whole)
    step = f"v{products + (0 if strided else sums) + 2 * inputs + 2 + (3 if looped and unit == 2 else 0)}"
    waits = 2 * unit if strided else 4 if looped else round(2 + weights / 8)
    step += f" s{6 if looped else 3} sm{weights} wt{waits} ld{loads:.0f}"
    one = block(f"v{(14 if strided else 9) + sums * looped + 2 * (unit - 1)} s12 sm5 wt2 en1") + storing
    one += block(step + (" br1" if looped else "")) * loops
    if plane_out % 1024 == 0 and not strided:
        one += block("s24")
    lanes = items / (waves / groups)
    row = facts.define("MLO_OUT_WIDTH4")
    read = _lines(
        places, n, row, facts.define("MLO_IN_STRIDE") if strided else row * unit, image_in, plane_in, unit
    )
    if not strided:
        read = _lines(places, n, places, 0, image_in, plane_in, unit)
        written = _lines(places, n, places, 0, image_out, plane_out, unit)
    else:
        written = _lines(places, n, row, width * strides[1], image_out, plane_out, unit * strides[0])
    counts = (one + Counts(lanes=one.valu * (lanes - 64.0))) * waves
    results = float(n * plane_out * outputs * groups)
    elements = float(n * plane_in * channels)
    height = plane_out // width
    rows = height / ceil(height / strides[1]) if strided else 1.0
    per_page = max(1.0, min(64.0, PAGE / (4.0 * plane_in)))
    near = max(1.0, min(plane_in, 1024) / (64.0 * unit))
    stores = float(waves * storing.stores)
    return Profile(
        workgroups=facts.workgroups,
        waves_per_group=1,
        counts=counts,
        streams=(
            Stream(
                *("load", float(one.loads * waves), waves * loops * inputs * read),
                *(lines_of(elements), pages_of(elements), "device"),
                *(2 * inputs * read * 64.0, groups * near),
                line_sharing=float(groups),
            ),
            Stream(
                *("store", stores, waves * outputs * written * rows * repeated),
                *(lines_of(results), pages_of(results)),
                sharing=max(1.0, min(plane_out, 1024) / (64.0 * unit * strides[0] * strides[1])),
                resident=False,
                repeated="later",
            ),
        ),
        code_bytes=(220 if looped else 60)
        + 7.5 * (products + sums + weights) * (1 if looped else loops)
        + 24.0 * storing.stores,
        rounds=float(loops),
        walk_rounds=max(1.0, channels / inputs / per_page),
        scalar_again=_WEIGHTS * loops * max(0.0, inputs * groups * max(1.0, outputs / 16) - 2.0),
        vgprs=12 + sums + inputs * unit,
        sgprs=88,
        flops=2.0 * n * plane_in * channels * outputs * groups,
    )
