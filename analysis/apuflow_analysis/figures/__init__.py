"""Figures from result tables.

from apuflow_analysis import figures
from apuflow_analysis.tables import store
frame = figures.combine([store.read(path) for path in paths])
plot = figures.make("speedup", frame)
figures.save(plot.figure, plot.data, "results/cu_scaling/figures/speedup")
"""

from apuflow_analysis.figures.choice import Choice, FigureError, choose
from apuflow_analysis.figures.output import notice, render_png, render_svg, save
from apuflow_analysis.figures.registry import applicable, make, make_or_say, planned, refusal
from apuflow_analysis.figures.selection import combine
from apuflow_analysis.figures.specs import FIGURES, FigureSpec
from apuflow_analysis.figures.style import Plot, style

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
