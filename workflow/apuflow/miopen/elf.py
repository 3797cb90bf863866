"""Headers, sections and symbols of a 64-bit little-endian ELF file (System V ABI, chapter 4).

Functions raise struct.error or ValueError where the file ends too early.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

EM_AMDGPU: Final = 224
PROGBITS, NOTES, NOBITS, DYNAMIC_SYMBOLS = 1, 7, 8, 11
ALLOCATED: Final = 2
SEGMENT: Final = struct.Struct("<IIQQQQQQ")
SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
HEADER_BYTES: Final = _HEADER.size


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
    """One symbol."""

    name: str
    value: int
    size: int


def header(data: bytes) -> Header:
    """The file's header."""
    return Header(*_HEADER.unpack_from(data))


def sections(data: bytes) -> list[Section]:
    """The sections, in the order of their numbers."""
    found = header(data)
    places = (found.sections_offset + number * found.section_size for number in range(found.sections))
    return [Section(*SECTION.unpack_from(data, place)) for place in places]


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
