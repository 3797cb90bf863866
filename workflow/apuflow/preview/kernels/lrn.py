"""Local response normalisation: MIOpenLRNFwd.cl and MIOpenLRNBwd.cl, across channels and within one.

Counts: basic blocks of the kernels compiled by clang-15 -O3 for gfx801 and gfx902 with windows of 5. Across
channels, forward: a prologue that unrolls the first window, a loop over the remaining channels, an epilogue
for the last outputs; one work-item handles ``MLO_READ_UNIT`` pixels of all channels. Backward walks all
channels of a pixel. The kernels within a channel work on a tile in LDS.
"""

from __future__ import annotations

from math import ceil

from apuflow.core.errors import NotModelled
from apuflow.preview.instructions import Counts, block
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.lines import LINE, PAGE, lines_of, pages_of, region_lines, span_lines
from apuflow.preview.profile import Profile, Stream

WINDOW = 5
IN_TURN = 0.5
"""Of the walks of a gradient's other three buffers, what wavefronts of a workgroup make in turn: a second
request for a page that is being walked holds back those for other pages."""


def _saved(plane: int, channels: int, written: int, both: int, read: int) -> int:
    """Additions that gfx9 saves where offsets of instructions, of 12 bits, reach further channels.

    Args:
        plane: elements of a channel.
        channels, written: that are read, and of them those that are written too.
        both, read: additions for the address of a channel that is written too, or is not.
    """
    reached = min(4095 // (4 * plane), channels - 1)
    stored = min(reached, written - 1)
    return both * stored + read * (reached - stored)


def _parts(unit: int, window: int, plane: int, vega: bool) -> tuple[str, str, str, float]:
    """Prologue, loop, epilogue and code bytes for a read unit.

    All grow evenly with the window, as kernels that were compiled for 3, 5, 7 and 9 channels show.
    """
    more = window - 5
    ahead, after = window - window // 2, window // 2
    valu, end = 0, 9 + more // 2 - vega
    if vega:
        valu = _saved(plane, window, ahead, 11, 6) + (unit > 1)
    if unit == 4:
        head = f"sm8 wt{window + 2} s{27 + window - 5 * vega} v{440 + round(74.5 * more) - valu} no3"
        loop = f"v{168 + 4 * more} ld1 s2 wt1 st2 no1 br1"
        tail = f"v{263 + round(63.5 * more)} s{end} no1 en1"
        code = 5248.0
    elif unit == 2:
        head = f"sm8 wt{window + 3 - vega} s{19 + window - 4 * vega} v{246 + round(41.5 * more) - valu}"
        loop = f"v{92 + 2 * more} ld1 s2 wt1 st2 br1"
        tail = f"v{141 + round(33.5 * more)} s{end} en1"
        code = 3116.0
    else:
        waits = window + 1 + (vega and valu > 0)
        head = f"sm8 wt{waits} s{16 + window - 4 * vega} v{148 + 24 * more - valu} br1"
        loop = f"v{55 + round(2.5 * more)} ld1 s1 wt1 st2 br1"
        tail = f"v{80 + round(18.5 * more)} s{end} en1"
        code = 2228.0
    return f"{head} ld{window} st{2 * ahead}", loop, f"{tail} st{2 * after}", code * window / 5


_UNROLLED = {1: (19, 218, 43, 18, 6), 2: (10, 376, 75, 18, 6), 4: (8, 690, 139, 19, 7)}
"""Read unit -> up to how many channels the compiler unrolls the loop (windows of 5); VALU instructions at 5
channels and per further one, SALU and waits at 5 channels (one more per channel)."""


_LINES = {1: 4.0, 2: 6.75, 4: 13.0}
"""Read unit -> lines of code of a channel where the loop is unrolled: by gem5's misses of the instruction
cache (1 and 2), and by instructions (4)."""


def _unrolled(unit: int, channels: int, plane: int, vega: bool) -> str:
    """The whole wavefront without a loop."""
    _, valu, each, salu, waits = _UNROLLED[unit]
    more = channels - 5
    if vega:
        saved = _saved(plane, channels, channels, 11, 0)
        valu, salu, waits = valu - saved - (unit > 1), 15 - more, waits + (saved > 0)
    nops = f" no{(5, 6, 8, 11)[more]}" if unit == 4 else ""
    text = f"sm8 v{valu + each * more} s{salu + more} ld{channels} st{2 * channels} wt{waits + more} en1"
    return text + nops


def lrn_forward(facts: Facts) -> Profile:
    """Across channels; raises NotModelled where there are fewer channels than the window is wide."""
    unit, channels = facts.define("MLO_READ_UNIT"), facts.define("MLO_LRN_N_INPUTS")
    window, plane = facts.define("MLO_LRN_KERNEL_SZ"), facts.define("MLO_LRN_BOT_CHANNEL_STRIDE")
    if channels < window:
        raise NotModelled(
            "the preview does not model LRN over fewer channels than its window",
            key="c",
            value=channels,
            remedy=f"use at least {window} channels, or the gem5 or gem5-kernels engine",
        )
    head, loop, tail, code = _parts(unit, window, plane, facts.vega)
    lanes_total = facts.grid[0]
    batch = facts.grid[2]
    waves = -(-lanes_total // 64) * batch
    share = lanes_total * batch / waves
    per_group = block(head, share) + block(loop, share) * (channels - window) + block(tail, share)
    if unit == 1 and (channels - window) % 2 == 0:  # two channels at a time
        per_group += block("s1 br1") * -1 + block("v4 br1", share) * -((channels - window) // 2)
        per_group += block("s2")
    if plane > 64 and unit == 2:
        per_group += block("s1")
    unrolled = window == 5 and channels <= _UNROLLED[unit][0]
    if unrolled:
        per_group = block(_unrolled(unit, channels, plane, facts.vega), share)
        code = LINE * (3.0 + _LINES[unit] * channels)
    counts = per_group * waves
    elements = batch * channels * plane
    whole, rest = divmod(lanes_total, 64)
    lines = whole * span_lines(256 * unit, 4 * plane) + (rest > 0) * span_lines(4 * unit * rest, 4 * plane)
    span = lines * batch / waves
    loads = float(channels * waves)
    pages = pages_of(elements)
    across = 4 * plane / PAGE  # pages of a channel; it lies on one more if one begins inside of it
    inside = 4 * plane % PAGE != 0 and PAGE % (4 * plane) != 0
    sharing = max(1.0, lanes_total / 64 / (across + 1.0 if inside else max(1.0, across)))
    load = Stream(
        "load",
        loads,
        loads * span,
        lines_of(elements),
        pages,
        sharing=sharing,
        at_once=0.6,
    )
    store = load._replace(kind="store", resident=False, repeated="later")
    streams = (load, store, store)
    return Profile(
        workgroups=facts.workgroups,
        waves_per_group=1,
        counts=counts,
        streams=streams,
        code_bytes=code,
        rounds=float(channels if unrolled else max(1, channels - 2)),
        joined_rounds=max(0.0, channels - 3.0),
        walk_rounds=max(1.0, min(channels - window + 1.0, channels * plane * 4 / PAGE)),
        vgprs=64,
        sgprs=40,
        flops=float(20 * elements),
    )


def _span(tile: int, width: int, plane: int) -> float:
    """Lines of a wavefront's access to the rows of a tile.

    The rows follow one another where the tile is as wide as the image.
    """
    if width <= tile:
        run = min(width * 64 // tile, plane)
        return span_lines(4 * run, 4 * run)
    return 64 / tile * span_lines(4 * tile, 4 * width)


def _edges(size: int, tile: int) -> list[tuple[int, int]]:
    """Tiles along an image: (how many, size), the last of them smaller where they do not go into it."""
    return [(number, part) for number, part in ((size // tile, tile), (1, size % tile)) if number and part]


def _waves(facts: Facts) -> tuple[int, float]:
    """Wavefronts of an image, and the lines that all of them touch of it in a channel.

    A workgroup at the right or the lower edge has fewer work-items, and so fewer and other wavefronts: gem5
    lays them out over the part inside (``ComputeUnit::startWavefront``, ``actualWgSz``).
    """
    width, height = facts.grid[:2]
    waves, lines = 0, 0.0
    for across, w in _edges(width, facts.workgroup[0]):
        for down, h in _edges(height, facts.workgroup[1]):
            number, each = across * down, -(-w * h // 64)
            waves += number * each
            if w == width:  # rows follow one another
                full, lanes = divmod(w * h, 64)
                lines += number * full * span_lines(256, 4 * width * height)
                lines += number * span_lines(4 * lanes, 4 * width * height) * (lanes > 0)
                continue
            if 64 % w:
                lines += number * (region_lines(h, w, 4 * width) + each - 1)
                continue
            whole, rest = divmod(h, 64 // w)
            lines += number * whole * region_lines(64 // w, w, 4 * width)
            lines += number * region_lines(rest, w, 4 * width)
    return waves, lines


def across_backward(facts: Facts) -> Profile:
    """``MIOpenLRNAcrossChannelsBwd1``: four buffers read and one written per channel."""
    c, plane = facts.define("MLO_LRN_N_CHANNELS"), facts.define("MLO_LRN_TOP_CHANNEL_STRIDE")
    window = facts.define("MLO_LRN_KERNEL_SZ")
    groups, batch = facts.workgroups, facts.grid[2]
    of_image, touched = _waves(facts)
    wavefronts = of_image * batch
    waves = max(1, round(wavefronts / groups))
    share = batch * plane / wavefronts
    more = window - WINDOW
    ahead, after = window - window // 2, window // 2
    code = 50.0
    if c < window + 10:  # unrolled
        code = 52.0 + 4.0 * (c - 8)  # of 6.2 lines, while loads are on their way
        valu, salu, waits = 4 + 61 * c + 12 * more, 16 + c, 2 * c + 2
        if facts.vega:
            saved = _saved(plane, c, c, 18, 0)
            valu, salu, waits = valu - saved - 1, 18, waits + (saved > 0)
        per_group = block(f"sm8 wt{waits} v{valu} s{salu} ld{4 * c} st{c} en1", share)
    else:
        pairs, odd = divmod(c - window, 2)
        inner = 4 * (c - window)
        first = round(18 + 3.5 * more)
        valu, salu, end, waits = round(241 + 42.5 * more), 23, 9, 11 + 2 * max(0, more)
        if facts.vega:
            saved = _saved(plane, window, ahead, 18, 12)
            valu, salu, end, waits = valu - saved - 2, 20 - odd, 8, waits + saved // 12 + odd - 1
        head = f"sm8 s{salu} wt{waits} v{valu} ld{first} st{ahead} br1"
        tail = f"s{end} v{round(79 + 18.5 * more)} ld{4 * c - inner - first} wt2 st{after} en1"
        per_group = block(head, share) + block(tail, share)
        if odd:
            per_group += block(f"v{72 + 3 * more} ld4 s1 wt2 st1 br1", share) * pairs
            per_group += block(f"v{80 + 3 * more} ld4 s1 wt2 st1 br1", share) * (pairs + odd)
        else:
            per_group += block(f"v{142 + 6 * more} ld8 s2 wt5 st2 br1", share) * pairs + block("s2 wt2")
    counts = per_group * wavefronts
    visits = float(c * wavefronts)
    span = touched / of_image
    elements = batch * c * plane
    sharing = max(1.0, min(groups / batch, PAGE / (4 * 64 * waves)))
    lines, pages = lines_of(elements), pages_of(elements)
    load = Stream(
        "load",
        visits,
        visits * span,
        lines,
        pages,
        reuse="group" if groups == batch else "none",  # lines that wavefronts of a plane share
        window_bytes=4.0 * 256.0 * waves,
        sharing=sharing,
        at_once=0.55,
    )
    store = load._replace(kind="store", resident=False, repeated="later")
    return Profile(
        workgroups=groups,
        waves_per_group=waves,
        counts=counts,
        streams=(load, load, load, load, store),
        code_bytes=LINE * code,
        rounds=float(2 * c),
        waves=wavefronts,
        joined_rounds=float(c - 1),
        walk_rounds=max(1.0, min(float(c), c * plane / 1024)) * (1.0 + (3.0 * IN_TURN if waves > 1 else 0.0)),
        scalar_rounds=2.0,
        vgprs=32,
        sgprs=32,
        flops=float(25 * elements),
    )


def _window(facts: Facts) -> None:
    if facts.define("MLO_LRN_KERNEL_SZ") != WINDOW:
        raise NotModelled(
            "the preview models LRN windows of 5",
            key="local_size",
            value=facts.define("MLO_LRN_KERNEL_SZ"),
            remedy="use local_size=5, or the gem5 or gem5-kernels engine",
        )


def within_forward(facts: Facts) -> Profile:
    """``MIOpenLRNWithinChannel_PS``: a tile of the plane in LDS, two outputs per pixel."""
    _window(facts)
    g0, g1 = facts.define("MLO_LRN_GROUP_SZ0"), facts.define("MLO_LRN_GROUP_SZ1")
    p0, p1 = facts.define("MLO_LRN_N_HORIZ_OUT_PIX"), facts.define("MLO_LRN_N_VERT_OUT_PIX")
    unit = facts.define("MLO_READ_UNIT")
    rows, quads = ceil((g1 * p1 + WINDOW - 1) / g1), ceil((g0 * p0 + WINDOW - 1) / unit)
    reading = 64.0 * min(1.0, quads / g0)
    counts = block("sm5 v9 s7 wt1 br1") + block("s4 v14 br1")
    counts += (block("s1 br1 s3 br1 v4") + block("v35 s1 ld4 wt4 lw2 br1", reading)) * rows
    pixels = p0 * p1
    counts += block(f"s9 wt12 sm1 ba1 v{54 + 50 * pixels} lr{11 + 2 * pixels} st{2 * pixels} en1")
    loads = 4.0 * rows
    return _tiled(facts, counts, loads, 1, 2, pixels, 2.0 * rows, 1900.0 if pixels > 1 else 1250.0)


def within_backward(facts: Facts) -> Profile:
    """``MIOpenLRNWithinChannelBwd``: two tiles in LDS, then one output per pixel."""
    _window(facts)
    g0, g1 = facts.define("MLO_LRN_GROUP_SZ0"), facts.define("MLO_LRN_GROUP_SZ1")
    p0, p1 = facts.define("MLO_LRN_N_HORIZ_OUT_PIX"), facts.define("MLO_LRN_N_VERT_OUT_PIX")
    rows = ceil((g1 * p1 + WINDOW - 1) / g1)
    columns = ceil((g0 * p0 + WINDOW - 1) / g0)
    pixels = p0 * p1
    counts = block("sm5 wt2 s15 v1 br1") + block("v5 s2 br1") * 2
    counts += (block("s1 br1 v9 s1 s3 v4 br1") + block("v19 ld2 s3 wt2 lw2 br1") * columns) * rows
    counts += (block("s1 br1 v9 s1 s3 v4 br1") + block("v27 ld1 lr2 lw1 s3 wt3 br1") * columns) * rows
    counts += block("s2 v4 wt2 ba1 br1") + block("s9 v20 wt2 ba1 lr14 br1")
    counts += (block("s4 v8 lr4 ld1 wt1 br1") + block("v77 wt2 s13 st1 br1")) * pixels + block("en1")
    loads = 3.0 * rows * columns + pixels
    return _tiled(facts, counts, loads, 4, 1, pixels, 2.0 * rows * columns, 1750.0 + 690.0 * (pixels - 1))


def _tiled(
    facts: Facts,
    per_group: Counts,
    loads: float,
    reads: int,
    writes: int,
    pixels: int,
    rounds: float,
    code: float,
) -> Profile:
    groups, waves = facts.workgroups, facts.waves_per_group
    plane = facts.define("MLO_LRN_TOP_CHANNEL_STRIDE")
    width = facts.define("MLO_LRN_TOP_WIDTH")
    elements = facts.define("MLO_LRN_BATCH_SZ") * facts.define("MLO_LRN_TOP_BATCH_STRIDE")
    g0 = facts.define("MLO_LRN_GROUP_SZ0")
    counts = per_group * (groups * waves)
    lines, pages = lines_of(elements), pages_of(elements)
    sharing = max(1.0, PAGE / (4 * plane), PAGE / (256 * pixels * waves))
    accesses = loads / reads * groups * waves
    per_load = _span(g0, width, plane)
    load = Stream(
        "load", accesses, min(accesses * per_load, 2.0 * lines), lines, pages, "group", 4096.0,
        sharing=sharing, line_sharing=1.3,
    )  # fmt: skip
    stores = float(pixels * groups * waves)
    store = Stream(
        "store", stores, max(lines, stores * per_load), lines, pages,
        sharing=sharing, resident=False, repeated="later",
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
