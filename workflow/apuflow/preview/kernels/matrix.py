"""Matrix products and what MIOpen runs beside them: setting a tensor.

The tiled SGEMM (``apuflow/launcher/gemm.cl``, 16 x 16 outputs a workgroup) stands in for rocBLAS; the
other is MIOpenSubTensorOpWithScalarKernel.cl.

Counts: basic blocks of the kernels compiled by clang-15 -O3 for gfx801 and gfx902, of the SGEMM for each pair
of transposes.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from apuflow.preview.instructions import block
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.lines import LINE, PAGE, lines_of, pages_of, parts_of, region_lines
from apuflow.preview.profile import Profile, Stream, Tiles

TILE = 16
ROWS = COLUMNS = 4
"""Of a tile: rows that a wavefront loads, columns that it writes."""
_SETUP = {(0, 0): "v33 s11", (1, 0): "v32 s8", (0, 1): "v35 s14", (1, 1): "v34 s11"}
_SETUP_VEGA = {(0, 0): "v22 s20", (1, 0): "v21 s18", (0, 1): "v24 s25", (1, 1): "v22 s23"}
_STEP = {(0, 0): "v21 wt13", (1, 0): "v20 wt12", (0, 1): "v22 wt13", (1, 1): "v21 wt12"}
_INSIDE = {(0, 0): "v2", (1, 0): "v3", (0, 1): "v3", (1, 1): "v4"}
"""By the pair of transposes, as ``_SETUP``: before the loop, a step along k, the test for an element of C. A
step on gfx9 waits 13 times whatever they are."""
_ELEMENT = {False: ("v10 s2 br1 v3 st1", " v5 ld1 wt1 br1"), True: ("v3 s8 br1 v4 st1", " v6 ld1 wt1 br1")}
"""On gfx9 or not: an element of C, and what is more where C is read."""

AT_ONCE = 0.4
"""Of the units that read the same line in a step, those that ask for it before it has come. Units with one
workgroup each stay together: 0.35 to 0.6 ask at once after 4 to 100 steps (132 products on gfx902)."""

WAITS = 1.9
"""Waits of a step: for its two loads, one after the other, in part together."""
WALKS = 1.85
"""Page walks that a workgroup waits for in a step with new pages, of which each of its wavefronts has one:
some run in parallel (four in 1.7 to 4.3 us)."""

_LOAD_A = {True: "v3 s2 br1 ld1", False: "ld1"}
_LOAD_B = {True: "v3 s2 br2 ld1", False: "ld1 br1"}
"""What a wavefront leaves out where none of its rows is inside.

