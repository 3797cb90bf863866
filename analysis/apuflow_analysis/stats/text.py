"""Read one block of gem5's statistics text into columns, many rows at a time.

The grammar is that of gem5's src/base/stats/text.cc (the same from v21.0.1.0 to v24.0.0.1): rows of name,
value, optional share and cumulative share, ``# description`` and ``(unit)``; vectors and distributions on one
line hold cells that begin with ``|``. Names are padded to 40 columns and values to 12, which is used to find
the values of nearly all rows without looking at each; what does not fit is read by expression.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise, repeat
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_NAME_WIDTH = 40
_VALUE_WIDTH = 12
_PIECE = 1 << 21
_FEW = 8
_THREADS = min(4, len(os.sched_getaffinity(0)))
_NEWLINE = re.compile(rb"\n")
_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|nan|inf)"
_ROW = re.compile(rf"(?P<name>\S+) +(?P<value>{_NUMBER})(?=\s|$)")
_ONELINE = re.compile(r"(?P<name>\S+) +\|")
_SHARES = re.compile(r"\s*([\d.]+|inf|nan)%(?:\s+([\d.]+|inf|nan)%)?")
_CELL = re.compile(rf"\s*({_NUMBER})(?:\s+([\d.]+|nan|inf)%)?(?:\s+([\d.]+|nan|inf)%)?")

Text = bytes | memoryview
Source = Callable[[int, int], bytes]
Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]
Floats = np.ndarray[Any, np.dtype[np.float64]]
Offsets = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Cell:
    """One value of a vector or distribution: the value, its share and the cumulative share in percent."""

    value: float
    share: float | None = None
    cumulative: float | None = None


@dataclass(frozen=True)
class Piece:
    """Consecutive rows of a block, in columns.

    Attributes:
        names: an Arrow array of the row names.
        values: the numbers; NaN for one-line rows.
        value_ends, line_ends: where each row's value and line end in the block, or in ``clean``.
        clean: the lines they were read from where they had to be repaired first, else ``None``.
        oneline: numbers of the rows that hold several cells.
        unread: lines that are no row.
    """

    names: Any
    values: Floats
    value_ends: Offsets
    line_ends: Offsets
    clean: Bytes | None
    oneline: Sequence[int]
    unread: Sequence[str]


class Rows:
    """The rows of one block.

    Attributes:
        values: the number of each row; NaN for one-line rows.
        oneline: numbers of the rows that hold several cells.
        unread: lines that are no row, as printed.
    """

    def __init__(self, pieces: Sequence[Piece], source: Source) -> None:
        self._pieces = pieces
        self._source = source
        self._reads = 0
        self._firsts: list[int] = np.cumsum([0, *(len(piece.values) for piece in pieces)]).tolist()
        self.values: Floats = np.concatenate([np.empty(0), *(piece.values for piece in pieces)])
        self.oneline = frozenset(
            first + row for first, piece in zip(self._firsts, pieces, strict=False) for row in piece.oneline
        )
        self.unread = tuple(line for piece in pieces for line in piece.unread)

    @cached_property
    def names(self) -> list[str]:
        """Row names as printed, ``base`` or ``base::sub``."""
        names: list[str] = []
        for piece in self._pieces:
            names += piece.names.to_numpy(zero_copy_only=False).tolist()
        return names

    def find(self, name: str) -> int | None:
        """The number of the row of this name, the last if there are several; ``None`` if there is none.

        A few names are looked for one by one; for more names all of them are indexed.
        """
        self._reads += 1
        if self._reads > _FEW:
            return self._index.get(name)
        wanted = pa.scalar(name, pa.large_string())
        for first, piece in zip(reversed(self._firsts[:-1]), reversed(self._pieces), strict=True):
            hits = pc.indices_nonzero(pc.equal(piece.names, wanted))
            if len(hits):
                return first + int(hits[-1].as_py())
        return None

    @cached_property
    def _index(self) -> dict[str, int]:
        return dict(zip(self.names, range(len(self.names)), strict=True))

    def __len__(self) -> int:
        return len(self.values)

    def cells(self, row: int) -> tuple[Cell, ...]:
        """Cells of a one-line row: ``value share% cumulative% | ...  # description``."""
        cells = []
        for part in self.tail(row).split(" # ", 1)[0].split("|"):
            match = _CELL.match(part)
            if match is not None:
                share, cumulative = (None if text is None else float(text) for text in match.group(2, 3))
                cells.append(Cell(float(match[1]), share, cumulative))
        return tuple(cells)

    def tail(self, row: int) -> str:
        """What stands behind the value: shares, description, unit."""
        at = bisect_right(self._firsts, row) - 1
        piece, row = self._pieces[at], row - self._firsts[at]
        start, stop = int(piece.value_ends[row]), int(piece.line_ends[row])
        text = self._source(start, stop) if piece.clean is None else piece.clean[start:stop].tobytes()
        return text.decode("utf-8", "replace")


