"""Changes of a finished code object, in place, for GPUs that gem5 is told another name of.

They need no assembler, so they reach objects that somebody else compiled. Each is a defect's
(``apuflow.launcher.defects``) that no longer has an effect. Sources: LLVM's User Guide for the AMDGPU backend
(kernel descriptor, kernel argument preload); gem5's ``wavefront.cc`` (initRegState), ``gpu_decoder.cc``.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from apuflow.core.gpus import GPUS, gpu
from apuflow.launcher.defects import DefectName
from apuflow.launcher.later_replacements import INVALIDATE
from apuflow.miopen import elf
from apuflow.miopen.compiler import Compiler

OBJECT_CHANGES_VERSION: Final = "1"
"""Raise it when a change does something else: it is part of the identity of objects."""
_NOP, _BRANCH, _WAIT, _MOVE = 0xBF800000, 0xBF820000, 0xBF8C0F70, 0xBE800000
"""``s_nop 0``, ``s_branch 0``, ``s_waitcnt vmcnt(0)``, ``s_mov_b32 s0, s0``."""
_PROLOGUE_WORDS: Final = 64
"""What a kernel begins with that loads its preloaded arguments itself, where the hardware does not."""
POINTERS: Final = {
    **{"private_segment_buffer": 4, "dispatch_ptr": 2, "queue_ptr": 2, "kernarg_segment_ptr": 2},
    **{"dispatch_id": 2, "flat_scratch_init": 2, "private_segment_size": 1},
}
"""Scalar registers of each pointer that a kernel may ask for, in the order of KERNEL_CODE_PROPERTIES."""
_NUMBERS: Final = (7, 8, 9, 10)
"""Bits of COMPUTE_PGM_RSRC2: workgroup numbers x, y, z and the workgroup's information."""
_PACKING: Final = ((0xD2000000, 0x0401_1501), (0xD2000000, 0x0401_2902))
"""``v_lshl_or_b32 v0, v1, 10, v0`` and ``v_lshl_or_b32 v0, v2, 20, v0``."""
MOST_REGISTERS: Final = 256
"""Vector registers that a kernel's descriptor can ask gem5 for (6 bits, in fours)."""
_REGISTERS: Final = 63
"""Bits of COMPUTE_PGM_RSRC1: vector registers, in granules less one."""
_MACHINE: Final = 48
"""Offset of the ELF header's ``e_flags``, whose low byte is the GPU."""
_MARK: Final = re.compile(rb"apuflow-changed:((?: \w+)+)\n")
_NAMES: Final[tuple[DefectName, ...]] = (
    *("preloaded_arguments", "packed_work_items", "matrix_numbers", "misread_fmac", "refused_caches"),
)


class Descriptor(NamedTuple):
    """A kernel's descriptor.

    Attributes:
        entry: address of its first instruction.
        private: bytes of private memory of a work-item.
        registers, settings, properties, preload: COMPUTE_PGM_RSRC1, 2, KERNEL_CODE_PROPERTIES, words of
            arguments that begin in scalar registers.
    """

    name: str
    entry: int
    private: int
    registers: int
    settings: int
    properties: int
    preload: int

    @property
    def pointers(self) -> int:
        """Scalar registers of pointers, behind which gem5 puts workgroup numbers."""
        return sum(count for bit, count in enumerate(POINTERS.values()) if self.properties >> bit & 1)

    @property
    def numbers_at(self) -> int:
        """The scalar register where the kernel looks for workgroup numbers."""
        return self.settings >> 1 & 31

    @property
    def numbers(self) -> int:
        """How many it has."""
        return sum(self.settings >> bit & 1 for bit in _NUMBERS)

    @property
    def work_item_axes(self) -> int:
        """Axes of work-item numbers that it asks for."""
        return (self.settings >> 11 & 3) + 1


