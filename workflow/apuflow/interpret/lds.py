"""DS instructions: LDS, its atomics, and values of other lanes.

Source: AMD's manual "Vega Instruction Set Architecture", chapters 11 and 12.12.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

import numpy as np

from apuflow.interpret.arithmetic import Array
from apuflow.interpret.as_gem5 import mixed_words
from apuflow.interpret.atomics import atomic, operation
from apuflow.interpret.encodings import VECTOR, Instruction, lacking
from apuflow.interpret.moves import (
    LANE,
    Width,
    data_register,
    from_registers,
    load,
    nothing,
    save,
    scattered,
    to_registers,
    who,
    width_of,
)
from apuflow.interpret.operands import put
from apuflow.interpret.state import M0, OutOfBounds, Step, Waves

_DS: Final = re.compile(r"ds_(read|write)(2?)(st64)?(_addtid)?_((?:[bui]\d+)(?:_d16(?:_hi)?)?)")


def lds_step(found: Instruction, defects: Collection[str] = (), *, data: bool = True) -> Step:
    """What a DS instruction does; without ``data`` it only tells which places it accesses.

    Raises:
        EngineError: the interpreter does not have it.
    """
    step = _ds(found, "lds_triples" in defects, data)
    if step is None:
        raise lacking(found)
    return step


def plain_lds(found: Instruction) -> tuple[Width, int, bool] | None:
    """Width, number of accesses of a lane, and whether it reads, of a DS instruction that reads or writes."""
    form = _DS.fullmatch(found.name)
    width = width_of(form[5]) if form and not form[4] else None
    return None if form is None or width is None else (width, 2 if form[2] else 1, form[1] == "read")


def _ds(found: Instruction, mixes: bool, moves: bool) -> Step | None:
    if found.name in ("ds_nop",):
        return nothing
    if found.name in ("ds_swizzle_b32", "ds_permute_b32", "ds_bpermute_b32"):
        return _exchange(found)
    if found.name in ("ds_append", "ds_consume"):
        return _counter(found)
    if "_src2_" in found.name:
        return _from_second(found)
    form = _DS.fullmatch(found.name)
    if not form:
        return _ds_exchange2(found) if "xchg2" in found.name else _ds_atomic(found)
    width = width_of(form[5])
    if width is None:
        return None
    size = width.size
    scale = size * (64 if form[3] else 1)
    offsets = (
        [each * scale for each in found.offsets] if form[2] else [found.offsets[0] | found.offsets[1] << 8]
    )
    reads, by_lane = form[1] == "read", bool(form[4])
    goal = data_register(found, found.target)
    sources = [data_register(found, code) for code in found.sources[1:]]
    address = found.sources[0] - VECTOR

    def step(waves: Waves) -> None:
        if by_lane:
            first = waves.s[M0].astype(np.int64)[:, None] + 4 * LANE
        else:
            first = waves.v[address].astype(np.int64)
        for number, offset in enumerate(offsets):
            inside = first + offset & 0xFFFFFFFF
            check_lds(waves, found, inside, size)
            if waves.watch is not None:
                waves.watch.lds(waves, inside)
            if not moves:
                continue
            places = inside + (waves.group * waves.lds.stride)[:, None]
            if reads:
                values = load(waves.lds, np.where(waves.exec, places, 0), size)
                if mixes and size == 12:
                    read = mixed_words([each[waves.exec] for each in values], waves.exec, 3, 4)
                    values = [scattered(each, waves.exec) for each in read]
                to_registers(waves, goal(waves) + number * max(1, size // 4), values, width, None)
            else:
                values = from_registers(waves, sources[number](waves), width, waves.exec)
                if mixes and size == 12:
                    values = mixed_words(values, waves.exec, 4, 3)
                save(waves.lds, places[waves.exec], size, values)

    return step


def check_lds(waves: Waves, found: Instruction, inside: Array, size: int) -> None:
    """Raise OutOfBounds where an active lane's bytes are not inside LDS."""
    wrong = waves.exec & ((inside < 0) | (inside + size > waves.lds.size))
    if wrong.any():
        wave, lane = (int(each[0]) for each in np.nonzero(wrong))
        raise OutOfBounds(
            f"{size} bytes at byte {int(inside[wave, lane])} of {waves.lds.size} bytes of LDS; "
            f"{who(found, waves, wave, lane)}",
            remedy="correct the kernel's index, or the bytes of LDS that the launch gives",
        )


def _ds_atomic(found: Instruction) -> Step | None:
    word = found.name.removeprefix("ds_")
    returns = "_rtn" in word or word.startswith("wrxchg")
    known = operation(word.replace("_rtn", ""), lds=True)
    if known is None:
        return None
    offset = found.offsets[0] | found.offsets[1] << 8
    words = known.size // 4
    registers = [code - VECTOR for code in found.sources[1:]]

    def step(waves: Waves) -> None:
        inside = waves.v[found.sources[0] - VECTOR].astype(np.int64) + offset & 0xFFFFFFFF
        check_lds(waves, found, inside, known.size)
        if waves.watch is not None:
            waves.watch.lds(waves, inside)
        places = (inside + (waves.group * waves.lds.stride)[:, None])[waves.exec]
        values = [
            waves.v[registers[operand] + number][waves.exec]
            for operand in range(known.operands)
            for number in range(words)
        ]
        old = atomic(waves.lds, places, known, values)
        if returns:
            for number, value in enumerate(old):
                put(waves, waves.v[found.target + number], scattered(value, waves.exec), None)

    return step


