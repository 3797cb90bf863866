"""Instructions on bytes, pairs of 16 bits and cube maps, and the table of 2/pi.

Source: AMD's manual "Vega Instruction Set Architecture", chapter 12, under the name of each instruction.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np

from apuflow.interpret.arithmetic import Array, exponent, permuted_bytes

Compute: TypeAlias = Callable[..., Any]
U, Q = np.uint32, np.uint64


def _wide(x: Array) -> Array:
    return np.asarray(x).astype(np.int64)


def distances(size: int, *, masked: bool = False) -> Compute:
    """Sum of the distances of ``size``-bit parts; ``masked``: of those that are not 0 in the second word."""

    def compute(a: Array, b: Array) -> Array:
        total = np.zeros(np.broadcast_shapes(np.shape(a), np.shape(b)), np.int64)
        for place in range(0, 32, size):
            x, y = (_wide(each) >> place & (1 << size) - 1 for each in (a, b))
            total += np.where(y != 0, np.abs(x - y), 0) if masked else np.abs(x - y)
        return total

    return compute


def _sad(size: int, shift: int = 0, *, masked: bool = False) -> Compute:
    sum_of = distances(size, masked=masked)
    return lambda a, b, c: (sum_of(a, b) << shift).astype(np.uint32) + c


def quad_distances(a: Array, b: Array, *, masked: bool) -> list[Array]:
    """V_QSAD, V_MQSAD: the distances of four bytes from those of a pair, from its byte 0, 1, 2 and 3 on."""
    sum_of = distances(8, masked=masked)
    return [sum_of((a >> Q(8 * first)).astype(np.uint32), b) for first in range(4)]


def _quad(*, masked: bool) -> Compute:
    def compute(a: Array, b: Array, c: Array) -> Array:
        found = np.zeros(np.broadcast_shapes(np.shape(a), np.shape(b), np.shape(c)), Q)
        for place, total in enumerate(quad_distances(a, b, masked=masked)):
            added = total.astype(Q) + (np.asarray(c) >> Q(16 * place))
            found |= (added & Q(0xFFFF)) << Q(16 * place)
        return found

    return compute


def _lerp(a: Array, b: Array, c: Array) -> Array:
    found = np.zeros(np.broadcast_shapes(np.shape(a), np.shape(b), np.shape(c)), np.uint32)
    for place in range(0, 32, 8):
        x, y = (each >> U(place) & U(0xFF) for each in (a, b))
        found |= (x + y + (c >> U(place) & U(1)) >> U(1)) << U(place)
    return found


def dot(size: int, *, signed: bool) -> Compute:
    """Sum of the products of ``size``-bit parts and a third operand, not cut."""

    def compute(a: Array, b: Array, c: Array) -> Array:
        total = _wide(c)
        for place in range(0, 32, size):
            x, y = (_wide(each) >> place & (1 << size) - 1 for each in (a, b))
            if signed:
                x, y = (each - (each >> size - 1 << size) for each in (x, y))
            total = total + x * y
        return total

    return compute


def _dot(size: int, kind: Any) -> Compute:
    exact = dot(size, signed=kind is np.int32)
    return lambda a, b, c: exact(a, b, c).astype(kind)


def _halves(x: Array) -> list[Array]:
    return [(np.asarray(x) >> U(16 * half)).astype(np.uint16).view(np.float16) for half in (0, 1)]


def _dot_halves(a: Array, b: Array, c: Array) -> Array:
    x, y = ([each.astype(np.float64) for each in _halves(word)] for word in (a, b))
    return (x[0] * y[0] + x[1] * y[1] + c).astype(np.float32)


def pair(a: Array, b: Array) -> Array:
    """Two values of 16 bits as a word."""
    low, high = (np.asarray(x).view(np.uint16).astype(np.uint32) for x in (a, b))
    return low | high << U(16)


def _saturated_pair(kind: Any) -> Compute:
    limits = np.iinfo(kind)
    return lambda a, b: pair(*(np.clip(x, limits.min, limits.max).astype(kind) for x in (a, b)))


def _saturated_bytes(x: Array) -> Array:
    low, high = (np.clip((x >> U(16 * half)).astype(np.int16), 0, 255).astype(np.uint16) for half in (0, 1))
    return low | high << np.uint16(8)


def _towards_zero(x: Array) -> Array:
    """fp32 to fp16, rounded towards zero."""
    half = x.astype(np.float16)
    larger = np.abs(half.astype(np.float32)) > np.abs(x)
    return np.where(larger & np.isfinite(x), np.nextafter(half, np.float16(0)), half)


def _norm(low: float, high: float, kind: Any) -> Compute:
    def compute(x: Array) -> Array:
        return np.rint(np.clip(np.nan_to_num(x.astype(np.float64)), low, 1.0) * high).astype(kind)

    return compute


_SNORM, _UNORM = _norm(-1.0, 32767, np.int16), _norm(0.0, 65535, np.uint16)


def _byte(x: Array) -> Array:
    return np.clip(np.rint(np.nan_to_num(x)), 0, 255).astype(np.uint32)


def _pack_byte(x: Array, place: Array, old: Array) -> Array:
    shift = (place & U(3)) * U(8)
    return old & ~(U(0xFF) << shift) | _byte(x) << shift


def _bytes_of(place: int) -> Compute:
    return lambda x: (x >> U(8 * place) & U(0xFF)).astype(np.float32)


def _sixteenths(x: Array) -> Array:
    return (((x & U(15)).astype(np.int32) ^ 8) - 8).astype(np.float32) / np.float32(16)


def _align(mask: int, bits: int) -> Compute:
    def compute(a: Array, b: Array, c: Array) -> Array:
        word = np.asarray(a).astype(Q) << Q(32) | b
        return (word >> (np.asarray(c).astype(Q) & Q(mask)) * Q(bits)).astype(np.uint32)

    return compute


def _cube(along_z: Compute, along_y: Compute, along_x: Compute) -> Compute:
    """Of a direction, what belongs to the axis on which it is longest; z comes before y before x."""

    def compute(x: Array, y: Array, z: Array) -> Array:
        far_x, far_y, far_z = np.abs(x), np.abs(y), np.abs(z)
        values = [each(x, y, z) for each in (along_z, along_y, along_x)]
        chosen = [(far_z >= far_x) & (far_z >= far_y), far_y >= far_x]
        return np.select(chosen, values[:2], values[2]).astype(np.float32)

    return compute


_CUBES: Final = {
    "v_cubeid_f32": _cube(
        lambda _x, _y, z: np.where(z < 0, 5.0, 4.0),
        lambda _x, y, _z: np.where(y < 0, 3.0, 2.0),
        lambda x, _y, _z: np.where(x < 0, 1.0, 0.0),
    ),
    "v_cubesc_f32": _cube(
        lambda x, _y, z: np.where(z < 0, -x, x), lambda x, _y, _z: x, lambda x, _y, z: np.where(x < 0, z, -z)
    ),
    "v_cubetc_f32": _cube(
        lambda _x, y, _z: -y, lambda _x, y, z: np.where(y < 0, -z, z), lambda _x, y, _z: -y
    ),
    "v_cubema_f32": _cube(lambda _x, _y, z: 2 * z, lambda _x, y, _z: 2 * y, lambda x, _y, _z: 2 * x),
}
_PI_BITS: Final = 1201
"""Bits of 2/pi that V_TRIG_PREOP_F64 has."""


@cache
def two_over_pi() -> int:
    """The first bits of 2/pi behind the point, as a whole number."""
    guard = 64
    one = 1 << _PI_BITS + guard

    def arctangent(inverse: int) -> int:  # of 1 / inverse, by its series
        term = total = one // inverse
        for number in range(3, 1 << 20, 2):
            term //= -inverse * inverse
            if term in (0, -1):
                break
            total += term // number
        return total

    pi = 4 * (4 * arctangent(5) - arctangent(239))  # Machin
    return (2 * one * one // pi) >> guard


def _trig_preop(x: Array, segment: Array) -> Array:
    """53 bits of 2/pi; the table of AMD's device libraries (``trigredD.cl``) tells where they begin."""
    x, segment = np.broadcast_arrays(x, segment)
    power = exponent(np.ascontiguousarray(x)).astype(np.int64)
    first = (segment & U(31)).astype(np.int64) * 53 + np.maximum(power - 1077, 0)
    found = np.zeros(x.shape, np.float64)
    for shift in np.unique(first):
        found[first == shift] = float((two_over_pi() << 53 + int(shift) >> _PI_BITS) & (1 << 53) - 1)
    return np.ldexp(found, (np.where(power >= 1968, 128, 0) - 53 - first).astype(np.int32))


