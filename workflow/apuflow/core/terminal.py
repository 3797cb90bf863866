"""Where tables and messages for people go."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from numbers import Real
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

FILE_WIDTH = 200
"""Columns when the output is no terminal: wide enough that no table is cut."""


def terminal_console() -> Console:
    """Standard output for plain text; lines are not broken, and tables in a file are not cut."""
    width = None if sys.stdout.isatty() else FILE_WIDTH
    return Console(soft_wrap=True, highlight=False, markup=False, width=width)


def table_of(
    texts: Sequence[str], numbers: Sequence[str], wrapped: Sequence[str] = (), *, no_wrap: bool = True
) -> Table:
    """A table without lines: columns of text, of numbers, and of text that may take several lines.

    With ``no_wrap`` the first two kinds take one line even where the terminal is too narrow.
    """
    table = Table(box=None, pad_edge=False)
    for heading in texts:
        table.add_column(heading, no_wrap=no_wrap)
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=no_wrap)
    for heading in wrapped:
        table.add_column(heading, overflow="fold")
    return table


class Entry(NamedTuple):
    """A row of ``stacked``: a line above its cells, the cells, lines below, the style of the first cell."""

    above: str
    cells: Sequence[str]
    below: str = ""
    style: str = ""


def stacked(names: Sequence[str], entries: Sequence[Entry], left: int = 0, *, split: bool = True) -> Text:
    """A table whose long texts have lines of their own, so that the rest fits a terminal of 80 columns.

    Args:
        names: of the cells.
        entries: its rows.
        left: so many of the cells begin at the left.
        split: names have as many lines as they need to be no wider than the cells.
    """
    columns = [[name, *(entry.cells[i] for entry in entries)] for i, name in enumerate(names)]
    widths = [_narrow(column) if split else max(map(len, column)) for column in columns]
    heads = [_lines(name, width) for name, width in zip(names, widths, strict=True)]

    def line(cells: Sequence[str]) -> str:
        sides = ["<"] * left + [">"] * (len(cells) - left)
        parts = (f"{cell:{side}{width}}" for cell, side, width in zip(cells, sides, widths, strict=True))
        return "  " + "  ".join(parts)

    out = Text()
    for words in [*zip_longest(*(head[::-1] for head in heads), fillvalue="")][::-1]:
        out.append(f"{line(words)}\n", style="bold")
    for entry in entries:
        out.append(f"{entry.above}\n" if entry.above else "")
        start = len(out)
        out.append(f"{line(entry.cells)}\n")
        out.stylize(entry.style, start + 2, start + 2 + len(entry.cells[0]))
        out.append("".join(f"    {text}\n" for text in entry.below.splitlines()))
    out.rstrip()
    return out


def blocks(names: Sequence[str], rows: Sequence[Sequence[str]], keys: int, width: int) -> Text:
    """A table in as few blocks below each other as a width needs; no cell is cut.

    Names take several lines if the width is too small. Each block begins with the first ``keys`` columns,
    which say which row it is, or, where they take more than half of the width, with the row's number.
    """
    columns = [[name, *cells] for name, *cells in zip(names, *rows, strict=True)]
    if sum(2 + max(map(len, column)) for column in columns) <= width:
        return _block(columns, split=False)
    if _across(columns[:keys]) > width / 2:
        columns.insert(0, ["row", *(str(row) for row in range(1, len(rows) + 1))])
        keys = 1
    parts = [columns[:keys]]
    for column in columns[keys:]:
        if len(parts[-1]) > keys and _across([*parts[-1], column]) > width:
            parts.append(columns[:keys])
        parts[-1].append(column)
    return Text("\n\n").join(_block(part, split=True) for part in parts)


def _across(columns: Sequence[Sequence[str]]) -> int:
    return sum(2 + _narrow(column) for column in columns)


def _narrow(column: Sequence[str]) -> int:
    """Width of a column: of its cells, or of the longest word of its name."""
    return max(map(len, [*re.split("[_ ]", column[0]), *column[1:]]))


def _lines(name: str, width: int) -> list[str]:
    lines = [""]
    for word in re.split("(?<=[_ ])", name):
        if len((lines[-1] + word).rstrip("_ ")) > width:
            lines.append("")
        lines[-1] += word
    return [line.rstrip("_ ") for line in lines]


def _block(columns: Sequence[Sequence[str]], *, split: bool) -> Text:
    names, *rows = zip(*columns, strict=True)
    return stacked(names, [Entry("", row) for row in rows], split=split)


def number(value: object) -> str:
    """A cell for people: whole numbers with their thousands apart, others with four digits, text as it is."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return "-" if value is None else str(value)
    if value != value:
        return "-"
    real = float(value)
    if real.is_integer() or abs(real) >= 10_000:
        return f"{real:,.0f}" if abs(real) < 1e15 else f"{real:.4g}"
    return f"{real:.4g}"


def interval(row: Mapping[Any, Any]) -> str:
    """The interval of a preview's cycles, three digits an end; ``guess`` outside of what was measured."""
    low, high = row["gpu_cycles_low"], row["gpu_cycles_high"]
    if low != low or high != high:
        return "-"
    ends = " to ".join(number(float(f"{end:.3g}")) for end in (low, high))
    return ends + (" (guess)" if "unmeasured: " in str(row["flags"]) else "")
