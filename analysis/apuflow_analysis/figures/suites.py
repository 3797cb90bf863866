"""Where the time and the memory of an iteration go: by kind of layer, by phase, layer by layer, by part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.patches import Patch

from apuflow.core.engines import engine_facts
from apuflow_analysis.figures.choice import FigureError
from apuflow_analysis.figures.stacked import stacked_shares
from apuflow_analysis.figures.style import FULL_WIDTH, NAMED, Plot, head, legend, new_figure, style
from apuflow_analysis.tables.suites import coverage, coverage_text

ITERATION = "iteration"
TIME = "total_ms"
IMAGES = "layer.n"
MOST_BARS = 24
"""Iterations that one figure shows."""
MOST_PANELS = 6
MOST_KINDS = len(NAMED) - 1
MEMORY = ("weights", "activations", "gradients", "workspace", "momentum")
_OTHER = "other kinds"


def by_kind(frame: pd.DataFrame, *, x: str | None = None, where: Mapping[str, Any] | None = None) -> Plot:
    """Shares of an iteration's time by kind of layer.

    Args:
        frame: items of suites, with the label of their iteration.
        x: has no meaning here.
        where: rows to keep.

    Raises:
        FigureError: nothing was run.
    """
    return _shares(frame, where, "op", "Time by kind of layer")


def by_phase(frame: pd.DataFrame, *, x: str | None = None, where: Mapping[str, Any] | None = None) -> Plot:
    """Shares of an iteration's time by phase; arguments and errors as by_kind."""
    return _shares(frame, where, "phase", "Time by phase")


def _shares(frame: pd.DataFrame, where: Mapping[str, Any] | None, part: str, title: str) -> Plot:
    with style():
        rows, bars, notes = _bars(frame, where)
        sums = rows.groupby([part, "_bar"], sort=False)[TIME].sum().unstack()
        sums = _few(sums / sums.sum())
        sums = sums.reindex(columns=bars)
        figure = stacked_shares(
            bars,
            [""],
            NAMED[: len(sums)],
            lambda _: sums.to_numpy(dtype=float),
            label="Share of the iteration's time (%)",
            axis=None,
        )
        legend(figure, [Patch(color=NAMED[k]) for k in range(len(sums))], [str(name) for name in sums.index])
        head(figure, title, notes)
        data = sums.reset_index().melt(part, var_name="label", value_name="share").dropna()
        return Plot(figure, data, title, notes=tuple(notes))


def _few(shares: pd.DataFrame) -> pd.DataFrame:
    """The kinds with most time, the others as one."""
    order = shares.sum(axis=1).sort_values(ascending=False, kind="stable").index
    if len(order) <= MOST_KINDS + 1:
        return shares.reindex(order)
    kept = shares.reindex(order[:MOST_KINDS])
    kept.loc[_OTHER] = shares.reindex(order[MOST_KINDS:]).sum()
    return kept


def timeline(frame: pd.DataFrame, *, x: str | None = None, where: Mapping[str, Any] | None = None) -> Plot:
    """Time of each step of an iteration, in the order in which they run; arguments and errors as by_kind.

    A panel for each iteration, on one scale; where not all fit, every suite's first goes before its second.
    """
    with style():
        rows, bars, notes = _bars(frame, where, every=False)
        suites = rows.drop_duplicates("_bar").set_index("_bar")["suite"]
        turn = suites.groupby(suites).cumcount().sort_values(kind="stable")
        shown = sorted(turn.index[:MOST_PANELS], key=bars.index)
        if len(shown) < len(bars):
            notes.append(f"{len(shown)} of {len(bars)} combinations are shown; the CSV tables have all")
        rows = rows[rows["_bar"].isin(shown)]
        kinds = list(rows.groupby("op")[TIME].sum().sort_values(ascending=False, kind="stable").index)
        colours = {kind: NAMED[min(place, MOST_KINDS)] for place, kind in enumerate(kinds)}
        figure = new_figure(FULL_WIDTH, 0.5 + 1.35 * len(shown))
        panels = figure.subplots(len(shown), 1, squeeze=False, sharey=True)[:, 0]
        for axes, bar in zip(panels, shown, strict=True):
            part = rows[rows["_bar"] == bar]
            axes.bar(
                part["_step"],
                part[TIME],
                width=1.0,
                color=[colours[kind] for kind in part["op"]],
                linewidth=0,
            )
            axes.set_yscale("log")
            axes.set_ylabel("ms")
            axes.set_title(str(bar))
            axes.margins(x=0.01)
        panels[-1].set_xlabel("Step, in the order in which an iteration runs them")
        named = kinds[:MOST_KINDS]
        handles = [Patch(color=colours[kind]) for kind in named]
        words = [str(kind) for kind in named]
        if len(kinds) > MOST_KINDS:
            handles, words = [*handles, Patch(color=NAMED[MOST_KINDS])], [*words, _OTHER]
        legend(figure, handles, words)
        title = "Time layer by layer"
        head(figure, title, notes)
        columns = ["_bar", "_step", "item", "name", "op", "phase", "repeats", TIME]
        data = rows[columns].rename(columns={"_bar": "label", "_step": "step"})
        return Plot(figure, data, title, notes=tuple(notes))