MEDIA: Final[dict[str, tuple[str, Compute]]] = {
    "v_sad_u8": ("uuu>u", _sad(8)),
    "v_sad_hi_u8": ("uuu>u", _sad(8, 16)),
    "v_sad_u16": ("uuu>u", _sad(16)),
    "v_sad_u32": ("uuu>u", _sad(32)),
    "v_msad_u8": ("uuu>u", _sad(8, masked=True)),
    "v_qsad_pk_u16_u8": ("UuU>U", _quad(masked=False)),
    "v_mqsad_pk_u16_u8": ("UuU>U", _quad(masked=True)),
    "v_lerp_u8": ("uuu>u", _lerp),
    "v_perm_b32": ("uuu>u", permuted_bytes),
    "v_alignbit_b32": ("uuu>u", _align(31, 1)),
    "v_alignbyte_b32": ("uuu>u", _align(3, 8)),
    "v_pack_b32_f16": ("hh>u", pair),
    "v_cvt_off_f32_i4": ("u>f", _sixteenths),
    **{f"v_cvt_f32_ubyte{place}": ("u>f", _bytes_of(place)) for place in range(4)},
    "v_cvt_pkrtz_f16_f32": ("ff>u", lambda a, b: pair(*map(_towards_zero, np.broadcast_arrays(a, b)))),
    "v_cvt_norm_i16_f16": ("h>s", _SNORM),
    "v_cvt_norm_u16_f16": ("h>w", _UNORM),
    **{
        f"v_cvt_pknorm_{end}": (sources + ">u", lambda a, b, norm=norm: pair(norm(a), norm(b)))
        for end, sources, norm in (
            *(("i16_f32", "ff", _SNORM), ("u16_f32", "ff", _UNORM)),
            *(("i16_f16", "hh", _SNORM), ("u16_f16", "hh", _UNORM)),
        )
    },
    "v_cvt_pk_u16_u32": ("uu>u", _saturated_pair(np.uint16)),
    "v_cvt_pk_i16_i32": ("ii>u", _saturated_pair(np.int16)),
    "v_cvt_pk_u8_f32": ("fuu>u", _pack_byte),
    "v_cvt_pkaccum_u8_f32": ("fuu>u+", _pack_byte),
    "v_sat_pk_u8_i16": ("u>w", _saturated_bytes),
    "v_dot4_i32_i8": ("uui>i", _dot(8, np.int32)),
    "v_dot4_u32_u8": ("uuu>u", _dot(8, np.uint32)),
    "v_dot8_i32_i4": ("uui>i", _dot(4, np.int32)),
    "v_dot8_u32_u4": ("uuu>u", _dot(4, np.uint32)),
    "v_dot2c_f32_f16": ("uuf>f+", _dot_halves),
    "v_dot2c_i32_i16": ("uui>i+", _dot(16, np.int32)),
    "v_dot4c_i32_i8": ("uui>i+", _dot(8, np.int32)),
    "v_dot8c_i32_i4": ("uui>i+", _dot(4, np.int32)),
    **{name: ("fff>f", compute) for name, compute in _CUBES.items()},
    "v_trig_preop_f64": ("du>d", _trig_preop),
}  # fmt: skip
"""Signatures and functions by name, as in :mod:`apuflow.interpret.vector`; ``+`` reads the target."""
