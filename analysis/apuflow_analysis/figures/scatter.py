"""The preview against gem5: one point per run, a panel per primitive, the band of 10 %."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from apuflow_analysis.figures import panels
from apuflow_analysis.figures.choice import FigureError
from apuflow_analysis.figures.output import save
from apuflow_analysis.figures.style import BLUE, GREY, Plot, head, legend, log_ticks, style

BAND = 0.10
TITLE = "GPU cycles by the preview over those of gem5"


def scatter(frame: pd.DataFrame) -> Plot:
    """Cycles of the preview over those of gem5.

    Args:
        frame: a row per run: ``primitive``, ``gpu_cycles`` (gem5's), ``predicted``.

    Raises:
        FigureError: there is no run.
    """
    rows = frame[["primitive", "gpu_cycles", "predicted"]].copy()
    rows["gpu_cycles"] = pd.to_numeric(rows["gpu_cycles"], errors="coerce")
    rows = rows[(rows["gpu_cycles"] > 0) & (rows["predicted"] > 0)].reset_index(drop=True)
    if rows.empty:
        raise FigureError("there is no run of gem5 to compare the preview with", remedy="run some first")
    rows["error"] = rows["predicted"] / rows["gpu_cycles"] - 1.0
    names = sorted(rows["primitive"].unique())
    low = float(rows[["gpu_cycles", "predicted"]].min().min()) / 1.5
    high = float(rows[["gpu_cycles", "predicted"]].max().max()) * 1.5
    span = np.array([low, high])
    with style():
        figure, drawn = panels.grid(len(names), height=1.7)
        for axes, name in zip(drawn, names, strict=True):
            part = rows[rows["primitive"] == name]
            axes.fill_between(span, span * (1 - BAND), span * (1 + BAND), color=GREY, alpha=0.25, linewidth=0)
            axes.plot(span, span, color=GREY, linewidth=0.7)
            axes.plot(part["gpu_cycles"], part["predicted"], **POINTS)
            inside = (part["error"].abs() <= BAND).mean()
            axes.set_title(name)
            axes.text(
                0.05, 0.95, f"{inside:.0%} of {len(part)}", transform=axes.transAxes, va="top", fontsize=7
            )
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_xlim(low, high)
            axes.set_ylim(low, high)
            log_ticks(axes.xaxis, low, high)
            log_ticks(axes.yaxis, low, high)
        panels.bottom(drawn, "gem5 [cycles]")
        panels.left(drawn, "preview [cycles]")
        handles = _handles()
        legend(figure, list(handles.values()), list(handles))
        notes = (f"in each panel: share of the runs within {BAND:.0%}",)
        head(figure, TITLE, notes)
    return Plot(figure, rows, TITLE, notes=notes)


POINTS: dict[str, Any] = {"marker": "o", "linestyle": "none", "color": BLUE, "markersize": 2.5, "alpha": 0.7}


def _handles() -> dict[str, Artist]:
    return {
        "a run": Line2D([], [], **POINTS),
        f"within {BAND:.0%}": Patch(color=GREY, alpha=0.25, linewidth=0),
    }


def write_scatter(frame: pd.DataFrame, stem: Path) -> Sequence[Path]:
    """Write it as SVG and PNG, and its numbers as CSV; ``stem`` has no extension."""
    plot = scatter(frame)
    return save(plot.figure, plot.data, stem)
