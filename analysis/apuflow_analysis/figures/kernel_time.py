"""Where a workload's time goes: GPU cycles by kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.patches import Patch

from apuflow_analysis.figures.bars import at_ends, few, labelled
from apuflow_analysis.figures.choice import FigureError
from apuflow_analysis.figures.selection import select
from apuflow_analysis.figures.stacked import stacked_shares
from apuflow_analysis.figures.style import NAMED, Plot, head, legend, style

KERNEL = "kernel"
CYCLES = "gpu_cycles"
MOST_KERNELS = 7
"""Kernels with a colour of their own; the others are drawn together."""

_OTHER = "other kernels"
_POINT = ["engine", "workload", "point"]


def kernel_breakdown(
    frame: pd.DataFrame, *, x: str | None = None, where: Mapping[str, Any] | None = None
) -> Plot:
    """Shares of a point's GPU cycles by kernel, at both ends of the axis; workloads of one kernel are named.

    Args:
        frame: one row per kernel launch of a point: ``engine workload direction point status kernel
            gpu_cycles`` and the sweep's axes.
        x: axis whose ends are drawn; by default as the sweep says, else the one with the greatest effect.
        where: rows to keep.

    Raises:
        FigureError: no such rows.
    """
    with style():
        if KERNEL not in frame.columns or CYCLES not in frame.columns:
            raise FigureError(
                "the table does not tell kernels apart", key=KERNEL, remedy="give a table of kernel launches"
            )
        launches = frame.dropna(subset=[KERNEL, CYCLES])
        kinds = launches.groupby(_POINT, sort=False)[KERNEL].transform("nunique")
        alone = sorted(set(launches.loc[kinds == 1, "workload"]) - set(launches.loc[kinds > 1, "workload"]))
        launches = launches[kinds > 1]
        if launches.empty:
            raise FigureError("every workload launches a single kernel: there is nothing to break down")
        sums = launches.groupby(_POINT, sort=False)[CYCLES].transform("sum")
        points = launches.assign(**{CYCLES: sums}).drop_duplicates(_POINT).reset_index(drop=True)
        points.attrs = dict(frame.attrs)
        selection = select(points, [], x=x, where=where, most=few(points))
        bars, ends = at_ends(selection)
        bars = labelled(selection, bars)
        totals = launches.groupby([*_POINT, KERNEL], sort=False)[CYCLES].sum().reset_index()
        totals = totals.merge(bars[[*_POINT, "_end", "_label"]], on=_POINT)
        totals["share"] = totals[CYCLES] / totals.groupby(_POINT, sort=False)[CYCLES].transform("sum")
        largest = totals.groupby(KERNEL)["share"].sum().sort_values(ascending=False, kind="stable")
        own = list(largest.index[:MOST_KERNELS])
        totals["_shown"] = [kernel if kernel in own else _OTHER for kernel in totals[KERNEL]]
        order = list(dict.fromkeys(bars["_label"]))
        names = [name for name in (*own, _OTHER) if (totals["_shown"] == name).any()]
        shares = totals.pivot_table("share", ["_end", "_shown"], "_label", aggfunc="sum")
        figure = stacked_shares(
            order,
            ends,
            NAMED[: len(names)],
            lambda end: shares.reindex(index=[(end, name) for name in names], columns=order).to_numpy(
                dtype=float
            ),
            label="Share of GPU cycles (%)",
            axis=selection.x.label if selection.x is not None else None,
        )
        handles = [Patch(color=NAMED[index]) for index in range(len(names))]
        legend(figure, handles, [_short(str(name)) for name in names])
        title = "GPU cycles by kernel"
        notes = (*selection.notes, *([f"only one kernel: {', '.join(alone)}"] if alone else []))
        head(figure, title, notes)
        data = totals.rename(columns={"_end": "at", "_label": "label"}).drop(columns="_shown")
        return Plot(figure, data, title, notes=notes)


def _short(name: str) -> str:
    return name if len(name) <= 38 else f"{name[:24]}…{name[-13:]}"
