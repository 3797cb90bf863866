"""Heat map: two axes at once, one panel per workload."""

from __future__ import annotations

import textwrap
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.ticker import LogLocator, NullLocator

from apuflow_analysis.figures import interval
from apuflow_analysis.figures.axis import (
    Axis,
    FigureError,
    Where,
    axes_of,
    axis,
    choice_of,
    in_sentence,
    independent,
    ranked,
)
from apuflow_analysis.figures.base import relative
from apuflow_analysis.figures.panels import bottom, columns_of, grid
from apuflow_analysis.figures.plot import Plot, finish, legend, style
from apuflow_analysis.figures.selection import (
    completed,
    engines_of,
    held_notes,
    hold,
    machine_note,
    reading_order,
)

TIME = "gpu_time"
_MOST_PANELS = 24
_COLOURS = "cividis"
_CELLS_WITH_TEXT, _CELLS_WITH_INTERVALS = 64, 30
_MOST_CHARACTERS = 16
_LABEL = 24


@style()
def heatmap(
    frame: pd.DataFrame,
    *,
    x: str | None = None,
    y: str | None = None,
    value: str | None = None,
    where: Where = None,
) -> Plot:
    """A quantity over two axes, one panel per workload and engine; further axes are held.

    Args:
        x, y: columns across and up; by default as the sweep says, else the two axes with the greatest effect.
        value: a metric or counter; by default the speedup (``figures.base``).

    Raises:
        FigureError: fewer than two axes vary, or there are no numbers.
    """
    column, base = value or TIME, ""
    if value is None:
        frame, base = relative(frame, TIME, x, where)
    rows, notes = completed(frame, where)
    if column not in rows.columns or rows[column].isna().all():
        raise FigureError("the table has no numbers for the heat map", key=column)
    rows = rows.dropna(subset=[column])
    varied = axes_of(rows, x)
    first, remedy = varied.x, "give the sweep another axis"
    if first is None or len(varied.varying) < 2:
        found = [one.column for one in varied.varying]
        raise FigureError("a heat map needs two axes", value=found, remedy=remedy)
    rows = rows.dropna(subset=[first.column])  # a suite's axis is no other suite's
    keys, _ = independent(rows, [one for one in varied.varying if one is not first], [first.column])
    keys = ranked(keys, varied.effect, choice_of(rows).lines)
    if y is not None and y not in {key.column for key in keys}:
        raise FigureError("this does not vary beside the axis across", key=y)
    panels = list(rows[["workload", "engine"]].drop_duplicates().itertuples(index=False, name=None))
    panels.sort(key=lambda panel: reading_order(str(panel[0])))
    panels = [panel for panel in panels if _second(_own(rows, panel), keys, y) is not None]
    if not panels:
        raise FigureError("a heat map needs two axes that vary by themselves", remedy=remedy)
    if len(panels) > _MOST_PANELS:
        notes.append(f"the first {_MOST_PANELS} of {len(panels)} workloads are drawn")
        panels = panels[:_MOST_PANELS]
    engines = engines_of(rows)
    figure, drawn = grid(len(panels), share_y=False, share_x=False, height=1.75)
    tables, seconds = [], []
    held: dict[str, dict[str, str]] = {}
    for panel in panels:
        own = _own(rows, panel)
        second = _second(own, keys, y)
        assert second is not None
        others = [key for key in keys if key.column != second.column]
        own, _, _ = hold(own, others, 1, held)
        tables.append(_table(own, first, second, column))
        seconds.append(second)
    shown = _scale(pd.concat(tables)["value"], logarithmic=value is None)
    leftmost = drawn[:: columns_of(drawn[0])]
    for axes, panel, table, second in zip(drawn, panels, tables, seconds, strict=True):
        _draw(axes, table, axis(table, first.column), second, shown)
        if len({one.column for one in seconds}) > 1 or axes in leftmost:
            axes.set_ylabel(textwrap.fill(second.label, _LABEL))
        axes.set_title(panel[0] if len(engines) == 1 else f"{panel[0]}, {panel[1]}")
    if len({(second.column, second.values) for second in seconds}) == 1:
        for axes in drawn:
            axes.tick_params(labelleft=axes in leftmost)
    bottom(drawn, first.label)
    what = column if value is not None else "Speedup"
    bar = figure.colorbar(mpl.cm.ScalarMappable(shown, _COLOURS), ax=drawn, shrink=0.6, aspect=30)
    bar.set_label(what)
    if isinstance(shown, LogNorm):
        bar.ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        bar.ax.yaxis.set_major_formatter(lambda tick, _: f"{tick:g}")
        bar.ax.yaxis.set_minor_locator(NullLocator())
    names = dict.fromkeys((first.label, *(second.label for second in seconds)))
    title = f"{what} over {' and '.join(map(in_sentence, names)) if len(names) == 2 else 'two axes'}"
    factors = {key.label: varied.effect[key.column] for key in keys if key.column in varied.effect}
    notes += held_notes(held, len({str(panel[0]).rsplit("_", 1)[0] for panel in panels}), factors)
    if base:
        notes.append(f"GPU active time, relative to that at {base}")
    if any(table["low"].notna().any() for table in tables):
        notes.append("small numbers in a cell: the interval")
    data = pd.concat(tables, ignore_index=True)
    legend(figure, interval.crosses(data).items())
    unique = tuple(dict.fromkeys((machine_note(rows, engines), *interval.note(rows), *notes)))
    return finish(figure, data, title, unique)


