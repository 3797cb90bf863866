"""What each vector instruction computes, as functions of arrays over wavefronts and lanes.

Source: AMD's manual "Vega Instruction Set Architecture", chapter 12; of later instruction sets the manuals
"Instinct MI100", "MI200" and "MI300".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from apuflow.interpret import arithmetic as do
from apuflow.interpret.arithmetic import Array
from apuflow.interpret.floats import float_table
from apuflow.interpret.fp8 import FP8
from apuflow.interpret.media import MEDIA

Compute: TypeAlias = Callable[..., Any]

TYPES: Final[Mapping[str, Any]] = {
    "f": np.float32,
    "u": np.uint32,
    "i": np.int32,
    "h": np.float16,
    "w": np.uint16,
    "s": np.int16,
    "d": np.float64,
    "U": np.uint64,
    "I": np.int64,
}
"""Letters of operands: NumPy's type. ``m`` is one bit a lane, a pair of scalar registers."""


class Meaning(NamedTuple):
    """Of one instruction.

    Attributes:
        sources: a letter each.
        results: a letter each: the vector register's, then the scalar registers'.
        compute: results from sources; an accumulating instruction gets the target's old value last.
        accumulates: it reads its target.
        modified: sources and result are floats that take |x|, -x, clamp and multiples.
    """

    sources: str
    results: str
    compute: Compute
    accumulates: bool = False


U = np.uint32
_31, _63, _15 = U(31), np.uint64(63), np.uint16(15)
_24 = U(0xFFFFFF)


def _signed24(x: Array) -> Array:
    return (x << np.int32(8)) >> np.int32(8)


def _u64(x: Array) -> Array:
    return np.asarray(x).astype(np.uint64)


def _i64(x: Array) -> Array:
    return np.asarray(x).astype(np.int64)


def _low(x: Array) -> Array:
    return (x & np.uint64(0xFFFFFFFF)).astype(np.uint32)


def _add_carry(a: Array, b: Array, carry: Any = 0) -> tuple[Array, Array]:
    total = _u64(a) + _u64(b) + _u64(carry)
    return _low(total), total >> np.uint64(32) != 0


def _subtract_carry(a: Array, b: Array, borrow: Any = 0) -> tuple[Array, Array]:
    total = _i64(a) - _i64(b) - _i64(borrow)
    return _low(total.view(np.uint64)), total < 0


def _mad64(kind: Any) -> Compute:
    def compute(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
        product = np.asarray(a).astype(kind) * np.asarray(b).astype(kind)
        total = product + c
        return total, (total < c if kind is np.uint64 else (product < 0) != (total < c))

    return compute


def _median(a: Array, b: Array, c: Array) -> Array:
    return np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))


def _bfe(x: Array, first: Array, width: Array) -> Array:
    first, width = first & _31, width & _31
    return np.where(width == 0, 0, x >> first & (U(1) << width) - U(1)).astype(np.uint32)


def _bfe_signed(x: Array, first: Array, width: Array) -> Array:
    first, width = np.asarray(first).astype(np.int64) & 31, np.asarray(width).astype(np.int64) & 31
    up = 64 - np.minimum(first + width, 32)
    value = (_i64(x) << up) >> (up + first)
    return np.where(width == 0, 0, value).astype(np.int32)


def _class(x: Array, wanted: Array) -> Array:
    bits = x.dtype.itemsize * 8
    unsigned = np.ascontiguousarray(x).view({16: np.uint16, 32: np.uint32, 64: np.uint64}[bits])
    fraction = {16: 10, 32: 23, 64: 52}[bits]
    magnitude = unsigned & unsigned.dtype.type((1 << bits - 1) - 1)
    infinity = unsigned.dtype.type(((1 << bits - 1 - fraction) - 1) << fraction)
    negative = np.signbit(x)
    quiet = magnitude >= infinity | unsigned.dtype.type(1 << fraction - 1)
    nan = magnitude > infinity
    infinite, zero = magnitude == infinity, magnitude == 0
    subnormal = ~zero & (magnitude < unsigned.dtype.type(1 << fraction))
    normal = ~(nan | infinite | zero | subnormal)
    kinds = (nan & ~quiet, nan & quiet)
    low = tuple(negative & each for each in (infinite, normal, subnormal, zero))
    high = tuple(~negative & each for each in (zero, subnormal, normal, infinite))
    result = np.zeros(np.broadcast_shapes(x.shape, np.shape(wanted)), np.bool_)
    for bit, kind in enumerate((*kinds, *low, *high)):
        result |= kind & (np.asarray(wanted) >> U(bit) & U(1) != 0)
    return result


