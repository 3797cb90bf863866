"""Operands of instructions as functions of wavefronts: where values come from and where results go.

Source: AMD's manual "Vega Instruction Set Architecture", chapters 6.2 (operands), 6.3 (SDWA, DPP) and 13.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

from apuflow.core.errors import EngineError
from apuflow.interpret.arithmetic import Array
from apuflow.interpret.encodings import LITERAL, VCC, VECTOR, Dpp, Instruction, Sdwa
from apuflow.interpret.state import EXEC, LANES, Lanes, Waves
from apuflow.interpret.vector import TYPES

Read: TypeAlias = Callable[[Waves], Array]
Write: TypeAlias = Callable[[Waves, Array, Lanes | None], None]
"""Store a result; lanes None: all that are active."""

FLOATS: Final = "hfd"
_CONSTANTS: Final = (0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0, 1 / (2 * np.pi))
SHARED, PRIVATE = 0x10000, 0x20000
"""Upper halves of addresses of LDS and of private memory, as of gem5's ``Shader``."""
APERTURES: Final = {
    235: SHARED << 32,
    236: SHARED << 32 | 0xFFFFFFFF,
    237: PRIVATE << 32,
    238: PRIVATE << 32 | 0xFFFFFFFF,
}
"""SRC_SHARED_BASE, SRC_SHARED_LIMIT, SRC_PRIVATE_BASE, SRC_PRIVATE_LIMIT of GFX9."""
_INVERSE_2PI: Final = {"h": 0x3118, "f": 0x3E22F983, "d": 0x3FC45F306DC9C882}
_FORMATS: Final = {"h": "<e", "f": "<f", "d": "<d"}


def constant(code: int, letter: str, literal: int) -> Any:
    """The value of a constant operand in the type of its letter; None: the code is no constant.

    A float constant of a whole number of 16 bits is the low half of its fp32
    (LLVM, ``getInlineEncodingV216`` in AMDGPUBaseInfo.cpp, where it corrects the manual).
    """
    kind = TYPES[letter]
    bits = 8 * np.dtype(kind).itemsize
    raw: int
    unsigned: Any = {16: np.uint16, 32: np.uint32, 64: np.uint64}[bits]
    if code == LITERAL:
        raw = literal
        if bits == 64:
            raw = literal << 32 if letter == "d" else literal
            if letter == "I":
                raw = literal | (0xFFFFFFFF00000000 if literal >> 31 else 0)
    elif 128 <= code <= 192:
        raw = code - 128
    elif 193 <= code <= 208:
        raw = 192 - code
    elif code in APERTURES:
        raw = APERTURES[code]
    elif 240 <= code <= 248:
        form = letter if letter in FLOATS else "d" if bits == 64 else "f"
        raw = _INVERSE_2PI[form]
        if code < 248:
            raw = int.from_bytes(struct.pack(_FORMATS[form], _CONSTANTS[code - 240]), "little")
    else:
        return None
    return unsigned(raw & (1 << bits) - 1).view(kind)


def scalar(code: int, letter: str, literal: int) -> Read:
    """A scalar operand as (wavefronts,), or one number for all of them."""
    fixed = constant(code, letter, literal)
    if fixed is not None:
        return lambda _waves: fixed
    kind = TYPES[letter]
    if code == 251:
        return lambda waves: ((waves.s[VCC] | waves.s[VCC + 1]) == 0).astype(kind)
    if code == 252:
        return lambda waves: (~waves.exec.any(1)).astype(kind)
    if code == 253:
        return lambda waves: waves.scc.astype(kind)
    if code > EXEC + 1:
        raise EngineError(f"unknown scalar operand {code}", remedy="report the instruction")
    if letter in "dUI":
        return lambda waves: _pair(waves.word(code), waves.word(code + 1)).view(kind)
    if letter in "hws":
        return lambda waves: (waves.word(code) & np.uint32(0xFFFF)).astype(np.uint16).view(kind)
    return lambda waves: waves.word(code).view(kind)


def _pair(low: Array, high: Array) -> Array:
    return low | high.astype(np.uint64) << np.uint64(32)


def source(found: Instruction, number: int, letter: str) -> Read:
    """A source of a vector instruction, modifiers applied; it spreads over (wavefronts, lanes)."""
    code = found.sources[number]
    if letter == "m":
        return lambda waves: waves.mask(code)
    read = _unmodified(found, number, code, letter)
    if letter not in FLOATS:
        return read
    return with_signs(read, found.absolute >> number & 1, found.negative >> number & 1)


def with_signs(read: Read, absolute: int, negative: int) -> Read:
    """Floats as |x|, -x or -|x|."""
    if absolute and negative:
        return lambda waves: -np.abs(read(waves))
    if absolute:
        return lambda waves: np.abs(read(waves))
    if negative:
        return lambda waves: -read(waves)
    return read