def descriptors(data: bytes) -> tuple[Descriptor, ...]:
    """Those of every kernel of a code object; struct.error or ValueError for a damaged one."""
    table = elf.sections(data)
    found = []
    for symbol in elf.symbols(data, table):
        if symbol.name.endswith(".kd"):
            place = elf.file_offset(table, symbol.value)
            private, entry = struct.unpack_from("<I8xq", data, place + 4)
            registers, settings, properties, preload = struct.unpack_from("<IIHH", data, place + 48)
            name = symbol.name.removesuffix(".kd")
            settled = registers, settings, properties, preload & 0x7F
            found.append(Descriptor(name, symbol.value + entry, private, *settled))
    return tuple(found)


def changed(data: bytes, present: Collection[DefectName]) -> tuple[bytes, tuple[DefectName, ...]]:
    """A code object changed for a gem5 that has these defects, and the defects that it was changed for.

    Struct.error or ValueError for a damaged object.
    """
    machine = next(each for each in GPUS.values() if each.elf_machine == elf.header(data).flags & 0xFF)
    made, done = bytearray(data), list[DefectName]()
    wanted = set(present) - set(changes_of(data))
    table = elf.sections(data)
    for each in descriptors(data):
        place = elf.file_offset(table, each.entry)
        moves, names = list[int](), list[DefectName]()
        if each.preload and "preloaded_arguments" in wanted:
            count, there = each.numbers, each.pointers
            moves = [_MOVE | each.numbers_at + n << 16 | there + n for n in reversed(range(count))]
            names.append("preloaded_arguments")
        if machine.isa.packed_work_items and each.work_item_axes > 1 and "packed_work_items" in wanted:
            moves += [word for pair in _PACKING[: each.work_item_axes - 1] for word in pair]
            names.append("packed_work_items")
        if moves and _begin_with(made, place, moves):
            done += names
    for section in table:
        if section.flags & elf.EXECUTABLE:
            done += change_instructions(made, section.offset, section.size, machine.name, wanted)
    found = tuple(name for name in _NAMES if name in done)
    return bytes(made) + mark(found), found


def as_told(data: bytes, gfx: str) -> bytes:
    """A code object of ``gfx`` as one of the GPU that gem5 is told instead.

    gem5 counts vector registers by four (``gpu_command_processor.cc``). v25.0 and later preload arguments by
    page tables that only a full system has (``hsa_queue_entry.hh``); so do the kernel's first 256 bytes.
    A kernel of more than :data:`MOST_REGISTERS` registers asks for so many: see :func:`granted`.

    Raises:
        struct.error or ValueError: a damaged object.
    """
    machine = gpu(gfx)
    if not machine.runs_as:
        return data
    made, table = bytearray(data), elf.sections(data)
    made[_MACHINE] = gpu(machine.told).elf_machine
    for symbol in elf.symbols(data, table):
        if symbol.name.endswith(".kd"):
            place = elf.file_offset(table, symbol.value)
            (settings,) = struct.unpack_from("<I", data, place + 48)
            registers = min(registers_of(settings, gfx), MOST_REGISTERS)
            told = registers // gpu(machine.told).isa.vector_granule - 1
            struct.pack_into("<I", made, place + 48, settings & ~_REGISTERS | told)
            struct.pack_into("<H", made, place + 58, 0)
    return bytes(made)


def registers_of(settings: int, gfx: str) -> int:
    """Vector registers of a kernel, from COMPUTE_PGM_RSRC1."""
    return ((settings & _REGISTERS) + 1) * gpu(gfx).isa.vector_granule


