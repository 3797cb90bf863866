"""Where tables and messages for people go."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from numbers import Real
from typing import Any, NamedTuple

from rich.console import Console
from rich.text import Text

FILE_WIDTH = 200
"""Columns when the output is no terminal: wide enough that no table is cut."""


def terminal_console() -> Console:
    """Standard output; lines are not broken, and tables are not cut where nobody sets a width."""
    return Console(soft_wrap=True, width=None if sys.stdout.isatty() else FILE_WIDTH)


class Entry(NamedTuple):
    """A row of ``stacked``: a line above its cells, the cells, lines below, the style of the first cell."""

    above: str
    cells: Sequence[str]
    below: str = ""
    style: str = ""


def stacked(names: Sequence[str], entries: Sequence[Entry], left: int = 0) -> Text:
    """A table whose long texts have lines of their own, so that the rest fits a terminal of 80 columns.

    Args:
        names: of the cells; a word of each to a line.
        entries: its rows.
        left: so many of the cells begin at the left; numbers end at the right.
    """
    heads = [re.split("[_ ]", name) for name in names]
    columns = [[entry.cells[i] for entry in entries] for i in range(len(names))]
    widths = [max(map(len, [*head, *cells])) for head, cells in zip(heads, columns, strict=True)]

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
    """The interval of a preview's cycles; ``guess`` where the row lies outside of what was measured."""
    low, high = row["gpu_cycles_low"], row["gpu_cycles_high"]
    if low != low or high != high:
        return "-"
    return f"{low:.3g} to {high:.3g}" + (" (guess)" if "unmeasured: " in str(row["flags"]) else "")