def memory(frame: pd.DataFrame, *, x: str | None = None, where: Mapping[str, Any] | None = None) -> Plot:
    """Memory of an iteration by part; arguments and errors as by_kind.

    Raises:
        FigureError: no suite of the sweep is a network.
    """
    with style():
        parts = [name for name in MEMORY if frame.get(f"{name}_bytes", pd.Series(dtype=float)).sum() > 0]
        if not parts:
            raise FigureError("none of the sweep's suites is a network: memory by part is not known")
        known = frame[frame["weights_bytes"].notna()]
        rows, bars, notes = _bars(known, where, engine=False)
        first = rows.drop_duplicates("_bar").set_index("_bar").reindex(bars)
        figure = new_figure(FULL_WIDTH, 0.75 + 0.19 * len(bars))
        axes = figure.subplots()
        start = np.zeros(len(bars))
        for place, name in enumerate(parts):
            values = first[f"{name}_bytes"].fillna(0).to_numpy(dtype=float) / 1e6
            axes.barh(range(len(bars)), values, left=start, height=0.72, color=NAMED[place], linewidth=0.4)
            start = start + values
        axes.set_yticks(range(len(bars)), bars)
        axes.set_ylim(len(bars) - 0.4, -0.6)
        axes.set_xlabel("MB (fp32)")
        axes.grid(axis="y", visible=False)
        legend(figure, [Patch(color=NAMED[place]) for place in range(len(parts))], parts)
        title = "Memory of an iteration by part"
        head(figure, title, notes)
        columns = {f"{name}_bytes": name for name in parts}
        data = first.reset_index()[["_bar", *columns]].rename(columns={"_bar": "label", **columns})
        return Plot(figure, data, title, notes=tuple(notes))


def memory_over_images(
    frame: pd.DataFrame, *, x: str | None = None, where: Mapping[str, Any] | None = None
) -> Plot:
    """Memory of an iteration by part over its images; arguments as by_kind. One panel per network.

    Raises:
        FigureError: no network of the sweep runs with several numbers of images.
    """
    with style():
        parts = [name for name in MEMORY if f"{name}_bytes" in frame.columns]
        if IMAGES not in frame.columns or not parts:
            raise FigureError("the sweep has no networks with several numbers of images", key=IMAGES)
        rows = _kept(frame, where).dropna(subset=[IMAGES, f"{parts[0]}_bytes"])
        sizes = rows.groupby(["suite", IMAGES], sort=False)[[f"{name}_bytes" for name in parts]].first()
        sizes = sizes.rename(columns={f"{name}_bytes": name for name in parts}).fillna(0.0)
        known = [str(suite) for suite, part in sizes.groupby(level=0, sort=False) if len(part) > 1]
        if not known:
            raise FigureError("no network of the sweep runs with several numbers of images", key=IMAGES)
        shown = known[:MOST_PANELS]
        figure = new_figure(FULL_WIDTH, 0.6 + 1.5 * len(shown))
        panels = figure.subplots(len(shown), 1, squeeze=False)[:, 0]
        for axes, suite in zip(panels, shown, strict=True):
            part = sizes.xs(suite).sort_index()
            images, stacked = part.index.to_numpy(dtype=float), part.to_numpy(dtype=float).T / 1e6
            axes.stackplot(images, stacked, colors=NAMED[: len(parts)], linewidth=0.4)
            axes.plot(images, stacked.sum(axis=0), "o-", markersize=3, color="black", linewidth=0.6)
            axes.set_title(suite)
            axes.set_ylabel("MB (fp32)")
            axes.set_ylim(bottom=0)
        panels[-1].set_xlabel("Images of an iteration")
        legend(figure, [Patch(color=NAMED[place]) for place in range(len(parts))], parts)
        title = "Memory over the images of an iteration"
        left_out = len(known) - len(shown)
        notes = [f"{left_out} more networks: the CSV tables have them"] if left_out else []
        head(figure, title, notes)
        data = sizes.loc[shown].reset_index().rename(columns={IMAGES: "images"})
        return Plot(figure, data, title, notes=tuple(notes))


