"""Instruction sets of the GPUs: what a program that is compiled for one can hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

BuildTarget: TypeAlias = Literal["GCN3_X86", "VEGA_X86"]
"""A build of gem5, with one decoder of GPU instructions (``TARGET_GPU_ISA`` in ``build_opts``)."""


@dataclass(frozen=True)
class Isa:
    """One instruction set, or the generation of GPUs that has it.

    Attributes:
        name: as AMD calls it.
        build_target: gem5's build whose decoder knows its opcodes; ``launcher/unimplemented.yaml`` has those
            that this build lacks.
        wave_size: work-items of a wavefront.
        vector_registers: that a wavefront can name.
        scalar_registers: most of a wavefront, a multiple of ``scalar_granule``, in which they are allocated.
    """

    name: str
    build_target: BuildTarget
    wave_size: int = 64
    vector_registers: int = 256
    scalar_registers: int = 112
    scalar_granule: int = 16


GCN3: Final = Isa("GCN3", "GCN3_X86")
"""GFX8."""
VEGA: Final = Isa("Vega", "VEGA_X86")
"""GFX9 as of gfx900 and gfx902."""
