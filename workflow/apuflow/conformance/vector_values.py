"""Operands that vector instructions are tried with: special values against each other, and random bits.

Where the manual leaves a result open, as of sines of large numbers, no such value is taken. Source: AMD's
manuals "Graphics Core Next Architecture, Generation 3" and "Vega", chapter 12 under the name of each
instruction, chapter 6.2 for what happens to subnormals.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from apuflow.conformance.case import ROUNDS, Words

Column: TypeAlias = NDArray[np.uint64]
"""Values of a source as bits, one a lane or a candidate."""
Numbers: TypeAlias = list[NDArray[np.float64]]
LANES: Final = 64
BITS: Final[Mapping[str, int]] = dict(
    zip("hwsfuidUImQ", (16,) * 3 + (32,) * 3 + (64,) * 4 + (128,), strict=True)
)
"""Of an operand, by its letter (``interpret.vector.TYPES``; ``m``: a mask; ``Q``: four words)."""
_FRACTION: Final = {16: 10, 32: 23, 64: 52}
_KINDS: Final[dict[int, tuple[Any, Any]]] = {
    16: (np.uint16, np.float16),
    32: (np.uint32, np.float32),
    64: (np.uint64, np.float64),
}
_CANDIDATES: Final = 1500
_TURNING_POINTS: Final = (
    *(65504.0, 65519.0, 65520.0, 65536.0, 1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-24, 1 + 3 * 2**-24, 2.0**-25),
    *(2.0**31, 2.0**31 - 128, 2.0**31 - 1, 2.0**32, 2.0**32 - 256, 2.0**32 - 1, 32767.5, 32768.0, 65535.0),
    *(3.5, 127.5, 255.5, 8388607.5, 16777215.0, 0.25, 0.75, 6e-8, 2.0**127, 2.0**128),
)
"""Where roundings and conversions change; tried with both signs."""


class Part(NamedTuple):
    """The part of a register that an SDWA operand takes: BYTE_0 to BYTE_3, WORD_0, WORD_1, DWORD."""

    select: str = "DWORD"
    signed: bool = False

    @property
    def shift(self) -> int:
        """Bits below it."""
        return int(self.select[-1]) * self.bits if self.bits < 32 else 0

    @property
    def bits(self) -> int:
        """Its width."""
        return {"B": 8, "W": 16}.get(self.select[0], 32)


def generator(*words: object) -> np.random.Generator:
    """Random numbers that depend on these words alone."""
    return np.random.default_rng(zlib.crc32(" ".join(map(str, words)).encode()))


def number(letter: str, value: float) -> int:
    """Bits of a float in the type of an operand, or in that of its width."""
    unsigned, kind = _KINDS[BITS[letter]]
    with np.errstate(all="ignore"):
        return int(np.array(value).astype(kind).view(unsigned))


def numbers(letter: str, column: Column) -> NDArray[np.float64]:
    """Bits as numbers; of floats their value."""
    unsigned, kind = _KINDS[min(64, BITS[letter])]
    narrow = column.astype(unsigned)
    with np.errstate(all="ignore"):
        return (narrow.view(kind) if letter in "hfd" else narrow).astype(np.float64)


@cache
def _special(letter: str, subnormal: bool) -> tuple[int, ...]:
    bits = BITS[letter]
    mask, sign = (1 << bits) - 1, 1 << bits - 1
    if letter not in "hfd":
        near = (0, 1, 2, -1, -2, sign, sign - 1, sign + 1, 15, 16, 31, 32, 33, 64, 0xFFFF, 0x8000, 0x7FFFFF)
        return tuple(value & mask for value in (*near, -0x800000, 0x5555555555555555, 0x0123456789ABCDEF))
    fraction = _FRACTION[bits]
    lowest, infinity = 1 << fraction, (1 << bits - 1) - (1 << fraction)
    one = number(letter, 1.0)
    finite = [
        0,
        lowest,
        one - lowest,
        one,
        one + 1,
        one + lowest // 2,
        one + lowest + lowest // 4,
        infinity - 1,
    ]
    if subnormal:
        finite = [1, lowest // 2 + 1, lowest - 1, 3, lowest, 0, one, one + 2 * lowest]
    signed = [value | minus for value in finite for minus in (0, sign)]
    return (*signed, infinity, infinity | sign, infinity | lowest // 2 | 5, infinity | 1)


def _random(letter: str, count: int, random: np.random.Generator) -> Column:
    bits = BITS[letter]
    found = random.integers(0, (1 << 64) - 1, count, np.uint64, endpoint=True)
    if letter in "hfd":
        fraction = _FRACTION[bits]
        moderate = (number(letter, 1.0) >> fraction) + random.integers(-5, 6, count)
        raised = found & np.uint64((1 << fraction) - 1 | 1 << bits - 1) | moderate.astype(
            np.uint64
        ) << np.uint64(fraction)
        found = np.where(random.random(count) < 0.5, raised, found)
    return found & np.uint64((1 << min(64, bits)) - 1)


@cache
def _candidates(letters: str, words: frozenset[str], seed: str) -> tuple[Column, ...]:
    """Rows of values: of two sources all special ones against each other, then random ones."""
    random = generator(letters, seed)
    every = [
        np.array(_special(letter, "subnormal" in words), np.uint64)
        for letter in letters
        if letter not in "mQ"
    ]
    sizes = [len(each) for each in every]
    if len(sizes) == 1:
        picks = [np.arange(sizes[0])]
        if letters[0] in "hfd":
            points = [number(letters[0], sign * point) for point in _TURNING_POINTS for sign in (1, -1)]
            every[0] = np.concatenate([every[0], np.array(points, np.uint64)])
            picks = [np.arange(len(every[0]))]
    elif len(sizes) == 2:
        picks = [each.ravel() for each in np.indices(sizes)]
    else:
        picks = [random.integers(0, size, 300) for size in sizes]
    special = iter([values[pick] for values, pick in zip(every, picks, strict=True)])
    count = len(picks[0]) if picks else 0
    columns = []
    for letter in letters:
        first = _random(letter, count, random) if letter in "mQ" else next(special)
        columns.append(np.concatenate([first, _random(letter, _CANDIDATES, random)]))
    return tuple(columns)


def _normal(letter: str) -> float:
    return {"h": 2.0**-14, "f": 2.0**-126, "d": 2.0**-1022}[letter]


FLUSHES: Final = re.compile(
    r"v_(exp|log|rcp|rsq|sqrt|sin|cos)(_legacy|_iflag)?_f(32|64)|v_(mac|mad|madmk|madak)(_legacy)?_f(16|32)"
)
"""Instructions that take subnormals for zeros, or may."""
_EXACT: Final = re.compile(r"v_(mac|mad|madmk|madak)(_legacy)?_f(16|32)")
_SMALL_COUNTS: Final = re.compile(r"v_(bfe|bfm|alignbit|alignbyte|cmpx?_class|cvt_pk_u8|cvt_pkaccum)")
_PREPARED: Final[tuple[tuple[re.Pattern[str], int], ...]] = (
    (_SMALL_COUNTS, 1),
    (re.compile("v_(bfe|align)"), 2),
    (re.compile("v_ldexp_"), 1),
)


def _prepare(name: str, letters: str, columns: list[Column]) -> None:
    """Change candidates to what the instruction needs."""
    random = generator(name)
    count = len(columns[0])
    if _EXACT.fullmatch(name):  # so few digits that it does not matter whether the product is rounded
        for place, letter in enumerate(letters):
            columns[place] = columns[place] & np.uint64(0xFFFFF000 if letter == "f" else 0xFFE0)
    for pattern, place in _PREPARED:
        if pattern.match(name) and place < len(letters):
            limit = {"h": 30, "f": 200, "d": 1200}[letters[0]] if "ldexp" in name else 0
            small = random.integers(-limit, limit + 1, count) if limit else random.integers(0, 1024, count)
            mask = np.uint64((1 << BITS[letters[place]]) - 1)
            keep = random.random(count) < 0.3
            columns[place] = np.where(keep, columns[place], small.astype(np.uint64) & mask)
    if name == "v_perm_b32":
        columns[2] = np.where(random.random(count) < 0.7, columns[2] & np.uint64(0x0F0F0F0F), columns[2])
    if name.startswith("v_div_scale"):  # the first source is one of the others
        columns[0] = np.where(random.random(count) < 0.5, columns[1], columns[2])
    if found := re.match(r"v_cvt_(pk|pkaccum|pknorm|norm)_([iu])(8|16)_f(16|32)", name):
        step = 1 if found[3] == "8" else 32767 if found[2] == "i" else 65535
        for place in range(len(letters)):
            if letters[place] in "hf":
                whole = random.integers(
                    0 if found[2] == "u" else -step, (256 if step == 1 else step) + 1, count
                )
                whole = np.minimum(whole, 255) if step == 1 else whole
                values = (whole / step).astype(_KINDS[BITS[letters[place]]][1])
                columns[place] = values.view(_KINDS[BITS[letters[place]]][0]).astype(np.uint64)


def _allowed(name: str, letters: str, columns: Sequence[Column], words: frozenset[str]) -> NDArray[np.bool_]:
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
        tiny |= (x != 0) & (np.abs(x) < _normal(letter))
    if FLUSHES.fullmatch(name) or not words & {"any", "subnormal"}:
        good &= ~tiny
    if "subnormal" in words:
        good &= tiny
    if words & {"moderate", "positive"}:
        for x, letter, _ in floats:
            size = 3 if letter == "h" else 6
            good &= (np.abs(x) >= 2.0**-size) & (np.abs(x) <= 2.0**size)
            good &= x > 0 if "positive" in words else True
    if len(letters) == 1:
        x = xs[0]
        if "negative" in words or not words & {"subnormal", "moderate", "signed"}:
            good &= np.signbit(x) == ("negative" in words)
        good &= _beyond(name, x) if "large" in words else ~_beyond(name, x) | ("signed" in words)
    for pattern, rule in _RULES:
        if pattern.fullmatch(name):
            with np.errstate(all="ignore"):
                good &= rule(name, xs, columns, letters)
    return good


def _beyond(name: str, x: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Too large for the type that it is converted to."""
    found = re.fullmatch(r"v_cvt(?:_rpi|_flr)?_([iuf])(16|32)_f\d\d", name)
    if found is None:
        return np.zeros_like(x, np.bool_)
    limit = {"i": 2.0 ** (int(found[2]) - 1), "u": 2.0 ** int(found[2])}.get(found[1])
    limit = limit or {"16": 65520.0, "32": 2.0**128 - 2.0**103}[found[2]]
    return ~np.isnan(x) & (np.abs(x) >= limit)


