"""MIOpenConvDirUni.cl: direct convolution of tiles that a workgroup keeps in the LDS.

Counts: basic blocks of the kernel compiled by clang-15 -O3 for gfx801. For one or two input channels at a
time a workgroup copies its part of images and filters into the LDS; then each work-item computes its pixels
of all its output channels, a row of the filter at a time. The rows of filters of 3 and 5 are unrolled.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from apuflow.preview.instructions import Counts, block
from apuflow.preview.kernels.direct_tiles import Tiling, tiling
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.kernels.sample import sampled_waves, serialised
from apuflow.preview.lines import PAGE, lines_of, pages_of, span_lines
from apuflow.preview.profile import Profile, Reuse, Stream

Numbers = NDArray[np.int64]
_MOST_BLOCKS = 64
"""Largest number of sampled tiles of an image."""
MOST_SUMS = 32
"""Of a work-item: four pixels of eight output channels."""


class _Width(NamedTuple):
    """What the code for a filter of some width takes, for ``MOST_SUMS`` sums of a work-item.

    Attributes:
        valu, salu, branches, reads: of a row of the filter, beside its products and the LDS reads of its
            operands.
        head: instructions before the loop over the channels.
        code: bytes of the products.
        registers: vector registers beside a work-item's sums and row of inputs.
    """

    valu: float
    salu: float
    branches: float
    reads: int
    head: str
    code: float
    registers: int


_WIDTHS = {
    3: _Width(0.7, 0.7, 1 / 3, 0, "v23 s19", 2150.0, 30),
    5: _Width(19, 18, 1 / 5, 0, "v15 s23", 8480.0, 38),
    7: _Width(17.5, 1, 1, 0, "v24 s57", 8720.0, 60),
    9: _Width(35, 2, 1, 1, "v28 s44", 5410.0, 42),
    11: _Width(40, 2, 1, 1, "v64 s51", 7470.0, 60),
}
LONG_ROW = 9
"""Width up to which the code of a row grows less than its products."""
_WAITS = 0.85
"""``s_waitcnt`` per LDS read: some wait for two."""
_WAITS_BACKWARD = {3: 0.6, 5: 0.4, 7: 0.5, 9: 0.28, 11: 0.45}
_WHOLE_STACK = 8
"""Output channels with which the compiler keeps addresses of 5x5 filters, backward, in registers."""
_BY_ROWS = 14.0
"""Scalar instructions beside a row of 11x11 filters backward with a stride: not unrolled, each asks for its
turn."""


def _of_width(shape: Tiling) -> _Width:
    """That of the filter's width, or of the nearest one."""
    return _WIDTHS[min(_WIDTHS, key=lambda width: abs(width - shape.filter[0]))]


