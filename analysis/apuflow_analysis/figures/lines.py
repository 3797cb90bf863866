"""Figures over an axis: speedup, cycles, and one metric per program (DNNMark paper, figures 9 to 11)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from apuflow_analysis.figures import interval, panels, plot
from apuflow_analysis.figures.axis import COMPUTE_UNITS, Axis, FigureError, Where, in_sentence
from apuflow_analysis.figures.base import relative
from apuflow_analysis.figures.selection import DIRECTIONS, Selection, engine_parts, select
from apuflow_analysis.tables.cliffs import CYCLES, cliff_texts

TIME = "gpu_time"
_SATURATED = 0.9
"""A line has saturated where it first reaches this share of its largest speedup."""
_LEAST_GAIN = 1.05
"""Below this speedup a line has no saturation to mark."""
_APART = 1.5
"""Decades by which all panels together span more than the median panel before each has its own range."""
_FIRST = {"_base": TIME, "_base_low": "low", "_base_high": "high"}
_IDEAL: dict[str, Any] = {"color": plot.GREY, "linewidth": 0.9, "linestyle": (0, (1, 1.5))}
_RING: dict[str, Any] = {"marker": "o", "markerfacecolor": "none", "linestyle": "none"}


@dataclass(frozen=True)
class Quantity:
    """What goes up: the column, what to write at it, and how its axis runs.

    ``paper``: the figure of the DNNMark paper that shows it, where nothing varies. ``power``: of the cycles
    with which it goes, for its interval: 1 or -1; 0 where its interval is not known.
    """

    column: str
    label: str
    title: str
    percent: bool = False
    logarithmic: bool = False
    factor: float = 1.0
    paper: int | None = None
    power: int = 0


class _Drawn(NamedTuple):
    figure: Figure
    axes: list[Axes]
    numbers: pd.DataFrame
    entries: dict[str, Artist]


@plot.style()
def speedup(frame: pd.DataFrame, *, x: str | None = None, where: Where = None) -> plot.Plot:
    """Speedup of the GPU's active time over an axis, relative to the page's base (see ``figures.base``).

    The ideal line (proportional to the axis) is drawn over compute units only. A ring marks where a line
    first reaches 90 % of its largest speedup. A bar goes from the smallest to the largest speedup that the
    intervals of the point and of the base allow.

    Raises:
        FigureError: nothing varies, or there are no times.
    """
    frame, base = relative(frame, TIME, x, where)
    selection = select(frame, [TIME], x=x, where=where)
    across = selection.x
    if across is None:
        raise FigureError("a speedup needs something that varies", remedy="give the sweep an axis")
    start = across.positions[selection.baseline.get(across.column, across.values[0])]
    alone: list[str] = []

    def relate(data: pd.DataFrame) -> pd.DataFrame:
        if not _speedups(data):
            alone.append(f"{data['program'].iloc[0]} {data['line'].iloc[0]}")
        values = data["speedup"]
        data["ideal"] = data["position"] / start if across.column == COMPUTE_UNITS else np.nan
        reached = data.index[values >= _SATURATED * values.max()][0]
        data["saturation"] = (data.index == reached) & (values.max() > _LEAST_GAIN * values.iloc[0])
        return data

    drawn = _draw(selection, across, TIME, 1, relate=relate, shown="speedup")
    entries = drawn.entries
    if across.column == COMPUTE_UNITS:
        span = np.array([min(across.positions.values()), max(across.positions.values())])
        for axes in drawn.axes:
            axes.plot(span, span / start, zorder=1, **_IDEAL)
        entries["ideal"] = Line2D([], [], **_IDEAL)
    if drawn.numbers["saturation"].any():
        ring = Line2D([], [], markersize=8, markeredgecolor="#444444", **_RING)
        entries["saturation: 90 % of the line's maximum"] = ring
    _speedup_scale(drawn)
    panels.bottom(drawn.axes, across.label)
    panels.left(drawn.axes, "Speedup")
    plot.legend(drawn.figure, entries.items())
    told = f"GPU active time, relative to that at {base}"
    if alone:
        told += f"; there is none for {', '.join(alone)}: relative to its own first"
    notes = (*selection.notes, told, *_cliff_notes(selection))
    return plot.finish(drawn.figure, drawn.numbers, f"Speedup over {in_sentence(across.label)}", notes)


def _speedups(data: pd.DataFrame) -> bool:
    """Fill ``speedup`` and its ends; False where there is no base, so that the line's first point is it."""
    known = bool(data["_base"].notna().all())
    base, low, high = (data[name] if known else data[of].iloc[0] for name, of in _FIRST.items())
    data["speedup"] = base / data[TIME]
    data["low"], data["high"] = low / data["high"], high / data["low"]
    data.loc[data["speedup"] == 1, ["low", "high"]] = 1.0
    for name in _FIRST:
        del data[name]
    return known


