"""Floating-point instructions of the vector units that exist for fp16, fp32 and fp64.

Sources: AMD's manual "Vega Instruction Set Architecture", chapter 12. LLVM for what it leaves out: MAD and
MAC round the product (ISD::FMAD) and flush subnormals; so do the fp32 approximations (AMDGPULegalizerInfo:
``legalizeFExp2``, ``legalizeFlog2``, ``legalizeFSQRTF32``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np

from apuflow.interpret import arithmetic as do
from apuflow.interpret.arithmetic import Array

Compute: TypeAlias = Callable[..., Any]
_KINDS: Final[Mapping[str, Any]] = {"h": np.float16, "f": np.float32, "d": np.float64}
_ENDS: Final = {"h": "f16", "f": "f32", "d": "f64"}
_BITS: Final = {
    np.dtype(np.float16): np.uint16,
    np.dtype(np.float32): np.uint32,
    np.dtype(np.float64): np.uint64,
}
_SMALLEST: Final = {np.dtype(kind): np.finfo(kind).smallest_normal for kind in _KINDS.values()}
_NEAR: Final = {kind: limit * 2 ** (np.finfo(kind).nmant + 3) for kind, limit in _SMALLEST.items()}
"""A sum above it is the same with and without a product that is subnormal."""
_QUIET: Final = {
    np.dtype(np.float16): np.uint16(1 << 9),
    np.dtype(np.float32): np.uint32(1 << 22),
    np.dtype(np.float64): np.uint64(1 << 51),
}
_REACH: Final = 256.0
"""Turns that sine and cosine take; beyond, the manual says, they are those of 0."""


def _below(x: Array, limit: Any) -> bool:
    """Whether one of the numbers is smaller than a limit and not 0."""
    size = np.abs(x)
    small = size < limit
    return bool(small.any()) and bool((small & (size > 0)).any())


def flushed(x: Array) -> Array:
    """Floats with zeros of the same sign in place of subnormals."""
    limit = _SMALLEST[x.dtype]
    return np.where(np.abs(x) < limit, np.copysign(x.dtype.type(0), x), x) if _below(x, limit) else x


def mad(a: Array, b: Array, c: Array) -> Array:
    """``a * b + c`` with a rounded product, without subnormals."""
    total = a * b + c
    limit = _SMALLEST[total.dtype]
    if not (_below(total, _NEAR[total.dtype]) or any(_below(each, limit) for each in (a, b, c))):
        return total
    product = flushed(flushed(a) * flushed(b))
    return flushed(product + flushed(c))


def _bits(x: Array) -> Array:
    return np.ascontiguousarray(x).view(_BITS[x.dtype]).reshape(np.shape(x))


def _signalling(x: Array) -> Array:
    return np.isnan(x) & (_bits(x) & _QUIET[x.dtype] == 0)


def _extreme(larger: bool) -> Compute:
    """The larger or the smaller of two floats: of a number and a quiet NaN the number; -0 is below +0.

    A signalling NaN gives a NaN (bit IEEE of the MODE register, which compute kernels set): V_MIN_F32 and
    V_MAX_F32 in the manual.
    """
    choose, propagate = (np.fmax, np.maximum) if larger else (np.fmin, np.minimum)
    join = np.bitwise_and if larger else np.bitwise_or

    def compute(a: Array, b: Array) -> Array:
        if ((a < b) | (a > b)).all():
            return propagate(a, b)
        value = np.asarray(choose(a, b))
        equal = join(_bits(a), _bits(b)).view(value.dtype)
        value = np.where(a == b, equal, value)
        return np.where(_signalling(a) | _signalling(b), value.dtype.type(np.nan), value)

    return compute


smaller, larger = _extreme(False), _extreme(True)


def _median(a: Array, b: Array, c: Array) -> Array:
    none = np.isnan(a) | np.isnan(b) | np.isnan(c)
    middle: Array = larger(smaller(a, b), smaller(larger(a, b), c))
    if none.any():
        middle = np.where(none, smaller(smaller(a, b), c), middle)
    return middle


def _fraction(x: Array) -> Array:
    below_one = np.nextafter(x.dtype.type(1), x.dtype.type(0))
    return np.minimum(x - np.floor(x), below_one)


def _frexp_exponent(x: Array) -> Array:
    power = np.where(np.isfinite(x), np.frexp(x)[1], 0)
    return power.astype(np.int16 if x.dtype == np.float16 else np.int32)


def _turns(function: Any, beyond: float) -> Compute:
    def compute(x: Array) -> Array:
        value = function(2 * np.pi * np.fmod(np.asarray(x).astype(np.float64), 1.0))
        if x.dtype == np.float32:
            value = np.where((np.abs(x) > _REACH) & np.isfinite(x), beyond, value)
        return value.astype(x.dtype)

    return compute


def _through_double(function: Any) -> Compute:
    """An approximation of the hardware, here rounded right; that of fp32 has no subnormals."""

    def compute(x: Array) -> Array:
        if x.dtype == np.float32:
            return flushed(function(flushed(x).astype(np.float64)).astype(np.float32))
        return function(np.asarray(x).astype(np.float64)).astype(x.dtype)

    return compute


def _unscaled(fma: Compute, power: int) -> Compute:
    """V_DIV_FMAS: what V_DIV_SCALE has scaled is scaled back.

    The power is that of the manual "RDNA 2 ISA"; half of it, as "Vega ISA" says, would not undo V_DIV_SCALE.
    """

    def compute(a: Array, b: Array, c: Array, scaled: Array) -> Array:
        up = np.abs(c) >= 2
        return np.ldexp(fma(a, b, c), np.where(scaled, np.where(up, power, -power), 0))

    return compute


def _scaled(x: Array, power: Array) -> Array:
    return np.ldexp(x, np.asarray(power).astype(np.int32))


def _no_product(a: Array, b: Array) -> Array:
    return (flushed(a) == 0) | (flushed(b) == 0)


def _mad_legacy(a: Array, b: Array, c: Array) -> Array:
    return np.where(_no_product(a, b), c.dtype.type(0) + flushed(c), mad(a, b, c))


def fma16(a: Array, b: Array, c: Array) -> Array:
    """``a * b + c`` of fp16, rounded once: fp64 holds every sum that is not rounded to one of its terms."""
    return (np.asarray(a).astype(np.float64) * b + c).astype(np.float16)


def float_table(letter: str) -> dict[str, tuple[str, Compute]]:
    """Signatures and functions of a type's instructions, by name; a ``+`` reads the target's old value."""
    kind, end = _KINDS[letter], _ENDS[letter]
    fma: Compute = {"h": fma16, "f": do.fma32, "d": do.fma64}[letter]
    one, two, three = f"{letter}>{letter}", f"{letter * 2}>{letter}", f"{letter * 3}>{letter}"
    inverse = _through_double(lambda x: 1 / x)
    mean: dict[str, tuple[str, Compute]] = {
        "add": (two, np.add),
        "sub": (two, np.subtract),
        "subrev": (two, lambda a, b: b - a),
        "mul": (two, np.multiply),
        "mul_legacy": (two, lambda a, b: np.where((a == 0) | (b == 0), kind(0), a * b)),
        "max": (two, larger),
        "min": (two, smaller),
        "mac": (three + "+", mad),
        "fmac": (three + "+", fma),
        "mad": (three, mad),
        "mad_legacy": (three, mad if letter == "h" else _mad_legacy),
        "fma": (three, fma),
        "fma_legacy": (three, fma),
        "fmaak": (three, fma),
        "fmamk": (three, fma),
        "madak": (three, mad),
        "madmk": (three, mad),
        "max3": (three, lambda a, b, c: larger(larger(a, b), c)),
        "min3": (three, lambda a, b, c: smaller(smaller(a, b), c)),
        "med3": (three, _median),
        "fract": (one, _fraction),
        "trunc": (one, np.trunc),
        "ceil": (one, np.ceil),
        "floor": (one, np.floor),
        "rndne": (one, np.rint),
        "exp": (one, _through_double(np.exp2)),
        "exp_legacy": (one, _through_double(np.exp2)),
        "log": (one, _through_double(np.log2)),
        "log_legacy": (one, _through_double(np.log2)),
        "rcp": (one, inverse),
        "rcp_iflag": (one, inverse),
        "rsq": (one, _through_double(lambda x: 1 / np.sqrt(x))),
        "sqrt": (one, _through_double(np.sqrt)),
        "sin": (one, _turns(np.sin, 0.0)),
        "cos": (one, _turns(np.cos, 1.0)),
        "frexp_mant": (one, lambda x: np.frexp(x)[0]),
        "ldexp": (f"{letter}{'s' if letter == 'h' else 'i'}>{letter}", _scaled),
        "div_fixup": (three, do.div_fixup),
        "div_fixup_legacy": (three, do.div_fixup),
    }  # fmt: skip
    found = {f"v_{name}_{end}": each for name, each in mean.items()}
    exponents = ("v_frexp_exp_i16_f16", "h>s") if letter == "h" else (f"v_frexp_exp_i32_{end}", f"{letter}>i")
    found[exponents[0]] = (exponents[1], _frexp_exponent)
    if letter != "h":
        found[f"v_div_scale_{end}"] = (f"{letter * 3}>{letter}m", do.div_scale)
        fmas = _unscaled(fma, 64 if letter == "f" else 128)
        found[f"v_div_fmas_{end}"] = (f"{letter * 3}m>{letter}", fmas)
    return found
