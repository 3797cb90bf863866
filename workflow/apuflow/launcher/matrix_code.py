"""The matrix instructions in the code of a kernel, and what one of each type does."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from apuflow.core.gpus import gpu
from apuflow.core.matrix import COUNTED, Matrices, matrix_cycles
from apuflow.interpret.matrix import shape_of
from apuflow.interpret.opcodes import IsaName, opcodes
from apuflow.launcher.object_changes import walked
from apuflow.miopen import elf

_ENCODING: Final = 0x1A7
"""Bits 31:23 of VOP3P."""
_NAMED: Final[Mapping[str, IsaName]] = {"gfx908": "gfx908", "gfx90a": "gfx90a"}


def matrices(name: str) -> Matrices | None:
    """Those of an instruction; None: it is no product of dense matrices of known types."""
    shape = shape_of(name)
    if shape is None or shape.sparse:
        return None
    kind = "fp8" if shape.kinds[0] in ("fp8", "bf8") else shape.kinds[0]
    return Matrices(shape.rows, shape.columns, shape.depth, shape.blocks, kind)


def matrix_code(path: Path, gfx: str, kernels: Collection[str]) -> dict[str, dict[str, tuple[int, int]]]:
    """What a matrix instruction of each type does in kernels of a code object.

    Returns:
        by kernel and by type as gem5 counts it: operations and cycles of an instruction. A type is left out
        where instructions of the kernel differ, or the cycles are not known.

    Raises:
        struct.error or ValueError: a damaged object.
    """
    if gpu(gfx).isa.accumulation == "none":
        return {}
    data = path.read_bytes()
    table = elf.sections(data)
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for symbol in elf.symbols(data, table):
        if symbol.name in kernels and symbol.size:
            met = set(_of_code(data, elf.file_offset(table, symbol.value), symbol.size, gfx))
            if met:
                found[symbol.name] = _alike(met, gfx)
    return found


def _of_code(data: bytes, start: int, size: int, gfx: str) -> Iterator[Matrices]:
    later, own = opcodes("gfx940"), opcodes(_NAMED.get(gfx, "gfx940"))
    for _, words in walked(data, start, size):
        if words[0] >> 23 == _ENCODING:
            number = words[0] >> 16 & 0x7F
            # Of gfx90a's, one is replaced by gfx942's number for it (``matrix_numbers``).
            shape = matrices(own.get(("vop3p", number)) or later.get(("vop3p", number), ""))
            if shape is not None:
                yield shape


def _alike(met: Collection[Matrices], gfx: str) -> dict[str, tuple[int, int]]:
    by_type: dict[str, set[tuple[int, int | None]]] = {}
    for shape in met:
        if kind := COUNTED.get(shape.kind):
            by_type.setdefault(kind, set()).add((shape.operations, matrix_cycles(gfx, shape)))
    pairs = {kind: next(iter(each)) for kind, each in by_type.items() if len(each) == 1}
    return {kind: (operations, cycles) for kind, (operations, cycles) in pairs.items() if cycles is not None}
