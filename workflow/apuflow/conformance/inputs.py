"""Numbers that cases begin with, and how registers and modifiers are written."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Sequence
from typing import Final

import numpy as np

from apuflow.conformance.case import LANES, ROUNDS, Words

LANE: Final = np.arange(LANES, dtype=np.int64)[None, :]
ROUND: Final = np.arange(ROUNDS, dtype=np.int64)[:, None]
SOME_LANES: Final = "s_mov_b64 exec, 0x33335555"


def generator(*words: object) -> np.random.Generator:
    """Random numbers that depend on these words alone."""
    return np.random.default_rng(zlib.crc32(" ".join(map(str, words)).encode()))


def registers(first: int, count: int, letter: str = "s") -> str:
    """LLVM's name of registers in a row."""
    return f"{letter}{first}" if count == 1 else f"{letter}[{first}:{first + count - 1}]"


def words(values: Sequence[int], count: int) -> Words:
    """Numbers as (ROUNDS, count) words of 32 bits."""
    return np.array(
        [[value >> 32 * number & 0xFFFFFFFF for number in range(count)] for value in values], np.uint32
    )


def random_words(random: np.random.Generator, *shape: int) -> Words:
    """Words of random bits."""
    return random.integers(0, 1 << 32, shape, np.uint32)


def flags(features: Collection[str], *words: str) -> str:
    """Those of the modifiers that a form has, as they stand behind its operands."""
    return "".join(f" {each}" for each in words if each in features)
