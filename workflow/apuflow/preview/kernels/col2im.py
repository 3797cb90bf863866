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

from apuflow.preview.instructions import Counts, Tally
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.kernels.sample import sampled_waves
from apuflow.preview.lines import lines_of, pages_of
from apuflow.preview.profile import Profile, Stream

_SAMPLE = 48
_MOST_WAVES = 8192
"""Largest number of sampled wavefronts of a launch."""

Ints = NDArray[np.int32]
"""Pixels and columns of an image are counted by a C int."""


class _Lanes(NamedTuple):
    """Wavefronts (first axis) and their lanes, with the outputs along each side that a lane's pixel is in."""

    channel: Ints
    row: Ints
    column: Ints
    start_h: Ints
    count_h: Ints
    start_w: Ints
    count_w: Ints


def _lanes(first: Ints, shape: _Geometry) -> _Lanes:
    """Those of wavefronts whose first lanes have the pixels ``first``. A pixel's place has the padding."""
    channel, rest = np.divmod(first[:, None] + np.arange(64, dtype=np.int32), shape.h * shape.w)
    row, column = np.divmod(rest, shape.w)
    start_h, count_h = _outputs(shape.h, shape.ph, shape.span_h, shape.sh, shape.oh)
    start_w, count_w = _outputs(shape.w, shape.pw, shape.span_w, shape.sw, shape.ow)
    return _Lanes(
        channel,
        row + shape.ph,
        column + shape.pw,
        start_h[row],
        count_h[row],
        start_w[column],
        count_w[column],
    )


