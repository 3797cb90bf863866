"""Memory instructions: SMEM, FLAT, GLOBAL and SCRATCH; :mod:`apuflow.interpret.buffers` has MUBUF.

Source: AMD's manual "Vega Instruction Set Architecture", chapters 7 to 11; the swizzle of private memory
is chapter 8.1.5.1 with elements of 4 bytes and an index stride of 64.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

import numpy as np

from apuflow.interpret.apertures import private_instruction, through_apertures
from apuflow.interpret.arithmetic import Array
from apuflow.interpret.atomics import atomic, operation
from apuflow.interpret.buffers import buffer_step
from apuflow.interpret.encodings import VECTOR, Instruction, lacking
from apuflow.interpret.moves import (
    LANE,
    WIDTHS,
    check_places,
    data_register,
    from_registers,
    leave_out,
    load,
    nothing,
    save,
    scattered,
    to_registers,
    width_of,
)
from apuflow.interpret.operands import put, scalar, vector
from apuflow.interpret.state import LANES, Lanes, Step, Waves


def memory_step(found: Instruction, defects: Collection[str] = (), *, data: bool = True) -> Step:
    """What a memory instruction does; without ``data`` it only tells which addresses it accesses.

    Raises:
        EngineError: the interpreter does not have it.
    """
    step = None
    match found.encoding:
        case "smem":
            step = _scalar_memory(found)
        case "global" | "scratch":
            step = _through(found, _flat_address(found), data)
        case "flat":
            step = _flat(found, data)
        case "mubuf" | "mtbuf":
            step = (
                nothing
                if found.name.startswith("buffer_wb") or found.name == "buffer_inv"
                else buffer_step(found, "buffer_pairs" in defects, data)
            )
    if step is None:
        raise lacking(found)
    return step


def _scalar_memory(found: Instruction) -> Step | None:
    """SMEM; of each part of an address the lower two bits are ignored."""
    if found.name.startswith("s_dcache_"):
        return nothing
    form = re.fullmatch(r"s_(buffer_)?(load|store|atomic)_(\w+)", found.name)
    if not form:
        return _clock(found) if found.name in ("s_memtime", "s_memrealtime") else None
    known = operation(form[3]) if form[2] == "atomic" else None
    size = known.size if known else WIDTHS.get(form[3])
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


def _flat(found: Instruction, moves: bool) -> Step | None:
    plain, private = _through(found, _flat_address(found), moves), private_instruction(found)
    if plain is None:
        return None
    in_private = None if "atomic" in found.name else _through(private, _flat_address(private), moves)
    return through_apertures(found, plain, _flat_address(found), in_private)


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


def _through(found: Instruction, addresses: Callable[[Waves], Array], moves: bool) -> Step | None:
    """A load, store or atomic at one address a lane."""
    name = found.name.partition("_")[2]
    kind, _, rest = name.partition("_")
    spread = LANES * 4 if found.encoding == "scratch" else 4
    if kind == "atomic":
        return _global_atomic(found, rest, addresses, moves)
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
        if not moves:
            places = check_places(waves, found, where, chosen, size)
            if kind == "store":
                leave_out(waves, places, size)
            return
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


def _global_atomic(
    found: Instruction, word: str, addresses: Callable[[Waves], Array], moves: bool
) -> Step | None:
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
        if not moves:
            leave_out(waves, places, known.size)
            return
        values = [waves.v[data + number][waves.exec] for number in range(words * known.operands)]
        old = atomic(waves.memory, places, known, values)
        if returns:
            for number, value in enumerate(old):
                put(waves, waves.v[goal + number], scattered(value, waves.exec), None)

    return step
