"""The objectives of a search: the best points as a table, and two objectives against each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter

from apuflow.core.engines import is_batch
from apuflow_analysis.figures import plot
from apuflow_analysis.figures.axis import Where, axis_columns, choice_of, label, short_label
from apuflow_analysis.figures.interval import note
from apuflow_analysis.figures.selection import completed, engines_of, machine_note
from apuflow_analysis.tables.objectives import CYCLES, of_machines, pareto, values

TITLE = "Points that none beats"
_MOST_ROWS = 30


@plot.style()
def best_points(frame: pd.DataFrame, *, x: str | None = None, where: Where = None) -> plot.Plot:
    """The points that none beats, of each engine, the best of the first objective first.

    Several workloads add up; ``x`` has no meaning here.
    """
    rows, objectives, axes, notes = _searched(frame, where)
    own = rows[rows["best"]].reset_index(drop=True)
    shown = own.head(_MOST_ROWS)
    if len(shown) < len(own):
        notes.append(f"the first {len(shown)} of {len(own)} are shown; the CSV has all")
    columns = ["engine", *axes, *objectives]
    figure = plot.text_table(
        ["Engine", *map(short_label, axes), *objectives],
        [[_text(row[name]) for name in columns] for _, row in shown.iterrows()],
        [1 / len(columns)] * len(columns),
    )
    return plot.finish(figure, own, TITLE, notes)


def front(frame: pd.DataFrame, *, x: str | None = None, where: Where = None) -> plot.Plot:
    """The sweep's first two objectives against each other; as ``best_points``."""
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
    drawn = _scatter(told, objectives, [f"{len(rows)} points, {int(rows['best'].sum())} of them best"])
    return plot.save(drawn.figure, drawn.data, stem)


def _searched(
    frame: pd.DataFrame, where: Where
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
    notes += [f"sums of {workloads} workloads"] if workloads > 1 else []
    said = [machine_note(done, engines_of(done)), *note(done), *notes]
    return pd.concat(parts, ignore_index=True), objectives, axes, said


@plot.style()
def _scatter(rows: pd.DataFrame, objectives: Sequence[str], notes: Sequence[str]) -> plot.Plot:
    across, up = objectives
    figure = plot.new_figure(plot.SINGLE_WIDTH, 3.1)
    axes = figure.subplots()
    entries: list[tuple[str, Artist]] = []
    for engine, own in rows.groupby("engine", sort=False):
        batch = is_batch(str(engine))
        look: dict[str, Any] = {"marker": "o", "color": plot.GREY if batch else plot.BLUE}
        [points] = axes.plot(own[across], own[up], linestyle="none", markersize=2.5, **look)
        entries.append((f"a point by {engine}", points))
        best = own[own["best"]].sort_values(across)
        if batch and (drawn := _intervals(axes, best, objectives)):
            entries.append((f"{engine}: interval of the cycles", drawn))
        if len(best):
            look |= {"markerfacecolor": "none", "markeredgecolor": plot.VERMILLION, "markersize": 6}
            [line] = axes.plot(best[across], best[up], linewidth=0.8, **look)
            entries.append((f"{engine}: none is better in both", line))
    for scale, set_log, column in (
        (axes.xaxis, axes.set_xscale, rows[across]),
        (axes.yaxis, axes.set_yscale, rows[up]),
    ):
        if column.min() > 0 and column.max() / column.min() >= 20:
            set_log("log")
            plot.log_ticks(scale, column.min(), column.max())
        elif column.max() >= 10_000:
            scale.set_major_formatter(EngFormatter(sep=""))
    axes.set_xlabel(_label(across))
    axes.set_ylabel(_label(up))
    plot.legend(figure, entries)
    return plot.finish(figure, rows, TITLE, notes)


def _intervals(axes: Axes, best: pd.DataFrame, objectives: Sequence[str]) -> Line2D | None:
    """How far off the preview's cycles may be, where they are an objective; what a legend shows of it."""
    cycles, low, high = CYCLES
    if cycles not in objectives or low not in best.columns or best.empty:
        return None
    ends = np.array([best[cycles] - best[low], best[high] - best[cycles]], dtype=float)
    way: dict[str, Any] = {"xerr" if objectives[0] == cycles else "yerr": np.maximum(ends, 0.0)}
    look: dict[str, Any] = {"fmt": "none", "ecolor": plot.GREY, "elinewidth": 0.6, "capsize": 2}
    axes.errorbar(best[objectives[0]], best[objectives[1]], **look, **way)
    return Line2D([], [], color=plot.GREY, linewidth=0.6)


def _label(objective: str) -> str:
    return "GPU cycles" if objective == CYCLES[0] else label(objective)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
