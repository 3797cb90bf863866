"""MIOpenLRNFwd.cl: MIOpenLRNAcrossChannels4.

Counts: basic blocks of the kernel compiled by clang-15 -O3 for gfx801 with a window of 5 channels: a
prologue that
unrolls the first window, a loop over the remaining channels, an epilogue for the last outputs. One
work-item handles ``MLO_READ_UNIT`` pixels of all channels.
"""

from __future__ import annotations

from apuflow.errors import NotModelled
from apuflow.preview.counts import block
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.profile import Profile, Stream, lines_of, pages_of, span_lines

_PARTS: dict[int, tuple[str, str, str, float]] = {
    4: ("sm8 wt7 s32 v440 ld5 st6 no3", "v168 ld1 s2 wt1 st2 no1 br1", "v263 s9 st4 no1 en1", 7400.0),
    2: ("sm8 wt8 s24 v246 ld5 st6", "v92 ld1 s2 wt1 st2 br1", "v141 s9 st4 en1", 4200.0),
    1: ("sm8 wt8 s24 v146 ld5 st6", "v54 ld1 s2 wt1 st2 br1", "v80 s9 st4 en1", 2600.0),
}


def lrn_forward(facts: Facts) -> Profile:
    """Across channels; raises NotModelled for windows other than 5 channels."""
    unit, channels = facts.define("MLO_READ_UNIT"), facts.define("MLO_LRN_N_INPUTS")
    window, plane = facts.define("MLO_LRN_KERNEL_SZ"), facts.define("MLO_LRN_BOT_CHANNEL_STRIDE")
    if window != 5 or channels < 5:
        raise NotModelled(
            "the preview models LRN windows of 5 channels and at least 5 channels",
            key="local_size",
            value=window,
        )
    head, loop, tail, code = _PARTS[unit]
    lanes_total = facts.grid[0]
    batch = facts.grid[2]
    waves = -(-lanes_total // 64) * batch
    one = block(head) + block(loop) * (channels - 5) + block(tail)
    share = lanes_total * batch / waves / 64
    counts = one * waves
    counts = counts + block("s1") * (waves if plane > 64 and unit == 2 else 0)
    counts = type(counts)(
        **{**{f: getattr(counts, f) for f in counts.__slots__}, "lanes": counts.lanes * share}
    )
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
        rounds=float(channels - 4),
        walk_rounds=max(1.0, min(channels - 4.0, channels * plane * 4 / 4096)),
        vgprs=64,
        sgprs=40,
        flops=float(20 * elements),
    )
