"""Code objects for AMDGPU: 64-bit little-endian ELF files (System V ABI, chapter 4), read and checked.

Source: LLVM's "User Guide for AMDGPU Backend" (header flags, ``<kernel>.kd`` descriptors). pyelftools does
not check for truncation, raises arbitrary errors on damaged files, and takes 50 times as long (measured).
Functions but ``read_code_object`` raise struct.error or ValueError where the file ends too early.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from apuflow.core.errors import EngineError
from apuflow.core.gpus import GPUS

_AMDGPU: Final = 224
PROGBITS, RELOCATIONS, NOTES, NOBITS, DYNAMIC_SYMBOLS = 1, 4, 7, 8, 11
RELATIVE64: Final = 13
"""R_AMDGPU_RELATIVE64: the loaded object's address plus a number."""
ALLOCATED, EXECUTABLE = 2, 4
_SEGMENT: Final = struct.Struct("<IIQQQQQQ")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_RELOCATION: Final = struct.Struct("<QQq")
_DESCRIPTOR_BYTES = 64
_MACHINES: Final = {gpu.elf_machine: gpu.name for gpu in GPUS.values()}


class Header(NamedTuple):
    """What the file begins with; sizes are of one entry, offsets in bytes."""

    identity: bytes
    kind: int
    machine: int
    version: int
    entry: int
    segments_offset: int
    sections_offset: int
    flags: int
    header_size: int
    segment_size: int
    segments: int
    section_size: int
    sections: int
    names: int


class Section(NamedTuple):
    """One section; ``address`` is in memory, ``offset`` in the file, ``link`` another section's number."""

    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


class Symbol(NamedTuple):
    """One dynamic symbol; ``size`` in bytes."""

    name: str
    value: int
    size: int


class Relocation(NamedTuple):
    """A variable that holds an address when the object is loaded.

    Attributes:
        place: of the variable, in memory. kind: low half R_AMDGPU_..., high half the number of a symbol.
        offset: of this entry in the file.
    """

    place: int
    kind: int
    addend: int
    offset: int


def header(data: bytes) -> Header:
    """The file's header."""
    return Header(*_HEADER.unpack_from(data))


def sections(data: bytes) -> list[Section]:
    """The sections, in the order of their numbers."""
    found = header(data)
    places = (found.sections_offset + number * found.section_size for number in range(found.sections))
    return [Section(*_SECTION.unpack_from(data, place)) for place in places]


def symbols(data: bytes, table: Sequence[Section]) -> Iterator[Symbol]:
    """The symbols of the dynamic symbol tables."""
    for section in table:
        if section.kind != DYNAMIC_SYMBOLS:
            continue
        if section.link >= len(table):
            raise ValueError("the symbol table names no string table")
        strings = table[section.link].offset
        for place in range(section.offset, section.offset + section.size - _SYMBOL.size + 1, _SYMBOL.size):
            name, _info, _other, _index, value, size = _SYMBOL.unpack_from(data, place)
            begin = strings + name
            yield Symbol(data[begin : data.index(b"\0", begin)].decode(), value, size)


def relocations(data: bytes, table: Sequence[Section]) -> Iterator[Relocation]:
    """The relocations of a loaded object, without those of kind 0."""
    for section in table:
        if section.kind != RELOCATIONS or not section.flags & ALLOCATED:
            continue
        for place in range(section.offset, section.offset + section.size, _RELOCATION.size):
            address, kind, addend = _RELOCATION.unpack_from(data, place)
            found = Relocation(address, kind, addend, place)
            if found.kind:
                yield found


def file_offset(table: Sequence[Section], address: int) -> int:
    """Where an address of the loaded object stands in its file."""
    for section in table:
        loaded = section.kind != NOBITS and section.flags & ALLOCATED
        if loaded and section.address <= address < section.address + section.size:
            return section.offset + address - section.address
    raise ValueError(f"address {address:#x} lies in no section")


class BrokenObject(EngineError):
    """A file that is not a whole AMDGPU code object."""


class CodeObject(NamedTuple):
    """The GPU architecture that a code object is for, and the names of its kernels."""

    gfx: str
    kernels: tuple[str, ...]


def read_code_object(data: bytes, file: str | Path | None = None) -> CodeObject:
    """Check that ``data`` is a whole AMDGPU ELF object with at least one kernel, and describe it.

    Raises:
        BrokenObject: the object is not whole; the message names the missing part.
    """
    try:
        return _read(data)
    except (struct.error, UnicodeDecodeError, ValueError) as error:
        raise BrokenObject(
            f"not a whole AMDGPU code object: {error}",
            file=file,
            value=f"{len(data)} bytes",
            remedy="remove it and build again; the compiler's messages are in the .log file beside it",
        ) from None


def code_bytes(data: bytes) -> bytes:
    """The parts of a code object that a GPU loads: instructions, constants and kernel descriptors.

    Args:
        data: an object that ``read_code_object`` takes.
    """
    loaded = (each for each in sections(data) if each.kind == PROGBITS and each.flags & ALLOCATED)
    return b"".join(data[each.offset : each.offset + each.size] for each in loaded)


def _read(data: bytes) -> CodeObject:
    if len(data) < _HEADER.size:
        raise ValueError("shorter than an ELF header")
    found = header(data)
    if found.identity[:6] != b"\x7fELF\x02\x01":
        raise ValueError("no 64-bit little-endian ELF header")
    if found.machine != _AMDGPU:
        raise ValueError(f"machine {found.machine} instead of AMDGPU")
    if not found.segments or not found.sections:
        raise ValueError("no program or section headers")
    if found.segment_size != _SEGMENT.size or found.section_size != _SECTION.size:
        raise ValueError("unknown header sizes")
    _within(data, "section headers", found.sections_offset, found.sections * found.section_size)
    _within(data, "program headers", found.segments_offset, found.segments * found.segment_size)
    for number in range(found.segments):
        segment = _SEGMENT.unpack_from(data, found.segments_offset + number * found.segment_size)
        _within(data, f"segment {number}", segment[2], segment[5])
    table = sections(data)
    for number, section in enumerate(table):
        if section.kind != NOBITS:
            _within(data, f"section {number}", section.offset, section.size)
    kernels = tuple(
        symbol.name.removesuffix(".kd")
        for symbol in symbols(data, table)
        if symbol.name.endswith(".kd") and symbol.size == _DESCRIPTOR_BYTES
    )
    if not kernels:
        raise ValueError("it holds no kernel")
    machine = found.flags & 0xFF
    return CodeObject(_MACHINES.get(machine, f"machine 0x{machine:x}"), kernels)


def _within(data: bytes, what: str, offset: int, size: int) -> None:
    if offset + size > len(data):
        raise ValueError(f"{what} end at byte {offset + size}")
