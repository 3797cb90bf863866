"""rocBLAS' own matrix products: Tensile's assembly kernels for gfx803, and the one that scales C for them.

Counts: ``rocblas_counts.csv`` has the instructions of each part of each kernel that rocBLAS can select, of
the disassembly of the kernel as it runs here (``apuflow.rocblas.changes``): prologue, what only workgroups
with a step along k run of it (first), loop (as many steps as it has copies), its exit, the remainder of k,
the end, and the four ways of writing C (beta 0 or not, edge or not; of an addition that another workgroup
disturbs, only the first try).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from functools import cache
from itertools import combinations
from math import ceil, gcd
from pathlib import Path

from apuflow.core.errors import NotModelled
from apuflow.preview.instructions import INSTRUCTION_BYTES, LDS_LANES, Counts, block
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.kernels.tensile_operands import WAVEFRONT, operands
from apuflow.preview.lines import PAGE, lines_of, pages_of, parts_of, region_lines, span_lines
from apuflow.preview.profile import Adders, Profile, Stream
from apuflow.rocblas.tables import Solution, solution_of

HIDDEN = 600.0
"""GPU cycles of a load that the computation of the step before hides."""
ISSUE = 4.0
"""GPU cycles between two vector instructions of a wavefront."""
MET = 0.6
"""Of workgroups that read a line to add to it, those that find another's copy in the TCC."""
LEAVING = block("s6 v3 id1 wt1 br1")
"""The loop in which an addition is tried again: it is gone through once, without lanes, to leave it."""


@cache
def _parts() -> Mapping[str, Mapping[str, str]]:
    with Path(__file__).with_name("rocblas_counts.csv").open(encoding="utf-8", newline="") as file:
        return {row["kernel"]: row for row in csv.DictReader(file)}


def has_counts(kernel: str) -> bool:
    """Whether a kernel is one of rocBLAS' that the preview knows."""
    return kernel in _parts()


