"""Read one block of gem5's statistics text into columns, many rows at a time.

The grammar is that of gem5's src/base/stats/text.cc (the same from v21.0.1.0 to v24.0.0.1): rows of name,
value, optional share and cumulative share, ``# description`` and ``(unit)``; vectors and distributions on one
line hold cells that begin with ``|``. Names are padded to 40 columns and values to 12, which is used to find
the values of nearly all rows without looking at each; what does not fit is read by expression.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_NAME_WIDTH = 40
_VALUE_WIDTH = 12
_CHUNK = 1 << 20
_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|nan|inf)"
_ROW = re.compile(rf"(?P<name>\S+)\s+(?P<value>{_NUMBER})(?=\s|$)")
_ONELINE = re.compile(r"(?P<name>\S+)\s+\|")
_SHARES = re.compile(r"\s*([\d.]+|inf|nan)%(?:\s+([\d.]+|inf|nan)%)?")
_UNIT = re.compile(r"\s*\(((?:[^()]|\([^()]*\))*)\)\s*$")

Floats = np.ndarray[Any, np.dtype[np.float64]]
Offsets = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Cell:
    """One value of a vector or distribution: the value, its share and the cumulative share in percent."""

    value: float
    share: float | None = None
    cumulative: float | None = None


@dataclass(frozen=True)
class Rows:
    """The rows of one block.

    Attributes:
        text: the block's bytes.
        names: row names as printed, ``base`` or ``base::sub``.
        values: their values; NaN for one-line rows.
        value_ends, line_ends: where each row's value and line end in ``text``.
        oneline: row number -> cells of the rows that hold several.
        unread: lines that are no row, as printed.
    """

    text: bytes
    names: Sequence[str]
    values: Floats
    value_ends: Offsets
    line_ends: Offsets
    oneline: dict[int, tuple[Cell, ...]] = field(default_factory=dict)
    unread: tuple[str, ...] = ()

    def tail(self, row: int) -> str:
        """What stands behind the value: shares, description, unit."""
        return self.text[self.value_ends[row] : self.line_ends[row]].decode("utf-8", "replace")


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
    unit = _UNIT.search(text)
    if unit is None:
        return text.strip(), ""
    return text[: unit.start()].strip(), unit[1]


def parse_block(text: bytes) -> Rows:
    """Read the lines between the begin and the end mark of a dump."""
    if not text.isascii():
        text = text.decode("utf-8", "replace").encode()
    if not text.endswith(b"\n"):
        text += b"\n"
    buffer = np.frombuffer(text, dtype=np.uint8)
    ends = _newlines(buffer)
    starts = np.empty_like(ends)
    starts[0] = 0
    starts[1:] = ends[:-1] + 1
    name_ends, value_ends, regular = _locate(text, buffer, starts, ends)
    names, values, regular = _split(text, starts, name_ends, value_ends, regular)
    return _finish(text, names, values, starts, value_ends, ends, regular)


def _newlines(buffer: np.ndarray[Any, np.dtype[np.uint8]]) -> Offsets:
    """Positions of all newlines, in pieces that stay in the processor's cache."""
    found = [
        np.flatnonzero(buffer[at : at + _CHUNK] == 10) + at for at in range(0, max(len(buffer), 1), _CHUNK)
    ]
    return np.concatenate(found).astype(np.int64, copy=False)


def _locate(
    text: bytes, buffer: np.ndarray[Any, np.dtype[np.uint8]], starts: Offsets, ends: Offsets
) -> tuple[Offsets, Offsets, np.ndarray[Any, np.dtype[np.bool_]]]:
    """Where names and values end, and which rows have the padded layout that makes this certain."""
    offsets = np.append(starts, len(text))
    lines = pa.Array.from_buffers(
        pa.large_binary(), len(starts), [None, pa.py_buffer(offsets), pa.py_buffer(text)]
    )
    lengths = np.asarray(pc.find_substring(lines, b" ")).astype(np.int64)
    named = lengths > 0
    lengths[~named] = 0
    value_ends = np.minimum(starts + np.maximum(lengths, _NAME_WIDTH) + 1 + _VALUE_WIDTH, ends)
    behind = buffer[value_ends]
    regular = named & (buffer[value_ends - 1] != 32) & ((behind == 32) | (behind == 10))
    # the value must be one word that fills its field: a blank, or the name's end, stands before the field
    return starts + lengths, value_ends, regular


