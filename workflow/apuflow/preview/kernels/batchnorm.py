"""MIOpenBatchNorm*PerAct.cl: per-activation batch normalisation, forward (training) and backward (saved
statistics).

Counts: basic blocks of the kernels compiled by clang-15 -O3 for gfx801; the loops over the batch are
unrolled eight
times. One work-item a (channel, pixel); the y dimension of the workgroup covers the pixels of an image.
"""

from __future__ import annotations

from apuflow.preview.counts import Counts, block
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.profile import Profile, Stream, lines_of, pages_of, span_lines


def _backward_pass(n: int, lanes: int) -> Counts:
    whole, rest = divmod(n, 8)
    total = block("v16 wt1 ld3 s2 br1", lanes) + block("s1 v1 br1", lanes)
    if whole:
        total += block("s1 v5", lanes) + block("v113 ld16 s2 wt16 br1", lanes) * whole
        total += block("s2 br1") if rest else block("s2 br2")
    else:
        total += block("v3 s1 br1", lanes)
    if rest:
        total += block("s2 v1", lanes) + block("v15 ld2 s2 wt2 br1", lanes) * rest
    total += block("s1 br1") + block("wt1 v11 s2 br1", lanes)
    if whole:
        total += block("s1 v1", lanes) + block("v122 ld16 s3 wt16 st8 br1", lanes) * whole
    total += block("s1 br1")
    if rest:
        total += block("s2 v1", lanes) + block("v17 ld2 s2 wt2 st1 br1", lanes) * rest + block("br1")
    return total + block("v7 wt2 st2", lanes)


def pixels_of(hw: int, waves: int) -> dict[int, int]:
    """Active lanes of the wavefronts of a workgroup that walks ``hw`` pixels, 64 a wavefront, and how many
    passes of a wavefront have so many; every pass is made by all ``waves``."""
    whole, rest = divmod(hw, 64)
    idle = -(-hw // (64 * waves)) * waves - whole - (rest > 0)
    return {lanes: many for lanes, many in ((64, whole), (rest, int(rest > 0)), (0, idle)) if many}


def per_activation_backward(facts: Facts) -> Profile:
    """``MIOpenBatchNormBwdPerActivationSaved``: reads x and dy twice, writes dx and two vectors."""
    n, hw = facts.integer("n"), facts.integer("c_stride")
    channels, waves = facts.grid[0], facts.waves_per_group
    groups = facts.workgroups
    shape = pixels_of(hw, waves)
    one = block("sm1 wt1 s2 br1 en1") * waves + block("sm6 wt1 s22 v7 br1") * waves
    for lanes, many in shape.items():
        one += (block("v2 s1 br1") + block("s3 v1 br1")) * many
        if lanes:
            one += _backward_pass(n, lanes) * many
    counts = one * groups
    passes = sum(many for lanes, many in shape.items() if lanes)
    spans = sum(span_lines(4 * lanes, 4 * hw) * many for lanes, many in shape.items() if lanes) / passes
    visits = float(passes * groups)
    elements = n * channels * hw
    lines, pages = lines_of(elements), pages_of(elements)
    vector, vector_pages = lines_of(channels * hw), pages_of(channels * hw)
    sharing = max(1.0, min(groups, 4096 / (4 * hw)))
    # Every wavefront walks all images: with more pages than the L1 TLB holds, each sweep loses them.
    window = 4.0 * min(64, hw) * n * 2 if hw >= 16 else 64.0
    big = [
        Stream(
            "load",
            2 * n * visits,
            2 * n * visits * spans,
            lines,
            pages,
            "device",
            window,
            1.0,
            sharing,
            line_sharing=max(1.0, 16 / hw),
        )
        for _ in range(2)
    ]
    big.append(
        Stream(
            "store", n * visits, n * visits * spans, lines, pages, "none", 0.0, 1.0, sharing, resident=False
        )
    )
    small = [Stream("load", visits, visits * spans, vector, vector_pages, "device", 64.0, 1.0, sharing)] * 3
    small += [
        Stream(
            "store", visits, visits * spans, vector, vector_pages, "none", 0.0, 1.0, sharing, resident=False
        )
    ] * 2
    return Profile(
        workgroups=groups,
        waves_per_group=waves,
        counts=counts,
        streams=(*big, *small),
        code_bytes=2468.0 if n >= 8 else 700.0,
        rounds=3.0 * n * passes / waves,
        walk_rounds=1.0 + pages / 4,
        scalar_rounds=2.0,
        joined_rounds=float((n - 1) * passes) / waves,
        vgprs=64,
        sgprs=48,
        flops=float(14 * elements),
    )
