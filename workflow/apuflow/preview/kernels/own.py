"""Our own kernels (``apuflow/operations/kernels``): GELU, momentum, normalised rows, embedding, enlarging.

Counts: basic blocks of the kernels compiled by clang-15 -O3 for gfx801.
"""

from __future__ import annotations

from math import ceil

from apuflow.preview.instructions import block
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.lines import lines_of, pages_of, span_lines
from apuflow.preview.profile import Profile, Stream

_STRAIGHT: dict[tuple[str, int], tuple[str, int, int]] = {
    ("gelu_forward", 4): ("sm4 s8 wt2 v105 ld1 st1 en1", 680, 20),
    ("gelu_forward", 2): ("sm4 s8 wt2 v59 ld1 st1 en1", 432, 13),
    ("gelu_forward", 1): ("sm4 s7 wt2 v40 ld1 st1 en1", 336, 10),
    ("gelu_backward", 4): ("sm5 s9 wt4 v129 ld2 st1 en1", 896, 21),
    ("gelu_backward", 2): ("sm5 s9 wt3 v73 ld2 st1 en1", 528, 19),
    ("gelu_backward", 1): ("sm5 s8 wt3 v49 ld2 st1 en1", 408, 13),
    ("sgd_momentum", 4): ("sm6 s2 wt3 v26 ld3 st2 no1 en1", 276, 16),
    ("sgd_momentum", 2): ("sm6 s2 wt3 v20 ld3 st2 en1", 224, 10),
    ("sgd_momentum", 1): ("sm6 s2 wt3 v17 ld3 st2 en1", 200, 9),
}
"""(kernel, floats of a work-item) -> instructions of a wavefront, code bytes, vector registers."""
_FLOPS = {"gelu_forward": 12.0, "gelu_backward": 20.0, "sgd_momentum": 6.0}


def straight(facts: Facts) -> Profile:
    """A work-item takes ``UNIT`` elements; the grid covers the buffers exactly."""
    unit, items = facts.define("UNIT"), facts.grid[0]
    text, code, registers = _STRAIGHT[facts.kernel, unit]
    waves = ceil(items / 64)
    counts = block(text, items / waves) * waves
    elements = items * unit
    lines, pages = lines_of(elements), pages_of(elements)
    load = Stream("load", float(waves), lines, lines, pages, sharing=4.0 / unit)
    # Momentum changes in place what it has loaded: its stores find their pages.
    new_pages = 0.0 if facts.kernel == "sgd_momentum" else pages
    store = Stream("store", float(waves), lines, lines, new_pages, sharing=4.0 / unit, resident=False)
    loads, stores = round(counts.loads / waves), round(counts.stores / waves)
    return Profile(
        workgroups=facts.workgroups,
        waves_per_group=facts.waves_per_group,
        counts=counts,
        streams=(load,) * loads + (store,) * stores,
        waves=waves,
        code_bytes=float(code),
        rounds=1.0,
        walk_rounds=float(loads) if waves > 1 else 1.0,
        vgprs=registers,
        sgprs=24,
        flops=_FLOPS[facts.kernel] * elements,
    )


