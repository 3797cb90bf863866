"""MIOpenPooling.cl: mloPoolingG, maximum and average.

Counts: basic blocks of the kernel compiled by clang-15 -O3 for gfx801. A work-item computes
``MLO_POOLING_N_VERT_OUT_PIX`` outputs of a column from a window of rows; each row tests its visibility,
then each column, and skips what no lane sees.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from apuflow.preview.kernels.facts import Facts
from apuflow.preview.kernels.sample import sampled_waves
from apuflow.preview.profile import (
    LINE,
    NOTHING,
    Counts,
    Profile,
    Stream,
    block,
    lines_of,
    pages_of,
    region_lines,
)

Lanes = NDArray[np.bool_]
_BETWEEN = 0.6
"""Of the lines that a compute unit's wavefronts load at a time, what comes between two loads of a line."""
_MOST_WAVES = 1024
"""Wavefronts of a plane that are looked at; of more, as many stand for all."""


def _where(lanes: Lanes, text: str) -> Counts:
    """A block in the wavefronts that have an active lane."""
    active = lanes.sum(axis=1)
    waves = int((active > 0).sum())
    return block(text, float(active.sum()) / waves) * waves if waves else NOTHING


def distinct_lines(index: NDArray[np.int64], lanes: Lanes) -> float:
    """(wavefront, line) pairs under element indices of active lanes."""
    line = np.where(lanes, index // 16, -1)
    line.sort(axis=1)
    return float(((np.diff(line, axis=1, prepend=-1) != 0) & (line >= 0)).sum())


class _Geometry(NamedTuple):
    kh: int
    kw: int
    sh: int
    sw: int
    ph: int
    pw: int
    h: int
    w: int
    oh: int
    ow: int
    tall: int
    g0: int
    g1: int
    across: int
    down: int
    waves: int
    maximum: bool


class _Plane(NamedTuple):
    counts: Counts
    loads: float
    lines: float
    stores: float
    store_lines: float


def _store_test(k: int, tall: int) -> str:
    """Test of the k-th output row of a work-item."""
    if k == 0 and tall > 1:
        return "s3 v6 br1"
    if k == tall - 1:
        return "s3 v2 br1"
    return "s3 v4 br1" if k == 1 else "s3 v3 br1"


@lru_cache(maxsize=4096)
def _plane(shape: _Geometry) -> _Plane:
    """Instructions and accesses of one (image, channel) plane."""
    kh, kw, sh, sw, ph, pw, h, w, oh, ow, tall, g0, g1, across, down, waves, maximum = shape
    chosen = sampled_waves(across * down * waves, _MOST_WAVES)[:, None]
    group, local = chosen // waves, chosen % waves * 64 + np.arange(64)
    real = local < g0 * g1
    x = local % g0 + group // down * g0
    y = local // g0 + group % down * g1
    size = len(x)
    top = y * tall
    share = float(real.sum()) / size
    height = (tall - 1) * sh + kh
    head = 34 if tall == 1 else 35 if sh > 1 else 33
    counts = block(f"sm5 v{head} s8 wt2 br1 en1", share) * size
    loads = lines = 0.0
    for j in range(height):
        run_y = top * sh + j - ph
        rows = real & (run_y >= 0) & (run_y < h)
        last = j == height - 1
        if j:
            counts += block("s3 v5 br1", share) * size
        some = rows.any(axis=1)
        if last:
            counts += block("s2 sm1 v1 br1", share) * size + block("s2 v1 br1", share) * (
                size * max(0, kw - 2)
            )
        else:
            idle = size - int(some.sum())
            counts += (block("s2 v1 br1", share) * (kw - 1) + block("br1")) * idle
        for i in range(kw):
            run_x = x * sw + i - pw
            lanes = rows & (run_x >= 0) & (run_x < w)
            first = i == 0
            if not first and not last:
                counts += block("s3 v1 br1", share) * int(some.sum())
            counts += _where(rows, "v3 s2 br1" if first else "v4 s2 br1") + _where(lanes, "v6 ld1")
            if last or i == kw - 1:
                counts += block("s1") * int(some.sum())
            loads += float(lanes.any(axis=1).sum())
            lines += distinct_lines(run_y * w + run_x, lanes)
    middle = 6 + (kh * kw + 1) // 2 - (kh * kw + 1) % 2 if maximum else 22 + kh * kw - (3 if sh == 1 else 0)
    stores = store_lines = 0.0
    for k in range(tall):
        counts += block(_store_test(k, tall), share) * size
        if k == 1:
            counts += block("wt2") * size
        lanes = real & (top + k < oh) & (x < ow)
        if tall == 1:
            work = middle + (6 if maximum else 7)
        else:
            work = middle + (2 if maximum else -1) * (k == 0) + (k == tall - 1)
        counts += _where(lanes, f"v{work} st1" + (" wt2" if k == 0 else ""))
        stores += float(lanes.any(axis=1).sum())
        store_lines += distinct_lines((top + k) * ow + x, lanes)
    whole = across * down * waves / size
    return _Plane(counts * whole, loads * whole, lines * whole, stores * whole, store_lines * whole)


@lru_cache(maxsize=4096)
def _own_lines(shape: _Geometry) -> float:
    """Lines that the workgroups of a plane load; neighbours have some in common."""
    kh, kw, sh, sw, ph, pw, h, w, oh, ow, tall, g0, g1, across, down, *_ = shape
    columns = _spans(across, g0, kw, sw, pw, ow, w)
    rows = _spans(down, g1 * tall, kh, sh, ph, oh, h)
    return sum(region_lines(high, wide, 4 * w) for high in rows for wide in columns if high and wide)


def _spans(tiles: int, outputs: int, kernel: int, stride: int, pad: int, most: int, size: int) -> list[int]:
    """Elements of an input along one side under the windows of each tile of ``outputs``."""
    spans = []
    for tile in range(tiles):
        last = min((tile + 1) * outputs, most) - 1
        first = max(0, tile * outputs * stride - pad)
        spans.append(max(0, min(size, last * stride - pad + kernel) - first))
    return spans


def pooling_forward(facts: Facts) -> Profile:
    """Geometry from the compile arguments and the kernel's arguments; all planes are alike."""
    kh, kw = facts.define("MLO_POOLING_KERNEL_SZ1"), facts.define("MLO_POOLING_KERNEL_SZ0")
    sh, sw = facts.define("MLO_POOLING_STRIDE1"), facts.define("MLO_POOLING_STRIDE0")
    tall, maximum = facts.define("MLO_POOLING_N_VERT_OUT_PIX"), facts.define("MLO_POOLING_OP_ID") == 1
    g0, g1 = facts.define("MLO_POOLING_GROUP_SZ0"), facts.define("MLO_POOLING_GROUP_SZ1")
    h, w = facts.integer("bottom_h"), facts.integer("bottom_w")
    oh, ow = facts.integer("top_h"), facts.integer("top_w")
    pads = facts.integer("pad_h"), facts.integer("pad_w")
    planes, waves = facts.grid[2], facts.waves_per_group
    across, down = -(-facts.grid[0] // g0), -(-facts.grid[1] // g1)
    shape = _Geometry(kh, kw, sh, sw, *pads, h, w, oh, ow, tall, g0, g1, across, down, waves, maximum)
    counts, loads, lines, stores, store_lines = _plane(shape)
    height = (tall - 1) * sh + kh
    counts = counts * planes
    out = planes * oh * ow
    sharing = max(1.0, 4096 / (h * w * 4)) * across * (down if h * w * 4 < 4096 else 1)
    streams = (
        Stream(
            "load",
            loads * planes,
            lines * planes,
            lines_of(planes * h * w),
            pages_of(planes * h * w),
            "device",
            float(g0 * sw * height * 4 * waves),
            page_group=1.5,
            sharing=sharing,
            line_sharing=max(1.0, planes * _own_lines(shape) / lines_of(planes * h * w)),
            in_turn=True,
            group_bytes=_BETWEEN * waves * LINE * lines / max(1.0, loads),
        ),
        Stream(
            "store",
            stores * planes,
            store_lines * planes,
            lines_of(out),
            pages_of(out),
            page_group=float(waves),
            sharing=max(1.0, sharing * h * w / (oh * ow)),
            resident=False,
            repeated="later",
        ),
    )
    return Profile(
        workgroups=facts.workgroups,
        waves_per_group=waves,
        counts=counts,
        streams=streams,
        code_bytes=160.0 + 126.0 * kw * height + tall * (52.0 + 3.0 * kh * kw),
        rounds=1.0,
        windows=kh * kw > 1,
        loads_first=facts.vega,
        scalar_again=1.0,
        walk_rounds=max(1.0, min(float(height), height * w * 4 / 4096)),
        vgprs=48,
        sgprs=48,
        flops=float(out * kh * kw),
    )
