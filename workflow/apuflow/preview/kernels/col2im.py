"""MIOpenCol2Im2d.cl: Col2Im2d, one image.

Counts: basic blocks of the kernel compiled by clang-15 -O3 for gfx801 and gfx902. One work-item sums the
columns that hold one pixel: ``start_h .. end_h`` times ``start_w .. end_w`` loads, so a wavefront makes as
many trips as its busiest lane.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from apuflow.preview.kernels.facts import Facts
from apuflow.preview.kernels.sample import sampled_waves
from apuflow.preview.profile import Counts, Profile, Stream, block, lines_of, pages_of

_SAMPLE = 48
_MOST_WAVES = 8192
"""Wavefronts of a launch that are looked at; of more, as many stand for all."""

Ints = NDArray[np.int32]
"""Pixels and columns of an image are counted by a C int."""


def _range(position: Ints, kernel: int, stride: int, limit: int) -> tuple[Ints, Ints]:
    start = np.where(position < kernel, 0, (position - kernel) // stride + 1)
    return start, np.maximum(0, np.minimum(limit, position // stride + 1) - start)


def _at_work(lanes: NDArray[np.bool_]) -> tuple[int, float]:
    """Wavefronts that have a lane at work, and how many lanes are."""
    eights = np.ascontiguousarray(lanes).view(np.uint64)
    return int(np.count_nonzero(np.bitwise_or.reduce(eights, axis=1))), float(np.count_nonzero(lanes))


def _mixed(low: NDArray[np.bool_], live: NDArray[np.bool_], text_low: str, text_high: str) -> Counts:
    """Both sides of a branch, each in the wavefronts that have a lane on it."""
    counts = Counts()
    for side, text in ((low & live, text_low), (~low & live, text_high)):
        waves, lanes = _at_work(side)
        if waves:
            counts += block(text, lanes / waves) * waves
    return counts


class _Blocks(NamedTuple):
    """What differs between gfx8 and gfx9, where the scalar ALU keeps what products need in registers."""

    range: str
    first: str
    row: str
    column: str
    load: str


_GCN3 = _Blocks(
    "s5 v29",
    "v34 sm1 s4 wt1 br1 s1",
    "s1 br1 s5 s1 s3 br1 br1",
    "s1 br1 s5 v27 br1 br1 s1 s3 v3 br1",
    "v10 ld1 wt1",
)
_VEGA = _Blocks(
    "s4 v29",
    "v34 sm1 s12 wt1 br1 s1",
    "s1 br1 s1 s1 s3 br1 br1",
    "s1 br1 s1 v27 br1 br1 s1 s3 v3 br1",
    "v8 ld1 wt1",
)


class _Geometry(NamedTuple):
    oh: int
    ow: int
    kh: int
    kw: int
    ph: int
    pw: int
    sh: int
    sw: int
    h: int
    w: int
    pixels: int
    dh: int = 1
    dw: int = 1
    vega: bool = False


@lru_cache(maxsize=4096)
def _pixels(shape: _Geometry) -> tuple[Counts, float, float]:
    """Instructions, loads and their lines of ``pixels`` work-items."""
    oh, ow, kh, kw, ph, pw, sh, sw, h, w, pixels, dh, dw, vega = shape
    blocks = _VEGA if vega else _GCN3
    span_h, span_w = (kh - 1) * dh + 1, (kw - 1) * dw + 1
    plane = h * w
    waves = -(-pixels // 64)
    gid = (sampled_waves(waves, _MOST_WAVES)[:, None] * 64 + np.arange(64)).astype(np.int32)
    live = gid < pixels
    channel, rest = np.divmod(gid, plane)
    row, column = np.divmod(rest, w)
    row, column = row + ph, column + pw
    start_h, count_h = _range(row, span_h, sh, oh)
    start_w, count_w = _range(column, span_w, sw, ow)
    size = len(gid)
    counts = block("sm4 wt3 s15 v54 br1") * size + _mixed(row < span_h, live, "s4 v8", blocks.range)
    counts += block("s2 v3 br1 s5 v10 br1 s2 v3 br1 s2 v17 sm1 br1") * size
    counts += _mixed(column < span_w, live, "s4 v8", blocks.range) + block("s5 sm1 v5 wt1 st1 en1") * size
    entered, active = _at_work(live & (count_h > 0))
    counts += block(blocks.first, active / max(1, entered)) * entered
    accesses, loads, dilated = 0.0, 0.0, (dh, dw) != (1, 1)
    step = max(1, size // _SAMPLE)
    for i in range(int(count_h.max())):
        rows = live & (count_h > i)
        busy, active = _at_work(rows)
        share = active / max(1, busy)
        counts += block(blocks.row) * busy + block("v32 v2", share) * busy
        for j in range(int(count_w.max())):
            lanes = rows & (count_w > j)
            trips, active = _at_work(lanes)
            if not trips:
                continue
            counts += block(blocks.column, active / trips) * trips
            if dilated:  # those outputs take a pixel whose distance is a multiple of the dilation
                lanes &= ((row - (start_h + i) * sh) % dh == 0) & ((column - (start_w + j) * sw) % dw == 0)
            taken, active = _at_work(lanes)
            if not taken:
                continue
            counts += block(blocks.load, active / taken) * taken
            loads += taken
            some = lanes[::step]
            cy, cx = start_h[::step] + i, start_w[::step] + j
            plane_y, plane_x = (row[::step] - cy * sh) // dh, (column[::step] - cx * sw) // dw
            tap = (channel[::step].astype(np.int64) * kh + plane_y) * kw + plane_x
            index = tap * (oh * ow) + cy * ow + cx
            line = np.where(some, index // 16, -1)
            line.sort(axis=1)
            fresh = (np.diff(line, axis=1, prepend=-1) != 0) & (line >= 0)
            seen = int((some.any(axis=1)).sum())
            accesses += taken * float(fresh.sum()) / max(1, seen)
    whole = waves / size
    return counts * whole, loads * whole, accesses * whole


def col2im(facts: Facts) -> Profile:
    """Values of the kernel's arguments give the geometry; 256 work-items a group, one a pixel."""
    oh, ow, kh, kw = (facts.integer(name) for name in ("column_h", "column_w", "kernel_h", "kernel_w"))
    ph, pw, sh, sw = (facts.integer(name) for name in ("pad_h", "pad_w", "stride_h", "stride_w"))
    h, w = facts.integer("image_h"), facts.integer("image_w")
    dh, dw = facts.integer("dilation_h"), facts.integer("dilation_w")
    pixels = facts.grid[0]
    waves = -(-pixels // 64)
    plane = h * w
    # Channels are alike where a plane is whole wavefronts: one stands for all.
    repeat = pixels // plane if plane % 64 == 0 else 1
    counts, loads, accesses = _pixels(
        _Geometry(oh, ow, kh, kw, ph, pw, sh, sw, h, w, pixels // repeat, dh, dw, facts.vega)
    )
    counts = counts * repeat
    loads, accesses = loads * repeat, accesses * repeat
    channels = max(1, pixels // plane)
    elements = channels * kh * kw * oh * ow
    streams = (
        Stream(
            "load",
            loads,
            accesses,
            lines_of(elements),
            pages_of(elements),
            "group",
            256.0 * kw * 4,
            page_group=1.2,
            sharing=4.0,
            lockstep=0.6,
        ),
        Stream(
            "store",
            float(waves),
            lines_of(pixels),
            lines_of(pixels),
            pages_of(pixels),
            page_group=4.0,
            sharing=4.0,
            resident=False,
        ),
    )
    return Profile(
        workgroups=facts.workgroups,
        waves_per_group=facts.waves_per_group,
        counts=counts,
        streams=streams,
        waves=waves,
        code_bytes=1808.0,
        rounds=loads / waves,
        walk_rounds=pages_of(elements) / max(1, facts.workgroups),
        scalar_rounds=2.0,
        vgprs=32,
        sgprs=48,
        flops=float(elements),
    )
