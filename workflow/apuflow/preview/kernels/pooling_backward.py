"""MIOpenPoolingBwd.cl: mloPoolingMaxBwd and mloPoolingAveBwd.

Counts: basic blocks of the kernels compiled by clang-15 -O3 for gfx801 and gfx902. A workgroup copies a tile
of the output's gradient (and of the mask) into LDS; each work-item then sums, for each of its pixels, what
the windows over it gave. The mask of a maximum holds places in the windows, spread evenly.
"""

from __future__ import annotations

from math import ceil

from apuflow.preview.instructions import Counts, block
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.kernels.pooling_tiles import Shape, Tiles, walked_tiles
from apuflow.preview.lines import LINE, PAGE, lines_of, pages_of
from apuflow.preview.profile import Profile, Stream

MOST_UNROLLED = 160
"""Windows over the pixels of a work-item that the compiler unrolls: 128 are, 196 are not."""
IN_SCRATCH = (5, 6)
"""Windows of stride 1 for which the compiler keeps the sums of eight pixels in scratch memory, not in
registers (``.private_segment_fixed_size`` of the code object)."""


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
    pixels = p0 * p1
    shape = Shape(
        (g0, g1),
        (p0, p1),
        (sw, sh),
        (kw, kh),
        (facts.integer("pad_w"), facts.integer("pad_h")),
        (wide, tall),
        (w, h),
        (ow, oh),
    )
    tiles = walked_tiles(shape)
    if maximum:
        counts = _maximum(shape, tiles, groups // planes, waves, facts.vega) * planes
    else:
        counts = _average(shape, tiles, groups // planes, waves, facts.vega) * planes
    buffers = 2 if maximum else 1
    loads = float(tiles.loads * planes if maximum else rows * columns * groups * waves)
    read = lines_of(planes * oh * ow)
    in_row = ceil(w / (g0 * p0)) + 1
    # Trips across a tile go to the same lines one after the other; the mask has a byte for each element.
    window = LINE * tiles.load_lines / max(1.0, tiles.loads) * (1.25 if maximum else 1.0)
    gradient = Stream(
        "load",
        loads,
        tiles.load_lines * planes,
        read,
        pages_of(planes * oh * ow),
        "device",
        window,
        sharing=_sharing(groups, planes, (ow, oh), (wide, tall)),
        line_sharing=max(1.0, tiles.own_lines * planes / read),
        following=in_row,
        at_once=0.35,
    )
    mask = gradient._replace(
        accesses=min(tiles.load_lines * planes, max(loads, tiles.load_lines * planes / 3)),
        lines=max(1.0, read / 4),
        pages=max(1.0, pages_of(planes * oh * ow / 4)),
        sharing=4.0,
        resident=False,
    )
    stores = float(tiles.stores * planes)
    result = Stream(
        "store",
        stores,
        tiles.store_lines * planes,
        lines_of(planes * h * w),
        pages_of(planes * h * w),
        sharing=_sharing(groups, planes, (w, h), (g0 * p0, g1 * p1)),
        resident=False,
        repeated="later" if maximum else "beside",
    )
    # The average loads the buffer's first element for lanes beyond the output image.
    first = Stream(
        "load",
        0.0,
        tiles.astray * planes,
        1.0,
        1.0,
        "device",
        4.0,
        sharing=float(groups),
        line_sharing=float(groups),
    )
    others = () if maximum or not tiles.astray else (first,)
    sums = _scratch(groups * waves, pixels) if maximum and _in_scratch(shape) else ()
    return Profile(
        workgroups=groups,
        waves_per_group=waves,
        counts=counts,
        streams=(gradient, mask, *sums, result) if maximum else (gradient, *others, result),
        code_bytes=LINE * _code_lines(shape) if maximum else 900.0 + 140.0 * pixels,
        rounds=tiles.loads * planes / (groups * waves) if maximum else float(rows * columns),
        walk_rounds=1.0 + (buffers - 1),
        scalar_rounds=2.0 if maximum else 1.0,
        scalar_again=0.0 if maximum else 1.0,
        lds_bytes=wide * tall * (5 if maximum else 4),
        vgprs=48,
        sgprs=48,
        lds_conflicts=4.0,
        flops=float(planes * oh * ow * kh * kw),
    )


def _in_scratch(shape: Shape) -> bool:
    return shape.stride == (1, 1) and shape.pixels[0] * shape.pixels[1] > 4 and shape.kernel[1] in IN_SCRATCH


def _scratch(wavefronts: int, pixels: int) -> tuple[Stream, Stream]:
    """Stores and loads of a sum for each pixel: the lanes of a wavefront have neighbouring words."""
    count, lines = float(wavefronts * pixels), float(lines_of(wavefronts * 64 * pixels))
    stores = Stream("store", count, lines, lines, pages_of(wavefronts * 64 * pixels), resident=False)
    return stores, stores._replace(kind="load", pages=0.0)  # the stores have translated them


def _code_lines(shape: Shape) -> float:
    """Lines of code of the maximum's kernel, by gem5's misses of the instruction cache at 52 shapes.

    All pixels of a work-item and all windows over each are unrolled, those across by two at most. Where they
    are more than ``MOST_UNROLLED`` the loop stays: 45 lines for four pixels, 50 and 78 for eight.
    """
    (p0, p1), (sw, sh), (kw, kh) = shape.pixels, shape.stride, shape.kernel
    pixels, high, across = p0 * p1, ceil(kh / sh), ceil(kw / sw)
    first = {1: 13.0, 4: 27.0}.get(pixels, 9.0 + 4.5 * pixels)
    if high * across == 1:
        return first
    if pixels * high * across > MOST_UNROLLED:
        return 45.0 if pixels <= 4 else 50.0 + 14.0 * max(0, high - 5)
    each = 2.35 * high * min(across, 2) - 2.6
    return first + each * (pixels if pixels > 1 else 1.25)


def _sharing(groups: int, planes: int, image: tuple[int, int], tile: tuple[int, int]) -> float:
    """Workgroups that touch a page of images, each of them a tile: rows that lie ``image[0]`` apart."""
    columns, rows = min(tile[0], image[0]), min(tile[1], image[1])
    touched = 1.0 + 4 * ((rows - 1) * image[0] + columns) / PAGE
    return max(1.0, groups * touched / pages_of(planes * image[0] * image[1]))


def _matched(shape: Shape, tiles: Tiles, share: float) -> float:
    """Of the windows that a wavefront tests, those with a lane whose output had its maximum in that pixel.

    A mask holds the places; its values are spread over the window.
    """
    (kw, kh), (sw, sh) = shape.kernel, shape.stride
    within = kw / (sw * ceil(kw / sw)) * kh / (sh * ceil(kh / sh))
    lanes = share * within * tiles.load_lanes / max(1.0, tiles.lanes)
    return float(1.0 - (1.0 - 1.0 / (kw * kh)) ** lanes)


def _maximum(shape: Shape, tiles: Tiles, groups: int, waves: int, vega: bool) -> Counts:
    """All workgroups of a plane. Windows across are unrolled twice at most; more are walked by a loop."""
    (kw, kh), (sw, sh), (p0, p1) = shape.kernel, shape.stride, shape.pixels
    share = min(64.0, shape.group[0] * shape.group[1] / waves)
    high, across, pixels = ceil(kh / sh), ceil(kw / sw), p0 * p1
    windows = high * across
    counts = block("sm7 s26 wt2 v23 br1", share)
    lanes, seen = tiles.lanes / max(1, tiles.trips), tiles.load_lanes / max(1, tiles.loads)
    rows, columns = (
        ceil(tile / side) for tile, side in zip(shape.tile[::-1], shape.group[::-1], strict=True)
    )
    if rows > 1 and shape.tile[0] == shape.group[0] + 1:  # the second trip is a branch
        counts += block("v17 s6 wt1 br1" if vega else "v19 s6 br1", share)
        load = block("v12 s10 br5", share) * tiles.rows + block("wt1 lw1", lanes) * tiles.trips
        load += block("v9 wt2 ld2 lw1", seen) * tiles.loads
    elif rows > 1 and columns > 1:
        trip = "v7 s5 br2 wt1 lw1" if p0 > 1 else "v9 s5 br2 wt1 lw1"
        counts += block("v12 s2 br1" if vega else "v14 s3 br1", share)
        load = block("v11 s5 br3", share) * tiles.rows + block(trip, lanes) * tiles.trips
        load += block("v8 wt2 ld2 lw1 br1", seen) * tiles.loads
    elif rows > 1:
        counts += block("v15 s3 br1", share)
        load = block("s1 br1 s3") * tiles.rows + block("v6 br1", share) * tiles.rows
        load += block("v3 s2 br1 s1 wt1 lw1", lanes) * tiles.trips
        load += block("v8 wt2 ld2 lw1 br1", seen) * tiles.loads
    elif columns > 1:
        counts += block("v14 s3 br2", share)
        load = block("v2 s2 br1 s3 v5 wt1 lw1 br1", lanes) * tiles.trips
        load += block("v9 wt2 ld2 lw1 br1", seen) * tiles.loads
    else:
        counts += block("s1 v1")
        load = block("v6 s4 br1 wt1 lw1", lanes) * tiles.trips
        load += block("v15 wt2 ld2 lw1", seen) * tiles.loads
    barrier = " ba1" if waves > 1 else ""
    matched = _matched(shape, tiles, share)
    if across > 2:
        counts += block(f"s1 v12 wt3{barrier}", share)
        pair = "v18 s16 br5 lr2 wt2" if vega else "v21 s16 br5 lr2 wt2"
        one = "v7 s8 br4 lr1 wt1" if vega else "v8 s8 br4 lr1 wt1"
        row = block(pair, share) * (across // 2) + block(one, share) * (across % 2)
        counts += (row + block("v14 s2 br1", share)) * (high * pixels)
        counts += block("v1 lr1 wt1", share / (sw * sh)) * (matched * windows * pixels)
        counts += block("br1") * (matched * (across // 2) * high * pixels)
    else:
        head = "s2 v15 wt2" if windows == 1 else "s1 v18 wt2" if sw == sh == 1 else "s1 v24 wt3"
        counts += block(head + barrier, share)
        test = block("s7 br2 v6 lr1 wt1" if windows > 1 else "s7 br2 v9 lr1 wt1", share)
        counts += test * (windows * pixels)
        if windows == 1:
            counts += block("v9", share) * (pixels - 1)
        elif sw == sh == 1:
            counts += block("v10" if p0 > 1 else "v19", share) * pixels
        else:
            counts += block("v11", share) + block("v23" if p1 > 1 else "v14", share) * (pixels - 1)
        counts += block("v2 lr1 wt1", share / (sw * sh)) * (matched * windows * pixels)
    if _in_scratch(shape):
        counts += block("st1 ld1 wt1", share) * pixels
    tail = "s3 v1 br1" if p0 > 1 else "s3 v2 br1"
    counts += block(tail, share) * pixels + block("v4" if p0 > 1 else "v6" if p1 > 1 else "s1", share)
    store = "v8 st1" if p0 > 1 else "v5 st1" if p1 > 1 else "v11 st1"
    store_lanes = tiles.store_lanes / max(1, tiles.stores)
    return (counts + block("en1")) * (groups * waves) + load + block(store, store_lanes) * tiles.stores


def _average(shape: Shape, tiles: Tiles, groups: int, waves: int, vega: bool) -> Counts:
    """All workgroups of a plane. Lanes walk the windows over their pixel that lie in the output image."""
    sw, sh = shape.stride
    share = min(64.0, shape.group[0] * shape.group[1] / waves)
    whole = shape.tile[0] <= shape.group[0] and shape.tile[1] <= shape.group[1]
    trip = tiles.lanes / tiles.trips
    if whole:
        counts = block("sm6 v24 s27 wt1 br1" if vega else "sm6 v24 s28 wt2 br1", share)
        load = block("v25 s2 wt2 ld1 lw1" if vega else "v27 s2 wt2 ld1 lw1", trip) * tiles.trips
    else:
        counts = block("sm6 v23 s22 wt2 br1" if vega else "sm6 v23 s23 wt2 br1", share)
        load = block("s1 br1 s3 br1", share) * tiles.rows
        if shape.tile[0] == shape.group[0] + 1:  # the second trip is a branch
            counts += block("v8 s6 br1" if vega else "v9 s6 br1", share)
            load += block("v15 s2 wt1 ld1 lw1 br1" if vega else "v16 s2 wt1 ld1 lw1 br1", trip) * tiles.trips
            load += block("v7 s1", share) * tiles.rows
        else:
            counts += block("v10 s2 wt1 br1" if vega else "v12 s2 wt1 br1", share)
            load += block("br1 v11 s1", share) * tiles.rows
            load += block("v21 s4 wt1 ld1 lw1 br1", trip) * tiles.trips
    barrier = " ba1" if waves > 1 else ""
    counts += block(("v15 s2 wt2 br1" if whole else "v10 s2 wt2 br1") + barrier, share)
    counts += block("s1 v2 s3 br1 en1", share)
    head = (12 if sw == sh == 1 else 19) + (0 if vega else 1)
    work = block(f"v{head} s{3 if sw == sh == 1 else 2} br1", share) * tiles.entered
    work += block("s1 br1 v3 s3 br1", share) * tiles.window_rows
    work += block(f"v{7 if sw == sh == 1 else 9} s2 br1", share) * tiles.windowed_rows
    work += block("v24 s2 wt1 lr1 br1", tiles.window_lanes / max(1, tiles.windows)) * tiles.windows
    store = block("v9 st1" if vega else "v11 st1", tiles.store_lanes / max(1, tiles.stores)) * tiles.stores
    return counts * (groups * waves) + load + work + store
