"""What one kernel launch does, apart from any machine: instructions, memory streams, occupancy needs."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Literal

from apuflow.preview.counts import Counts

LINE = 64
PAGE = 4096
Reuse = Literal["none", "group", "device"]


@dataclass(frozen=True, slots=True)
class Stream:
    """The accesses of a launch to one buffer.

    Attributes:
        kind: ``"load"`` or ``"store"``.
        instructions: wavefront instructions that access the buffer.
        accesses: (wavefront instruction, 64-byte line) pairs, without those that the coalescer merges
            because the line is in flight.
        lines: distinct lines.
        pages: distinct 4 KiB pages.
        reuse: where repeated accesses come from: nowhere, the same workgroup, or other workgroups.
        window_bytes: bytes a workgroup touches between two uses of a line.
        page_group: wavefronts of one workgroup that wait for the walk of a new page.
        sharing: workgroups that touch the same page.
        lockstep: how far these arrive together, 0 to 1: a workgroup that comes more than a page walk
            later finds the translation, waits for nobody and keeps nobody waiting.
        line_sharing: workgroups that read the same line.
        resident: the CPU wrote the buffer before the launch (inputs): its L2 and the L3 hold it.
    """

    kind: Literal["load", "store"]
    instructions: float
    accesses: float
    lines: float
    pages: float
    reuse: Reuse = "none"
    window_bytes: float = 0.0
    page_group: float = 4.0
    sharing: float = 1.0
    lockstep: float = 1.0
    line_sharing: float = 1.0
    resident: bool = True


@dataclass(frozen=True, slots=True)
class Profile:
    """One launch.

    Attributes:
        workgroups, waves_per_group: of the grid.
        counts: totals over all wavefronts.
        streams: one per buffer and direction.
        code_bytes: instruction bytes that a wavefront walks through (cold instruction fetches).
        early_branch: a branch stands in the first line of code, before anything is waited for.
        rounds: times a wavefront waits for vector loads, one after the other.
        walk_rounds: page walks that it waits for in its loads.
        store_rounds: times it waits for its own stores before its end (vmcnt and, for FLAT, lgkmcnt count
            them).
        joined_rounds: those of ``rounds`` that wait for an earlier store as well, whichever is later.
        scalar_rounds: times it waits for scalar loads from a page of their own. scalar_again: times that it
            waits for more of them, from lines of pages that it has seen.
        active: numbers of the workgroups that do the work, where the others end at once (empty: all).
        lds_bytes, vgprs, sgprs: per workgroup and per wavefront.
        lds_conflicts: serialised LDS accesses per LDS instruction (gem5's byte-address banks).
        flops: floating point operations.
        waves: wavefronts, where the last workgroup is partial (0: workgroups times waves_per_group).
    """

    workgroups: int
    waves_per_group: int
    counts: Counts
    streams: tuple[Stream, ...]
    code_bytes: float
    rounds: float
    early_branch: bool = False
    walk_rounds: float = 1.0
    store_rounds: float = 0.0
    joined_rounds: float = 0.0
    scalar_rounds: float = 1.0
    scalar_again: float = 0.0
    active: tuple[int, ...] = ()
    lds_bytes: int = 0
    vgprs: int = 32
    sgprs: int = 32
    lds_conflicts: float = 0.0
    flops: float = 0.0
    waves: int = 0

    @property
    def wavefronts(self) -> int:
        """Of the launch."""
        return self.waves or self.workgroups * self.waves_per_group

    @property
    def groups(self) -> int:
        """Workgroups that share the work."""
        return len(self.active) or self.workgroups


def lines_of(elements: float) -> float:
    """Lines of a packed float32 buffer that starts on a line."""
    return float(-(-elements * 4 // LINE))


def pages_of(elements: float) -> float:
    """Pages of a packed float32 buffer that starts on a page."""
    return float(-(-elements * 4 // PAGE))


def span_lines(size: float, stride: int) -> float:
    """Mean lines under a span of ``size`` bytes that starts at multiples of ``stride`` bytes."""
    period = LINE // gcd(stride, LINE) if stride else 1
    total = 0
    for k in range(period):
        total += int((k * stride % LINE + max(4, int(size)) - 1) // LINE) + 1
    return total / period