def _outputs(size: int, pad: int, span: int, stride: int, limit: int) -> tuple[Ints, Ints]:
    """For each pixel along a side the first output that it is in, and how many."""
    at = np.arange(size, dtype=np.int32) + pad
    start = np.where(at < span, 0, (at - span) // stride + 1)
    return start, np.maximum(0, np.minimum(limit, at // stride + 1) - start)


def _at_work(lanes: NDArray[np.bool_], waves: NDArray[np.int64]) -> tuple[float, int]:
    """Mean lanes at work of the wavefronts that have one, and how many these are.

    Args:
        waves: how many wavefronts each of ``lanes`` stands for.
    """
    active = lanes.sum(axis=1)
    busy = int(waves[active > 0].sum())
    return float(active @ waves) / max(1, busy), busy


def _by_outputs(
    lanes: _Lanes, live: NDArray[np.bool_], waves: NDArray[np.int64]
) -> tuple[list[list[float]], list[list[int]]]:
    """``_at_work`` for all lanes with at least so many outputs down (first) and across."""
    down, across = int(lanes.count_h.max()) + 1, int(lanes.count_w.max()) + 1
    place = (np.arange(len(waves))[:, None] * down + lanes.count_h) * across + lanes.count_w
    exactly = np.bincount(place[live], minlength=len(waves) * down * across).reshape(-1, down, across)
    active = exactly[:, ::-1, ::-1].cumsum(axis=1).cumsum(axis=2)[:, ::-1, ::-1]
    busy = np.tensordot(waves, active > 0, 1)
    return (np.tensordot(waves, active, 1) / np.maximum(1, busy)).tolist(), busy.tolist()


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

    @property
    def span_h(self) -> int:
        """Rows from the filter's first tap to its last, both included."""
        return (self.kh - 1) * self.dh + 1

    @property
    def span_w(self) -> int:
        """Columns from the filter's first tap to its last, both included."""
        return (self.kw - 1) * self.dw + 1


@lru_cache(maxsize=4096)
def _pixels(shape: _Geometry) -> tuple[Counts, float, float]:
    """Instructions, loads and their lines of ``pixels`` work-items."""
    dilated = (shape.dh, shape.dw) != (1, 1)
    blocks = _VEGA if shape.vega else _GCN3
    first = sampled_waves(-(-shape.pixels // 64), _MOST_WAVES).astype(np.int32) * 64
    size = len(first)
    # Wavefronts that begin at the same place of a plane are alike; the last one may be partial.
    last = np.minimum(64, shape.pixels - first) - 1
    alike, waves = np.unique(first % (shape.h * shape.w) * np.int64(64) + last, return_counts=True)
    lanes = _lanes((alike // 64).astype(np.int32), shape)
    live = np.arange(64) <= alike[:, None] % 64
    low_h, low_w = lanes.row < shape.span_h, lanes.column < shape.span_w
    tally = Tally()
    tally.add(("sm4 wt3 s15 v54 br1", 64.0, size))
    tally.add(("s4 v8", *_at_work(low_h & live, waves)), (blocks.range, *_at_work(~low_h & live, waves)))
    tally.add(("s2 v3 br1 s5 v10 br1 s2 v3 br1 s2 v17 sm1 br1", 64.0, size))
    tally.add(
        ("s4 v8", *_at_work(low_w & live, waves)),
        (blocks.range, *_at_work(~low_w & live, waves)),
        ("s5 sm1 v5 wt1 st1 en1", 64.0, size),
    )
    share, busy = _by_outputs(lanes, live, waves)
    if len(share) > 1:
        tally.add((blocks.first, share[1][0], busy[1][0]))
    sample = first[:: max(1, size // _SAMPLE)]
    seen = _lanes(sample, shape)
    alive = sample[:, None] + np.arange(64) < shape.pixels
    accesses = loads = 0.0
    across = [(seen.count_w > j, _across(seen, shape, j)) for j in range(len(share[0]) - 1)]
    for i in range(len(share) - 1):
        tally.add((blocks.row, 64.0, busy[i + 1][0]))
        tally.add(("v32 v2", share[i + 1][0], busy[i + 1][0]))
        seen_rows, down = alive & (seen.count_h > i), _down(seen, shape, i)
        for j, (seen_across, element) in enumerate(across):
            trips = taken = share[i + 1][j + 1], busy[i + 1][j + 1]
            seen_lanes = seen_rows & seen_across
            if dilated:  # those outputs take a pixel whose distance is a multiple of the dilation
                having = live & (lanes.count_h > i) & (lanes.count_w > j)
                taken = _at_work(having & _taken(lanes, shape, i, j), waves)
                seen_lanes &= _taken(seen, shape, i, j)
            tally.add((blocks.column, *trips))
            tally.add((blocks.load, *taken))
            lines, loading = _lines(down + element, seen_lanes)
            loads += taken[1]
            accesses += taken[1] * lines / max(1, loading)
    whole = -(-shape.pixels // 64) / size
    return tally.counts() * whole, loads * whole, accesses * whole


def _taken(lanes: _Lanes, shape: _Geometry, i: int, j: int) -> NDArray[np.bool_]:
    """Lanes whose pixel is under a tap of their ``i``-th output down and ``j``-th across."""
    down, across = lanes.row - (lanes.start_h + i) * shape.sh, lanes.column - (lanes.start_w + j) * shape.sw
    found: NDArray[np.bool_] = (down % shape.dh == 0) & (across % shape.dw == 0)
    return found


def _down(lanes: _Lanes, shape: _Geometry, i: int) -> NDArray[np.int64]:
    """Elements of the columns before those of the row that the ``i``-th output down takes."""
    y = lanes.start_h + i
    tap = (lanes.row - y * shape.sh) // shape.dh
    taps = lanes.channel * shape.kh + tap.astype(np.int64)
    return taps * (shape.kw * shape.oh * shape.ow) + y * shape.ow


def _across(lanes: _Lanes, shape: _Geometry, j: int) -> NDArray[np.int64]:
    """Elements from there to the one that the ``j``-th output across takes."""
    x = lanes.start_w + j
    tap = (lanes.column - x * shape.sw) // shape.dw
    return tap.astype(np.int64) * (shape.oh * shape.ow) + x


def _lines(index: NDArray[np.int64], taken: NDArray[np.bool_]) -> tuple[float, int]:
    """Lines under elements of wavefronts, and the wavefronts that take some.

    Args:
        index: of the element that each lane takes, if it does.
    """
    line = np.where(taken, index >> 4, -1)
    line.sort(axis=1)
    fresh = np.count_nonzero(line[:, 1:] != line[:, :-1]) + np.count_nonzero(line[:, 0] >= 0)
    return float(fresh), int(np.count_nonzero(line[:, -1] >= 0))


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
            sharing=4.0,
        ),
        Stream(
            "store",
            float(waves),
            lines_of(pixels),
            lines_of(pixels),
            pages_of(pixels),
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
