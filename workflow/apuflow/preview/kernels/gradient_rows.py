"""MIOpenConvBwdWrW_LxG_P53.cl: gradients of weights at stride 1; and which kernel of that name a launch is.

A workgroup has up to four input channels and as many output channels as its work-items can: each has up to
four neighbours of every row of one of them. The input lies in the LDS. At the end the first work-item of an
output channel adds up what the others have.

Counts: products are exact. The rest is fitted to 46 kernels compiled by clang-15 -O3 for gfx801, whose code
was executed instruction by instruction: totals within 8 %, since the compiler unrolls some loops.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil

import numpy as np

from apuflow.preview.instructions import Counts, block
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.kernels.gradient_scans import gradient_scans
from apuflow.preview.kernels.sample import serialised, touched_lines
from apuflow.preview.lines import PAGE, lines_of, pages_of
from apuflow.preview.profile import Profile, Stream

_WRITTEN_OUT = 2
"""Full rows of an image up to which the code names every address, and reads of the LDS are of four floats."""
_UNEVEN = 0.45
"""Stores for each weight, where the weights of an output channel are an even number: some in twos, threes and
fours."""


@dataclass(frozen=True)
class Span:
    """A launch.

    Attributes:
        kernel: across and down. pad: above. image, out: across and down.
        items: of a workgroup. inputs, outputs: channels that it has. span: neighbours of a work-item.
        rows, parts: of the input that lie in the LDS at once, and how often. unit: pixels of a read.
        images: that a workgroup goes through. padding: left and right in the LDS.
    """

    kernel: tuple[int, int]
    pad: int
    image: tuple[int, int]
    out: tuple[int, int]
    items: int
    inputs: int
    outputs: int
    span: int
    rows: int
    parts: int
    unit: int
    images: int
    padding: int

    @property
    def spans(self) -> int:
        """Work-items of an output channel."""
        return ceil(self.out[0] / self.span)

    @property
    def row(self) -> int:
        """Floats of a row of the input in the LDS."""
        return ceil(self.image[0] / self.unit) * self.unit + 2 * self.padding

    @property
    def floats(self) -> int:
        """Of the LDS."""
        return max(self.inputs * self.row * self.rows, self.items * self.kernel[0]) + 1

    @property
    def trips(self) -> float:
        """Mean reads of a wavefront to fill the LDS, all images."""
        last = self.image[1] - self.rows * (self.parts - 1)
        total = 0
        for rows in [self.rows] * (self.parts - 1) + [last]:
            work = self.inputs * ceil(self.image[0] / self.unit) * rows
            total += sum(max(0, ceil((work - first) / self.items)) for first in range(0, self.items, 64))
        return self.images * total / (self.items // 64)

    @property
    def full(self) -> int:
        """Rows of the input that meet every row of the filter, of all images."""
        first = max(0, self.kernel[1] - self.pad - 1)
        return self.images * max(0, self.image[1] + self.pad - self.kernel[1] + 1 - first)

    @property
    def products(self) -> int:
        """Of a work-item."""
        (across, down), high = self.kernel, self.image[1]
        rows = (
            min(down - 1, row + self.pad) - max(0, down - (high + self.pad - row)) + 1 for row in range(high)
        )
        return self.images * sum(max(0, met) for met in rows) * self.span * across * self.inputs


def _span(facts: Facts) -> Span:
    def pair(first: str, second: str) -> tuple[int, int]:
        return facts.define(f"MLO_{first}"), facts.define(f"MLO_{second}")

    return Span(
        kernel=pair("FILTER_SIZE0", "FILTER_SIZE1"),
        pad=facts.define("MLO_FILTER_PAD1"),
        image=pair("IN_WIDTH", "IN_HEIGHT"),
        out=pair("OUT_WIDTH", "OUT_HEIGHT"),
        items=facts.define("MLO_GRP_SZ"),
        inputs=facts.define("MLO_N_LCL_IN_MAPS"),
        outputs=facts.define("MLO_OUT_STACKS"),
        span=facts.define("MLO_IN_TILE0"),
        rows=facts.define("MLO_IN_EXTENT1"),
        parts=facts.define("MLO_IN_N_VERT_LOOPS"),
        unit=facts.define("MLO_READ_UNIT"),
        images=min(facts.define("MLO_N_BATCH_LOOPS"), facts.define("MLO_BATCH_SZ")),
        padding=facts.define("MLO_FILTER_PAD0"),
    )


def _reads(span: Span) -> float:
    """LDS reads of a wavefront for its products."""
    if span.spans == 1 and span.full <= _WRITTEN_OUT * span.images:
        return span.images * span.inputs * span.row * span.rows / 4
    return 0.94 * span.image[1] * span.images * span.inputs * (span.span + span.kernel[0] - 1) / 2


def _counts(span: Span, partial: bool) -> Counts:
    """Of a wavefront without its stores."""
    weights = span.kernel[0] * span.kernel[1] * span.inputs
    several = weights * (span.spans - 1)
    rows, reads = span.full, _reads(span)
    lanes = min(64.0, float(span.spans * span.outputs))
    counts = block("s9 sm3 br9 wt4 en1") + block("v1 lw1") * ceil(span.floats / span.items)
    counts += block("v24 br3 ld1", 40) * span.trips + block("v6 s2 br1") * rows
    counts += block("v1") * (0.85 * rows * span.span * (span.kernel[1] - 1) + 6.8 * weights)
    counts += block("v1") * span.products + block("s1") * (0.8 * weights)
    counts += block("s14") * span.images + block("s20 br3") * (span.spans > 1)
    counts += block("v4 s12") * (span.trips * partial)
    if span.items > 64:
        counts += block("ba1") * (2 * span.inputs * span.kernel[1] + 2 * span.images * span.parts)
    return counts + Counts(
        valu=0.8 * several,
        lanes=0.8 * several * lanes / span.spans,
        waits=0.86 * weights + 0.45 * several + 1.3 * span.out[1] * span.images + 0.7 * reads,
        loads=1.0 * span.out[1] * span.images,
        lds_reads=reads + 0.54 * several,
        lds_writes=0.63 * weights + span.trips * (0.55 + 0.47 * span.unit),
    )


@lru_cache(maxsize=4096)
def _serial(span: Span) -> float:
    """Serialised accesses of a wavefront to the LDS."""
    lane = np.arange(64, dtype=np.int64)
    one = serialised(4 * (lane % span.spans * span.span))
    pieces = ceil(span.image[0] / span.unit)
    read = serialised(4 * (lane // pieces * span.row + lane % pieces * span.unit))
    weights = span.kernel[0] * span.kernel[1] * span.inputs
    adding = serialised(4 * span.kernel[0] * lane[:: span.spans]) * weights * (span.spans - 1)
    serial = 8.0 * ceil(span.floats / span.items) + one * _reads(span) + 0.54 * adding
    serial += read * span.trips * (0.55 + 0.47 * span.unit)
    return serial + 0.63 * weights * serialised(4 * span.kernel[0] * lane)


@lru_cache(maxsize=4096)
def _gradient_lines(span: Span) -> float:
    """Lines that a workgroup's wavefronts read of its output channels, of an image."""
    lane = np.arange(span.items, dtype=np.int64).reshape(-1, 64)
    channel = lane // span.spans
    plane = span.out[0] * span.out[1]
    first = np.where(channel < span.outputs, channel * plane + lane % span.spans * span.span, 0)
    index = first[:, :, None] + np.arange(span.span, dtype=np.int64)
    rows = np.arange(min(span.out[1], 32), dtype=np.int64)[:, None, None] * span.out[0]
    index = index.reshape(1, len(lane), -1) + rows
    found = touched_lines(index, np.ones_like(index, dtype=np.bool_))
    return max(found * span.out[1] / min(span.out[1], 32), 1.0)


