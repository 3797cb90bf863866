"""Figures from result tables.

from apuflow_analysis import figures
from apuflow_analysis.tables import store
frame = figures.combine([store.read(path) for path in paths])
plot = figures.make("speedup", frame)
figures.save(plot.figure, plot.data, "results/cu_scaling/figures/speedup")
"""

from apuflow_analysis.figures.axis import Choice, FigureError, choose
from apuflow_analysis.figures.plot import Plot, notice, render_svg, save
from apuflow_analysis.figures.registry import FIGURES, applicable, make, make_or_say, planned
from apuflow_analysis.figures.selection import combine

__all__ = [
    "FIGURES",
    "Choice",
    "FigureError",
    "Plot",
    "applicable",
    "choose",
    "combine",
    "make",
    "make_or_say",
    "notice",
    "planned",
    "render_svg",
    "save",
]