def _own(rows: pd.DataFrame, panel: tuple[Any, ...]) -> pd.DataFrame:
    found: pd.DataFrame = rows[(rows["workload"] == panel[0]) & (rows["engine"] == panel[1])]
    return found


def _second(own: pd.DataFrame, keys: list[Axis], y: str | None) -> Axis | None:
    found = (key for key in keys if own[key.column].nunique() > 1 and y in (None, key.column))
    return next((axis(own, key.column) for key in found), None)


def _table(own: pd.DataFrame, across: Axis, up: Axis, column: str) -> pd.DataFrame:
    """One row per cell: both axes' values, the value shown, its interval, and whether it was measured."""
    own = own.dropna(subset=[up.column])
    data = own[["engine", "workload", "point", across.column, up.column, column]].copy()
    data["value"], data["unmeasured"] = own[column].astype(float), interval.unmeasured(own)
    power = 1 if column in (TIME, "gpu_cycles") else 0
    data[["low", "high"]] = interval.ends(own, data["value"], power)
    if "_base" in own.columns:
        low, high = own["_base_low"] / data["high"], own["_base_high"] / data["low"]
        data["value"], data["low"], data["high"] = own["_base"] / data["value"], low, high
        data.loc[data["value"] == 1, ["low", "high"]] = np.nan
    return data


def _scale(values: pd.Series[float], *, logarithmic: bool) -> Normalize:
    finite = values[np.isfinite(values)]
    low, high = float(finite.min()), float(finite.max())
    if low == high:
        low, high = (low * 0.9, high * 1.1) if low else (0.0, 1.0)
    if logarithmic and low > 0 and high / low > 4:
        return LogNorm(low, high)
    return Normalize(low, high)


def _draw(axes: Axes, table: pd.DataFrame, across: Axis, up: Axis, shown: Normalize) -> None:
    cells = np.full((len(up.values), len(across.values)), np.nan)
    for _, row in table.iterrows():
        cells[up.values.index(row[up.column]), across.values.index(row[across.column])] = row["value"]
    axes.pcolormesh(np.ma.masked_invalid(cells), norm=shown, cmap=_COLOURS, edgecolors="white", linewidth=0.4)
    axes.grid(False)
    texts = [across.text(value) for value in across.values]
    crowded = max(map(len, texts)) * len(texts) > _MOST_CHARACTERS
    axes.set_xticks(np.arange(len(texts)) + 0.5, texts, rotation=90 if crowded else 0)
    axes.set_yticks(np.arange(len(up.values)) + 0.5, [up.text(value) for value in up.values])
    axes.tick_params(length=0)
    away = table[table["unmeasured"]]
    if len(away):
        x, y = ([one.values.index(value) for value in away[one.column]] for one in (across, up))
        axes.plot(np.array(x) + 0.88, np.array(y) + 0.8, **interval.CROSS)
    if cells.size > _CELLS_WITH_TEXT:
        return
    for _, row in table[np.isfinite(table["value"])].iterrows():
        left, floor = across.values.index(row[across.column]), up.values.index(row[up.column])
        colour = "white" if float(shown(row["value"])) < 0.55 else "black"
        look: dict[str, Any] = {"ha": "center", "va": "center", "color": colour}
        spread = np.isfinite(row["low"]) and cells.size <= _CELLS_WITH_INTERVALS
        axes.text(left + 0.5, floor + (0.62 if spread else 0.5), _short(row["value"]), fontsize=5.5, **look)
        if spread:
            text = f"{_short(row['low'])}–{_short(row['high'])}"
            axes.text(left + 0.5, floor + 0.25, text, fontsize=3.8, **look)


def _short(value: float) -> str:
    if abs(value) >= 1e4 or 0 < abs(value) < 1e-2:
        return f"{value:.0e}"
    return f"{value:.2g}" if abs(value) < 10 else f"{value:.0f}"
