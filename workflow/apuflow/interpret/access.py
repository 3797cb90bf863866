"""Memory instructions: SMEM, FLAT, GLOBAL and SCRATCH; :mod:`apuflow.interpret.buffers` has MUBUF.

Source: AMD's manual "Vega Instruction Set Architecture", chapters 7 to 11; the swizzle of private memory
is chapter 8.1.5.1 with elements of 4 bytes and an index stride of 64.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apuflow.interpret.arithmetic import Array
from apuflow.interpret.atomics import atomic, operation
from apuflow.interpret.encodings import VECTOR, Instruction, lacking
from apuflow.interpret.operands import put, scalar, vector
from apuflow.interpret.state import LANES, Lanes, Lds, Memory, OutOfBounds, Step, Waves

Places = NDArray[np.int64]
LANE: Final = np.arange(LANES, dtype=np.int64)


class Width(NamedTuple):
    """What one lane moves: bytes, sign extension, and the half of a register that 16-bit forms keep."""

    size: int
    signed: bool = False
    half: int | None = None


_WIDTHS: Final = {
    "dword": 4, "dwordx2": 8, "dwordx3": 12, "dwordx4": 16, "dwordx8": 32, "dwordx16": 64,
    "b8": 1, "b16": 2, "b32": 4, "b64": 8, "b96": 12, "b128": 16,
    "byte": 1, "ubyte": 1, "sbyte": 1, "short": 2, "ushort": 2, "sshort": 2,
    "u8": 1, "i8": 1, "u16": 2, "i16": 2,
}  # fmt: skip


def width_of(word: str) -> Width | None:
    """Of the end of an instruction's name, as ``ushort`` or ``short_d16_hi``; None: not known."""
    base, *rest = word.split("_d16")
    size = _WIDTHS.get(base)
    if size is None:
        return None
    half = None if not rest else 1 if rest[0] == "_hi" else 0
    return Width(size, base in ("sbyte", "sshort", "i8", "i16"), half)


def load(store: Memory | Lds, places: Places, size: int) -> list[Array]:
    """Words of 32 bits from places in bytes; of a byte or a 16-bit word, one with zeros above."""
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


def memory_step(found: Instruction) -> Step:
    """What a memory instruction does, but those through buffers.

    Raises:
        EngineError: the interpreter does not have it.
    """
    step = None
    match found.encoding:
        case "smem":
            step = _scalar_memory(found)
        case "flat" | "global" | "scratch":
            step = _through(found, _flat_address(found))
    if step is None:
        raise lacking(found)
    return step


def nothing(_waves: Waves) -> None:
    """Change nothing."""
    return


