"""MIOpenLRNFwd.cl: MIOpenLRNAcrossChannels4.

Counts: basic blocks of the kernel compiled by clang-15 -O3 for gfx801 with a window of 5 channels: a
prologue that
unrolls the first window, a loop over the remaining channels, an epilogue for the last outputs. One
work-item handles ``MLO_READ_UNIT`` pixels of all channels.
"""

from __future__ import annotations

from apuflow.core.errors import NotModelled
from apuflow.preview.counts import block
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.profile import Profile, Stream, lines_of, pages_of, span_lines


def _parts(unit: int, window: int) -> tuple[str, str, str, float]:
    """Prologue, loop, epilogue and code bytes for a read unit; all grow evenly with the window (compiled
    for 3, 5, 7, 9 channels)."""
    more = window - 5
    ahead, after = window - window // 2, window // 2
    if unit == 4:
        head = f"sm8 wt{window + 2} s{27 + window} v{440 + round(74.5 * more)} no3"
        loop = f"v{168 + 4 * more} ld1 s2 wt1 st2 no1 br1"
        tail = f"v{263 + round(63.5 * more)} s{9 + more // 2} no1 en1"
        code = 5248.0
    elif unit == 2:
        head = f"sm8 wt{window + 3} s{19 + window} v{246 + round(41.5 * more)}"
        loop = f"v{92 + 2 * more} ld1 s2 wt1 st2 br1"
        tail = f"v{141 + round(33.5 * more)} s{9 + more // 2} en1"
        code = 3116.0
    else:
        head = f"sm8 wt{window + 1} s{16 + window} v{148 + 24 * more} br1"
        loop = f"v{55 + round(2.5 * more)} ld1 s1 wt1 st2 br1"
        tail = f"v{80 + round(18.5 * more)} s{9 + more // 2} en1"
        code = 2228.0
    return f"{head} ld{window} st{2 * ahead}", loop, f"{tail} st{2 * after}", code * window / 5


_UNROLLED = {1: (18, 218, 43, 18, 6), 2: (10, 376, 75, 18, 6), 4: (8, 690, 139, 19, 7)}
"""Read unit -> up to how many channels the compiler unrolls the loop (windows of 5); VALU instructions at 5
channels and per further one, SALU and waits at 5 channels (one more per channel)."""


def _unrolled(unit: int, channels: int) -> str:
    """The whole wavefront without a loop."""
    _, valu, each, salu, waits = _UNROLLED[unit]
    more = channels - 5
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
    head, loop, tail, code = _parts(unit, window)
    lanes_total = facts.grid[0]
    batch = facts.grid[2]
    waves = -(-lanes_total // 64) * batch
    share = lanes_total * batch / waves
    one = block(head, share) + block(loop, share) * (channels - window) + block(tail, share)
    if plane > 64 and unit == 2:
        one += block("s1")
    unrolled = window == 5 and channels <= _UNROLLED[unit][0]
    if unrolled:
        one = block(_unrolled(unit, channels), share)
    counts = one * waves
    elements = batch * channels * plane
    span = span_lines(4 * unit * min(64, lanes_total), 4 * plane)
    loads = float(channels * waves)
    pages = pages_of(elements)
    chunk = 256 * unit
    sharing = max(1.0, min(lanes_total / 64, 4096 / chunk))
    streams = (
        Stream("load", loads, loads * span, lines_of(elements), pages, page_group=1.0, sharing=sharing),
        *[
            Stream(
                "store",
                loads,
                loads * span,
                lines_of(elements),
                pages,
                page_group=1.0,
                sharing=sharing,
                resident=False,
            )
        ]
        * 2,
    )
    return Profile(
        workgroups=facts.workgroups,
        waves_per_group=1,
        counts=counts,
        streams=streams,
        code_bytes=code,
        rounds=float(channels if unrolled else channels - 2),
        joined_rounds=float(channels - 3),
        walk_rounds=max(1.0, min(channels - window + 1.0, channels * plane * 4 / 4096)),
        vgprs=64,
        sgprs=40,
        flops=float(20 * elements),
    )
