"""MIOpenConvBwdWrWS2.cl: gradients of weights, six pixels of a row at a time.

A workgroup of one wavefront has an input channel of an image and up to four output channels. It goes down
the image in blocks of as many rows as the filter has: copies rows of the input and of one output channel
after the other into the LDS and multiplies. Each work-item has a row of the filter and a part of the
image's rows; at the end they are added up in the LDS.

Counts: products are exact. The rest is fitted to 46 kernels compiled by clang-15 -O3 for gfx801, whose code
was executed instruction by instruction: totals within 5 to 10 %, since the compiler unrolls some loops.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil

import numpy as np

from apuflow.core.errors import NotModelled
from apuflow.operations.direct_weights import sums_in_memory
from apuflow.preview.instructions import Counts, block
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.kernels.sample import serialised
from apuflow.preview.lines import PAGE, lines_of, pages_of, region_lines, span_lines
from apuflow.preview.profile import Profile, Stream

READ = 6
"""Pixels that a work-item reads at once: two loads, or four where a row is no multiple of it."""
WRITTEN_OUT = 450
"""Products of a workgroup's work-item up to which it unrolls all loops."""
FEW = 8
"""Blocks of 3x3 filters up to which it does."""
LOADS = 1.7, 2.0
"""Of a trip over the input, over gradients."""
BEYOND = (0.0, 1.0, 2.0, 2.0, 2.0, 2.0)
"""Loads for the last pixels of a row, beside those of the others, by how many these are."""


@dataclass(frozen=True)
class Scan:
    """A launch.

    Attributes:
        kernel, stride: of the filter, across and down. taps: of a row that a work-item has.
        outputs: channels of a workgroup. blocks: of rows, down the image.
        steps: of a work-item along a row. parts: of a row.
        image, out: across and down. row: of the input in the LDS. floats: of the LDS.
    """

    kernel: tuple[int, int]
    stride: tuple[int, int]
    taps: int
    outputs: int
    blocks: int
    steps: int
    parts: int
    image: tuple[int, int]
    out: tuple[int, int]
    row: int
    floats: int

    @property
    def pieces(self) -> tuple[int, int]:
        """Reads of a row of the input, of the output."""
        return ceil(self.image[0] / READ), ceil(self.out[0] / READ)

    @property
    def unrolled(self) -> bool:
        """Whether the compiler writes every block of rows out."""
        few = self.blocks <= FEW and self.kernel[1] <= 3
        return few or self.blocks * self.outputs * self.products <= WRITTEN_OUT

    @property
    def products(self) -> int:
        """Of a work-item with a block of an output channel."""
        return self.kernel[1] * self.steps * self.taps


def _scan(facts: Facts) -> Scan:
    def pair(first: str, second: str) -> tuple[int, int]:
        return facts.define(f"MLO_{first}"), facts.define(f"MLO_{second}")

    kernel, out = pair("FILTER_SIZE0", "FILTER_SIZE1"), pair("OUT_WIDTH", "OUT_HEIGHT")
    taps, row = facts.define("MLO_WEI_WKITEM"), facts.define("MLO_IN_LCL_WIDTH")
    size = kernel[1] * ceil(kernel[0] / taps)
    most = 64 // size
    steps = ceil(out[0] / most)
    parts = min(most, ceil(out[0] / steps))
    width = max(ceil(out[0] / READ) * READ, steps * parts)
    floats = max(facts.define("MLO_IN_LCL_SZ") + kernel[1] * width, parts * size * taps)
    return Scan(
        kernel=kernel,
        stride=pair("FILTER_STRIDE0", "FILTER_STRIDE1"),
        taps=taps,
        outputs=facts.define("MLO_N_OUT_BLK_GRP"),
        blocks=facts.define("MLO_N_OUT_BLK"),
        steps=steps,
        parts=parts,
        image=pair("IN_WIDTH", "IN_HEIGHT"),
        out=out,
        row=row,
        floats=floats,
    )


def _elements(scan: Scan) -> tuple[int, int]:
    """LDS elements that a work-item reads for a block of an output channel: inputs, gradients."""
    fresh = min(scan.taps, scan.stride[0])
    rows = scan.kernel[1]
    return rows * (scan.taps + (scan.steps - 1) * fresh), rows * scan.steps


