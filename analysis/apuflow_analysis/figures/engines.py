"""Comparison of engines: the same points by two engines against each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from apuflow.core.engines import engine_facts
from apuflow.core.words import many
from apuflow_analysis.figures.axis import axis_columns
from apuflow_analysis.figures.choice import FigureError
from apuflow_analysis.figures.selection import completed, engines_of
from apuflow_analysis.figures.style import (
    FULL_WIDTH,
    GREY,
    SINGLE_WIDTH,
    Plot,
    head,
    legend,
    log_ticks,
    many_look,
    new_figure,
    style,
)
from apuflow_analysis.tables.columns import PRODUCTS
from apuflow_analysis.tables.order import ordered_pairs

VALUE = "gpu_cycles"
APART = "apart"
BAND = 0.25
"""Half width of the shaded band around equality."""


def pairs(frame: pd.DataFrame, reference: str, other: str) -> pd.DataFrame:
    """Points that two engines both completed.

    Returns:
        ``program workload direction``, the axes, ``reference`` and ``value`` (GPU cycles), and ``error``
        (value / reference - 1); ``APART``: whether other kernels compute the matrix products.
    """
    keys = ["program", "workload", "direction", *_shared(frame)]
    frame = frame if PRODUCTS in frame.columns else frame.assign(**{PRODUCTS: None})
    columns = [*keys, VALUE, PRODUCTS]
    left = frame.loc[(frame["engine"] == reference) & frame[VALUE].gt(0), columns]
    right = frame.loc[(frame["engine"] == other) & frame[VALUE].gt(0), columns]
    joined = left.merge(right, on=keys, suffixes=("", "_other"), validate="one_to_one")
    joined = joined.rename(columns={VALUE: "reference", f"{VALUE}_other": "value"})
    kinds, others = joined.pop(PRODUCTS), joined.pop(f"{PRODUCTS}_other")
    joined[APART] = kinds.notna() & others.notna() & (kinds != others)
    return joined.assign(
        error=joined["value"] / joined["reference"] - 1, engine=other, reference_engine=reference
    )


def engine_comparison(
    frame: pd.DataFrame, *, x: str | None = None, where: Mapping[str, Any] | None = None
) -> Plot:
    """GPU cycles by one engine over those by another, point by point, with errors and ordered pairs.

    The reference is the engine nearest to hardware: gem5, else gem5-kernels. ``x`` has no meaning here.

    Raises:
        FigureError: fewer than two engines, or they share no completed point.
    """
    with style():
        rows, notes = completed(frame, where)
        names = engines_of(rows)
        if len(names) < 2 or VALUE not in rows.columns:
            raise FigureError("a comparison needs two engines", key="engine", value=list(names))
        reference, others = names[0], names[1:]
        compared = [pairs(rows, reference, other) for other in others]
        apart = sum(int(table[APART].sum()) for table in compared)
        compared = [table[~table[APART]].drop(columns=APART) for table in compared]
        if apart:
            notes.append(f"{many(apart, 'pair')} left out: their matrix products are not by the same kernels")
        if all(table.empty for table in compared):
            raise FigureError("no point is completed by both engines", value=list(names))
        figure = new_figure(FULL_WIDTH if len(others) > 1 else SINGLE_WIDTH, 3.4 if len(others) == 1 else 3.0)
        panels = figure.subplots(1, len(others), squeeze=False)[0]
        programs = list(dict.fromkeys(name for table in compared for name in table["program"]))
        for axes, other, table in zip(panels, others, compared, strict=True):
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_xlabel(f"GPU cycles, {reference}")
            axes.set_ylabel(f"GPU cycles, {other}")
            if table.empty:
                axes.set_title(f"{other}: no shared point")
                continue
            low = float(min(table["reference"].min(), table["value"].min())) / 1.5
            high = float(max(table["reference"].max(), table["value"].max())) * 1.5
            line = np.array([low, high])
            axes.fill_between(
                line, line * (1 - BAND), line * (1 + BAND), color="#eeeeee", linewidth=0, zorder=0
            )
            axes.plot(line, line, color=GREY, linewidth=0.9, zorder=1)
            for program, own in table.groupby("program", sort=False):
                colour, marker = many_look(programs.index(str(program)))
                for direction, part in own.groupby("direction", sort=False):
                    face = "white" if direction == "bwd" else colour
                    axes.plot(
                        part["reference"],
                        part["value"],
                        linestyle="none",
                        marker=marker,
                        color=colour,
                        markerfacecolor=face,
                    )
            axes.set_xlim(low, high)
            axes.set_ylim(low, high)
            axes.set_aspect("equal")
            log_ticks(axes.xaxis, low, high)
            log_ticks(axes.yaxis, low, high)
            axes.set_title(many(len(table), "point"))
            median = float(table["error"].abs().median())
            ninth = float(table["error"].abs().quantile(0.9))
            mean, most = float(table["error"].abs().mean()), float(table["error"].abs().max())
            notes.append(
                f"{other}: error {100 * median:.1f} % in the median, {100 * mean:.1f} % in the mean, "
                f"{100 * ninth:.1f} % at the 90th percentile, {100 * most:.1f} % at most{_order(table)}"
            )
        handles = []
        for index in range(len(programs)):
            colour, marker = many_look(index)
            handles.append(Line2D([], [], linestyle="none", marker=marker, color=colour))
        labels = list(programs)
        if any((table["direction"] == "bwd").any() for table in compared):
            handles.append(
                Line2D([], [], linestyle="none", marker="o", color="#444444", markerfacecolor="white")
            )
            labels.append("open: backward")
        legend(figure, handles, labels)
        texts = "; ".join(engine_facts(name).title for name in names)
        all_notes = (f"Engines: {texts}", *notes, f"grey: within {100 * BAND:.0f} % of equality")
        title = "Engines compared"
        head(figure, title, all_notes)
        return Plot(figure, pd.concat(compared, ignore_index=True), title, notes=all_notes)


def _order(table: pd.DataFrame) -> str:
    """Of each program's points that the reference tells apart, how many pairs are in its order."""
    counts = [
        ordered_pairs(zip(own["reference"], own["value"], strict=True))
        for _, own in table.groupby(["program", "direction"], sort=False)
    ]
    right, pairs = (sum(numbers) for numbers in zip(*counts, strict=True))
    return f"; {right} of {pairs} pairs in order" if pairs else ""


def _shared(frame: pd.DataFrame) -> list[str]:
    return [name for name in axis_columns(frame) if name != "release"]
