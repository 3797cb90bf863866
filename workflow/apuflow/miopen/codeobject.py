"""Read an AMDGPU code object just far enough to know that it is whole and what it holds.

Source: LLVM's "User Guide for AMDGPU Backend" (ELF header flags, ``<kernel>.kd`` descriptors).

Why not pyelftools: it does not look whether a file is whole, so most of these checks would stay; in a damaged
file it raises whatever it stumbles over; and it takes some 50 times as long for an object (measured).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from apuflow.core.errors import EngineError

EM_AMDGPU: Final = 224
MACHINES: Final = {0x28: "gfx801", 0x29: "gfx802", 0x2A: "gfx803", 0x2C: "gfx900", 0x2D: "gfx902"}
"""EF_AMDGPU_MACH (the low byte of e_flags) of the GPUs that gem5 models, and gfx802."""

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_NOBITS, _DYNSYM = 8, 11
_DESCRIPTOR_BYTES = 64


class BrokenObject(EngineError):
    """A file that is not a whole AMDGPU code object."""


@dataclass(frozen=True)
class CodeObject:
    """What a code object says about itself.

    Args:
        gfx: GPU architecture it was compiled for.
        kernels: names of its kernels.
        size: bytes.
    """

    gfx: str
    kernels: tuple[str, ...]
    size: int


def read_code_object(data: bytes, file: str | Path | None = None) -> CodeObject:
    """Check that ``data`` is a whole AMDGPU ELF object with at least one kernel, and describe it.

    Raises:
        BrokenObject: it is not; the message says what is missing.
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


def _read(data: bytes) -> CodeObject:
    if len(data) < _HEADER.size:
        raise ValueError("shorter than an ELF header")
    header = _HEADER.unpack_from(data)
    if header[0][:6] != b"\x7fELF\x02\x01":
        raise ValueError("no 64-bit little-endian ELF header")
    if header[2] != EM_AMDGPU:
        raise ValueError(f"machine {header[2]} instead of AMDGPU")
    flags, segment_size, segments, section_size, sections = header[7], *header[9:13]
    if not segments or not sections:
        raise ValueError("no program or section headers")
    if segment_size != _SEGMENT.size or section_size != _SECTION.size:
        raise ValueError("unknown header sizes")
    _within(data, "section headers", header[6], sections * section_size)
    _within(data, "program headers", header[5], segments * segment_size)
    for number in range(segments):
        segment = _SEGMENT.unpack_from(data, header[5] + number * segment_size)
        _within(data, f"segment {number}", segment[2], segment[5])
    table = [_SECTION.unpack_from(data, header[6] + number * section_size) for number in range(sections)]
    for number, section in enumerate(table):
        if section[1] != _NOBITS:
            _within(data, f"section {number}", section[4], section[5])
    kernels = _kernels(data, table)
    if not kernels:
        raise ValueError("it holds no kernel")
    machine = flags & 0xFF
    return CodeObject(MACHINES.get(machine, f"machine 0x{machine:x}"), kernels, len(data))


def _within(data: bytes, what: str, offset: int, size: int) -> None:
    if offset + size > len(data):
        raise ValueError(f"{what} end at byte {offset + size}")


def _kernels(data: bytes, table: list[tuple[int, ...]]) -> tuple[str, ...]:
    """Names of the kernel descriptors in the dynamic symbol table."""
    names = []
    for section in table:
        if section[1] != _DYNSYM:
            continue
        if section[6] >= len(table):
            raise ValueError("the symbol table names no string table")
        strings = table[section[6]]
        for position in range(section[4], section[4] + section[5] - _SYMBOL.size + 1, _SYMBOL.size):
            symbol = _SYMBOL.unpack_from(data, position)
            start = strings[4] + symbol[0]
            name = data[start : data.index(b"\0", start)].decode()
            if name.endswith(".kd") and symbol[5] == _DESCRIPTOR_BYTES:
                names.append(name.removesuffix(".kd"))
    return tuple(names)