def _ds_exchange2(found: Instruction) -> Step | None:
    """DS_WRXCHG2: two exchanges at offsets of their own."""
    known = operation("wrxchg_b" + found.name[-2:])
    assert known is not None
    scale, words = known.size * (64 if "st64" in found.name else 1), known.size // 4
    registers = [code - VECTOR for code in found.sources[1:]]

    def step(waves: Waves) -> None:
        old: list[Array] = []
        for number, offset in enumerate(found.offsets):
            inside = waves.v[found.sources[0] - VECTOR].astype(np.int64) + offset * scale
            check_lds(waves, found, inside, known.size)
            places = (inside + (waves.group * waves.lds.stride)[:, None])[waves.exec]
            values = [waves.v[registers[number] + each][waves.exec] for each in range(words)]
            old += atomic(waves.lds, places, known, values)
        for number, value in enumerate(old):
            put(waves, waves.v[found.target + number], scattered(value, waves.exec), None)

    return step


def _from_second(found: Instruction) -> Step | None:
    """The operand stands in LDS, as many words from the address as the offset's lower 15 bits say."""
    write = found.name.startswith("ds_write")
    word = found.name.removeprefix("ds_").replace("_src2", "").replace("write_b", "wrxchg_b")
    known = operation(word, lds=True)
    offset = found.offsets[0] | (found.offsets[1] & 0x7F) << 8
    if known is None or known.operands > 1 or found.offsets[1] >> 7:
        return None
    distance = 4 * (offset - (1 << 15 if offset >> 14 else 0))
    assert not write or word.startswith("wrxchg")

    def step(waves: Waves) -> None:
        inside = waves.v[found.sources[0] - VECTOR].astype(np.int64)
        check_lds(waves, found, inside, known.size)
        check_lds(waves, found, inside + distance, known.size)
        places = (inside + (waves.group * waves.lds.stride)[:, None])[waves.exec]
        atomic(waves.lds, places, known, load(waves.lds, places + distance, known.size))

    return step


def _counter(found: Instruction) -> Step:
    """DS_APPEND, DS_CONSUME: a counter at M0 plus the offset grows or falls by the number of active lanes."""
    sign = 1 if found.name == "ds_append" else -1
    offset = found.offsets[0] | found.offsets[1] << 8

    def step(waves: Waves) -> None:
        inside = (waves.s[M0] & np.uint32(0xFFFF)).astype(np.int64) + offset
        check_lds(waves, found, np.broadcast_to(inside[:, None], waves.exec.shape), 4)
        places = inside + waves.group * waves.lds.stride >> 2
        for wave, place in enumerate(places):
            old = waves.lds.words[place].copy()
            waves.lds.words[place] += np.uint32(sign * int(waves.exec[wave].sum()) & 0xFFFFFFFF)
            waves.v[found.target, wave, waves.exec[wave]] = old

    return step


def _exchange(found: Instruction) -> Step:
    """Values of other lanes; a lane that is not active gives 0."""
    address, data = found.sources[0] - VECTOR, found.sources[1] - VECTOR
    offset = found.offsets[0] | found.offsets[1] << 8
    if found.name == "ds_swizzle_b32":
        lanes = _swizzled(offset)

        def swizzle(waves: Waves) -> None:
            value = waves.v[address][:, lanes]
            put(waves, waves.v[found.target], np.where(waves.exec[:, lanes], value, np.uint32(0)), None)

        return swizzle
    pushes = found.name == "ds_permute_b32"

    def step(waves: Waves) -> None:
        other = ((waves.v[address] + np.uint32(offset)) >> np.uint32(2) & np.uint32(63)).astype(np.int64)
        if pushes:
            value = np.zeros(waves.exec.shape, np.uint32)
            wave, lane = np.nonzero(waves.exec)
            value[wave, other[wave, lane]] = waves.v[data][wave, lane]
        else:
            active = np.take_along_axis(waves.exec, other, 1)
            value = np.where(active, np.take_along_axis(waves.v[data], other, 1), np.uint32(0))
        put(waves, waves.v[found.target], value, None)

    return step


def _swizzled(offset: int) -> Array:
    """The lane that each lane reads: DS_SWIZZLE_B32's modes FFT, rotation, four lanes, and 32 lanes."""
    mask = offset & 31
    if offset >= 0xE000:
        reversed_ = sum((LANE >> bit & 1) << 4 - bit for bit in range(5))
        return LANE & 32 | reversed_ >> mask.bit_count() | LANE & mask
    if offset >= 0xC000:
        distance = (offset >> 5 & 31) * (-1 if offset >> 10 & 1 else 1)
        return LANE & 32 | LANE & mask | LANE + distance & 31 & ~mask
    if offset >> 15:
        return LANE & ~3 | offset >> 2 * (LANE & 3) & 3
    low = ((LANE & 31) & mask | offset >> 5 & 31) ^ (offset >> 10 & 31)
    return LANE & 32 | low