def _whole(letter: str, end: str) -> dict[str, Meaning]:
    """Smallest, largest and middle of whole numbers."""
    two, three = f"{letter * 2}>{letter}", f"{letter * 3}>{letter}"
    return {
        f"v_min_{end}": _meaning(two, np.minimum),
        f"v_max_{end}": _meaning(two, np.maximum),
        f"v_min3_{end}": _meaning(three, lambda a, b, c: np.minimum(np.minimum(a, b), c)),
        f"v_max3_{end}": _meaning(three, lambda a, b, c: np.maximum(np.maximum(a, b), c)),
        f"v_med3_{end}": _meaning(three, _median),
    }


def _meaning(signature: str, compute: Compute) -> Meaning:
    sources, _, results = signature.rstrip("+").partition(">")
    if signature.endswith("+"):
        return Meaning(sources, results, compute, accumulates=True)
    return Meaning(sources, results, compute)


_LANE: Final = np.arange(64, dtype=np.uint64)
_BELOW_LOW: Final = ((np.uint64(1) << np.minimum(_LANE, 32)) - np.uint64(1)).astype(np.uint32)
_BELOW_HIGH: Final = ((np.uint64(1) << np.maximum(_LANE, 32) - np.uint64(32)) - np.uint64(1)).astype(
    np.uint32
)

