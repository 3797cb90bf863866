"""Where a workload's time goes: GPU cycles by kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from analysis.figures.selection import FigureError, completed, engines_of, machine_note
from analysis.figures.style import FULL_WIDTH, NAMED, Plot, head, legend, new_figure, style

KERNEL = "kernel"
CYCLES = "gpu_cycles"
MOST_KERNELS = 7
"""Kernels with a colour of their own; the others are drawn together."""
_OTHER = "other kernels"
_MOST_BARS = 40


def kernel_breakdown(
    frame: pd.DataFrame, *, x: str | None = None, where: Mapping[str, Any] | None = None
) -> Plot:
    """Shares of a point's GPU cycles by kernel, one bar per point.

    Args:
        frame: one row per kernel launch of a point: ``engine workload direction point status kernel
            gpu_cycles``.
        x: has no meaning here.
        where: rows to keep.

    Raises:
        FigureError: no such rows.
    """
    with style():
        rows, notes = completed(frame, where)
        if KERNEL not in rows.columns or CYCLES not in rows.columns:
            raise FigureError(
                "the table does not tell kernels apart", key=KERNEL, remedy="give a table of kernels"
            )
        rows = rows.dropna(subset=[KERNEL, CYCLES])
        if rows.empty:
            raise FigureError("no kernel has a time", key=CYCLES)
        bars = ["engine", "workload", "point"]
        totals = rows.groupby([*bars, KERNEL], sort=False)[CYCLES].sum().reset_index()
        points = totals[bars].drop_duplicates()
        if len(points) > _MOST_BARS:
            notes.append(f"the first {_MOST_BARS} of {len(points)} points are drawn")
            points = points.head(_MOST_BARS)
            totals = totals.merge(points, on=bars)
        totals["share"] = totals[CYCLES] / totals.groupby(bars, sort=False)[CYCLES].transform("sum")
        largest = totals.groupby(KERNEL)["share"].sum().sort_values(ascending=False, kind="stable")
        own = list(largest.index[:MOST_KERNELS])
        totals["shown"] = [kernel if kernel in own else _OTHER for kernel in totals[KERNEL]]
        labels = [f"{row.workload}  {row.point}" for row in points.itertuples()]
        figure = new_figure(FULL_WIDTH, 0.6 + 0.21 * len(points))
        axes = figure.subplots()
        start = np.zeros(len(points))
        handles, texts = [], []
        for index, name in enumerate([*own, _OTHER]):
            part = totals[totals["shown"] == name].groupby(bars, sort=False)["share"].sum()
            values = np.array(
                [float(part.get(tuple(point), 0.0)) for point in points.itertuples(index=False)]
            )
            if not values.any():
                continue
            axes.barh(
                range(len(points)),
                values,
                left=start,
                height=0.72,
                color=NAMED[index],
                edgecolor="white",
                linewidth=0.4,
            )
            start = start + values
            handles.append(Patch(color=NAMED[index]))
            texts.append(name)
        axes.set_yticks(range(len(points)), labels)
        axes.set_ylim(len(points) - 0.4, -0.6)
        axes.set_xlim(0, 1)
        axes.set_xlabel("Share of GPU cycles (%)")
        axes.xaxis.set_major_formatter(PercentFormatter(xmax=1.0, symbol=""))
        axes.grid(axis="y", visible=False)
        legend(figure, handles, texts)
        all_notes = (machine_note(rows, engines_of(rows)), *notes)
        title = "GPU cycles by kernel"
        head(figure, title, all_notes)
        return Plot(figure, totals.drop(columns="shown"), title, notes=all_notes)