def _unmodified(found: Instruction, number: int, code: int, letter: str) -> Read:
    if found.sdwa is not None and number < 2:
        return _part(found.sdwa, number, code, letter)
    if found.dpp is not None and number == 0:
        return _moved(found.dpp, code, letter)
    if code < VECTOR:
        read = scalar(code, letter, found.literal)
        if constant(code, letter, found.literal) is not None:
            return read
        if letter in "hws" and found.select >> number & 1:
            word = scalar(code, "u", found.literal)
            return lambda waves: (word(waves)[:, None] >> np.uint32(16)).astype(np.uint16).view(TYPES[letter])
        return lambda waves: read(waves)[:, None]
    return vector(code - VECTOR, letter, found.select >> number & 1)


def vector(register: int, letter: str, half: int = 0) -> Read:
    """A vector register, or a pair of them, in a type; of 16-bit types the half."""
    kind = TYPES[letter]
    match letter:
        case "u":
            return lambda waves: waves.v[register]
        case "f":
            return lambda waves: waves.vf[register]
        case "i":
            return lambda waves: waves.vi[register]
        case "h" | "w" | "s":
            return lambda waves: waves.halves[register, :, :, half].view(kind)
        case _:
            return lambda waves: _pair(waves.v[register], waves.v[register + 1]).view(kind)


def _part(sdwa: Sdwa, number: int, code: int, letter: str) -> Read:
    """Part of a source, extended to its type."""
    select, signed = sdwa.selects[number], sdwa.signed[number]
    raw = vector(code - VECTOR, "u") if code >= VECTOR else _lanes_of_scalar(code)
    if select == 6:
        return lambda waves: _as(raw(waves), letter)
    shift = np.uint32(8 * select if select < 4 else 16 * (select - 4))
    mask = np.uint32(0xFF if select < 4 else 0xFFFF)
    narrow: Any = np.int8 if select < 4 else np.int16

    def read(waves: Waves) -> Array:
        value = raw(waves) >> shift & mask
        if signed:
            value = value.astype(narrow).astype(np.int32).view(np.uint32)
        return _as(value, letter)

    return read


def _lanes_of_scalar(code: int) -> Read:
    read = scalar(code, "u", 0)
    return lambda waves: np.asarray(read(waves)).reshape(-1, 1)


def _as(value: Array, letter: str) -> Array:
    if letter in "hws":
        return value.astype(np.uint16).view(TYPES[letter])
    return value.view(TYPES[letter])


def _moved(dpp: Dpp, code: int, letter: str) -> Read:
    lanes, valid = dpp_lanes(dpp.control)
    read = vector(code - VECTOR, letter)

    def moved(waves: Waves) -> Array:
        value = np.ascontiguousarray(read(waves))[:, lanes]
        value[~(waves.exec[:, lanes] & valid)] = 0
        return value

    return moved


def dpp_lanes(control: int) -> tuple[Array, Lanes]:
    """For each lane the one that DPP reads, and whether there is one.

    Raises:
        EngineError: a control that the manual does not have.
    """
    lane = np.arange(LANES)
    row, place = lane & ~15, lane & 15
    valid = np.ones(LANES, np.bool_)
    shift = control & 15
    if control < 0x100:
        return lane & ~3 | control >> 2 * (lane & 3) & 3, valid
    match control >> 4:
        case 0x10 if shift:
            return np.minimum(lane + shift, LANES - 1), place + shift < 16
        case 0x11 if shift:
            return np.maximum(lane - shift, 0), place >= shift
        case 0x12 if shift:
            return row | (place - shift) % 16, valid
    match control:
        case 0x130:
            return np.minimum(lane + 1, LANES - 1), lane < LANES - 1
        case 0x134:
            return (lane + 1) % LANES, valid
        case 0x138:
            return np.maximum(lane - 1, 0), lane > 0
        case 0x13C:
            return (lane - 1) % LANES, valid
        case 0x140:
            return row | 15 - place, valid
        case 0x141:
            return lane & ~7 | 7 - (lane & 7), valid
        case 0x142:
            return np.maximum((lane & 0x30) - 1, 0), lane > 15
        case 0x143:
            return np.maximum((lane & 0x20) - 1, 0), lane > 31
    if control >> 4 == 0x15:
        return row | shift, valid
    raise EngineError(f"unknown DPP control {control:#x}", remedy="report the instruction")


def dpp_written(dpp: Dpp) -> Callable[[Waves], Lanes]:
    """The lanes that an instruction with DPP writes."""
    lane = np.arange(LANES)
    chosen = (dpp.rows >> (lane >> 4) & 1 & dpp.banks >> (lane >> 2 & 3)).astype(np.bool_)
    lanes, valid = dpp_lanes(dpp.control)
    if dpp.bound:
        return lambda waves: waves.exec & chosen
    return lambda waves: waves.exec & chosen & valid & waves.exec[:, lanes]


