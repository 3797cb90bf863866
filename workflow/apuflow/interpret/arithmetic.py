"""Arithmetic of the vector units where NumPy has none of its own.

Source: AMD's manual "Vega Instruction Set Architecture", chapter 12, under the name of each instruction.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
_TIE: Final = np.uint64(1 << 28)
_BELOW: Final = np.uint64((1 << 29) - 1)
_SIGN: Final = {np.dtype(np.float32): np.uint32(1 << 31), np.dtype(np.float64): np.uint64(1 << 63)}


def distinct(values: Array) -> Array:
    """Different values, ascending: NumPy's sort takes a hundredth of the time of ``np.unique``."""
    ordered = np.sort(values, axis=None)
    new = np.ones(len(ordered), np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    return ordered[new]


def fma32(a: Array, b: Array, c: Array) -> Array:
    """``a * b + c`` of fp32, rounded once.

    The product is exact in fp64; the sum is rounded to odd where rounding it twice could differ.
    """
    product = np.multiply(a, b, dtype=np.float64)
    total = np.add(product, c, dtype=np.float64)
    bits = total.view(np.uint64)
    doubtful = (bits & _BELOW == _TIE) | (np.abs(total) < 2.0**-126)
    if doubtful.any():
        wide = np.broadcast_to(c, total.shape).astype(np.float64)
        back = total - product
        rest = (product - (total - back)) + (wide - back)
        away = doubtful & (rest != 0) & np.isfinite(total) & (bits & np.uint64(1) == 0)
        towards = np.where((rest > 0) == (total >= 0), np.uint64(1), ~np.uint64(0))
        total = np.where(away, (bits + towards).view(np.float64), total)
    return total.astype(np.float32)


def fma64(a: Array, b: Array, c: Array) -> Array:
    """``a * b + c`` of fp64, rounded once."""
    import math

    fused = getattr(math, "fma", None) or _fma
    return np.vectorize(fused, otypes=[np.float64])(a, b, c)


def _fma(a: float, b: float, c: float) -> float:
    from fractions import Fraction
    from math import isfinite

    if not (isfinite(a) and isfinite(b)):
        return a * b + c
    if not isfinite(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c
    try:
        return float(exact)
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")


def exponent(x: Array) -> Array:
    """The exponent's bits of a float."""
    if x.dtype == np.float32:
        return (x.view(np.uint32) >> np.uint32(23) & np.uint32(0xFF)).astype(np.int32)
    return (x.view(np.uint64) >> np.uint64(52) & np.uint64(0x7FF)).astype(np.int32)


def div_scale(x: Array, denominator: Array, numerator: Array) -> tuple[Array, Array]:
    """V_DIV_SCALE: ``x`` (one of the other two) scaled so that the division stays in range; the flag."""
    x, denominator, numerator = (
        np.ascontiguousarray(each) for each in np.broadcast_arrays(x, denominator, numerator)
    )
    single = x.dtype == np.float32
    power, apart, low, tiny = (64, 96, 23, 2.0**-126) if single else (128, 768, 53, 2.0**-1022)
    inverse, quotient = 1 / denominator, numerator / denominator
    subnormal = [(np.abs(each) < tiny) & (each != 0) for each in (denominator, inverse, quotient)]
    zero = (numerator == 0) | (denominator == 0)
    far = exponent(numerator) - exponent(denominator) >= apart
    is_denominator = x.view(_bits(x)) == denominator.view(_bits(x))
    is_numerator = x.view(_bits(x)) == numerator.view(_bits(x))
    up, down = np.ldexp(x, power), np.ldexp(x, -power)
    both = subnormal[1] & subnormal[2]
    value = np.select(
        [zero, far, subnormal[0], both, subnormal[1], subnormal[2], exponent(numerator) <= low],
        [
            np.full_like(x, np.nan),
            np.where(is_denominator, up, x),
            up,
            np.where(is_denominator, up, x),
            down,
            np.where(is_numerator, up, x),
            up,
        ],
        x,
    ).astype(x.dtype)
    flag = ~zero & (far | (~subnormal[0] & (both | (~subnormal[1] & subnormal[2]))))
    return value, flag


def _bits(x: Array) -> Any:
    return np.uint32 if x.dtype == np.float32 else np.uint64


def div_fixup(quotient: Array, denominator: Array, numerator: Array) -> Array:
    """V_DIV_FIXUP: the quotient, with the special cases of a division put right."""
    quotient, denominator, numerator = map(np.array, np.broadcast_arrays(quotient, denominator, numerator))
    kind = quotient.dtype
    lowest = {np.dtype(np.float32): -150, np.dtype(np.float64): -1075}.get(kind)
    none = False if lowest is None else exponent(numerator) - exponent(denominator) < lowest
    negative = np.signbit(denominator) != np.signbit(numerator)
    nowhere = ((denominator == 0) & (numerator == 0)) | (np.isinf(denominator) & np.isinf(numerator))
    value = np.select(
        [
            np.isnan(numerator),
            np.isnan(denominator),
            nowhere,
            (denominator == 0) | np.isinf(numerator),
            np.isinf(denominator) | (numerator == 0) | none,
        ],
        [numerator, denominator, np.full(kind.type(0).shape, np.nan, kind), np.inf, kind.type(0)],
        np.abs(quotient),
    )
    special = np.isnan(numerator) | np.isnan(denominator) | nowhere
    return np.where(special, value, np.copysign(value, np.where(negative, -1.0, 1.0))).astype(kind)


def to_integer(x: Array, kind: Any) -> Array:
    """A float cut to a whole number; NaN is 0, what is too large the largest."""
    limits = np.iinfo(kind)
    whole = np.trunc(np.nan_to_num(x.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf))
    return (
        np.clip(whole, float(limits.min), float(limits.max))
        .astype(np.int64 if limits.bits < 64 else kind)
        .astype(kind)
    )


def reversed_bits(x: Array) -> Array:
    """The 32 bits of a word in the other order."""
    x = np.array(x, np.uint32)
    for shift, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF), (16, 0xFFFF)):
        x = (x >> np.uint32(shift) & np.uint32(mask)) | (x & np.uint32(mask)) << np.uint32(shift)
    return x