def layer_norm_rows(facts: Facts) -> Profile:
    """A wavefront takes a row: two passes of sums and one that writes, or one and one backward."""
    rows, width = facts.workgroups, facts.integer("width")
    trips = ceil(width / 64)
    lanes = width / trips
    if facts.kernel == "layernorm_forward":
        per_row = block("sm7 s2 wt1 v2 br1") + block("v11 s1 s1 s3 v32 lw6 wt24 lr6 br1")
        per_row += block("v11 s1 s1 s3 lw6 wt24 lr6 v26 br1") + block("v19 s2 s2 v1 br1")
        per_row += block("s5 v4 st2", 1.0) + block("en1")
        per_row += block("ld1 v5 s2 wt1 br1 ld1 v6 s2 wt1 br1 ld3 v13 s2 wt3 st1 br1", lanes) * trips
        passes, shared, code, flops = 3, 2, 1328.0, 8.0
    else:
        per_row = block("sm9 s7 wt1 v3 br1 v18 s2 s1") + block("s3 v23 lw12 wt48 lr12 br1 v43 s3 en1")
        per_row += block("ld3 v13 s2 wt2 br1 ld3 v15 s2 wt2 st1 br1", lanes) * trips
        passes, shared, code, flops = 2, 2, 1224.0, 12.0
    size = rows * width
    lines, pages = lines_of(size), pages_of(size)
    accesses = rows * trips * span_lines(4 * lanes, 4 * width)
    sharing = max(1.0, 1024 / width)
    bytes_between = 4.0 * width
    inputs = 1 if facts.kernel == "layernorm_forward" else 2
    along = Stream(
        "load", float(rows * trips), accesses, lines_of(width), pages_of(width), "device", bytes_between,
        sharing=float(rows), line_sharing=float(rows),
    )  # fmt: skip
    data = Stream(
        "load", float(passes * rows * trips), passes * accesses, lines, pages, "group", bytes_between,
        sharing=sharing,
    )  # fmt: skip
    written = Stream("store", float(rows * trips), accesses, lines, pages, sharing=sharing, resident=False)
    streams = (*(data,) * inputs, *(along,) * shared, written)
    return Profile(
        workgroups=rows,
        waves_per_group=1,
        counts=per_row * rows,
        streams=streams,
        code_bytes=code,
        rounds=float(passes * trips),
        walk_rounds=float(inputs + 1),
        store_rounds=float(trips),
        lds_bytes=256,
        vgprs=16,
        sgprs=24,
        lds_conflicts=6.0,
        flops=flops * size,
    )


def layer_norm_weights(facts: Facts) -> Profile:
    """A work-item takes a column through all rows."""
    rows, width = facts.integer("rows"), facts.integer("width")
    text = "sm3 wt1 s3 v2 br1 sm2 sm4 v5 s3 v7 wt1 st2 en1"
    return _columns(facts, width, rows, text, "wt3 v13 ld2 sm2 s6 br1", 368.0, 6.0)


def embedding_backward(facts: Facts) -> Profile:
    """A work-item takes a column through all tokens."""
    width, tokens = facts.integer("width"), facts.integer("tokens")
    text = "sm1 wt1 s1 br1 sm5 wt1 s5 v9 en1"
    return _columns(facts, width, tokens, text, "sm1 v10 ld2 s4 wt2 st1 br1", 240.0, 1.0)


def _columns(
    facts: Facts, width: int, rows: int, around: str, trip: str, code: float, flops: float
) -> Profile:
    waves = ceil(width / 64)
    lanes = width / waves
    counts = block(around, lanes) * waves + block(trip, lanes) * (waves * rows)
    size = rows * width
    accesses = rows * waves * span_lines(4 * lanes, 4 * width)
    lines, pages = max(lines_of(size), 1.0), pages_of(size)
    sharing = max(1.0, min(float(waves) / 4, 4.0))
    load = Stream("load", float(waves * rows), accesses, lines, pages, sharing=sharing)
    streams: tuple[Stream, ...] = (load, load)
    if facts.kernel == "embedding_backward":
        streams += (
            Stream("store", float(waves * rows), accesses, lines, pages, sharing=sharing, resident=False),
        )
    else:
        out = Stream("store", float(waves), lines_of(width), lines_of(width), pages_of(width), resident=False)
        streams += (out, out)
    return Profile(
        workgroups=facts.workgroups,
        waves_per_group=facts.waves_per_group,
        counts=counts,
        streams=streams,
        waves=waves,
        code_bytes=code,
        rounds=float(rows),
        walk_rounds=2.0 * max(1.0, min(float(rows), pages)),
        store_rounds=float(rows) if facts.kernel == "embedding_backward" else 0.0,
        joined_rounds=float(rows) if facts.kernel == "embedding_backward" else 0.0,
        scalar_again=rows / 16,
        vgprs=12,
        sgprs=24,
        flops=flops * size,
    )


