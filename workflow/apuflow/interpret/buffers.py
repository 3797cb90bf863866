"""MUBUF and MTBUF: memory through a descriptor of four scalar registers.

Source: AMD's manuals "Vega Instruction Set Architecture", chapter 8.1 (addresses, range, formats), and
"Graphics Core Next Architecture, Generation 3", chapter 8.1, for the size of swizzled elements. Where an
instruction has an index, NUM_RECORDS counts records on Vega (Mesa, ac_descriptors.c).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from apuflow.interpret.arithmetic import Array
from apuflow.interpret.as_gem5 import mixed_words
from apuflow.interpret.atomics import atomic, operation
from apuflow.interpret.encodings import VECTOR, Instruction, lacking
from apuflow.interpret.moves import (
    LANE,
    Width,
    check_places,
    data_register,
    extended,
    from_registers,
    leave_out,
    load,
    save,
    scattered,
    to_registers,
    width_of,
)
from apuflow.interpret.operands import scalar
from apuflow.interpret.state import M0, Lanes, Step, Waves

_Places = Callable[[int, int], tuple[Array, Lanes]]


class _Descriptor(NamedTuple):
    """Fields of a buffer's descriptor, (wavefronts, 1) each."""

    base: Array
    stride: Array
    records: Array
    swizzled: Array
    by_lane: Array
    element: Array
    index_stride: Array
    formats: Array


def _descriptor(waves: Waves, resource: int) -> _Descriptor:
    words = waves.s[resource : resource + 4].astype(np.int64)[:, :, None]
    by_lane = words[3] >> 23 & 1
    stride = words[1] >> 16 & 0x3FFF | np.where(by_lane, words[3] >> 15 & 0xF, 0) << 14
    element, index = words[3] >> 19 & 3, words[3] >> 21 & 3
    return _Descriptor(
        words[0] | (words[1] & 0xFFFF) << 32,
        stride,
        words[2],
        words[1] >> 31 != 0,
        by_lane,
        np.where(element == 0, 4, 2 << element),
        8 << index,
        words[3],
    )


