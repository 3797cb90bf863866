"""Values of which the manual tells the result of a vector instruction.

Source: AMD's manuals "Graphics Core Next Architecture, Generation 3" and "Vega", chapter 12 under the name of
each instruction, chapter 6.2 for what happens to subnormals.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Column: TypeAlias = NDArray[np.uint64]
"""Values of a source as bits, one a lane or a candidate."""
Numbers: TypeAlias = list[NDArray[np.float64]]
BITS: Final[Mapping[str, int]] = dict(
    zip("hwsfuidUImQ", (16,) * 3 + (32,) * 3 + (64,) * 4 + (128,), strict=True)
)
"""Of an operand, by its letter (``interpret.vector.TYPES``; ``m``: a mask; ``Q``: four words)."""
FRACTION: Final = {16: 10, 32: 23, 64: 52}
KINDS: Final[dict[int, tuple[Any, Any]]] = {
    16: (np.uint16, np.float16),
    32: (np.uint32, np.float32),
    64: (np.uint64, np.float64),
}


def number(letter: str, value: float) -> int:
    """Bits of a float in the type of an operand, or in that of its width."""
    unsigned, kind = KINDS[BITS[letter]]
    with np.errstate(all="ignore"):
        return int(np.array(value).astype(kind).view(unsigned))


def numbers(letter: str, column: Column) -> NDArray[np.float64]:
    """Bits as numbers; of floats their value."""
    unsigned, kind = KINDS[min(64, BITS[letter])]
    narrow = column.astype(unsigned)
    with np.errstate(all="ignore"):
        return (narrow.view(kind) if letter in "hfd" else narrow).astype(np.float64)


_NORMAL: Final = {"h": 2.0**-14, "f": 2.0**-126, "d": 2.0**-1022}
"""The least normal float."""
_LEAST_FRACTION: Final = {"h": 2.0**-11, "f": 2.0**-24, "d": 2.0**-53}
FLUSHES: Final = re.compile(
    r"v_(exp|log|rcp|rsq|sqrt|sin|cos)(_legacy|_iflag)?_f(32|64)|v_(mac|mad|madmk|madak)(_legacy)?_f(16|32)"
)
"""Instructions that take subnormals for zeros, or may."""
EXACT: Final = re.compile(r"v_(mac|mad|madmk|madak)(_legacy)?_f(16|32)")


def allowed(name: str, letters: str, columns: Sequence[Column], words: frozenset[str]) -> NDArray[np.bool_]:
    """Rows whose result the manual tells, and that are what ``words`` say."""
    xs = [numbers(letter, column) for letter, column in zip(letters, columns, strict=True)]
    good = np.ones(len(columns[0]), np.bool_)
    floats = [
        (x, letter, column) for x, letter, column in zip(xs, letters, columns, strict=True) if letter in "hfd"
    ]
    if not floats or name in ("v_cndmask_b32",):
        return good
    tiny = np.zeros_like(good)
    for x, letter, _ in floats:
        tiny |= (x != 0) & (np.abs(x) < _NORMAL[letter])
    if FLUSHES.fullmatch(name) or not words & {"any", "subnormal"}:
        good &= ~tiny
    if "subnormal" in words:
        good &= tiny
    if words & {"moderate", "positive"} or (name.startswith("v_div_") and not words & {"large", "subnormal"}):
        for x, letter, _ in floats:
            size = 3 if letter == "h" else 6
            good &= (np.abs(x) >= 2.0**-size) & (np.abs(x) <= 2.0**size)
            good &= x > 0 if "positive" in words else True
    if len(letters) == 1:
        x = xs[0]
        if "negative" in words or not words & {"subnormal", "moderate", "signed"}:
            good &= np.signbit(x) == ("negative" in words)
        good &= _beyond(name, x) if "large" in words else ~_beyond(name, x)
    for pattern, rule in _RULES:
        if pattern.fullmatch(name):
            with np.errstate(all="ignore"):
                good &= rule(name, xs, columns, letters)
    return good


def _beyond(name: str, x: NDArray[np.float64]) -> Any:
    """Too large for the type that it is converted to, in the upper half of a whole type's range, or whole."""
    if found := re.fullmatch(r"v_(?:trunc|ceil|floor|rndne|fract)_f(\d\d)", name):
        return np.isfinite(x) & (np.abs(x) >= 2.0 ** FRACTION[int(found[1])])
    found = re.fullmatch(r"v_cvt(?:_rpi|_flr)?_([iuf])(16|32)_f\d\d", name)
    if found is None:
        return np.zeros_like(x, np.bool_)
    limit = {"i": 2.0 ** (int(found[2]) - 2), "u": 2.0 ** (int(found[2]) - 1)}.get(found[1])
    limit = limit or {"16": 65520.0, "32": 2.0**128 - 2.0**103}[found[2]]
    return ~np.isnan(x) & (np.abs(x) >= limit)


