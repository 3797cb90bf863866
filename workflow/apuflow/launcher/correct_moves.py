"""Replace instructions by which gem5 moves words to wrong places: stores and lane swizzles.

Sources: AMD's "Vega Instruction Set Architecture" (DS_SWIZZLE_B32, DS_BPERMUTE_B32, MUBUF); LLVM's "Syntax of
AMDGPU Instruction Modifiers" (``swizzle(...)``).
"""

from __future__ import annotations

import re
from typing import Final

_STORE = re.compile(
    r"buffer_store_dwordx(?P<words>[23]) v\[(?P<first>\d+):\d+\], (?P<where>.*?)"
    r"(?: offset:(?P<offset>\d+))?(?P<cache>(?: (?:glc|slc))*)$"
)
_LARGEST_OFFSET: Final = (1 << 12) - 1
"""Largest offset of a buffer instruction in bytes."""
_SWIZZLE = re.compile(
    r"ds_swizzle_b32 (?P<to>v\d+), (?P<of>v\d+)"
    r"(?: offset:(?:(?P<number>\d+|0x[0-9a-f]+)|swizzle\((?P<mode>\w+),\s*(?P<given>[^)]*)\)))?$"
)
_ALL: Final = 0x1F
"""The bits of a lane's number within its half of a wavefront."""
_QUADS, _OTHERS = 0x8000, 0xC000
"""From the first number on, patterns exchange among four lanes; from the second on they rotate (GFX9)."""


def single_stores(instruction: str, spare: int) -> tuple[str, ...] | None:
    """Store each word separately. Waits count more stores, so they are as long or longer."""
    del spare
    found = _STORE.match(instruction)
    if found is None:
        return None
    words, offset = int(found["words"]), int(found["offset"] or 0)
    if offset + 4 * (words - 1) > _LARGEST_OFFSET:
        return None
    places = [offset + 4 * number for number in range(words)]
    return tuple(
        f"buffer_store_dword v{int(found['first']) + number}, {found['where']}"
        + (f" offset:{place}" if place else "")
        + found["cache"]
        for number, place in enumerate(places)
    )


def permuted(instruction: str, spare: int) -> tuple[str, ...] | None:
    """Use ``ds_bpermute_b32``, which reads four times the source lane's number from a register."""
    found = _SWIZZLE.match(instruction)
    pattern = _pattern(found) if found else None
    if found is None or pattern is None or pattern >= _OTHERS:
        return None
    lane = f"v{spare}"
    number = (f"v_mbcnt_lo_u32_b32 {lane}, -1, 0", f"v_mbcnt_hi_u32_b32 {lane}, -1, {lane}")
    other = _in_quads(pattern, spare) if pattern & _QUADS else _by_bits(pattern, lane)
    read = (f"v_lshlrev_b32 {lane}, 2, {lane}", f"ds_bpermute_b32 {found['to']}, {lane}, {found['of']}")
    return *number, *other, *read


def _in_quads(pattern: int, spare: int) -> tuple[str, ...]:
    """The lane among four that the pattern names by two bits per lane."""
    lane, within, table = (f"v{spare + number}" for number in range(3))
    return (
        f"v_lshlrev_b32 {within}, 1, {lane}",
        f"v_and_b32 {within}, 6, {within}",
        f"v_mov_b32 {table}, {pattern & 0xFF:#x}",
        f"v_lshrrev_b32 {table}, {within}, {table}",
        f"v_and_b32 {table}, 3, {table}",
        f"v_and_b32 {lane}, 60, {lane}",
        f"v_or_b32 {lane}, {lane}, {table}",
    )


def _by_bits(pattern: int, lane: str) -> tuple[str, ...]:
    """``((lane & and) | or) ^ xor`` of the lower five bits; the halves of a wavefront stay apart."""
    kept, set_, turned = pattern & _ALL, pattern >> 5 & _ALL, pattern >> 10 & _ALL
    return (
        *((f"v_and_b32 {lane}, {kept | 32}, {lane}",) if kept != _ALL else ()),
        *((f"v_or_b32 {lane}, {set_}, {lane}",) if set_ else ()),
        *((f"v_xor_b32 {lane}, {turned}, {lane}",) if turned else ()),
    )


def _pattern(found: re.Match[str]) -> int | None:
    """The 16 bits of a swizzle; None: an unknown mode."""
    if found["mode"] is None:
        return int(found["number"] or "0", 0)
    given = [word.strip().strip('"') for word in found["given"].split(",")]
    match found["mode"], given:
        case "QUAD_PERM", [*lanes] if len(lanes) == 4:
            return _QUADS | sum(int(lane) << 2 * number for number, lane in enumerate(lanes))
        case "BITMASK_PERM", [bits] if re.fullmatch("[01pi]{5}", bits):
            return _of_bits(bits)
        case "BROADCAST", [size, lane]:
            return (_ALL & -int(size)) | int(lane) << 5
        case "SWAP", [size]:
            return _ALL | int(size) << 10
        case "REVERSE", [size]:
            return _ALL | (int(size) - 1) << 10
        case _:
            return None


def _of_bits(bits: str) -> int:
    """The pattern of five letters, the highest bit first: 0, 1, p (the lane's own), i (its opposite)."""
    pattern = 0
    for place, letter in enumerate(reversed(bits)):
        pattern |= {"0": 0, "1": 1 << 5, "p": 1, "i": 1 | 1 << 10}[letter] << place
    return pattern