def has_range(name: str, letters: str, word: str) -> bool:
    """Whether ``negative``, ``subnormal`` or ``large`` tell something of an instruction."""
    if word == "large":
        return bool(_beyond(name, np.array([np.inf]))[0])
    return any(letter in "hfd" for letter in letters) and name != "v_cndmask_b32"


Rule: TypeAlias = Callable[[str, Numbers, Sequence[Column], str], NDArray[np.bool_]]


def _exponential(_name: str, xs: Numbers, _columns: Sequence[Column], letters: str) -> NDArray[np.bool_]:
    return ~((xs[0] < (-14 if letters[0] == "h" else -126)) & np.isfinite(xs[0]))


def _logarithm(_name: str, xs: Numbers, *_: object) -> NDArray[np.bool_]:
    return (np.abs(xs[0] - 1) > 0.1) | (xs[0] == 1)


def _reciprocal(_name: str, xs: Numbers, _columns: Sequence[Column], letters: str) -> NDArray[np.bool_]:
    return (np.abs(xs[0]) < 0.25 / _normal(letters[0])) | ~np.isfinite(xs[0])


def _circle(name: str, xs: Numbers, *_: object) -> NDArray[np.bool_]:
    inside = np.abs(xs[0]) <= 8
    turns = 2 * np.pi * np.where(inside, xs[0], 0)
    return inside & (np.abs(np.sin(turns) if "sin" in name else np.cos(turns)) > 0.2)


