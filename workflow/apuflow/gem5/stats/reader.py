"""gem5's statistics, one dump after the other, from plain or compressed text.

``read_stats(path)[0].numbers["system.cpu3.shaderActiveTicks"]`` is the number of a row;
``read_stats(path).frame()`` is a tidy table; ``read_stats(path, select=["*.completedWGs"])`` reads only
these; ``iter_dumps(path)`` holds one dump at a time. gem5 leaves out statistics that are zero if they say so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from apuflow.gem5.stats.blocks import Blocks
from apuflow.gem5.stats.rows import LAYOUT, Cell, Rows, description, parse_block


class DumpReader(Iterator[Rows]):
    """The complete dumps of a file, one after the other, one in memory at a time."""

    def __init__(self, path: str | Path, select: Sequence[str] | None) -> None:
        self._blocks, self._select = Blocks(path), select
        self._iterator = iter(self._blocks)

    @property
    def cut(self) -> str | None:
        """What is missing at the end of the file, known after the last dump; None if nothing is."""
        return self._blocks.cut

    def __next__(self) -> Rows:
        return parse_block(next(self._iterator).lines, self._select)


class Stats(list[Rows]):
    """All complete dumps of a file.

    ``cut``: what is missing at its end (a dump without end, a torn archive), ``None`` if nothing is.
    """

    def __init__(self, reader: DumpReader) -> None:
        super().__init__(reader)
        self.cut = reader.cut

    def frame(self) -> pd.DataFrame:
        """The tidy tables of all dumps (``frame_of``), with a column ``dump``."""
        frames = [frame_of(rows).assign(dump=number) for number, rows in enumerate(self)]
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


def frame_of(rows: Rows) -> pd.DataFrame:
    """One row per printed number of a dump: ``name sub value share cumulative unit description``."""
    records = []
    for number, name in enumerate(rows.names):
        base, _, sub = name.partition("::")
        text, unit = description(rows.tail(number))
        oneline = number in rows.oneline
        layout = [rows.numbers.get(f"{base}::{key}", math.nan) for key in LAYOUT] if oneline else ()
        for index, cell in enumerate(rows.cells(number)):
            key = _label(index, *layout) if layout else sub
            records.append((base, key, *cell, unit, text))
    names = ["name", "sub", *Cell._fields, "unit", "description"]
    frame = pd.DataFrame.from_records(records, columns=names)
    return frame.astype(dict.fromkeys(Cell._fields, np.float64))


def _label(index: int, low: float, size: float, high: float) -> str:
    """Label of a cell: that of a bucket as gem5 writes it on a line of its own, else its index."""
    if math.isnan(low) or math.isnan(size):
        return str(index)
    first = low + index * size
    last = min(first + size - 1, high)
    return f"{first:g}-{last:g}" if first < last else f"{first:g}"
