"""What a code object puts into memory, and how its kernels start.

Source: LLVM's "User Guide for AMDGPU Backend", kernel descriptor and initial kernel execution state.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from apuflow.core.errors import EngineError
from apuflow.core.gpus import CDNA1, CDNA2, CDNA3, GCN3, GPUS, VEGA, VEGA20, Isa
from apuflow.interpret.opcodes import IsaName
from apuflow.miopen import elf
from apuflow.miopen.elf import read_code_object

_DESCRIPTOR: Final = struct.Struct("<III4xq20xIIIHH")
_ISAS: Final[Mapping[Isa, IsaName]] = {
    GCN3: "gcn3",
    VEGA: "vega",
    VEGA20: "gfx906",
    CDNA1: "gfx908",
    CDNA2: "gfx90a",
    CDNA3: "gfx940",
}
ISA_OF: Final[Mapping[str, IsaName]] = {
    **{each.name: _ISAS[each.isa] for each in GPUS.values()},
    "gfx940": "gfx940",
}
"""By GPU: gem5's own, and those that no release of it names."""
_MACHINES: Final[Mapping[int, str]] = {
    **{each.elf_machine: each.name for each in GPUS.values()},
    0x40: "gfx940",
}
"""GPU by the low byte of ``e_flags``."""


@dataclass(frozen=True)
class Start:
    """How wavefronts of a kernel begin.

    Attributes:
        entry: address of the first instruction, from the image's first byte.
        lds, private: bytes of a workgroup and of a work-item.
        registers: vector registers of a lane, accumulation registers included.
        accumulation: number of the first accumulation register.
        properties: KERNEL_CODE_PROPERTIES: which pointers are in scalar registers.
        settings: COMPUTE_PGM_RSRC2.
        preload: words of the argument block in scalar registers.
    """

    entry: int
    lds: int
    private: int
    registers: int
    accumulation: int
    properties: int
    settings: int
    preload: int


@dataclass(frozen=True)
class Image:
    """A code object as it lies in memory.

    Attributes:
        isa: of its instructions.
        gfx: GPU that it was compiled for.
        data: its sections, from address 0.
        kernels: by name.
        relocations: places of variables that hold addresses, and what each is from the first byte.
    """

    isa: IsaName
    gfx: str
    data: bytes
    kernels: Mapping[str, Start]
    relocations: tuple[tuple[int, int], ...] = ()


def load_image(path: Path) -> Image:
    """Read a code object.

    Raises:
        EngineError: it cannot be read, is no code object of code object V3 or later, or is for a GPU whose
            instructions the interpreter does not have.
    """
    try:
        data = path.read_bytes()
        read_code_object(data, path)
        machine = elf.header(data).flags & 0xFF
        if machine not in _MACHINES:
            raise EngineError(
                "the interpreter does not have the instructions of this GPU",
                file=path,
                value=f"machine {machine:#x}",
                remedy=f"compile for one of {', '.join(ISA_OF)}",
            )
        gfx = _MACHINES[machine]
        isa = ISA_OF[gfx]
        table = elf.sections(data)
        image = _mapped(data, table)
        kernels = {
            symbol.name.removesuffix(".kd"): _start(image, symbol.value, isa)
            for symbol in elf.symbols(data, table)
            if symbol.name.endswith(".kd")
        }
    except OSError as error:
        raise EngineError(f"cannot read the code object: {error.strerror}", file=path) from None
    except (struct.error, ValueError, IndexError) as error:
        raise EngineError(
            f"not a whole code object: {error}", file=path, remedy="remove it and build again"
        ) from None
    return Image(isa, gfx, image, kernels, tuple(_relocations(data, table, len(image), path)))


def _relocations(
    data: bytes, table: Sequence[elf.Section], size: int, path: Path
) -> Iterator[tuple[int, int]]:
    for each in elf.relocations(data, table):
        if each.kind != elf.RELATIVE64 or not 0 <= each.place <= size - 8:
            raise EngineError(
                "a variable holds the address of something that is not in the code object",
                file=path,
                value=f"relocation {each.kind & 0xFFFFFFFF} at {each.place:#x}",
                remedy="link the code object whole",
            )
        yield each.place, each.addend


def _mapped(data: bytes, table: Sequence[elf.Section]) -> bytes:
    loaded = [each for each in table if each.flags & elf.ALLOCATED]
    image = bytearray(max(each.address + each.size for each in loaded))
    for each in loaded:
        if each.kind != elf.NOBITS:
            image[each.address : each.address + each.size] = data[each.offset : each.offset + each.size]
    return bytes(image)


def _start(image: bytes, address: int, isa: IsaName) -> Start:
    lds, private, _kernarg, entry, third, first, second, properties, preload = _DESCRIPTOR.unpack_from(
        image, address
    )
    unified = isa in ("gfx90a", "gfx940")
    registers = ((first & 63) + 1) * (8 if unified else 4)
    accumulation = ((third & 63) + 1) * 4 if unified else registers
    return Start(
        address + entry,
        lds,
        private,
        2 * registers if isa == "gfx908" else registers,
        accumulation,
        properties,
        second,
        preload & 0x7F if unified else 0,
    )
