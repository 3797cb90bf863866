"""Read the rows of one block of gem5's statistics into columns, many rows at a time.

The grammar is that of gem5's src/base/stats/text.cc (the same from v21.0.1.0 to v24.0.0.1): a name padded to
40 columns, a blank, a value right-aligned in 12, two shares right-aligned in 10 after a blank each, then
``# description`` and ``(unit)``. Vectors and distributions on one line hold cells instead, each begun by
``|``. ``_read_line`` decides what a row is; the values of nearly all rows are found by their columns without
it. A row whose columns are elsewhere (gem5's ``spaces=False``) is read, and is a fault.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from itertools import pairwise, repeat
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from apuflow.gem5.stats.blocks import Fault

MOMENTS = ("samples", "mean", "gmean", "stdev", "min_value", "max_value", "total")
LAYOUT = ("min_bucket", "bucket_size", "max_bucket")
"""Rows of a distribution that are none of its buckets."""

_NAME_WIDTH, _VALUE_WIDTH, _SHARES_WIDTH = 40, 12, 22
_PIECE = 1 << 21
_THREADS = min(4, len(os.sched_getaffinity(0)))
_NEWLINE = re.compile(rb"\n")
_NUMBER = r"-?(?:\d+(?:\.\d+)?|nan|inf)"
_SHARE = r" +-?(?:\d+\.\d+|nan|inf)%"
_PADDED_SHARES = rf" {{{_SHARES_WIDTH}}}|{_SHARE}(?:{_SHARE}| {{11}})"
_SHARES = re.compile(_PADDED_SHARES.encode())
_VALUE = re.compile(_NUMBER.encode())
_LINE = re.compile(rb"([!-\xff]+) +(\S+)")
_CELL = re.compile(rf" *({_NUMBER})({_SHARE})?({_SHARE})? *")
_CELLS = re.compile(rf"(?: \|{_CELL.pattern})+(?: # .*| \(.*)?$".encode(), re.S)
_BEHIND = (b" #", b" (", b"")
_UNIT = re.compile(r"(.*?)\s*(?:\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\))?\s*", re.S)

Text = bytes | memoryview
Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]
Floats = np.ndarray[Any, np.dtype[np.float64]]
Offsets = np.ndarray[Any, np.dtype[np.int64]]


class Damage(Exception):
    """Why a line or a block cannot be what gem5 wrote."""


class Cell(NamedTuple):
    """One value of a vector or distribution: the value, its share and the cumulative share in percent."""

    value: float
    share: float | None = None
    cumulative: float | None = None


class _Piece(NamedTuple):
    """Consecutive rows in columns.

    ``value_ends`` and ``line_ends`` count from ``start`` of the text; ``faults`` are places in the text.
    """

    start: int
    names: Any
    values: Floats
    oneline: Flags
    value_ends: Offsets
    line_ends: Offsets
    faults: Sequence[tuple[int, str]]


class Rows:
    """The rows of one block.

    ``values``: the number of each row, NaN for one-line rows. ``oneline``: which rows hold several cells.
    """

    def __init__(self, pieces: Sequence[_Piece], text: Text) -> None:
        self._text = memoryview(text)
        self.values: Floats = np.concatenate([[], *(piece.values for piece in pieces)])
        oneline = np.concatenate([[], *(piece.oneline for piece in pieces)])
        self.oneline = frozenset(np.flatnonzero(oneline).tolist())
        self._pieces = pieces

    @cached_property
    def faults(self) -> tuple[Fault, ...]:
        """Lines that gem5 does not write so; the text's first line has number 0."""
        found = (fault for piece in self._pieces for fault in piece.faults)
        return tuple(Fault(self._line(place), reason) for place, reason in found)

    @cached_property
    def names(self) -> list[str]:
        """Row names as printed, ``base`` or ``base::sub``."""
        names: list[str] = []
        for piece in self._pieces:
            names += piece.names.to_numpy(zero_copy_only=False).tolist()
        return names

    @cached_property
    def numbers(self) -> dict[str, float]:
        """Name to number of the rows that hold one."""
        rows = enumerate(zip(self.names, self.values.tolist(), strict=True))
        return {name: value for row, (name, value) in rows if row not in self.oneline}

    def __len__(self) -> int:
        return len(self.values)

    def line(self, row: int) -> int:
        """The number of a row's line, as in ``faults``."""
        return self._line(int(self._ends[0, row]))

    @cached_property
    def _ends(self) -> Offsets:
        """Where values (row 0) and lines (row 1) end in the text."""
        ends = [np.stack((piece.value_ends, piece.line_ends)) + piece.start for piece in self._pieces]
        return np.concatenate(ends, axis=1)

    def _line(self, place: int) -> int:
        return self._text[:place].tobytes().count(b"\n")

    def tail(self, row: int) -> str:
        """What is printed behind the value: shares, description, unit."""
        start, stop = self._ends[:, row].tolist()
        return self._text[start:stop].tobytes().decode("utf-8", "replace")

    def _cells(self, tail: str) -> Iterator[re.Match[str]]:
        """``value share% cumulative% | ...  # description``."""
        return filter(None, map(_CELL.match, tail.partition(" # ")[0].split("|")))

    def cell_values(self, row: int) -> list[float]:
        """The numbers in the cells of a one-line row."""
        return [float(cell[1]) for cell in self._cells(self.tail(row))]

    def cells(self, row: int) -> list[Cell]:
        """The cells of a row; one that is no one-line row has one cell."""
        if row in self.oneline:
            return [Cell(float(cell[1]), *_shares(cell)) for cell in self._cells(self.tail(row))]
        return [Cell(float(self.values[row]), *_shares(_CELL.match(f"0{self.tail(row)}")))]


