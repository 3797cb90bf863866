"""Whole numbers with the bit CLAMP: a result outside of its type is the type's nearest number.

Source: AMD's manual "Vega Instruction Set Architecture", chapter 6.2.2.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from apuflow.interpret.arithmetic import Array
from apuflow.interpret.media import dot

_EXACT: Final[dict[str, Callable[..., Array]]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "subrev": lambda a, b: b - a,
    "addc": lambda a, b, carry: a + b + carry,
    "subb": lambda a, b, borrow: a - b - borrow,
    "subbrev": lambda a, b, borrow: b - a - borrow,
    "mul_lo": lambda a, b: a * b,
    "mad": lambda a, b, c: a * b + c,
}
_SIMPLE: Final = re.compile(
    rf"v_(?:pk_)?({'|'.join(_EXACT)})(?:_legacy)?(?:_co)?_[iu](?:16|32)(?:_[iu](16|24))?"
)
_DOT: Final = re.compile(r"v_dot([248])c?_[iu]32_([iu])\d+")
_ADDED_LAST: Final = re.compile(r"v_m?sad_(hi_)?u(8|16|32)")
_UNCHANGED: Final = re.compile(r"v_(pk_)?(cvt|frexp|min|max|med|lshl|lshr|ashr)")
"""Instructions with no result outside of its type, or whose bit CLAMP says something else."""


def saturated(name: str, compute: Callable[..., Any], kind: Any) -> Callable[..., Any] | None:
    """The function of an instruction whose result is clamped to ``kind``; None: it is not known.

    Args:
        compute: the function without CLAMP.
    """
    if _UNCHANGED.match(name):
        return compute
    if name in ("v_mad_u64_u32", "v_mad_i64_i32"):
        return _wide_mad(compute, kind)
    exact = _exact(name, compute)
    if exact is None:
        return None
    limits = np.iinfo(kind)

    def clamped(*sources: Array) -> Any:
        total = np.clip(exact(*sources), limits.min, limits.max).astype(kind)
        return (total, compute(*sources)[1]) if "_co_" in name else total

    return clamped


def _exact(name: str, compute: Callable[..., Any]) -> Callable[..., Array] | None:
    if found := _SIMPLE.fullmatch(name):
        sum_of, narrow = _EXACT[found[1]], found[2] == "24"

        def total(*sources: Array) -> Array:
            wide = [np.asarray(each).astype(np.int64) for each in sources]
            if narrow:
                wide[:2] = [_cut(each, signed="_i24" in name) for each in wide[:2]]
            return sum_of(*wide)

        return total
    if found := _DOT.fullmatch(name):
        return dot(32 // int(found[1]), signed=found[2] == "i")
    if _ADDED_LAST.fullmatch(name):
        nothing = np.zeros(1, np.uint32)
        return lambda a, b, c: compute(a, b, nothing).astype(np.int64) + c
    return None


def _cut(x: Array, *, signed: bool) -> Array:
    low = x & 0xFFFFFF
    return low - (low >> 23 << 24) if signed else low


def _wide_mad(compute: Callable[..., Any], kind: Any) -> Callable[..., Any]:
    limits = np.iinfo(kind)

    def clamped(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
        total, beyond = compute(a, b, c)
        limit = np.where(c < 0, kind(limits.min), kind(limits.max))
        return np.where(beyond, limit, total).astype(kind), beyond

    return clamped
