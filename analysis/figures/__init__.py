"""Figures from result tables.

from analysis import figures
from analysis.tables import tables
frame = figures.combine([tables.read(path) for path in paths])
plot = figures.make("speedup", frame)
figures.save(plot.figure, plot.data, "results/cu_scaling/figures/speedup")
"""

from analysis.figures.output import notice, render_png, render_svg, save
from analysis.figures.registry import FIGURES, FigureSpec, applicable, make, make_or_say, planned, refusal
from analysis.figures.selection import FigureError, combine
from analysis.figures.style import Plot, style

__all__ = [
    "FIGURES",
    "FigureError",
    "FigureSpec",
    "Plot",
    "applicable",
    "combine",
    "make",
    "make_or_say",
    "notice",
    "planned",
    "refusal",
    "render_png",
    "render_svg",
    "save",
    "style",
]
