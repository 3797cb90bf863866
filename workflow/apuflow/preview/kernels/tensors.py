"""MIOpen's kernels between layers: element-wise operators, copies of rows, frozen batch normalisation.

MIOpenTensorKernels.cl, MIOpenSubTensorOpWithSubTensorKernel.cl, MIOpenBatchNormFwdInferSpatial.cl.
Counts: basic blocks of the kernels compiled by clang-15 -O3 for gfx801.
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from apuflow.preview.instructions import NOTHING, Counts, block
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.lines import PAGE, lines_of, pages_of
from apuflow.preview.profile import Profile, Stream

Ints = NDArray[np.int64]
_KINDS: Final[tuple[Literal["load", "store"], ...]] = ("load", "store")
_ELEMENTWISE = {
    4: ("s3 v4", "s13", "v16 ld2 s4", "wt1 v34 s2 st1", 488),
    2: ("s3 v4", "s13", "v14 ld2 s2", "wt1 v16 s2 st1", 384),
    1: ("s4 v3", "s12", "v11 ld2 s1", "wt2 v7 s2 st1", 328),
}
"""Read unit -> instructions of head, entry, loads and stores of a trip; code bytes."""


def _packed(kind: str, waves: float, elements: int, sharing: float) -> Stream:
    """A buffer that is read or written once from its beginning to its end."""
    load = kind == "load"
    return Stream(
        "load" if load else "store",
        waves,
        lines_of(elements),
        lines_of(elements),
        pages_of(elements),
        sharing=sharing,
        resident=load,
    )


def elementwise(facts: Facts) -> Profile:
    """A work-item a read unit, more where 4,096 workgroups do not suffice."""
    unit, work = facts.define("RD_BLCK"), facts.integer("total_work")
    head, entry, loads, stores, code = _ELEMENTWISE[unit]
    items = facts.grid[0]
    waves, busy = items // 64, -(-min(work, items) // 64)
    full, rest = divmod(work, items)
    trips = full * waves + -(-rest // 64)
    mean = work / trips
    counts = block(f"sm3 wt1 {head} br1 en1") * waves
    counts += block(f"sm5 wt1 {entry} v2 br1", min(work, items) / busy) * busy
    counts += block(f"{loads} br1 {stores} br1", mean) * trips
    elements, sharing = work * unit, 4.0 / unit
    return Profile(
        workgroups=facts.workgroups,
        waves_per_group=facts.waves_per_group,
        counts=counts,
        streams=(
            _packed("load", float(trips), elements, sharing),
            _packed("load", float(trips), elements, sharing),
            _packed("store", float(trips), elements, sharing),
        ),
        code_bytes=float(code),
        rounds=trips / waves,
        walk_rounds=2.0,
        vgprs=20,
        sgprs=32,
        flops=float(elements),
    )


def rows(facts: Facts) -> Profile:
    """A strided copy: every work-item takes each ``WORK_LENGTH``-th element along each dimension."""
    flat = facts.kernel.endswith("1d")
    length_0 = 1 if flat else facts.integer("length_0")
    length_1 = facts.integer("length_0" if flat else "length_1")
    work_0 = 1 if flat else facts.define("WORK_LENGTH_0")
    work_1 = facts.define("WORK_LENGTH_0" if flat else "WORK_LENGTH_1")
    waves = facts.workgroups * facts.waves_per_group
    row, column = np.divmod(64 * np.arange(waves), work_1)
    if work_1 < 64:  # a wavefront has several rows
        column[:] = 0
    outer = -(-np.maximum(length_0 - row, 0) // work_0)
    inner = -(-np.maximum(length_1 - column, 0) // work_1)
    counts, trips = NOTHING, 0
    for (down, across), count in zip(*_alike(outer, inner), strict=True):
        counts += _one_wave(flat, down, across) * count
        trips += down * across * count
    elements = length_0 * length_1
    lanes = min(64.0, elements / max(1, trips))
    counts += block("v13", lanes) * trips
    lines, pages = lines_of(elements), pages_of(elements)
    if not flat:  # the side with gaps begins each row on a page of its own, at worst
        lines += length_0 / 2
    streams: tuple[Stream, ...] = tuple(
        Stream(kind, float(trips), lines, lines, pages, sharing=4.0, resident=kind == "load")
        for kind in _KINDS
    )
    return Profile(
        workgroups=facts.workgroups,
        waves_per_group=facts.waves_per_group,
        counts=counts,
        streams=streams,
        waves=waves,
        code_bytes=228.0 if flat else 352.0,
        rounds=max(1.0, trips / waves),
        walk_rounds=1.0,
        store_rounds=max(0.0, trips / waves - 1.0),
        vgprs=13,
        sgprs=24,
    )


def _alike(outer: Ints, inner: Ints) -> tuple[list[tuple[int, int]], list[int]]:
    """Trips of the wavefronts along both dimensions, each pair once, and how many wavefronts have it."""
    pairs = outer * (int(inner.max()) + 1) + inner
    _, where, times = np.unique(pairs, return_index=True, return_counts=True)
    return list(zip(outer[where].tolist(), inner[where].tolist(), strict=True)), times.tolist()


def _one_wave(flat: bool, outer: int, inner: int) -> Counts:
    """All but the vector instructions of the loop's body, whose lanes the caller knows."""
    body = block("ld1 s2 wt1 st1 br1") * (outer * inner)
    if flat:
        found = block("sm3 wt1 s3 v3 br1 en1")
        return found + block("sm3 v5 s3 wt1") + body if inner else found
    found = block("sm3 wt1 s3 v4 br1 en1")
    if not outer:
        return found
    found += block("sm4 v11 wt1 s5 br1") + block("s3 v4 br1 s1 br1") * outer
    return found + block("s1 v3 br1") * outer + body if inner else found


def frozen_normalisation(facts: Facts) -> Profile:
    """A work-item per pixel and channel goes through the batch."""
    channels, images, area = facts.grid[0], facts.integer("batch"), facts.integer("image")
    groups, busy = facts.workgroups, channels * -(-area // 64)
    lanes = area / -(-area // 64)
    counts = block("sm3 wt1 s3 v3 br1 en1") * (groups * facts.waves_per_group)
    counts += block("sm12 s20 wt4 v16 no1 br1 s1 br1 v1 s1 br1 v3 s2 br1", lanes) * busy
    counts += block("v11 ld1 s2 wt1 st1 br1", lanes) * (busy * images)
    elements = channels * images * area
    per_wave = min(64, area)
    lines = elements / area * max(1.0, -(-area // 64)) * min(4.0, (4.0 * per_wave + 60) / 64)
    sharing = max(1.0, PAGE / (4.0 * area)) if area < 1024 else 4.0
    trips = float(busy * images)
    packed = lines_of(elements), pages_of(elements)
    accesses = max(packed[0], lines)
    return Profile(
        workgroups=groups,
        waves_per_group=facts.waves_per_group,
        counts=counts,
        streams=(
            Stream("load", trips, accesses, *packed, sharing=sharing),
            Stream("store", trips, accesses, *packed, sharing=sharing, resident=False),
        ),
        code_bytes=500.0,
        rounds=float(images),
        walk_rounds=float(images),
        store_rounds=max(0.0, images - 1.0),
        scalar_rounds=4.0,
        vgprs=12,
        sgprs=32,
        flops=4.0 * elements,
    )