def _lines(index: Numbers, inside: NDArray[np.bool_]) -> float:
    """(wavefront, line) pairs under element indices along the last axis; lanes outside read element 0."""
    line = np.where(inside, index // 16, -1)
    line.sort(axis=-1)
    return float((np.diff(line, axis=-1, prepend=-2) != 0).sum())


class _Plane(NamedTuple):
    """Sums over the tiles of an image.

    Attributes:
        load_lines: lines that the wavefronts read of a channel.
        stores, store_lines: of one output channel.
    """

    load_lines: float
    stores: float
    store_lines: float


@lru_cache(maxsize=4096)
def _plane(shape: Tiling) -> _Plane:
    across, down = shape.blocks
    chosen = sampled_waves(across * down, _MOST_BLOCKS)
    whole = across * down / len(chosen)
    bx, by = (chosen % across)[:, None, None], (chosen // across)[:, None, None]
    width, height = shape.local if shape.large else shape.image
    elements = np.arange(ceil(width * height / 64) * 64, dtype=np.int64).reshape(1, -1, 64)
    y, x = elements // width + 0 * bx, elements % width + 0 * bx
    if shape.large:
        y = y + shape.origin(1, by * shape.tile[1])
        x = x + shape.origin(0, bx * shape.tile[0])
    inside = (x >= 0) & (x < shape.image[0]) & (y >= 0) & (y < shape.image[1]) & (elements < width * height)
    plane = shape.image[0] * shape.image[1]
    phases = sorted({channel * plane % 16 for channel in range(4)})
    loads = sum(_lines(y * shape.image[0] + x + phase, inside) for phase in phases) / len(phases)
    if not shape.large and plane % 64:
        loads -= len(chosen)  # the last wavefront's lanes beyond the image do not run
    stores = store_lines = 0.0
    lane = np.arange(shape.group, dtype=np.int64).reshape(1, -1, 64)
    for j in range(shape.pixels[1]):
        row = by * shape.tile[1] + lane // shape.items[0] * shape.pixels[1] + j
        seen = row < shape.out[1]
        for i in range(shape.pixels[0]):
            column = bx * shape.tile[0] + lane % shape.items[0] * shape.pixels[0] + i
            lanes = seen & (column < shape.out[0])
            stores += float(lanes.any(axis=-1).sum())
            store_lines += _lines(row * shape.out[0] + column, lanes) - float((~lanes).any(axis=-1).sum())
    return _Plane(loads * whole, stores * whole, store_lines * whole)


def _trips(elements: int, first: int, group: int) -> int:
    """Trips of a wavefront's loop over ``elements`` that a workgroup shares."""
    return max(0, ceil((elements - first) / group))


def _compute(shape: Tiling, channels: int) -> Counts:
    """Products of so many input channels."""
    kw, kh = shape.filter
    known = _of_width(shape)
    share = 0.3 + 0.7 * shape.sums / MOST_SUMS
    reads = ceil(shape.stack * kw * kh / 2 + shape.rows * shape.row / 2) + known.reads * kh
    valu = shape.products + kh * (shape.sums * shape.forward + known.valu * share)
    scalars = kh * known.salu * share
    waits = _WAITS
    if not shape.forward:
        waits = _WAITS_BACKWARD[min(_WAITS_BACKWARD, key=lambda width: abs(width - kw))]
        if shape.pixels == (1, 1) and kw <= 7:
            waits = max(waits, 0.42 if kw == 5 else 0.6 if kw == 7 else 0.88)
        if kw == 5 and shape.stack < _WHOLE_STACK:
            valu, scalars = valu - kh * (known.valu - 0.7) * share, kh * 0.7 * share
        if kw > LONG_ROW and shape.stride[1] > 1:
            scalars, waits = kh * _BY_ROWS, 1.1
    return Counts(
        valu=valu * channels,
        salu=scalars * channels,
        branches=kh * known.branches * channels,
        waits=waits * reads * channels,
        lds_reads=float(reads * channels),
        lanes=64.0 * valu * channels,
    )


def _counts(shape: Tiling) -> tuple[Counts, float, float, float]:
    """Of a workgroup without its stores; its loads of inputs, of weights; rounds of a wavefront."""
    width, height = shape.local
    inputs = width * height if shape.large else shape.image[0] * shape.image[1]
    weights, packs, waves = shape.weights, shape.packs, ceil(shape.group / 64)
    trip = "v24 s3 ld1 wt1 lw1 br1" if shape.large else "v22 s2 ld1 wt1 lw1 br1"
    once = inputs <= shape.group
    total, of_inputs, of_weights, rounds = Counts(), 0.0, 0.0, 0.0
    barrier = " ba1" if waves > 1 else ""
    for wave in range(waves):
        first = 64 * wave
        total += block(f"sm3 {_of_width(shape).head} v{shape.sums} s{8 * shape.large}")
        if not shape.large:
            zeros = shape.together * width * height
            total += block("v3 s2 lw1 br1") * _trips(zeros, first, shape.group)
        own, of_filter = _trips(inputs, first, shape.group), _trips(weights, first, shape.group)
        lanes = min(64.0, max(1.0, (inputs - first) / max(1, own)))
        pack = block(f"v1 s1 wt2{barrier}") + block(f"v1 s2 wt2{barrier}") + block("s6 br2")
        if once:
            pack += block("v6 ld1 wt1 lw1", lanes) * (own * shape.together)
        else:
            pack += (block(trip, lanes) * own + block("v1 s2")) * shape.together
        pack += block("s2 br1")
        if weights <= shape.group or (shape.filter[0] == 11 and waves == 4):
            pack += block("v9 s1 ld1 wt1 lw1") * of_filter
        else:
            pack += (
                block("v2 s2")
                + block("v17 s2 ld1 wt1 lw1 br1" if shape.forward else "v33 s2 ld1 wt1 lw1 br1") * of_filter
            )
        pack += _compute(shape, shape.together)
        total += pack * packs + block("v7 s2 br1 en1")
        of_inputs += packs * own * shape.together
        of_weights += packs * of_filter
        rounds = max(rounds, packs * (1 if once else own * shape.together) + packs * of_filter)
    return total, of_inputs, of_weights, rounds


@lru_cache(maxsize=4096)
def _input_conflicts(shape: Tiling) -> float:
    lane = np.arange(64, dtype=np.int64)
    width = shape.local[0]
    y = lane // shape.items[0] * shape.apart(1)
    x = lane % shape.items[0] * shape.apart(0)
    return serialised(4 * (y * width + x))


def _streams(shape: Tiling, plane: _Plane, of_inputs: float, of_weights: float) -> tuple[Stream, ...]:
    """Images, weights and results, from the loads of all workgroups."""
    tiles, stacks = shape.blocks[0] * shape.blocks[1], ceil(shape.outputs / shape.groups / shape.stack)
    taps = shape.filter[0] * shape.filter[1]
    side = shape.image[0] * shape.image[1]
    images = float(shape.n * shape.channels * shape.groups * side)
    weights = float(shape.outputs * shape.channels * taps)
    written = float(shape.n * shape.outputs * shape.out[0] * shape.out[1])
    workgroups = tiles * stacks * shape.groups * shape.n
    if shape.forward:
        of_filter = shape.stack * span_lines(4 * shape.together * taps, 4 * shape.channels * taps)
    else:
        of_filter = shape.together * span_lines(4 * shape.stack * taps, 4 * shape.outputs * taps)
    filter_lines = max(of_filter * shape.packs * workgroups, of_weights)
    near = tiles if 4 * side < PAGE else min(tiles, 2 * shape.blocks[0])
    lines_of_image = plane.load_lines * shape.packs * shape.together * stacks * shape.groups * shape.n
    reused: Reuse = "device"
    return (
        Stream(
            *("load", of_inputs, lines_of_image, lines_of(images), pages_of(images), reused),
            *(float(shape.lds_bytes), float(stacks * near)),
            line_sharing=float(stacks),
            far_bytes=4.0 * side * shape.channels if tiles > 1 else 0.0,  # tiles come before stacks
        ),
        Stream(
            *("load", of_weights, filter_lines, lines_of(weights), pages_of(weights), reused),
            *(float(shape.lds_bytes), float(tiles * shape.n)),
            line_sharing=float(tiles * shape.n),
        ),
        Stream(
            "store",
            plane.stores * shape.outputs * shape.n,
            plane.store_lines * shape.outputs * shape.n,
            lines_of(written),
            pages_of(written),
            sharing=float(min(tiles, 2 * shape.blocks[0])),
            resident=False,
            repeated="later",
        ),
    )


def direct(facts: Facts) -> Profile:
    """A workgroup per tile, stack of output channels and image."""
    shape = tiling(facts)
    plane = _plane(shape)
    one, of_inputs, of_weights, rounds = _counts(shape)
    workgroups, waves = facts.workgroups, facts.waves_per_group
    kw, kh = shape.filter
    rows = shape.blocks[0] * shape.blocks[1] * waves * shape.pixels[1]
    storing = block("s2 br1") * rows + block("v7 s3 br1 st1") * plane.stores
    rows_read = shape.rows * shape.row / 2
    inputs_read = rows_read * shape.packs * shape.together * waves
    serial = 2.0 * (one.lds_reads - inputs_read) + _input_conflicts(shape) * inputs_read
    serial += 8.0 * one.lds_writes
    size = _of_width(shape)
    taken = (shape.products / (shape.sums * kw * kh)) ** (0.5 if kw <= LONG_ROW else 0.0)
    made = min(shape.out[0] * shape.out[1], shape.image[0] * shape.image[1])
    return Profile(
        workgroups=workgroups,
        waves_per_group=waves,
        counts=one * workgroups + storing * (shape.outputs * shape.n),
        streams=_streams(shape, plane, of_inputs * workgroups, of_weights * workgroups),
        code_bytes=1200.0 + 88.0 * shape.sums + size.code * (0.1 + 0.9 * shape.sums / MOST_SUMS) * taken,
        rounds=rounds,
        walk_rounds=min(rounds, 2.0 + shape.packs / 8),
        scalar_again=1.0,
        lds_bytes=shape.lds_bytes,
        vgprs=round(shape.sums + shape.row + size.registers * (0.4 + 0.6 * shape.sums / MOST_SUMS)),
        sgprs=64,
        lds_conflicts=serial / one.lds - 1.0,
        flops=2.0 * shape.n * shape.outputs * made * shape.channels * kw * kh,
    )
