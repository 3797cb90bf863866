"""Scalar instructions: SOP1, SOP2, SOPK, SOPC; :mod:`apuflow.interpret.blocks` has the branches.

Source: AMD's manual "Vega Instruction Set Architecture", chapters 12.1 to 12.5.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from apuflow.interpret import arithmetic as do
from apuflow.interpret.arithmetic import Array
from apuflow.interpret.encodings import Instruction, lacking
from apuflow.interpret.operands import scalar
from apuflow.interpret.state import EXEC, M0, Lanes, Step, Waves, unpacked

U, Q = np.uint32, np.uint64


class _Meaning(NamedTuple):
    """Letters of sources and result (``c``: SCC), as in :mod:`apuflow.interpret.vector`; what SCC becomes."""

    sources: str
    result: str
    compute: Callable[..., Any]
    scc: str = ""
    """``nonzero`` result, ``second`` of two results, or none."""


def _carry(a: Array, b: Array, carry: Any = 0) -> tuple[Array, Array]:
    total = a.astype(Q) + b + np.asarray(carry).astype(Q)
    return (total & Q(0xFFFFFFFF)).astype(U), total >> Q(32) != 0


def _borrow(a: Array, b: Array, borrow: Any = 0) -> tuple[Array, Array]:
    total = a.astype(np.int64) - b.astype(np.int64) - np.asarray(borrow).astype(np.int64)
    return (total & 0xFFFFFFFF).astype(U), total < 0


def _add_signed(a: Array, b: Array) -> tuple[Array, Array]:
    total = a.astype(np.int64) + b
    return total.astype(np.int32), (total > 0x7FFFFFFF) | (total < -0x80000000)


def _subtract_signed(a: Array, b: Array) -> tuple[Array, Array]:
    total = a.astype(np.int64) - b
    return total.astype(np.int32), (total > 0x7FFFFFFF) | (total < -0x80000000)


def _distance(a: Array, b: Array) -> Array:
    return np.abs(a - b)


def _shift_add(bits: int) -> Callable[..., Any]:
    return lambda a, b: _carry_wide((a.astype(Q) << Q(bits)) + b)


def _carry_wide(total: Array) -> tuple[Array, Array]:
    return (total & Q(0xFFFFFFFF)).astype(U), total >> Q(32) != 0


def _field(x: Array, what: Array, width: int) -> Array:
    """S_BFE: ``what`` has the first bit and, from bit 16, the number of bits."""
    first = (what & U(width - 1)).astype(np.int64)
    count = (what >> U(16) & U(0x7F)).astype(np.int64)
    count = np.minimum(count, width - first)
    signed = np.issubdtype(x.dtype, np.signedinteger)
    up = 64 - first - count
    wide = x.astype(np.int64 if signed or width == 64 else Q).view(np.int64)
    moved = wide << np.minimum(up, 63)
    back = np.minimum(64 - count, 63)
    value = moved >> back if signed else (moved.view(Q) >> back.astype(Q)).view(np.int64)
    return np.where(count <= 0, 0, value).astype(x.dtype)


def _mask(kind: Any) -> Callable[..., Any]:
    width = 8 * np.dtype(kind).itemsize
    return lambda a, b: (
        ((kind(1) << (a.astype(kind) & kind(width - 1))) - kind(1)) << (b.astype(kind) & kind(width - 1))
    )


def _bit(set_: bool, kind: Any) -> Callable[..., Any]:
    width = kind(8 * np.dtype(kind).itemsize - 1)

    def compute(x: Array, old: Array) -> Array:
        bit = kind(1) << (x.astype(kind) & width)
        return old | bit if set_ else old & ~bit

    return compute


def _quads(x: Array) -> Array:
    """For each four bits one that says whether any is set."""
    result = np.zeros_like(x)
    for number in range(8 * x.dtype.itemsize // 4):
        quad = x >> x.dtype.type(4 * number) & x.dtype.type(15)
        result |= (quad != 0).astype(x.dtype) << x.dtype.type(number)
    return result


def _whole_quads(x: Array) -> Array:
    any_ = x | x >> x.dtype.type(1)
    any_ = (any_ | any_ >> x.dtype.type(2)) & x.dtype.type(
        0x1111111111111111 & (1 << 8 * x.dtype.itemsize) - 1
    )
    return any_ * x.dtype.type(15)


def _reversed64(x: Array) -> Array:
    halves = [do.reversed_bits((x >> Q(32 * half)).astype(U)).astype(Q) for half in (0, 1)]
    return halves[0] << Q(32) | halves[1]


def _bitwise(letter: str) -> dict[str, _Meaning]:
    both = letter * 2
    width = "b32" if letter == "u" else "b64"
    operations: dict[str, Callable[..., Any]] = {
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b,
        "andn2": lambda a, b: a & ~b,
        "orn2": lambda a, b: a | ~b,
        "nand": lambda a, b: ~(a & b),
        "nor": lambda a, b: ~(a | b),
        "xnor": lambda a, b: ~(a ^ b),
    }
    kind: Any = U if letter == "u" else Q
    top = kind(31 if letter == "u" else 63)
    return {
        **{
            f"s_{name}_{width}": _Meaning(both, letter, compute, "nonzero")
            for name, compute in operations.items()
        },
        f"s_mov_{width}": _Meaning(letter, letter, np.array),
        f"s_not_{width}": _Meaning(letter, letter, np.invert, "nonzero"),
        f"s_wqm_{width}": _Meaning(letter, letter, _whole_quads, "nonzero"),
        f"s_quadmask_{width}": _Meaning(letter, letter, _quads, "nonzero"),
        f"s_cselect_{width}": _Meaning(both + "c", letter, lambda a, b, chosen: np.where(chosen, a, b)),
        f"s_cmov_{width}": _Meaning(letter + "c>", letter, lambda a, chosen, old: np.where(chosen, a, old)),
        f"s_lshl_{width}": _Meaning(
            letter + "u", letter, lambda a, b: a << (b.astype(kind) & top), "nonzero"
        ),
        f"s_lshr_{width}": _Meaning(
            letter + "u", letter, lambda a, b: a >> (b.astype(kind) & top), "nonzero"
        ),
        f"s_bfm_{width}": _Meaning("uu", letter, _mask(kind)),
        f"s_bitset0_{width}": _Meaning("u>", letter, _bit(False, kind)),
        f"s_bitset1_{width}": _Meaning("u>", letter, _bit(True, kind)),
        f"s_bcnt0_i32_{width}": _Meaning(letter, "u", lambda x: do.count_bits(~x), "nonzero"),
        f"s_bcnt1_i32_{width}": _Meaning(letter, "u", do.count_bits, "nonzero"),
        f"s_ff0_i32_{width}": _Meaning(letter, "i", lambda x: do.first_bit_low(~x)),
        f"s_ff1_i32_{width}": _Meaning(letter, "i", do.first_bit_low),
        f"s_flbit_i32_{width}": _Meaning(letter, "i", do.first_bit_high),
    }


_MEANINGS: Final[dict[str, _Meaning]] = {
    **_bitwise("u"),
    **_bitwise("U"),
    "s_add_u32": _Meaning("uu", "u", _carry, "second"),
    "s_addc_u32": _Meaning("uuc", "u", _carry, "second"),
    "s_sub_u32": _Meaning("uu", "u", _borrow, "second"),
    "s_subb_u32": _Meaning("uuc", "u", _borrow, "second"),
    "s_add_i32": _Meaning("ii", "i", _add_signed, "second"),
    "s_sub_i32": _Meaning("ii", "i", _subtract_signed, "second"),
    "s_min_i32": _Meaning("ii", "i", lambda a, b: (np.minimum(a, b), a < b), "second"),
    "s_min_u32": _Meaning("uu", "u", lambda a, b: (np.minimum(a, b), a < b), "second"),
    "s_max_i32": _Meaning("ii", "i", lambda a, b: (np.maximum(a, b), a > b), "second"),
    "s_max_u32": _Meaning("uu", "u", lambda a, b: (np.maximum(a, b), a > b), "second"),
    "s_ashr_i32": _Meaning("iu", "i", lambda a, b: a >> (b & U(31)).astype(np.int32), "nonzero"),
    "s_ashr_i64": _Meaning("Iu", "I", lambda a, b: a >> (b & U(63)).astype(np.int64), "nonzero"),
    "s_mul_i32": _Meaning("ii", "i", lambda a, b: a * b),
    "s_mul_hi_u32": _Meaning("uu", "u", lambda a, b: (a.astype(Q) * b >> Q(32)).astype(U)),
    "s_mul_hi_i32": _Meaning("ii", "i", lambda a, b: (a.astype(np.int64) * b >> 32).astype(np.int32)),
    "s_lshl1_add_u32": _Meaning("uu", "u", _shift_add(1), "second"),
    "s_lshl2_add_u32": _Meaning("uu", "u", _shift_add(2), "second"),
    "s_lshl3_add_u32": _Meaning("uu", "u", _shift_add(3), "second"),
    "s_lshl4_add_u32": _Meaning("uu", "u", _shift_add(4), "second"),
    "s_absdiff_i32": _Meaning("ii", "i", _distance, "nonzero"),
    "s_abs_i32": _Meaning("i", "i", np.abs, "nonzero"),
    "s_bfe_u32": _Meaning("uu", "u", lambda a, b: _field(a, b, 32), "nonzero"),
    "s_bfe_i32": _Meaning("iu", "i", lambda a, b: _field(a, b, 32), "nonzero"),
    "s_bfe_u64": _Meaning("Uu", "U", lambda a, b: _field(a, b, 64), "nonzero"),
    "s_bfe_i64": _Meaning("Iu", "I", lambda a, b: _field(a, b, 64), "nonzero"),
    "s_brev_b32": _Meaning("u", "u", do.reversed_bits),
    "s_brev_b64": _Meaning("U", "U", _reversed64),
    "s_flbit_i32": _Meaning("i", "i", do.first_bit_sign),
    "s_flbit_i32_i64": _Meaning("I", "i", do.first_bit_sign),
    "s_sext_i32_i8": _Meaning("u", "i", lambda x: x.astype(np.int8).astype(np.int32)),
    "s_sext_i32_i16": _Meaning("u", "i", lambda x: x.astype(np.int16).astype(np.int32)),
    "s_pack_ll_b32_b16": _Meaning("uu", "u", lambda a, b: a & U(0xFFFF) | b << U(16)),
    "s_pack_lh_b32_b16": _Meaning("uu", "u", lambda a, b: a & U(0xFFFF) | b & U(0xFFFF0000)),
    "s_pack_hh_b32_b16": _Meaning("uu", "u", lambda a, b: a >> U(16) | b & U(0xFFFF0000)),
}  # fmt: skip

_COMPARE: Final = re.compile(r"s_cmpk?_(eq|lg|gt|ge|lt|le)_([iu]\d\d)")
_COMPARISONS: Final = {
    "eq": np.equal,
    "lg": np.not_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lt": np.less,
    "le": np.less_equal,
}
_SAVED: Final[dict[str, Callable[[Lanes, Lanes], Lanes]]] = {
    "and": lambda a, exec_: a & exec_,
    "or": lambda a, exec_: a | exec_,
    "xor": lambda a, exec_: a ^ exec_,
    "andn2": lambda a, exec_: a & ~exec_,
    "orn2": lambda a, exec_: a | ~exec_,
    "nand": lambda a, exec_: ~(a & exec_),
    "nor": lambda a, exec_: ~(a | exec_),
    "xnor": lambda a, exec_: ~(a ^ exec_),
    "andn1": lambda a, exec_: ~a & exec_,
    "orn1": lambda a, exec_: ~a | exec_,
}
_SAVES: Final = re.compile(r"s_(\w+)_(saveexec|wrexec)_b64")


def scalar_step(found: Instruction) -> Step:
    """What a scalar instruction does that neither branches nor waits.

    Raises:
        EngineError: the interpreter does not have it.
    """
    if known := _MEANINGS.get(found.name):
        return _computed(found, known)
    if compared := _COMPARE.fullmatch(found.name):
        return _compared(found, _COMPARISONS[compared[1]], compared[2])
    if saved := _SAVES.fullmatch(found.name):
        return _save(found, _SAVED[saved[1]], saved[2] == "saveexec")
    if special := _SPECIAL.get(found.name):
        return special(found)
    raise lacking(found)


class ScalarEffects(NamedTuple):
    """Sources by letter and code, letter of the result ("": none), and what is read or written beside."""

    sources: tuple[tuple[str, int], ...]
    result: str = ""
    reads_scc: bool = False
    writes_scc: bool = False
    reads_mode: bool = False
    writes_mode: bool = False


def scalar_effects(found: Instruction) -> ScalarEffects | None:
    """What an instruction reads and writes; None: not known."""
    name, target = found.name, ("u", found.target)
    if known := _MEANINGS.get(name):
        letters, keeps, _ = known.sources.partition(">")
        sources = tuple(zip(letters.replace("c", ""), found.sources, strict=True))
        if keeps:
            sources = (*sources, (known.result, found.target))
        return ScalarEffects(sources, known.result, "c" in letters, bool(known.scc))
    if compared := _COMPARE.fullmatch(name):
        letter = {"i32": "i", "u32": "u", "u64": "U"}[compared[2]]
        codes = (found.target,) if found.encoding == "sopk" else found.sources
        return ScalarEffects(tuple((letter, code) for code in codes), writes_scc=True)
    if _SAVES.fullmatch(name):
        return ScalarEffects((("U", found.sources[0]),), "U", writes_scc=True)
    if name.startswith("s_bitcmp"):
        letter = "U" if name.endswith("64") else "u"
        return ScalarEffects(((letter, found.sources[0]), ("u", found.sources[1])), writes_scc=True)
    return {
        "s_movk_i32": ScalarEffects((), "u"),
        "s_addk_i32": ScalarEffects((target,), "u", writes_scc=True),
        "s_mulk_i32": ScalarEffects((target,), "u"),
        "s_cmovk_i32": ScalarEffects((target,), "u", reads_scc=True),
        "s_getpc_b64": ScalarEffects((), "U"),
        "s_getreg_b32": ScalarEffects((), "u", reads_mode=True),
        "s_setreg_b32": ScalarEffects((target,), reads_mode=True, writes_mode=True),
        "s_setreg_imm32_b32": ScalarEffects((), reads_mode=True, writes_mode=True),
        "s_bitreplicate_b64_b32": ScalarEffects((("u", found.sources[0]),) if found.sources else (), "U"),
    }.get(name)


def _computed(found: Instruction, known: _Meaning) -> Step:
    letters, reads_target, _ = known.sources.partition(">")
    reads: list[Callable[[Waves], Array]] = []
    for letter, code in zip(letters.replace("c", ""), found.sources, strict=True):
        read = scalar(code, letter, found.literal)
        reads.append(lambda waves, read=read: np.broadcast_to(read(waves), len(waves)))  # type: ignore[misc]
    if "c" in letters:
        reads.append(lambda waves: waves.scc)
    if reads_target:
        reads.append(scalar(found.target, known.result, 0))
    write = store(found.target, known.result)

    def step(waves: Waves) -> None:
        value = known.compute(*(read(waves) for read in reads))
        if known.scc == "second":
            value, flag = value
            waves.scc = np.array(flag)
        elif known.scc == "nonzero":
            waves.scc = value != 0
        write(waves, value)

    return step


def store(register: int, letter: str) -> Callable[[Waves, Array], None]:
    """Write a scalar register, or a pair of them."""
    if letter not in "UI":
        return lambda waves, value: waves.set_word(register, np.asarray(value).astype(_32[letter]).view(U))

    def pair(waves: Waves, value: Array) -> None:
        raw = np.ascontiguousarray(value).view(Q)
        if register == EXEC:
            waves.set_exec(unpacked(raw))
        else:
            waves.s[register] = raw & Q(0xFFFFFFFF)
            waves.s[register + 1] = raw >> Q(32)

    return pair


_32: Final = {"u": np.uint32, "i": np.int32}


def _compared(found: Instruction, compute: Any, kind: str) -> Step:
    letter = {"i32": "i", "u32": "u", "u64": "U"}[kind]
    if found.encoding == "sopk":
        value = scalar(found.target, letter, 0)
        fixed = np.int32(found.immediate) if letter == "i" else U(found.immediate & 0xFFFF)

        def with_constant(waves: Waves) -> None:
            waves.scc = np.broadcast_to(compute(value(waves), fixed), len(waves)).copy()

        return with_constant
    first, second = (scalar(code, letter, found.literal) for code in found.sources)

    def step(waves: Waves) -> None:
        waves.scc = np.broadcast_to(compute(first(waves), second(waves)), len(waves)).copy()

    return step


def _save(found: Instruction, combine: Callable[[Lanes, Lanes], Lanes], saves: bool) -> Step:
    code = found.sources[0]
    read = _mask_of(code, found.literal)

    def step(waves: Waves) -> None:
        old = waves.exec
        new = combine(read(waves), old)
        waves.set_mask(found.target, old if saves else new)
        waves.set_exec(new)
        waves.scc = np.asarray(new.any(1))

    return step


def _mask_of(code: int, literal: int) -> Callable[[Waves], Lanes]:
    if code <= EXEC:
        return lambda waves: waves.mask(code)
    read = scalar(code, "U", literal)
    return lambda waves: np.broadcast_to(unpacked(np.atleast_1d(np.asarray(read(waves)))), waves.exec.shape)


def _move_immediate(found: Instruction) -> Step:
    value = U(found.immediate & 0xFFFFFFFF)
    return lambda waves: waves.set_word(found.target, np.broadcast_to(value, len(waves)))


def _add_immediate(found: Instruction) -> Step:
    def step(waves: Waves) -> None:
        value, waves.scc = _add_signed(waves.word(found.target).view(np.int32), np.array(found.immediate))
        waves.set_word(found.target, value.view(U))

    return step


def _multiply_immediate(found: Instruction) -> Step:
    def step(waves: Waves) -> None:
        value = waves.word(found.target).view(np.int32) * np.int32(found.immediate)
        waves.set_word(found.target, value.view(U))

    return step


def _choose_immediate(found: Instruction) -> Step:
    value = U(found.immediate & 0xFFFFFFFF)
    return lambda waves: waves.set_word(found.target, np.where(waves.scc, value, waves.word(found.target)))


def _next_address(found: Instruction) -> Step:
    write = store(found.target, "U")
    value = Q(found.address + found.size)
    return lambda waves: write(waves, np.full(len(waves), value))


def _bit_compare(found: Instruction) -> Step:
    wide = found.name.endswith("64")
    value = scalar(found.sources[0], "U" if wide else "u", found.literal)
    number = scalar(found.sources[1], "u", found.literal)
    wanted = "cmp1" in found.name

    def step(waves: Waves) -> None:
        place = np.asarray(number(waves)).astype(Q) & Q(63 if wide else 31)
        bit = np.asarray(value(waves)).astype(Q) >> place & Q(1)
        waves.scc = np.broadcast_to((bit != 0) == wanted, len(waves)).copy()

    return step


def _move_relative(found: Instruction) -> Step:
    """S_MOVRELS, S_MOVRELD: a register whose number is M0 more."""
    count = 2 if found.name.endswith("64") else 1
    from_there = "rels" in found.name

    def step(waves: Waves) -> None:
        every, offset = np.arange(len(waves)), waves.s[M0].astype(np.int64)
        for number in range(count):
            source = found.sources[0] + number + (offset if from_there else 0)
            goal = found.target + number + (0 if from_there else offset)
            waves.s[goal, every] = waves.s[source, every]

    return step


_MODE: Final = 0x3F0
"""The register of the mode: subnormals are kept, rounding is to the nearest even, clamp turns NaN to 0."""
_MODE_ROW: Final = EXEC + 1
"""Of ``Waves.s``, what no instruction reads: the bits of the mode that are not those of ``_MODE``."""


def _field_of_mode(found: Instruction) -> tuple[int, int]:
    """First bit and number of bits; other hardware registers have no meaning here."""
    number, first, count = found.immediate & 63, found.immediate >> 6 & 31, (found.immediate >> 11 & 31) + 1
    if number != 1:
        raise lacking(found, f" of hardware register {number}")
    return first, (1 << count) - 1


def _get_register(found: Instruction) -> Step:
    first, mask = _field_of_mode(found)

    def step(waves: Waves) -> None:
        waves.set_word(found.target, (waves.s[_MODE_ROW] ^ U(_MODE)) >> U(first) & U(mask))

    return step


def _set_register(found: Instruction) -> Step:
    """S_SETREG of the mode, which S_GETREG reads back: no arithmetic looks at it."""
    first, mask = _field_of_mode(found)
    read = scalar(found.target, "u", 0)

    def step(waves: Waves) -> None:
        value = read(waves) if found.name == "s_setreg_b32" else U(found.literal)
        kept = waves.s[_MODE_ROW] & U(~(mask << first) & 0xFFFFFFFF)
        waves.s[_MODE_ROW] = kept | ((value & U(mask)) << U(first)) ^ U(_MODE & mask << first)

    return step


def _replicate_bits(found: Instruction) -> Step:
    """S_BITREPLICATE_B64_B32: each bit twice."""
    read, write = scalar(found.sources[0], "u", found.literal), store(found.target, "U")

    def step(waves: Waves) -> None:
        value = np.broadcast_to(read(waves), len(waves)).astype(Q)
        write(
            waves, np.bitwise_or.reduce([(value >> Q(bit) & Q(1)) * Q(3) << Q(2 * bit) for bit in range(32)])
        )

    return step


_SPECIAL: Final[dict[str, Callable[[Instruction], Step]]] = {
    "s_movk_i32": _move_immediate,
    "s_addk_i32": _add_immediate,
    "s_mulk_i32": _multiply_immediate,
    "s_cmovk_i32": _choose_immediate,
    "s_getpc_b64": _next_address,
    "s_getreg_b32": _get_register,
    "s_setreg_b32": _set_register,
    "s_setreg_imm32_b32": _set_register,
    "s_bitreplicate_b64_b32": _replicate_bits,
    "s_bitcmp0_b32": _bit_compare,
    "s_bitcmp1_b32": _bit_compare,
    "s_bitcmp0_b64": _bit_compare,
    "s_bitcmp1_b64": _bit_compare,
    "s_movrels_b32": _move_relative,
    "s_movrels_b64": _move_relative,
    "s_movreld_b32": _move_relative,
    "s_movreld_b64": _move_relative,
}