def _cliff_notes(selection: Selection) -> tuple[str, ...]:
    """Steps along the axis across that are far steeper than their work, with their causes."""
    assert selection.x is not None
    found = cliff_texts(selection.rows, [selection.x.column, *selection.keys])
    return tuple(f"steep step: {text}" for text in found)


@plot.style()
def over(frame: pd.DataFrame, shown: Quantity, *, x: str | None = None, where: Where = None) -> plot.Plot:
    """One quantity per program over an axis; bars where nothing varies.

    Raises:
        FigureError: the table has no such numbers.
    """
    selection = select(frame, [shown.column], x=x, where=where)
    across = selection.x
    if across is None:
        return _program_bars(selection, shown)
    alike = not (shown.logarithmic and _decades_apart(selection, shown.column))
    drawn = _draw(selection, across, shown.column, shown.power, factor=shown.factor, share_y=alike)
    data = drawn.numbers
    for axes, program in zip(drawn.axes, selection.programs, strict=True):
        own = data if alike else data[data["program"] == program]
        _quantity_scale(axes, shown, interval.reach(own, shown.column) * shown.factor)
    panels.bottom(drawn.axes, across.label)
    panels.left(drawn.axes, shown.label)
    plot.legend(drawn.figure, drawn.entries.items())
    notes = selection.notes if alike else (*selection.notes, "each panel has its own range")
    notes += _cliff_notes(selection) if shown.column == CYCLES else ()
    return plot.finish(drawn.figure, data, f"{shown.title} over {in_sentence(across.label)}", notes)


def _draw(
    selection: Selection,
    across: Axis,
    value: str,
    power: int,
    *,
    relate: Callable[[pd.DataFrame], pd.DataFrame] = lambda numbers: numbers,
    shown: str | None = None,
    factor: float = 1.0,
    share_y: bool = True,
) -> _Drawn:
    """A panel per program with its lines, their intervals, crosses and rings.

    Args:
        value: the column of the rows.
        power: of the cycles with which the values go.
        relate: what makes the numbers of a line from its values.
        shown: the column drawn, of what ``relate`` returns; None: that of the values.
        factor: by which the shown numbers are multiplied.
        share_y: whether all panels have one range.
    """
    figure, axes_of_programs = panels.grid(len(selection.programs), share_y=share_y)
    seen: list[panels.Line] = []
    numbers: list[pd.DataFrame] = []
    for axes, program in zip(axes_of_programs, selection.programs, strict=True):
        axes.set_title(program)
        lines = list(panels.lines(selection, selection.rows[selection.rows["program"] == program]))
        for line in lines:
            data = relate(_of_line(across, line, program, value, power))
            heights = data[shown or value] * factor
            axes.plot(data["position"].to_numpy(), heights.to_numpy(), **line.look)
            interval.whiskers(axes, data, line.colour, factor)
            interval.cross_out(axes, data, heights)
            if "saturation" in data and data["saturation"].any():
                rings = data[data["saturation"]]
                look: dict[str, Any] = {"markeredgecolor": line.colour, "markeredgewidth": 0.9, **_RING}
                axes.plot(rings["position"], rings["speedup"], markersize=9, clip_on=False, **look)
            numbers.append(data)
        panels.scale_across(axes, across)
        if panels.crowded(selection):
            panels.own_legend(axes, lines)
        seen += lines
    every = pd.concat(numbers, ignore_index=True)
    entries = {**panels.shared_legend(selection, seen), **interval.legend_entries(every)}
    return _Drawn(figure, axes_of_programs, every, entries)


def _of_line(across: Axis, line: panels.Line, program: str, value: str, power: int) -> pd.DataFrame:
    """The numbers of one line, in the order of the axis."""
    rows, column = line.rows, across.column
    data = pd.DataFrame(
        {
            "program": program,
            "line": line.label,
            "engine": rows["engine"],
            "workload": rows["workload"],
            "point": rows.get("point", ""),
            column: rows[column],
            "position": [across.positions[entry] for entry in rows[column]],
            value: rows[value].astype(float),
            **{name: rows[name] for name in _FIRST if name in rows.columns},
            **interval.ends(rows, rows[value].astype(float), power),
            "unmeasured": interval.unmeasured(rows),
        }
    ).sort_values("position", kind="stable", ignore_index=True)
    twice = data.loc[data["position"].duplicated(), column]
    if len(twice):
        remedy = f"{line.label} of {program}: select one of them with where="
        message = "several rows for one place of a line"
        raise FigureError(message, key=column, value=twice.iloc[0], remedy=remedy)
    return data


