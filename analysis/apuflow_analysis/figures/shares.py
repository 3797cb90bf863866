"""Stacked bars of shares, one per workload, at both ends of an axis: stalls, instruction mix, kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray

from apuflow_analysis.figures import plot
from apuflow_analysis.figures.axis import FigureError, Where
from apuflow_analysis.figures.selection import COMBINATION, DIRECTIONS, Selection, engine_parts, select

STALLS: tuple[tuple[str, str, str], ...] = (
    ("stall_share_memory", "memory (s_waitcnt)", plot.BLUE),
    ("stall_share_execution", "register of an earlier instruction", plot.VERMILLION),
    ("stall_share_fetch", "instruction fetch", plot.ORANGE),
    ("stall_share_sync", "barrier", plot.PURPLE),
    ("stall_share_not_selected", "ready, not issued", plot.GREEN),
    ("stall_share_sleep", "s_sleep", plot.GREY),
)
"""Column, meaning and colour of each part."""
MIX: tuple[tuple[str, str, str], ...] = (
    ("mix_valu", "vector ALU", plot.BLUE),
    ("mix_salu", "scalar ALU", plot.SKY),
    ("mix_smem", "scalar memory", plot.GREEN),
    ("mix_vmem", "vector memory", plot.VERMILLION),
    ("mix_lds", "LDS", plot.PURPLE),
    ("mix_other", "branch, wait, barrier, other", plot.GREY),
)
KERNEL = "kernel"
CYCLES = "gpu_cycles"

_MOST_BARS = 36
_MOST_KERNELS = 7
"""Kernels with a colour of their own; the others are drawn together."""
_REST = "rest"
_OTHER = "other kernels"
_POINT = ["engine", "workload", "point"]


def stacked_shares(
    bars: Sequence[str],
    ends: Sequence[str],
    colours: Sequence[str],
    shares: Sequence[NDArray[np.float64]],
    label: str,
    axis: str | None = None,
) -> Figure:
    """Bars from 0 to 100 %, made of parts.

    Args:
        bars: their names, from the top.
        ends: names of the panels.
        colours: of the parts, from the left.
        shares: of each panel, shape (parts, bars), 0 to 1; NaN where there is nothing to draw.
        label: of the horizontal axes.
        axis: label of the axis whose ends the panels are; None: there is none.
    """
    figure = plot.new_figure(plot.FULL_WIDTH, 0.75 + 0.19 * len(bars))
    panels = figure.subplots(1, len(ends), sharey=True, squeeze=False)[0]
    look: dict[str, Any] = {"height": 0.72, "edgecolor": "white", "linewidth": 0.4}
    for axes, end, parts in zip(panels, ends, shares, strict=True):
        start = np.zeros(len(bars))
        for colour, values in zip(colours, np.nan_to_num(parts), strict=True):
            axes.barh(range(len(bars)), values, left=start, color=colour, **look)
            start = start + values
        axes.set_xlim(0, 1)
        axes.set_xlabel(label)
        axes.xaxis.set_major_formatter(PercentFormatter(xmax=1.0, symbol=""))
        axes.grid(axis="y", visible=False)
        if axis is not None:
            axes.set_title(f"{axis}: {end}")
    panels[0].set_yticks(range(len(bars)), bars)
    panels[0].set_ylim(len(bars) - 0.4, -0.6)
    return figure


@plot.style()
def stacked(
    frame: pd.DataFrame,
    parts: Sequence[tuple[str, str, str]],
    title: str,
    meaning: str,
    *,
    x: str | None = None,
    where: Where = None,
) -> plot.Plot:
    """Shares of several columns per workload, ``STALLS`` or ``MIX``.

    Raises:
        FigureError: the table has none of them.
    """
    known = [part for part in parts if part[0] in frame.columns and frame[part[0]].notna().any()]
    if not known:
        raise FigureError("the table has no shares for this figure", key=parts[0][0])
    selection = select(frame, [name for name, _, _ in known], x=x, where=where, most=few(frame))
    rows, ends = at_ends(selection)
    if len(known) < len(parts):
        missing = ", ".join(text for name, text, _ in parts if name not in {one[0] for one in known})
        rows[_REST] = (1 - rows[[name for name, _, _ in known]].sum(axis=1)).clip(lower=0)
        known.append((_REST, f"rest, not told apart by the engine: {missing}", "#dddddd"))
    order = list(dict.fromkeys(rows["_label"]))
    values = rows.set_index(["_end", "_label"])[[name for name, _, _ in known]].clip(lower=0.0)
    colours = [colour for _, _, colour in known]
    shares = [values.loc[end].reindex(order).to_numpy(dtype=float).T for end in ends]
    figure = stacked_shares(order, ends, colours, shares, "Share (%)", selection.x_label)
    shown = [part for part in known if float(rows[part[0]].max()) > 0.0005]
    plot.legend(figure, [(text, Patch(color=colour)) for _, text, colour in shown])
    absent = [part[1] for part in known if part not in shown and part[0] != _REST]
    below = [f"below 0.05 % everywhere: {', '.join(absent)}"] if absent else []
    numbers = [numbers_of(rows, name, "share").assign(part=name) for name, _, _ in known]
    notes = (*selection.notes, meaning, *below)
    return plot.finish(figure, pd.concat(numbers, ignore_index=True), title, notes)


@plot.style()
def kernel_breakdown(frame: pd.DataFrame, *, x: str | None = None, where: Where = None) -> plot.Plot:
    """Shares of a point's GPU cycles by kernel, at both ends of the axis; workloads of one kernel are named.

    Args:
        frame: one row per kernel launch of a point: ``engine workload direction point status kernel
            gpu_cycles`` and the sweep's axes.

    Raises:
        FigureError: no such rows.
    """
    if KERNEL not in frame.columns or CYCLES not in frame.columns:
        remedy = "give a table of kernel launches"
        raise FigureError("the table does not tell kernels apart", key=KERNEL, remedy=remedy)
    launches = frame.dropna(subset=[KERNEL, CYCLES])
    kinds = launches.groupby(_POINT, sort=False)[KERNEL].transform("nunique")
    alone = sorted(set(launches.loc[kinds == 1, "workload"]) - set(launches.loc[kinds > 1, "workload"]))
    launches = launches[kinds > 1]
    if launches.empty:
        raise FigureError("every workload launches a single kernel: there is nothing to break down")
    sums = launches.groupby(_POINT, sort=False)[CYCLES].transform("sum")
    points = launches.assign(**{CYCLES: sums}).drop_duplicates(_POINT).reset_index(drop=True)
    selection = select(points, [], x=x, where=where, most=few(points))
    bars, ends = at_ends(selection)
    totals = launches.groupby([*_POINT, KERNEL], sort=False)[CYCLES].sum().reset_index()
    totals = totals.merge(bars[[*_POINT, "_end", "_label"]], on=_POINT)
    totals["share"] = totals[CYCLES] / totals.groupby(_POINT, sort=False)[CYCLES].transform("sum")
    largest = totals.groupby(KERNEL)["share"].sum().sort_values(ascending=False, kind="stable")
    own = list(largest.index[:_MOST_KERNELS])
    totals["_shown"] = [kernel if kernel in own else _OTHER for kernel in totals[KERNEL]]
    order = list(dict.fromkeys(bars["_label"]))
    names = [name for name in (*own, _OTHER) if (totals["_shown"] == name).any()]
    shares = totals.pivot_table("share", ["_end", "_shown"], "_label", aggfunc="sum")
    found = (shares.reindex(index=[(end, name) for name in names], columns=order) for end in ends)
    parts = [part.to_numpy(dtype=float) for part in found]
    colours, label = plot.NAMED[: len(names)], "Share of GPU cycles (%)"
    figure = stacked_shares(order, ends, colours, parts, label, selection.x_label)
    short = [name if len(name) <= 38 else f"{name[:24]}…{name[-13:]}" for name in map(str, names)]
    plot.legend(figure, [(name, Patch(color=plot.NAMED[k])) for k, name in enumerate(short)])
    notes = (*selection.notes, *([f"only one kernel: {', '.join(alone)}"] if alone else []))
    data = totals.rename(columns={"_end": "at", "_label": "label"}).drop(columns="_shown")
    return plot.finish(figure, data, "GPU cycles by kernel", notes)


def few(frame: pd.DataFrame) -> int:
    """How many combinations of further axes to show per workload, so that a figure stays on its page."""
    bars = len(frame[["engine", "workload"]].drop_duplicates())
    return max(1, _MOST_BARS // max(1, bars))


def at_ends(selection: Selection) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The rows at the baseline (else the smallest) and the largest value of the axis, and both values.

    Returns:
        Rows as of ``labelled``, with the value in ``_end``; the values as texts.
    """
    rows, x = labelled(selection), selection.x
    if x is None:
        return rows.assign(_end=""), ("",)
    start = selection.baseline.get(x.column, x.values[0])
    values = (start, x.values[-1]) if start != x.values[-1] else (x.values[0], start)
    kept = rows[rows[x.column].isin(values)]
    return kept.assign(_end=[x.text(value) for value in kept[x.column]]), tuple(map(x.text, values))


def labelled(selection: Selection) -> pd.DataFrame:
    """The rows in reading order, with what to write at each in ``_label``."""
    places, texts = [], []
    for _, row in selection.rows.iterrows():
        parts = [str(row["workload"]), *([row[COMBINATION]] if row[COMBINATION] else [])]
        parts += engine_parts(str(row["engine"]), selection.engines, row.to_frame().T, selection.rows)
        texts.append(", ".join(parts))
        places.append(
            (
                selection.programs.index(row["program"]),
                list(DIRECTIONS).index(row["direction"]),
                selection.combinations.index(row[COMBINATION]),
                selection.engines.index(row["engine"]),
                texts[-1],
            )
        )
    order = sorted(range(len(places)), key=places.__getitem__)
    return selection.rows.assign(_label=texts).iloc[order]


def numbers_of(rows: pd.DataFrame, column: str, renamed: str) -> pd.DataFrame:
    """The drawn numbers of one column of labelled rows, under another name."""
    data = rows[["engine", "workload", "direction", "point", "_end", "_label", column]]
    return data.rename(columns={"_end": "at", "_label": "label", column: renamed})
