"""Floats of 8 bits of gfx940 and gfx942: FP8 (E4M3) and BF8 (E5M2) without infinities and negative zero.

Source: AMD's manual "Instinct MI300 Instruction Set Architecture", chapter 7.2 (BF8 / FP8).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from apuflow.interpret.arithmetic import Array

_FRACTIONS: Final = {"fp8": 3, "bf8": 2}
_NAN: Final = 0x80


@cache
def values(kind: str) -> Array:
    """Values of the 256 bytes of ``fp8`` or ``bf8``, fp32."""
    fraction = _FRACTIONS[kind]
    byte = np.arange(256)
    power = byte >> fraction & (1 << 7 - fraction) - 1
    part = byte & (1 << fraction) - 1
    bias = 1 << 6 - fraction
    magnitude = np.ldexp((part + np.where(power > 0, 1 << fraction, 0)).astype(np.float32),
                         np.maximum(power, 1) - bias - fraction)  # fmt: skip
    signed = np.where(byte >> 7, -magnitude, magnitude).astype(np.float32)
    signed[_NAN] = np.nan
    return signed


def to_fp8(x: Array, kind: str) -> Array:
    """fp32 to bytes, to the nearest, of two the even one; NaN and what is too large give NaN."""
    table = values(kind)
    magnitude = np.abs(np.asarray(x, np.float32)).astype(np.float64)
    known = table[:128].astype(np.float64)
    middle = (known[:-1] + known[1:]) / 2
    found = np.searchsorted(middle, magnitude)  # as many numbers are below as there are middles below
    found += (
        (found < 127) & (found & 1 == 1) & (magnitude == np.append(middle, np.inf)[np.minimum(found, 127)])
    )
    largest = known[-1] + (known[-1] - known[-2]) / 2
    found = np.where(np.signbit(x) & (found > 0), found | _NAN, found)
    return np.where(np.isnan(magnitude) | (magnitude >= largest), _NAN, found).astype(np.uint8)


def _unpack(kind: str) -> Callable[..., Any]:
    return lambda x: values(kind)[np.asarray(x) & np.uint32(0xFF)]


def _unpack_pair(kind: str) -> Callable[..., Any]:
    def compute(x: Array) -> Array:
        low, high = (values(kind)[np.asarray(x) >> np.uint16(shift) & np.uint16(0xFF)] for shift in (0, 8))
        return low.view(np.uint32).astype(np.uint64) | high.view(np.uint32).astype(np.uint64) << np.uint64(32)

    return compute


def _pack_pair(kind: str) -> Callable[..., Any]:
    def compute(a: Array, b: Array) -> Array:
        low, high = (to_fp8(each, kind).astype(np.uint16) for each in (a, b))
        return low | high << np.uint16(8)

    return compute


FP8: Final[dict[str, tuple[str, Callable[..., Any]]]] = {
    name: each
    for kind in _FRACTIONS
    for name, each in (
        (f"v_cvt_f32_{kind}", ("u>f", _unpack(kind))),
        (f"v_cvt_pk_f32_{kind}", ("w>U", _unpack_pair(kind))),
        (f"v_cvt_pk_{kind}_f32", ("ff>w", _pack_pair(kind))),
    )
}
"""Signatures and functions by name, as in :mod:`apuflow.interpret.vector`."""