def _shares(cell: re.Match[str] | None) -> Iterator[float | None]:
    for text in cell.group(2, 3) if cell else ():
        yield None if text is None else float(text.strip(" %"))


def description(tail: str) -> tuple[str, str]:
    """Description and unit from what is printed behind a value; ``""`` where there is none."""
    before, hash_sign, text = (" " + tail).partition(" # ")
    if not hash_sign:
        text = before.rpartition("|")[2].rpartition("%")[2].lstrip("0123456789. ")
    return _text_and_unit(text)


@lru_cache(maxsize=4096)
def _text_and_unit(text: str) -> tuple[str, str]:
    """The unit is the parenthesis that ends a line, with others in it."""
    match = _UNIT.fullmatch(text)
    return (match[1].strip(), match[2] or "") if match else (text.strip(), "")


def parse_block(text: Text, select: Sequence[str] | None = None, *, strict: bool = False) -> Rows:
    """Read the lines between the begin and the end mark of a dump, in pieces side by side.

    Args:
        select: names or patterns (``*`` stands for anything) of the statistics to read; all if ``None``. A
            name of a vector or distribution takes all its rows.
        strict: also find fault with lines that are wrong only behind their (first) number, and tell a 0 from
            a fraction that rounds to it (see ``is_zero``).
    """
    if text[-1:] not in (b"", b"\n"):
        text = bytes(text) + b"\n"
    buffer = np.frombuffer(text, dtype=np.uint8)
    cuts = [0]
    while cuts[-1] < len(buffer):
        line = _NEWLINE.search(text, cuts[-1] + _PIECE) if cuts[-1] + _PIECE < len(buffer) else None
        cuts.append(len(buffer) if line is None else line.end())
    parts = [re.escape(pattern).replace(r"\*", ".*") for pattern in select or ()]
    wanted = None if select is None else f"(?:{'|'.join(parts)})(?:::.*)?"
    arguments = (repeat(buffer), pairwise(cuts), repeat(wanted), repeat(strict))
    try:
        if len(cuts) < 3 or _THREADS < 2:
            return Rows(list(map(_piece, *arguments)), text)
        with ThreadPoolExecutor(_THREADS) as pool:
            return Rows(list(pool.map(_piece, *arguments)), text)
    except UnicodeDecodeError:
        return parse_block(bytes(text).decode("utf-8", "replace").encode(), select, strict=strict)


def _piece(buffer: Bytes, span: tuple[int, int], wanted: str | None, strict: bool) -> _Piece:
    base, part = span[0], buffer[slice(*span)]
    odd = part.view(np.int8).min() < 10  # a control character, or none of ASCII
    if odd:
        part.tobytes().decode()
    ends: Offsets = np.flatnonzero(part == 10)
    cuts = np.empty(len(ends) + 1, dtype=np.int64)
    cuts[0] = 0
    np.add(ends, 1, out=cuts[1:])
    starts = cuts[:-1]
    lengths = np.array(pc.find_substring(_array(pa.large_binary(), cuts, part), b" "))
    name_ends = starts + np.maximum(lengths, 0)
    if odd:
        lengths[np.searchsorted(ends, np.flatnonzero(part < 10))] = 0
    if wanted is not None:
        match = _matches(_firsts(part, starts, name_ends), wanted)
        starts, ends, lengths, name_ends = (column[match] for column in (starts, ends, lengths, name_ends))
    # the padded layout: name in 40 columns or more, a blank, the value right-aligned in 12
    value_ends = np.minimum(np.maximum(name_ends, starts + _NAME_WIDTH) + 1 + _VALUE_WIDTH, ends)
    behind = part[value_ends]
    regular = (lengths > 0) & (part[value_ends - 1] != 32) & ((behind == 32) | (behind == 10))
    if strict:
        regular &= _ended(part, value_ends, ends)
    values, regular = _values(part, name_ends, value_ends, regular, strict)
    oneline, kept = np.zeros(len(starts), dtype=np.bool_), np.ones(len(starts), dtype=np.bool_)
    faults: list[tuple[int, str]] = []
    for row in np.flatnonzero(~regular).tolist():
        line = part[starts[row] : ends[row]].tobytes()
        try:
            value, end, fault = _read_line(line, strict)
        except Damage as damage:
            kept[row], fault = False, str(damage) if line else None
        else:
            values[row], oneline[row] = np.nan if value is None else value, value is None
            value_ends[row] = starts[row] + end
        if fault is not None:
            faults.append((base + int(starts[row]), fault))
    if not kept.all():
        values, oneline = values[kept], oneline[kept]
        starts, name_ends, value_ends, ends = (c[kept] for c in (starts, name_ends, value_ends, ends))
    return _Piece(base, _firsts(part, starts, name_ends), values, oneline, value_ends, ends, faults)