def embedding_forward(facts: Facts) -> Profile:
    """A work-item takes an element of a gathered row."""
    width, tokens, table = facts.integer("width"), facts.grid[1], facts.integer("rows")
    waves = tokens * ceil(width / 64)
    lanes = width / ceil(width / 64)
    counts = block("sm6 no1 wt3 v18 s6 ld2 st1 en1", lanes) * waves
    size = tokens * width
    accesses = waves * span_lines(4 * lanes, 4 * width)
    different = min(tokens, table) * width
    sharing = max(1.0, 1024 / width)
    return Profile(
        workgroups=facts.workgroups,
        waves_per_group=facts.waves_per_group,
        counts=counts,
        streams=(
            Stream(
                "load", float(waves), float(waves), lines_of(tokens), pages_of(tokens), "device", 64.0,
                sharing=sharing,
            ),
            Stream("load", float(waves), accesses, lines_of(different), pages_of(different), sharing=sharing),
            Stream(
                "store", float(waves), accesses, lines_of(size), pages_of(size), sharing=sharing,
                resident=False,
            ),
        ),
        waves=waves,
        code_bytes=212.0,
        rounds=2.0,
        walk_rounds=2.0,
        vgprs=8,
        sgprs=24,
    )  # fmt: skip


_ENLARGED: dict[tuple[str, int], tuple[str, int, int]] = {
    ("upsample_forward", 2): ("sm5 wt3 s8 v18 ld1 st1 en1", 200, 6),
    ("upsample_forward", 4): ("sm5 wt3 s8 v18 ld1 st1 en1", 200, 6),
    ("upsample_backward", 2): ("sm5 wt3 s10 v29 ld2 st1 en1", 268, 8),
    ("upsample_backward", 4): ("sm5 wt5 s16 v47 ld4 st1 en1", 388, 20),
}
"""(kernel, factor) -> instructions of a wavefront, code bytes, vector registers."""


def upsample(facts: Facts) -> Profile:
    """A work-item takes a pixel of the enlarged image, backward one of the small: its copies, row by row."""
    factor, width = facts.define("FACTOR"), facts.integer("width")
    text, code, registers = _ENLARGED[facts.kernel, factor]
    columns, rows = facts.grid[0], facts.grid[1]
    pieces = ceil(columns / 64)
    waves, lanes = rows * pieces, columns / pieces
    forward = facts.kernel == "upsample_forward"
    small = rows // factor * width if forward else rows * width
    large = small * factor**2
    wide = span_lines(4 * lanes * (1 if forward else factor), 4 * width * factor)
    narrow = span_lines(4 * lanes / (factor if forward else 1), 4 * width)
    per_page = 1024 / columns  # workgroups, of the buffer that is as large as the grid
    if forward:  # the copies of a row follow one another
        load = Stream(
            "load", float(waves), waves * narrow, lines_of(small), pages_of(small), "device", 4.0 * columns,
            sharing=max(1.0, per_page * factor**2), line_sharing=float(factor),
        )  # fmt: skip
    else:
        load = Stream(
            "load", float(waves * factor), waves * factor * wide, lines_of(large), pages_of(large),
            sharing=max(1.0, per_page / factor**2),
        )  # fmt: skip
    written, stored = (large, wide) if forward else (small, narrow)
    store = Stream(
        "store", float(waves), waves * stored, lines_of(written), pages_of(written),
        sharing=max(1.0, per_page), resident=False,
    )  # fmt: skip
    return Profile(
        workgroups=facts.workgroups,
        waves_per_group=facts.waves_per_group,
        counts=block(text, lanes) * waves,
        streams=(load, store),
        waves=waves,
        code_bytes=float(code),
        rounds=1.0,
        vgprs=registers,
        sgprs=24,
        flops=0.0 if forward else float(large - small),
    )
