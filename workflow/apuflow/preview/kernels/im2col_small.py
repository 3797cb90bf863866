"""MIOpenIm2d2Col.cl, the variant for planes of at most 8 x 8 outputs: four channels a workgroup.

Counts: basic blocks of the kernel compiled by clang-15 -O3 for gfx801; the inner loop over a row of the
window is unrolled four times.
"""

from __future__ import annotations

from math import ceil

from apuflow.preview.counts import block
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.profile import Profile, Stream, lines_of, pages_of, span_lines

CHANNELS = 4


def small_planes(facts: Facts) -> Profile:
    """A wavefront per channel: whole planes in LDS, a store per tap of the window."""
    h, w, kh, kw = (facts.integer(name) for name in ("image_h", "image_w", "kernel_h", "kernel_w"))
    outputs = facts.integer("column_h") * facts.integer("column_w")
    groups = facts.workgroups
    image = CHANNELS * h * w
    one = block("sm4 s4 wt1 v1 br1 s7 v2 wt2 ba1 br1 en1") * 4
    trips = 0
    for wave in range(4):
        starts = range(64 * wave, image, 256)
        trips += len(starts)
        if starts:
            one += block("sm2 s9 v8 wt1 br1", min(64, image - 64 * wave))
        for start in starts:
            one += block("v3 s1 br1 ld1 br1 s3 v5 wt1 lw1 br1", min(64, image - start))
    lanes = min(64, outputs)
    whole, rest = divmod(kw, 4)
    taps = block("v3 s3 v5 s4 v1 lr1 v2 s1 wt1 st1 br3", lanes) * (4 * whole)
    taps += block("v1 s1 br1 v3 s3 br1 lr1 br1 s4 v8 wt1 st1 br1", lanes) * rest
    row = block("s1 br1 s3 v3 br1 s4 v3 br1", lanes) + taps
    if whole:
        row += block("s2 v2 br1", lanes)
    if rest:
        row += block("s1 br1 v6 s2 br1", lanes)
    one += (block("s24 v55 br1", lanes) + row * kh) * 4
    counts = one * groups
    channels = groups * CHANNELS
    taps_total = float(kh * kw * channels)
    written = taps_total * span_lines(4 * lanes, 4 * outputs)
    elements = channels * kh * kw * outputs
    plane = 4.0 * outputs
    streams = (
        Stream(
            "load", float(trips * groups), trips * groups * 4.0, lines_of(channels * h * w),
            pages_of(channels * h * w), page_group=4.0, sharing=max(1.0, 4096 / (4.0 * image)),
        ),
        Stream(
            "store", taps_total, written, lines_of(elements), pages_of(elements), page_group=1.0,
            sharing=max(1.0, 4096 / (plane * kh * kw * CHANNELS)), resident=False,
        ),
    )  # fmt: skip
    return Profile(
        workgroups=groups,
        waves_per_group=4,
        counts=counts,
        streams=streams,
        code_bytes=1100.0,
        rounds=ceil(image / 256),
        walk_rounds=1.0 + plane * kh * kw / 4096,
        store_rounds=float(kh * kw),
        lds_bytes=facts.define("LOCAL_MEM_SIZE") * 4,
        vgprs=32,
        sgprs=48,
        lds_conflicts=7.0,
    )