def library_product(facts: Facts) -> Profile:
    """``m``, ``n``, ``k``, ``batch``, ``alpha``, ``beta``, leading dimensions are values of the launch.

    Raises:
        NotModelled: the kernel's instructions have not been counted.
    """
    solution, parts = solution_of(facts.kernel), _parts().get(facts.kernel)
    if solution is None or parts is None:
        raise NotModelled("the preview does not model this kernel", key="kernel", value=facts.kernel)
    m, n, k = (facts.integer(name) for name in ("m", "n", "k"))
    batch, waves = facts.integer("batch"), facts.waves_per_group
    groups = facts.workgroups
    tiles_m, tiles_n = ceil(m / solution.macro_tile_m), ceil(n / solution.macro_tile_n)
    whole, rest = divmod(k, solution.depth_u)
    split = solution.global_split_u
    per_split = groups / split
    steps = per_split * whole  # of all workgroups
    started = per_split * min(split, whole)  # workgroups that enter the loop's part at all
    edge = _edge_share(m, n, solution, tiles_m, tiles_n)
    plain = facts.number("alpha") == 1.0 and facts.number("beta") == 0.0 and rest == 0 and started
    short = started * (1.0 - edge) if parts["short"] and plain else 0.0
    prefetch, copies = parts["prefetch"] == "1", int(parts["copies"])
    loops = max(0.0, steps - started) if prefetch else steps
    write = "write_B0" if facts.number("beta") == 0.0 else "write_B1"
    total = block(parts["prologue"]) * groups + block(parts["first"]) * started
    total += block(parts["loop"]) * (loops / copies)
    total += block(parts["tests"]) * started
    total += block(parts["short"]) * short
    total += (block(parts["exit"]) if prefetch else Counts()) * (started - short)
    total += block(parts["tail_test"]) * (groups - short)
    if rest:
        tail = block(parts["tail"]) + block(parts["tail_step"]) * ceil(rest / solution.local_split_u)
        total += tail * per_split
    ending = groups - short
    total += (block(parts["finish"]) + block("en1")) * ending
    edges = groups * edge
    at_edge = _with_lanes(block(parts[f"{write}_E1"]), _busy_share(m, n, solution))
    # Elements of C are read and added to a batch at a time, each with a loop for those disturbed at its end.
    batches = block(parts[f"{write}_E0"]).branches - 1.0
    swaps = batches + (at_edge.stores - batches) * edge
    written = at_edge * edges + block(parts[f"{write}_E0"]) * (ending - edges)
    if solution.splits:
        written += LEAVING * written.stores
    total += written
    counts = total * waves
    turns = whole + bool(rest)
    streams = operands(facts, solution, block(parts["tail"]).loads)
    streams += _result(facts, solution, tiles_m, counts, streams)
    per_loop = block(parts["loop"]).valu / copies
    waiting = max(0.0, 1.0 - per_loop * ISSUE / HIDDEN) if prefetch else 1.0
    turns_of_one = turns / split
    rounds = 1.0 + waiting * max(0.0, turns_of_one - 1.0) + (rest > 0) / split
    reads_c = solution.splits or facts.number("beta") != 0.0
    passed = min(copies, max(0, ceil(whole / split) - int(prefetch)))  # copies of the loop that run at all
    path = ["bytes_prologue"] + (["bytes_tail"] if rest else [])
    path += ["bytes_short"] if short else ["bytes_end"] + (["bytes_exit"] if started else [])
    code = sum(float(parts[name]) for name in path) + float(parts["bytes_loop"]) * passed / copies
    code += 0.0 if short else block(parts[f"{write}_E{int(edge > 0.5)}"]).instructions * INSTRUCTION_BYTES
    return Profile(
        workgroups=groups,
        waves_per_group=waves,
        counts=counts,
        streams=streams,
        code_bytes=code,
        code_pages=int(code // PAGE),
        rounds=rounds + (batches if solution.splits else reads_c),
        walk_rounds=_walks(facts, solution, turns_of_one),
        swaps=swaps if solution.splits else 0.0,
        lds_bytes=solution.lds_bytes,
        vgprs=solution.vgprs,
        sgprs=solution.sgprs,
        lds_conflicts=_conflicts(facts, solution, block(parts["loop"])),
        flops=2.0 * m * n * k * batch,
    )


def _with_lanes(counts: Counts, share: float) -> Counts:
    """Instructions of code in which that share of the vector memory instructions finds active lanes."""
    return counts._replace(
        loads=counts.loads * share,
        stores=counts.stores * share,
        idle=counts.vector_memory * (1.0 - share),
    )


def _busy_share(m: int, n: int, solution: Solution) -> float:
    """Of the stores of tiles that reach beyond C, those with an element of C: the others have no lanes."""
    total = busy = 0.0
    for tiles_m, valid_m in parts_of(m, solution.macro_tile_m):
        for tiles_n, valid_n in parts_of(n, solution.macro_tile_n):
            if valid_m < solution.macro_tile_m or valid_n < solution.macro_tile_n:
                total += tiles_m * tiles_n
                busy += tiles_m * tiles_n * _busy_of_tile(valid_m, valid_n, solution)
    return busy / total if total else 1.0


def _busy_of_tile(valid_m: int, valid_n: int, solution: Solution) -> float:
    """Of a tile's stores, element by element, those of which some work-item lies in C."""
    if solution.local_split_u > 1:
        # Those that share a sum have divided it: a wavefront has columns of the tile without gaps.
        columns = max(1, WAVEFRONT * _beside(solution.kernel, solution) // solution.macro_tile_m)
        return ceil(valid_n / columns) / ceil(solution.macro_tile_n / columns)
    per_m, per_n, vector = _tile(solution.kernel)
    lanes_m, lanes_n = solution.macro_tile_m // per_m, solution.macro_tile_n // per_n

    def first(element: int, lanes: int, work_item: int) -> int:
        """Where a work-item's element lies in the tile."""
        return element // vector * lanes * vector + work_item * vector + element % vector

    waves = range(0, lanes_n, max(1, WAVEFRONT // lanes_m))
    along_m = sum(first(element, lanes_m, 0) < valid_m for element in range(per_m))
    along_n = sum(first(element, lanes_n, begin) < valid_n for begin in waves for element in range(per_n))
    return along_m / per_m * along_n / (per_n * len(waves))


def _edge_share(m: int, n: int, solution: Solution, tiles_m: int, tiles_n: int) -> float:
    """Part of the workgroups whose tile reaches beyond C."""
    inside_m = tiles_m - (m % solution.macro_tile_m != 0)
    inside_n = tiles_n - (n % solution.macro_tile_n != 0)
    return 1.0 - inside_m * inside_n / (tiles_m * tiles_n)


def _result(
    facts: Facts,
    solution: Solution,
    tiles_m: int,
    counts: Counts,
    inputs: tuple[Stream, ...],
) -> tuple[Stream, ...]:
    """C: written once; of a split sum read and added to by each workgroup that has a part."""
    m, n, batch = (facts.integer(name) for name in ("m", "n", "batch"))
    size, ldc = m * n, facts.integer("stride_d1")
    accesses = batch * solution.global_split_u * _result_lines(facts, solution, ldc)
    lines, pages = batch * lines_of(size), batch * pages_of(size)
    columns = PAGE / 4 / m
    sharing = (
        min(
            float(facts.workgroups),
            min(tiles_m, PAGE / 4 / solution.macro_tile_m) * max(1.0, columns / solution.macro_tile_n),
        )
        * solution.global_split_u
    )
    read = max(0.0, counts.loads - sum(stream.instructions for stream in inputs))
    fetched, again = accesses, lines
    if solution.splits:
        # An addition takes the line out of the TCC: each workgroup fetches it anew, but for those that come
        # at the same time.
        again = fetched * (1.0 - MET * (1.0 - 1.0 / solution.global_split_u))
        accesses *= _beside(facts.kernel, solution)
    streams: tuple[Stream, ...] = (
        Stream(
            "store",
            counts.stores,
            accesses,
            lines,
            pages,
            sharing=sharing,
            resident=False,
            repeated="later",
            adders=adders(facts.integer("k"), solution, tiles_m) if solution.splits else None,
        ),
    )
    if solution.splits or facts.number("beta") != 0.0:
        streams += (
            Stream(
                "load",
                read,
                fetched,
                again,
                0.0,
                sharing=sharing,
                line_sharing=float(solution.global_split_u),
                resident=not solution.splits,
            ),
        )
    return streams


def adders(k: int, solution: Solution, tiles_m: int) -> Adders:
    """Those of the workgroups that share a tile.

    The first have the whole steps along k that are left over from an even division, the last the rest of k;
    who has nothing adds zero. Workgroups go along m first, then along the parts of a sum.
    """
    parts = solution.global_split_u
    whole, rest = divmod(k, solution.depth_u)
    each, over = divmod(whole, parts)
    steps = [
        each + (number < over) + (number == parts - 1) * rest / solution.depth_u for number in range(parts)
    ]
    adding = [number for number in steps if number]
    lasting = max(1.0, len(adding) / 2)  # steps that their additions take, one after the other
    pairs = [max(0.0, 1.0 - abs(one - other) / lasting) for one, other in combinations(adding, 2)]
    return Adders(
        adding=float(len(adding)),
        share=len(adding) / parts,
        apart=float(tiles_m),
        even=sum(pairs) / max(1, len(pairs)),
        turns=k / solution.depth_u / parts,
    )


def _beside(kernel: str, solution: Solution) -> int:
    """Elements of C side by side that a work-item writes, after those that share a sum have divided them."""
    per_m, per_n, vector = _tile(kernel)
    return max(1, min(vector, per_m * per_n // solution.local_split_u))


def _result_lines(facts: Facts, solution: Solution, leading: int) -> float:
    """Pairs of a store and a line of C, of one matrix and one part of the sum.

    A tile inside C is written a vector at a time; at the edge element by element, a vector's elements apart.
    Where sums are split, the work-items of a wavefront have its part of the tile without gaps.
    """
    m, n = facts.integer("m"), facts.integer("n")
    if solution.splits:
        columns = max(1, WAVEFRONT * _beside(facts.kernel, solution) // solution.macro_tile_m)
        columns = min(columns, n)
        return sum(
            often * n / columns * region_lines(columns, valid, 4 * leading)
            for often, valid in parts_of(m, solution.macro_tile_m)
        )
    tiles, rest = divmod(m, solution.macro_tile_m)
    vector = _tile(facts.kernel)[2]
    whole = n - n % solution.macro_tile_n

    def lines(elements: int, each: int) -> float:
        return each * span_lines(4 * max(1, elements - (each - 1)), 4 * leading)

    inside = lines(solution.macro_tile_m, 1) * whole
    across = lines(solution.macro_tile_m, vector) * (n - whole)
    edge = lines(rest, vector) * n if rest else 0.0
    return tiles * (inside + across) + edge


def _walks(facts: Facts, solution: Solution, turns: float) -> float:
    """Page walks that a workgroup waits for, one after the other."""
    walks = 0.0
    for leading, along_k in (
        (facts.integer("lda"), facts.integer("transpose_a") == 1),
        (facts.integer("ldb"), facts.integer("transpose_b") == 0),
    ):
        step = solution.depth_u * leading * 4 / PAGE
        walks += 1.0 if along_k else max(1.0, turns * min(1.0, step))
    return walks


def _tile(kernel: str) -> tuple[int, int, int]:
    """Elements of C that a work-item has along m and n, and how many lie side by side."""
    found = re.search(r"_TT(\d+)_(\d+)_VW(\d+)_", kernel)
    assert found is not None
    return int(found[1]), int(found[2]), int(found[3])


def _conflicts(facts: Facts, solution: Solution, loop: Counts) -> float:
    """Serialised accesses beyond the first of an LDS instruction, on average.

    gem5 takes a byte's address modulo the banks for its bank; lanes with the same address count once.
    """
    per_m, per_n, width = _tile(facts.kernel)
    lanes_m = max(1, solution.macro_tile_m // per_m)
    lanes_n = max(1, solution.macro_tile_n // per_n)

    def serial(distinct: float, stride: int) -> float:
        banks = LDS_LANES // gcd(stride, LDS_LANES)
        return 2.0 * ceil(distinct / banks)

    read_m = serial(min(LDS_LANES, lanes_m), 4 * width)
    read_n = serial(min(float(lanes_n), max(1.0, LDS_LANES / lanes_m)), 4 * width)
    reads = (read_m * per_m + read_n * per_n) / (per_m + per_n)
    writes = 0.0
    for along_k, wide in (
        (facts.integer("transpose_a") == 1, solution.load_width_a),
        (facts.integer("transpose_b") == 0, solution.load_width_b),
    ):
        if along_k:
            deep = max(1, solution.depth_u // wide)
            writes += 2.0 * LDS_LANES / min(8.0, max(1.0, LDS_LANES / deep)) / 2.0
        else:
            writes += serial(LDS_LANES, 4 * wide) / 2.0
    share = loop.lds_writes / loop.lds if loop.lds else 0.0
    return reads * (1.0 - share) + writes * share - 1.0


def scale(facts: Facts) -> Profile:
    """One work-item an element of C: three divisions in their short form for small numbers, a store."""
    m, n, batch = (facts.integer(name) for name in ("m", "n", "batch"))
    elements = m * n * batch
    groups, waves = facts.workgroups, facts.waves_per_group
    busy = -(-elements // 64)
    added = facts.number("beta") != 0.0
    counts = block("v6 s4 sm3 wt2 br1 en1") * (groups * waves)
    counts += block("v85 s20 br8 wt1 st1" + (" ld1 wt1" if added else "")) * busy
    lines, pages = lines_of(elements), pages_of(elements)
    streams: tuple[Stream, ...] = (
        Stream("store", float(busy), lines, lines, pages, sharing=4.0, resident=False),
    )
    if added:
        streams += (Stream("load", float(busy), lines, lines, 0.0, sharing=4.0),)
    return Profile(
        workgroups=groups,
        waves_per_group=waves,
        counts=counts,
        streams=streams,
        code_bytes=960.0 if added else 896.0,
        rounds=float(added),
        walk_rounds=float(added),
        scalar_again=2.0,
        vgprs=16,
        sgprs=24,
    )