def count_bits(x: Array) -> Array:
    """Bits that are set in each word."""
    bytes_ = np.ascontiguousarray(x).view(np.uint8).reshape(*x.shape, x.dtype.itemsize)
    return _BITS[bytes_].sum(-1, dtype=np.uint32)


_BITS: Final = np.array([bin(byte).count("1") for byte in range(256)], np.uint8)


def first_bit_low(x: Array) -> Array:
    """Place of the lowest bit that is set; -1 where none is."""
    lowest = x & (~x + x.dtype.type(1))
    return np.where(x == 0, -1, count_bits(lowest - x.dtype.type(1))).astype(np.int32)


def first_bit_high(x: Array) -> Array:
    """Zeros above the highest bit that is set; -1 where none is."""
    width = 8 * x.dtype.itemsize
    _, exponents = np.frexp((x & ~(x >> x.dtype.type(1))).astype(np.float64))
    return np.where(x == 0, -1, width - exponents).astype(np.int32)


def first_bit_sign(x: Array) -> Array:
    """Bits equal to the sign at the top of a signed number; -1 where all are."""
    unsigned = x.view(np.uint32 if x.dtype == np.int32 else np.uint64)
    return first_bit_high(np.where(x < 0, np.invert(unsigned), unsigned))


def permuted_bytes(high: Array, low: Array, selector: Array) -> Array:
    """V_PERM_B32: four bytes, each chosen by a byte of ``selector`` out of eight."""
    word = np.asarray(high).astype(np.uint64) << np.uint64(32) | low
    result = np.zeros(np.broadcast_shapes(word.shape, np.shape(selector)), np.uint32)
    for place in range(4):
        choice = (np.asarray(selector) >> np.uint32(8 * place) & np.uint32(0xFF)).astype(np.uint64)
        byte = word >> (choice & np.uint64(7)) * np.uint64(8) & np.uint64(0xFF)
        sign_at = np.select([choice == each for each in (8, 9, 10, 11)], [15, 31, 47, 63], 0).astype(
            np.uint64
        )
        sign = np.where(word >> sign_at & np.uint64(1), np.uint64(0xFF), np.uint64(0))
        byte = np.where(choice < 8, byte, np.where(choice < 12, sign, np.where(choice == 12, 0, 0xFF)))
        result |= byte.astype(np.uint32) << np.uint32(8 * place)
    return result


def bfloat(x: Array) -> Array:
    """bf16 (as words of 16 bits) to fp32."""
    return (np.asarray(x).astype(np.uint32) << np.uint32(16)).view(np.float32)