def granted(registers: int, block: int) -> int:
    """Vector registers that gem5 gives a wavefront of a kernel with so many.

    It rounds what the descriptor asks for up to ``block`` (``vreg-min-alloc``) and checks accesses against
    that (``dyn_pool_manager.cc`` minAllocatedElements, ``static_register_manager_policy.cc`` mapVgpr).
    ``accum_offset`` is added where an accumulation register is accessed (``vop3p.cc``); statistics by
    register (``wavefront.cc``, vecReads, as long as the descriptor says) take its number without.
    """
    return -(-min(registers, MOST_REGISTERS) // block) * block


def _begin_with(data: bytearray, place: int, moves: list[int]) -> bool:
    """Put instructions before a kernel's own, into the padding of its prologue; whether they fit."""
    words = list(struct.unpack_from(f"<{_PROLOGUE_WORDS}I", data, place))
    at = next((number for number, word in enumerate(words) if word & 0xFFFF0000 == _BRANCH), None)
    if at is None or at + 1 + (words[at] & 0xFFFF) != _PROLOGUE_WORDS:
        return False
    padding = words[at + 1 :]
    if len(padding) < len(moves) or any(word != _NOP for word in padding):
        return False
    new = [*moves, *words[:at], words[at] - len(moves), *padding[len(moves) :]]
    struct.pack_into(f"<{_PROLOGUE_WORDS}I", data, place, *new)
    return True


def change_instructions(
    data: bytearray, start: int, size: int, gfx: str, wanted: Collection[DefectName]
) -> Iterator[DefectName]:
    """Change instructions of a section in place; the defect of each change."""
    for place, words in walked(data, start, size):
        first = words[0]
        if gfx == "gfx90a" and first >> 16 & 0xFFFF == 0xD3E6 and "matrix_numbers" in wanted:
            struct.pack_into("<I", data, place, first & ~(0x7F << 16) | 0x60 << 16)
            yield "matrix_numbers"
        elif gfx not in ("gfx90a", "gfx942"):
            continue
        elif first >> 26 == 0x34 and first >> 16 & 0x3FF == 0x104 and "misread_fmac" in wanted:
            addend = 256 + (first & 0xFF)
            struct.pack_into(
                "<2I", data, place, first & ~(0x3FF << 16) | 0x1CC << 16, words[1] | addend << 18
            )
            yield "misread_fmac"
        elif first >> 26 == 0x38 and first >> 18 & 0x7F in (0x28, 0x29) and "refused_caches" in wanted:
            made = (_WAIT, _NOP) if first >> 18 & 1 == 0 else INVALIDATE
            struct.pack_into("<2I", data, place, *made)
            yield "refused_caches"


def walked(data: bytes | bytearray, start: int, size: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Place and words of each instruction of a section of GFX9's code, one after the other."""
    place = start
    while place + 4 <= start + size:
        (first,) = struct.unpack_from("<I", data, place)
        count = min(_words(first), (start + size - place) // 4)
        yield place, struct.unpack_from(f"<{count}I", data, place)
        place += 4 * count


def _words(first: int) -> int:
    """Words of an instruction that begins with this one."""
    if first >> 31 == 0:  # VOP1, VOP2, VOPC: a literal, SDWA or DPP; v_madmk and its like
        return 2 if first & 0x1FF in (249, 250, 255) or first >> 25 in (0x17, 0x18, 0x24, 0x25) else 1
    if first >> 30 == 2:  # scalar
        form = first >> 23
        if form == 0x17F:  # SOPP
            return 1
        if form in (0x17D, 0x17E) or first >> 28 != 0xB:  # SOP1, SOPC, SOP2
            both = form != 0x17D and first >> 8 & 0xFF == 255
            return 2 if first & 0xFF == 255 or both else 1
        return 2 if first >> 23 & 0x1F == 20 else 1  # SOPK: s_setreg_imm32_b32
    return 2


def mark(names: Iterable[str]) -> bytes:
    """A line for an object or its assembly, which says what was changed; empty: nothing."""
    text = "".join(f" {name}" for name in names)
    return f"apuflow-changed:{text}\n".encode() if text else b""


def changes_of(data: bytes) -> tuple[str, ...]:
    """The defects that a code object was changed for, by this project."""
    return tuple(dict.fromkeys(name.decode() for found in _MARK.findall(data) for name in found.split()))


def finishing(compiler: Compiler, present: Collection[DefectName]) -> Compiler:
    """The compiler with :func:`changed` applied to its objects."""
    names = [name for name in _NAMES if name in present]
    identity = "\n".join((compiler.identity, f"object changes {OBJECT_CHANGES_VERSION}", *names))
    return replace(compiler, identity=identity, finished=lambda data: changed(data, present)[0])
