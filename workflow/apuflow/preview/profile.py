"""What one kernel launch does, apart from any machine: instructions, memory streams, occupancy needs."""

from __future__ import annotations

from typing import Literal, NamedTuple

from apuflow.preview.instructions import Counts

Reuse = Literal["none", "group", "device"]


class Adders(NamedTuple):
    """Workgroups that add their parts of a sum to the same elements, each by compare-and-swap.

    An addition is tried again if another came between its load and its swap.

    Attributes:
        adding: those with a part that is not zero: an addition of zero disturbs nobody.
        share: part of all of them that these are.
        apart: workgroups between two of them, in the order of dispatch.
        even: part of the pairs of them that have equally much to do before.
        turns: what each has to do before it adds, in waits for memory.
    """

    adding: float
    share: float
    apart: float
    even: float
    turns: float


class Tiles(NamedTuple):
    """What workgroups of a tiled matrix product read of both operands in a step.

    Workgroups are dispatched down a column, in which tiles of the first operand differ, then along the second
    operand, and go round robin over the compute units: those of a unit are ``used`` after one another.

    Attributes:
        column: tiles of the first operand.
        first_bytes, second_bytes: of an operand that a workgroup reads in a step.
        first_edge, second_edge: of the lines of a tile, those that neighbours have as well.
        steps: of a workgroup.
    """

    column: int
    first_bytes: float
    second_bytes: float
    first_edge: float
    second_edge: float
    steps: int


class Stream(NamedTuple):
    """The accesses of a launch to one buffer.

    Attributes:
        kind: ``"load"`` or ``"store"``.
        instructions: wavefront instructions that access the buffer.
        accesses: (wavefront instruction, 64-byte line) pairs, without those that the coalescer merges
            because the line is in flight.
        lines: distinct lines.
        beside: of a load's accesses, those to a line that another wavefront of the workgroup loads at the
            same time: the end of its lanes and the begin of the next ones'.
        pages: distinct 4 KiB pages.
        at_once: of the reads of lines that other compute units have read, those that come before the
            line has. The TCC of v24.0 asks the directory for each of them: all of the memory reads beyond
            its misses on gfx902; there are none on v23.0.
        steps: of a loop, in which lines of a product are read; along_k: an operand of it that lies along k.
            Its lines need no new pages, which would bring compute units in step again.
        reuse: where repeated accesses come from: nowhere, the same workgroup, or other workgroups.
        window_bytes: bytes a workgroup touches between two uses of a line.
        sharing: workgroups that touch the same page.
        line_sharing: workgroups that read the same line.
        resident: the CPU wrote the buffer before the launch (inputs).
        argument: the kernel argument that has the buffer, where others of its size are not accessed.
        far_bytes: touched between two uses by workgroups that do not run at the same time (0: all do).
        cyclic: how far these bytes are the buffer itself, which is read from begin to end each time; where a
            group reuses lines, its ``window_bytes`` are. Half, where it is read twice and workgroups drift
            apart.
        group_bytes: as ``window_bytes``, with those that others beside it touch too (0: there are none).
        repeated: of stores that go to the same lines again: they do so "beside" each other (wavefronts and
            workgroups in step), "next" (workgroups that follow one another), or "later" (other instructions,
            workgroups far away).
        every: workgroups that read the same lines are so many apart in the order of dispatch (0: not known).
        following: so many that follow one another read the same lines (0: not known).
        tiles: what workgroups in step read of both operands of a product (None: nothing is shared in step).
        writers: of a store, workgroups that each write a part of the same line (0: not many).
        at_a_time: lines that each of these stores to before it waits.
        adders: of stores that add to what is there, by compare-and-swap, how many workgroups add to the same
            elements.
    """

    kind: Literal["load", "store"]
    instructions: float
    accesses: float
    lines: float
    pages: float
    reuse: Reuse = "none"
    window_bytes: float = 0.0
    sharing: float = 1.0
    line_sharing: float = 1.0
    resident: bool = True
    argument: str = ""
    far_bytes: float = 0.0
    cyclic: float = 0.0
    group_bytes: float = 0.0
    repeated: Literal["beside", "next", "later"] = "beside"
    every: int = 0
    following: int = 0
    tiles: Tiles | None = None
    writers: float = 0.0
    at_a_time: float = 1.0
    adders: Adders | None = None
    at_once: float = 0.0
    steps: float = 0.0
    along_k: bool = False
    beside: float = 0.0

    @property
    def tiled(self) -> bool:
        """Whether workgroups in step share lines of tiles."""
        return self.tiles is not None

    @property
    def adding(self) -> bool:
        """Whether other workgroups add to the same elements."""
        return self.adders is not None

    @property
    def operand(self) -> int:
        """Of a product's ``tiles``: 0 for the first operand, 1 for the second."""
        return 0 if self.every else 1