def _array(kind: pa.DataType, cuts: Offsets, part: Bytes) -> pa.Array:
    """The stretches between consecutive cuts, without copying."""
    return pa.Array.from_buffers(kind, len(cuts) - 1, [None, pa.py_buffer(cuts), pa.py_buffer(part)])


def _firsts(part: Bytes, starts: Offsets, ends: Offsets) -> pa.Array:
    """The stretches from ``starts`` to ``ends``."""
    cuts = np.empty(2 * len(starts) + 1, dtype=np.int64)
    cuts[0:-1:2], cuts[1:-1:2], cuts[-1] = starts, ends, len(part)
    return _array(pa.large_string(), cuts, part).take(pa.array(np.arange(0, len(cuts) - 1, 2)))


def _matches(texts: pa.Array, expression: str) -> Flags:
    flags: Flags = np.asarray(pc.match_substring_regex(texts, f"^(?:{expression})$"))
    return flags


def _ended(part: Bytes, value_ends: Offsets, ends: Offsets) -> Flags:
    """Whether shares, in their columns, and then a description, a unit or the end follow each value."""
    stops = np.minimum(value_ends + _SHARES_WIDTH, ends)
    last = np.minimum(stops + 1, ends)
    behind = (part[stops] == 10) | ((part[stops] == 32) & ((part[last] == 35) | (part[last] == 40)))
    whole = behind & (stops == value_ends + _SHARES_WIDTH)
    right: Flags = whole & _matches(_firsts(part, value_ends, stops), _PADDED_SHARES)
    return right


def _values(
    part: Bytes, name_ends: Offsets, value_ends: Offsets, regular: Flags, strict: bool
) -> tuple[Floats, Flags]:
    """The numbers of the regular rows; a row whose value is no number is not regular."""
    words = pc.ascii_trim(_firsts(part, name_ends, np.where(regular, value_ends, name_ends)), " ")
    decimal = np.asarray(pc.ascii_is_decimal(words))
    rest = np.flatnonzero(regular & ~decimal)
    regular[rest] = _matches(words.take(pa.array(rest)), _NUMBER)
    if not regular.all():
        words = pc.if_else(pa.array(regular), words, pa.scalar("nan", words.type))
    values = pc.cast(words, pa.float64()).to_numpy(zero_copy_only=False).copy()
    if strict:
        values[(values == 0) & ~decimal] = -0.0
    return values, regular


def is_zero(value: float) -> bool:
    """Whether gem5 printed ``0``. In a block read strictly ``0.000000`` is -0.0: its value may be more."""
    return value == 0 and math.copysign(1, value) > 0


def first_number(cells: bytes) -> float | None:
    """The number that a row begins with behind its name; None where there is none, or several cells.

    Raises:
        Damage: gem5 writes no such number.
    """
    word = next(iter(cells.split(None, 1)), b"|")
    if word.isdigit():
        return float(word)
    if word.startswith(b"|"):
        return None
    if _VALUE.fullmatch(word) is None:
        raise Damage(f"{word[:120].decode(errors='replace')} is no number as gem5 writes them")
    return float(word)


def _read_line(line: bytes, strict: bool) -> tuple[float | None, int, str | None]:
    """Read a row wherever its columns are: its number (None: cells), where that ends, and what is wrong.

    ``strict``: check all cells of a one-line row, not its beginning alone.

    Raises:
        Damage: it is no row.
    """
    if b"\0" in line:
        raise Damage("it holds bytes of zero")
    match = _LINE.match(line)
    if match is None:
        raise Damage("it is no row of statistics")
    column, end = max(match.end(1), _NAME_WIDTH), match.end(2)
    value = first_number(match[2])
    if value is None:
        right, end = not strict or _CELLS.match(line, column) is not None, match.start(2) + 1
    else:
        stop = end + _SHARES_WIDTH
        right = end == column + 1 + max(len(match[2]), _VALUE_WIDTH)
        right = right and _SHARES.fullmatch(line[end:stop]) is not None and line[stop:][:2] in _BEHIND
    return value, end, None if right else "its columns are not where gem5 puts them"