_PLAIN: Final[dict[str, tuple[str, Compute]]] = {
    "v_mov_b32": ("u>u", np.array),
    "v_mov_b64": ("U>U", np.array),
    "v_not_b32": ("u>u", np.invert),
    "v_bfrev_b32": ("u>u", do.reversed_bits),
    "v_ffbh_u32": ("u>i", do.first_bit_high),
    "v_ffbl_b32": ("u>i", do.first_bit_low),
    "v_ffbh_i32": ("i>i", do.first_bit_sign),
    "v_cndmask_b32": ("ffm>f", lambda a, b, chosen: np.where(chosen, b, a)),
    "v_and_b32": ("uu>u", np.bitwise_and),
    "v_or_b32": ("uu>u", np.bitwise_or),
    "v_xor_b32": ("uu>u", np.bitwise_xor),
    "v_xnor_b32": ("uu>u", lambda a, b: ~(a ^ b)),
    "v_lshlrev_b32": ("uu>u", lambda a, b: b << (a & _31)),
    "v_lshrrev_b32": ("uu>u", lambda a, b: b >> (a & _31)),
    "v_ashrrev_i32": ("ui>i", lambda a, b: b >> (a & _31).astype(np.int32)),
    "v_lshlrev_b64": ("uU>U", lambda a, b: b << (_u64(a) & _63)),
    "v_lshrrev_b64": ("uU>U", lambda a, b: b >> (_u64(a) & _63)),
    "v_ashrrev_i64": ("uI>I", lambda a, b: b >> (_i64(a) & 63)),
    "v_lshlrev_b16": ("ww>w", lambda a, b: b << (a & _15)),
    "v_lshrrev_b16": ("ww>w", lambda a, b: b >> (a & _15)),
    "v_ashrrev_i16": ("ws>s", lambda a, b: b >> (a & _15).astype(np.int16)),
    "v_add_u32": ("uu>u", np.add),
    "v_sub_u32": ("uu>u", np.subtract),
    "v_subrev_u32": ("uu>u", lambda a, b: b - a),
    "v_add_i32": ("ii>i", np.add),
    "v_sub_i32": ("ii>i", np.subtract),
    "v_add_co_u32": ("uu>um", _add_carry),
    "v_sub_co_u32": ("uu>um", _subtract_carry),
    "v_subrev_co_u32": ("uu>um", lambda a, b: _subtract_carry(b, a)),
    "v_addc_co_u32": ("uum>um", _add_carry),
    "v_subb_co_u32": ("uum>um", _subtract_carry),
    "v_subbrev_co_u32": ("uum>um", lambda a, b, borrow: _subtract_carry(b, a, borrow)),
    "v_add_u16": ("ww>w", np.add),
    "v_sub_u16": ("ww>w", np.subtract),
    "v_subrev_u16": ("ww>w", lambda a, b: b - a),
    "v_add_i16": ("ss>s", np.add),
    "v_sub_i16": ("ss>s", np.subtract),
    "v_mul_lo_u16": ("ww>w", np.multiply),
    "v_mad_u16": ("www>w", lambda a, b, c: a * b + c),
    "v_mad_legacy_u16": ("www>w", lambda a, b, c: a * b + c),
    "v_mad_i16": ("sss>s", lambda a, b, c: a * b + c),
    "v_mad_legacy_i16": ("sss>s", lambda a, b, c: a * b + c),
    "v_mad_u32_u16": ("wwu>u", lambda a, b, c: a.astype(np.uint32) * b + c),
    "v_mad_i32_i16": ("ssi>i", lambda a, b, c: a.astype(np.int32) * b + c),
    "v_mul_lo_u32": ("uu>u", np.multiply),
    "v_mul_hi_u32": ("uu>u", lambda a, b: (_u64(a) * b >> np.uint64(32)).astype(np.uint32)),
    "v_mul_hi_i32": ("ii>i", lambda a, b: (_i64(a) * b >> 32).astype(np.int32)),
    "v_mul_u32_u24": ("uu>u", lambda a, b: (a & _24) * (b & _24)),
    "v_mul_i32_i24": ("ii>i", lambda a, b: _signed24(a) * _signed24(b)),
    "v_mul_hi_u32_u24": ("uu>u", lambda a, b: (_u64(a & _24) * (b & _24) >> np.uint64(32)).astype(np.uint32)),
    "v_mul_hi_i32_i24": ("ii>i", lambda a, b: (_i64(_signed24(a)) * _signed24(b) >> 32).astype(np.int32)),
    "v_mad_u32_u24": ("uuu>u", lambda a, b, c: (a & _24) * (b & _24) + c),
    "v_mad_i32_i24": ("iii>i", lambda a, b, c: _signed24(a) * _signed24(b) + c),
    "v_mad_u64_u32": ("uuU>Um", _mad64(np.uint64)),
    "v_mad_i64_i32": ("iiI>Im", _mad64(np.int64)),
    "v_add3_u32": ("uuu>u", lambda a, b, c: a + b + c),
    "v_add_lshl_u32": ("uuu>u", lambda a, b, c: (a + b) << (c & _31)),
    "v_lshl_add_u32": ("uuu>u", lambda a, b, c: (a << (b & _31)) + c),
    "v_lshl_or_b32": ("uuu>u", lambda a, b, c: a << (b & _31) | c),
    "v_lshl_add_u64": ("UuU>U", lambda a, b, c: (a << (_u64(b) & np.uint64(7))) + c),
    "v_and_or_b32": ("uuu>u", lambda a, b, c: a & b | c),
    "v_or3_b32": ("uuu>u", lambda a, b, c: a | b | c),
    "v_xad_u32": ("uuu>u", lambda a, b, c: (a ^ b) + c),
    "v_bfe_u32": ("uuu>u", _bfe),
    "v_bfe_i32": ("iuu>i", _bfe_signed),
    "v_bfi_b32": ("uuu>u", lambda a, b, c: a & b | ~a & c),
    "v_bfm_b32": ("uu>u", lambda a, b: ((U(1) << (a & _31)) - U(1)) << (b & _31)),
    "v_bcnt_u32_b32": ("uu>u", lambda a, b: do.count_bits(np.asarray(a)) + b),
    "v_mbcnt_lo_u32_b32": ("uu>u", lambda a, b: do.count_bits(np.asarray(a) & _BELOW_LOW) + b),
    "v_mbcnt_hi_u32_b32": ("uu>u", lambda a, b: do.count_bits(np.asarray(a) & _BELOW_HIGH) + b),
    "v_cvt_f32_i32": ("i>f", lambda x: x.astype(np.float32)),
    "v_cvt_f32_u32": ("u>f", lambda x: x.astype(np.float32)),
    "v_cvt_i32_f32": ("f>i", lambda x: do.to_integer(x, np.int32)),
    "v_cvt_u32_f32": ("f>u", lambda x: do.to_integer(x, np.uint32)),
    "v_cvt_i32_f64": ("d>i", lambda x: do.to_integer(x, np.int32)),
    "v_cvt_u32_f64": ("d>u", lambda x: do.to_integer(x, np.uint32)),
    "v_cvt_f64_i32": ("i>d", lambda x: x.astype(np.float64)),
    "v_cvt_f64_u32": ("u>d", lambda x: x.astype(np.float64)),
    "v_cvt_f32_f64": ("d>f", lambda x: x.astype(np.float32)),
    "v_cvt_f64_f32": ("f>d", lambda x: x.astype(np.float64)),
    "v_cvt_f16_f32": ("f>h", lambda x: x.astype(np.float16)),
    "v_cvt_f32_f16": ("h>f", lambda x: x.astype(np.float32)),
    "v_cvt_f16_u16": ("w>h", lambda x: x.astype(np.float16)),
    "v_cvt_f16_i16": ("s>h", lambda x: x.astype(np.float16)),
    "v_cvt_u16_f16": ("h>w", lambda x: do.to_integer(x, np.uint16)),
    "v_cvt_i16_f16": ("h>s", lambda x: do.to_integer(x, np.int16)),
    "v_cvt_rpi_i32_f32": ("f>i", lambda x: do.to_integer(np.floor(x.astype(np.float64) + 0.5), np.int32)),
    "v_cvt_flr_i32_f32": ("f>i", lambda x: do.to_integer(np.floor(x), np.int32)),
}  # fmt: skip

