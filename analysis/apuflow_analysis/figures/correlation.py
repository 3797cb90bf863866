"""Modelled times over measured ones of a real GPU: a point a measurement."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.patches import Patch

from apuflow_analysis.figures import plot

TITLE = "Modelled and measured times"
PANELS = {
    "modelled_us": "kernels alone",
    "modelled_with_overhead_us": "with the launch overhead",
}
"""Columns of a panel each, and their headings."""


@plot.style()
def correlation(frame: pd.DataFrame, notes: Sequence[str] = ()) -> plot.Plot:
    """Modelled over measured times, with the line of equality and a band of a factor of two.

    Args:
        frame: a row a measurement: ``measured_us`` and the columns of ``PANELS``, ``kernel``.
    """
    names = sorted(frame["kernel"].unique())
    figure = plot.new_figure(plot.FULL_WIDTH, 3.4)
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    values = frame[["measured_us", *PANELS]]
    low, high = float(values.min().min()) / 2, float(values.max().max()) * 2
    span = np.array([low, high])
    entries: list[tuple[str, Artist]] = []
    for axes, (column, heading) in zip(panels, PANELS.items(), strict=True):
        axes.fill_between(span, span / 2, span * 2, color=plot.GREY, alpha=0.2, linewidth=0)
        [line] = axes.plot(span, span, color=plot.GREY, linewidth=0.8, zorder=1)
        drawn = []
        for number, name in enumerate(names):
            part, look = frame[frame["kernel"] == name], plot.many_look(number)
            look["linestyle"] = "none"
            drawn += axes.plot(part["measured_us"], part[column], markersize=3, **look)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(low, high)
        axes.set_ylim(low, high)
        plot.log_ticks(axes.xaxis, low, high)
        plot.log_ticks(axes.yaxis, low, high)
        axes.set_title(heading)
        axes.set_xlabel("measured, µs")
        band = Patch(color=plot.GREY, alpha=0.2)
        entries = [*zip(names, drawn, strict=True), ("equal", line), ("within a factor of two", band)]
    panels[0].set_ylabel("modelled, µs")
    plot.legend(figure, entries)
    return plot.finish(figure, frame, TITLE, notes)


def write_correlation(frame: pd.DataFrame, notes: Sequence[str], stem: Path) -> Sequence[Path]:
    """Write ``correlation`` as SVG and PNG, and its numbers as CSV; ``stem`` has no extension."""
    drawn = correlation(frame, notes)
    return plot.save(drawn.figure, drawn.data, stem)
