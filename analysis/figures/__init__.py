"""Figures from result tables.

from analysis import figures
from analysis.tables import store
frame = figures.combine([store.read(path) for path in paths])
plot = figures.make("speedup", frame)
figures.save(plot.figure, plot.data, "results/cu_scaling/figures/speedup")
"""

from analysis.figures.choice import Choice, FigureError, choose
from analysis.figures.output import notice, render_png, render_svg, save
from analysis.figures.registry import applicable, make, make_or_say, planned, refusal
from analysis.figures.selection import combine
from analysis.figures.specs import FIGURES, FigureSpec
from analysis.figures.style import Plot, style

__all__ = [
    "FIGURES",
    "Choice",
    "FigureError",
    "FigureSpec",
    "Plot",
    "applicable",
    "choose",
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