def shares(tail: str) -> tuple[float | None, float | None]:
    """Share and cumulative share in percent from what stands behind a value."""
    match = _SHARES.match(tail)
    if match is None:
        return None, None
    return float(match[1]), None if match[2] is None else float(match[2])


def description(tail: str) -> tuple[str, str]:
    """Description and unit from what stands behind a value; ``""`` where there is none."""
    before, hash_sign, text = (" " + tail).partition(" # ")
    if not hash_sign:
        text = _SHARES.sub("", before, count=1).rpartition("|")[2].rpartition("%")[2]
        text = text.lstrip("0123456789. ")
    return _text_and_unit(text)


@lru_cache(maxsize=4096)
def _text_and_unit(text: str) -> tuple[str, str]:
    start = _unit_start(text)
    return text[:start].strip(), text[start:].strip()[1:-1]


def _unit_start(text: str) -> int:
    """Where the parenthesis that ends a line opens; the line's end if there is none."""
    depth = 0
    if text.rstrip().endswith(")"):
        for at in range(len(text) - 1, -1, -1):
            depth += (text[at] == ")") - (text[at] == "(")
            if depth == 0 and text[at] == "(":
                return at
    return len(text)


def selection(patterns: Sequence[str]) -> str:
    """An expression for the row names of the statistics that match one of the patterns.

    A pattern that names a vector or distribution takes all its rows; ``*`` stands for anything.
    """
    parts = [re.escape(pattern).replace(r"\*", ".*") for pattern in patterns]
    return "^(?:" + "|".join(parts) + ")(?:::.*)?$"


def parse_block(text: Text, names: str | None = None, source: Source | None = None) -> Rows:
    """Read the lines between the begin and the end mark of a dump, in pieces side by side.

    Args:
        text: the lines.
        names: expression that the names of the rows to read must match (see ``selection``).
        source: gives ``text[start:stop]`` again later; without it the rows keep ``text``.
    """
    if source is None:
        kept = memoryview(text)
        source = lambda start, stop: bytes(kept[start:stop])  # noqa: E731
    buffer = np.frombuffer(text, dtype=np.uint8)
    cuts = [0]
    while cuts[-1] < len(buffer):
        line = _NEWLINE.search(text, cuts[-1] + _PIECE) if cuts[-1] + _PIECE < len(buffer) else None
        cuts.append(len(buffer) if line is None else line.end())
    spans = list(pairwise(cuts))
    if len(spans) < 2 or _THREADS < 2:
        return Rows([_piece(buffer, span, names) for span in spans], source)
    with ThreadPoolExecutor(_THREADS) as pool:
        return Rows(list(pool.map(_piece, repeat(buffer), spans, repeat(names))), source)