@dataclass(frozen=True)
class _Trips:
    """Of a wavefront: reads of the input, of gradients; moves of rows; rounds of the last sums."""

    inputs: int
    gradients: int
    moves: int
    sums: int


def _trips(scan: Scan) -> _Trips:
    (across, over), rows = scan.pieces, scan.kernel[1]
    kept = max(0, rows - scan.stride[1])
    inputs = scan.blocks * ceil(across * rows * scan.stride[1] / 64) + ceil(across * kept / 64)
    gradients = scan.blocks * scan.outputs * ceil(rows * over / 64)
    sums = scan.outputs * ceil(scan.kernel[0] * rows / 64)
    return _Trips(inputs, gradients, scan.blocks * kept * ceil(across / 64), sums)


def _beyond(scan: Scan, trips: _Trips) -> tuple[float, float]:
    """Trips with rows that are no multiples of what is read at once, and their loads."""
    over = tuple(size % READ for size in (scan.image[0], scan.out[0]))
    made = (trips.inputs, trips.gradients)
    return (
        float(sum(number for number, left in zip(made, over, strict=True) if left)),
        sum(number * BEYOND[left] for number, left in zip(made, over, strict=True)),
    )


def _counts(scan: Scan) -> Counts:
    """Of a wavefront."""
    trips = _trips(scan)
    odd, loads = _beyond(scan, trips)
    passes = scan.blocks * scan.outputs
    reads = 0.5 * sum(_elements(scan)) * passes
    adding = trips.sums * scan.parts
    lanes = float(scan.kernel[0] * scan.kernel[1])
    counts = block("v3 s2 br1 lw1") * ceil(scan.floats / 64)
    counts += block("wt5 s2 br1 lr3 lw3") * trips.moves
    read = min(64.0, float(scan.pieces[0] * scan.kernel[1] * scan.stride[1]))
    taken = min(64.0, float(scan.pieces[1] * scan.kernel[1]))
    if scan.unrolled:
        counts += block("s42 sm3 en1") + block("v28 s3 br2 lw3", read) * trips.inputs
        counts += block("v16 s12 br2 wt5 lw3", taken) * trips.gradients + block("v15 s3 br1", taken) * odd
    else:
        counts += block("v87 s70 sm3 br11 en1") + block("v48 s3 br2 wt1 lw3", read) * trips.inputs
        counts += block("v7 s10 br2 wt3 lw3", taken) * trips.gradients + block("v9 s5 br2", taken) * odd
    counts += block("v1") * (passes * scan.products)
    counts += block("v39 s14 br2 lr2 lw2 st1", min(64.0, lanes)) * trips.sums
    return counts + Counts(
        valu=0.5 * adding,
        lanes=0.5 * adding * min(64.0, lanes),
        waits=0.26 * reads + 1.9 * adding,
        loads=LOADS[0] * trips.inputs + LOADS[1] * trips.gradients + loads,
        lds_reads=reads + 0.25 * trips.inputs + 0.6 * trips.gradients + 0.26 * adding,
        salu=1.2 * adding,
    )


