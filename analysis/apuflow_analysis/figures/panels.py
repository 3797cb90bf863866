"""Small multiples: one panel per program, one line per direction, engine and further axis value."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import Normal, Stroke
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from apuflow.core.products import stands_in
from apuflow_analysis.figures.axis import Axis
from apuflow_analysis.figures.products import engine_parts
from apuflow_analysis.figures.selection import COMBINATION, DIRECTIONS, MOST_LINES, Selection
from apuflow_analysis.figures.style import (
    BLUE,
    DASHES,
    DIRECTION_COLOURS,
    FULL_WIDTH,
    MARKERS,
    NAMED,
    SINGLE_WIDTH,
    new_figure,
    ordered_colours,
)
from apuflow_analysis.tables.columns import UNMEASURED

PANEL_HEIGHT = 1.45


@dataclass(frozen=True)
class Line:
    """One line of a panel: its rows in the order of the axis, its label and look."""

    label: str
    combination: str
    rows: pd.DataFrame
    colour: str
    dash: Any
    marker: str
    filled: bool

    def draw(self, axes: Axes, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> None:
        """Draw it over ``x``."""
        axes.plot(x, y, **self.look())

    def look(self) -> dict[str, Any]:
        """Its appearance as keyword arguments of matplotlib."""
        face = self.colour if self.filled else "white"
        return {
            "color": self.colour,
            "linestyle": self.dash,
            "marker": self.marker,
            "markerfacecolor": face,
            "markeredgecolor": self.colour,
        }

    def handle(self) -> Line2D:
        """What stands for it in a legend."""
        return Line2D([], [], **self.look())


CROSS: dict[str, Any] = {
    "marker": "x",
    "linestyle": "none",
    "color": "black",
    "markersize": 3.5,
    "markeredgewidth": 0.8,
    "path_effects": [Stroke(linewidth=2.2, foreground="white"), Normal()],
}
"""A cross with a white edge, which shows on every colour."""


def unmeasured(rows: pd.DataFrame) -> pd.Series[Any]:
    """Of each row: whether it is the preview's and lies outside what that was measured on."""
    if "flags" not in rows.columns:
        return pd.Series(False, index=rows.index)
    return rows["flags"].fillna("").astype(str).str.contains(f"{UNMEASURED}: ", regex=False)


def origin_notes(rows: pd.DataFrame) -> tuple[str, ...]:
    """Which workloads were not measured, or ran stand-ins for their own kernels; nothing where none did."""
    notes = []
    outside = rows[unmeasured(rows)]
    if len(outside):
        notes.append(f"outside of what the preview was measured on: {_workloads(outside)}")
    if "stand_in" in rows.columns:
        replaced = rows[[stands_in(text) for text in rows["stand_in"]]]
        if len(replaced):
            notes.append(f"with stand-ins for kernels (column stand_in): {_workloads(replaced)}")
    return tuple(notes)


def _workloads(rows: pd.DataFrame) -> str:
    return ", ".join(dict.fromkeys(rows["workload"]))


def cross_out(axes: Axes, data: pd.DataFrame, heights: pd.Series[Any]) -> None:
    """A cross on each point outside what the preview was measured on (column ``unmeasured``)."""
    outside = data["unmeasured"].to_numpy(dtype=bool)
    if outside.any():
        axes.plot(data["position"].to_numpy()[outside], heights.to_numpy()[outside], zorder=4, **CROSS)


def crosses(numbers: Sequence[pd.DataFrame]) -> dict[str, Line2D]:
    """The legend's entry for crosses, where there are some."""
    if any(data["unmeasured"].any() for data in numbers):
        return {"cross: the preview was not measured there": Line2D([], [], **CROSS)}
    return {}


def grid(
    count: int, *, share_x: bool = True, share_y: bool = True, height: float = PANEL_HEIGHT
) -> tuple[Figure, list[Axes]]:
    """A figure with ``count`` panels, three or four across; unused places stay empty."""
    if count == 1:
        figure = new_figure(SINGLE_WIDTH, 3.1)
        return figure, [figure.subplots()]
    across = 2 if count in (2, 4) else 3 if count <= 9 else 4
    down = math.ceil(count / across)
    tall = height * (1.35 if across == 2 else 1.0)
    figure = new_figure(FULL_WIDTH, 0.4 + tall * down)
    table = figure.subplots(down, across, sharex=share_x, sharey=share_y, squeeze=False)
    panels = list(table.flat)
    for extra in panels[count:]:
        extra.set_visible(False)
    return figure, panels[:count]


def bottom(panels: Sequence[Axes], label: str) -> None:
    """Write the x axis' label at the panels that have none below them.

    Above an empty place, label and ticks stand in it, so that the rows keep their distance.
    """
    for panel in panels:
        spec = panel.get_subplotspec()
        assert spec is not None
        if spec.num1 + spec.get_gridspec().ncols < len(panels):
            continue
        if spec.is_last_row():
            panel.set_xlabel(label)
            continue
        ticks = [tick.get_text() for tick in panel.get_xticklabels()]
        upright = any(tick.get_rotation() for tick in panel.get_xticklabels())
        if len(panel.get_shared_x_axes().get_siblings(panel)) > 1:
            low, high = panel.get_xlim()
            places = [float(place) for place in panel.get_xticks()]
            texts = zip(places, panel.xaxis.get_major_formatter().format_ticks(places), strict=True)
            for place, text in texts:
                if low <= place <= high:
                    _beneath(panel, text, (place, 0), "data", 5, 7)
        depth = 17 + (4.2 * max(map(len, ticks), default=0) if upright else 0)
        _beneath(panel, label, (0.5, 0), "axes fraction", depth, 8)


