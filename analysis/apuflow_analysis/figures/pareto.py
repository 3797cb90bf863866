"""The objectives of a search: the best points as a table, and two objectives against each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter

from apuflow.core.engines import is_batch
from apuflow_analysis.figures.axis import axis_columns, label, short_label
from apuflow_analysis.figures.choice import choice_of
from apuflow_analysis.figures.interval import note
from apuflow_analysis.figures.output import save
from apuflow_analysis.figures.selection import completed, engines_of, machine_note
from apuflow_analysis.figures.style import (
    BLUE,
    GREY,
    SINGLE_WIDTH,
    VERMILLION,
    Plot,
    head,
    legend,
    log_ticks,
    new_figure,
    style,
)
from apuflow_analysis.figures.text_table import text_table
from apuflow_analysis.tables.objectives import CYCLES, of_machines, pareto, values

TITLE = "Points that none beats"
_MOST_ROWS = 30


def best_points(frame: pd.DataFrame, *, x: str | None = None, where: Mapping[str, Any] | None = None) -> Plot:
    """The points that none beats, of each engine, the best of the first objective first.

    Args:
        frame: a result table whose choice names objectives; several workloads add up.
        x: has no meaning here.
        where: rows to keep.

    Raises:
        FigureError: no completed point.
    """
    with style():
        rows, objectives, axes, notes = _searched(frame, where)
        own = rows[rows["best"]].reset_index(drop=True)
        shown = own.head(_MOST_ROWS)
        if len(shown) < len(own):
            notes.append(f"the first {len(shown)} of {len(own)} are shown; the CSV has all")
        columns = ["engine", *axes, *objectives]
        figure = text_table(
            ["Engine", *map(short_label, axes), *objectives],
            [[_text(row[name]) for name in columns] for _, row in shown.iterrows()],
            [1 / len(columns)] * len(columns),
        )
        head(figure, TITLE, notes)
        return Plot(figure, own, TITLE, notes=tuple(notes))


def front(frame: pd.DataFrame, *, x: str | None = None, where: Mapping[str, Any] | None = None) -> Plot:
    """The sweep's first two objectives against each other.

    Args:
        frame: a result table whose choice names two objectives or more; several workloads add up.
        x: has no meaning here.
        where: rows to keep.

    Raises:
        FigureError: no completed point.
    """
    rows, objectives, _, notes = _searched(frame, where)
    return _scatter(rows, objectives[:2], notes)


def write_pareto(rows: pd.DataFrame, objectives: Sequence[str], stem: Path) -> Sequence[Path]:
    """Write the figure of what a search found as SVG and PNG, and its numbers as CSV.

    Args:
        rows: with ``best``; where gem5-kernels judged, with ``judged``.
        objectives: two columns.
        stem: path without extension.
    """
    judged = rows["judged"] if "judged" in rows.columns else pd.Series(False, index=rows.index)
    told = rows.assign(engine=judged.map({True: "gem5-kernels", False: "preview"}))
    plot = _scatter(told, objectives, [f"{len(rows)} points, {int(rows['best'].sum())} of them best"])
    return save(plot.figure, plot.data, stem)


def _searched(
    frame: pd.DataFrame, where: Mapping[str, Any] | None
) -> tuple[pd.DataFrame, tuple[str, ...], tuple[str, ...], list[str]]:
    """A row per engine and machine with its objectives and ``best``; objectives, axes, notes."""
    objectives = choice_of(frame).objectives
    done, notes = completed(frame, where)
    axes = axis_columns(done)
    done = done.assign(**values(done, objectives))
    for name in CYCLES:
        known = done[name] if name in done.columns else done["gpu_cycles"]
        done[name] = known.fillna(done["gpu_cycles"])
    workloads = done["workload"].nunique()
    parts = []
    for engine in engines_of(done):
        own = of_machines(done[done["engine"] == engine], axes, objectives, workloads)
        own = own.sort_values(list(objectives), kind="stable")
        parts.append(own.assign(engine=engine, best=pareto(own[list(objectives)].to_numpy(dtype=float))))
    together = [f"sums of {workloads} workloads"] if workloads > 1 else []
    rows = pd.concat(parts, ignore_index=True)
    said = [machine_note(done, engines_of(done)), *note(done), *notes, *together]
    return rows, objectives, axes, said


def _scatter(rows: pd.DataFrame, objectives: Sequence[str], notes: Sequence[str]) -> Plot:
    across, up = objectives
    with style():
        figure = new_figure(SINGLE_WIDTH, 3.1)
        axes = figure.subplots()
        handles, labels = [], []
        for engine, own in rows.groupby("engine", sort=False):
            colour = GREY if is_batch(str(engine)) else BLUE
            look: dict[str, Any] = {"marker": "o", "color": colour, "markersize": 2.5}
            handles += axes.plot(own[across], own[up], linestyle="none", **look)
            labels.append(f"a point by {engine}")
            best = own[own["best"]].sort_values(across)
            if is_batch(str(engine)) and (drawn := _intervals(axes, best, objectives)):
                handles.append(drawn)
                labels.append(f"{engine}: interval of the cycles")
            if len(best):
                ring: dict[str, Any] = {
                    "markerfacecolor": "none",
                    "markeredgecolor": VERMILLION,
                    "markersize": 6,
                }
                handles += axes.plot(best[across], best[up], color=colour, marker="o", linewidth=0.8, **ring)
                labels.append(f"{engine}: none is better in both")
        for scale, set_log, column in (
            (axes.xaxis, axes.set_xscale, rows[across]),
            (axes.yaxis, axes.set_yscale, rows[up]),
        ):
            if column.min() > 0 and column.max() / column.min() >= 20:
                set_log("log")
                log_ticks(scale, column.min(), column.max())
            elif column.max() >= 10_000:
                scale.set_major_formatter(EngFormatter(sep=""))
        axes.set_xlabel(_label(across))
        axes.set_ylabel(_label(up))
        legend(figure, handles, labels)
        head(figure, TITLE, notes)
        return Plot(figure, rows, TITLE, notes=tuple(notes))


def _intervals(axes: Axes, best: pd.DataFrame, objectives: Sequence[str]) -> Line2D | None:
    """How far off the preview's cycles may be, where they are an objective; what a legend shows of it."""
    cycles, low, high = CYCLES
    if cycles not in objectives or low not in best.columns or best.empty:
        return None
    ends = np.array([best[cycles] - best[low], best[high] - best[cycles]], dtype=float)
    way: dict[str, Any] = {"xerr" if objectives[0] == cycles else "yerr": np.maximum(ends, 0.0)}
    look: dict[str, Any] = {"fmt": "none", "ecolor": GREY, "elinewidth": 0.6, "capsize": 2}
    axes.errorbar(best[objectives[0]], best[objectives[1]], **look, **way)
    return Line2D([], [], color=GREY, linewidth=0.6)


def _label(objective: str) -> str:
    return "GPU cycles" if objective == CYCLES[0] else label(objective)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
