"""Stacked bars of shares: one bar per workload, one panel per end of an axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray

from apuflow_analysis.figures.style import FULL_WIDTH, new_figure


def stacked_shares(
    bars: Sequence[str],
    ends: Sequence[str],
    colours: Sequence[str],
    shares: Callable[[str], NDArray[np.float64]],
    *,
    label: str,
    axis: str | None,
) -> Figure:
    """Bars from 0 to 100 %, made of parts.

    Args:
        bars: their names, from the top.
        ends: names of the panels.
        colours: of the parts, from the left.
        shares: of a panel, shape (parts, bars), 0 to 1; NaN where there is nothing to draw.
        label: of the horizontal axes.
        axis: label of the axis whose ends the panels are; None: there is none.
    """
    figure = new_figure(FULL_WIDTH, 0.75 + 0.19 * len(bars))
    panels = figure.subplots(1, len(ends), sharey=True, squeeze=False)[0]
    for axes, end in zip(panels, ends, strict=True):
        start = np.zeros(len(bars))
        for colour, values in zip(colours, np.nan_to_num(shares(end)), strict=True):
            axes.barh(
                range(len(bars)),
                values,
                left=start,
                height=0.72,
                color=colour,
                edgecolor="white",
                linewidth=0.4,
            )
            start = start + values
        axes.set_xlim(0, 1)
        axes.set_xlabel(label)
        axes.xaxis.set_major_formatter(PercentFormatter(xmax=1.0, symbol=""))
        axes.grid(axis="y", visible=False)
        if axis is not None:
            axes.set_title(f"{axis}: {end}")
    panels[0].set_yticks(range(len(bars)), bars)
    panels[0].set_ylim(len(bars) - 0.4, -0.6)
    return figure