def _kept(frame: pd.DataFrame, where: Mapping[str, Any] | None) -> pd.DataFrame:
    """The rows that ``where`` keeps."""
    rows = frame
    for column, wanted in (where or {}).items():
        values = wanted if isinstance(wanted, Sequence) and not isinstance(wanted, str) else [wanted]
        rows = rows[rows[column].isin(values)]
    return rows


def _bars(
    frame: pd.DataFrame, where: Mapping[str, Any] | None, *, every: bool = True, engine: bool = True
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Rows that ran with the label of their bar, the bars, and what the reader must know."""
    if ITERATION not in frame.columns:
        raise FigureError("this is not a table of a suite's items", key=ITERATION)
    rows = _kept(frame, where)
    rows = rows.assign(_step=rows.groupby(ITERATION, sort=False).cumcount() + 1)
    left_out = rows[rows[TIME].isna()]
    if engine:
        rows = rows[rows[TIME].notna()]
    if rows.empty:
        raise FigureError("no item of the suites has run")
    varying = [name for name in frame.attrs.get("axes", ()) if rows[name].nunique() > 1]
    several = rows["engine"].nunique() > 1

    def named(row: Any) -> str:
        values = [f"{_short(name)} {_plain(row[name])}" for name in varying if row[name] == row[name]]
        return ", ".join([str(row["suite"]), *values, *([str(row["engine"])] if several and engine else [])])

    labels = {row[ITERATION]: named(row) for _, row in rows.drop_duplicates(ITERATION).iterrows()}
    rows = rows.assign(_bar=rows[ITERATION].map(labels))
    bars = list(dict.fromkeys(rows["_bar"]))
    notes = []
    if engine:
        titles = (engine_facts(str(name)).title for name in sorted(set(rows["engine"])))
        notes.append("engine: " + ", ".join(titles))
        if "engine_version" in rows:
            notes += _covered(rows)
    if engine and len(left_out):
        notes.append(f"not run, and not part of it: {', '.join(sorted(set(map(str, left_out['op']))))}")
    if every and len(bars) > MOST_BARS:
        notes.append(f"{MOST_BARS} of {len(bars)} combinations are shown; the CSV tables have all")
        bars = bars[:MOST_BARS]
        rows = rows[rows["_bar"].isin(bars)]
    return rows, bars, notes


def _covered(rows: pd.DataFrame) -> list[str]:
    """What the times of the first iteration rest on, and how many more there are."""
    parts = [part for _, part in rows.groupby(ITERATION, sort=False)]
    worst = max(parts, key=lambda part: coverage(part)["unmeasured_share"])
    of = "" if len(parts) == 1 else f"{worst['_bar'].iloc[0]}, the least measured of {len(parts)}: "
    return [of + coverage_text(worst)]


def _short(column: str) -> str:
    return "CUs" if column == "num_compute_units" else column.removeprefix("layer.")


def _plain(value: Any) -> str:
    """A column of whole numbers holds floats where a row has none."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


DRAWN: Mapping[str, tuple[str, str, Callable[..., Plot]]] = {
    "operations": ("Time by kind of layer", "Shares of an iteration's time by kind of layer.", by_kind),
    "phases": (
        "Time by phase",
        "Shares of an iteration's time by phase: forward, backward, update, communication.",
        by_phase,
    ),
    "layers": (
        "Time layer by layer",
        "Time of each step of an iteration, in the order of its run.",
        timeline,
    ),
    "memory": (
        "Memory by part",
        "Memory of an iteration: weights, activations, gradients, workspace.",
        memory,
    ),
    "memory_images": (
        "Memory over images",
        "Memory of an iteration by part, over the images of the iteration.",
        memory_over_images,
    ),
}
"""Title, caption and function of each figure of suites."""
