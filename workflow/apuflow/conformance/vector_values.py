"""Operands that vector instructions are tried with: special values against each other, and random bits.

Where the manual leaves a result open, as of sines of large numbers, no such value is taken
(:mod:`apuflow.conformance.vector_rules`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Final, NamedTuple

import numpy as np

from apuflow.conformance.case import LANES, ROUNDS, Words
from apuflow.conformance.inputs import generator
from apuflow.conformance.vector_rules import BITS, EXACT, FRACTION, KINDS, Column, allowed, number

_CANDIDATES, _TRIED = 1500, 400
"""Random rows beside the special ones; rows that are tried where a source has one value for all lanes."""
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


@cache
def _special(letter: str, subnormal: bool) -> tuple[int, ...]:
    bits = BITS[letter]
    mask, sign = (1 << bits) - 1, 1 << bits - 1
    if letter not in "hfd":
        near = (0, 1, 2, -1, -2, sign, sign - 1, sign + 1, 15, 16, 31, 32, 33, 64, 0xFFFF, 0x8000, 0x7FFFFF)
        return tuple(value & mask for value in (*near, -0x800000, 0x5555555555555555, 0x0123456789ABCDEF))
    fraction = FRACTION[bits]
    lowest, infinity = 1 << fraction, (1 << bits - 1) - (1 << fraction)
    one = number(letter, 1.0)
    near_one = (one - lowest, one, one + 1, one + lowest // 2, one + lowest + lowest // 4)
    finite = [0, lowest, *near_one, infinity - 1]
    if subnormal:
        finite = [1, lowest // 2 + 1, lowest - 1, 3, lowest, 0, one, one + 2 * lowest]
    signed = [value | minus for value in finite for minus in (0, sign)]
    return (*signed, infinity, infinity | sign, infinity | lowest // 2 | 5, infinity | 1)


def _random(letter: str, count: int, random: np.random.Generator) -> Column:
    bits = BITS[letter]
    found = random.integers(0, (1 << 64) - 1, count, np.uint64, endpoint=True)
    if letter in "hfd":
        fraction = FRACTION[bits]
        moderate = (number(letter, 1.0) >> fraction) + random.integers(-5, 6, count)
        raised = found & np.uint64((1 << fraction) - 1 | 1 << bits - 1) | moderate.astype(
            np.uint64
        ) << np.uint64(fraction)
        found = np.where(random.random(count) < 0.5, raised, found)
    return found & np.uint64((1 << min(64, bits)) - 1)


@cache
def _candidates(letters: str, words: frozenset[str]) -> tuple[Column, ...]:
    """Rows of values: of two sources all special ones against each other, then random ones."""
    random = generator(letters)
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


_SMALL_COUNTS: Final = re.compile(r"v_(bfe|bfm|alignbit|alignbyte|cmpx?_class|cvt_pk_u8|cvt_pkaccum)")
_PREPARED: Final[tuple[tuple[re.Pattern[str], int], ...]] = (
    (_SMALL_COUNTS, 1),
    (re.compile("v_(bfe|align)"), 2),
    (re.compile("v_ldexp_"), 1),
)


def _divide(letter: str, columns: list[Column], fixed: int = 1) -> None:
    """Make the first source the quotient of the third and the second, as V_DIV_FIXUP is given it."""
    if fixed == 0:
        columns[1], columns[2] = np.full_like(columns[1], np.uint64(number(letter, 1.0))), columns[0]
        return
    unsigned, kind = KINDS[BITS[letter]]
    x, y = (columns[place].astype(unsigned).view(kind) for place in (1, 2))
    with np.errstate(all="ignore"):
        columns[0] = (y / x).astype(kind).view(unsigned).astype(np.uint64)


@lru_cache(maxsize=16)
def _prepared(name: str, letters: str, words: frozenset[str]) -> tuple[Column, ...]:
    """Candidates, changed to what the instruction needs."""
    columns = list(_candidates(letters, words))
    random = generator(name)
    count = len(columns[0])
    if EXACT.fullmatch(name):  # so few digits that it does not matter whether the product is rounded
        for place, letter in enumerate(letters):
            columns[place] = columns[place] & np.uint64(0xFFFFF000 if letter == "f" else 0xFFE0)
    for pattern, place in _PREPARED:
        if pattern.match(name) and place < len(letters):
            limit = {"h": 30, "f": 200, "d": 1200}[letters[0]] if "ldexp" in name else 0
            small = random.integers(-limit, limit + 1, count) if limit else random.integers(0, 1024, count)
            mask = np.uint64((1 << BITS[letters[place]]) - 1)
            keep = random.random(count) < 0.3
            columns[place] = np.where(keep, columns[place], small.astype(np.uint64) & mask)
    if name == "v_alignbyte_b32":  # manuals differ on how many bits count
        columns[2] = columns[2] & np.uint64(3)
    if name == "v_perm_b32":
        columns[2] = np.where(random.random(count) < 0.7, columns[2] & np.uint64(0x0F0F0F0F), columns[2])
    if name.startswith("v_div_scale"):  # the first source is one of the others
        columns[0] = np.where(random.random(count) < 0.5, columns[1], columns[2])
    if name.startswith("v_div_fixup"):
        _divide(letters[0], columns)
    if found := re.match(r"v_cvt_(pk|pkaccum|pknorm|norm)_([iu])(8|16)_f(16|32)", name):
        step = 1 if found[3] == "8" else 32767 if found[2] == "i" else 65535
        for place in range(len(letters)):
            if letters[place] in "hf":
                whole = random.integers(
                    0 if found[2] == "u" else -step, (256 if step == 1 else step) + 1, count
                )
                whole = np.minimum(whole, 255) if step == 1 else whole
                values = (whole / step).astype(KINDS[BITS[letters[place]]][1])
                columns[place] = values.view(KINDS[BITS[letters[place]]][0]).astype(np.uint64)
    return tuple(columns)


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
    given = tuple(sorted((fixed or {}).items()))
    taken = tuple((place, part) for place, part in sorted((parts or {}).items()))
    return _values(name, letters, words, tuple((place, tuple(every)) for place, every in given), taken)


@lru_cache(maxsize=256)
def _values(
    name: str,
    letters: str,
    words: frozenset[str],
    fixed: tuple[tuple[int, tuple[int, ...]], ...],
    parts: tuple[tuple[int, Part], ...],
) -> list[Column] | None:
    columns = list(_prepared(name, letters, words & {"subnormal"}))
    for place, part in parts:
        if part.bits < BITS[letters[place]] or part.signed:
            columns[place] = _narrowed(columns[place], part, BITS[letters[place]])
    if not fixed:
        rows = np.flatnonzero(allowed(name, letters, columns, words))
        if not rows.size:
            return None
        return [column[np.resize(rows, (ROUNDS, LANES))] for column in columns]
    found: list[list[Column]] = []
    random = generator(name, letters, *(place for place, _ in fixed))
    for turn in range(ROUNDS):
        order = random.integers(0, len(columns[0]), _TRIED)
        some = [column[order] for column in columns]
        for place, every in fixed:
            some[place] = np.full_like(some[place], np.uint64(every[turn]))
        if name.startswith("v_div_fixup"):
            _divide(letters[0], some, fixed[0][0])
        rows = np.flatnonzero(allowed(name, letters, some, words))
        if not rows.size:
            return None
        found.append([column[np.resize(rows, LANES)] for column in some])
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
    low, high = column & np.uint64(0xFFFFFFFF), column >> np.uint64(32)
    if part is not None and part.bits < 32:
        mask = np.uint64(((1 << part.bits) - 1) << part.shift)
        low = (column << np.uint64(part.shift)) & mask | _noise(seed)[0] & ~mask
    elif bits == 16:
        low = low | _noise(seed)[0] << np.uint64(16)
    rows = (low,) if bits <= 32 else (low, high) if bits == 64 else (low, high, *_noise(seed))
    return np.stack(rows, 1).astype(np.uint32)


@lru_cache(maxsize=64)
def _noise(seed: str) -> Column:
    return generator(seed).integers(0, 1 << 32, (2, ROUNDS, LANES), np.uint64)