def _scalar_memory(found: Instruction) -> Step | None:
    """SMEM; of each part of an address the lower two bits are ignored."""
    if found.name.startswith("s_dcache_"):
        return nothing
    form = re.fullmatch(r"s_(buffer_)?(load|store|atomic)_(\w+)", found.name)
    if not form:
        return _clock(found) if found.name in ("s_memtime", "s_memrealtime") else None
    known = operation(form[3]) if form[2] == "atomic" else None
    size = known.size if known else _WIDTHS.get(form[3])
    if size is None:
        return None
    base = found.sources[0]
    moved = scalar(found.sources[1], "u", 0) if "soffset" in found.flags or "imm" not in found.flags else None
    fixed = found.offsets[0] & ~3 if "imm" in found.flags else 0

    def addresses(waves: Waves) -> tuple[Array, Lanes]:
        """Addresses of the words, and which are in the buffer's range, (wavefronts, words)."""
        high = waves.word(base + 1) & np.uint32(0xFFFF if form[1] else 0xFFFFFFFF)
        first = (waves.word(base).astype(np.int64) | high.astype(np.int64) << 32) & ~3
        register = 0 if moved is None else np.broadcast_to(moved(waves), len(waves)).astype(np.int64) & ~3
        offset = np.broadcast_to(fixed + register, len(waves))[:, None] + 4 * np.arange(size // 4)
        inside = np.ones(offset.shape, np.bool_)
        if form[1]:
            stride = (waves.word(base + 1) >> np.uint32(16) & np.uint32(0x3FFF)).astype(np.int64)
            inside = offset + 4 <= (waves.word(base + 2) * np.maximum(stride, 1))[:, None]
        return first[:, None] + offset, inside

    def step(waves: Waves) -> None:
        where, inside = addresses(waves)
        places = waves.memory.offsets(where[inside], 4)
        sent = [
            waves.word(found.target + each) for each in range(size // 4 * (known.operands if known else 1))
        ]
        if form[2] == "store":
            save(waves.memory, places, 4, [np.stack(sent, 1)[inside]])
            return
        values = np.zeros(where.shape, np.uint32)
        if known:
            chosen = inside.all(1)
            old = atomic(
                waves.memory,
                waves.memory.offsets(where[chosen, 0], size),
                known,
                [each[chosen] for each in sent],
            )
            values[chosen] = np.stack(old, 1)
            if "glc" not in found.flags:
                return
        else:
            values[inside] = load(waves.memory, places, 4)[0]
        for number in range(size // 4):
            waves.set_word(found.target + number, values[:, number])

    return step


def _clock(found: Instruction) -> Step:
    def step(waves: Waves) -> None:
        waves.s[found.target : found.target + 2] = 0

    return step


def _flat_address(found: Instruction) -> Callable[[Waves], Array]:
    """Addresses, (wavefronts, lanes), signed 64 bits."""
    address, saddr, offset = found.sources[0] - VECTOR, found.sources[2], found.offsets[0]
    has_scalar = saddr != 0x7F and found.encoding != "flat"
    if found.encoding == "scratch":
        base = scalar(saddr, "u", 0)

        def private(waves: Waves) -> Array:
            inside = (
                waves.v[address].astype(np.int64)
                if not has_scalar
                else np.asarray(base(waves))[:, None].astype(np.int64)
            )
            inside = np.broadcast_to(inside + offset, waves.exec.shape)
            return waves.private[:, None] + (inside & ~3) * LANES + LANE * 4 + (inside & 3)

        return private
    if has_scalar:
        pair = scalar(saddr, "I", 0)
        return lambda waves: pair(waves)[:, None] + (waves.v[address].astype(np.int64) + offset)
    whole = vector(address, "I")
    return (lambda waves: whole(waves) + offset) if offset else whole


def _through(found: Instruction, addresses: Callable[[Waves], Array]) -> Step | None:
    """A load, store or atomic at one address a lane."""
    name = found.name.partition("_")[2]
    kind, _, rest = name.partition("_")
    spread = LANES * 4 if found.encoding == "scratch" else 4
    if kind == "atomic":
        return _global_atomic(found, rest, addresses)
    width = width_of(rest)
    if width is None or kind not in ("load", "store"):
        return None
    data = data_register(found, found.target if kind == "load" else found.sources[1])
    size = width.size

    def step(waves: Waves) -> None:
        where = addresses(waves)
        lanes = waves.exec
        chosen = where.reshape(-1) if waves.full else where[lanes]
        if waves.watch is not None:
            waves.watch.vector(found, waves, where, size, lanes)
        if kind == "store":
            values = from_registers(waves, data(waves), width, lanes)
            _save(waves, found, where, chosen, size, values, spread)
            return
        values = _load(waves, found, where, chosen, size, spread)
        if waves.full:
            values = [value.reshape(where.shape) for value in values]
        else:
            values = [scattered(value, lanes) for value in values]
        to_registers(waves, data(waves), values, width, None)

    return step


def scattered(values: Array, lanes: Lanes) -> Array:
    """Values of the active lanes as (wavefronts, lanes), 0 elsewhere."""
    whole = np.zeros(lanes.shape, values.dtype)
    whole[lanes] = values
    return whole


def _load(
    waves: Waves, found: Instruction, where: Array, chosen: Array, size: int, spread: int
) -> list[Array]:
    if spread == 4 or size <= 4:
        return load(waves.memory, check_places(waves, found, where, chosen, size), size)
    return [
        load(waves.memory, check_places(waves, found, where, chosen + spread * word, 4), 4)[0]
        for word in range(size // 4)
    ]


def _save(
    waves: Waves, found: Instruction, where: Array, chosen: Array, size: int, values: list[Array], spread: int
) -> None:
    if spread == 4 or size <= 4:
        save(waves.memory, check_places(waves, found, where, chosen, size), size, values)
        return
    for word, value in enumerate(values):
        save(waves.memory, check_places(waves, found, where, chosen + spread * word, 4), 4, [value])


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


def _global_atomic(found: Instruction, word: str, addresses: Callable[[Waves], Array]) -> Step | None:
    known = operation(word)
    if known is None:
        return None
    returns = "glc" in found.flags
    data, goal = found.sources[1] - VECTOR, found.target
    words = known.size // 4

    def step(waves: Waves) -> None:
        where = addresses(waves)
        chosen = where[waves.exec]
        if waves.watch is not None:
            waves.watch.vector(found, waves, where, known.size, waves.exec)
        places = check_places(waves, found, where, chosen, known.size)
        values = [waves.v[data + number][waves.exec] for number in range(words * known.operands)]
        old = atomic(waves.memory, places, known, values)
        if returns:
            for number, value in enumerate(old):
                put(waves, waves.v[goal + number], scattered(value, waves.exec), None)

    return step