def _exact(_name: str, xs: Numbers, _columns: Sequence[Column], letters: str) -> NDArray[np.bool_]:
    sizes = [(np.abs(x) >= 2.0 ** -(4 if letters[0] == "h" else 30)) | (x == 0) | ~np.isfinite(x) for x in xs]
    limits = [(np.abs(x) <= 2.0 ** (4 if letters[0] == "h" else 30)) | ~np.isfinite(x) for x in xs]
    return np.logical_and.reduce(sizes + limits)


def _extreme(_name: str, _xs: Numbers, columns: Sequence[Column], letters: str) -> NDArray[np.bool_]:
    """No signalling NaN: what becomes of it depends on MODE."""
    good = np.ones(len(columns[0]), np.bool_)
    for column, letter in zip(columns, letters, strict=True):
        fraction = _FRACTION[BITS[letter]]
        size = column & np.uint64((1 << BITS[letter] - 1) - 1)
        infinity = (1 << BITS[letter] - 1) - (1 << fraction)
        good &= (size <= np.uint64(infinity)) | (size & np.uint64(1 << fraction - 1) != 0)
    return good


def _legacy(name: str, xs: Numbers, *_: object) -> NDArray[np.bool_]:
    """The sign of a product with zero is not said."""
    zero = (xs[0] == 0) | (xs[1] == 0)
    signs = np.signbit(xs[0]) | np.signbit(xs[1])
    return ~(zero & (signs | np.isnan(xs[0] + xs[1]))) & ((xs[2] != 0) if "mad" in name else True)


