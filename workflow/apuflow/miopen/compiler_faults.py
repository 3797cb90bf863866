"""Kernels that a version of clang compiles wrongly.

Each was found by a run on gem5 that ended or computed wrong numbers, and read in the disassembly.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from apuflow.core.errors import EngineError
from apuflow.core.gpus import gpu
from apuflow.core.isa import VEGA, Isa
from apuflow.miopen.launch import Row, definitions


@dataclass(frozen=True)
class CompilerFault:
    """A kernel and the compiler that spoils it.

    Attributes:
        program: MIOpen's source file.
        isa: the instruction set whose code is wrong.
        compiler: regular expression of the compiler's version.
        define: macro of the kernel.
        least: its value from which the code is wrong.
        what: what is wrong, and what gem5 does then.
        remedy: what to do.
    """

    program: str
    isa: Isa
    compiler: str
    define: str
    least: int
    what: str
    remedy: str

    def holds(self, row: Row, gfx: str, compiler: str) -> bool:
        """Whether this compiler spoils this kernel."""
        return (
            row.program == self.program
            and gpu(gfx).isa == self.isa
            and re.search(self.compiler, compiler) is not None
            and int(definitions(row.arguments).get(self.define, 0)) >= self.least
        )


FAULTS: Final = (
    # n = 244 and 246 to 300 at c = 64: v127 is loaded with an input before the last store uses the index
    # v[127:128]. clang 16 and 19 are right.
    CompilerFault(
        "MIOpenBatchNormFwdTrainPerAct.cl",
        VEGA,
        r"clang version 15\b",
        "MIO_BN_N",
        244,
        "clang 15 overwrites a register with the index of the last output in batch normalisation per "
        "activation of 244 samples and more: the kernel stores to an address that does not exist, and gem5 "
        "ends (tlb.cc, `new_entry')",
        "install clang-16 or clang-19 and set APUFLOW_CLANG=clang-19, or take fewer samples",
    ),
)
FAULTY_PROGRAMS: Final = frozenset(fault.program for fault in FAULTS)


def spoilt(row: Row, gfx: str, compiler: str) -> EngineError | None:
    """Why the compiler may not compile a kernel; None: nothing is known against it.

    Args:
        compiler: its identity, which holds its version.
    """
    for fault in FAULTS:
        if fault.holds(row, gfx, compiler):
            value = f"{row.program}, {gfx}"
            return EngineError(fault.what, key=row.layer or None, value=value, remedy=fault.remedy)
    return None
