"""A form of an instruction, and how it is tried."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apuflow.forms.form import Form

Words = NDArray[np.uint32]
ROUNDS: Final = 8
"""Wavefronts that try a form: each has 64 lanes with operands of their own."""
MEMORY_BYTES: Final = 1 << 16
"""Of the buffer that memory instructions access. Lanes of all rounds share it."""
LDS_BYTES: Final = 4096
PRIVATE_BYTES: Final = 64
"""Of a work-item, in cases with private memory."""
LANES: Final = 64
PROCESSORS: Final = {"gcn3": "gfx803", "vega": "gfx902"}
"""LLVM's name of the first GPU of an instruction set."""


@dataclass(frozen=True, eq=False)
class Case:
    """A trial of a form.

    A kernel of ``ROUNDS`` workgroups of one wavefront loads ``vectors`` and ``scalars``, executes ``before``,
    ``text`` and ``after``, and stores ``results``. Every register that is stored and not loaded holds
    0xA5A5A5A5 before. VCC, M0 and SCC hold what ``before`` says, else 0.

    Free for a case: v2 to v99 and s16 to s79; a0 to a31 where ``processor`` has them.

    Attributes:
        text: the one instruction, in LLVM's assembly of ``processor``.
        processor: LLVM's name of the GPU; the kernel's own is gfx801 or gfx902 and takes its words as data.
        vectors: by first register (``v2``), words (ROUNDS, count of registers, 64).
        scalars: by first register (``s16``), words (ROUNDS, count of registers).
        before, after: instructions in the kernel's own assembly, as ``s_mov_b64 exec, 0x5555`` (which is set
            back behind ``text``), ``s_mov_b32 m0, -1`` and ``s_waitcnt vmcnt(0)``.
        results: ``v8``, ``v[8:9]``, ``s[20:21]``, ``vcc``, ``exec``, ``scc``, ``m0``.
        memory: whether s[8:9] holds the address of a buffer of ``MEMORY_BYTES``, with a fixed random
            content, which is a result as well, and s[12:15] the descriptor of that buffer.
        lds: whether LDS is a result: ``LDS_BYTES`` that hold a fixed random content before.
        private: whether the kernel has private memory, ``PRIVATE_BYTES`` of which nothing is known before.
        tolerance: units in the last place that the manual allows a float result to differ.
        floats: bits of a float result (16, 32, 64), of which all NaN are equal; 0: bits count.
    """

    form: Form
    text: str
    processor: str
    vectors: dict[str, Words] = field(default_factory=dict)
    scalars: dict[str, Words] = field(default_factory=dict)
    results: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    memory: bool = False
    lds: bool = False
    private: bool = False
    tolerance: float = 0.0
    floats: int = 0