def _beneath(panel: Axes, text: str, at: tuple[float, float], across: str, depth: float, size: float) -> None:
    """Text below a panel that takes no part in the layout."""
    written = panel.annotate(
        text,
        at,
        xycoords=(across, "axes fraction"),
        xytext=(0, -depth),
        textcoords="offset points",
        ha="center",
        va="top",
        fontsize=size,
        annotation_clip=False,
    )
    written.set_in_layout(False)


def left(panels: Sequence[Axes], label: str) -> None:
    """Write the y axis' label at the first panel of each row."""
    for panel in panels:
        spec = panel.get_subplotspec()
        assert spec is not None
        if spec.is_first_col():
            panel.set_ylabel(label)


def scale_across(axes: Axes, x: Axis) -> None:
    """Ticks at the values that were run; logarithmic where sizes span a factor of 8 or more."""
    positions = [x.positions[value] for value in x.values]
    if x.numeric and min(positions) > 0 and max(positions) / min(positions) >= 8:
        axes.set_xscale("log", base=2)
    shown = _sparse(positions, logarithmic=axes.get_xscale() == "log")
    texts = {x.positions[value]: x.text(value) for value in x.values}
    axes.xaxis.set_major_locator(FixedLocator(shown))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda position, _: texts.get(position, f"{position:g}")))


def _sparse(positions: Sequence[float], *, logarithmic: bool) -> list[float]:
    """Of many tick positions, those that do not crowd each other."""
    places = [math.log2(p) if logarithmic else p for p in positions]
    span = (max(places) - min(places)) or 1.0
    kept: list[int] = [0]
    for index in range(1, len(places)):
        if (places[index] - places[kept[-1]]) / span >= 0.11:
            kept.append(index)
    return [positions[index] for index in kept]


def lines(selection: Selection, rows: pd.DataFrame) -> Iterator[Line]:
    """The lines of one panel's rows.

    Colour tells further axes apart where there are any, else the direction; dashes tell the direction then;
    an open marker is the second engine. Where all panels together have too many combinations for one legend,
    colours are those of the panel (see ``own_legend``).
    """
    own = set(rows[COMBINATION])
    combinations = [name for name in selection.combinations if name in own or not crowded(selection)]
    colours = (
        ordered_colours(len(combinations))
        if selection.ordered
        else [NAMED[index % len(NAMED)] for index in range(len(combinations))]
    )
    for place, combination in enumerate(combinations):
        of_line = rows[rows[COMBINATION] == combination]
        for direction, engine in itertools.product(selection.directions, selection.engines):
            chosen = of_line[(of_line["direction"] == direction) & (of_line["engine"] == engine)]
            if chosen.empty:
                continue
            engine_index = selection.engines.index(engine)
            if len(selection.combinations) > 1:
                colour, dash = colours[place], DASHES[selection.directions.index(direction)]
                marker = MARKERS[place % len(MARKERS)]
            else:
                colour = DIRECTION_COLOURS.get(direction, BLUE)
                dash = DASHES[engine_index % len(DASHES)]
                marker = MARKERS[selection.directions.index(direction)]
            text = _line_label(selection, combination, chosen)
            yield Line(text, combination, chosen, colour, dash, marker, engine_index == 0)


def crowded(selection: Selection) -> bool:
    """Whether the panels have too many different lines for one legend."""
    return len(selection.combinations) > MOST_LINES


def own_legend(axes: Axes, drawn: Sequence[Line]) -> None:
    """A legend inside a panel: its combinations by colour; none where there is but the one."""
    handles = {
        line.combination: Line2D([], [], color=line.colour, marker=line.marker)
        for line in drawn
        if line.combination
    }
    if not handles:
        return
    box = axes.legend(
        list(handles.values()), list(handles), fontsize=5, handlelength=1.6, labelspacing=0.2, loc="best"
    )
    box.set_frame_on(True)
    box.get_frame().set(facecolor="white", edgecolor="none", alpha=0.75)


def shared_legend(selection: Selection, drawn: Sequence[Line]) -> dict[str, Line2D]:
    """What the legend below all panels says: each line, or only directions and engines (see ``crowded``)."""
    if not crowded(selection):
        places = {combination: place for place, combination in enumerate(selection.combinations)}
        ordered = sorted(drawn, key=lambda line: places[line.combination])
        return {line.label: line.handle() for line in ordered}
    entries: dict[str, Line2D] = {}
    for line in drawn:
        look = {**line.look(), "color": "#444444", "marker": "none" if line.filled else "o"}
        text = _line_label(selection, "", line.rows)
        entries.setdefault(text, Line2D([], [], **look))
    return entries


def _line_label(selection: Selection, combination: str, rows: pd.DataFrame) -> str:
    """What a legend says of rows of one direction and engine."""
    first = rows.iloc[0]
    parts = [combination] if combination else []
    if len(selection.directions) > 1 or not parts:
        parts.append(DIRECTIONS[str(first["direction"])])
    return ", ".join([*parts, *engine_parts(str(first["engine"]), selection.engines, rows, selection.rows)])
