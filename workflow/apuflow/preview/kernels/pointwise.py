"""MIOpenConv1x1J1.cl: a 1x1 convolution, a work-item for a pixel of 32 output channels.

Counts: basic blocks of the kernel compiled by clang-15 -O3 for gfx801. Weights are scalar loads of eight
input channels.
"""

from __future__ import annotations

from apuflow.preview.instructions import Counts, block
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.kernels.pointwise_gradient import pointwise_gradient
from apuflow.preview.lines import PAGE, lines_of, pages_of, span_lines
from apuflow.preview.profile import Profile, Stream

STEP = 8
"""Input channels whose pixels and weights are loaded together."""
WAITED = 0.65
"""Of a wait for the weights of two outputs: every second one finds them in the scalar cache, in a third."""


def _work(channels: int, groups: int) -> tuple[Counts, float]:
    """Instructions of a wavefront with pixels; bytes of its code.

    Without a loop, several groups of output channels make the compiler load each weight by itself.
    """
    if channels == 2 * STEP:
        loads, code = (67, 5900.0) if groups == 1 else (495, 9400.0)
        return block(f"v632 s34 sm{loads} wt{54 if groups == 1 else 75} ld16 st32"), code
    if channels == 4 * STEP:
        loads, code = (131, 11000.0) if groups == 1 else (992, 18000.0)
        return block(f"v1160 s34 sm{loads} wt150 ld32 st32"), code
    loop = block("v570 s22 sm64 wt36 no1 br1 ld16") * (channels / STEP / 2 - 1)
    return block("v59 s15 sm3 wt1 ld8") + loop + block("v716 s76 sm64 wt57 no1 ld8 st32"), 12700.0


def pointwise(facts: Facts) -> Profile:
    """A wavefront per 64 pixels of all images and group of output channels."""
    if facts.define("BATCHSIZE", 0) == 0:
        return pointwise_gradient(facts)
    n, h, w = (facts.define(name) for name in ("BATCHSIZE", "H", "W"))
    channels, outputs = facts.define("MLO_N_INPUTS"), facts.define("MLO_N_LCL_OUT_MAPS")
    groups, plane = facts.define("K") // outputs, h * w
    waves = facts.workgroups
    pixels = n * plane
    work, code = _work(channels, groups)
    lanes = pixels / (waves / groups)
    counts = block("v3 s4 br1 en1") * waves
    counts += (work + Counts(lanes=work.valu * (lanes - 64.0))) * waves
    lines = span_lines(4 * min(64.0, pixels), 256) if plane % 16 == 0 else span_lines(4 * lanes, 4 * plane)
    loads, stores = float(waves * channels), float(waves * outputs)
    read, written = float(pixels * channels), float(pixels * groups * outputs)
    sharing = max(1.0, min(64.0, PAGE / (4 * plane))) if plane < 1024 else 1.0
    streams = (
        Stream(
            "load",
            loads,
            loads * lines,
            lines_of(read),
            pages_of(read),
            "device",
            channels * lines * 64.0,
            sharing=groups * max(1.0, min(plane, 1024) / 64),
            line_sharing=float(groups),
        ),
        Stream(
            "store",
            stores,
            stores * lines,
            lines_of(written),
            pages_of(written),
            sharing=max(1.0, min(plane, 1024) / 64),
            resident=False,
        ),
    )
    return Profile(
        workgroups=facts.workgroups,
        waves_per_group=1,
        counts=counts,
        streams=streams,
        code_bytes=code,
        rounds=1.0 + channels / STEP / 2,
        walk_rounds=max(1.0, channels / STEP / sharing),
        scalar_again=WAITED * channels / STEP * outputs / 2,
        vgprs=74,
        sgprs=104,
        flops=2.0 * written * channels,
    )