def _fraction_part(_name: str, xs: Numbers, _columns: Sequence[Column], letters: str) -> NDArray[np.bool_]:
    return (np.abs(xs[0]) >= {"h": 2.0**-11, "f": 2.0**-24, "d": 2.0**-53}[letters[0]]) | (xs[0] == 0)


def _halves_up(_name: str, xs: Numbers, *_: object) -> NDArray[np.bool_]:
    return (np.abs(xs[0]) < 2.0**20) | (np.abs(xs[0]) >= 2.0**31)


def _whole(_name: str, xs: Numbers, *_: object) -> NDArray[np.bool_]:
    return ~np.isnan(xs[0])


def _scale(_name: str, xs: Numbers, *_: object) -> NDArray[np.bool_]:
    return np.isfinite(xs[1]) & np.isfinite(xs[2])


def _fused(_name: str, xs: Numbers, *_: object) -> NDArray[np.bool_]:
    sizes = [(np.abs(x) > 2.0**-20) & (np.abs(x) < 2.0**20) for x in xs[:3]]
    return np.logical_and.reduce(sizes)


def _fixup(_name: str, xs: Numbers, _columns: Sequence[Column], letters: str) -> NDArray[np.bool_]:
    apart = {"h": -12, "f": -120, "d": -1000}[letters[0]]
    with np.errstate(all="ignore"):
        far = np.frexp(xs[2])[1] - np.frexp(xs[1])[1] < apart
    return ~(far & np.isfinite(xs[1]) & np.isfinite(xs[2]) & (xs[1] != 0) & (xs[2] != 0))


