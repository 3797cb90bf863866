"""Kernels that a version of clang compiles wrongly.

Each was found by a failed or wrong run on gem5 and confirmed in the disassembly.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from apuflow.core.errors import EngineError
from apuflow.core.gpus import VEGA, Isa, gpu
from apuflow.miopen.launch import Row, definitions


class CompilerFault(NamedTuple):
    """A kernel and the compiler that compiles it wrongly.

    Attributes:
        program: MIOpen's source file.
        isa: the instruction set with the wrong code.
        compiler: regular expression of the compiler's version.
        define, least: macro of the kernel, and its smallest value with wrong code.
        what: the fault and its effect on gem5.
    """

    program: str
    isa: Isa
    compiler: str
    define: str
    least: int
    what: str
    remedy: str


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
    """The error if a compiler (its identity) compiles a kernel wrongly, else None."""
    for fault in FAULTS:
        if (
            row.program == fault.program
            and gpu(gfx).isa == fault.isa
            and re.search(fault.compiler, compiler)
            and int(definitions(row.arguments).get(fault.define, 0)) >= fault.least
        ):
            value = f"{row.program}, {gfx}"
            return EngineError(fault.what, key=row.layer or None, value=value, remedy=fault.remedy)
    return None