def _piece(buffer: Bytes, span: tuple[int, int], wanted: str | None) -> Piece:
    base, part, clean = span[0], buffer[slice(*span)], None
    if part[-1] != 10 or part.max() > 127:
        repaired = part.tobytes().decode("utf-8", "replace").encode()
        part = np.frombuffer(repaired if repaired.endswith(b"\n") else repaired + b"\n", dtype=np.uint8)
        base, clean = 0, part
    ends = np.flatnonzero(part == 10)
    cuts = np.empty(len(ends) + 1, dtype=np.int64)
    cuts[0] = 0
    np.add(ends, 1, out=cuts[1:])
    starts = cuts[:-1]
    lengths = np.asarray(pc.find_substring(_array(pa.large_binary(), cuts, part), b" "))
    name_ends = starts + np.maximum(lengths, 0)
    if wanted is not None:
        match = np.asarray(pc.match_substring_regex(_firsts(part, starts, name_ends), wanted))
        starts, ends, lengths, name_ends = starts[match], ends[match], lengths[match], name_ends[match]
    # the padded layout: name in 40 columns or more, a blank, the value right-aligned in 12
    value_ends = np.minimum(np.maximum(name_ends, starts + _NAME_WIDTH) + 1 + _VALUE_WIDTH, ends)
    behind = part[value_ends]
    regular = (lengths > 0) & (part[value_ends - 1] != 32) & ((behind == 32) | (behind == 10))
    values, regular = _values(part, name_ends, value_ends, regular)
    oneline, unread, kept = _irregular(part, starts, ends, values, value_ends, regular)
    if not kept.all():
        oneline = (np.cumsum(kept) - 1)[oneline].tolist()
        values, value_ends, ends = values[kept], value_ends[kept], ends[kept]
        starts, name_ends = starts[kept], name_ends[kept]
    names = _firsts(part, starts, name_ends)
    return Piece(names, values, value_ends + base, ends + base, clean, oneline, unread)


def _array(kind: pa.DataType, cuts: Offsets, part: Bytes) -> pa.Array:
    """The stretches between consecutive cuts, without copying."""
    return pa.Array.from_buffers(kind, len(cuts) - 1, [None, pa.py_buffer(cuts), pa.py_buffer(part)])


def _firsts(part: Bytes, starts: Offsets, ends: Offsets) -> pa.Array:
    """The stretches from ``starts`` to ``ends``."""
    cuts = np.empty(2 * len(starts) + 1, dtype=np.int64)
    cuts[0:-1:2], cuts[1:-1:2], cuts[-1] = starts, ends, len(part)
    return _array(pa.large_string(), cuts, part).take(pa.array(np.arange(0, len(cuts) - 1, 2)))


def _values(part: Bytes, name_ends: Offsets, value_ends: Offsets, regular: Flags) -> tuple[Floats, Flags]:
    """The numbers of the regular rows; a row whose value is no number is not regular."""
    words = pc.ascii_trim(_firsts(part, name_ends, np.where(regular, value_ends, name_ends)), " ")
    nan = pa.scalar("nan", words.type)
    try:
        values = pc.cast(pc.if_else(pa.array(regular), words, nan), pa.float64())
    except pa.ArrowInvalid:
        regular = regular & np.asarray(pc.match_substring_regex(words, f"^{_NUMBER}$"))
        values = pc.cast(pc.if_else(pa.array(regular), words, nan), pa.float64())
    return values.to_numpy(zero_copy_only=False).copy(), regular


def _irregular(
    part: Bytes, starts: Offsets, ends: Offsets, values: Floats, value_ends: Offsets, regular: Flags
) -> tuple[list[int], list[str], Flags]:
    """Read the other rows one by one, into ``values`` and ``value_ends``; tell which lines are rows."""
    oneline: list[int] = []
    unread: list[str] = []
    kept = np.ones(len(starts), dtype=np.bool_)
    for row in np.flatnonzero(~regular).tolist():
        line = part[starts[row] : ends[row]].tobytes().decode("utf-8", "replace")
        if match := _ONELINE.match(line):
            oneline.append(row)
            values[row] = np.nan
        elif match := _ROW.match(line):
            values[row] = float(match["value"])
        else:
            kept[row] = False
            if line.strip():
                unread.append(line)
            continue
        value_ends[row] = starts[row] + len(line[: match.end()].encode())
    return oneline, unread, kept