def _program_bars(selection: Selection, shown: Quantity) -> plot.Plot:
    """One bar per workload, forward next to backward, for a table in which nothing varies."""
    rows, column = selection.rows, shown.column
    figure = plot.new_figure(plot.FULL_WIDTH if len(selection.programs) > 5 else plot.SINGLE_WIDTH, 2.6)
    axes = figure.subplots()
    pairs = [(direction, engine) for direction in selection.directions for engine in selection.engines]
    thickness = 0.8 / len(pairs)
    handles: dict[str, Artist] = {}
    numbers = []
    for index, (direction, engine) in enumerate(pairs):
        chosen = rows[(rows["direction"] == direction) & (rows["engine"] == engine)]
        if chosen.empty:
            continue
        offset = (index - (len(pairs) - 1) / 2) * thickness
        places = np.array([selection.programs.index(name) for name in chosen["program"]]) + offset
        first = engine == selection.engines[0]
        colour = plot.DIRECTION_COLOURS.get(direction, plot.BLUE)
        look: dict[str, Any] = {"facecolor": colour if first else "white", "edgecolor": colour}
        look |= {"hatch": "" if first else "////", "linewidth": 0.6}
        values = chosen[column].astype(float)
        axes.bar(places, values * shown.factor, width=thickness * 0.92, **look)
        outside = interval.unmeasured(chosen).to_numpy()
        spread = interval.ends(chosen, values, shown.power).assign(position=places, unmeasured=outside)
        interval.whiskers(axes, spread, "black", shown.factor)
        if outside.any():
            heights = values[outside] * shown.factor
            axes.plot(places[outside], heights, clip_on=False, zorder=4, **interval.CROSS)
        handles |= interval.legend_entries(spread)
        parts = engine_parts(engine, selection.engines, chosen, rows)
        handles[", ".join([DIRECTIONS[direction], *parts])] = Patch(**look)
        told = chosen[["program", "engine", "workload", "direction", "point", column]]
        numbers.append(told.assign(low=spread["low"], high=spread["high"], unmeasured=outside))
    axes.set_xticks(range(len(selection.programs)), selection.programs)
    axes.grid(axis="x", visible=False)
    axes.set_ylabel(shown.label)
    if shown.logarithmic:
        axes.set_yscale("log")
        plot.log_ticks(axes.yaxis, *axes.get_ylim())
    if shown.percent:
        axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0, decimals=0, symbol=" %"))
    plot.legend(figure, handles.items())
    title = shown.title + (f" (figure {shown.paper} of the DNNMark paper)" if shown.paper else "")
    notes = (*selection.notes, *interval.origin_notes(rows))
    return plot.finish(figure, pd.concat(numbers, ignore_index=True), title, notes)


def _speedup_scale(drawn: _Drawn) -> None:
    shown, ideal = interval.reach(drawn.numbers, "speedup"), drawn.numbers["ideal"]
    high = max(float(shown.max()), float(ideal.max()) if ideal.notna().any() else 1.0)
    for axes in drawn.axes:
        if axes.get_xscale() == "log" and high >= 4:
            axes.set_yscale("log", base=2)
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.yaxis.minorticks_off()
            axes.set_ylim(min(0.9, 0.9 * float(shown.min())), high * 1.15)
        else:
            axes.set_ylim(0, max(high * 1.08, 1.2))


def _decades_apart(selection: Selection, column: str) -> bool:
    """Whether one range for all panels would squeeze most lines."""
    values = selection.rows[selection.rows[column] > 0].groupby("program")[column]
    spans = (values.max() / values.min()).map(math.log10)
    whole = np.log10(values.max().max() / values.min().min())
    return bool(len(spans) > 1 and whole - spans.median() >= _APART)


def _quantity_scale(axes: Axes, shown: Quantity, values: pd.Series[Any]) -> None:
    positive = values[values > 0]
    if shown.logarithmic and len(positive):
        axes.set_yscale("log")
        low, high = float(positive.min()) / 1.6, float(positive.max()) * 1.6
        axes.set_ylim(low, high)
        plot.log_ticks(axes.yaxis, low, high)
    else:
        axes.set_ylim(0, (float(values.max()) * 1.12 if float(values.max()) > 0 else 1.0))
    if shown.percent:
        axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0, decimals=0, symbol=" %"))
