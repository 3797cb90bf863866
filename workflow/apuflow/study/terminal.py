"""Where tables and messages for people go."""

from __future__ import annotations

import sys

from rich.console import Console

FILE_WIDTH = 200
"""Columns when the output is no terminal: wide enough that no table is cut."""


def terminal_console() -> Console:
    """Standard output; lines are not broken, and tables are not cut where nobody sets a width."""
    return Console(soft_wrap=True, width=None if sys.stdout.isatty() else FILE_WIDTH)
