"""Lanes with a float that an ordinary kernel does not meet: NaN, infinity, subnormal, zero."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from apuflow.conformance.case import ROUNDS, Case
from apuflow.interpret.vector import meaning

_BITS: Final = {"h": 16, "f": 32, "d": 64}
"""Letters of float operands."""
_EXPONENTS: Final = {16: (10, 5), 32: (23, 8), 64: (52, 11)}
"""Bits of the fraction and of the exponent."""
_REGISTER: Final = re.compile(r"[vs](?:\d+|\[\d+:\d+\])")


def special(words: NDArray[np.uint32], bits: int) -> NDArray[np.bool_]:
    """Whether a float is zero, subnormal, infinite or NaN: (ROUNDS, lanes) of words (ROUNDS, words, lanes).

    Args:
        bits: of a float, which is the lowest of the words.
    """
    fraction, size = _EXPONENTS[bits]
    value: NDArray[Any] = words[:, 0].astype(np.uint64)
    if bits == 64 and words.shape[1] > 1:
        value |= words[:, 1].astype(np.uint64) << np.uint64(32)
    exponent = value >> np.uint64(fraction) & np.uint64((1 << size) - 1)
    return np.asarray((exponent == 0) | (exponent == (1 << size) - 1))


def special_operands(case: Case) -> NDArray[np.bool_]:
    """Lanes (ROUNDS, 64) of which a float operand is special."""
    found = np.zeros((ROUNDS, 64), np.bool_)
    for register, bits in _floats(case):
        first = f"{register[0]}{re.findall(r'[0-9]+', register)[0]}"
        for given in (case.vectors, case.scalars):
            if first in given:
                value = given[first]
                found |= special(value if value.ndim == 3 else value[:, :, None], bits)
    return found


def _floats(case: Case) -> Iterator[tuple[str, int]]:
    """The registers of float operands, and their bits."""
    known = meaning(case.form.instruction)
    if known is None:
        return
    operands = [each.split() or [""] for each in case.text.partition(" ")[2].split(",")]
    texts = [words[0] for words in operands]
    letters = known.sources
    if known.accumulates:
        letters, texts = letters[-1] + letters[:-1], [texts[0], *texts[len(texts) - len(letters) + 1 :]]
    for letter, text in zip(letters, texts[-len(letters) :], strict=False):
        register = _REGISTER.search(text)
        if letter in _BITS and register:
            yield register[0], _BITS[letter]