def _places_of(found: Instruction, waves: Waves, at: _Descriptor) -> _Places:
    """Addresses of the bytes from one on in each lane's record, and the lanes for which they are in range."""
    register = found.sources[0] - VECTOR
    has_index = "idxen" in found.flags
    extra = np.broadcast_to(scalar(found.sources[2], "u", 0)(waves), len(waves)).astype(np.int64)[:, None]
    index = at.by_lane * LANE + (waves.v[register].astype(np.int64) if has_index else 0)
    inside = np.int64(found.offsets[0])
    if "offen" in found.flags:
        inside = inside + waves.v[register + has_index].astype(np.int64)

    def places(first: int, size: int) -> tuple[Array, Lanes]:
        offset = inside + first
        block, rest = index // at.index_stride, index % at.index_stride
        swizzled = (block * at.stride + offset // at.element * at.element) * at.index_stride
        swizzled = swizzled + rest * at.element + offset % at.element
        place = np.where(at.swizzled, swizzled, index * at.stride + offset)
        by_record = (index < at.records) & (~at.swizzled | (offset < at.stride))
        by_byte = place + size <= at.records - extra
        structured = (at.stride != 0) & (at.swizzled | has_index)
        private = (at.by_lane != 0) & (not has_index)
        valid = np.broadcast_to(private | np.where(structured, by_record, by_byte), waves.exec.shape)
        return np.broadcast_to(at.base + extra + place, waves.exec.shape), waves.exec & valid

    return places


def buffer_step(found: Instruction, mixes: bool, moves: bool = True) -> Step | None:
    """What an instruction does; None: the interpreter does not have it.

    Args:
        mixes: ``buffer_pairs``. moves: it moves data, and does not only tell which addresses it accesses.
    """
    if "_format_" in found.name:
        return format_step(found)
    kind, _, rest = found.name.partition("_")[2].partition("_")
    known = operation(rest) if kind == "atomic" else None
    width = Width(known.size) if known else width_of(rest)
    if width is None or kind not in ("load", "store", "atomic"):
        return None
    to_lds = "lds" in found.flags
    data = data_register(found, found.target)
    steps = 1 if kind == "atomic" else max(1, width.size // 4)
    piece = width.size if steps == 1 else 4

    def step(waves: Waves) -> None:
        places = _places_of(found, waves, _descriptor(waves, found.sources[1]))
        values = [np.zeros(waves.exec.shape, np.uint32) for _ in range(max(1, width.size // 4))]
        register = data(waves)
        mixed = None
        if mixes and kind == "store" and steps in (2, 3):
            sent = from_registers(waves, register, width, waves.exec)
            mixed = [scattered(each, waves.exec) for each in mixed_words(sent, waves.exec, 4, steps)]
        for number in range(steps):
            where, lanes = places(4 * number, piece)
            if waves.watch is not None and number == 0:
                waves.watch.vector(found, waves, where, width.size, lanes)
            inside = check_places(waves, found, where, where[lanes], piece)
            if not moves:
                if kind != "load":
                    leave_out(waves, inside, piece)
                continue
            if known is not None:
                sent = [waves.v[register + each][lanes] for each in range(known.size // 4 * known.operands)]
                for each, old in enumerate(atomic(waves.memory, inside, known, sent)):
                    values[each][lanes] = old
            elif kind == "load":
                values[number][lanes] = load(waves.memory, inside, piece)[0]
            elif mixed is not None:
                save(waves.memory, inside, piece, [mixed[number][lanes]])
            else:
                narrow = Width(piece, half=width.half)
                save(waves.memory, inside, piece, from_registers(waves, register + number, narrow, lanes))
        if not moves:
            return
        if to_lds:
            _to_lds(found, waves, values[0], width)
        elif kind == "load" or ("glc" in found.flags and known is not None):
            to_registers(waves, register, values, width, None)

    return step


def _to_lds(found: Instruction, waves: Waves, value: Array, width: Width) -> None:
    """Words of the active lanes side by side from M0 plus the instruction's offset on."""
    first = (waves.s[M0] & np.uint32(0xFFFF)).astype(np.int64) + found.offsets[0]
    places = (first + waves.group * waves.lds.stride)[:, None] + 4 * LANE
    save(waves.lds, places[waves.exec], 4, [extended(value, width)[waves.exec]])


_BITS: Final = {
    **{1: (8,), 2: (16,), 3: (8, 8), 4: (32,), 5: (16, 16), 10: (8,) * 4, 11: (32,) * 2, 12: (16,) * 4},
    **{13: (32,) * 3, 14: (32,) * 4},
}
"""Bits of the components of a DATA_FORMAT."""
_UNCHANGED: Final = (4, 5, 7)
"""NUM_FORMAT of whole and float numbers: a component as wide as its register is not converted."""


def format_step(found: Instruction) -> Step:
    """What an instruction with a data format does: each lane is in range as a whole, or not at all."""
    small = "d16" in found.name
    count = len(found.name.rpartition("_")[2])
    width = 16 if small else 32
    high = "hi" in found.name
    loads = "_load_" in found.name
    data = found.target

    def step(waves: Waves) -> None:
        at = _descriptor(waves, found.sources[1])
        bits = _components(found, at.formats, width)
        size = sum(bits) // 8
        where, lanes = _places_of(found, waves, at)(0, size)
        if waves.watch is not None:
            waves.watch.vector(found, waves, where, size, lanes)
        inside = check_places(waves, found, where, where[lanes], size)
        selects = [int(at.formats[0, 0]) >> 3 * number & 7 for number in range(4)]
        for number in range(count):
            register, half = (
                (data + number // 2, 1 if high else number % 2) if small else (data + number, None)
            )
            kept = Width(width // 8, half=half)
            select = number if found.encoding == "mtbuf" else selects[number] - 4
            if loads:
                value = np.full(waves.exec.shape, max(0, select + 4) if select < 0 else 0, np.uint32)
                if 0 <= select < len(bits):
                    value[lanes] = load(waves.memory, inside + select * width // 8, width // 8)[0]
                    value[~lanes] = 0
                to_registers(waves, register, [value], kept, None)
            elif number < len(bits):
                sent = from_registers(waves, register, kept, lanes)
                save(waves.memory, inside + number * width // 8, width // 8, sent)

    return step


def _components(found: Instruction, words: Array, width: int) -> tuple[int, ...]:
    """Bits of each component; formats whose components are converted are not there.

    Raises:
        EngineError: such a format.
    """
    if found.encoding == "mtbuf":
        data, number = found.immediate & 15, found.immediate >> 4 & 7
    else:
        data, number = int(words[0, 0]) >> 15 & 15, int(words[0, 0]) >> 12 & 7
    bits = _BITS.get(data, ())
    if number not in _UNCHANGED or not bits or bits[0] != width:
        raise lacking(found, f" with DATA_FORMAT {data} and NUM_FORMAT {number}")
    return bits
