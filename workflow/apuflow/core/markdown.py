"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable


def row(cells: Iterable[str]) -> str:
    """A row; a cell may have bars and line breaks."""
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def head(names: Iterable[str]) -> tuple[str, str]:
    """The two lines above the rows."""
    listed = list(names)
    return row(listed), "|" + "---|" * len(listed)
