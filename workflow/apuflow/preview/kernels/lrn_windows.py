"""MIOpenLRNBwd.cl and the within-channel kernels of MIOpenLRNFwd.cl.

Counts: basic blocks of the kernels compiled by clang-15 -O3 for gfx801 with windows of 5. The backward
kernel across channels walks all channels of a pixel; the within-channel kernels work on a tile in LDS.
"""

from __future__ import annotations

from math import ceil

from apuflow.core.errors import NotModelled
from apuflow.preview.counts import Counts, block
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.profile import Profile, Stream, lines_of, pages_of, span_lines

WINDOW = 5


def _window(facts: Facts) -> None:
    if facts.define("MLO_LRN_KERNEL_SZ") != WINDOW:
        raise NotModelled(
            "the preview models LRN windows of 5",
            key="local_size",
            value=facts.define("MLO_LRN_KERNEL_SZ"),
            remedy="use local_size=5, or the gem5 or gem5-kernels engine",
        )


def _span(tile: int, width: int, plane: int) -> float:
    """Lines of a wavefront's access: rows of the tile, which follow one another where it is as wide as the
    image."""
    if width <= tile:
        run = min(width * 64 // tile, plane)
        return span_lines(4 * run, 4 * run)
    return 64 / tile * span_lines(4 * tile, 4 * width)


def across_backward(facts: Facts) -> Profile:
    """``MIOpenLRNAcrossChannelsBwd1``: four buffers read and one written per channel."""
    c, plane = facts.define("MLO_LRN_N_CHANNELS"), facts.define("MLO_LRN_TOP_CHANNEL_STRIDE")
    width, window = facts.define("MLO_LRN_TOP_WIDTH"), facts.define("MLO_LRN_KERNEL_SZ")
    groups, waves, batch = facts.workgroups, facts.waves_per_group, facts.grid[2]
    share = batch * plane / (groups * waves)
    more = window - WINDOW
    if c < window + 10:  # unrolled
        one = block(f"sm8 wt{2 * c + 2} v{4 + 61 * c + 12 * more} s{16 + c} ld{4 * c} st{c} en1", share)
    else:
        ahead, after = window - window // 2, window // 2
        pairs, odd = divmod(c - window, 2)
        inner = 4 * (c - window)
        first = round(18 + 3.5 * more)
        head = f"sm8 s23 wt{11 + 2 * max(0, more)} v{round(241 + 42.5 * more)} ld{first} st{ahead} br1"
        tail = f"s9 v{round(79 + 18.5 * more)} ld{4 * c - inner - first} wt2 st{after} en1"
        one = block(head, share) + block(tail, share)
        if odd:
            one += block(f"v{72 + 3 * more} ld4 s1 wt2 st1 br1", share) * pairs
            one += block(f"v{80 + 3 * more} ld4 s1 wt2 st1 br1", share) * (pairs + odd)
        else:
            one += block(f"v{142 + 6 * more} ld8 s2 wt5 st2 br1", share) * pairs + block("s2 wt2")
    counts = one * (groups * waves)
    visits = float(c * groups * waves)
    tile = facts.define("MLO_LRN_GROUP_SZ0")
    span = _span(tile, width, plane)
    elements = batch * c * plane
    sharing = max(1.0, min(groups / batch, 4096 / (4 * 64 * waves)))
    lines, pages = lines_of(elements), pages_of(elements)
    loads = [
        Stream("load", visits, visits * span, lines, pages, page_group=float(waves), sharing=sharing)
    ] * 4
    store = Stream(
        "store", visits, visits * span, lines, pages, page_group=float(waves), sharing=sharing, resident=False
    )
    return Profile(
        workgroups=groups,
        waves_per_group=waves,
        counts=counts,
        streams=(*loads, store),
        code_bytes=3192.0,
        rounds=float(2 * c),
        joined_rounds=float(c - 1),
        walk_rounds=max(1.0, min(float(c), c * plane / 1024)),
        scalar_rounds=2.0,
        vgprs=32,
        sgprs=32,
        flops=float(25 * elements),
    )


def within_forward(facts: Facts) -> Profile:
    """``MIOpenLRNWithinChannel_PS``: a tile of the plane in LDS, two outputs per pixel."""
    _window(facts)
    g0, g1 = facts.define("MLO_LRN_GROUP_SZ0"), facts.define("MLO_LRN_GROUP_SZ1")
    p0, p1 = facts.define("MLO_LRN_N_HORIZ_OUT_PIX"), facts.define("MLO_LRN_N_VERT_OUT_PIX")
    unit = facts.define("MLO_READ_UNIT")
    rows, quads = ceil((g1 * p1 + WINDOW - 1) / g1), ceil((g0 * p0 + WINDOW - 1) / unit)
    reading = 64.0 * min(1.0, quads / g0)
    one = block("sm5 v9 s7 wt1 br1") + block("s4 v14 br1")
    one += (block("s1 br1 s3 br1 v4") + block("v35 s1 ld4 wt4 lw2 br1", reading)) * rows
    pixels = p0 * p1
    one += block(f"s9 wt12 sm1 ba1 v{54 + 50 * pixels} lr{11 + 2 * pixels} st{2 * pixels} en1")
    loads = 4.0 * rows
    return _tiled(facts, one, loads, 1, 2, pixels, 2.0 * rows, 1900.0 if pixels > 1 else 1250.0)


def within_backward(facts: Facts) -> Profile:
    """``MIOpenLRNWithinChannelBwd``: two tiles in LDS, then one output per pixel."""
    _window(facts)
    g0, g1 = facts.define("MLO_LRN_GROUP_SZ0"), facts.define("MLO_LRN_GROUP_SZ1")
    p0, p1 = facts.define("MLO_LRN_N_HORIZ_OUT_PIX"), facts.define("MLO_LRN_N_VERT_OUT_PIX")
    rows = ceil((g1 * p1 + WINDOW - 1) / g1)
    columns = ceil((g0 * p0 + WINDOW - 1) / g0)
    pixels = p0 * p1
    one = block("sm5 wt2 s15 v1 br1") + block("v5 s2 br1") * 2
    one += (block("s1 br1 v9 s1 s3 v4 br1") + block("v19 ld2 s3 wt2 lw2 br1") * columns) * rows
    one += (block("s1 br1 v9 s1 s3 v4 br1") + block("v27 ld1 lr2 lw1 s3 wt3 br1") * columns) * rows
    one += block("s2 v4 wt2 ba1 br1") + block("s9 v20 wt2 ba1 lr14 br1")
    one += (block("s4 v8 lr4 ld1 wt1 br1") + block("v77 wt2 s13 st1 br1")) * pixels + block("en1")
    loads = 3.0 * rows * columns + pixels
    return _tiled(facts, one, loads, 4, 1, pixels, 2.0 * rows * columns, 1750.0 + 690.0 * (pixels - 1))


def _tiled(
    facts: Facts, one: Counts, loads: float, reads: int, writes: int, pixels: int, rounds: float, code: float
) -> Profile:
    groups, waves = facts.workgroups, facts.waves_per_group
    plane = facts.define("MLO_LRN_TOP_CHANNEL_STRIDE")
    width = facts.define("MLO_LRN_TOP_WIDTH")
    elements = facts.define("MLO_LRN_BATCH_SZ") * facts.define("MLO_LRN_TOP_BATCH_STRIDE")
    g0 = facts.define("MLO_LRN_GROUP_SZ0")
    counts = one * (groups * waves)
    lines, pages = lines_of(elements), pages_of(elements)
    sharing = max(1.0, 4096 / (4 * plane), 4096 / (256 * pixels * waves))
    each = loads / reads * groups * waves
    per_load = _span(g0, width, plane)
    load = Stream(
        "load", each, min(each * per_load, 2.0 * lines), lines, pages, "group", 4096.0,
        page_group=float(waves), sharing=sharing, line_sharing=1.3,
    )  # fmt: skip
    stores = float(pixels * groups * waves)
    store = Stream(
        "store", stores, max(lines, stores * per_load), lines, pages, page_group=float(waves),
        sharing=sharing, resident=False,
    )  # fmt: skip
    return Profile(
        workgroups=groups,
        waves_per_group=waves,
        counts=counts,
        streams=(*[load] * reads, *[store] * writes),
        code_bytes=code,
        rounds=rounds,
        walk_rounds=2.0,
        lds_bytes=4096,
        vgprs=48,
        sgprs=36,
        lds_conflicts=5.0,
        flops=float(30 * elements),
    )
