"""What limits each point, and how busy each unit is (DNNMark paper, figure 12)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from apuflow_analysis.figures import plot
from apuflow_analysis.figures.axis import FigureError, Where, in_sentence
from apuflow_analysis.figures.interval import origin_notes
from apuflow_analysis.figures.selection import select
from apuflow_analysis.figures.shares import at_ends, few, labelled, numbers_of
from apuflow_analysis.tables.columns import BOUNDS

BOUND = "bound"
_COLOURS = {
    "salu": plot.SKY,
    "valu": plot.BLUE,
    "lds": plot.PURPLE,
    "vmem": "#003F63",
    "tokens": plot.ORANGE,
    "tlb": plot.YELLOW,
    "line": "#8A6D00",
    "tcp_link": "#8FD3B6",
    "tcc_link": plot.GREEN,
    "directory_link": "#00573F",
    "dram": plot.VERMILLION,
    "latency": plot.GREY,
}
_PLAIN = "#ffffff"
_DARK = {plot.BLUE, "#003F63", "#00573F", "#8A6D00", plot.VERMILLION, plot.GREEN}

_UNITS: tuple[tuple[str, str], ...] = (
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
"""Panels: the limit that each unit can be (of ``tables.columns.BOUNDS``), and its name."""
_TCP = ("l1_utilization",)
METRICS = tuple(dict.fromkeys(name for entry in BOUNDS.values() for name in entry.metrics)) + _TCP
_LIMIT: dict[str, Any] = {
    "marker": "D",
    "linestyle": "none",
    "color": plot.VERMILLION,
    "markeredgecolor": "white",
    "markeredgewidth": 0.5,
    "markersize": 4,
    "clip_on": False,
}
_BAR = 0.34


@plot.style()
def bounds(frame: pd.DataFrame, *, x: str | None = None, where: Where = None) -> plot.Plot:
    """What limits each point, as the engine says it: one cell per workload and value of the axis.

    Raises:
        FigureError: no engine of the table says what limits a point.
    """
    selection = select(frame, [BOUND], x=x, where=where, most=few(frame))
    rows, across = labelled(selection), selection.x
    bars = list(dict.fromkeys(rows["_label"]))
    values = across.values if across is not None else ("",)
    column = [across.column] if across is not None else []
    figure = plot.new_figure(plot.FULL_WIDTH, 0.75 + 0.19 * len(bars))
    axes = figure.subplots()
    for _, row in rows.iterrows():
        place = values.index(row[across.column]) if across is not None else 0
        y, name = bars.index(row["_label"]), str(row[BOUND])
        colour = _COLOURS.get(name, _PLAIN)
        axes.add_patch(Rectangle((place, y), 1, 1, facecolor=colour, edgecolor="white", linewidth=0.8))
        text = BOUNDS[name].label if name in BOUNDS else name
        ink = "white" if colour in _DARK else "black"
        axes.text(place + 0.5, y + 0.5, text, ha="center", va="center", fontsize=6, color=ink)
    axes.set_xlim(0, len(values))
    axes.set_ylim(len(bars), 0)
    texts = [across.text(value) for value in values] if across is not None else [""]
    axes.set_xticks([index + 0.5 for index in range(len(values))], texts)
    axes.set_yticks([index + 0.5 for index in range(len(bars))], bars)
    axes.tick_params(length=0)
    axes.grid(False)
    for side in axes.spines.values():
        side.set_visible(False)
    title = "What limits each point"
    if across is not None:
        axes.set_xlabel(across.label)
        title += f" over {in_sentence(across.label)}"
    present = set(rows[BOUND])
    entries = []
    for name in [*(name for name in BOUNDS if name in present), *sorted(present - set(BOUNDS))]:
        patch = Patch(facecolor=_COLOURS.get(name, _PLAIN), edgecolor="#444444", linewidth=0.4)
        entries.append((BOUNDS[name].meaning if name in BOUNDS else name, patch))
    plot.legend(figure, entries)
    kept = ["engine", "workload", "direction", "point", "_label", *column, BOUND]
    data = rows[kept].rename(columns={"_label": "label"})
    return plot.finish(figure, data.reset_index(drop=True), title, selection.notes)


@plot.style()
def utilization(frame: pd.DataFrame, *, x: str | None = None, where: Where = None) -> plot.Plot:
    """Utilization of each unit per workload: one panel per unit, bars at both ends of the axis.

    A diamond marks the unit that limits a point. Units of which the table has no number are left out and
    named.

    Raises:
        FigureError: there is no utilization at all.
    """
    named = _reported(frame)
    if not named:
        raise FigureError("the table has no utilization of any unit", key=METRICS[0])
    selection = select(frame, [], x=x, where=where, most=few(frame))
    rows, ends = at_ends(selection)
    rows = rows.assign(**{text: rows[metrics].bfill(axis=1).iloc[:, 0] for metrics, text, _ in named})
    order = list(dict.fromkeys(rows["_label"]))
    offsets = {end: (index - (len(ends) - 1) / 2) * _BAR for index, end in enumerate(ends)}
    heights = np.array([order.index(row["_label"]) + offsets[row["_end"]] for _, row in rows.iterrows()])
    figure = plot.new_figure(plot.FULL_WIDTH, 0.95 + 0.15 * len(order) * max(1.0, 0.75 * len(ends)))
    layout = figure.get_layout_engine()
    if isinstance(layout, ConstrainedLayoutEngine):
        layout.set(w_pad=0.012)
    panels = figure.subplots(1, len(named), sharey=True, squeeze=False)[0]
    numbers = []
    entries: dict[str, Artist] = {}
    if selection.x is not None and len(ends) > 1:
        pairs = zip(ends, (plot.BLUE, plot.SKY), strict=True)
        entries = {f"{selection.x.label}: {end}": Patch(color=colour) for end, colour in pairs}
    for axes, (metrics, column, bound) in zip(panels, named, strict=True):
        axes.set_title(column, fontsize=6)
        for end, colour in zip(ends, (plot.BLUE, plot.SKY), strict=False):
            chosen = (rows["_end"] == end).to_numpy()
            values = rows.loc[chosen, column].to_numpy(dtype=float)
            thickness = _BAR if len(ends) > 1 else 2 * _BAR
            axes.barh(heights[chosen], np.nan_to_num(values), height=thickness, color=colour)
            for place in heights[chosen][np.isnan(values)]:
                axes.text(0.02, place, "n/a", fontsize=5, color="#777777", va="center")
        limited = rows[column].notna() & (rows[BOUND] == bound if BOUND in rows.columns else False)
        if limited.any():  # an empty line that is not clipped counts as one at (0, 0) of the layout
            axes.plot(rows.loc[limited, column].clip(upper=1.0), heights[limited.to_numpy()], **_LIMIT)
            entries["what limits the point, on its busiest compute unit"] = Line2D([], [], **_LIMIT)
        numbers.append(numbers_of(rows, column, "value").assign(unit=metrics[0]))
        axes.set_xlim(0, 1.0)
        axes.set_xticks([0, 0.5, 1.0], ["", "50 %", ""])
        axes.grid(axis="y", visible=False)
    panels[0].set_yticks(range(len(order)), order)
    panels[0].set_ylim(len(order) - 0.4, -0.6)
    plot.legend(figure, entries.items())
    shown = [text for _, text, _ in named]
    absent = [text.replace("\n", " ") for _, text in _UNITS if text not in shown]
    over = [text.replace("\n", " ") for text in shown if float(rows[text].max()) > 1 + 1e-9]
    notes = (
        *selection.notes,
        *origin_notes(selection.rows),
        *([f"not reported by the engine: {', '.join(absent)}"] if absent else []),
        *([f"cut at 100 %, see the table's flags: {', '.join(over)}"] if over else []),
    )
    title = "Utilization by unit" + (" (figure 12 of the DNNMark paper)" if selection.x is None else "")
    return plot.finish(figure, pd.concat(numbers, ignore_index=True), title, notes)


def _reported(frame: pd.DataFrame) -> list[tuple[list[str], str, str]]:
    """Per unit those of its metrics that some row has, its name, and the limit that it can be."""
    reported = []
    for bound, text in _UNITS:
        metrics = BOUNDS[bound].metrics if bound in BOUNDS else _TCP
        if present := [name for name in metrics if name in frame.columns and frame[name].notna().any()]:
            reported.append((present, text, bound))
    return reported
