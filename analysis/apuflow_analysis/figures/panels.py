"""Small multiples: one panel per program, one line per direction, engine and further axis value."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from apuflow_analysis.figures import plot
from apuflow_analysis.figures.axis import Axis
from apuflow_analysis.figures.selection import COMBINATION, DIRECTIONS, MOST_LINES, Selection, engine_parts

_DASHES: tuple[Any, ...] = ("-", (0, (4, 1.6)), (0, (1, 1.2)), (0, (5, 1, 1, 1)))


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

    @property
    def look(self) -> dict[str, Any]:
        """Its appearance as keyword arguments of matplotlib."""
        return {
            "color": self.colour,
            "linestyle": self.dash,
            "marker": self.marker,
            "markerfacecolor": self.colour if self.filled else "white",
            "markeredgecolor": self.colour,
        }


def grid(
    count: int, *, share_x: bool = True, share_y: bool = True, height: float = 1.45
) -> tuple[Figure, list[Axes]]:
    """A figure with ``count`` panels, three or four across; unused places stay empty."""
    if count == 1:
        figure = plot.new_figure(plot.SINGLE_WIDTH, 3.1)
        return figure, [figure.subplots()]
    across = 2 if count in (2, 4) else 3 if count <= 9 else 4
    down = math.ceil(count / across)
    figure = plot.new_figure(plot.FULL_WIDTH, 0.4 + height * (1.35 if across == 2 else 1.0) * down)
    panels = list(figure.subplots(down, across, sharex=share_x, sharey=share_y, squeeze=False).flat)
    for extra in panels[count:]:
        extra.set_visible(False)
    return figure, panels[:count]


def columns_of(panel: Axes) -> int:
    """How many panels a row has."""
    spec = panel.get_subplotspec()
    assert spec is not None
    return int(spec.get_gridspec().ncols)


def bottom(panels: Sequence[Axes], label: str) -> None:
    """Write the x axis' label at the panels that have none below them.

    Above an empty place, label and ticks are in it, so that the rows keep their distance.
    """
    across = columns_of(panels[0])
    last = (len(panels) - 1) // across * across
    for panel in panels[-across:]:
        if panel in panels[last:]:
            panel.set_xlabel(label)
            continue
        ticks = [tick.get_text() for tick in panel.get_xticklabels()]
        upright = any(tick.get_rotation() for tick in panel.get_xticklabels())
        if len(panel.get_shared_x_axes().get_siblings(panel)) > 1:
            low, high = panel.get_xlim()
            places = [float(place) for place in panel.get_xticks()]
            texts = panel.xaxis.get_major_formatter().format_ticks(places)
            for place, text in zip(places, texts, strict=True):
                if low <= place <= high:
                    _beneath(panel, text, (place, 0), "data", 5, 7)
        depth = 17 + (4.2 * max(map(len, ticks), default=0) if upright else 0)
        _beneath(panel, label, (0.5, 0), "axes fraction", depth, 8)


def _beneath(panel: Axes, text: str, at: tuple[float, float], across: str, depth: float, size: float) -> None:
    """Text below a panel that takes no part in the layout."""
    look: dict[str, Any] = {"ha": "center", "va": "top", "fontsize": size, "annotation_clip": False}
    where: dict[str, Any] = {"xycoords": (across, "axes fraction"), "textcoords": "offset points"}
    panel.annotate(text, at, xytext=(0, -depth), **where, **look).set_in_layout(False)


def left(panels: Sequence[Axes], label: str) -> None:
    """Write the y axis' label at the first panel of each row."""
    for panel in panels[:: columns_of(panels[0])]:
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
    kept = [0]
    for index, place in enumerate(places):
        if (place - places[kept[-1]]) / span >= 0.11:
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
    count = len(combinations)
    named = [plot.NAMED[k % len(plot.NAMED)] for k in range(count)]
    colours = plot.ordered_colours(count) if selection.ordered else named
    for place, combination in enumerate(combinations):
        of_line = rows[rows[COMBINATION] == combination]
        for direction, engine in itertools.product(selection.directions, selection.engines):
            chosen = of_line[(of_line["direction"] == direction) & (of_line["engine"] == engine)]
            if chosen.empty:
                continue
            engine_index = selection.engines.index(engine)
            if len(selection.combinations) > 1:
                colour, dash = colours[place], _DASHES[selection.directions.index(direction)]
                marker = plot.MARKERS[place % len(plot.MARKERS)]
            else:
                colour = plot.DIRECTION_COLOURS.get(direction, plot.BLUE)
                dash = _DASHES[engine_index % len(_DASHES)]
                marker = plot.MARKERS[selection.directions.index(direction)]
            text = _line_label(selection, combination, chosen)
            yield Line(text, combination, chosen, colour, dash, marker, engine_index == 0)


def crowded(selection: Selection) -> bool:
    """Whether the panels have too many different lines for one legend."""
    return len(selection.combinations) > MOST_LINES


def own_legend(axes: Axes, drawn: Sequence[Line]) -> None:
    """A legend inside a panel: its combinations by colour; none where there is but the one."""
    found = {one.combination: one for one in drawn if one.combination}
    if found:
        handles = [Line2D([], [], color=one.colour, marker=one.marker) for one in found.values()]
        look: dict[str, Any] = {"fontsize": 5, "handlelength": 1.6, "labelspacing": 0.2, "loc": "best"}
        box = axes.legend(handles, list(found), **look)
        box.set_frame_on(True)
        box.get_frame().set(facecolor="white", edgecolor="none", alpha=0.75)


def shared_legend(selection: Selection, drawn: Sequence[Line]) -> dict[str, Line2D]:
    """What the legend below all panels says: each line, or only directions and engines (see ``crowded``)."""
    if not crowded(selection):
        ordered = sorted(drawn, key=lambda line: selection.combinations.index(line.combination))
        return {line.label: Line2D([], [], **line.look) for line in ordered}
    entries: dict[str, Line2D] = {}
    for line in drawn:
        look = {**line.look, "color": "#444444", "marker": "none" if line.filled else "o"}
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
