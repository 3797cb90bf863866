"""How what gem5 left differs from what the manual says: the smallest lane of a case that does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from apuflow.conformance.assemble import Assembled, registers, stored
from apuflow.conformance.expected import Values
from apuflow.conformance.special import special, special_operands

_FLOATS: Final = {16: np.float16, 32: np.float32, 64: np.float64}
_WORDS: Final = {16: np.uint16, 32: np.uint32, 64: np.uint64}


@dataclass(frozen=True)
class Failure:
    """One wrong result.

    Attributes:
        place: ``v8, lane 3``, ``byte 36 of memory``.
        inputs: ``v2=0x3f800000 v3=0x0``; as floats behind them where they are.
        got, expected: hexadecimal, as floats behind it where they are.
        lanes: wrong results of how many.
        special: whether each wrong lane has a special float (:mod:`apuflow.conformance.special`).
    """

    place: str
    inputs: str
    got: str
    expected: str
    lanes: str
    special: bool = False


def failure(each: Assembled, got: Values, want: Values) -> Failure | None:
    """The wrong result whose operands have the fewest bits set; None where all are right."""
    found: list[tuple[int, int, int, int, str, str, str]] = []
    total, row, odd = 0, 0, True
    operands = special_operands(each.case)
    for result in each.case.results:
        names = registers(result)
        rows = slice(row, row + len(names))
        row += len(names)
        mine, theirs = got.rows[:, rows], want.rows[:, rows]
        if names[0].vector:
            wrong = differs(mine, theirs, each.case.floats, each.case.tolerance)
            total += wrong.size
        else:
            mine, theirs = mine[:, :, :1], theirs[:, :, :1]
            wrong = _wrong_lanes(each, mine, theirs)
            total += wrong.size if each.case.vectors else mine.shape[0]
        strange = operands
        if names[0].vector and each.case.floats:
            strange = strange | special(theirs, each.case.floats)
        odd = odd and bool(strange[wrong].all())
        for one, lane in np.argwhere(wrong):
            at = (one, slice(None), lane if names[0].vector else 0)
            shown = [
                _shown(value[at], each.case.floats if names[0].vector else 0) for value in (mine, theirs)
            ]
            found.append((*_weight(each, one, lane), one, lane, f"{result}, lane {lane}", *shown))
    for name, mine, theirs in _areas(each, got, want):
        total += mine.size
        places = np.flatnonzero(mine != theirs)
        odd = odd and not places.size
        for word in map(int, places):
            values = f"{mine[word]:#x}", f"{theirs[word]:#x}"
            found.append((1 << 20, word, 0, 0, f"byte {word * 4} of {name}", *values))
    if not found:
        return None
    _, _, one, lane, place, first, second = min(found)
    return Failure(place, _inputs(each, one, lane), first, second, f"{len(found)} of {total}", odd)


def differs(
    got: NDArray[np.uint32], want: NDArray[np.uint32], floats: int, tolerance: float
) -> NDArray[np.bool_]:
    """Which lanes differ: (ROUNDS, 64) of words (ROUNDS, words, 64).

    Args:
        floats: bits of each number, of which all NaN are equal; 0: bits count.
        tolerance: units in the last place.
    """
    if not floats:
        return np.asarray((got != want).any(1))
    a, b = (_numbers(value, floats) for value in (got, want))
    x, y = (value.view(_FLOATS[floats]) for value in (a, b))
    wrong = a != b
    wrong &= ~(np.isnan(x) & np.isnan(y))
    if tolerance:
        near = np.isfinite(x) & np.isfinite(y) & (_distance(a, b, floats) <= tolerance)
        wrong &= ~near
    return np.asarray(wrong.any(-1))


def _numbers(value: NDArray[np.uint32], floats: int) -> NDArray[Any]:
    """Words (ROUNDS, words, 64) as numbers (ROUNDS, 64, numbers)."""
    return np.ascontiguousarray(value.transpose(0, 2, 1)).view(_WORDS[floats])


def _distance(a: NDArray[Any], b: NDArray[Any], floats: int) -> NDArray[np.float64]:
    """Units in the last place between numbers of their bits."""
    sign = np.uint64(1 << floats - 1)
    first, second = a.astype(np.uint64), b.astype(np.uint64)
    sizes = first & ~sign, second & ~sign
    apart = np.where(sizes[0] > sizes[1], sizes[0] - sizes[1], sizes[1] - sizes[0])
    both = sizes[0].astype(np.float64) + sizes[1].astype(np.float64)
    return np.where((first ^ second) & sign, both, apart.astype(np.float64))


def _wrong_lanes(each: Assembled, got: NDArray[np.uint32], want: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Lanes (ROUNDS, 64) that a wrong scalar result is about: those of wrong bits, where it has 64."""
    wrong = (got != want).any((1, 2))
    if got.shape[1] == 2 and each.case.vectors:
        changed = np.ascontiguousarray((got ^ want)[:, :, 0]).view(np.uint8)
        return np.unpackbits(changed, axis=1, bitorder="little").view(np.bool_)
    lanes = np.zeros((len(wrong), 64), np.bool_)
    lanes[:, 0] = wrong
    return lanes


def _areas(
    each: Assembled, got: Values, want: Values
) -> list[tuple[str, NDArray[np.uint32], NDArray[np.uint32]]]:
    """LDS of all rounds and memory, as words."""
    rows = len(stored(each.case))
    found = []
    if each.case.lds:
        found.append(("LDS", got.rows[:, rows:].reshape(-1), want.rows[:, rows:].reshape(-1)))
    if each.case.memory:
        found.append(("memory", got.memory.view(np.uint32), want.memory.view(np.uint32)))
    return found


def _operands(each: Assembled, one: int, lane: int) -> list[tuple[str, NDArray[np.uint32]]]:
    case = each.case
    found = [(name, value[one, :, lane]) for name, value in case.vectors.items()]
    return found + [(name, value[one]) for name, value in case.scalars.items()]


def _weight(each: Assembled, one: int, lane: int) -> tuple[int, int]:
    """Bits that are set among a lane's operands, and their sum."""
    values = [int(word) for _, words in _operands(each, one, lane) for word in words]
    return sum(value.bit_count() for value in values), sum(values)


def _inputs(each: Assembled, one: int, lane: int) -> str:
    return " ".join(f"{name}={_shown(value, each.case.floats)}" for name, value in _operands(each, one, lane))


def _shown(words: NDArray[np.uint32], floats: int) -> str:
    """Words as a hexadecimal number of all of them, the last one first, and as floats."""
    text = "0x" + "".join(f"{word:08x}" for word in words[::-1])
    if floats not in _FLOATS or words.size * 32 > 128 or words.size * 32 < floats:
        return text
    numbers = np.ascontiguousarray(words).view(_FLOATS[floats])[
        : 1 if floats == 16 and words[0] < 65536 else None
    ]
    return f"{text}({','.join(f'{number:.9g}' for number in numbers)})"