def _stores(span: Span, channels: int) -> float:
    """Of a wavefront with output channels."""
    taps = span.kernel[0] * span.kernel[1]
    weights = taps * span.inputs
    if weights % 4 == 0 and channels * taps % 4 == 0 and span.inputs % 4 == 0:
        return weights / 4
    return _UNEVEN * weights if channels * taps % 2 == 0 and weights % 2 == 0 else float(weights)


def weight_gradient(facts: Facts) -> Profile:
    """``MIOpenCvBwdWrW``, of which two programs have one each."""
    return gradient_rows(facts) if facts.define("MLO_IN_EXTENT1", 0) else gradient_scans(facts)


def gradient_rows(facts: Facts) -> Profile:
    """A workgroup for each group of input channels, of output channels, and of images."""
    span, n = _span(facts), facts.define("MLO_BATCH_SZ")
    (kw, kh), waves = span.kernel, span.items // 64
    channels, outputs = facts.define("MLO_N_INPUTS"), facts.define("MLO_N_OUTPUTS")
    per_group = facts.define("MLO_N_INPUTS_PER_GROUP")
    groups, parts = facts.workgroups, facts.grid[2]
    one = _counts(span, channels % span.inputs != 0) * waves
    storing = min(waves, ceil(span.outputs * span.spans / 64))
    stores = _stores(span, per_group) * storing
    total = one * groups + block("st1") * (stores * groups)
    plane, over = span.image[0] * span.image[1], span.out[0] * span.out[1]
    stacks = max(1.0, facts.grid[1] / facts.define("MLO_GROUP_COUNTS"))
    blocks = max(1.0, ceil(per_group / span.inputs))
    read = span.images * (span.inputs * (plane / 16 + 1.0) + span.trips / span.images)
    seen = span.images * min(_gradient_lines(span), span.outputs * over if over > 16 else span.outputs * 2.0)
    inputs, elements = float(n * channels * plane), float(n * outputs * over)
    weights = float(parts * outputs * per_group * kw * kh)
    outputs_of = min(float(span.outputs), outputs / facts.define("MLO_GROUP_COUNTS") / stacks)
    written = stores / storing * min(outputs_of, ceil(outputs_of * per_group * kw * kh / 16))
    return Profile(
        workgroups=groups,
        waves_per_group=waves,
        counts=total,
        streams=(
            Stream(
                "load",
                instructions=groups * waves * span.trips,
                accesses=groups * read,
                lines=lines_of(inputs),
                pages=pages_of(inputs),
                reuse="device",
                window_bytes=min(4.0 * span.floats, 4.0 * (inputs + elements) / groups),
                sharing=max(1.0, stacks * min(blocks, PAGE / (4.0 * plane * span.inputs))),
                line_sharing=stacks,
                group_bytes=4.0 * span.floats,
            ),
            Stream(
                "load",
                instructions=groups * (one.loads - waves * span.trips),
                accesses=groups * seen,
                lines=lines_of(elements),
                pages=pages_of(elements),
                reuse="device",
                window_bytes=64.0 * span.outputs,
                sharing=max(1.0, blocks),
                line_sharing=blocks,
            ),
            Stream(
                "store",
                instructions=groups * stores,
                accesses=groups * written,
                lines=lines_of(weights),
                pages=pages_of(weights),
                sharing=max(1.0, blocks / max(1.0, per_group * kw * kh / 1024)),
                resident=False,
                repeated="later",
            ),
        ),
        code_bytes=1000.0 + kw * kh * span.inputs * (50.0 + 20.0 * (span.spans > 1) + 20.0 * span.span),
        rounds=float(span.images * (1 + min(span.out[1], 2 + span.full / span.images / 2))),
        walk_rounds=2.0,
        lds_bytes=4 * span.floats,
        vgprs=round(13 + kw * span.inputs * (1.5 * kh + 0.3) + 0.8 * kh * span.span * span.inputs),
        sgprs=48,
        lds_conflicts=_serial(span) * waves / one.lds - 1.0,
        flops=2.0 * n * outputs * over * per_group * kw * kh,
    )
