"""MIOpenSubTensorOpWithScalarKernel.cl (set a tensor) and the stand-in GEMM's place among the kernels.

Counts: basic blocks of SubTensorOpWithScalar1d compiled by clang-15 -O3 for gfx801.
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
        code_bytes=150.0,
        rounds=0.0,
        walk_rounds=0.0,
        vgprs=8,
        sgprs=16,
        scalar_rounds=2.0,
    )
