"""gem5's statistics as mappings: one per dump, read as a stream, from plain or compressed text.

``read_stats(path)[0]["system.cpu3.shaderActiveTicks"]`` is a number, a vector or a distribution;
``read_stats(path)[0].frame()`` is a tidy table; ``read_stats(path, select=["*.completedWGs"])`` reads only
these; ``iter_dumps(path)`` holds one dump at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from apuflow.gem5.stats.blocks import Blocks, Fault
from apuflow.gem5.stats.rows import LAYOUT, MOMENTS, Cell, Rows, description, parse_block, shares


@dataclass(frozen=True)
class Vector(Mapping[str, float]):
    """A vector: element names (or indices, as text) to values; ``cells`` have their shares, too."""

    cells: Mapping[str, Cell]
    total: float | None = None
    """As printed; ``None`` when gem5 prints none."""

    def __getitem__(self, name: str) -> float:
        return self.cells[name].value

    def __iter__(self) -> Iterator[str]:
        return iter(self.cells)

    def __len__(self) -> int:
        return len(self.cells)


@dataclass(frozen=True)
class Distribution:
    """A distribution or (sparse) histogram, as printed; ``None``: this kind has none, NaN: no samples.

    Attributes:
        buckets: bucket label -> count and shares; ``underflows`` and ``overflows`` are kept apart.
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


class Dump(Mapping[str, Value]):
    """One block of statistics.

    Keys are statistic names. ``dump[name]`` is a float for a scalar, a ``Vector`` or a ``Distribution``
    otherwise; ``dump["base::sub"]`` is the float of one row. Where a scalar and a vector share their name (in
    v23.0 ``system.mem_ctrls.dram.bytesRead``), ``dump[name]`` is the scalar and ``dump.vector(name)`` the
    vector. gem5 leaves out statistics that are zero if they say so: an absent name is not an error.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def __getitem__(self, name: str) -> Value:
        row = self._rows.find(name)
        if row is not None and row not in self._rows.oneline:
            return float(self._rows.values[row])
        return _compose(self._rows, self._groups[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (self._rows.find(name) is not None or name in self._groups)

    def row(self, name: str) -> float | None:
        """The number of one row (``base`` or ``base::sub``); ``None`` when it is not there."""
        row = self._rows.find(name)
        return None if row is None or row in self._rows.oneline else float(self._rows.values[row])

    def rows(self) -> dict[str, float]:
        """All rows as printed, name to number; rows that hold several values are NaN here."""
        return dict(zip(self._rows.names, self._rows.values.tolist(), strict=True))

    def vector(self, name: str) -> Vector:
        """The vector of this name, also where a scalar has the same.

        Raises:
            KeyError: there is none.
        """
        scalar = self._rows.find(name)
        rows = [row for row in self._groups[name] if row != scalar or row in self._rows.oneline]
        value = _compose(self._rows, rows)
        if not isinstance(value, Vector):
            raise KeyError(name)
        return value

    def unit(self, name: str) -> str:
        """Unit as gem5 prints it (``Tick``, ``(Byte/Second)``, ``Unspecified``); ``""`` if it prints none."""
        return description(self._rows.tail(self._first(name)))[1]

    def description(self, name: str) -> str:
        """gem5's description of a statistic; ``""`` if the file has none."""
        return description(self._rows.tail(self._first(name)))[0]

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Lines of the block that are no statistics, numbered from the begin mark on, which is 0."""
        return self._rows.faults

    def frame(self) -> pd.DataFrame:
        """One row per printed number: name, sub, value, share, cumulative (percent), unit, description."""
        records = []
        for number, name in enumerate(self._rows.names):
            base, _, sub = name.partition("::")
            tail = self._rows.tail(number)
            text, unit = description(tail)
            cells: Mapping[str, Cell] = {sub: Cell(float(self._rows.values[number]), *shares(tail))}
            if number in self._rows.oneline:
                cells = _cells_of(_compose(self._rows, self._groups[base]))
            records += [(base, key, c.value, c.share, c.cumulative, unit, text) for key, c in cells.items()]
        names = ["name", "sub", "value", "share", "cumulative", "unit", "description"]
        frame = pd.DataFrame.from_records(records, columns=names)
        return frame.astype(dict.fromkeys(names[2:5], np.float64))

    def _first(self, name: str) -> int:
        row = self._rows.find(name)
        return self._groups[name][0] if row is None else row

    @cached_property
    def _groups(self) -> dict[str, list[int]]:
        """Base name -> its rows, in file order."""
        groups: dict[str, list[int]] = {}
        for number, name in enumerate(self._rows.names):
            groups.setdefault(name.partition("::")[0], []).append(number)
        return groups


class DumpReader(Iterator[Dump]):
    """The complete dumps of a file, one after the other, one in memory at a time."""

    def __init__(self, path: str | Path, select: Sequence[str] | None) -> None:
        self._blocks, self._select = Blocks(path), select
        self._iterator = iter(self._blocks)

    @property
    def cut(self) -> str | None:
        """What is missing at the end of the file, known after the last dump; None if nothing is."""
        return self._blocks.cut

    def __next__(self) -> Dump:
        return Dump(parse_block(next(self._iterator).lines, self._select))


class Stats(list[Dump]):
    """All complete dumps of a file.

    ``cut``: what is missing at its end (a dump without end, a torn archive), ``None`` if nothing is.
    """

    def __init__(self, reader: DumpReader) -> None:
        super().__init__(reader)
        self.cut = reader.cut

    def frame(self) -> pd.DataFrame:
        """The tidy tables of all dumps, with a column ``dump``."""
        frames = [dump.frame().assign(dump=number) for number, dump in enumerate(self)]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=["name", "dump"])


def iter_dumps(path: str | Path, select: Sequence[str] | None = None) -> DumpReader:
    """Read a statistics file as a stream; memory holds one dump.

    Args:
        path: ``stats.txt``, also with ``.gz``, ``.zst`` or ``.xz``.
        select: names or patterns (``*`` stands for anything) of the statistics to read; all if ``None``.

    Raises:
        AnalysisError: the file cannot be opened.
    """
    return DumpReader(path, select)


def read_stats(path: str | Path, select: Sequence[str] | None = None) -> Stats:
    """Read all complete dumps of a statistics file (see ``iter_dumps``)."""
    return Stats(DumpReader(path, select))


def _cells_of(value: Value) -> Mapping[str, Cell]:
    """The cells of a vector, the buckets of a distribution."""
    if isinstance(value, float):
        return {}
    return value.cells if isinstance(value, Vector) else value.buckets


def _compose(rows: Rows, numbers: Sequence[int]) -> Value:
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
