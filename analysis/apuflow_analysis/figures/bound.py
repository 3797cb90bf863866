"""What limits each point: one cell per workload and value of the axis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from apuflow_analysis.figures.axis import in_sentence
from apuflow_analysis.figures.bars import few, labelled
from apuflow_analysis.figures.selection import select
from apuflow_analysis.figures.style import (
    BLUE,
    FULL_WIDTH,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    YELLOW,
    Plot,
    head,
    legend,
    new_figure,
    style,
)
from apuflow_analysis.tables.bounds import BOUNDS

COLUMN = "bound"
_COLOURS = {
    "salu": SKY,
    "valu": BLUE,
    "lds": PURPLE,
    "vmem": "#003F63",
    "tokens": ORANGE,
    "tlb": YELLOW,
    "line": "#8A6D00",
    "tcp_link": "#8FD3B6",
    "tcc_link": GREEN,
    "directory_link": "#00573F",
    "dram": VERMILLION,
    "latency": GREY,
}
_PLAIN = "#ffffff"
_DARK = {BLUE, "#003F63", "#00573F", "#8A6D00", VERMILLION, GREEN}


def bounds(frame: pd.DataFrame, *, x: str | None = None, where: Mapping[str, Any] | None = None) -> Plot:
    """What limits each point, as the engine says it; nothing where it does not know.

    Raises:
        FigureError: no engine of the table says what limits a point.
    """
    with style():
        selection = select(frame, [COLUMN], x=x, where=where, most=few(frame))
        rows = labelled(selection, selection.rows)
        bars = list(dict.fromkeys(rows["_label"]))
        values = selection.x.values if selection.x is not None else ("",)
        texts = [selection.x.text(value) for value in values] if selection.x is not None else [""]
        figure = new_figure(FULL_WIDTH, 0.75 + 0.19 * len(bars))
        axes = figure.subplots()
        column = selection.x.column if selection.x is not None else None
        for _, row in rows.iterrows():
            place = values.index(row[column]) if column is not None else 0
            _cell(axes, place, bars.index(row["_label"]), str(row[COLUMN]))
        axes.set_xlim(0, len(values))
        axes.set_ylim(len(bars), 0)
        axes.set_xticks([index + 0.5 for index in range(len(values))], texts)
        axes.set_yticks([index + 0.5 for index in range(len(bars))], bars)
        axes.tick_params(length=0)
        axes.grid(False)
        for side in axes.spines.values():
            side.set_visible(False)
        if selection.x is not None:
            axes.set_xlabel(selection.x.label)
        found = [
            name for name in (*BOUNDS, *sorted(set(rows[COLUMN]) - set(BOUNDS))) if name in set(rows[COLUMN])
        ]
        handles = [
            Patch(facecolor=_COLOURS.get(name, _PLAIN), edgecolor="#444444", linewidth=0.4) for name in found
        ]
        legend(figure, handles, [BOUNDS[name].meaning if name in BOUNDS else name for name in found])
        title = "What limits each point" + (
            f" over {in_sentence(selection.x.label)}" if selection.x is not None else ""
        )
        head(figure, title, selection.notes)
        kept = ["engine", "workload", "direction", "point", "_label", *([column] if column else []), COLUMN]
        data = rows[kept].rename(columns={"_label": "label"})
        return Plot(figure, data.reset_index(drop=True), title, notes=selection.notes)


def _cell(axes: Axes, x: int, y: int, name: str) -> None:
    colour = _COLOURS.get(name, _PLAIN)
    axes.add_patch(Rectangle((x, y), 1, 1, facecolor=colour, edgecolor="white", linewidth=0.8))
    axes.text(
        x + 0.5,
        y + 0.5,
        BOUNDS[name].label if name in BOUNDS else name,
        ha="center",
        va="center",
        fontsize=6,
        color="white" if colour in _DARK else "black",
    )