class MatrixWork(NamedTuple):
    """What matrix instructions do: cycles of matrix cores by AMD's manuals, lanes and operations by type."""

    cycles: float = 0.0
    lanes_f16: float = 0.0
    lanes_f32: float = 0.0
    lanes_f64: float = 0.0
    lanes_i8: float = 0.0
    flops_f16: float = 0.0
    flops_f32: float = 0.0
    flops_f64: float = 0.0
    ops_i8: float = 0.0

    @property
    def flops(self) -> float:
        """Floating point operations."""
        return self.flops_f16 + self.flops_f32 + self.flops_f64


class Profile(NamedTuple):
    """One launch.

    Attributes:
        workgroups, waves_per_group: of the grid.
        counts: totals over all wavefronts.
        streams: one per buffer and direction.
        code_bytes: instruction bytes that a wavefront walks through (cold instruction fetches).
        code_pages: pages of code beyond the first, for each of which all wavefronts wait together.
        rounds: times a wavefront waits for vector loads, one after the other.
        walk_rounds: page walks that it waits for in its loads.
        load_pages: pages that one of its loads touches.
        pages_again: times that loads touch a page that their workgroup has touched. pages_between: pages
            that it touches between two such times.
        store_rounds: times it waits for its own stores before its end (vmcnt and, for FLAT, lgkmcnt count
            them).
        swaps: times it waits for compare-and-swaps, one after the other, where nothing disturbs them.
        joined_rounds: those of ``rounds`` that wait for an earlier store as well, whichever is later.
        stores_last: all of a workgroup's stores come after all of its loads, though it waits between them.
        scalar_rounds: times it waits for scalar loads from a page of their own. scalar_again: times that it
            waits for more of them, from lines of pages that it has seen.
        lds_bytes, vgprs, sgprs: per workgroup and per wavefront.
        lds_conflicts: serialised LDS accesses per LDS instruction (gem5's byte-address banks).
        flops: floating point operations. matrix: of matrix instructions, which ``counts.valu`` has, too.
        line_atomics: atomics of all wavefronts to the line that has most. The TCC takes one at a time
            (``GPU_VIPER-TCC.sm``, state A).
        waves: wavefronts, where the last workgroup is partial (0: workgroups times waves_per_group).
    """

    workgroups: int
    waves_per_group: int
    counts: Counts
    streams: tuple[Stream, ...]
    code_bytes: float
    rounds: float
    code_pages: int = 0
    walk_rounds: float = 1.0
    load_pages: float = 1.0
    pages_again: float = 0.0
    pages_between: float = 0.0
    store_rounds: float = 0.0
    swaps: float = 0.0
    joined_rounds: float = 0.0
    stores_last: bool = False
    scalar_rounds: float = 1.0
    scalar_again: float = 0.0
    lds_bytes: int = 0
    vgprs: int = 32
    sgprs: int = 32
    lds_conflicts: float = 0.0
    flops: float = 0.0
    waves: int = 0
    line_atomics: float = 0.0
    matrix: MatrixWork = MatrixWork()

    @property
    def group_waves(self) -> int:
        """Wavefronts of a workgroup; of one that is alone, those that it really has."""
        return min(self.waves_per_group, self.wavefronts)

    @property
    def wavefronts(self) -> int:
        """Of the launch."""
        return self.waves or self.workgroups * self.waves_per_group

    @property
    def barriers_per_wait(self) -> float:
        """How often a wavefront meets the others of its workgroup between two waits for memory: 0 to 1."""
        waits = max(1.0, self.rounds + self.store_rounds)
        return min(1.0, self.counts.barriers / self.wavefronts / waits)
