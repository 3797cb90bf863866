"""Instruction counts by class, written the way a disassembly lists them.

A kernel module writes each basic block as text (``"v11 ld1 s2 wt1 br1"``) and multiplies it by how often a
wavefront executes it, so that every number can be checked against ``llvm-objdump`` of the compiled kernel.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

CODES = {
    "v": "valu",
    "s": "salu",
    "sm": "smem",
    "br": "branches",
    "wt": "waits",
    "ba": "barriers",
    "no": "nops",
    "en": "ends",
    "ld": "loads",
    "st": "stores",
    "lr": "lds_reads",
    "lw": "lds_writes",
}
"""Block code -> field: VALU, SALU, scalar memory, branch, s_waitcnt, s_barrier, s_nop, s_endpgm, vector
memory load and store (FLAT on gfx8), LDS read and write."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Wavefront instructions of each class (any number of wavefronts); ``lanes`` is the sum of active lanes
    over VALU instructions (gem5's ``threadCyclesVALU``)."""

    valu: float = 0.0
    salu: float = 0.0
    smem: float = 0.0
    branches: float = 0.0
    waits: float = 0.0
    barriers: float = 0.0
    nops: float = 0.0
    ends: float = 0.0
    loads: float = 0.0
    stores: float = 0.0
    lds_reads: float = 0.0
    lds_writes: float = 0.0
    lanes: float = 0.0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.valu + other.valu,
            self.salu + other.salu,
            self.smem + other.smem,
            self.branches + other.branches,
            self.waits + other.waits,
            self.barriers + other.barriers,
            self.nops + other.nops,
            self.ends + other.ends,
            self.loads + other.loads,
            self.stores + other.stores,
            self.lds_reads + other.lds_reads,
            self.lds_writes + other.lds_writes,
            self.lanes + other.lanes,
        )

    def __mul__(self, times: float) -> Counts:
        return Counts(
            self.valu * times,
            self.salu * times,
            self.smem * times,
            self.branches * times,
            self.waits * times,
            self.barriers * times,
            self.nops * times,
            self.ends * times,
            self.loads * times,
            self.stores * times,
            self.lds_reads * times,
            self.lds_writes * times,
            self.lanes * times,
        )

    __rmul__ = __mul__

    @property
    def scalar_issues(self) -> float:
        """Instructions that occupy the one scalar ALU of a compute unit: SALU, branches, s_waitcnt,
        s_barrier, s_nop and s_endpgm (gem5 ``ScheduleStage::dispatchReady``)."""
        return self.salu + self.branches + self.waits + self.barriers + self.nops + self.ends

    @property
    def vector_memory(self) -> float:
        return self.loads + self.stores

    @property
    def lds(self) -> float:
        return self.lds_reads + self.lds_writes

    @property
    def instructions(self) -> float:
        """gem5's ``numInstrExecuted``."""
        return self.valu + self.smem + self.scalar_issues + self.vector_memory + self.lds


NOTHING = Counts()


@lru_cache(maxsize=4096)
def _parse(text: str) -> Counts:
    numbers: dict[str, float] = {}
    for word in text.split():
        match = re.fullmatch(r"([a-z]+)(\d+)", word)
        if match is None or match[1] not in CODES:
            raise ValueError(f"not a block code: {word!r}")
        field = CODES[match[1]]
        numbers[field] = numbers.get(field, 0.0) + float(match[2])
    return Counts(**numbers)


@lru_cache(maxsize=65536)
def block(text: str, lanes: float = 64.0) -> Counts:
    """Counts of one execution of a basic block.

    Args:
        text: codes with counts, e.g. ``"v11 ld1 s2 wt1 br1"``; see ``CODES``.
        lanes: mean active lanes of its VALU instructions.
    """
    counts = _parse(text)
    return counts + Counts(lanes=counts.valu * lanes)
