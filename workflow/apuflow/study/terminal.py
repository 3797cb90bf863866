"""Where tables and messages for people go."""

from __future__ import annotations

import sys
from numbers import Real

from rich.console import Console

FILE_WIDTH = 200
"""Columns when the output is no terminal: wide enough that no table is cut."""


def terminal_console() -> Console:
    """Standard output; lines are not broken, and tables are not cut where nobody sets a width."""
    return Console(soft_wrap=True, width=None if sys.stdout.isatty() else FILE_WIDTH)


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
