"""MIOpenIm2d2Col.cl: the columns of one image, for a matrix product.

Counts: basic blocks of the kernels compiled by clang-15 -O3 for gfx801 and gfx902. A workgroup copies a tile
of one channel into LDS (zeros outside the image), then writes the columns of its output tile. Where one tile
has all outputs, and no stride, it takes one or four whole channels instead; there the inner loop over a row
of the window is unrolled four times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, gcd
from typing import NamedTuple

from apuflow.core.errors import NotModelled
from apuflow.miopen.launch import definitions
from apuflow.preview.instructions import NOTHING, Counts, Tally, block
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.lines import PAGE, lines_of, pages_of, span_lines
from apuflow.preview.profile import Profile, Stream

FEW_TAPS, FEW_TAPS_OF_PLANES = 9, 4
"""Of a window, up to which its stores come one right after the other, in tiles and in whole planes, where
more is computed for each; with more taps this takes as long as they do."""
_CORRECTED = "v4"
"""What ``launcher.corrections`` adds where clang divides a workgroup's number in 8 bits. For some divisors
it is 1 to 3 more."""


@dataclass(frozen=True, slots=True)
class _Blocks:
    head: str
    entry: str
    scan: str
    rows: str
    guard: str
    barrier: str
    out: str
    test: str
    body: str
    kept: str = "s3 v6 wt1 lw1 br1"


_DIVIDING = _Blocks(
    "s20 v7 sm4 wt1 br1", "sm2 s22 wt1 v8 br1", "v22 s2 br1", "v6 s2 br1", "v7 s1 br1", "s11 v1 wt2 ba1 br1",
    "s21 v10 br1", "s1 br1", "v29 s1 br1",
)  # fmt: skip
_DIVIDING_STRIDED = _Blocks(
    "sm6 wt1 s44 v14 br1", "", "v22 s2 br1", "v6 s2 br1", "v7 s1 br1", "s7 v1 wt2 ba1 br1",
    "s21 v10 br1", "s1 br1", "v29 s1 br1",
)  # fmt: skip
_ROWS = _Blocks(
    "sm4 s14 wt1 v1 br1", "sm2 s21 wt1 v8 br1", "v26 s4 br1", "", "v8 s1 br1", "s8 v1 wt2 ba1 br1",
    "s23 v10 br1", "v1 s1 br1", "v23 s1 br1",
)  # fmt: skip
_ROWS_STRIDED = _Blocks(
    "sm6 wt1 s35 v8 br1", "", "v26 s4 br1", "", "v8 s1 br1", "s6 v1 wt2 ba1 br1", "s23 v10 br1", "v1 s1 br1",
    "v27 s1 br1",
)  # fmt: skip
_ONE_STRIDED = _Blocks(
    "sm6 wt1 s27 v8 br1", "", "v25 s4 br1", "", "v8 s1 br1", "s4 v1 wt2 ba1 br1", "s20 v10 br1", "v1 s1 br1",
    "v27 s1 br1",
)  # fmt: skip
_VEGA = {
    _DIVIDING: _Blocks(
        "s19 v7 sm4 wt1 br1", "sm2 s22 wt1 v9 br1", "v21 s2 br1", "v5 s2 br1", "v6 s1 br1",
        "s11 v1 wt2 ba1 br1", "s21 v11 br1", "s1 br1", "v26 s1 br1", "s3 v5 wt1 lw1 br1",
    ),
    _DIVIDING_STRIDED: _Blocks(
        "sm6 wt1 s43 v15 br1", "", "v21 s2 br1", "v5 s2 br1", "v6 s1 br1", "s7 v1 wt2 ba1 br1",
        "s21 v11 br1", "s1 br1", "v26 s1 br1", "s3 v5 wt1 lw1 br1",
    ),
    _ROWS: _Blocks(
        "sm4 s13 wt1 v1 br1", "sm2 s21 wt1 v9 br1", "v24 s4 br1", "", "v7 s1 wt1 br1", "s8 v1 wt2 ba1 br1",
        "s23 v11 br1", "s1 br1", "v21 s1 br1", "s3 v5 wt1 lw1 br1",
    ),
    _ROWS_STRIDED: _Blocks(
        "sm6 wt1 s34 v9 br1", "", "v24 s4 br1", "", "v7 s1 br1", "s6 v1 wt2 ba1 br1", "s23 v11 br1", "s1 br1",
        "v25 s1 br1", "s3 v5 wt1 lw1 br1",
    ),
    _ONE_STRIDED: _Blocks(
        "sm6 wt1 s26 v9 br1", "", "v23 s4 br1", "", "v7 s1 br1", "s4 v1 wt2 ba1 br1", "s20 v11 br1", "s1 br1",
        "v25 s1 br1", "s3 v5 wt1 lw1 br1",
    ),
}  # fmt: skip
"""The same as compiled for gfx9, which adds with shifts."""


class _Geometry(NamedTuple):
    """Of an image and its columns.

    Attributes:
        span: columns of the image from the filter's first tap to its last, both included.
        lds: elements of a tile's inputs.
        wide, high: outputs of a tile: 32 x 8, less where their inputs would not fit the LDS.
    """

    h: int
    w: int
    oh: int
    ow: int
    kh: int
    kw: int
    ph: int
    pw: int
    sh: int
    sw: int
    span: int
    lds: int
    wide: int
    high: int

    @property
    def columns(self) -> int:
        """Inputs of a tile across."""
        return (self.wide - 1) * self.sw + self.span


def _geometry(facts: Facts) -> _Geometry:
    sides = ("image_h", "image_w", "column_h", "column_w", "kernel_h", "kernel_w", "pad_h", "pad_w")
    values = [facts.integer(name) for name in (*sides, "stride_h", "stride_w")]
    values.append((facts.integer("kernel_w") - 1) * facts.integer("dilation_w") + 1)
    values += [facts.define(name) for name in ("LOCAL_MEM_SIZE", "TILE_SZ_X", "TILE_SZ_Y")]
    return _Geometry(*values)


class _Sum(NamedTuple):
    counts: Counts
    load_lines: float
    store_lines: float
    loads_in_turn: float
    stores_in_turn: float


def _group(shape: _Geometry, blocks: _Blocks, x: int, y: int) -> _Sum:
    """The workgroup of one tile."""
    h, w, oh, ow, kh, kw, ph, pw, sh, sw, _, lds, wide, high = shape
    columns = shape.columns
    out_columns = min(wide, ow - wide * x)
    out_rows = min(high, oh - high * y)
    top, left = high * y * sh, wide * x * sw
    tally = Tally()
    load_lines = store_lines = 0.0
    most_loads = most_stores = 0
    for first in range(0, 256, 64):
        tally.add((blocks.head, 64.0, 1))
        loads = stores = 0
        if blocks.entry and first < lds:
            tally.add((blocks.entry, 64.0, 1))
        for start in range(first, lds, 256):
            lanes = min(64, lds - start)
            row_low, row_high = start // columns, (start + lanes - 1) // columns
            inside = max(row_low + top, ph) <= min(row_high + top, h + ph - 1)
            reach = _columns_inside(start, lanes, columns, left, top, (ph, h), (pw, w)) if inside else (0, 0)
            tally.add((blocks.scan, lanes, 1))
            if blocks.rows and inside:
                tally.add((blocks.rows, lanes, 1), ("s1", 64.0, 1))
            if reach[0]:
                tally.add((blocks.guard, reach[0], 1), ("v5 ld1 br1", reach[0], 1), ("s1", 64.0, 1))
                loads += 1
                load_lines += reach[1]
            tally.add((blocks.kept, lanes, 1))
        tally.add((blocks.barrier, 64.0, 1), ("en1", 64.0, 1))
        work = out_columns * out_rows if out_columns > 0 and out_rows > 0 else 0
        if first < work:
            tally.add((blocks.out, min(64, work - first), 1))
            for start in range(first, work, 256):
                lanes = min(64, work - start)
                tally.add((blocks.test, lanes, 1), (blocks.body, lanes, 1), ("v2 s2 br1", lanes, 1))
                tally.add(("s2 v2 br1", lanes, 2 * kh), ("br1", 64.0, kh))
                tally.add(("lr1 v7 s2 wt1 st1 br1", lanes, kh * kw))
                stores += kh * kw
                if out_columns == ow:  # whole rows: the lanes' outputs follow each other in memory
                    lines = span_lines(4 * lanes, gcd(256, 4 * oh * ow, 4 * high * ow))
                else:
                    lines = max(1.0, lanes / out_columns) * span_lines(4 * min(lanes, out_columns), 4 * ow)
                store_lines += kh * kw * lines
        most_loads, most_stores = max(most_loads, loads), max(most_stores, stores)
    return _Sum(tally.counts(), load_lines, store_lines, float(most_loads), float(most_stores))


def _columns_inside(
    start: int, lanes: int, columns: int, left: int, top: int, rows: tuple[int, int], width: tuple[int, int]
) -> tuple[int, float]:
    """Lanes of a trip that read the image, and the lines under them."""
    inside, lines = 0, 0.0
    (pad_h, h), (pad_w, w) = rows, width
    position = start
    while position < start + lanes:
        row, column = divmod(position, columns)
        length = min(columns - column, start + lanes - position)
        if pad_h <= row + top < h + pad_h:
            low, high = max(left + column, pad_w), min(left + column + length, w + pad_w)
            if high > low:
                inside += high - low
                offset = ((row + top - pad_h) * w + low - pad_w) * 4 % 64
                lines += (offset + 4 * (high - low) - 1) // 64 + 1
        position += length
    return inside, lines


def _side(first: int, span: int, pad: int, size: int, step: int) -> int | str | tuple[str, int]:
    """What tells the inputs of a tile along one side apart from those of other tiles.

    Where they start; but tiles wholly inside the image differ in the alignment of their lines alone, and
    those wholly outside do not differ.

    Args:
        first: first input of the tile, with the padding before the image.
        span: inputs of the tile.
        pad, size: of the image.
        step: elements from one input to the next.
    """
    if first + span <= pad or first >= size + pad:
        return "outside"
    if first >= pad and first + span <= size + pad:
        return "inside", (first - pad) * step % 16
    return first


@lru_cache(maxsize=4096)
def _channel(shape: _Geometry, blocks: _Blocks, across: int, tiles: int) -> _Sum:
    """All tiles of one channel; one stands for all that are alike."""
    h, w, oh, ow, _, _, ph, pw, sh, sw, _, lds, wide, high = shape
    columns = shape.columns
    rows = -(-lds // columns)
    alike: dict[object, list[tuple[int, int]]] = {}
    for number in range(tiles):
        y, x = divmod(number, across)
        outputs = min(wide, ow - wide * x), min(high, oh - high * y)
        sides = _side(wide * x * sw, columns, pw, w, 1), _side(high * y * sh, rows, ph, h, w)
        alike.setdefault((outputs, sides), []).append((x, y))
    total = _Sum(NOTHING, 0.0, 0.0, 0.0, 0.0)
    for members in alike.values():
        group, times = _group(shape, blocks, *members[0]), len(members)
        total = _Sum(
            total.counts + group.counts * times,
            total.load_lines + group.load_lines * times,
            total.store_lines + group.store_lines * times,
            total.loads_in_turn + group.loads_in_turn * times,
            total.stores_in_turn + group.stores_in_turn * times,
        )
    return total


def im2col(facts: Facts) -> Profile:
    """Tiles of one channel per workgroup, or whole planes."""
    whole = facts.define("NUM_IM_BLKS") == 1 and facts.define("STRIDE_GT_1") == 0
    if whole and "EXTREME_LARGE" not in definitions(facts.arguments):
        return whole_planes(facts)
    if facts.define("NUM_CH_PER_WG") != 1 or "EXTREME_LARGE" in definitions(facts.arguments):
        raise NotModelled(
            "this im2col variant is not modelled", key="Im2d2Col", value=facts.arguments.strip()
        )
    across, tiles = facts.define("NUM_IM_BLKS_X"), facts.define("NUM_IM_BLKS")
    strided = facts.define("STRIDE_GT_1") == 1
    if across > 1:
        blocks = _DIVIDING_STRIDED if strided else _DIVIDING
    elif tiles > 1:
        blocks = _ROWS_STRIDED if strided else _ROWS
    else:
        blocks = _ONE_STRIDED
    if facts.vega:
        blocks = _VEGA[blocks]
    if 1 < across < tiles < 128:
        blocks = replace(blocks, head=f"{blocks.head} {_CORRECTED}")
    channels = facts.workgroups // tiles
    shape = _geometry(facts)
    total = _channel(shape, blocks, across, tiles)
    counts = total.counts * channels
    image = channels * shape.h * shape.w
    written = total.store_lines * channels
    elements = channels * shape.kh * shape.kw
    elements *= shape.oh * shape.ow
    row = shape.high * shape.ow * 4
    sharing = float(min(tiles, across * max(1, PAGE // row)))
    streams = (
        Stream(
            "load",
            counts.loads,
            total.load_lines * channels,
            lines_of(image),
            pages_of(image),
            "device",
            4096.0,
            sharing=sharing,
        ),
        Stream(
            "store",
            counts.stores,
            written,
            lines_of(elements),
            pages_of(elements),
            sharing=sharing,
            resident=False,
        ),
    )
    plane = shape.oh * shape.ow * 4
    stores_in_turn = total.stores_in_turn / tiles
    return Profile(
        workgroups=facts.workgroups,
        waves_per_group=4,
        counts=counts,
        streams=streams,
        code_bytes=1050.0,
        rounds=total.loads_in_turn / tiles,
        walk_rounds=1.0 + stores_in_turn * min(1.0, plane / PAGE),
        store_rounds=stores_in_turn,
        stores_last=shape.kh * shape.kw <= FEW_TAPS,
        lds_bytes=shape.lds * 4,
        vgprs=24,
        sgprs=48,
        lds_conflicts=7.0,
    )


def whole_planes(facts: Facts) -> Profile:
    """Planes of one or four channels in LDS, from where a store per tap of the window writes whole ones."""
    in_group = facts.define("NUM_CH_PER_WG")
    h, w, kh, kw = (facts.integer(name) for name in ("image_h", "image_w", "kernel_h", "kernel_w"))
    outputs = facts.integer("column_h") * facts.integer("column_w")
    groups = facts.workgroups
    image = in_group * h * w
    vega, single = facts.vega, in_group == 1
    per_group = (
        block(f"sm4 s{(3 if single else 4) - vega} wt1 v1 br1 s7 v{1 if single else 2} wt2 ba1 br1 en1") * 4
    )
    trips = 0
    for wave in range(4):
        starts = range(64 * wave, image, 256)
        trips += len(starts)
        if starts:
            per_group += block(f"sm2 s{7 if single else 9} v8 wt1 br1", min(64, image - 64 * wave))
        for start in starts:
            per_group += block("v3 s1 br1 ld1 br1 s3 v5 wt1 lw1 br1", min(64, image - start))
    writing = min(4, in_group * ceil(outputs / 64))  # wavefronts with outputs, each of one channel
    lanes = outputs * in_group / writing
    whole, rest = divmod(kw, 4)
    taps = block(f"v49 s{28 if vega else 29} br10 lr4 st4 wt4", lanes) * whole
    taps += block("v1 s1 br1 v3 s3 br1 lr1 br1 s4 v8 wt1 st1 br1", lanes) * rest
    row = block("s1 br1 s3 v3 br1 v3 br1 s3" if vega else "s1 br1 s3 v3 br1 v3 br1 s4", lanes) + taps
    if whole:
        row += block("s2 v2 br1", lanes)
    if rest:
        row += block("s1 br1 v4 s2 br1" if vega else "s1 br1 v6 s2 br1", lanes)
    head = (
        ("s33 v42 br1" if vega else "s33 v41 br1") if single else ("s23 v53 br1" if vega else "s24 v55 br1")
    )
    per_group += (block(head, lanes) + row * kh) * writing
    counts = per_group * groups
    channels = groups * in_group
    taps_total = float(kh * kw * groups * writing)
    full, end = divmod(outputs, 64)
    lines = full * span_lines(256, 4 * outputs) + (end > 0) * span_lines(4 * end, 4 * outputs)
    written = kh * kw * channels * lines
    elements = channels * kh * kw * outputs
    plane = 4.0 * outputs
    streams = (
        Stream(
            "load", float(trips * groups), trips * groups * 4.0, lines_of(channels * h * w),
            pages_of(channels * h * w), sharing=max(1.0, PAGE / (4.0 * image)),
        ),
        Stream(
            "store", taps_total, written, lines_of(elements), pages_of(elements),
            sharing=max(1.0, PAGE / (plane * kh * kw * in_group)), resident=False,
        ),
    )  # fmt: skip
    return Profile(
        workgroups=groups,
        waves_per_group=4,
        counts=counts,
        streams=streams,
        code_bytes=1100.0,
        rounds=ceil(image / 256),
        walk_rounds=1.0 + plane * kh * kw / PAGE,
        store_rounds=float(kh * kw),
        stores_last=kh * kw <= FEW_TAPS_OF_PLANES,
        lds_bytes=facts.define("LOCAL_MEM_SIZE") * 4,
        vgprs=32,
        sgprs=48,
        lds_conflicts=7.0,
    )