_COMPARISONS: Final[Mapping[str, Compute]] = {
    "f": lambda a, b: np.zeros(np.broadcast_shapes(np.shape(a), np.shape(b)), np.bool_),
    "t": lambda a, b: np.ones(np.broadcast_shapes(np.shape(a), np.shape(b)), np.bool_),
    "tru": lambda a, b: np.ones(np.broadcast_shapes(np.shape(a), np.shape(b)), np.bool_),
    "lt": np.less,
    "eq": np.equal,
    "le": np.less_equal,
    "gt": np.greater,
    "lg": lambda a, b: (a < b) | (a > b),
    "ne": np.not_equal,
    "ge": np.greater_equal,
    "o": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
    "u": lambda a, b: np.isnan(a) | np.isnan(b),
    "nge": lambda a, b: ~(a >= b),
    "nlg": lambda a, b: ~((a < b) | (a > b)),
    "ngt": lambda a, b: ~(a > b),
    "nle": lambda a, b: ~(a <= b),
    "neq": np.not_equal,
    "nlt": lambda a, b: ~(a < b),
}
_COMPARED: Final = dict(
    zip(("f16", "f32", "f64", "i16", "i32", "i64", "u16", "u32", "u64"), "hfdsiIwuU", strict=True)
)
_COMPARE: Final = re.compile(r"v_cmpx?_(\w+?)_([fiu]\d\d)")


@cache
def meaning(name: str) -> Meaning | None:
    """What an instruction computes; None: it is not one of these."""
    if found := _COMPARE.fullmatch(name):
        letter = _COMPARED[found[2]]
        if found[1] == "class":
            return Meaning(letter + "u", "m", _class)
        return Meaning(letter * 2, "m", _COMPARISONS[found[1]])
    return _MEANINGS.get(name)


def source_count(name: str) -> int:
    """How many sources a VOP3 instruction has in its encoding."""
    known = meaning(name)
    if known is None:
        return 3
    return len(known.sources) - known.accumulates - (name.startswith("v_div_fmas"))


_MEANINGS: Final = {
    **{name: _meaning(*each) for name, each in (_PLAIN | MEDIA | FP8).items()},
    **{name: _meaning(*each) for letter in "hfd" for name, each in float_table(letter).items()},
    **_whole("i", "i32"),
    **_whole("u", "u32"),
    **_whole("s", "i16"),
    **_whole("w", "u16"),
}
