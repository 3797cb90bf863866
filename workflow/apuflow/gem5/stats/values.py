"""Vectors and distributions, put together from the rows that gem5 prints of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from apuflow.gem5.stats.rows import Cell, Rows, shares

MOMENTS = ("samples", "mean", "gmean", "stdev", "min_value", "max_value", "total")
LAYOUT = ("min_bucket", "bucket_size", "max_bucket")


@dataclass(frozen=True)
class Vector(Mapping[str, float]):
    """A vector: element names (or indices, as text) to values.

    Attributes:
        cells: the same with shares.
        total: the printed total; ``None`` when gem5 prints none.
    """

    cells: Mapping[str, Cell]
    total: float | None = None

    def __getitem__(self, name: str) -> float:
        return self.cells[name].value

    def __iter__(self) -> Iterator[str]:
        return iter(self.cells)

    def __len__(self) -> int:
        return len(self.cells)


@dataclass(frozen=True)
class Distribution:
    """A distribution or (sparse) histogram.

    Attributes:
        samples: number of samples.
        buckets: bucket label -> count and shares; ``underflows`` and ``overflows`` are kept apart.
        mean, gmean, stdev: NaN without samples, ``None`` where this kind has none.
        min_value, max_value, underflows, overflows, total: as printed, ``None`` where this kind has none.
    """

    samples: float
    buckets: Mapping[str, Cell] = field(default_factory=dict)
    mean: float | None = None
    gmean: float | None = None
    stdev: float | None = None
    min_value: float | None = None
    max_value: float | None = None
    underflows: float | None = None
    overflows: float | None = None
    total: float | None = None


Value = float | Vector | Distribution


def compose(rows: Rows, numbers: Sequence[int]) -> Value:
    """The statistic that the rows ``numbers`` of a block make up."""
    subs: dict[str, Cell] = {}
    oneline: Sequence[Cell] = ()
    scalar = math.nan
    for number in numbers:
        sub, value = rows.names[number].partition("::")[2], float(rows.values[number])
        if number in rows.oneline:
            oneline = rows.cells(number)
        elif sub:
            subs[sub] = Cell(value, *shares(rows.tail(number)))
        else:
            scalar = value
    if "samples" in subs:
        return _distribution(subs, oneline)
    if not subs and not oneline:
        return scalar
    total = subs.pop("total", None)
    cells = {str(index): cell for index, cell in enumerate(oneline)} | subs
    return Vector(cells, None if total is None else total.value)


def _distribution(subs: Mapping[str, Cell], oneline: Sequence[Cell]) -> Distribution:
    single = {key: subs[key].value for key in (*MOMENTS, "underflows", "overflows") if key in subs}
    low, size, high = (subs[key].value if key in subs else math.nan for key in LAYOUT)
    buckets = {_label(index, low, size, high): cell for index, cell in enumerate(oneline)}
    if not oneline:
        buckets = {key: cell for key, cell in subs.items() if key not in single and key not in LAYOUT}
    return Distribution(buckets=buckets, **single)


def _label(index: int, low: float, size: float, high: float) -> str:
    """Label of a bucket as gem5 writes it on a line of its own."""
    if math.isnan(low) or math.isnan(size):
        return str(index)
    first = low + index * size
    last = min(first + size - 1, high)
    return f"{first:g}-{last:g}" if first < last else f"{first:g}"
