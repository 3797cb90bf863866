"""MIOpenPoolingBwd.cl: mloPoolingMaxBwd and mloPoolingAveBwd.

Counts: basic blocks of the kernels compiled by clang-15 -O3 for gfx801. A workgroup copies a tile of the
output's gradient (and of the mask) into LDS; each work-item then sums, for each of its pixels, what the
windows over it gave. DNNMark never writes the mask, so that the comparison with it seldom holds; it is
counted where it may.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil
from typing import NamedTuple

import numpy as np

from apuflow.preview.kernels.facts import Facts
from apuflow.preview.profile import LINE, PAGE, Counts, Profile, Stream, block, lines_of, pages_of

MOST_UNROLLED = 160
"""Windows over the pixels of a work-item that the compiler unrolls: 128 are, 196 are not."""


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
    shape = _Shape(
        (g0, g1),
        (p0, p1),
        (sw, sh),
        (kw, kh),
        (facts.integer("pad_w"), facts.integer("pad_h")),
        (wide, tall),
        (w, h),
        (ow, oh),
    )
    tiles = _tiles(shape)
    if maximum:
        counts = _maximum(shape, tiles, groups // planes, waves) * planes
    else:
        # Lanes whose column or row lies outside the image do nothing.
        area = ceil(h / (g1 * p1)) * g1 * p1 * ceil(w / (g0 * p0)) * g0 * p0
        inside = min(1.0, h * w / area) * share
        per_group = _average(kh, kw, sh, sw, pixels, rows, columns, share, inside, waves)
        counts = per_group * (groups * waves)
    buffers = 2 if maximum else 1
    loads = float(tiles.loads * planes if maximum else rows * columns * groups * waves)
    read = lines_of(planes * oh * ow)
    gradient = Stream(
        "load",
        loads,
        tiles.load_lines * planes,
        read,
        pages_of(planes * oh * ow),
        "device",
        4.0 * wide * tall,
        page_group=float(waves),
        sharing=_sharing(groups, planes, (ow, oh), (wide, tall)),
        lockstep=0.5,
        line_sharing=2.0,
        at_once=0.5,
    )
    mask = Stream(
        "load",
        loads,
        min(tiles.load_lines * planes, max(loads, tiles.load_lines * planes / 3)),
        max(1.0, read / 4),
        max(1.0, pages_of(planes * oh * ow / 4)),
        "device",
        1.0 * wide * tall,
        page_group=float(waves),
        sharing=4.0,
        lockstep=0.5,
        line_sharing=4.0,
        at_once=0.5,
        resident=False,
    )
    stores = float(tiles.stores * planes)
    result = Stream(
        "store",
        stores,
        tiles.store_lines * planes,
        lines_of(planes * h * w),
        pages_of(planes * h * w),
        page_group=float(waves),
        sharing=_sharing(groups, planes, (w, h), (g0 * p0, g1 * p1)),
        lockstep=0.5,
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
        page_group=float(waves),
        sharing=float(groups),
        lockstep=0.5,
        line_sharing=float(groups),
    )
    others = () if maximum or not tiles.astray else (first,)
    return Profile(
        workgroups=groups,
        waves_per_group=waves,
        counts=counts,
        streams=(gradient, mask, result) if maximum else (gradient, *others, result),
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


def _code_lines(shape: _Shape) -> float:
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


class _Tiles(NamedTuple):
    """Trips of wavefronts over all tiles of a plane.

    Attributes:
        rows: rows of the tile that a wavefront has lanes in.
        trips, lanes: trips with lanes in the tile, and their lanes.
        loads, load_lanes, load_lines: trips with lanes in the output image, these lanes, their lines.
        stores, store_lanes, store_lines: stores with lanes in the input image, these lanes, their lines.
        astray: trips with lanes beyond the output image.
    """

    rows: float
    trips: float
    lanes: float
    loads: float
    load_lanes: float
    load_lines: float
    stores: float
    store_lanes: float
    store_lines: float
    astray: float


class _Shape(NamedTuple):
    group: tuple[int, int]
    pixels: tuple[int, int]
    stride: tuple[int, int]
    kernel: tuple[int, int]
    pad: tuple[int, int]
    tile: tuple[int, int]
    image: tuple[int, int]
    output: tuple[int, int]


def _lines(index: np.ndarray, lanes: np.ndarray, plane: int) -> float:
    """Lines under elements of a plane, which begins at any of a line's 16 unless ``plane`` is whole lines."""
    touched = np.unique(index[lanes])
    if plane % 16 == 0 or not len(touched):
        return float(len(np.unique(touched // 16)))
    return 1.0 + float(np.minimum(np.diff(touched), 16).sum()) / 16


def _positions(count: int) -> list[tuple[int, int]]:
    """Tiles along one side that stand for all, and how many each stands for: those inside are alike."""
    if count <= 4:
        return [(number, 1) for number in range(count)]
    return [(0, 1), (1, count - 3), (count - 2, 1), (count - 1, 1)]


@lru_cache(maxsize=4096)
def _tiles(shape: _Shape) -> _Tiles:
    """Walk the tiles of one plane, as the kernel's loops do (x before y in every pair)."""
    (g0, g1), (p0, p1), (wide, tall) = shape.group, shape.pixels, shape.tile
    (w, h), (ow, oh) = shape.image, shape.output
    lane = np.arange(g0 * g1)
    sums = np.zeros(10)
    for gy, many in _positions(ceil(h / (g1 * p1))):
        for gx, times in _positions(ceil(w / (g0 * p0))):
            rows = trips = loads = stores = astray = 0
            lanes = load_lanes = store_lanes = lines = store_lines = 0.0
            first = []
            for start, pad, kernel, stride in zip(
                (gx * g0 * p0, gy * g1 * p1), shape.pad, shape.kernel, shape.stride, strict=True
            ):
                first.append(0 if start + pad < kernel else (start + pad - kernel) // stride + 1)
            for wave in range(0, len(lane), 64):
                x, y = lane[wave : wave + 64] % g0, lane[wave : wave + 64] // g0
                for tj in range(0, tall, g1):
                    inside = y + tj < tall
                    rows += bool(inside.any())
                    for ti in range(0, wide, g0):
                        live = inside & (x + ti < wide)
                        if not live.any():
                            continue
                        trips += 1
                        lanes += live.sum()
                        row, column = first[1] + y + tj, first[0] + x + ti
                        seen = live & (row < oh) & (column < ow)
                        loads += bool(seen.any())
                        astray += bool((live & ~seen).any())
                        load_lanes += seen.sum()
                        lines += _lines(row * ow + column, seen, oh * ow)
                for k in range(p1):
                    for m in range(p0):
                        row, column = (gy * g1 + y) * p1 + k, (gx * g0 + x) * p0 + m
                        seen = (row < h) & (column < w)
                        stores += bool(seen.any())
                        store_lanes += seen.sum()
                        store_lines += _lines(row * w + column, seen, h * w)
            counted = (rows, trips, lanes, loads, load_lanes, lines, stores, store_lanes, store_lines, astray)
            sums += many * times * np.array(counted, dtype=np.float64)
    return _Tiles(*(float(number) for number in sums))


def _maximum(shape: _Shape, tiles: _Tiles, groups: int, waves: int) -> Counts:
    """All workgroups of a plane. The mask is what the allocation held, zeros: filter position 0 matches."""
    (kw, kh), (sw, sh), (p0, p1) = shape.kernel, shape.stride, shape.pixels
    share = min(64.0, shape.group[0] * shape.group[1] / waves)
    high, across, pixels = ceil(kh / sh), ceil(kw / sw), p0 * p1
    windows = high * across
    counts = block("sm7 s26 wt2 v23 br1", share)
    lanes, seen = tiles.lanes / max(1, tiles.trips), tiles.load_lanes / max(1, tiles.loads)
    if ceil(shape.tile[1] / shape.group[1]) > 1:
        counts += block("v15 s3 br1", share)
        load = block("s1 br1 s3") * tiles.rows + block("v6 br1", share) * tiles.rows
        load += block("v3 s2 br1 s1 wt1 lw1", lanes) * tiles.trips
        load += block("v8 wt2 ld2 lw1 br1", seen) * tiles.loads
    elif ceil(shape.tile[0] / shape.group[0]) > 1:
        counts += block("v14 s3 br2", share)
        load = block("v2 s2 br1 s3 v5 wt1 lw1 br1", lanes) * tiles.trips
        load += block("v9 wt2 ld2 lw1 br1", seen) * tiles.loads
    else:
        counts += block("s1 v1")
        load = block("v6 s4 br1 wt1 lw1", lanes) * tiles.trips
        load += block("v15 wt2 ld2 lw1", seen) * tiles.loads
    barrier = " ba1" if waves > 1 else ""
    counts += block(f"s1 v24 wt3{barrier}" if windows > 1 else f"s2 v14 wt2{barrier}", share)
    test = block("s7 br2 v6 lr1 wt1", share) if windows > 1 else block("s7 br2 v12 lr1 wt1", share)
    heads = 1 + 7 * (high - 1) + 3 * (across - 1) if windows > 1 else 0
    advance = (15 if p1 > 1 else 10 if p0 > 1 else 0) if windows > 1 else 9
    if across > 2:  # a loop, unrolled twice
        test += block("v10 s4 br3", share) * 0.5
    counts += test * (windows * pixels) + block(f"v{heads}", share) * pixels
    counts += block(f"v{advance}", share) * (pixels - 1)
    matches = ceil(p0 / sw) * ceil(p1 / sh)
    counts += block("v2 lr1 wt1", share / (sw * sh)) * matches
    tail = "s3 v1 br1" if p0 > 1 else "s3 v2 br1"
    counts += block(tail, share) * pixels + block("v4" if p0 > 1 else "v6" if p1 > 1 else "s1", share)
    store = "v8 st1" if p0 > 1 else "v5 st1" if p1 > 1 else "v11 st1"
    store_lanes = tiles.store_lanes / max(1, tiles.stores)
    return (counts + block("en1")) * (groups * waves) + load + block(store, store_lanes) * tiles.stores


def _average(
    kh: int,
    kw: int,
    sh: int,
    sw: int,
    pixels: int,
    rows: int,
    columns: int,
    share: float,
    inside: float,
    waves: int,
) -> Counts:
    high, across = ceil(kh / sh), ceil(kw / sw)
    counts = block("sm6 s28 wt2 v24 br1", share) + block("wt2 v27 s2 ld1 lw1", share) * (rows * columns)
    counts += block("s2 ba1 wt2 br1" if waves > 1 else "s2 wt2 br1") + block("v35 s2 br1", share) * pixels
    row = block("s1 br1") + block("v9 s1", inside) + block("v24 lr1 wt1 s2 br1", inside) * across
    counts += (row + block("s1 br1") + block("s3 v3 br1", inside)) * (high * pixels)
    return counts + (block("s4 v2 br1", share) + block("v11 st1", inside)) * pixels + block("en1")
