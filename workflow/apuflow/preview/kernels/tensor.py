"""MIOpenSubTensorOpWithScalarKernel.cl (set a tensor) and MIOpenUtilKernels4.cl (transposes of 1x1
convolutions).

Counts: basic blocks of the kernels compiled by clang-15 -O3 for gfx801.
"""

from __future__ import annotations

from apuflow.preview.counts import block
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.profile import Profile, Stream, lines_of, pages_of


def set_tensor(facts: Facts) -> Profile:
    """Each work-item writes every ``WORK_LENGTH_0``-th element."""
    elements, items = facts.integer("elements"), facts.grid[0]
    waves = facts.workgroups * facts.waves_per_group
    counts = block("sm3 wt1 s3 v3 br1 en1") * waves
    full, rest = divmod(elements, items)
    busy = min(items, elements)
    entered = -(-busy // 64)
    counts += block("v3 sm1 s2", busy / entered) * entered
    trips = full * -(-items // 64) + -(-rest // 64)
    counts += block("v8 wt1 s2 st1 br1", elements / trips) * trips
    lines, pages = lines_of(elements), pages_of(elements)
    stream = Stream("store", float(trips), lines, lines, pages, page_group=4.0, sharing=4.0, resident=False)
    return Profile(
        workgroups=facts.workgroups,
        waves_per_group=facts.waves_per_group,
        counts=counts,
        streams=(stream,),
        code_bytes=168.0,
        early_branch=True,
        rounds=0.0,
        walk_rounds=0.0,
        store_rounds=max(0.0, trips / waves - 1.0),
        vgprs=8,
        sgprs=16,
    )


_TRANSPOSES = {
    "transpose_NCHW2CNHW": "sm3 wt2 s6 v32 ld1 st1 en1",
    "transpose_CNHW2NCHW": "sm3 wt2 s7 v33 ld1 st1 en1",
    "transpose_NCHW2CNHW_opt": "sm3 wt2 s5 v30 ld1 st1 en1",
    "transpose_CNHW2NCHW_opt": "sm3 wt2 s6 v31 ld1 st1 en1",
}


def transpose(facts: Facts) -> Profile:
    """One work-item a read unit of an image; strided ones touch a line for each taken pixel pair."""
    opt = facts.kernel.endswith("_opt")
    unit = facts.define("RD_BLCK") if opt else 1
    images = facts.define("N") if facts.grid[1] == 1 else 1
    items = facts.grid[0] * facts.grid[1]
    waves = -(-facts.grid[0] // 64) * facts.grid[1]  # the last workgroup of a row has only what it needs
    trips = waves * images
    counts = block(_TRANSPOSES[facts.kernel], items * images / max(1, trips)) * waves
    if images > 1:
        counts += block("v24 ld1 st1 wt2 s3 br1") * (waves * (images - 1))
    elements = items * images * unit
    step = 1 if opt else facts.define("W_STRIDE")
    packed, spread = lines_of(elements), lines_of(elements * step)
    image = elements if opt else elements * step * facts.define("H_STRIDE")
    sides = (
        (packed, pages_of(elements), 4.0 / unit),
        (spread, pages_of(image), max(1.0, 4.0 / (unit * image / elements))),
    )
    (written, filled, writers), (read, wanted, readers) = (
        sides if facts.kernel.startswith("transpose_NCHW") else reversed(sides)
    )
    streams = (
        Stream("load", float(trips), read, read, wanted, sharing=readers),
        Stream("store", float(trips), written, written, filled, sharing=writers, resident=False),
    )
    return Profile(
        workgroups=facts.workgroups,
        waves_per_group=facts.waves_per_group,
        counts=counts,
        streams=streams,
        waves=waves,
        code_bytes=240.0,
        rounds=float(images),
        vgprs=16,
        sgprs=24,
    )
