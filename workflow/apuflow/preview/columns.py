"""Values of many rows as different ones and, for each row, the number of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.intp]
T = TypeVar("T")
MOST = 1 << 31
"""Whole numbers up to which values stand for themselves."""


class Numbered(NamedTuple, Generic[T]):
    """A column.

    Attributes:
        different: values. rows: of each row, the number of its value among them.
    """

    different: list[T]
    rows: Rows

    def values(self) -> NDArray[Any]:
        """The value of each row; of numbers or flags."""
        found: NDArray[Any] = np.array(self.different)[self.rows]
        return found

    def list(self) -> list[T]:
        """The value of each row."""
        return [self.different[row] for row in self.rows.tolist()]


def by_value(values: Sequence[T]) -> Numbered[T]:
    """Values that are equal are one."""
    different = list(dict.fromkeys(values))
    if len(different) == len(values):
        return Numbered(different, np.arange(len(values)))
    if len(different) == 1:
        return Numbered(different, np.zeros(len(values), dtype=np.intp))
    numbers = dict(zip(different, range(len(different)), strict=True))
    return Numbered(different, np.array([numbers[value] for value in values], dtype=np.intp))


def by_identity(objects: Sequence[T]) -> Numbered[T]:
    """What is one object is one value."""
    ids = list(map(id, objects))
    numbered = by_value(ids)
    known = dict(zip(ids, objects, strict=True))
    return Numbered([known[key] for key in numbered.different], numbered.rows)


def together(columns: Iterable[NDArray[Any]], length: int) -> tuple[Rows, Rows]:
    """Rows that agree in all columns.

    Args:
        columns: of numbers, each with an element for each of ``length`` rows.

    Returns:
        of each different row, where it comes first; of each row, the number of its like among those.
    """
    like, kinds = np.zeros(length, dtype=np.int64), 1
    for column in columns if length > 1 else ():
        if (column == column[0]).all():
            continue
        code = column
        if column.dtype.kind != "i" or column.min() < 0 or column.max() > MOST:
            _, code = np.unique(column, return_inverse=True)
        size = int(code.max()) + 1
        if kinds * size > MOST * MOST:
            _, like = np.unique(like, return_inverse=True)
            kinds = int(like.max()) + 1
        like, kinds = like * size + code, kinds * size
    _, first, like = np.unique(like, return_index=True, return_inverse=True)
    return first, like


def spread(counts: NDArray[np.intp], rows: Rows) -> tuple[Rows, Rows]:
    """Rows whose values are sequences, as a row for each element.

    Args:
        counts: elements of each different sequence, which follow one another.
        rows: the number of each row's sequence.

    Returns:
        of each element, the row that it is of; its place among the elements of all sequences.
    """
    first, here = np.cumsum(counts) - counts, counts[rows]
    row = np.repeat(np.arange(len(rows)), here)
    before = np.cumsum(here) - here
    return row, first[rows][row] + np.arange(len(row)) - before[row]
