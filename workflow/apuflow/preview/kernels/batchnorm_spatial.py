"""MIOpenBatchNorm{FwdTrain,Bwd}Spatial.cl: spatial batch normalisation.

Counts: basic blocks of the kernels compiled by clang-15 -O3 for gfx801 at several shapes, reduced to
instructions per element of a work-item and to fixed parts. Variant 0 and 3 keep a channel in registers or
read it again, a workgroup per channel; variant 1 loops over it; variant 2 takes three kernels with a
workgroup per 1024 pixels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

from apuflow.preview.instructions import Counts, block
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.lines import LINE, PAGE, lines_of, pages_of, span_lines
from apuflow.preview.profile import Profile, Stream


@dataclass(frozen=True, slots=True)
class _Pass:
    """One kernel, as text of blocks.

    Attributes:
        head: each wavefront, all of its fixed parts. once: one wavefront of a workgroup, in one lane.
        first, second: the two loops over the elements of a work-item; per element, after division by
            ``scale``. start, middle: a wavefront's entry into each, if it has elements.
        reads, again: buffers read in the first and second loop. unit: elements that a load brings.
        code: bytes. code_of_pass: more for each pass over images, which is unrolled. apart, looped: a
            wavefront's more, and that of each trip but the last, where planes are no power of two.
    """

    head: str
    once: str
    start: str
    first: str
    middle: str
    second: str
    reads: int
    again: int
    writes: int
    reduces: bool
    code: float
    unit: int = 1
    scale: int = 1
    code_of_pass: float = 0.0
    apart: str = ""
    looped: str = ""

    @property
    def first_rounds(self) -> float:
        """Waits for loads per element of the first loop (unrolled, but where all is kept in registers)."""
        return 0.0 if not self.again and self.writes else 0.5 / self.unit

    @property
    def second_rounds(self) -> float:
        """Waits for loads per element of the second loop."""
        return {0: 0.0, 1: 0.5, 2: 0.75}[self.again]


_PASSES: dict[tuple[str, int], _Pass] = {
    ("MIOpenBatchNormFwdTrainSpatial", 0): _Pass(
        "s14 sm8 v38 wt6 ba3 br5 no7 en1", "s14 sm6 v18 wt5 lw1 st4", "v3 s1 sm1 br1 wt1", "v7 s1 ld1",
        "v2 s1 br1 lr1 wt1", "v8 s1 st1", 1, 0, 1, True, 15.0 * LINE, code_of_pass=0.8 * LINE, apart="v16",
    ),
    ("MIOpenBatchNormFwdTrainSpatial", 1): _Pass(
        "s15 sm9 v27 wt6 ba3 br5 no7 en1", "s14 sm6 v18 wt5 lw1 st4", "v4 s4", "v15 ld1 s1 wt1 br1",
        "v4 s4", "v16 ld1 s1 wt2 st1 br1", 1, 1, 1, True, 1280.0,
    ),
    ("MIOpenBatchNormFwdTrainSpatialMeanVariance", 2): _Pass(
        "sm4 v24 wt3 s12 ba1 br3 no7 en1", "s3 v11 st2", "", "", "", "", 1, 0, 0, True, 592.0,
    ),
    ("MIOpenBatchNormFwdTrainSpatialFinalMeanVariance", 2): _Pass(
        "sm12 s36 wt7 v66 br7 ba2 no7 en1", "v44 ld4 st6 wt4 s1 br1", "", "", "", "",
        0, 0, 0, True, 1112.0,
    ),
    ("MIOpenBatchNormFwdTrainSpatialNorm", 2): _Pass(
        "sm3 v5 s11 wt3 br2 ba1 en1", "sm3 v20 wt3 s3 ld4 lw2", "", "", "", "",
        0, 1, 1, False, 524.0,
    ),
    ("MIOpenBatchNormBwdSpatial", 0): _Pass(
        "sm4 s14 v29 wt6 ba3 br6 lr1 no7 en1", "s12 sm5 v8 wt3 lw1 st2", "v7 s8 sm1 br1 wt2", "v11 ld2",
        "v5 s2 br1 lr1 wt1", "v7 st1", 2, 0, 1, True, 13.0 * LINE, code_of_pass=2.1 * LINE, looped="v6",
    ),
    ("MIOpenBatchNormBwdSpatial", 3): _Pass(
        "sm6 s12 v21 wt10 ba4 br3 lr2 no7 en1", "s12 sm5 v8 wt3 lw1 st2", "v1", "v16 ld2", "v4", "v7 st1",
        2, 0, 1, True, 13.0 * LINE, code_of_pass=2.1 * LINE,
    ),
    ("MIOpenBatchNormBwdSpatial", 1): _Pass(
        "sm6 s16 v39 wt8 ba4 br3 lr2 no7 en1", "s12 sm5 v8 wt2 lw1 st2", "", "v52 ld4 s2 wt4 br1",
        "", "v160 ld16 no4 s8 wt8 ba4 st8 br4", 2, 2, 1, True, 1216.0, 4, 8,
    ),
    ("MIOpenBatchNormBwdSpatialDScaleDBias", 2): _Pass(
        "sm8 v34 wt5 s19 br4 ba2 lr2 no7 en1", "s3 v12 st2", "", "v11 ld2 s1 wt2 br1", "", "",
        2, 0, 0, True, 700.0,
    ),
    ("MIOpenBatchNormBwdSpatialFinalDScaleDBias", 2): _Pass(
        "sm10 s32 wt7 v58 br7 ba2 no7 en1", "v40 ld4 st4 wt4 s1 br1", "", "", "", "",
        0, 0, 0, True, 900.0,
    ),
    ("MIOpenBatchNormBwdSpatialDX", 2): _Pass(
        "sm8 v16 s16 wt4 br2 lr2 ba1 en1", "sm3 v21 wt3 s3 ld4 lw2", "", "", "", "v18 wt3 ld2 s1 st1 br1",
        0, 2, 1, False, 640.0,
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
    share = elements / items
    if variant == 2:  # a work-item takes its pixel of every image
        share = float(n)
    # Wavefronts of a workgroup with elements, their trips, mean lanes.
    each = elements / groups
    trips = n * ceil(each / n / 64) if variant == 2 else ceil(each / 64)
    looped = 0
    power_of_two = hw & (hw - 1) == 0
    if variant in (0, 3):
        passes, looped, last = _segments(n, hw, waves * 64)
        trips = looped + last
        if part.reads == 2 and power_of_two:
            passes -= 1
        part = replace(part, code=part.code + part.code_of_pass * passes)
    busy, lanes = min(waves, trips), each / trips
    per_group = block(part.head) * waves + block(part.once, 1.0)
    per_group += (block(part.start, lanes) + block(part.middle, lanes)) * busy
    per_group += (block(part.first, lanes) + block(part.second, lanes)) * (trips / part.scale)
    if facts.kernel in _OF_IMAGES:
        per_group += _OF_IMAGES[facts.kernel](n, lanes) * (trips / n)
    if not power_of_two:
        per_group += block(part.apart) * waves + block(part.looped, lanes) * looped
    if part.reduces:
        step = "lr2 v6 s1 wt2 br1" if facts.vega and facts.kernel in _OF_IMAGES else "lr2 v6 wt2 br1"
        per_group += (block(step) * (waves / 2) + block("v2 lw1", 1.0)) * waves
    # A workgroup of 16 wavefronts leaves 64 registers to each.
    room = 48.0 if waves > 4 else 200.0
    spilled = max(0.0, share * part.reads - room) if variant in (0, 3) else 0.0
    per_group += block("ld1 st1 wt1") * (spilled * waves)
    counts = per_group * groups
    return _profile(facts, part, counts, elements, share, spilled, trips)


def _normalised(images: int, lanes: float) -> Counts:
    """A wavefront's pixels: without a loop, two images a trip, or left in the middle of one."""
    if images <= 2:
        return block("sm1 v12 wt3 ld1 lr2 st1" if images == 1 else "sm1 v21 wt3 ld2 lr2 st2", lanes)
    entry = block("v2 sm1 lr2 s1", lanes)
    if images % 2 == 0:
        return entry + block("v20 wt3 ld2 s2 st2 br1", lanes) * (images // 2)
    first, second = block("v11 wt2 ld1 s3 st1 br2", lanes), block("v11 wt1 ld1 s2 st1 br1", lanes)
    return entry + block("br1") + first * (images // 2 + 1) + second * (images // 2)


def _summed(images: int, lanes: float) -> Counts:
    """A wavefront's pixels: without a loop or two images a trip, an odd one before the loop."""
    if images <= 3:
        return block(("sm1 v8 wt2 ld1", "sm1 v14 wt3 ld2", "sm1 v21 wt3 ld3")[images - 1], lanes)
    if images % 2 == 0:
        return block("sm1 v4 s1", lanes) + block("v13 wt3 ld2 s2 br1", lanes) * (images // 2)
    return block("sm1 v9 wt2 ld1 s1", lanes) + block("v14 wt2 ld2 s2 br1", lanes) * (images // 2)


_OF_IMAGES = {
    "MIOpenBatchNormFwdTrainSpatialMeanVariance": _summed,
    "MIOpenBatchNormFwdTrainSpatialNorm": _normalised,
}
"""Kernels whose loop over images is compiled as their number allows: instructions of a wavefront."""


def _segments(n: int, hw: int, size: int) -> tuple[int, int, int]:
    """Passes over images, and trips of wavefronts in all but the last of them, and in the last.

    A workgroup takes as many whole images at a time as it has lanes for (``MIO_BN_SEGMENT``). The loop is
    unrolled: on gem5 each pass takes 1.6 (forward) or 2.1 lines of code. Forward, half of them come while
    the loads of the passes before are on their way.
    """
    images = min(max(1, size // hw), n)
    loops = ceil(n / images)
    return loops, (loops - 1) * ceil(images * hw / 64), ceil((n - (loops - 1) * images) * hw / 64)


def _profile(
    facts: Facts, part: _Pass, counts: Counts, elements: int, share: float, spilled: float, trips: int
) -> Profile:
    groups, waves = facts.workgroups, facts.waves_per_group
    loads = float(groups * trips)  # of one element by each lane that has one
    hw = facts.define("MIO_BN_HW")
    lines, pages = lines_of(elements), pages_of(elements)
    accesses = max(loads, elements / 64 * span_lines(256, 4 * hw))
    spread = 2.0 if part.unit > 1 else 1.0  # the second loop takes neighbours one after the other
    sharing = max(1.0, PAGE / (4 * hw))
    streams = []
    for number in range(max(part.reads, part.again)):
        passes = (number < part.reads) + (number < part.again)
        streams.append(
            Stream(
                "load",
                loads * passes / (part.unit if passes == 1 else 1),
                accesses * ((number < part.reads) + (number < part.again) * spread),
                lines,
                pages,
                "group",
                # Wavefronts next to each other share a line, passes all of a channel.
                4.0 * elements / groups if passes > 1 else 0.0,
                sharing=sharing,
            )
        )
    if part.writes:
        streams.append(
            Stream("store", loads, accesses * spread, lines, pages, sharing=sharing, resident=False)
        )
    channels = facts.define("MIO_BN_C")
    small = 2.0  # pages of scale and bias
    if part.reads and not part.writes:  # each workgroup leaves its two sums at its begin of the output
        small, begun = 0.0, min(float(groups), pages / facts.define("MIO_BN_N"))  # of the first image
        left = Stream(
            "store", float(groups), float(groups), float(groups), begun,
            sharing=groups / begun, resident=False,
        )  # fmt: skip
        streams += [left, left._replace(pages=0.0)]
    elif groups == channels:  # a lane of each workgroup writes mean, variance and the like of its channel
        written = Stream(
            "store", float(channels), float(channels), lines_of(channels), pages_of(channels),
            sharing=min(float(channels), PAGE / 4), resident=False,
            writers=float(LINE // 4),
        )  # fmt: skip
        stores = round(block(part.once, 1.0).stores)
        if not part.reads and not part.again:  # two of them where the sums are; it loads what it writes
            small = 0.0
            streams += [written._replace(pages=0.0)] * 2
            stores -= 2
        streams += [written] * stores
    streams.append(Stream("load", channels * 2.0, channels * 2.0, lines_of(channels) * 2, small))
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
        rounds=(part.reads > 0) * (0.5 + part.first_rounds * share) + part.second_rounds * share,
        walk_rounds=1.0 + min(share, 4.0) if part.reads or part.again else 1.0,
        scalar_rounds=3.0,
        store_rounds=part.second_rounds * share if part.again == 1 and part.writes else 0.0,
        joined_rounds=0.5 * share if part.again == 2 and part.writes else 0.0,
        lds_bytes=256,
        vgprs=24,
        sgprs=40,
        lds_conflicts=3.0,
        flops=float(elements * (8 if part.writes else 4)),
    )
