"""MIOpenIm2d2Col.cl: Im2d2Col, one image.

Counts: basic blocks of the kernel compiled by clang-15 -O3 for gfx801. A workgroup copies a tile of one
channel into LDS (zeros outside the image), then writes the columns of its output tile.

gem5 v23.0.1.0 ignores the sub-dword selection (SDWA) of ``v_ashrrev_i16`` and ``v_add_u16``, which the
compiler uses to
divide the workgroup's number by ``NUM_IM_BLKS_X`` when ``NUM_IM_BLKS`` fits 8 bits: it shifts by the
number of the
register (2) instead of its content. Images wider than 32 outputs then run with wrong tile coordinates,
most workgroups outside the image. ``_tile`` does what gem5 does, since the preview predicts gem5.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import gcd

from apuflow.core.errors import NotModelled
from apuflow.preview.counts import NOTHING, Counts, block
from apuflow.preview.kernels.facts import Facts, definitions
from apuflow.preview.kernels.im2col_small import CHANNELS, small_planes
from apuflow.preview.profile import Profile, Stream, lines_of, pages_of, span_lines

TILE_X, TILE_Y = 32, 8


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


def _tile(number: int, across: int, blocks: int) -> tuple[int, int]:
    """Tile column and row of workgroup ``number`` of a channel, as gem5 computes them (module docstring)."""
    if across == 1 or blocks > 127:
        return number % across, number // across
    row = number >> 2 if across & (across - 1) == 0 else 1537
    return number - row * across, row


@dataclass(slots=True)
class _Sum:
    counts: Counts = NOTHING
    load_lines: float = 0.0
    store_lines: float = 0.0
    active: int = 0


def _group(facts: Facts, blocks: _Blocks, x: int, y: int, total: _Sum) -> None:
    h, w, kh, kw = (facts.integer(name) for name in ("image_h", "image_w", "kernel_h", "kernel_w"))
    oh, ow, ph, pw = (facts.integer(name) for name in ("column_h", "column_w", "pad_h", "pad_w"))
    sh, sw = facts.integer("stride_h"), facts.integer("stride_w")
    lds = facts.define("LOCAL_MEM_SIZE")
    columns = (TILE_X - 1) * sw + kw
    out_columns = min(TILE_X, ow - TILE_X * x)
    out_rows = min(TILE_Y, oh - TILE_Y * y)
    top, left = TILE_Y * y * sh, TILE_X * x * sw
    for wave in range(4):
        first = 64 * wave
        counts = block(blocks.head)
        if blocks.entry and first < lds:
            counts += block(blocks.entry)
        for start in range(first, lds, 256):
            lanes = min(64, lds - start)
            row_low, row_high = start // columns, (start + lanes - 1) // columns
            inside = max(row_low + top, ph) <= min(row_high + top, h + ph - 1)
            reach = _columns_inside(start, lanes, columns, left, top, (ph, h), (pw, w)) if inside else (0, 0)
            counts += block(blocks.scan, lanes)
            if blocks.rows and inside:
                counts += block(blocks.rows, lanes) + block("s1")
            if reach[0]:
                counts += block(blocks.guard, reach[0]) + block("v5 ld1 br1", reach[0]) + block("s1")
                total.load_lines += reach[1]
            counts += block("s3 v6 wt1 lw1 br1", lanes)
        counts += block(blocks.barrier) + block("en1")
        work = out_columns * out_rows if out_columns > 0 and out_rows > 0 else 0
        if first < work:
            lanes = min(64, work - first)
            counts += block(blocks.out, lanes)
            for start in range(first, work, 256):
                lanes = min(64, work - start)
                counts += block(blocks.test + " " + blocks.body, lanes) + block("v2 s2 br1", lanes)
                counts += block("s2 v2 br1", lanes) * (2 * kh) + block("br1") * kh
                counts += block("lr1 v7 s2 wt1 st1 br1", lanes) * (kh * kw)
                if out_columns == ow:  # whole rows: the lanes' outputs follow each other in memory
                    lines = span_lines(4 * lanes, gcd(256, 4 * oh * ow, 4 * TILE_Y * ow))
                else:
                    lines = max(1.0, lanes / out_columns) * span_lines(4 * min(lanes, out_columns), 4 * ow)
                total.store_lines += kh * kw * lines
                total.active += 1
        total.counts += counts


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


@lru_cache(maxsize=4096)
def _channel(
    kernel: str,
    arguments: str,
    values: tuple[tuple[str, float], ...],
    blocks: _Blocks,
    across: int,
    tiles: int,
) -> tuple[_Sum, tuple[int, ...]]:
    """All tiles of one channel, and which of them have outputs."""
    facts = Facts(kernel, (1, 1, 1), (256, 1, 1), arguments, values)
    total, active = _Sum(), []
    for number in range(tiles):
        x, y = _tile(number, across, tiles)
        before = total.active
        _group(facts, blocks, x, y, total)
        if total.active > before:
            active.append(number)
    return total, tuple(active)


def im2col(facts: Facts) -> Profile:
    """Tiles of 32 x 8 outputs of one channel per workgroup, or small planes of four channels each."""
    if facts.define("NUM_CH_PER_WG") == CHANNELS and "EXTREME_LARGE" not in definitions(facts.arguments):
        return small_planes(facts)
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
        blocks = _ONE_STRIDED if strided else _ROWS
    channels = facts.workgroups // tiles
    total, active = _channel(facts.kernel, facts.arguments, facts.values, blocks, across, tiles)
    counts = total.counts * channels
    image = channels * facts.integer("image_h") * facts.integer("image_w")
    written = total.store_lines * channels
    pages = max(1.0, written * 64 / 4096)
    row = TILE_Y * facts.integer("column_w") * 4
    sharing = float(min(len(active), across * max(1, 4096 // row)))
    streams = (
        Stream(
            "load",
            counts.loads,
            total.load_lines * channels,
            lines_of(image),
            pages_of(image),
            "device",
            4096.0,
            4.0,
            sharing,
        ),
        Stream(
            "store",
            counts.stores,
            written,
            written,
            pages,
            page_group=4.0,
            sharing=sharing,
            resident=False,
        ),
    )
    plane = facts.integer("column_h") * facts.integer("column_w") * 4
    busy = max(1, len(active)) * channels * 4
    return Profile(
        workgroups=facts.workgroups,
        waves_per_group=4,
        counts=counts,
        streams=streams,
        code_bytes=1050.0,
        rounds=counts.loads / busy,
        walk_rounds=1.0 + counts.stores / busy * min(1.0, plane / 4096),
        store_rounds=counts.stores / busy,
        active=tuple(channel * tiles + tile for channel in range(channels) for tile in active),
        lds_bytes=facts.define("LOCAL_MEM_SIZE") * 4,
        vgprs=24,
        sgprs=48,
        lds_conflicts=7.0,
    )
