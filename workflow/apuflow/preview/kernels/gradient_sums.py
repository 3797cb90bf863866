"""MIOpenCvBwdWrW_rdc: the gradients of weights that each image has, added up.

Counts: the kernel compiled by clang-15 -O3 for gfx801, all images unrolled.
"""

from __future__ import annotations

from math import ceil

from apuflow.preview.instructions import block
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.lines import lines_of, pages_of, span_lines
from apuflow.preview.profile import Profile, Stream


def gradient_sums(facts: Facts) -> Profile:
    """A work-item for up to four neighbouring weights."""
    n, unit, group = facts.define("MLO_BATCH_SZ"), facts.define("MLO_UT_READ_UNIT"), facts.workgroup[0]
    parts = facts.define("MLO_N_BATCH_BLKS", ceil(n / facts.define("MLO_N_BATCH_LOOPS")))
    items = facts.grid[0]
    weights, waves = items * unit, ceil(items / 64)
    lanes = items / waves
    vector = 5 + 9 * parts if unit == 4 else 10 + 6 * parts
    if facts.define("MLO_WEI_CHANNEL_STRIDE") == 1:
        vector -= 7
    one = block(f"v{vector} s{3 + parts} sm4 wt{2 + parts} en1 ld{parts} st1", lanes)
    touched = 4.0 * unit * lanes
    apart = 4 * weights % 64 if parts > 1 and weights % 1024 else 0
    near, reads = max(1.0, 4.0 / unit), float(waves * parts)
    return Profile(
        workgroups=facts.workgroups,
        waves_per_group=min(group // 64, waves),
        counts=one * waves,
        streams=(
            Stream(
                "load",
                instructions=reads,
                accesses=reads * span_lines(touched, apart or 256),
                lines=lines_of(parts * weights),
                pages=pages_of(parts * weights),
                sharing=near,
            ),
            Stream(
                "store",
                instructions=float(waves),
                accesses=waves * span_lines(touched, 256 * unit),
                lines=lines_of(weights),
                pages=pages_of(weights),
                sharing=near,
                resident=False,
            ),
        ),
        code_bytes=60.0 + 32.0 * unit + 45.0 * parts,
        rounds=1.0,
        walk_rounds=0.0,
        vgprs=8 + 4 * min(3, parts // 2),
        sgprs=16,
        flops=float(parts * weights),
        waves=waves,
    )