_RULES: Final[tuple[tuple[re.Pattern[str], Rule], ...]] = tuple(
    (re.compile(pattern), rule)
    for pattern, rule in (
        (r"v_exp(_legacy)?_f\d\d", _exponential),
        (r"v_log(_legacy)?_f\d\d", _logarithm),
        (r"v_rcp(_iflag)?_f\d\d", _reciprocal),
        (r"v_(sin|cos)_f\d\d", _circle),
        (_EXACT.pattern, _exact),
        (r"v_(min|max|min3|max3|med3)_f\d\d", _extreme),
        (r"v_(mul|mad)_legacy_f32", _legacy),
        (r"v_fract_f\d\d", _fraction_part),
        (r"v_cvt_rpi_i32_f32", _halves_up),
        (r"v_cvt_(rpi|flr)_i32_f32", _whole),
        (r"v_pack_b32_f16", lambda _n, xs, *_: ~np.isnan(xs[0] + xs[1])),
        (r"v_div_scale_f\d\d", _scale),
        (r"v_div_fmas_f\d\d", _fused),
        (r"v_div_fixup(_legacy)?_f\d\d", _fixup),
    )
)


def values(
    name: str,
    letters: str,
    words: frozenset[str] = frozenset(),
    fixed: Mapping[int, Sequence[int]] | None = None,
    parts: Mapping[int, Part] | None = None,
) -> list[Column] | None:
    """Values of each source, (ROUNDS, 64); None: there are none of which the manual tells the result.

    Args:
        letters: types of the sources.
        words: ``negative``, ``subnormal``, ``large``, ``moderate`` (near 1), ``positive`` (moderate and
            above 0), ``signed`` (of one source: both signs), ``any`` (subnormals as well). Without one of
            them, floats are no subnormals, and those of one source are positive and not large.
        fixed: sources with one value in each round.
        parts: sources of which a part counts.
    """
    columns = list(_candidates(letters, words & {"subnormal"}, name if fixed else ""))
    _prepare(name, letters, columns)
    for place, part in (parts or {}).items():
        if part.bits < BITS[letters[place]] or part.signed:
            columns[place] = _narrowed(columns[place], part, BITS[letters[place]])
    if not fixed:
        good = _allowed(name, letters, columns, words)
        if not good.any():
            return None
        return [np.resize(column[good], (ROUNDS, LANES)) for column in columns]
    found: list[list[Column]] = []
    random = generator(name, letters, *sorted(fixed))
    for turn in range(ROUNDS):
        order = random.permutation(len(columns[0]))
        some = [column[order] for column in columns]
        for place, every in fixed.items():
            some[place] = np.full_like(some[place], np.uint64(every[turn]))
        good = _allowed(name, letters, some, words)
        if not good.any():
            return None
        found.append([np.resize(column[good], LANES) for column in some])
    return [np.stack([each[place] for each in found]) for place in range(len(letters))]


def scalar_values(name: str, letters: str, place: int, words: frozenset[str]) -> list[int] | None:
    """Values of a source that is the same in all lanes, one a round."""
    free = values(name, letters, words)
    if free is None:
        return None
    return [int(free[place][turn, 7 * turn % LANES]) for turn in range(ROUNDS)]


def _narrowed(column: Column, part: Part, bits: int) -> Column:
    low = column & np.uint64((1 << part.bits) - 1)
    if part.signed:
        sign = np.uint64(1 << part.bits - 1)
        low = (low ^ sign) - sign
    return low & np.uint64((1 << bits) - 1)


def registers_of(letter: str, column: Column, part: Part | None, seed: str) -> Words:
    """Vector registers (ROUNDS, count, 64) with these values; what the instruction ignores is random."""
    bits = BITS[letter]
    random = generator(letter, seed)
    noise = random.integers(0, 1 << 32, (4, *column.shape), np.uint64)
    if part is not None and part.bits < 32:
        mask = np.uint64(((1 << part.bits) - 1) << part.shift)
        word = (column << np.uint64(part.shift)) & mask | noise[0] & ~mask
        return word.astype(np.uint32)[:, None]
    low, high = column & np.uint64(0xFFFFFFFF), column >> np.uint64(32)
    if bits == 16:
        low = low | noise[0] << np.uint64(16)
    rows = {16: (low,), 32: (low,), 64: (low, high), 128: (low, high, noise[0], noise[1])}[bits]
    return np.stack(rows, 1).astype(np.uint32)