An operand that lies along k fails the first of two tests, for the row; the other passes that one and fails
the second, for k."""


def _reads(outer: int, k: int, along_k: bool, tiles: int, steps: int) -> tuple[float, float]:
    """Loads and lines of one operand for one row of tiles of the other.

    The operand has ``outer`` x k elements, which lie in memory along k or along ``outer``.
    """
    across, down = (k, outer) if along_k else (outer, k)
    lines = sum(
        many * wide * region_lines(rows, columns, 4 * across, ROWS, ceil(down / ROWS))
        for many, rows in parts_of(down, ROWS)
        for wide, columns in parts_of(across, TILE)
    )
    return float(ceil(outer / ROWS) * steps if along_k else tiles * ceil(k / ROWS)), lines


def _own_lines(outer: int, k: int, along_k: bool) -> float:
    """Lines that the tiles of an operand have, those that neighbours share once for each of them.

    Rows of a tile lie in lines of their own where they are not along k, but for those so short that several
    share a line.
    """
    if along_k:
        return sum(tiles * region_lines(rows, k, 4 * k, TILE) for tiles, rows in parts_of(outer, TILE))
    return sum(
        tiles * steps * region_lines(rows, columns, 4 * outer, TILE)
        for tiles, columns in parts_of(outer, TILE)
        for steps, rows in parts_of(k, TILE)
    )


def _walks(leading: int, along_k: bool, steps: int) -> float:
    """Page walks that a workgroup waits for in one operand.

    With memory along k its rows stay in their pages from step to step; else each step goes on by 16 rows.
    """
    return 1.0 if along_k else max(1.0, steps * min(WALKS, TILE * leading * 4 / PAGE))


def _sharing(outer: int, k: int, along_k: bool, others: int) -> float:
    """Workgroups that touch a page of an operand.

    Each of the tiles whose rows lie in the page is used by the ``others`` tiles along the other operand.
    """
    tiles = ceil(outer / TILE)
    rows = PAGE / 4 / k / TILE if along_k else PAGE / 4 / TILE
    return others * max(1.0, min(float(tiles), rows))


class _Matrices(NamedTuple):
    """One operand of all products of a batch.

    Attributes:
        lines, pages: distinct ones.
        in_page: products that have a part of the same page.
    """

    lines: float
    pages: float
    in_page: float


def _matrices(elements: int, batch: int, apart: int) -> _Matrices:
    """``elements`` each; those of one product begin ``apart`` elements behind those of the one before.

    Small ones share lines and pages. All products have one and the same where they are not apart.
    """
    if batch == 1 or not apart:
        return _Matrices(lines_of(elements), pages_of(elements), float(batch))
    whole = (batch - 1) * apart + elements
    lines = lines_of(whole) if 4 * apart < LINE else batch * lines_of(elements)
    if 4 * apart < PAGE:
        return _Matrices(lines, pages_of(whole), max(1.0, PAGE / (4 * apart)))
    return _Matrices(lines, batch * pages_of(elements), 1.0)


def _written(m: int, n: int) -> float:
    """Lines of C that stores go to: each writes 16 rows, which follow in memory, of four columns."""
    return sum(
        down * across * region_lines(columns, rows, 4 * m, COLUMNS)
        for down, rows in parts_of(m, TILE)
        for across, columns in parts_of(n, COLUMNS)
    )


def sgemm(facts: Facts) -> Profile:
    """``m``, ``n``, ``k``, ``batch``, leading dimensions and transposes are values of the launch."""
    m, n, k = (facts.integer(name) for name in ("m", "n", "k"))
    batch, added = facts.integer("batch"), facts.number("beta") != 0.0
    form = facts.integer("transpose_a"), facts.integer("transpose_b")
    steps = ceil(k / TILE)
    groups, waves = facts.workgroups, facts.waves_per_group
    setup = _SETUP_VEGA if facts.vega else _SETUP
    each = block(setup[form] + " sm8 wt2 br2") + block(_INSIDE[form] + " s2 br1 en1")
    each += block("v1 s1 br1 v3 s1 br1 ld1 s1 s2 wt1 lw1 v1 br1 v3 s1 br1 ld1 br1 s1") * steps
    step = _STEP[form].replace("wt12", "wt13") if facts.vega else _STEP[form]
    each += block(step + " s3 lr16 lw1 ba2 br1") * steps
    along_a, along_b = form[0] == 1, form[1] == 0
    tiles_m, tiles_n = ceil(m / TILE), ceil(n / TILE)
    # A wavefront has four rows of a tile; it skips those outside the matrix.
    loads_a, lines_a = _reads(m, k, along_a, tiles_m, steps)
    loads_b, lines_b = _reads(n, k, along_b, tiles_n, steps)
    loads_a, lines_a, loads_b, lines_b = (
        number * batch
        for number in (loads_a * tiles_n, lines_a * tiles_n, loads_b * tiles_m, lines_b * tiles_m)
    )
    stores = float(ceil(n / COLUMNS) * tiles_m * batch)
    written = batch * _written(m, n)
    counts = each * (groups * waves)
    counts += block(_LOAD_A[along_a]) * (loads_a - steps * groups * waves)
    counts += block(_LOAD_B[along_b]) * (loads_b - steps * groups * waves)
    element, more = _ELEMENT[facts.vega]
    counts += block(element + (more if added else " v1 br1")) * stores
    a, b, c = (
        _matrices(size, batch, facts.integer(f"stride_{name}"))
        for name, size in (("a", m * k), ("b", n * k), ("c", m * n))
    )
    # Rows of less than a line share lines: a step touches no more than the whole tile has.
    of_a, of_b = (min(LINE * lines / (groups * steps), 4.0 * TILE * k + LINE) for lines in (lines_a, lines_b))
    own_a, own_b = _own_lines(m, k, along_a), _own_lines(n, k, along_b)
    edge_a, edge_b = (1.0 - min(1.0, lines_of(outer * k) / own) for outer, own in ((m, own_a), (n, own_b)))
    tiles = Tiles(tiles_m, of_a, of_b, edge_a, edge_b, steps)
    # A wavefront writes 16 rows of four columns: those with a column in the same page.
    columns = PAGE / 4 / m
    sharing = min(float(groups), min(tiles_m, PAGE / 4 / TILE) * max(1.0, columns / TILE) * c.in_page)
    streams: tuple[Stream, ...] = (
        Stream(
            "load", loads_a, lines_a, a.lines, a.pages, "device", of_a + of_b,
            sharing=_sharing(m, k, along_a, tiles_n) * a.in_page, line_sharing=tiles_n / (1.0 - edge_a),
            far_bytes=4.0 * (m * k + TILE * (m + k)), cyclic=1.0, every=tiles_m, tiles=tiles,
            at_once=AT_ONCE, steps=float(steps), along_k=along_a,
        ),
        Stream(
            "load", loads_b, lines_b, b.lines, b.pages, "device", of_a + of_b,
            sharing=_sharing(n, k, along_b, tiles_m) * b.in_page, line_sharing=tiles_m / (1.0 - edge_b),
            tiles=tiles, at_once=AT_ONCE, steps=float(steps), along_k=along_b,
        ),
        Stream("store", stores, written, c.lines, c.pages, sharing=sharing, resident=False),
    )  # fmt: skip
    if added:
        streams += (Stream("load", stores, written, c.lines, 0.0, sharing=sharing),)
    return Profile(
        workgroups=groups,
        waves_per_group=waves,
        counts=counts,
        streams=streams,
        code_bytes=1000.0,
        rounds=WAITS * steps + added,
        walk_rounds=_walks(facts.integer("lda"), along_a, steps)
        + _walks(facts.integer("ldb"), along_b, steps),
        lds_bytes=2 * TILE * (TILE + 1) * 4,
        vgprs=32,
        sgprs=40,
        lds_conflicts=46 / 18,
        flops=2.0 * m * n * k * batch,
    )


def set_tensor(facts: Facts) -> Profile:
    """Each work-item writes every ``WORK_LENGTH_0``-th element."""
    elements, items = facts.integer("elements"), facts.grid[0]
    waves = facts.workgroups * facts.waves_per_group
    counts = block("sm3 wt1 s3 v3 br1 en1") * waves
    full, rest = divmod(elements, items)
    busy = min(items, elements)
    entered = -(-busy // 64)
    counts += block("v3 sm1 s2", busy / entered) * entered
    trips = full * -(-items // 64) + -(-rest // 64)
    counts += block("v8 wt1 s2 st1 br1", elements / trips) * trips
    lines, pages = lines_of(elements), pages_of(elements)
    stream = Stream("store", float(trips), lines, lines, pages, sharing=4.0, resident=False)
    return Profile(
        workgroups=facts.workgroups,
        waves_per_group=facts.waves_per_group,
        counts=counts,
        streams=(stream,),
        code_bytes=168.0,
        rounds=0.0,
        walk_rounds=0.0,
        store_rounds=max(0.0, trips / waves - 1.0),
        vgprs=8,
        sgprs=16,
    )
