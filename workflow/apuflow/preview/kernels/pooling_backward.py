"""MIOpenPoolingBwd.cl: mloPoolingMaxBwd and mloPoolingAveBwd.

Counts: basic blocks of the kernels compiled by clang-15 -O3 for gfx801. A workgroup copies a tile of the
output's
gradient (and of the mask) into LDS; each work-item then sums, for each of its pixels, what the windows
over it
gave. DNNMark never writes the mask, so that the comparison with it seldom holds; it is counted where it may.
"""

from __future__ import annotations

from math import ceil

from apuflow.preview.counts import Counts, block
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.profile import Profile, Stream, lines_of, pages_of, span_lines


def pooling_backward(facts: Facts) -> Profile:
    """Maximum and average, all planes alike."""
    maximum = facts.kernel == "mloPoolingMaxBwd"
    kh, kw = facts.define("MLO_POOLING_KERNEL_SZ1"), facts.define("MLO_POOLING_KERNEL_SZ0")
    sh, sw = facts.define("MLO_POOLING_STRIDE1"), facts.define("MLO_POOLING_STRIDE0")
    p0, p1 = facts.define("MLO_POOLBWD_N_HORIZ_OUT_PIX"), facts.define("MLO_POOLBWD_N_VERT_OUT_PIX")
    g0, g1 = facts.define("MLO_POOLBWD_GROUP_SZ0"), facts.define("MLO_POOLBWD_GROUP_SZ1")
    h, w = facts.integer("bottom_h"), facts.integer("bottom_w")
    oh, ow = facts.integer("top_h"), facts.integer("top_w")
    groups, waves, planes = facts.workgroups, facts.waves_per_group, facts.grid[2]
    wide, tall = (g0 * p0 + kw + sw - 2) // sw, (g1 * p1 + kh + sh - 2) // sh
    rows, columns = ceil(tall / g1), ceil(wide / g0)
    share = min(1.0, g0 * g1 / (64 * waves)) * 64
    pixels = p0 * p1
    # Lanes whose column or row lies outside the image do nothing.
    inside = min(1.0, h * w / (ceil(h / (g1 * p1)) * g1 * p1 * ceil(w / (g0 * p0)) * g0 * p0)) * share
    visible = share * min(1.0, oh * ow * groups / planes / max(1, groups / planes) / (tall * wide))
    if maximum:
        one = _maximum(kh, kw, sh, sw, pixels, rows, columns, share, inside, visible)
    else:
        one = _average(kh, kw, sh, sw, pixels, rows, columns, share, inside)
    counts = one * (groups * waves)
    buffers = 2 if maximum else 1
    trips = float(rows * columns * groups * waves)
    per_load = ceil(64 / min(64, g0)) * span_lines(4 * min(g0, wide), 4 * ow)
    read = lines_of(planes * oh * ow)
    gradient = Stream(
        "load",
        trips,
        min(trips * per_load, 4 * read),
        read,
        pages_of(planes * oh * ow),
        "device",
        4.0 * wide * tall,
        page_group=float(waves),
        sharing=max(1.0, 4096 / (4 * wide * tall)),
        lockstep=0.5,
        line_sharing=2.0,
    )
    mask = Stream(
        "load",
        trips,
        min(trips * ceil(64 / min(64, g0)), 2 * read),
        max(1.0, read / 4),
        max(1.0, pages_of(planes * oh * ow / 4)),
        "device",
        1.0 * wide * tall,
        page_group=float(waves),
        sharing=4.0,
        lockstep=0.5,
        line_sharing=4.0,
        resident=False,
    )
    stores = float(pixels * groups * waves)
    written = stores * ceil(64 / min(64, g0)) * span_lines(4 * min(g0 * p0, w), 4 * w)
    result = Stream(
        "store",
        stores,
        min(written, stores * 16),
        lines_of(planes * h * w),
        pages_of(planes * h * w),
        page_group=float(waves),
        sharing=max(1.0, 4096 / (4 * g0 * p0 * g1 * p1)),
        lockstep=0.5,
        resident=False,
    )
    return Profile(
        workgroups=groups,
        waves_per_group=waves,
        counts=counts,
        streams=(gradient, mask, result) if maximum else (gradient, result),
        code_bytes=520.0 + 692.0 * pixels if maximum else 900.0 + 140.0 * pixels,
        rounds=float(rows * columns),
        walk_rounds=1.0 + (buffers - 1),
        lds_bytes=wide * tall * (5 if maximum else 4),
        vgprs=48,
        sgprs=48,
        lds_conflicts=4.0,
        flops=float(planes * oh * ow * kh * kw),
    )


def _maximum(
    kh: int,
    kw: int,
    sh: int,
    sw: int,
    pixels: int,
    rows: int,
    columns: int,
    share: float,
    inside: float,
    visible: float,
) -> Counts:
    windows = ceil(kh / sh) * ceil(kw / sw)
    one = block("sm7 s26 wt2 v23 br1", share) + block("v15 s3 br1", share)
    one += block("s1 br1 v3 s2 br1 s1 wt1 lw1", share) * (rows * columns)
    one += block("v8 wt2 ld2 lw1 br1", visible) * (rows * columns) + block("s3 v6 br1", share) * rows
    one += block("s4 v25 wt3 ba1 br1", share)
    test = block("s3 br1") + block("v6 lr1 wt1 s3 br1", inside) + block("v2 lr1 wt1", inside) + block("s1")
    one += test * (windows * pixels) + block("v23", inside) * pixels
    return one + (block("s3 v2 br1", share) + block("v5 st1", inside)) * pixels + block("en1")


def _average(
    kh: int, kw: int, sh: int, sw: int, pixels: int, rows: int, columns: int, share: float, inside: float
) -> Counts:
    high, across = ceil(kh / sh), ceil(kw / sw)
    one = block("sm6 s28 wt2 v24 br1", share) + block("wt2 v27 s2 ld1 lw1", share) * (rows * columns)
    one += block("s2 ba1 wt2 br1") + block("v35 s2 br1", share) * pixels
    row = block("s1 br1") + block("v9 s1", inside) + block("v24 lr1 wt1 s2 br1", inside) * across
    one += (row + block("s1 br1") + block("s3 v3 br1", inside)) * (high * pixels)
    return one + (block("s4 v2 br1", share) + block("v11 st1", inside)) * pixels + block("en1")
