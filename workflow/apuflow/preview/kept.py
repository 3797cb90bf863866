"""What a machine keeps between launches: all of it that decides what they find."""

from __future__ import annotations

from operator import attrgetter
from typing import Final, NamedTuple

from apuflow.preview.columns import Numbered, together
from apuflow.preview.machine import GpuModel, Machines


class Kept(NamedTuple):
    """What launches find depends on, of a machine.

    Attributes:
        tlb_pages: that its TLBs keep.
        code_bytes: that its instruction cache does; 0 where a launch empties it: since v24.0
            (``Shader::prepareInvalidate``), and so, of the releases that were measured, on gfx9.
        tcc_bytes, l2_bytes, l3_bytes: of its TCC, the CPU's L2 and the L3.
        vega: it runs kernels that are compiled for gfx9.
    """

    tlb_pages: float
    code_bytes: float
    tcc_bytes: float
    l2_bytes: float
    l3_bytes: float
    vega: bool


KEPT_BY: Final = (
    "l3_tlb_entries",
    "sqc_bytes",
    "tcc_bytes",
    "cpu_l2_bytes",
    "l3_bytes",
    "vega",
)
"""Fields of a machine (``GpuModel``) that decide what it keeps."""


def kept(machine: GpuModel) -> Kept:
    """What a machine keeps."""
    return _kept(*attrgetter(*KEPT_BY)(machine))


def each_kept(machines: Machines) -> Numbered[Kept]:
    """The same, of different machines."""
    columns = [machines.numbers[field] for field in KEPT_BY]
    first, like = together(columns, len(columns[0]))
    rows = zip(*(column[first].tolist() for column in columns), strict=True)
    return Numbered([_kept(*row) for row in rows], like)


def _kept(l3_tlb: int, sqc: int, tcc: int, cpu_l2: int, l3: int, vega: bool) -> Kept:
    """By the values of ``KEPT_BY``."""
    code = 0.0 if vega else float(sqc)
    return Kept(float(l3_tlb), code, float(tcc), float(cpu_l2), float(l3), vega)