@lru_cache(maxsize=4096)
def _serial(scan: Scan) -> float:
    """Serialised accesses of a wavefront to the LDS."""
    lane = np.arange(64, dtype=np.int64)
    columns = ceil(scan.kernel[0] / scan.taps)
    size = scan.kernel[1] * columns
    part, within = lane // size, lane % size
    part = np.where(part < scan.parts, part, 0)
    first = within // columns * scan.row + part * scan.steps * scan.stride[0] + within % columns
    of_inputs, of_gradients = serialised(4 * first), serialised(4 * part * scan.steps)
    trips, (inputs, gradients) = _trips(scan), _elements(scan)
    passes = scan.blocks * scan.outputs
    items = lane[: min(64, scan.pieces[0] * scan.kernel[1])]
    written = serialised(4 * (items // scan.pieces[0] * scan.row + items % scan.pieces[0] * READ))
    taken = lane[: min(64, scan.pieces[1] * scan.kernel[1])]
    over = serialised(4 * READ * taken)
    serial = 8.0 * ceil(scan.floats / 64) + 0.5 * passes * (inputs * of_inputs + gradients * of_gradients)
    moved = serialised(4 * READ * lane[: min(64, scan.pieces[0])])
    serial += 3.0 * (written * trips.inputs + over * trips.gradients) + 6.0 * moved * trips.moves
    return serial + trips.sums * (4.0 * of_inputs + 0.26 * scan.parts * 2.0)


def _code(scan: Scan, instructions: float) -> float:
    if scan.unrolled:
        return 5.2 * instructions
    sums = scan.outputs * ceil(scan.kernel[0] * scan.kernel[1] / 64)
    return 1900.0 + 4.0 * scan.outputs * min(scan.products, 300) + 790.0 * sums


def gradient_scans(facts: Facts) -> Profile:
    """A workgroup for each input channel, group of output channels and image.

    Raises:
        NotModelled: sums of large filters that the compiler keeps in memory.
    """
    scan = _scan(facts)
    (kw, kh), n = scan.kernel, facts.define("MLO_BATCH_SZ")
    if sums_in_memory(kh, scan.taps, scan.outputs, scan.steps):
        raise NotModelled(
            "the preview does not model gradients of large filters whose sums lie in private memory",
            key="kernel",
            value=f"MIOpenCvBwdWrW, {kw}x{kh}, {scan.outputs} output channels of a workgroup",
            remedy="run the point with the gem5-kernels engine, or set algorithm to gemm",
        )
    groups, one, trips = facts.workgroups, _counts(scan), _trips(scan)
    channels, outputs = facts.define("MLO_N_INPUTS"), facts.define("MLO_N_OUTPUTS")
    per_group = facts.define("MLO_N_INPUTS_PER_GROUP")
    plane, over = scan.image[0] * scan.image[1], scan.out[0] * scan.out[1]
    stacks = facts.grid[1] / facts.define("MLO_GROUP_COUNTS")
    fixed = LOADS[0] * trips.inputs, LOADS[1] * trips.gradients
    whole = 1.0 + _beyond(scan, trips)[1] / sum(fixed)
    streams = []
    both = 4.0 * n * (channels * plane + outputs * over)
    for size, rows, number, times, sharing, loads in (
        (scan.image, kh * scan.stride[1], channels, 1, stacks, fixed[0] * whole),
        (scan.out, kh, outputs, scan.outputs, float(per_group), fixed[1] * whole),
    ):
        read = size[0] * size[1]
        of_block = region_lines(1, min(rows, size[1]) * size[0], 4 * read)
        touched = times * (of_block * size[1] / rows + 1.0)
        streams.append(
            Stream(
                "load",
                instructions=groups * loads,
                accesses=groups * touched * max(1.0, 0.35 + 1.1 * whole),
                lines=lines_of(n * number * read),
                pages=pages_of(n * number * read),
                reuse="device",
                window_bytes=min(4.0 * scan.floats, both / groups),
                sharing=max(1.0, sharing * min(PAGE / (4.0 * read), per_group)),
                line_sharing=max(1.0, sharing),
                group_bytes=4.0 * scan.floats,
            )
        )
    weights = float(n * facts.define("MLO_N_INPUTS_PER_GROUP") * outputs * kw * kh)
    stored = groups * scan.outputs * span_lines(4 * kw * kh, 4 * kw * kh)
    streams.append(
        Stream(
            *("store", float(groups * trips.sums), stored, lines_of(weights), pages_of(weights)),
            sharing=max(1.0, min(float(groups), 1024.0 / (kw * kh * scan.outputs))),
            resident=False,
        )
    )
    return Profile(
        workgroups=groups,
        waves_per_group=1,
        counts=one * groups,
        streams=tuple(streams),
        code_bytes=_code(scan, one.instructions),
        rounds=float(trips.inputs + trips.gradients),
        walk_rounds=2.0,
        lds_bytes=4 * scan.floats,
        vgprs=round(22 + 1.9 * scan.outputs * scan.taps + 1.3 * kh),
        sgprs=48,
        lds_conflicts=_serial(scan) / one.lds - 1.0,
        flops=2.0 * n * outputs * over * per_group * kw * kh,
    )
