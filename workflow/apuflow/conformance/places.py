"""Addresses, execution masks and operands of trials of memory instructions."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np

from apuflow.conformance.case import MEMORY_BYTES, ROUNDS, Words
from apuflow.conformance.inputs import LANE, ROUND, generator, words
from apuflow.interpret.moves import width_of

Features: TypeAlias = tuple[str, ...]
"""Words of :mod:`apuflow.forms.features`, in alphabetical order."""
REGION: Final = MEMORY_BYTES // ROUNDS
"""Bytes of ``Case.memory`` that one round has for itself."""
BEGIN: Final = 2048
"""Where the lanes of a round begin in it: as far from its ends as an offset reaches."""
LINE: Final = 64
PAGE: Final = 4096

EXEC: Final = 42
"""Scalar registers s42 and s43 hold the execution mask of a trial."""
SET_EXEC: Final = f"s_mov_b64 exec, s[{EXEC}:{EXEC + 1}]"


def size_of(kind: str) -> int:
    """Bytes of a lane of ``load_dwordx2``, ``store_byte`` or ``atomic_add_x2``."""
    if kind.startswith("atomic"):
        return 8 if kind.endswith("x2") else 4
    width = width_of(kind.partition("_")[2])
    assert width is not None
    return width.size


def places(pattern: str, size: int, step: int = LINE) -> Words:
    """Bytes from the buffer's begin, (ROUNDS, 1, 64).

    Args:
        pattern: a word of :mod:`apuflow.forms.features`; empty: each lane behind the one before.
        size: bytes of a lane; those of two lanes are disjoint, but for ``same_address``.
        step: bytes from lane to lane where a lane has a cache line for itself.
    """
    aligned = min(size & -size, 16)
    match pattern:
        case "strided":
            inside = BEGIN + step * LANE + 0 * ROUND
        case "random_places":
            random = generator(pattern, size)
            order = np.argsort(random.random((ROUNDS, 64)), 1)
            inside = (
                BEGIN
                + step * order
                + aligned * random.integers(0, (step - size) // aligned + 1, (ROUNDS, 64))
            )
        case "same_address":
            inside = BEGIN + 0 * LANE + 4 * aligned * ROUND
        case "unaligned":
            inside = BEGIN + step * LANE + 1 + LANE % 3 + 4 * (LANE % ((step - size - 4) // 4)) + 0 * ROUND
        case "across_lines":
            inside = BEGIN + step * LANE + step - (4 if size > 4 else size // 2) + 0 * ROUND
        case "across_pages":
            inside = BEGIN + size * LANE + 0 * ROUND
            inside[:, 5] = PAGE - (4 if size > 4 else size // 2)
        case _:
            inside = BEGIN + size * LANE + 0 * ROUND
    return (inside + REGION * ROUND).astype(np.uint32)[:, None, :]


def masks(kind: str) -> Words:
    """Execution masks of each round, (ROUNDS, 2): ``some_lanes``, ``one_lane`` or ``no_lane``."""
    if kind == "no_lane":
        return words([0] * ROUNDS, 2)
    if kind == "one_lane":
        return words([1 << lane for lane in (0, 63, 31, 32, 1, 17, 40, 62)], 2)
    random = [int(each) for each in generator(kind).integers(1, 1 << 63, ROUNDS, np.uint64)]
    return words([0x5555555555555555, 0xFFFFFFFF00000000, *random[2:]], 2)


def data(name: str, count: int) -> Words:
    """Random words, (ROUNDS, count, 64)."""
    return generator(name, count).integers(0, 1 << 32, (ROUNDS, count, 64), np.uint64).astype(np.uint32)


def operands(name: str, size: int, *, same: bool = False) -> tuple[Words, Words, Words]:
    """Of an atomic: words of memory before, of the operand, and of the value to compare.

    Every second lane has in memory what it compares with; an increment or decrement meets its limit.

    Args:
        size: 4 or 8 bytes.
        same: all lanes of a round have one place in memory; then the result does not depend on their order.
    """
    kind: Any = np.uint32 if size == 4 else np.uint64
    random = generator(name, size, "atomic")
    before, value, other = random.integers(0, np.iinfo(kind).max, (3, ROUNDS, 64), kind, endpoint=True)
    one = kind(1)
    if "cmp" in name:
        before[:, ::2] = other[:, ::2]
    if "inc" in name or "dec" in name:
        edges = [kind(0) * value, value, value - one, value + one]
        for number, edge in enumerate(edges):
            before[:, number::8] = edge[:, number::8]
    if same:
        before[:] = before[:, :1]
        if "inc" in name or "dec" in name:
            value[:] = value[:, :1] % kind(50)
            before[:] = value // kind(2)
    count = size // 4
    return tuple(  # type: ignore[return-value]
        np.ascontiguousarray(each.reshape(ROUNDS, 64, 1).view(np.uint32)).transpose(0, 2, 1)[:, :count].copy()
        for each in (before, value, other)
    )
