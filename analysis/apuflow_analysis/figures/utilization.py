"""Utilization by unit (DNNMark paper, figure 12): how busy everything is that can limit a point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from apuflow_analysis.figures.bars import at_ends, few, labelled, numbers_of
from apuflow_analysis.figures.choice import FigureError
from apuflow_analysis.figures.panels import origin_notes
from apuflow_analysis.figures.selection import Selection, select
from apuflow_analysis.figures.style import (
    BLUE,
    FULL_WIDTH,
    SKY,
    VERMILLION,
    Plot,
    head,
    legend,
    new_figure,
    style,
)
from apuflow_analysis.tables.bounds import BOUNDS

UNITS: tuple[tuple[str, str], ...] = (
    ("valu", "VALU"),
    ("salu", "SALU"),
    ("vmem", "Memory\nissue"),
    ("lds", "LDS"),
    ("tokens", "Tokens"),
    ("tlb", "TLB\nwalks"),
    ("", "TCP\n(L1)"),
    ("tcc_link", "TCC\nlink"),
    ("tcp_link", "TCC to\nTCP"),
    ("directory_link", "Memory\nlink"),
    ("dram", "DRAM"),
)
"""Panels: the limit that each unit can be (of ``apuflow_analysis.tables.bounds``), and its name."""

_TCP = ("l1_utilization",)

BOUND = "bound"
_LIMIT: dict[str, Any] = {
    "marker": "D",
    "linestyle": "none",
    "color": VERMILLION,
    "markeredgecolor": "white",
    "markeredgewidth": 0.5,
    "markersize": 4,
    "clip_on": False,
}
_BAR = 0.34

METRICS = tuple(dict.fromkeys(name for entry in BOUNDS.values() for name in entry.metrics)) + _TCP


def utilization(frame: pd.DataFrame, *, x: str | None = None, where: Mapping[str, Any] | None = None) -> Plot:
    """Utilization of each unit per workload: one panel per unit, bars at both ends of the axis.

    A diamond stands at the unit that limits a point. Units of which the table has no number are left out and
    named.

    Raises:
        FigureError: there is no utilization at all.
    """
    with style():
        named = _reported(frame)
        if not named:
            raise FigureError("the table has no utilization of any unit", key=METRICS[0])
        selection = select(frame, [], x=x, where=where, most=few(frame))
        rows, ends = at_ends(selection)
        rows = labelled(selection, rows)
        rows = rows.assign(**{text: rows[metrics].bfill(axis=1).iloc[:, 0] for metrics, text, _ in named})
        order = list(dict.fromkeys(rows["_label"]))
        height = 0.95 + 0.15 * len(order) * max(1.0, 0.75 * len(ends))
        figure = new_figure(FULL_WIDTH, height)
        layout = figure.get_layout_engine()
        if isinstance(layout, ConstrainedLayoutEngine):
            layout.set(w_pad=0.012)
        table = figure.subplots(1, len(named), sharey=True, squeeze=False)[0]
        numbers = []
        any_limit = False
        for axes, (metrics, column, bound) in zip(table, named, strict=True):
            axes.set_title(column, fontsize=6)
            for index, (end, colour) in enumerate(zip(ends, (BLUE, SKY), strict=False)):
                chosen = rows["_end"] == end
                places = np.array([order.index(label) for label in rows.loc[chosen, "_label"]])
                values = rows.loc[chosen, column].to_numpy(dtype=float)
                offset = (index - (len(ends) - 1) / 2) * _BAR
                thickness = _BAR if len(ends) > 1 else 2 * _BAR
                axes.barh(places + offset, np.nan_to_num(values), height=thickness, color=colour)
                for place in (places + offset)[np.isnan(values)]:
                    axes.text(0.02, place, "n/a", fontsize=5, color="#777777", va="center")
            if BOUND in rows.columns:
                limited = rows[(rows[BOUND] == bound) & rows[column].notna()]
                offsets = {end: (index - (len(ends) - 1) / 2) * _BAR for index, end in enumerate(ends)}
                marked = [order.index(row["_label"]) + offsets[row["_end"]] for _, row in limited.iterrows()]
                if marked:  # an empty line that is not clipped counts as one at (0, 0) of the layout
                    axes.plot(limited[column].clip(upper=1.0), marked, **_LIMIT)
                    any_limit = True
            numbers.append(numbers_of(rows, column, "value").assign(unit=metrics[0]))
            axes.set_xlim(0, 1.0)
            axes.set_xticks([0, 0.5, 1.0], ["", "50 %", ""])
            axes.grid(axis="y", visible=False)
        table[0].set_yticks(range(len(order)), order)
        table[0].set_ylim(len(order) - 0.4, -0.6)
        _end_legend(figure, selection, ends, limits=any_limit)
        absent = [_flat(text) for _, text in UNITS if text not in {shown for _, shown, _ in named}]
        over = [_flat(text) for _, text, _ in named if float(rows[text].max()) > 1 + 1e-9]
        notes = (
            *selection.notes,
            *origin_notes(selection.rows),
            *([f"not reported by the engine: {', '.join(absent)}"] if absent else []),
            *([f"cut at 100 %, see the table's flags: {', '.join(over)}"] if over else []),
        )
        title = "Utilization by unit"
        title += " (figure 12 of the DNNMark paper)" if selection.x is None else ""
        head(figure, title, notes)
        return Plot(figure, pd.concat(numbers, ignore_index=True), title, notes=notes)


def _reported(frame: pd.DataFrame) -> list[tuple[list[str], str, str]]:
    """Per unit those of its metrics that some row has, its name, and the limit that it can be."""
    return [
        (present, text, bound)
        for bound, text in UNITS
        if (
            present := [
                name for name in _metrics(bound) if name in frame.columns and frame[name].notna().any()
            ]
        )
    ]


def _metrics(bound: str) -> tuple[str, ...]:
    return BOUNDS[bound].metrics if bound in BOUNDS else _TCP


def _flat(text: str) -> str:
    return text.replace("\n", " ")


def _end_legend(figure: Any, selection: Selection, ends: Sequence[str], *, limits: bool) -> None:
    entries: dict[str, Artist] = {}
    if selection.x is not None and len(ends) > 1:
        entries = {
            f"{selection.x.label}: {end}": Patch(color=colour)
            for end, colour in zip(ends, (BLUE, SKY), strict=True)
        }
    if limits:
        entries["what limits the point, on its busiest compute unit"] = Line2D([], [], **_LIMIT)
    legend(figure, list(entries.values()), list(entries))