def clamped(value: Array) -> Array:
    """Floats between 0 and 1; NaN is 0 (bit DX10_CLAMP of the MODE register, which compilers set)."""
    return np.where(value > 0, np.minimum(value, value.dtype.type(1)), value.dtype.type(0))


_MULTIPLES: Final = (1.0, 2.0, 4.0, 0.5)


def target(found: Instruction, letter: str, isa: str) -> Write:
    """Where a vector result goes, with clamp, multiple, and the halves of 16-bit results.

    Multiples (OMOD) act as in kernels without IEEE mode and subnormal results, the only ones that have them
    ("MI200" manual, 6.2.2; LLVM's ``SIFoldOperands.cpp``).
    """
    register = found.target
    write = _store(found, register, letter, isa)
    if letter in FLOATS and (found.clamp or found.output):
        factor = TYPES[letter](_MULTIPLES[found.output])

        def changed(waves: Waves, value: Array, lanes: Lanes | None) -> None:
            if found.output:
                value = value * factor + factor * 0  # a product of -0 is 0
            if found.clamp:
                value = clamped(value)
            write(waves, value, lanes)

        return changed
    return write


def _store(found: Instruction, register: int, letter: str, isa: str) -> Write:
    if found.sdwa is not None and found.sdwa.target != 6:
        return _store_part(found.sdwa, register, letter)
    if letter in "hws":
        return _store_half(found, register, isa)
    if letter in "dUI":
        return _store_pair(register)

    def store(waves: Waves, value: Array, lanes: Lanes | None) -> None:
        goal = {"f": waves.vf, "i": waves.vi}.get(letter, waves.v)[register]
        put(waves, goal, value, lanes)

    return store


def put(waves: Waves, goal: Array, value: Array, lanes: Lanes | None) -> None:
    """Write a value to a register where lanes (None: those of EXEC) are active."""
    if lanes is None and waves.full:
        goal[...] = value
    else:
        np.copyto(goal, value, where=waves.exec if lanes is None else lanes, casting="same_kind")


def _store_pair(register: int) -> Write:
    def store(waves: Waves, value: Array, lanes: Lanes | None) -> None:
        raw = np.ascontiguousarray(value).view(np.uint64)
        put(waves, waves.v[register], (raw & np.uint64(0xFFFFFFFF)).astype(np.uint32), lanes)
        put(waves, waves.v[register + 1], (raw >> np.uint64(32)).astype(np.uint32), lanes)

    return store


_KEEPS_HALF: Final = frozenset(
    {
        *("v_mad_f16", "v_fma_f16", "v_mad_u16", "v_mad_i16", "v_div_fixup_f16", "v_add_i16", "v_sub_i16"),
        *(f"v_{name}_{kind}" for name in ("min3", "max3", "med3") for kind in ("f16", "i16", "u16")),
        *(f"v_{name}_mix{half}_f16" for name in ("mad", "fma") for half in ("lo", "hi")),
        *("v_cvt_pk_fp8_f32", "v_cvt_pk_bf8_f32"),
    }
)
"""Instructions of GFX9 that keep the half of the register which they do not write; all others clear it
(LLVM, GCNSubtarget::zeroesHigh16BitsOfDest)."""


def keeps_half(found: Instruction, isa: str = "") -> bool:
    """Whether an instruction with a result of 16 bits leaves the register's other half as it is."""
    known = isa != "gcn3" and found.name in _KEEPS_HALF
    return bool(found.select >> 3 & 1) or "keeps half" in found.flags or known


def _store_half(found: Instruction, register: int, isa: str) -> Write:
    half = found.select >> 3 & 1
    keeps = keeps_half(found, isa)

    def store(waves: Waves, value: Array, lanes: Lanes | None) -> None:
        word = np.ascontiguousarray(value).view(np.uint16)
        if keeps:
            put(waves, waves.halves[register, :, :, half], word, lanes)
        else:
            put(waves, waves.v[register], word.astype(np.uint32), lanes)

    return store


def _store_part(sdwa: Sdwa, register: int, letter: str) -> Write:
    """A byte or a word of a register; the rest is cleared, filled with the sign, or kept (DST_UNUSED)."""
    size = 8 if sdwa.target < 4 else 16
    shift = np.uint32(8 * sdwa.target if size == 8 else 16 * (sdwa.target - 4))
    mask = np.uint32((1 << size) - 1)
    above = np.uint32(0xFFFFFFFF << int(shift) + size & 0xFFFFFFFF)

    def store(waves: Waves, value: Array, lanes: Lanes | None) -> None:
        raw = np.ascontiguousarray(value)
        word = raw.view(np.uint16 if letter in "hws" else np.uint32).astype(np.uint32) & mask
        placed = word << shift
        if sdwa.unused == 1:
            negative = word >> np.uint32(size - 1) != 0
            placed = np.where(negative, placed | above, placed)
        elif sdwa.unused == 2:
            placed = waves.v[register] & ~(mask << shift) | placed
        put(waves, waves.v[register], placed, lanes)

    return store
