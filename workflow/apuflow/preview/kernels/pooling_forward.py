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

from apuflow.preview.instructions import Counts, Tally
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.kernels.sample import sampled_waves
from apuflow.preview.lines import LINE, PAGE, lines_of, pages_of, region_lines
from apuflow.preview.profile import Profile, Stream

Numbers = NDArray[np.int64]
_BETWEEN = 0.6
"""Of the lines that a compute unit's wavefronts load at a time, what comes between two loads of a line."""
_MOST_WAVES = 1024
"""Largest number of sampled wavefronts of a plane."""


def _where(lanes: float, waves: float, text: str) -> tuple[str, float, float]:
    """A block in the wavefronts that have an active lane, for ``Tally``."""
    return text, lanes / waves if waves else 0.0, waves


class _Side(NamedTuple):
    """Elements of an image that work-items access, one after the other, along one side.

    Attributes:
        at: their numbers by place of a wavefront, work-item and step.
        seen: which of them are in the image.
    """

    at: Numbers
    seen: NDArray[np.bool_]


def _side(at: Numbers, size: int) -> _Side:
    return _Side(at, (at >= 0) & (at < size))


class _Accesses(NamedTuple):
    """By step down and step across: active lanes, wavefronts that have some, lines under each of these."""

    lanes: Numbers
    waves: Numbers
    lines: Numbers


def _accesses(chosen: Numbers, down: _Side, across: _Side, width: int, step: int) -> _Accesses:
    """What wavefronts access of an image. The lanes of each are rows and columns.

    Args:
        chosen: how many wavefronts have a place across (first) and a place down.
        width: of the image.
        step: elements from a column to the next.
    """
    high, wide = down.seen.sum(axis=1), across.seen.sum(axis=1)
    lanes = high.T @ chosen.T @ wide
    waves = (high > 0).T.astype(np.int64) @ chosen.T @ (wide > 0)
    # Lines turn on where in a line a row begins, at one of 16 elements.
    place = np.arange(16)
    begins = (down.at * width % 16)[..., None] == place
    rows = (begins & down.seen[..., None]).sum(axis=1)
    followed = (begins[:, :-1] & (down.seen[:, :-1] & down.seen[:, 1:])[..., None]).sum(axis=1)
    first = place + np.where(across.seen, across.at, width).min(axis=1)[..., None]
    last = place + np.where(across.seen, across.at, -1).max(axis=1)[..., None]
    any_column = wide[..., None] > 0
    lines = np.where(any_column, last // 16 - first // 16 + 1 if step < 16 else wide[..., None], 0)
    between = int(down.at[0, 1, 0] - down.at[0, 0, 0]) * width if down.at.shape[1] > 1 else 0
    shared = any_column & (last // 16 == (first + between) // 16)  # with the next row
    found = np.einsum("ajp,aip->ji", np.tensordot(chosen, rows, 1), lines)
    found -= np.einsum("ajp,aip->ji", np.tensordot(chosen, followed, 1), shared)
    return _Accesses(lanes, waves, found)


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
    """Instructions and accesses of one (image, channel) plane.

    A wavefront has whole rows of its workgroup's work-items.
    """
    kh, kw, sh, sw, ph, pw, h, w, oh, ow, tall, g0, g1, across, down, waves, maximum = shape
    places = np.arange(down * waves)  # of wavefronts, from the top to the bottom
    numbers = sampled_waves(across * len(places), _MOST_WAVES)
    size = len(numbers)
    chosen = np.bincount(numbers, minlength=across * len(places)).reshape(across, len(places))
    row = (places % waves * (64 // g0))[:, None] + np.arange(64 // g0)
    real = (row < g1)[..., None]
    y = ((places // waves * g1)[:, None] + row)[..., None]
    x = np.arange(across * g0).reshape(across, g0, 1)
    share = float(min(64, g0 * g1))
    height = (tall - 1) * sh + kh
    read_down = _side(y * tall * sh + np.arange(height) - ph, h)
    read_down = read_down._replace(seen=real & read_down.seen)
    read = _accesses(chosen, read_down, _side(x * sw + np.arange(kw) - pw, w), w, sw)
    in_rows = read_down.seen.sum(axis=1)
    row_lanes = (g0 * (chosen.sum(axis=0) @ in_rows)).tolist()
    row_waves = (chosen.sum(axis=0) @ (in_rows > 0)).tolist()
    read_lanes, read_waves = read.lanes.tolist(), read.waves.tolist()
    head = 34 if tall == 1 else 35 if sh > 1 else 33
    tally = Tally()
    tally.add((f"sm5 v{head} s8 wt2 br1 en1", share, size))
    for j, some in enumerate(row_waves):
        last = j == height - 1
        if j:
            tally.add(("s3 v5 br1", share, size))
        if last:
            tally.add(("s2 sm1 v1 br1", share, size), ("s2 v1 br1", share, size * max(0, kw - 2)))
        else:
            tally.add(("s2 v1 br1", share, (size - some) * (kw - 1)), ("br1", share, size - some))
        for i in range(kw):
            first = i == 0
            if not first and not last:
                tally.add(("s3 v1 br1", share, some))
            tally.add(
                _where(row_lanes[j], some, "v3 s2 br1" if first else "v4 s2 br1"),
                _where(read_lanes[j][i], read_waves[j][i], "v6 ld1"),
            )
            if last or i == kw - 1:
                tally.add(("s1", share, some))
    middle = 6 + (kh * kw + 1) // 2 - (kh * kw + 1) % 2 if maximum else 22 + kh * kw - (3 if sh == 1 else 0)
    written_down = _side(y * tall + np.arange(tall), oh)
    written_down = written_down._replace(seen=real & written_down.seen)
    written = _accesses(chosen, written_down, _side(x, ow), ow, 1)
    for k, (lanes, some) in enumerate(
        zip(written.lanes[:, 0].tolist(), written.waves[:, 0].tolist(), strict=True)
    ):
        tally.add((_store_test(k, tall), share, size))
        if k == 1:
            tally.add(("wt2", share, size))
        if tall == 1:
            work = middle + (6 if maximum else 7)
        else:
            work = middle + (2 if maximum else -1) * (k == 0) + (k == tall - 1)
        tally.add(_where(lanes, some, f"v{work} st1" + (" wt2" if k == 0 else "")))
    whole = across * len(places) / size
    return _Plane(
        tally.counts() * whole,
        *(float(of.sum()) * whole for of in (read.waves, read.lines, written.waves, written.lines)),
    )


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
    sharing = max(1.0, PAGE / (h * w * 4)) * across * (down if h * w * 4 < PAGE else 1)
    streams = (
        Stream(
            "load",
            loads * planes,
            lines * planes,
            lines_of(planes * h * w),
            pages_of(planes * h * w),
            "device",
            float(g0 * sw * height * 4 * waves),
            sharing=sharing,
            line_sharing=max(1.0, planes * _own_lines(shape) / lines_of(planes * h * w)),
            group_bytes=_BETWEEN * waves * LINE * lines / max(1.0, loads),
        ),
        Stream(
            "store",
            stores * planes,
            store_lines * planes,
            lines_of(out),
            pages_of(out),
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
        scalar_again=1.0,
        walk_rounds=max(1.0, min(float(height), height * w * 4 / PAGE)),
        vgprs=48,
        sgprs=48,
        flops=float(out * kh * kw),
    )
