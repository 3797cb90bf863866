"""A code object whose variables hold what the program has written there."""

from __future__ import annotations

import struct
from typing import Final

import numpy as np

from apuflow.capture.journal import Bytes
from apuflow.miopen import elf

_LOAD, _WRITE = 1, 2
_SEGMENT: Final = struct.Struct("<IIQQQQQQ")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_PAGE: Final = 4096


def with_variables(data: bytes, image: Bytes, initial: Bytes) -> bytes:
    """A code object that loads as ``image``.

    Variables without a value in the file (NOBITS) get room behind its end. A variable that held an address of
    its own code object, and does no longer, is not relocated.

    Args:
        initial: what it loads as before.
    """
    made, head = bytearray(data), elf.header(data)
    for each in elf.relocations(data, elf.sections(data)):
        held_there = slice(each.place, each.place + 8)
        if not np.array_equal(image[held_there], initial[held_there]):
            struct.pack_into("<Q", made, each.offset + 8, 0)
    for number in range(head.segments):
        place = head.segments_offset + number * head.segment_size
        kind, flags, offset, address, physical, stored, size, alignment = _SEGMENT.unpack_from(data, place)
        if kind != _LOAD or not flags & _WRITE:
            continue
        held = image[address : address + size].tobytes()
        if stored == size:
            made[offset : offset + size] = held
            continue
        made += bytes((address - len(made)) % _PAGE)
        moved = len(made)
        made += held
        _SEGMENT.pack_into(made, place, kind, flags, moved, address, physical, size, size, alignment)
        _move_sections(made, address, size, moved)
    return bytes(made)


def _move_sections(made: bytearray, address: int, size: int, moved: int) -> None:
    """The sections of a segment lie where it lies in the file."""
    head = elf.header(bytes(made[:64]))
    for number in range(head.sections):
        place = head.sections_offset + number * head.section_size
        section = elf.Section(*_SECTION.unpack_from(made, place))
        if section.flags & elf.ALLOCATED and address <= section.address < address + size:
            kind = elf.PROGBITS if section.kind == elf.NOBITS else section.kind
            there = moved + section.address - address
            _SECTION.pack_into(made, place, *section._replace(kind=kind, offset=there))
