"""A table of texts as a figure: wrapped cells in columns of given widths."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from apuflow_analysis.figures.style import FULL_WIDTH, new_figure

_SIZE = 6.5
_LINE = _SIZE * 1.35 / 72
_CHARACTER = _SIZE * 0.56 / 72
_GAP = 0.06


def text_table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    shares: Sequence[float],
    colours: Mapping[str, str] | None = None,
) -> Figure:
    """The table, as wide as a page.

    Args:
        headings: of the columns.
        rows: their cells.
        shares: of the page's width, one per column, which sum to 1.
        colours: of cells with exactly this text.
    """
    widths = [max(4, int((share * FULL_WIDTH - 0.1) / _CHARACTER)) for share in shares]
    wrapped = [
        [textwrap.wrap(cell, width) or [""] for cell, width in zip(row, widths, strict=True)]
        for row in (headings, *rows)
    ]
    heights = [max(map(len, row)) * _LINE + _GAP for row in wrapped]
    total = sum(heights) + _GAP
    figure = new_figure(FULL_WIDTH, total)
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(total, 0)
    top = 0.0
    for number, (row, height) in enumerate(zip(wrapped, heights, strict=True)):
        left = 0.0
        for lines, share in zip(row, shares, strict=True):
            axes.text(
                left,
                top + _GAP / 2,
                "\n".join(lines),
                fontsize=_SIZE,
                fontweight="bold" if number == 0 else "normal",
                color=(colours or {}).get(" ".join(lines), "#222222"),
                ha="left",
                va="top",
                parse_math=False,
                linespacing=1.2,
            )
            left += share
        top += height
        axes.plot([0, 1], [top, top], color="#222222" if number == 0 else "#dddddd", linewidth=0.6)
    return figure