def _split(
    text: bytes,
    starts: Offsets,
    name_ends: Offsets,
    value_ends: Offsets,
    regular: np.ndarray[Any, np.dtype[np.bool_]],
) -> tuple[list[str], Floats, np.ndarray[Any, np.dtype[np.bool_]]]:
    """Cut the text into names, values and rests without copying, then convert names and values."""
    value_ends = np.where(regular, value_ends, name_ends)
    cuts = np.empty(3 * len(starts) + 1, dtype=np.int64)
    cuts[0:-1:3], cuts[1:-1:3], cuts[2:-1:3] = starts, name_ends, value_ends
    cuts[-1] = len(text)
    pieces = pa.Array.from_buffers(
        pa.large_string(), len(cuts) - 1, [None, pa.py_buffer(cuts), pa.py_buffer(text)]
    )
    first = np.arange(0, len(cuts) - 1, 3)
    names: list[str] = pieces.take(pa.array(first)).to_numpy(zero_copy_only=False).tolist()
    words = pc.ascii_trim(pieces.take(pa.array(first + 1)), " ")
    try:
        values = pc.cast(pc.if_else(pa.array(regular), words, pa.scalar("nan", words.type)), pa.float64())
    except pa.ArrowInvalid:
        number = np.asarray(pc.match_substring_regex(words, f"^{_NUMBER}$"))
        regular = regular & number
        values = pc.cast(pc.if_else(pa.array(regular), words, pa.scalar("nan", words.type)), pa.float64())
    return names, values.to_numpy(zero_copy_only=False).copy(), regular


def _finish(
    text: bytes,
    names: list[str],
    values: Floats,
    starts: Offsets,
    value_ends: Offsets,
    ends: Offsets,
    regular: np.ndarray[Any, np.dtype[np.bool_]],
) -> Rows:
    """Read the rows that are not regular one by one and drop the lines that are none."""
    oneline: dict[int, tuple[Cell, ...]] = {}
    unread: list[str] = []
    kept = np.ones(len(starts), dtype=bool)
    for row in np.flatnonzero(~regular).tolist():
        line = text[starts[row] : ends[row]].decode("utf-8", "replace")
        if match := _ONELINE.match(line):
            names[row] = match["name"]
            oneline[row] = _cells(line[match.end() - 1 :])
            value_ends[row] = starts[row] + len(line[: match.end()].encode())
            values[row] = np.nan
        elif match := _ROW.match(line):
            names[row], values[row] = match["name"], float(match["value"])
            value_ends[row] = starts[row] + len(line[: match.end()].encode())
        else:
            kept[row] = False
            if line.strip():
                unread.append(line)
    if kept.all():
        return Rows(text, names, values, value_ends, ends, oneline, tuple(unread))
    number = np.cumsum(kept) - 1
    return Rows(
        text,
        [name for name, keep in zip(names, kept, strict=True) if keep],
        values[kept],
        value_ends[kept],
        ends[kept],
        {int(number[row]): cells for row, cells in oneline.items()},
        tuple(unread),
    )


def _cells(text: str) -> tuple[Cell, ...]:
    """Cells of a one-line row: ``| value share% cumulative% | ...  # description``."""
    cells = []
    for part in text.split(" # ", 1)[0].split("|")[1:]:
        words = part.split()
        if not words:
            continue
        numbers = [float(word.rstrip("%")) for word in words[:3] if re.fullmatch(_NUMBER + "%?", word)]
        if numbers:
            cells.append(Cell(*numbers))
    return tuple(cells)
