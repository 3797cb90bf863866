"""Stacked bars of energy by part, with the interval over the files of coefficients."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.patches import Patch

from apuflow_analysis.energy.coefficients import PARTS, shipped
from apuflow_analysis.energy.formulas import LABEL, energy_columns
from apuflow_analysis.figures import plot
from apuflow_analysis.figures.axis import FigureError, Where
from apuflow_analysis.figures.selection import select
from apuflow_analysis.figures.shares import at_ends, few, numbers_of

NEEDED = energy_columns()
_COLOURS = (*plot.NAMED, plot.YELLOW)
_LABELS = {"lds": "LDS", "tcp": "TCP", "tcc": "TCC", "dram": "DRAM", "vector": "vector ALU"}


@plot.style()
def by_part(frame: pd.DataFrame, *, x: str | None = None, where: Where = None) -> plot.Plot:
    """Energy of each workload over its own at the first end of the axis, by part, with the interval.

    Raises:
        FigureError: no row has an energy.
    """
    named = [name for part in PARTS for name in energy_columns(part)]
    selection = select(frame, [*NEEDED, *named], x=x, where=where, most=few(frame))
    rows, ends = at_ends(selection)
    rows = rows[rows["energy"] > 0].copy()
    if rows.empty:
        raise FigureError("no row has an energy", key=NEEDED[0])
    order = list(dict.fromkeys(rows["_label"]))
    first = rows.drop_duplicates("_label").set_index("_label")["energy"]
    base = rows["_label"].map(first).to_numpy()
    bars = rows.set_index(["_end", "_label"])
    figure = plot.new_figure(plot.FULL_WIDTH, 0.85 + 0.19 * len(order))
    panels = figure.subplots(1, len(ends), sharey=True, sharex=True, squeeze=False)[0]
    for axes, end in zip(panels, ends, strict=True):
        own = bars.loc[end].reindex(order)
        unit = first.reindex(order).to_numpy()
        start = np.zeros(len(order))
        for part, colour in zip(PARTS, _COLOURS, strict=True):
            low, high = (own[name].to_numpy(dtype=float) / unit for name in energy_columns(part))
            width = np.nan_to_num((low + high) / 2)
            axes.barh(range(len(order)), width, left=start, height=0.66, color=colour, linewidth=0)
            start = start + width
        low, high = (own[name].to_numpy(dtype=float) / unit for name in NEEDED)
        axes.hlines(range(len(order)), low, high, color="#222222", linewidth=0.9)
        for ends_of in (low, high):
            axes.plot(ends_of, range(len(order)), linestyle="none", marker="|", color="#222222", markersize=5)
        axes.set_xlabel("Energy over the first panel's")
        axes.grid(axis="y", visible=False)
        if selection.x_label is not None:
            axes.set_title(f"{selection.x_label}: {end}")
    panels[0].set_xlim(left=0)
    panels[0].set_yticks(range(len(order)), order)
    panels[0].set_ylim(len(order) - 0.4, -0.6)
    colours = zip(PARTS, _COLOURS, strict=True)
    shown = [(part, colour) for part, colour in colours if rows[energy_columns(part)[1]].max() > 0]
    plot.legend(figure, [(_LABELS.get(part, part), Patch(color=colour)) for part, colour in shown])
    files = ", ".join(source.name for source in shipped())
    notes = (*selection.notes, LABEL, f"dynamic energy; bar: interval over {files}; parts at their middle")
    data = [_numbers(rows, part, base) for part in (*PARTS, None)]
    return plot.finish(figure, pd.concat(data, ignore_index=True), "Energy by part", notes)


def _numbers(rows: pd.DataFrame, part: str | None, base: np.ndarray) -> pd.DataFrame:
    """The ends of a part of each bar, relative and in joules; None: of the whole."""
    low, high = energy_columns(part)
    found = numbers_of(rows, low, "joules_low").assign(part=part or "all", joules_high=rows[high])
    for end in ("low", "high"):
        found[end] = found[f"joules_{end}"].to_numpy(dtype=float) / base
    return found
