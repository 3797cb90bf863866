"""Instructions of a kernel: basic blocks written as text, the way a disassembly lists them.

A kernel module multiplies each block (``"v11 ld1 s2 wt1 br1"``) by how often a wavefront executes it. So
every number can be checked against ``llvm-objdump`` of the compiled kernel.
"""

from __future__ import annotations

import re
from functools import lru_cache
from operator import add
from typing import NamedTuple

LDS_LANES = 32
"""Lanes whose LDS accesses are checked together (``LdsState::countBankConflicts``)."""
INSTRUCTION_BYTES = 6.0
"""Mean over straight code, whose instructions have 4 or 8 bytes."""
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
    "id": "idle",
}
"""Block code -> field: VALU, SALU, scalar memory, branch, s_waitcnt, s_barrier, s_nop, s_endpgm, vector
memory load and store (FLAT on gfx8), LDS read and write, vector memory whose lanes are all off (gem5 takes it
for done at once)."""


class Counts(NamedTuple):
    """Wavefront instructions of each class, of any number of wavefronts.

    ``lanes`` is the sum of active lanes over VALU instructions (gem5's ``threadCyclesVALU``).
    """

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
    idle: float = 0.0
    lanes: float = 0.0

    def __add__(self, other: Counts) -> Counts:  # type: ignore[override]
        return Counts._make(map(add, self, other))

    def __mul__(self, times: float) -> Counts:  # type: ignore[override]
        return Counts._make([number * times for number in self])

    def __rmul__(self, times: float) -> Counts:  # type: ignore[override]
        return self * times

    @property
    def scalar_issues(self) -> float:
        """Instructions that occupy the one scalar ALU of a compute unit.

        SALU, branches, s_waitcnt, s_barrier, s_nop and s_endpgm (gem5 ``ScheduleStage::dispatchReady``).
        """
        return self.salu + self.branches + self.waits + self.barriers + self.nops + self.ends

    @property
    def vector_memory(self) -> float:
        """Vector memory instructions (FLAT on gfx8)."""
        return self.loads + self.stores

    @property
    def lds(self) -> float:
        """LDS instructions."""
        return self.lds_reads + self.lds_writes

    @property
    def instructions(self) -> float:
        """gem5's ``numInstrExecuted``."""
        return self.valu + self.smem + self.scalar_issues + self.vector_memory + self.lds + self.idle


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


class Tally:
    """Adds up blocks one after the other, faster than ``Counts`` do.

    The numbers of instructions are whole, so that their order does not matter. That of lanes does.
    """

    def __init__(self) -> None:
        self._times: dict[str, float] = {}
        self._lanes = 0.0

    def add(self, *blocks: tuple[str, float, float]) -> None:
        """Blocks whose lanes are added up before they come to those of earlier ones.

        Args:
            blocks: of each its text, its mean active lanes (as of ``block``), and how often it runs.
        """
        more = 0.0
        for text, lanes, times in blocks:
            self._times[text] = self._times.get(text, 0.0) + times
            more += _parse(text).valu * lanes * times
        self._lanes += more

    def counts(self) -> Counts:
        """All of them."""
        total = NOTHING
        for text, times in self._times.items():
            total += _parse(text) * times
        return total._replace(lanes=self._lanes)
