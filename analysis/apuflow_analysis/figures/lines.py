"""Figures over an axis: speedup, cycles, and one metric per program (DNNMark paper, figures 9 to 11)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from apuflow_analysis.figures import interval, panels
from apuflow_analysis.figures.axis import COMPUTE_UNITS, in_sentence
from apuflow_analysis.figures.bars import program_bars
from apuflow_analysis.figures.base import relative
from apuflow_analysis.figures.choice import FigureError
from apuflow_analysis.figures.selection import Selection, select
from apuflow_analysis.figures.style import GREY, Plot, head, legend, log_ticks, style
from apuflow_analysis.tables.cliffs import CYCLES, cliff_texts

SATURATED = 0.9
"""A line has saturated where it first reaches this share of its largest speedup."""

APART = 1.5
"""Decades by which all panels together span more than the median panel before each has its own range."""

LEAST_GAIN = 1.05
"""Below this speedup a line has no saturation to mark."""

TIME = "gpu_time"
_FIRST = {"_base": TIME, "_base_low": "low", "_base_high": "high"}


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


def speedup(frame: pd.DataFrame, *, x: str | None = None, where: Mapping[str, Any] | None = None) -> Plot:
    """Speedup of the GPU's active time over an axis, relative to the page's base (see ``figures.base``).

    The ideal line (proportional to the axis) is drawn over compute units only. A ring marks where a line
    first reaches 90 % of its largest speedup. A bar goes from the smallest to the largest speedup that the
    intervals of the point and of the base allow.

    Args:
        frame: a result table or several combined; needs ``gpu_time``.
        x: column across; by default as the sweep says, else the axis with the greatest effect.
        where: rows to keep, column to a value or several.

    Raises:
        FigureError: nothing varies, or there are no times.
    """
    with style():
        frame, base = relative(frame, TIME, x, where)
        selection = select(frame, [TIME], x=x, where=where)
        if selection.x is None:
            raise FigureError("a speedup needs something that varies", remedy="give the sweep an axis")
        across = selection.x
        figure, drawn = panels.grid(len(selection.programs))
        seen: list[panels.Line] = []
        numbers: list[pd.DataFrame] = []
        saturating = ideal = False
        alone: list[str] = []
        start = across.positions[selection.baseline.get(across.column, across.values[0])]
        for axes, program in zip(drawn, selection.programs, strict=True):
            rows = selection.rows[selection.rows["program"] == program]
            axes.set_title(program)
            before = len(seen)
            for line in panels.lines(selection, rows):
                data = _over(across.column, across.positions, line, program)
                if not _speedups(data):
                    alone.append(f"{program} {line.label}")
                data["ideal"] = data["position"] / start if across.column == COMPUTE_UNITS else np.nan
                reached = data.index[data["speedup"] >= SATURATED * data["speedup"].max()][0]
                gains = float(data["speedup"].max()) > LEAST_GAIN * float(data["speedup"].iloc[0])
                data["saturation"] = (data.index == reached) & gains
                line.draw(axes, data["position"].to_numpy(), data["speedup"].to_numpy())
                interval.whiskers(axes, data, line.colour)
                panels.cross_out(axes, data, data["speedup"])
                if gains:
                    saturating = True
                    axes.plot(
                        data.loc[reached, "position"],
                        data.loc[reached, "speedup"],
                        marker="o",
                        markersize=9,
                        markerfacecolor="none",
                        markeredgecolor=line.colour,
                        markeredgewidth=0.9,
                        linestyle="none",
                        clip_on=False,
                    )
                seen.append(line)
                numbers.append(data)
            if across.column == COMPUTE_UNITS:
                ideal = True
                span = np.array([min(across.positions.values()), max(across.positions.values())])
                axes.plot(span, span / start, color=GREY, linewidth=0.9, linestyle=(0, (1, 1.5)), zorder=1)
            panels.scale_across(axes, across)
            if panels.crowded(selection):
                panels.own_legend(axes, seen[before:])
        every = pd.concat(numbers, ignore_index=True)
        _speedup_scale(drawn, every)
        panels.bottom(drawn, across.label)
        panels.left(drawn, "Speedup")
        handles = {**panels.shared_legend(selection, seen), **panels.crosses(numbers)}
        handles |= interval.legend_entry(every)
        if ideal:
            handles["ideal"] = Line2D([], [], color=GREY, linewidth=0.9, linestyle=(0, (1, 1.5)))
        if saturating:
            handles["saturation: 90 % of the line's maximum"] = Line2D(
                [],
                [],
                marker="o",
                markersize=8,
                markerfacecolor="none",
                markeredgecolor="#444444",
                linestyle="none",
            )
        legend(figure, list(handles.values()), list(handles))
        title = f"Speedup over {in_sentence(across.label)}"
        told = f"GPU active time, relative to that at {base}"
        if alone:
            told += f"; there is none for {', '.join(alone)}: relative to its own first"
        notes = (*selection.notes, told, *_cliff_notes(selection))
        head(figure, title, notes)
        return Plot(figure, every, title, notes=notes)


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


def over(
    frame: pd.DataFrame, shown: Quantity, *, x: str | None = None, where: Mapping[str, Any] | None = None
) -> Plot:
    """One quantity per program over an axis; bars where nothing varies.

    Raises:
        FigureError: the table has no such numbers.
    """
    with style():
        selection = select(frame, [shown.column], x=x, where=where)
        if selection.x is None:
            return program_bars(
                selection,
                shown.column,
                shown.label,
                shown.title + (f" (figure {shown.paper} of the DNNMark paper)" if shown.paper else ""),
                percent=shown.percent,
                logarithmic=shown.logarithmic,
                factor=shown.factor,
                power=shown.power,
            )
        across = selection.x
        alike = not (shown.logarithmic and _decades_apart(selection, shown.column))
        figure, drawn = panels.grid(len(selection.programs), share_y=alike)
        seen: list[panels.Line] = []
        numbers: list[pd.DataFrame] = []
        for axes, program in zip(drawn, selection.programs, strict=True):
            rows = selection.rows[selection.rows["program"] == program]
            axes.set_title(program)
            before = len(seen)
            for line in panels.lines(selection, rows):
                data = _over(across.column, across.positions, line, program, shown.column, shown.power)
                line.draw(axes, data["position"].to_numpy(), data[shown.column].to_numpy() * shown.factor)
                interval.whiskers(axes, data, line.colour, shown.factor)
                panels.cross_out(axes, data, data[shown.column] * shown.factor)
                seen.append(line)
                numbers.append(data)
            panels.scale_across(axes, across)
            if panels.crowded(selection):
                panels.own_legend(axes, seen[before:])
        data = pd.concat(numbers, ignore_index=True)
        for axes, program in zip(drawn, selection.programs, strict=True):
            own = data if alike else data[data["program"] == program]
            _quantity_scale(axes, shown, interval.reach(own, shown.column) * shown.factor)
        panels.bottom(drawn, across.label)
        panels.left(drawn, shown.label)
        handles = {**panels.shared_legend(selection, seen), **panels.crosses(numbers)}
        handles |= interval.legend_entry(data)
        legend(figure, list(handles.values()), list(handles))
        title = f"{shown.title} over {in_sentence(across.label)}"
        notes = selection.notes if alike else (*selection.notes, "each panel has its own range")
        notes += _cliff_notes(selection) if shown.column == CYCLES else ()
        head(figure, title, notes)
        return Plot(figure, data, title, notes=notes)


def _over(
    column: str,
    positions: Mapping[Any, float],
    line: panels.Line,
    program: str,
    value: str = TIME,
    power: int = 1,
) -> pd.DataFrame:
    """The numbers of one line, in the order of the axis."""
    data = pd.DataFrame(
        {
            "program": program,
            "line": line.label,
            "engine": line.rows["engine"],
            "workload": line.rows["workload"],
            "point": line.rows.get("point", ""),
            column: line.rows[column],
            "position": [positions[entry] for entry in line.rows[column]],
            value: line.rows[value].astype(float),
            **{name: line.rows[name] for name in _FIRST if name in line.rows.columns},
            **interval.ends(line.rows, line.rows[value].astype(float), power),
            "unmeasured": panels.unmeasured(line.rows),
        }
    ).sort_values("position", kind="stable", ignore_index=True)
    if data["position"].duplicated().any():
        twice = data.loc[data["position"].duplicated(), column].iloc[0]
        raise FigureError(
            "several rows for one place of a line",
            key=column,
            value=twice,
            remedy=f"{line.label} of {program}: select one of them with where=",
        )
    return data


def _speedup_scale(drawn: list[Axes], data: pd.DataFrame) -> None:
    shown = interval.reach(data, "speedup")
    high = max(float(shown.max()), float(data["ideal"].max()) if data["ideal"].notna().any() else 1.0)
    for axes in drawn:
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
    return bool(len(spans) > 1 and whole - spans.median() >= APART)


def _quantity_scale(axes: Axes, shown: Quantity, values: pd.Series[Any]) -> None:
    positive = values[values > 0]
    if shown.logarithmic and len(positive):
        axes.set_yscale("log")
        low, high = float(positive.min()) / 1.6, float(positive.max()) * 1.6
        axes.set_ylim(low, high)
        log_ticks(axes.yaxis, low, high)
    else:
        axes.set_ylim(0, (float(values.max()) * 1.12 if float(values.max()) > 0 else 1.0))
    if shown.percent:
        axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0, decimals=0, symbol=" %"))
