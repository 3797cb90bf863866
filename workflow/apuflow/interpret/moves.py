"""What memory and LDS instructions share: widths, bytes in memory, registers of lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apuflow.interpret.arithmetic import Array
from apuflow.interpret.encodings import VECTOR, Instruction
from apuflow.interpret.operands import put
from apuflow.interpret.state import LANES, Lanes, Lds, Memory, OutOfBounds, Waves

Places = NDArray[np.int64]
LANE: Final = np.arange(LANES, dtype=np.int64)


class Width(NamedTuple):
    """What one lane moves: bytes, sign extension, and the half of a register that 16-bit forms keep."""

    size: int
    signed: bool = False
    half: int | None = None


WIDTHS: Final = {
    "dword": 4, "dwordx2": 8, "dwordx3": 12, "dwordx4": 16, "dwordx8": 32, "dwordx16": 64,
    "b8": 1, "b16": 2, "b32": 4, "b64": 8, "b96": 12, "b128": 16,
    "byte": 1, "ubyte": 1, "sbyte": 1, "short": 2, "ushort": 2, "sshort": 2,
    "u8": 1, "i8": 1, "u16": 2, "i16": 2,
}  # fmt: skip
"""Bytes by the end of an instruction's name."""


def width_of(word: str) -> Width | None:
    """Of the end of an instruction's name, as ``ushort`` or ``short_d16_hi``; None: not known."""
    base, *rest = word.split("_d16")
    size = WIDTHS.get(base)
    if size is None:
        return None
    half = None if not rest else 1 if rest[0] == "_hi" else 0
    return Width(size, base in ("sbyte", "sshort", "i8", "i16"), half)


def load(store: Memory | Lds, places: Places, size: int) -> list[Array]:
    """Words of 32 bits from places in bytes; of a byte or a 16-bit word, one with zeros above."""
    if store.deferred is not None:
        store.deferred.reading(places, size)
    if size < 4:
        value = store.bytes[places].astype(np.uint32)
        return [value if size == 1 else value | store.bytes[places + 1].astype(np.uint32) << np.uint32(8)]
    if (places & 3).any():
        parts = [
            [store.bytes[places + 4 * word + byte].astype(np.uint32) for byte in range(4)]
            for word in range(size // 4)
        ]
        return [p[0] | p[1] << np.uint32(8) | p[2] << np.uint32(16) | p[3] << np.uint32(24) for p in parts]
    first = places >> 2
    return [store.words[first + number] if number else store.words[first] for number in range(size // 4)]


def save(store: Memory | Lds, places: Places, size: int, values: list[Array]) -> None:
    """Write what :func:`load` reads; arrays of one dimension."""
    if size >= 4 and not (places & 3).any():
        for number, value in enumerate(values):
            store.words[(places >> 2) + number] = value
        return
    for byte in range(size):
        store.bytes[places + byte] = (values[byte // 4] >> np.uint32(8 * (byte % 4))).astype(np.uint8)


def extended(value: Array, width: Width) -> Array:
    """A byte or 16-bit word as 32 bits."""
    if not width.signed:
        return value
    narrow = np.int8 if width.size == 1 else np.int16
    return value.astype(narrow).astype(np.int32).view(np.uint32)


def to_registers(waves: Waves, register: int, values: list[Array], width: Width, lanes: Lanes | None) -> None:
    """Write what :func:`load` has read, where lanes (None: those of EXEC) are active."""
    if width.half is not None:
        put(
            waves,
            waves.halves[register, :, :, width.half],
            extended(values[0], width).astype(np.uint16),
            lanes,
        )
        return
    for number, value in enumerate(values):
        put(waves, waves.v[register + number], extended(value, width), lanes)


def leave_out(waves: Waves, places: Places, size: int) -> None:
    """Note a store to memory whose data nobody computes."""
    if waves.memory.deferred is not None:
        waves.memory.deferred.leave_out(places, size)


def from_registers(waves: Waves, register: int, width: Width, lanes: Lanes) -> list[Array]:
    """Words of the active lanes, for :func:`save`."""
    count = max(1, width.size // 4)
    if width.half:
        return [waves.v[register][lanes] >> np.uint32(16)]
    return [waves.v[register + number][lanes] for number in range(count)]


def data_register(found: Instruction, code: int) -> Callable[[Waves], int]:
    """A data register, which may be one of the accumulation registers."""
    number = code - VECTOR if code >= VECTOR else code
    if "acc" in found.flags:
        return lambda waves: number + waves.accumulation
    return lambda _waves: number


def scattered(values: Array, lanes: Lanes) -> Array:
    """Values of the active lanes as (wavefronts, lanes), 0 elsewhere."""
    whole = np.zeros(lanes.shape, values.dtype)
    whole[lanes] = values
    return whole


def nothing(_waves: Waves) -> None:
    """Change nothing."""
    return


def who(found: Instruction, waves: Waves, wave: int, lane: int) -> str:
    """The instruction, workgroup and lane of an access, for messages."""
    return f"{found}, workgroup {waves.lds.numbers[waves.group[wave]]}, lane {lane}"


def check_places(waves: Waves, found: Instruction, where: Array, chosen: Array, size: int) -> Places:
    """Where the chosen addresses stand in memory; ``where``: those of all lanes.

    Raises:
        OutOfBounds: one of them is in no buffer.
    """
    try:
        return waves.memory.offsets(chosen, size)
    except OutOfBounds as error:
        limit = waves.memory.missing(chosen, size)
        wave, lane = (int(each[0]) for each in np.nonzero((where == chosen[limit]) & waves.exec))
        raise OutOfBounds(
            f"{error.message}; {who(found, waves, wave, lane)}",
            remedy="correct the kernel's index, the launch's grid or the buffer's elements",
        ) from None
