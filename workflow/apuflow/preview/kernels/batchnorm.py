"""MIOpenBatchNorm*PerAct.cl: per-activation batch normalisation, forward (training) and backward (saved
statistics).

Counts: basic blocks of the kernels compiled by clang-15 -O3 for gfx801; the loops over the batch are
unrolled eight
times. One work-item a (channel, pixel); the y dimension of the workgroup covers the pixels of an image.
"""

from __future__ import annotations

from apuflow.preview.counts import NOTHING, Counts, block
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.profile import Profile, Stream, lines_of, span_lines


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


def _pixels(hw: int, step: int, waves: int) -> list[int]:
    """Active lanes of each (pass, wavefront) of a workgroup that walks ``hw`` pixels ``step`` at a time."""
    lanes = []
    for start in range(0, hw, step):
        lanes += [max(0, min(64, hw - start - 64 * wave)) for wave in range(waves)]
    return lanes


def per_activation_backward(facts: Facts) -> Profile:
    """``MIOpenBatchNormBwdPerActivationSaved``: reads x and dy twice, writes dx and two vectors."""
    n, hw = facts.integer("n"), facts.integer("c_stride")
    channels, waves = facts.grid[0], facts.waves_per_group
    groups = facts.workgroups
    shape = _pixels(hw, 64 * waves, waves)
    one = block("sm1 wt1 s2 br1 en1") * waves + block("sm6 wt1 s22 v7 br1") * waves
    for lanes in shape:
        one += block("v2 s1 br1") + block("s3 v1 br1")
        if lanes:
            one += _backward_pass(n, lanes)
    counts = one * groups
    active = [lanes for lanes in shape if lanes]
    spans = sum(span_lines(4 * lanes, 4 * hw) for lanes in active) / len(active)
    visits = float(len(active) * groups)
    elements = n * channels * hw
    page_group = 1.0
    row_pages = max(1.0, channels * hw * 4 / 4096)
    streams = []
    for _ in range(2):
        streams.append(
            Stream(
                "load",
                2 * n * visits,
                2 * n * visits * spans,
                lines_of(elements),
                _rows(n, channels * hw),
                "device",
                4.0 * n * 64,
                page_group,
            )
        )
    streams.append(
        Stream(
            "store",
            n * visits,
            n * visits * spans,
            lines_of(elements),
            _rows(n, channels * hw),
            "none",
            0.0,
            page_group,
            1.0,
            False,
        )
    )
    streams.append(
        Stream("load", 3 * visits, 3 * visits * spans, 3 * lines_of(channels * hw), 3 * row_pages, "device")
    )
    streams.append(
        Stream(
            "store",
            2 * visits,
            2 * visits * spans,
            2 * lines_of(channels * hw),
            2 * row_pages,
            "none",
            0.0,
            1.0,
            1.0,
            False,
        )
    )
    return Profile(
        workgroups=groups,
        waves_per_group=waves,
        counts=counts,
        streams=tuple(streams),
        code_bytes=2600.0 if n >= 8 else 900.0,
        rounds=(4.0 * n + 1.0) * len(active) / waves,
        vgprs=64,
        sgprs=48,
        flops=float(14 * elements),
    )


def _rows(n: int, row: int) -> float:
    """Pages of ``n`` rows of ``row`` packed floats."""
    return float(-(-n * row * 4 // 4096))


_ = NOTHING
