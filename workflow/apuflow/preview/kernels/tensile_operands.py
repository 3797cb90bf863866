"""The two matrices that Tensile's kernels multiply, as streams of loads."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from apuflow.preview.kernels.facts import Facts
from apuflow.preview.lines import PAGE, lines_of, pages_of, region_lines, span_lines
from apuflow.preview.profile import Stream
from apuflow.rocblas.tables import Solution

WAVEFRONT = 64
TOGETHER = 64
"""Workgroups taken to run at a time, along m first: they share the slabs of their row or column."""


class _Operand(NamedTuple):
    """A or B, as its workgroups read it: its ``outer`` rows or columns in tiles, ``depth`` of k at a time."""

    outer: int
    leading: int
    along_k: bool
    tile: int
    width: int
    depth: int
    waves: int
    others: int

    @property
    def tiles(self) -> int:
        """Tiles along the matrix."""
        return ceil(self.outer / self.tile)

    @property
    def instructions(self) -> int:
        """Of a workgroup, for one step."""
        return max(self.waves, ceil(self.tile * self.depth / (WAVEFRONT * self.width)))

    @property
    def tiles_on_a_page(self) -> float:
        """Tiles whose first elements of a step lie on one page."""
        if self.along_k:
            return max(1.0, PAGE / 4 / max(1, self.leading) / self.tile)
        return max(1.0, PAGE / 4 / self.tile)

    def lines(self, k: int, splits: bool) -> tuple[float, float]:
        """With one tile of the other matrix: of all instructions, and distinct ones of each workgroup."""
        accesses = distinct = 0.0
        whole, rest = divmod(k, self.depth)
        tiles, edge = divmod(self.outer, self.tile)
        for valid, many in ((self.tile, tiles), (edge, 1)):
            for depth, steps in ((self.depth, whole), (rest, 1)):
                if valid and depth:
                    each, once = self.step_lines(valid, depth)
                    accesses += many * steps * each
                    distinct += many * steps * once
        if self.along_k and not splits:
            # Steps follow one another in a row: a line that two of them share is found.
            distinct = min(distinct, self.outer * span_lines(4 * k, 4 * self.leading))
        return accesses, distinct

    def step_lines(self, valid: int, depth: int) -> tuple[float, float]:
        """Lines of a step, of a tile with ``valid`` rows or columns: those of each instruction, and distinct.

        Lanes beyond the matrix read its last row or column again.
        """
        pitch = 4 * self.leading
        if not self.along_k:
            across = min(self.tile, WAVEFRONT * self.width)  # elements of a row that an instruction has
            rows = max(1, WAVEFRONT * self.width // self.tile)
            pieces = ceil(valid / across) * ceil(depth / rows)
            each = region_lines(min(rows, depth), min(valid, across), pitch)
            repeats = max(1.0, self.instructions * rows * across / (self.tile * self.depth))
            return pieces * each * repeats, region_lines(depth, valid, pitch)
        rows = max(1, WAVEFRONT * self.width // self.depth)
        inside = ceil(valid / rows)
        beyond = max(0, self.instructions - inside)
        total = sum(region_lines(min(rows, valid - rows * number), depth, pitch) for number in range(inside))
        return total + beyond * region_lines(1, depth, pitch), region_lines(valid, depth, pitch)


def operands(facts: Facts, solution: Solution, tail_loads: float) -> tuple[Stream, ...]:
    """A and B: each workgroup loads a slab of both in every step.

    Args:
        tail_loads: of a wavefront, where k leaves a rest.
    """
    k, batch, waves = facts.integer("k"), facts.integer("batch"), facts.waves_per_group
    m, n = facts.integer("m"), facts.integer("n")
    tiles_m, tiles_n = ceil(m / solution.macro_tile_m), ceil(n / solution.macro_tile_n)
    along_a, along_b = facts.integer("transpose_a") == 1, facts.integer("transpose_b") == 0
    a, b = (
        _Operand(outer, facts.integer(leading), along_k, tile, width, solution.depth_u, waves, others)
        for outer, leading, along_k, tile, width, others in (
            (m, "lda", along_a, solution.macro_tile_m, solution.load_width_a, tiles_n),
            (n, "ldb", along_b, solution.macro_tile_n, solution.load_width_b, tiles_m),
        )
    )
    together = min(tiles_m * tiles_n, TOGETHER)
    across = min(tiles_m, together)
    along_m = solution.macro_tile_m * across
    along_n = solution.macro_tile_n * ceil(together / across)
    step = 4.0 * solution.depth_u / together
    whole, rest = divmod(k, solution.depth_u)
    steps = whole + bool(rest) * tail_loads * waves / (a.instructions + b.instructions)
    again = 4.0 * (m * k + solution.macro_tile_n * (m + k))  # between two tiles along m
    ordered = solution.workgroup_mapping == 1  # workgroups go along m first
    streams = []
    for operand in (a, b):
        accesses, distinct = operand.lines(k, solution.splits)
        lines = lines_of(operand.outer * k)
        sharing = operand.others * min(float(operand.tiles), operand.tiles_on_a_page)
        if operand.along_k:
            sharing *= min(solution.global_split_u, PAGE / 4 / min(solution.depth_u, k))
        many = operand.others * batch
        shared = ordered and operand.others > 1
        streams.append(
            Stream(
                "load",
                many * operand.tiles * operand.instructions * steps,
                many * accesses,
                batch * lines,
                batch * pages_of(operand.outer * k),
                "device",
                step * (along_m + along_n),
                sharing=sharing,
                line_sharing=max(1.0, operand.others * distinct / lines),
                far_bytes=again if operand is a and shared else 0.0,
                every=tiles_m * solution.global_split_u if operand is a and shared else 0,
                following=tiles_m if operand is b and shared else 0,
                cyclic=1.0,
                group_bytes=4.0 * solution.depth_u * sum(min(each.tile, each.outer) for each in (a, b)),
            )
        )
    return tuple(streams)