def has_range(name: str, letters: str, word: str) -> bool:
    """Whether ``negative``, ``subnormal`` or ``large`` tell something of an instruction."""
    if word == "large":
        return name.startswith("v_div_") or bool(_beyond(name, np.array([2.0**1000, np.inf])).any())
    return any(letter in "hfd" for letter in letters) and name != "v_cndmask_b32"


Rule: TypeAlias = Callable[[str, Numbers, Sequence[Column], str], Any]
"""Rows that a rule allows, from the name, numbers, bits and letters of the sources."""


def _circle(name: str, xs: Numbers, *_: object) -> Any:
    inside = np.abs(xs[0]) <= 8
    turns = 2 * np.pi * np.where(inside, xs[0], 0)
    return inside & (np.abs(np.sin(turns) if "sin" in name else np.cos(turns)) > 0.2)


def _exact(_name: str, xs: Numbers, _columns: Sequence[Column], letters: str) -> Any:
    sizes = [(np.abs(x) >= 2.0 ** -(4 if letters[0] == "h" else 30)) | (x == 0) | ~np.isfinite(x) for x in xs]
    limits = [(np.abs(x) <= 2.0 ** (4 if letters[0] == "h" else 30)) | ~np.isfinite(x) for x in xs]
    return np.logical_and.reduce(sizes + limits)


def _extreme(_name: str, _xs: Numbers, columns: Sequence[Column], letters: str) -> Any:
    """No signalling NaN: what becomes of it depends on MODE."""
    good = np.ones(len(columns[0]), np.bool_)
    for column, letter in zip(columns, letters, strict=True):
        fraction = FRACTION[BITS[letter]]
        size = column & np.uint64((1 << BITS[letter] - 1) - 1)
        infinity = (1 << BITS[letter] - 1) - (1 << fraction)
        good &= (size <= np.uint64(infinity)) | (size & np.uint64(1 << fraction - 1) != 0)
    return good


def _legacy(name: str, xs: Numbers, *_: object) -> Any:
    """The sign of a product with zero is not said."""
    zero = (xs[0] == 0) | (xs[1] == 0)
    signs = np.signbit(xs[0]) | np.signbit(xs[1])
    return ~(zero & (signs | np.isnan(xs[0] + xs[1]))) & ((xs[2] != 0) if "mad" in name else True)


def _fixup(_name: str, xs: Numbers, _columns: Sequence[Column], letters: str) -> Any:
    apart = {"h": -12, "f": -120, "d": -1000}[letters[0]]
    with np.errstate(all="ignore"):
        far = np.frexp(xs[2])[1] - np.frexp(xs[1])[1] < apart
    return ~(far & np.isfinite(xs[1]) & np.isfinite(xs[2]) & (xs[1] != 0) & (xs[2] != 0))


_TABLE: Final[tuple[tuple[str, Rule], ...]] = (
    (
        r"v_exp(_legacy)?_f\d\d",
        lambda _n, xs, _c, of: (np.abs(xs[0]) <= (14 if of[0] == "h" else 126)) | ~np.isfinite(xs[0]),
    ),
    (r"v_log(_legacy)?_f\d\d", lambda _n, xs, *_: (np.abs(xs[0] - 1) > 0.1) | (xs[0] == 1)),
    (
        r"v_rcp(_iflag)?_f\d\d",
        lambda _n, xs, _c, of: (np.abs(xs[0]) < 0.25 / _NORMAL[of[0]]) | ~np.isfinite(xs[0]),
    ),
    (r"v_(sin|cos)_f\d\d", _circle),
    (EXACT.pattern, _exact),
    (r"v_(min|max|min3|max3|med3)_f\d\d", _extreme),
    (r"v_(mul|mad)_legacy_f32", _legacy),
    (r"v_fract_f\d\d", lambda _n, xs, _c, of: (np.abs(xs[0]) >= _LEAST_FRACTION[of[0]]) | (xs[0] == 0)),
    (r"v_cvt_rpi_i32_f32", lambda _n, xs, *_: (np.abs(xs[0]) < 2.0**20) | (np.abs(xs[0]) >= 2.0**31)),
    (r"v_cvt_(rpi|flr)_i32_f32", lambda _n, xs, *_: ~np.isnan(xs[0])),
    (r"v_pack_b32_f16", lambda _n, xs, *_: ~np.isnan(xs[0] + xs[1])),
    (r"v_div_scale_f\d\d", lambda _n, xs, *_: np.isfinite(xs[1]) & np.isfinite(xs[2])),
    (
        r"v_div_fmas_f\d\d",
        lambda _n, xs, *_: np.all([(np.abs(x) > 2.0**-20) & (np.abs(x) < 2.0**20) for x in xs[:3]], axis=0),
    ),
    (r"v_div_fixup(_legacy)?_f\d\d", _fixup),
)
_RULES: Final = tuple((re.compile(pattern), rule) for pattern, rule in _TABLE)
