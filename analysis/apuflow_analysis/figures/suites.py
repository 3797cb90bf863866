"""Where the time and the memory of an iteration go: by kind of layer, by phase, layer by layer, by part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from apuflow.core.engines import engine_facts
from apuflow_analysis.figures import plot
from apuflow_analysis.figures.axis import COMPUTE_UNITS, Axis, FigureError, Where
from apuflow_analysis.figures.selection import selected
from apuflow_analysis.figures.shares import stacked_shares
from apuflow_analysis.tables.suite_sums import coverage, coverage_text

ITERATION = "iteration"
TIME = "total_ms"
_IMAGES = "layer.n"
_MOST_BARS = 24
"""Iterations that one figure shows."""
_MOST_PANELS = 6
_MOST_KINDS = len(plot.NAMED) - 1
_MEMORY = ("weights", "activations", "gradients", "workspace", "momentum")
_OTHER = "other kinds"


@plot.style()
def shares(
    frame: pd.DataFrame, part: str, title: str, *, x: str | None = None, where: Where = None
) -> plot.Plot:
    """Shares of an iteration's time by ``op`` (kind of layer) or ``phase``.

    Args:
        frame: items of suites, with the label of their iteration.
        x: has no meaning here, nor in the other figures of suites.

    Raises:
        FigureError: nothing was run.
    """
    rows, bars, notes = _bars(frame, where)
    sums = rows.groupby([part, "_bar"], sort=False)[TIME].sum().unstack()
    sums = _few(sums / sums.sum()).reindex(columns=bars)
    parts = [sums.to_numpy(dtype=float)]
    figure = stacked_shares(bars, [""], plot.NAMED[: len(sums)], parts, "Share of the iteration's time (%)")
    _legend(figure, list(map(str, sums.index)))
    data = sums.reset_index().melt(part, var_name="label", value_name="share").dropna()
    return plot.finish(figure, data, title, notes)


def _legend(figure: Figure, names: Sequence[str]) -> None:
    plot.legend(figure, [(name, Patch(color=plot.NAMED[place])) for place, name in enumerate(names)])


def _few(shares: pd.DataFrame) -> pd.DataFrame:
    """The kinds with most time, the others as one."""
    order = shares.sum(axis=1).sort_values(ascending=False, kind="stable").index
    if len(order) <= _MOST_KINDS + 1:
        return shares.reindex(order)
    kept = shares.reindex(order[:_MOST_KINDS])
    kept.loc[_OTHER] = shares.reindex(order[_MOST_KINDS:]).sum()
    return kept


@plot.style()
def timeline(frame: pd.DataFrame, *, x: str | None = None, where: Where = None) -> plot.Plot:
    """Time of each step of an iteration, in the order in which they run; arguments and errors as ``shares``.

    A panel for each iteration, on one scale; where not all fit, every suite's first goes before its second.
    """
    rows, bars, notes = _bars(frame, where, every=False)
    suites = rows.drop_duplicates("_bar").set_index("_bar")["suite"]
    turn = suites.groupby(suites).cumcount().sort_values(kind="stable")
    shown = sorted(turn.index[:_MOST_PANELS], key=bars.index)
    if len(shown) < len(bars):
        notes.append(f"{len(shown)} of {len(bars)} combinations are shown; the CSV tables have all")
    rows = rows[rows["_bar"].isin(shown)]
    kinds = list(rows.groupby("op")[TIME].sum().sort_values(ascending=False, kind="stable").index)
    named = [*map(str, kinds[:_MOST_KINDS]), *([_OTHER] if len(kinds) > _MOST_KINDS else [])]
    colours = {kind: plot.NAMED[min(place, _MOST_KINDS)] for place, kind in enumerate(kinds)}
    figure = plot.new_figure(plot.FULL_WIDTH, 0.5 + 1.35 * len(shown))
    panels = figure.subplots(len(shown), 1, squeeze=False, sharey=True)[:, 0]
    for axes, bar in zip(panels, shown, strict=True):
        part = rows[rows["_bar"] == bar]
        axes.bar(part["_step"], part[TIME], width=1.0, color=part["op"].map(colours), linewidth=0)
        axes.set_yscale("log")
        axes.set_ylabel("ms")
        axes.set_title(str(bar))
        axes.margins(x=0.01)
    panels[-1].set_xlabel("Step, in the order in which an iteration runs them")
    _legend(figure, named)
    columns = ["_bar", "_step", "item", "name", "op", "phase", "repeats", TIME]
    data = rows[columns].rename(columns={"_bar": "label", "_step": "step"})
    return plot.finish(figure, data, "Time layer by layer", notes)


@plot.style()
def memory(frame: pd.DataFrame, *, x: str | None = None, where: Where = None) -> plot.Plot:
    """Memory of an iteration by part; arguments and errors as ``shares``.

    Raises:
        FigureError: no suite of the sweep is a network.
    """
    parts = [name for name in _MEMORY if frame.get(f"{name}_bytes", pd.Series(dtype=float)).sum() > 0]
    if not parts:
        raise FigureError("none of the sweep's suites is a network: memory by part is not known")
    known = frame[frame["weights_bytes"].notna()]
    rows, bars, notes = _bars(known, where, engine=False)
    first = rows.drop_duplicates("_bar").set_index("_bar").reindex(bars)
    figure = plot.new_figure(plot.FULL_WIDTH, 0.75 + 0.19 * len(bars))
    axes = figure.subplots()
    start = np.zeros(len(bars))
    for place, name in enumerate(parts):
        values = first[f"{name}_bytes"].fillna(0).to_numpy(dtype=float) / 1e6
        axes.barh(range(len(bars)), values, left=start, height=0.72, color=plot.NAMED[place], linewidth=0.4)
        start = start + values
    axes.set_yticks(range(len(bars)), bars)
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.set_xlabel("MB (fp32)")
    axes.grid(axis="y", visible=False)
    _legend(figure, parts)
    columns = {f"{name}_bytes": name for name in parts}
    data = first.reset_index()[["_bar", *columns]].rename(columns={"_bar": "label", **columns})
    return plot.finish(figure, data, "Memory of an iteration by part", notes)


@plot.style()
def memory_over_images(frame: pd.DataFrame, *, x: str | None = None, where: Where = None) -> plot.Plot:
    """Memory of an iteration by part over its images; arguments as ``shares``. One panel per network.

    Raises:
        FigureError: no network of the sweep runs with several numbers of images.
    """
    parts = [name for name in _MEMORY if f"{name}_bytes" in frame.columns]
    if _IMAGES not in frame.columns or not parts:
        raise FigureError("the sweep has no networks with several numbers of images", key=_IMAGES)
    rows = selected(frame, where)[0].dropna(subset=[_IMAGES, f"{parts[0]}_bytes"])
    sizes = rows.groupby(["suite", _IMAGES], sort=False)[[f"{name}_bytes" for name in parts]].first()
    sizes = sizes.rename(columns={f"{name}_bytes": name for name in parts}).fillna(0.0)
    known = [str(suite) for suite, part in sizes.groupby(level=0, sort=False) if len(part) > 1]
    if not known:
        raise FigureError("no network of the sweep runs with several numbers of images", key=_IMAGES)
    shown = known[:_MOST_PANELS]
    figure = plot.new_figure(plot.FULL_WIDTH, 0.6 + 1.5 * len(shown))
    panels = figure.subplots(len(shown), 1, squeeze=False)[:, 0]
    for axes, suite in zip(panels, shown, strict=True):
        part = sizes.xs(suite).sort_index()
        images, stacked = part.index.to_numpy(dtype=float), part.to_numpy(dtype=float).T / 1e6
        axes.stackplot(images, stacked, colors=plot.NAMED[: len(parts)], linewidth=0.4)
        axes.plot(images, stacked.sum(axis=0), "o-", markersize=3, color="black", linewidth=0.6)
        axes.set_title(suite)
        axes.set_ylabel("MB (fp32)")
        axes.set_ylim(bottom=0)
    panels[-1].set_xlabel("Images of an iteration")
    _legend(figure, parts)
    left_out = len(known) - len(shown)
    notes = [f"{left_out} more networks: the CSV tables have them"] if left_out else []
    data = sizes.loc[shown].reset_index().rename(columns={_IMAGES: "images"})
    return plot.finish(figure, data, "Memory over the images of an iteration", notes)


def _bars(
    frame: pd.DataFrame, where: Where, *, every: bool = True, engine: bool = True
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Rows that ran with the label of their bar, the bars, and what the reader must know."""
    if ITERATION not in frame.columns:
        raise FigureError("this is not a table of a suite's items", key=ITERATION)
    rows, _ = selected(frame, where)
    rows = rows.assign(_step=rows.groupby(ITERATION, sort=False).cumcount() + 1)
    left_out = rows[rows[TIME].isna()]
    if engine:
        rows = rows[rows[TIME].notna()]
    if rows.empty:
        raise FigureError("no item of the suites has run")
    varying = [name for name in frame.attrs.get("axes", ()) if rows[name].nunique() > 1]
    short = {name: "CUs" if name == COMPUTE_UNITS else name.removeprefix("layer.") for name in varying}
    several = engine and rows["engine"].nunique() > 1

    def named(row: Any) -> str:
        values = [f"{short[name]} {Axis.text(row[name])}" for name in varying if row[name] == row[name]]
        return ", ".join([str(row["suite"]), *values, *([str(row["engine"])] if several else [])])

    labels = {row[ITERATION]: named(row) for _, row in rows.drop_duplicates(ITERATION).iterrows()}
    rows = rows.assign(_bar=rows[ITERATION].map(labels))
    bars = list(dict.fromkeys(rows["_bar"]))
    notes = []
    if engine:
        titles = (engine_facts(str(name)).title for name in sorted(set(rows["engine"])))
        notes.append("engine: " + ", ".join(titles))
        if "engine_version" in rows:
            notes.append(_covered(rows))
        if len(left_out):
            kinds = sorted(set(map(str, left_out["op"])))
            notes.append(f"not run, and not part of it: {', '.join(kinds)}")
    if every and len(bars) > _MOST_BARS:
        notes.append(f"{_MOST_BARS} of {len(bars)} combinations are shown; the CSV tables have all")
        bars = bars[:_MOST_BARS]
        rows = rows[rows["_bar"].isin(bars)]
    return rows, bars, notes


def _covered(rows: pd.DataFrame) -> str:
    """What the times of the iteration with most unmeasured time rest on, and of how many it is one."""
    parts = [part for _, part in rows.groupby(ITERATION, sort=False)]
    worst = max(parts, key=lambda part: coverage(part)["unmeasured_share"])
    of = "" if len(parts) == 1 else f"{worst['_bar'].iloc[0]}, the least measured of {len(parts)}: "
    return of + coverage_text(worst)
