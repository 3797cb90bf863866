"""Values of many rows as different ones and, for each row, the number of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.intp]
T = TypeVar("T")


class Numbered(NamedTuple, Generic[T]):
    """A column.

    Attributes:
        different: its values, each once, in the order in which they come first.
        rows: of each row, the number of its value among them.
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
    known = dict.fromkeys(values)
    if len(known) == 1:
        return Numbered(list(known), np.zeros(len(values), dtype=np.intp))
    numbers = {value: number for number, value in enumerate(known)}
    return Numbered(list(numbers), np.array([numbers[value] for value in values], dtype=np.intp))


def by_identity(objects: Sequence[T]) -> Numbered[T]:
    """What is one object is one value."""
    ids = list(map(id, objects))
    different = list(dict(zip(ids, objects, strict=True)).values())
    return Numbered(different, by_value(ids).rows)


def together(columns: Iterable[NDArray[Any]], length: int) -> tuple[Rows, Rows]:
    """Rows that agree in all columns.

    Args:
        columns: of numbers, each with an element for each of ``length`` rows.

    Returns:
        of each different row, where it comes first; of each row, the number of its like among those.
    """
    like = np.zeros(length, dtype=np.intp)
    for column in columns:
        different, code = np.unique(column, return_inverse=True)
        if len(different) > 1:
            _, like = np.unique(like * len(different) + code, return_inverse=True)
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
