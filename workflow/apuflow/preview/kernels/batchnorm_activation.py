"""Per-activation batch normalisation: training forward, and backward with saved statistics.

Kernels: MIOpenBatchNormFwdTrainPerAct.cl, MIOpenBatchNormBwdPerAct.cl. One work-item a (channel, pixel);
the y dimension of the workgroup covers the pixels of an image.

Counts: the kernels compiled by clang-15 -O3 for gfx801 and gfx902. Forward, at eleven batch sizes: the
compiler unrolls the whole batch and keeps it in registers; from 49 images on it spills to private memory
(scratch), which a lane reaches at 4 bytes a work-item. Backward, basic blocks: the loops over the batch are
unrolled eight times.
"""

from __future__ import annotations

from bisect import bisect_right
from math import ceil

from apuflow.preview.instructions import Counts, block
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.lines import PAGE, lines_of, pages_of, span_lines
from apuflow.preview.profile import Profile, Stream


def pixels_of(hw: int, waves: int) -> dict[int, int]:
    """Active lanes of the passes over a plane of ``hw`` pixels, 64 to a wavefront.

    Args:
        hw: pixels.
        waves: wavefronts that have them, of one or several workgroups; every pass is made by all of them.

    Returns:
        number of active lanes, and how many passes of a wavefront have so many.
    """
    whole, rest = divmod(hw, 64)
    idle = -(-hw // (64 * waves)) * waves - whole - (rest > 0)
    return {lanes: many for lanes, many in ((64, whole), (rest, int(rest > 0)), (0, idle)) if many}


_SPILLS = (
    (48, 0.0, 0.0),
    (64, 13.0, 13.0),
    (80, 77.0, 77.0),
    (100, 161.0, 103.0),
    (128, 272.0, 132.0),
    (160, 403.0, 163.0),
    (200, 362.0, 4.0),
    (256, 526.0, 5.0),
)
"""Images, spill stores of a wavefront with work, those of them that stand before the test for work: every
wavefront executes these with all lanes."""


_IN_OFFSETS = 36
"""Images whose addresses differ by what an instruction's offset holds or one scalar register each."""


def spills(images: int) -> tuple[float, float]:
    """Spill stores of a wavefront, and how many of them stand before the test for work.

    There are as many reloads. Interpolated between the batch sizes that were compiled (``_SPILLS``).
    """
    sizes = [row[0] for row in _SPILLS]
    if images <= sizes[0]:
        return 0.0, 0.0
    if images >= sizes[-1]:
        return _SPILLS[-1][1] * images / sizes[-1], _SPILLS[-1][2]
    k = bisect_right(sizes, images)
    low, high = _SPILLS[k - 1], _SPILLS[k]
    part = (images - low[0]) / (high[0] - low[0])
    return low[1] + (high[1] - low[1]) * part, low[2] + (high[2] - low[2]) * part


def _sharing(facts: Facts) -> float:
    """Workgroups whose pixels lie on one page: large planes are divided among several."""
    own = min(facts.integer("c_stride"), facts.grid[1], facts.workgroup[1])
    return max(1.0, min(facts.workgroups, PAGE / (4 * own)))


def _batch_stores(facts: Facts, at_a_time: int, stores: float, spans: float, elements: int) -> Stream:
    """Of a batch, to ``spans`` lines each; where planes are small, workgroups write parts of one line."""
    hw = facts.integer("c_stride")
    return Stream(
        "store", stores, stores * spans, lines_of(elements), pages_of(elements),
        sharing=_sharing(facts), resident=False, repeated="later", writers=16.0 / hw if hw < 16 else 0.0,
        at_a_time=float(at_a_time),
    )  # fmt: skip


def per_activation_forward(facts: Facts) -> Profile:
    """``MIOpenBatchNormFwdTrainPerActivation``: one read and one write of the batch, eight vectors."""
    n, hw = facts.define("MIO_BN_N"), facts.integer("c_stride")
    channels, groups = facts.grid[0], facts.workgroups
    waves = groups * facts.waves_per_group // channels
    shape = pixels_of(hw, waves)
    spilled, early = spills(n)
    # Where n - 1 is a power of two, the reciprocal of the sample count needs less.
    plain = 0 if n > 1 and (n - 1) & (n - 2) == 0 else 1
    many_images = n > _IN_OFFSETS
    waits = min(n + (2 if n == 9 else 3), 18) if not spilled else n + 2
    if hw == 1:
        head = f"wt2 s{8 + 2 * n + 2 * plain} v{8 + n}"
        waits = n + 3 if facts.vega else waits
    elif facts.vega:
        waits = n + (3 if many_images else 4)
        head = f"wt2 s{6 + 2 * n + 2 * plain} v{11 + n}" if many_images else f"wt1 s{9 + 2 * plain} v{6 + n}"
    else:
        salu = (7 if n > 1 else 6) + n * (1 + many_images) + 2 * plain
        head = f"wt1 s{salu} v{(13 if many_images else 7) + n}"
    per_channel = (block("s2 sm1 wt1 br1 en1") + block(f"sm13 br1 {head}")) * waves
    for lanes, many in shape.items():
        per_channel += (block("v2 s1 br1") + block("s3 br1") + block("st1") * early) * many
        if lanes:
            work = block(f"v{(40 if n > 1 else 36) + 11 * n + plain} wt{waits} br1", lanes)
            work += block(f"ld{4 + n} st{4 + n}") + block("ld1 wt1") * spilled
            per_channel += (work + block("st1") * (spilled - early)) * many
    counts = per_channel * channels
    passes = sum(many for lanes, many in shape.items() if lanes)
    spans = sum(span_lines(4 * lanes, 4 * hw) * many for lanes, many in shape.items() if lanes) / passes
    visits = float(passes * channels)
    elements = n * channels * hw
    lines, pages = lines_of(elements), pages_of(elements)
    vector, vector_pages = lines_of(channels * hw), pages_of(channels * hw)
    sharing = _sharing(facts)
    window = max(64.0, 4.0 * min(64, hw)) * min(1.0, hw / 16)
    near = max(1.0, 16 / hw)
    streams = [
        Stream(
            "load",
            n * visits,
            n * visits * spans,
            lines,
            pages,
            "device",
            window * n,
            sharing=sharing,
            line_sharing=near,
        ),
        _batch_stores(facts, n, n * visits, spans, elements),
    ]
    array = Stream(
        "load",
        visits,
        visits * spans,
        vector,
        vector_pages,
        "device",
        64.0,
        sharing=sharing,
        line_sharing=near,
    )
    stored = array._replace(kind="store", resident=False)
    streams += [array] * 4  # scale, bias, running mean, running variance
    streams += [stored._replace(pages=0.0)] * 2 + [stored] * 2  # the last two of them, and two more
    if spilled:
        # A register of a wavefront lies in 256 consecutive bytes; lanes without work leave theirs alone.
        touched = sum(-(-lanes // 16) * many for lanes, many in shape.items()) * channels
        first = early * channels * waves
        written = first * 4 + (spilled - early) * touched
        streams.append(
            Stream(
                "load",
                spilled * visits,
                spilled * touched,
                spilled * touched,
                0.0,
                "group",
                64.0 * spilled * touched / visits,
                resident=False,
            )
        )
        streams.append(
            Stream(
                "store",
                first + (spilled - early) * visits,
                written,
                written,
                (first + (spilled - early) * visits) * 256.0 / PAGE,
                resident=False,
            )
        )
    return Profile(
        workgroups=groups,
        waves_per_group=facts.waves_per_group,
        counts=counts,
        streams=tuple(streams),
        code_bytes=500.0 + 92.0 * n + 8.0 * 2 * spilled,
        rounds=(2.0 + spilled) * ceil(passes / waves),
        walk_rounds=1.0 + pages / 8,
        scalar_rounds=2.0,
        vgprs=min(256, 12 + 5 * n),
        sgprs=90,
        flops=float(8 * elements),
    )


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


def per_activation_backward(facts: Facts) -> Profile:
    """``MIOpenBatchNormBwdPerActivationSaved``: reads x and dy twice, writes dx and two vectors."""
    n, hw = facts.integer("n"), facts.integer("c_stride")
    channels, groups = facts.grid[0], facts.workgroups
    waves = groups * facts.waves_per_group // channels
    shape = pixels_of(hw, waves)
    per_channel = block("sm1 wt1 s2 br1 en1") * waves + block("sm6 wt1 s22 v7 br1") * waves
    for lanes, many in shape.items():
        per_channel += (block("v2 s1 br1") + block("s3 v1 br1")) * many
        if lanes:
            per_channel += _backward_pass(n, lanes) * many
    counts = per_channel * channels
    passes = sum(many for lanes, many in shape.items() if lanes)
    spans = sum(span_lines(4 * lanes, 4 * hw) * many for lanes, many in shape.items() if lanes) / passes
    visits = float(passes * channels)
    elements = n * channels * hw
    lines, pages = lines_of(elements), pages_of(elements)
    vector, vector_pages = lines_of(channels * hw), pages_of(channels * hw)
    sharing = _sharing(facts)
    # Every wavefront walks all images: with more pages than the L1 TLB holds, each sweep loses them.
    window = 4.0 * min(facts.workgroup[1], hw) * n * 2 if hw >= 16 else 64.0
    big = [
        Stream(
            "load",
            2 * n * visits,
            2 * n * visits * spans,
            lines,
            pages,
            "device",
            window,
            sharing=sharing,
            line_sharing=max(1.0, 16 / hw),
        )
        for _ in range(2)
    ]
    big.append(_batch_stores(facts, min(n, 8), n * visits, spans, elements))
    small = [
        Stream("load", visits, visits * spans, vector, vector_pages, "device", 64.0, sharing=sharing)
    ] * 3
    small += [
        Stream(
            "store",
            visits,
            visits * spans,
            vector,
            vector_pages,
            "none",
            0.0,
            sharing=sharing,
            resident=False,
        )
    ] * 2
    return Profile(
        workgroups=groups,
        waves_per_group=facts.waves_per_group,
        counts=counts,
        streams=(*big, *small),
        code_bytes=2340.0 if n >= 8 else 960.0,
        rounds=3.0 * n * ceil(passes / waves),
        walk_rounds=1.0 + pages / 4,
        scalar_rounds=2.0,
        joined_rounds=float((n - 1) * ceil(passes / waves)),
        vgprs=64,
        sgprs=48,
        flops=float(14 * elements),
    )
