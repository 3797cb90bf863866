"""Loops in the sequence of a program's kernels, found while it grows.

A stack holds the sequence, repetitions of a kernel as one item. Where its end is the same twice, both become
one loop, which can be part of an outer one; numbers of repetitions do not count for what is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

LONGEST: Final = 64
"""Items of an iteration."""
ROW: Final = 16
"""Launches of one kernel in a row that are a loop of their own, not a part of an iteration."""


@dataclass
class Row:
    """Launches of one kernel in a row."""

    kernel: str
    count: int = field(default=1, compare=False)


@dataclass
class Loop:
    """Iterations of the same items."""

    body: tuple[Item, ...]
    count: int = field(default=2, compare=False)


Item: TypeAlias = Row | Loop


class Loops:
    """The sequence so far."""

    def __init__(self) -> None:
        self.items: list[Item] = []

    def iterations_before(self, kernel: str) -> int:
        """Iterations that have ended of the outermost loop that a launch of a kernel goes on with; or 0."""
        near = self.items[-LONGEST - 1 :]
        for place, each in enumerate(near):
            rest = near[place + 1 :]
            if isinstance(each, Loop):
                if _goes_on(each, [*_kernels(rest), kernel]):
                    return each.count
            elif not rest and each.kernel == kernel and each.count >= ROW:
                return each.count
        return 0

    def add(self, kernel: str) -> None:
        """Append a launch."""
        last = self.items[-1] if self.items else None
        while isinstance(last, Loop):
            last = last.body[-1]
        if isinstance(last, Row) and last.kernel == kernel:
            last.count += 1
            return
        self.items.append(Row(kernel))
        while self._continued() or self._begun():
            pass

    def _continued(self) -> bool:
        """Whether the end is one more iteration of the loop before it, or of the last one in that."""
        for length in range(1, min(LONGEST + 1, len(self.items))):
            before, end = self.items[-length - 1], tuple(self.items[-length:])
            while isinstance(before, Loop):
                if before.body == end:
                    before.count += 1
                    del self.items[-length:]
                    return True
                before = before.body[-1]
        return False

    def _begun(self) -> bool:
        """Whether the end is there twice."""
        for length in range(1, min(LONGEST, len(self.items) // 2) + 1):
            end = self.items[-length:]
            if self.items[-2 * length : -length] == end:
                self.items[-2 * length :] = [Loop(tuple(end))]
                return True
        return False


def _goes_on(loop: Loop, kernels: Sequence[str]) -> bool:
    """Whether kernels can follow on whole iterations of a loop, as its next one or the rest of its last."""
    rows = list(_kernels(loop.body))
    after: list[set[int]] = [{number, number + 1} for number in range(len(rows))]
    _repeat(loop, 0, after)
    may = after[-1]
    for kernel in kernels:
        may = set().union(*(after[each] for each in may if each < len(rows) and rows[each] == kernel))
    return bool(may)


def _repeat(item: Item, first: int, after: list[set[int]]) -> int:
    """Let loops begin again after their last row; the number of the row behind ``item``."""
    if isinstance(item, Row):
        return first + 1
    end = first
    for each in item.body:
        end = _repeat(each, end, after)
    after[end - 1].add(first)
    return end


def _kernels(items: Sequence[Item]) -> Iterator[str]:
    """Kernels of rows, those of a loop once."""
    for each in items:
        if isinstance(each, Row):
            yield each.kernel
        else:
            yield from _kernels(each.body)
