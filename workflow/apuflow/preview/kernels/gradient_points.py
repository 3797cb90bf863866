"""MIOpenConvBwdWrW1x1_PAD_read4.cl: gradients of 1x1 weights.

Counts: basic blocks of the kernels compiled by clang-15 -O3 for gfx801. A workgroup has 8 or 16 channels of
the input and as many of the output. Its work-items add up products of 8 and 8 channels over the pixels of
all images, then the workgroup adds up these 64 sums in the LDS, eight at a time.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil

import numpy as np

from apuflow.preview.instructions import Counts, block
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.kernels.sample import sampled_waves, touched_lines
from apuflow.preview.lines import PAGE, lines_of, pages_of, span_lines
from apuflow.preview.profile import Profile, Stream

MAPS = 8
"""Channels of each side that a work-item has."""
_ALIGNED = 5
"""Channels of each side whose neighbouring pixels one instruction loads; of the others it is two."""
_IN_FLIGHT = 0.7
"""Of the second of two loads from a line, how many the coalescer counts: the first is still on its way."""
_MOST_TRIPS = 32


def _trips(work: int, group: int, wide: bool) -> list[int]:
    """Of each wavefront of ``group`` work-items, over ``work`` pieces; ``wide``: quarters do all of them."""
    if wide:
        return [ceil(4 * work / group)] * (group // 64)
    return [max(0, ceil((work - first) / group)) for first in range(0, group, 64)]


def _adding(waves: int, wide: bool) -> tuple[Counts, float]:
    """Sums of a workgroup in the LDS, for each of eight channels; serialised accesses to it."""
    counts = block("s2 br1 wt4 ba2 lw4") * waves + block("v1 s2 br1 wt2 ba1") * waves
    steps = [64 * waves >> 2 * shift for shift in (1, 2, 3, 4) if 64 * waves >> 2 * shift]
    if wide:
        steps = [items for items in steps if items >= 4]
        for items in steps:
            counts += block("v39 s12 br1 wt14 lr16 lw6", min(64, items))
        serial = sum(16.0 * max(1, items // 2) + 6.0 * max(1, items // 8) for items in steps)
        counts += block("lr2") + block("s2 br1") * (2 * (waves - 1))
        return counts, serial + 32.0 * waves + 16.0
    for items in steps[:-1]:
        counts += block("v31 s9 br1 wt8 lr16 lw4" if items < 64 else "v24 s2 br1 wt8 lr16 lw4", items)
    counts += block("v32 wt20 lr20 lw8 lr1", 1) + block("s2 br1") * (3 * (waves - 1))
    serial = sum(20.0 * max(1, items // 8) for items in steps[:-1])
    return counts, serial + 28.0 + 32.0 * waves + 8.0


@lru_cache(maxsize=4096)
def _lines(unit: int, row: int, rows: int, pitch: int, image: int, stride: int, n: int, lanes: int) -> float:
    """Mean lines of a wavefront's loads of a channel: ``unit`` pixels of each work-item; 0 of smaller images.

    Args:
        row, rows: pieces of a row, and rows, of an image. pitch, image: elements from one row, one image to
            the next. stride: from one pixel to the next.
    """
    pieces = row * rows * n
    if not pieces:
        return 0.0
    starts = sampled_waves(ceil(pieces / lanes), _MOST_TRIPS) * lanes
    piece = starts[:, None] + np.arange(lanes, dtype=np.int64)
    inside = piece < pieces
    within = piece % (row * rows)
    first = piece // (row * rows) * image + within // row * pitch + within % row * unit * stride
    phases = sorted({channel * (image % 16) % 16 for channel in range(4)}) if image % 16 else [0]
    index = first[:, :, None] + stride * np.arange(unit, dtype=np.int64)
    index = index.reshape(len(starts), -1)
    seen = np.repeat(inside, unit, axis=1)
    return sum(touched_lines(index + phase, seen) for phase in phases) / len(phases) / len(starts)


def point_gradient(facts: Facts) -> Profile:
    """A workgroup for 8x8 or 16x16 weights."""
    n, unit, loads = (facts.define(f"MLO_{name}") for name in ("BATCH_SZ", "READ_UNIT", "MAX_LOADS"))
    maps, group = facts.define("MLO_N_LCL_IN_MAPS"), facts.define("MLO_GRP_SZ0")
    inputs, outputs = facts.define("MLO_N_INPUTS"), facts.define("MLO_N_OUTPUTS")
    stride, padded = facts.define("MLO_FILTER_STRIDE0"), facts.define("MLO_FILTER_PAD0", 0)
    padded += facts.define("MLO_FILTER_PAD1", 0)
    width, height = facts.define("MLO_OUT_WIDTH"), facts.define("MLO_OUT_HEIGHT")
    image, top = facts.define("MLO_IN_CHANNEL_STRIDE"), facts.define("MLO_OUT_CHANNEL_STRIDE")
    waves, wide = group // 64, maps > MAPS
    by_rows = bool(padded) or stride > 1 or facts.define("MLO_FILTER_STRIDE1") > 1
    left = 0 if by_rows else top % unit
    share = group // 4 if wide else group
    trips, lasts = _trips(loads, group, wide), _trips(n * left, group, wide)
    split = MAPS if unit == 1 else 2 * MAPS - _ALIGNED
    of_input = MAPS * unit if stride > 1 else split
    total, adding = sum(trips), _adding(waves, wide)
    lanes = min(64.0, loads * (waves if wide else 1) / max(1, total))
    trip = f"v{64 * unit + 26 + 1.5 * (of_input + split) + 14 * by_rows:.0f} s{11 + 13 * by_rows}"
    counts = block("v68 s4 br1 lw4") * waves + block("v2 s2 wt1")
    counts += block("sm2") * sum(1 for wave in trips if wave)
    counts += block(f"{trip} wt14 ld{of_input + split}", lanes) * total
    counts += block("v1 s2 br1") * waves if left else Counts()
    counts += block("v105 s8 wt7 ld16", min(64.0, n * left)) * sum(lasts)
    counts += block("s2 br1") * (total - sum(1 for wave in trips if wave))
    counts += adding[0] * MAPS + block("s5 br2 en1 v3") * waves
    counts += block(f"v{17 if wide else 12} s6 sm1 wt1 st{4 if wide else 1}")
    serial = 32.0 * waves + MAPS * adding[1]
    groups = facts.workgroups
    across = (facts.define("MLO_OUT_PAD_WIDTH") // unit, facts.define("MLO_OUT_PAD_HEIGHT"))
    row, rows = across if by_rows else (top // unit, 1)
    pitch = facts.define("MLO_IN_STRIDE") * facts.define("MLO_FILTER_STRIDE1") if by_rows else 0
    batch_in, batch_out = facts.define("MLO_IN_BATCH_STRIDE"), facts.define("MLO_OUT_BATCH_STRIDE")
    active = max(1, min(64 if share >= 64 else share, loads))
    bot = _lines(unit, row, rows, pitch, batch_in, stride, n, active)
    over = _lines(unit, row, rows, width if by_rows else 0, batch_out, 1, n, active)
    streams = []
    both = 4.0 * n * (inputs * image + outputs * top)
    for lines, channels, plane, number in (
        (bot, inputs, image, of_input),
        (over, outputs, top, split),
    ):
        again = lines * (number / MAPS - 1.0) * (_IN_FLIGHT if number < 2 * MAPS else 0.3)
        sharing = (outputs if channels is inputs else inputs) / maps
        elements, window = float(n * channels * plane), 2 * MAPS * 64.0 * lines
        accesses = groups * (total * MAPS * (lines + again) + sum(lasts) * MAPS * min(n, 64 // max(1, left)))
        streams.append(
            Stream(
                *("load", float(groups * (total * number + sum(lasts) * MAPS)), accesses),
                *(lines_of(elements), pages_of(elements), "device"),
                *(min(window, both / groups), max(1.0, sharing * PAGE / (4.0 * plane * maps))),
                line_sharing=sharing,
                group_bytes=window,
            )
        )
    weights = float(inputs * outputs)
    written = 4 * 8 if wide else 8
    streams.append(
        Stream(
            *("store", float(groups * (4 if wide else 1)), groups * written * span_lines(32, 4 * inputs)),
            *(lines_of(weights), pages_of(weights)),
            sharing=max(1.0, min(groups, PAGE / (4.0 * inputs * maps) * inputs / maps)),
            resident=False,
        )
    )
    lds = float(counts.lds)
    return Profile(
        workgroups=groups,
        waves_per_group=waves,
        counts=counts * groups,
        streams=tuple(streams),
        code_bytes=14500.0,
        rounds=max(trips) + max(lasts),
        walk_rounds=4.0,
        scalar_again=1.0,
        lds_bytes=4 * MAPS * group,
        vgprs=104,
        sgprs=24,
        lds_conflicts=serial / lds - 1.0,
        flops=2.0 * n * width * height * inputs * outputs,
    )
