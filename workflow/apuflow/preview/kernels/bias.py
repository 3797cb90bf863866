"""A bias: OpTensorFwdBias (MIOpenTensorKernels.cl) and MIOpenConvBwdB (MIOpenConvBwdBias.cl).

Counts: basic blocks of the kernels compiled by clang-15 -O3 for gfx801.
"""

from __future__ import annotations

from math import ceil

from apuflow.preview.instructions import Counts, block
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.lines import lines_of, pages_of, span_lines
from apuflow.preview.profile import Profile, Stream

_GROUP = 256
_HEAD, _ENTRY, _END = "sm8 wt3 s27 v9 br4", "s10 v6 ld1 sm2 wt2 br1", "s3 br1 en1"
_OF_IMAGE = "s13 v3"
"""The channel of a workgroup that has one image."""
_BY_IMAGE, _BY_CHANNEL = "s8 v40 ld2 wt2 st1 br4", "s38 v99 ld2 wt2 st1 br4"
_LOOP = {0: "v35 wt5 ld4 s2 br1", 1: "v23 s4 wt3 ld2 br3"}
_ONCE = {0: "v35 wt5 ld4 s2 br1", 1: "v19 s5 wt3 ld2 br1"}
_PART = "v28 s4 wt4 ld3 br3"
"""A trip where two or three pixels of a channel are left over."""
_SMALL = "v8 wt2 ld1"
"""The only trip over channels of fewer than four pixels."""


def _trips(work: int) -> int:
    """Of a workgroup's four wavefronts over ``work`` work-items' work."""
    return sum(max(0, ceil((work - first) / _GROUP)) for first in range(0, _GROUP, 64))


def bias(facts: Facts) -> Profile:
    """A workgroup for each channel of an image, or of all images."""
    work, groups = facts.integer("work"), facts.integer("groups")
    channels, by_image = facts.integer("channels"), facts.integer("by_image")
    waves, trips = 4 * facts.workgroups, _trips(work) * groups
    elements = work * groups
    busy = min(4, ceil(work / 64)) * groups
    counts = block(f"{_HEAD} {_OF_IMAGE if by_image else ''}") * (4 * groups) + block(_END) * waves
    counts += block(_ENTRY) * busy
    counts += block(_BY_IMAGE if by_image else _BY_CHANNEL, elements / trips) * trips
    plane = facts.integer("channel_stride")
    lines = span_lines(4 * min(64, plane), 4 * plane) * max(1.0, elements / trips / plane)
    return Profile(
        workgroups=facts.workgroups,
        waves_per_group=4,
        counts=counts,
        streams=(
            Stream(
                *("load", 2.0 * trips, 2.0 * trips * lines, lines_of(elements), pages_of(elements), "group"),
                *(1024.0, max(1.0, 1024 / plane)),
            ),
            Stream("load", busy, busy, lines_of(channels), pages_of(channels), "device", sharing=groups),
            Stream("store", trips, trips * lines, lines_of(elements), pages_of(elements), resident=False),
        ),
        code_bytes=1312.0,
        rounds=1.0 + trips / (4 * groups),
        walk_rounds=2.0,
        scalar_again=2.0,
        vgprs=24,
        sgprs=48,
        flops=float(elements),
    )


def bias_gradient(facts: Facts) -> Profile:
    """A workgroup for each channel: sums of its work-items, then of all in the LDS."""
    n, area, over = (
        facts.define(name) for name in ("MLO_OUT_BATCH_SZ", "MLO_OUT_CHANNEL_STRIDE", "MLO_N_PIX_OFF")
    )
    channels, work = facts.workgroups, n * facts.define("MLO_WK_SIZE")
    trips = _trips(work)
    trip = (_LOOP if work > _GROUP else _ONCE).get(over, _PART)
    if area < 4:
        trip = _SMALL
    one = block("sm1 s3 v2 br1") * 4 + block(trip, min(64.0, work / trips)) * trips
    if work > _GROUP:
        one += block("s6 v2") * 4
    one += _sums()
    elements = n * channels * area
    loads = float(one.loads) * channels
    return Profile(
        workgroups=channels,
        waves_per_group=4,
        counts=one * channels,
        streams=(
            Stream(
                "load",
                loads,
                loads * min(16.0, work / trips / 4 + 1),
                lines_of(elements),
                pages_of(elements),
                "group",
                window_bytes=4096.0,
                sharing=max(1.0, 1024 / area),
            ),
            Stream(
                *("store", 4.0 * channels, 4.0 * channels, lines_of(channels), pages_of(channels)),
                sharing=float(channels),
                resident=False,
            ),
        ),
        code_bytes=640.0,
        rounds=trips / 4,
        walk_rounds=2.0,
        lds_bytes=4 * _GROUP,
        vgprs=16,
        sgprs=24,
        flops=float(elements),
    )


def _sums() -> Counts:
    """256 sums become 64, 16 and one, which every work-item stores."""
    every = "s3 v2 lw1 wt2 ba1 br1", "s2 v1 wt2 ba1 br1", "s2 v1 wt2 ba1 br1", "s5 v3 wt3 ba1 lr1 st1 en1"
    first = ("v7 lr2 wt2 lw1", 64), ("v7 lr2 wt2 lw1", 16), ("v17 lr8 wt8 lw1", 1)
    counts = Counts()
    for text in every:
        counts += block(text) * 4
    for text, lanes in first:
        counts += block(text, lanes)
    return counts
