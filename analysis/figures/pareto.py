"""Two objectives of a search against each other: every point, and those that none beats."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from analysis.figures.output import save
from analysis.figures.style import GREY, SINGLE_WIDTH, VERMILLION, Plot, head, legend, new_figure, style

TITLE = "Points that none beats"


def pareto_figure(rows: pd.DataFrame, objectives: Sequence[str]) -> Plot:
    """The first objective over the second; ``best`` marks the points that none beats."""
    across, up = objectives
    with style():
        figure = new_figure(SINGLE_WIDTH, 3.1)
        axes = figure.subplots()
        others, best = rows[~rows["best"]], rows[rows["best"]].sort_values(across)
        (cloud,) = axes.plot(
            others[across], others[up], marker="o", linestyle="none", color=GREY, markersize=2.5
        )
        (front,) = axes.plot(best[across], best[up], marker="o", color=VERMILLION, markersize=4)
        for scale, limits in ((axes.set_xscale, rows[across]), (axes.set_yscale, rows[up])):
            if limits.min() > 0 and limits.max() / limits.min() >= 20:
                scale("log")
        axes.set_xlabel(across)
        axes.set_ylabel(up)
        legend(figure, [cloud, front], ["a point", "none is better in both"])
        notes = (f"{len(rows)} points by the preview (timing model, not gem5), {len(best)} of them best",)
        head(figure, TITLE, notes)
        return Plot(figure, rows, TITLE, notes=notes)


def write_pareto(rows: pd.DataFrame, objectives: Sequence[str], file: Path) -> Sequence[Path]:
    """Write it as SVG and PNG, and its numbers as CSV, under the file's name."""
    plot = pareto_figure(rows, objectives)
    return save(plot.figure, plot.data, file.with_suffix(""))
