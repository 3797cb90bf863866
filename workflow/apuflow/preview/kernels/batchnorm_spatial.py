"""MIOpenBatchNorm{FwdTrain,Bwd}Spatial.cl: spatial batch normalisation.

Counts: basic blocks of the kernels compiled by clang-15 -O3 for gfx801 at several shapes, reduced to
instructions per
element of a work-item and to fixed parts. Variant 0 and 3 keep a channel in registers or read it again, a
workgroup
per channel; variant 1 loops over it; variant 2 takes three kernels with a workgroup per 1024 pixels.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from apuflow.preview.counts import Counts, block
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.profile import Profile, Stream, lines_of, pages_of, span_lines


@dataclass(frozen=True, slots=True)
class _Pass:
    """One kernel: text per wavefront, per element of a work-item in its two loops, at the end; and its
    traffic.

    ``unit``: elements that a load brings. ``reads``, ``again``: buffers read in the first and second loop.
    """

    head: str
    first: str
    second: str
    tail: str
    reads: int
    again: int
    writes: int
    reduces: bool
    code: float
    unit: int = 1


_REDUCE = "s5 v17 wt2 ba1 no7"
_PASSES: dict[tuple[str, int], _Pass] = {
    ("MIOpenBatchNormFwdTrainSpatial", 0): _Pass(
        "sm13 s16 v22 wt4 ba1 br3", "v8 ld1 wt1", "v9 st1", "v15 s6 br2 lr1 wt1", 1, 0, 1, True, 900.0
    ),
    ("MIOpenBatchNormFwdTrainSpatial", 1): _Pass(
        "sm13 s17 v11 wt4 ba1 br2", "v15 ld1 s1 wt1 br1", "v16 ld1 s1 wt2 st1 br1", "v19 s9 br2 lr1",
        1, 1, 1, True, 1280.0,
    ),
    ("MIOpenBatchNormFwdTrainSpatialMeanVariance", 2): _Pass(
        "sm4 v11 wt1 s9 br1", "v7 ld1 s1 wt2 br1", "", "v12 s4 br1", 1, 0, 0, True, 592.0
    ),
    ("MIOpenBatchNormFwdTrainSpatialFinalMeanVariance", 2): _Pass(
        "sm12 s28 wt4 v58 br6 ba1", "", "", "v20 s8 br2 wt2", 0, 0, 0, True, 1112.0
    ),
    ("MIOpenBatchNormFwdTrainSpatialNorm", 2): _Pass(
        "sm4 v8 s14 wt3 br2 lr2 ba1", "", "v10 wt2 ld1 s1 st1 br1", "", 0, 1, 1, False, 524.0
    ),
    ("MIOpenBatchNormBwdSpatial", 0): _Pass(
        "sm8 s10 v13 wt5 ba1 br2 lr1", "v10 ld2 wt2", "v10 st1", "s6 v4 br2 lr1 wt1", 2, 0, 1, True, 800.0
    ),
    ("MIOpenBatchNormBwdSpatial", 3): _Pass(
        "sm9 s14 v11 wt4 ba1 br2 lr1", "v11 ld2 wt2", "v15 ld2 wt2 st1", "s9 v9 br2 lr1 wt2 ba1",
        2, 2, 1, True, 2028.0,
    ),
    ("MIOpenBatchNormBwdSpatial", 1): _Pass(
        "sm11 s14 v17 wt4 ba1 br2 lr1", "v25 ld2 s1 wt2 br1", "v19 ld2 s1 wt1 ba1 st1 br1",
        "s9 v11 br2 lr1 ba1 wt2",
        2, 2, 1, True, 1216.0, 4,
    ),
    ("MIOpenBatchNormBwdSpatialDScaleDBias", 2): _Pass(
        "sm8 v20 wt3 s14 br2 ba1 lr2", "v11 ld2 s1 wt2 br1", "", "v12 s4 br1", 2, 0, 0, True, 700.0
    ),
    ("MIOpenBatchNormBwdSpatialFinalDScaleDBias", 2): _Pass(
        "sm10 s24 wt4 v40 br6 ba1", "", "", "v12 s6 br2 wt2", 0, 0, 0, True, 900.0
    ),
    ("MIOpenBatchNormBwdSpatialDX", 2): _Pass(
        "sm8 v16 s16 wt4 br2 lr2 ba1", "", "v18 wt3 ld2 s1 st1 br1", "", 0, 2, 1, False, 640.0
    ),
}  # fmt: skip


def spatial(facts: Facts) -> Profile:
    """Any spatial kernel; ``MIO_BN_*`` definitions give the shape and the variant."""
    variant = facts.define("MIO_BN_VARIANT")
    part = _PASSES[facts.kernel, variant]
    n, c, hw = facts.define("MIO_BN_N"), facts.define("MIO_BN_C"), facts.define("MIO_BN_HW")
    groups, waves = facts.workgroups, facts.waves_per_group
    items = groups * waves * 64
    elements = n * c * hw
    share = max(0.0, elements / items)
    lanes = 64.0
    if variant == 2:
        share, lanes = float(n), 64.0 * elements / n / items
    elif share < 1.0:
        lanes, share = 64.0 * share, 1.0
    trips = ceil(share)
    first, second = trips / part.unit, float(trips)
    one = block(part.head) + block(part.first, lanes) * first + block(part.second, lanes) * second
    if part.reduces:
        one += block(_REDUCE) + block("lr2 v6 wt2 br1") * waves + block("v2 lw2", 1.0)
    one += block(part.tail) + block("en1")
    spilled = max(0.0, share * part.reads - 12.0) if variant in (0, 3) and not part.again else 0.0
    one += block("ld1 st1 wt1") * spilled
    counts = one * (groups * waves)
    return _profile(facts, part, counts, elements, share, spilled)


def _profile(
    facts: Facts, part: _Pass, counts: Counts, elements: int, share: float, spilled: float
) -> Profile:
    groups, waves = facts.workgroups, facts.waves_per_group
    hw = facts.define("MIO_BN_HW")
    lines, pages = lines_of(elements), pages_of(elements)
    accesses = elements / 64 * span_lines(256, 4 * hw)
    sharing = max(1.0, 4096 / (4 * hw))
    streams = []
    for number in range(max(part.reads, part.again)):
        passes = (number < part.reads) + (number < part.again)
        streams.append(
            Stream(
                "load",
                elements / 64 * passes / (part.unit if passes == 1 else 1),
                accesses * passes,
                lines,
                pages,
                "group",
                4.0 * elements / groups,
                page_group=4.0,
                sharing=sharing,
                lockstep=0.5,
            )
        )
    if part.writes:
        streams.append(
            Stream(
                "store", elements / 64, accesses, lines, pages, page_group=4.0, sharing=sharing, lockstep=0.5,
                resident=False,
            )
        )  # fmt: skip
    channels = facts.define("MIO_BN_C")
    streams.append(
        Stream("load", channels * 2.0, channels * 2.0, lines_of(channels) * 2, 2.0, page_group=1.0)
    )
    if spilled:
        private = spilled * groups * waves
        streams.append(
            Stream("load", private, private * 4, private * 4, 0.0, "group", 256 * spilled, resident=False)
        )
        streams.append(Stream("store", private, private * 4, private * 4, private / 16, resident=False))
    return Profile(
        workgroups=groups,
        waves_per_group=waves,
        counts=counts,
        streams=tuple(streams),
        code_bytes=part.code,
        rounds=2.0 + share * (part.reads > 0) / part.unit + share * (part.again > 0),
        walk_rounds=1.0 + min(share, 4.0),
        store_rounds=share * (part.again > 0 and part.writes > 0),
        lds_bytes=256,
        vgprs=24,
        sgprs=40,
        lds_conflicts=3.0,
        flops=float(elements * (8 if part.writes else 4)),
    )
