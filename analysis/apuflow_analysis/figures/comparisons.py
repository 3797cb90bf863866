"""Engines and releases against each other: point by point, run by run, and kernel by kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from apuflow.core.engines import engine_facts
from apuflow.core.words import many
from apuflow_analysis.figures import panels, plot
from apuflow_analysis.figures.axis import FigureError, Where, axis_columns, label
from apuflow_analysis.figures.selection import completed, engines_of
from apuflow_analysis.figures.shares import stacked_shares
from apuflow_analysis.tables.columns import PRODUCTS, WRONG, flagged
from apuflow_analysis.tables.compare import ordered_pairs, set_together
from apuflow_analysis.tables.dispatches import PARTS, DispatchComparison

VALUE = "gpu_cycles"
_QUANTITIES: tuple[tuple[str, str, str, str], ...] = (
    ("gpu_cycles", "GPU cycles", plot.BLUE, "o"),
    ("instructions", "instructions", plot.GREEN, "s"),
    ("dram_bytes_read", "bytes read from DRAM", plot.ORANGE, "^"),
)
"""Column, name, colour and marker of what is compared."""
RELEASE = "release"
_WORK = ["engine", "workload", "direction"]
_WRONG = ("wrong outputs there", plot.VERMILLION, "x")
_APART = "apart"
_BAND = 0.25
"""Half width of the shaded band around equality."""
_RUN_BAND = 0.10
_RUN: Final[Mapping[str, Any]] = {
    "marker": "o",
    "linestyle": "none",
    "color": plot.BLUE,
    "markersize": 2.5,
    "alpha": 0.7,
}
_MOST_KERNELS = 40
"""Kernels with a bar of their own: the longest ones."""
_KERNELS_TITLE = "What the launcher leaves out"
_PART_COLOURS = (plot.GREY, plot.BLUE, plot.ORANGE, plot.SKY, "#dddddd")


def _equality(axes: Axes, values: pd.DataFrame, band: float, line: float, **look: Any) -> None:
    """Equal logarithmic axes for values, the line of equality, and a band around it."""
    low, high = float(values.min().min()) / 1.5, float(values.max().max()) * 1.5
    span = np.array([low, high])
    axes.fill_between(span, span * (1 - band), span * (1 + band), linewidth=0, **look)
    axes.plot(span, span, color=plot.GREY, linewidth=line, zorder=1)
    for set_scale, set_limits, scale in (
        (axes.set_xscale, axes.set_xlim, axes.xaxis),
        (axes.set_yscale, axes.set_ylim, axes.yaxis),
    ):
        set_scale("log")
        set_limits(low, high)
        plot.log_ticks(scale, low, high)


def _pairs(frame: pd.DataFrame, reference: str, other: str) -> pd.DataFrame:
    """Points that two engines both completed.

    Returns:
        ``program workload direction``, the axes, ``reference`` and ``value`` (GPU cycles), and ``error``
        (value / reference - 1); ``_APART``: whether other kernels compute the matrix products.
    """
    keys = ["program", "workload", "direction", *(name for name in axis_columns(frame) if name != "release")]
    frame = frame if PRODUCTS in frame.columns else frame.assign(**{PRODUCTS: None})
    left, right = (
        frame.loc[(frame["engine"] == engine) & frame[VALUE].gt(0), [*keys, VALUE, PRODUCTS]]
        for engine in (reference, other)
    )
    joined = left.merge(right, on=keys, suffixes=("", "_other"), validate="one_to_one")
    joined = joined.rename(columns={VALUE: "reference", f"{VALUE}_other": "value"})
    kinds, others = joined.pop(PRODUCTS), joined.pop(f"{PRODUCTS}_other")
    joined[_APART] = kinds.notna() & others.notna() & (kinds != others)
    error = joined["value"] / joined["reference"] - 1
    return joined.assign(error=error, engine=other, reference_engine=reference)


@plot.style()
def engine_comparison(frame: pd.DataFrame, *, x: str | None = None, where: Where = None) -> plot.Plot:
    """GPU cycles by one engine over those by another, point by point, with errors and ordered pairs.

    The reference is the engine nearest to hardware: gem5, else gem5-kernels. ``x`` has no meaning here.

    Raises:
        FigureError: fewer than two engines, or they share no completed point.
    """
    rows, notes = completed(frame, where)
    names = engines_of(rows)
    if len(names) < 2 or VALUE not in rows.columns:
        raise FigureError("a comparison needs two engines", key="engine", value=list(names))
    reference, others = names[0], names[1:]
    compared = [_pairs(rows, reference, other) for other in others]
    apart = sum(int(table[_APART].sum()) for table in compared)
    compared = [table[~table[_APART]].drop(columns=_APART) for table in compared]
    if apart:
        notes.append(f"{many(apart, 'pair')} left out: their matrix products are not by the same kernels")
    data = pd.concat(compared, ignore_index=True)
    if data.empty:
        raise FigureError("no point is completed by both engines", value=list(names))
    width, height = (plot.FULL_WIDTH, 3.0) if len(others) > 1 else (plot.SINGLE_WIDTH, 3.4)
    figure = plot.new_figure(width, height)
    drawn = figure.subplots(1, len(others), squeeze=False)[0]
    programs = list(dict.fromkeys(data["program"]))
    for axes, other, table in zip(drawn, others, compared, strict=True):
        axes.set_xlabel(f"GPU cycles, {reference}")
        axes.set_ylabel(f"GPU cycles, {other}")
        if table.empty:
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_title(f"{other}: no shared point")
            continue
        _equality(axes, table[["reference", "value"]], _BAND, 0.9, color="#eeeeee", zorder=0)
        for (program, direction), part in table.groupby(["program", "direction"], sort=False):
            look = plot.many_look(programs.index(str(program)))
            face = "white" if direction == "bwd" else look["color"]
            axes.plot(part["reference"], part["value"], markerfacecolor=face, **look)
        axes.set_aspect("equal")
        axes.set_title(many(len(table), "point"))
        off = 100 * table["error"].abs()
        notes.append(
            f"{other}: error {off.median():.1f} % in the median, {off.mean():.1f} % in the mean, "
            f"{off.quantile(0.9):.1f} % at the 90th percentile, {off.max():.1f} % at most{_order(table)}"
        )
    plot.program_legend(figure, programs, programs, backward=bool((data["direction"] == "bwd").any()))
    texts = "; ".join(engine_facts(name).title for name in names)
    told = (f"Engines: {texts}", *notes, f"grey: within {100 * _BAND:.0f} % of equality")
    return plot.finish(figure, data, "Engines compared", told)


def _order(table: pd.DataFrame) -> str:
    """Of each program's points that the reference tells apart, how many pairs are in its order."""
    counts = [
        ordered_pairs(zip(own["reference"], own["value"], strict=True))
        for _, own in table.groupby(["program", "direction"], sort=False)
    ]
    right, pairs = (sum(numbers) for numbers in zip(*counts, strict=True))
    return f"; {right} of {pairs} pairs in order" if pairs else ""


def _changes(rows: pd.DataFrame, reference: str, other: str) -> pd.DataFrame:
    """The workloads that two releases both completed.

    Returns:
        ``engine workload direction release``, ``points``, for each of ``_QUANTITIES`` the geometric mean of
        its ratio (other over reference; NaN where a release does not report it), and how many points have
        outputs that are wrong on the reference (``wrong_before``) and on the other (``wrong_after``).
    """
    known = [column for column, *_ in _QUANTITIES if column in rows.columns]
    rows = rows.assign(_wrong=flagged(rows, WRONG))
    left, right = (rows[rows[RELEASE] == name] for name in (reference, other))
    without = {RELEASE, *set_together(left, right)}
    keys = [*_WORK, *(name for name in axis_columns(rows) if name not in without)]
    left, right = (side[[*keys, *known, "_wrong"]] for side in (left, right))
    joined = left.merge(right, on=keys, suffixes=("_a", "_b"), validate="one_to_one")
    found = []
    for group, part in joined.groupby(_WORK, sort=False, dropna=False):
        row: dict[str, Any] = {**dict(zip(_WORK, group, strict=True)), RELEASE: other, "points": len(part)}
        for name in known:
            before, after = (part[f"{name}_{side}"].astype(float) for side in "ab")
            ratio = after / before.where(before > 0)
            row[name] = float(np.exp(np.log(ratio[ratio > 0]).mean()))
        row |= {"wrong_before": int(part["_wrong_a"].sum()), "wrong_after": int(part["_wrong_b"].sum())}
        found.append(row)
    return pd.DataFrame(found)


def _machines(rows: pd.DataFrame, releases: Sequence[str]) -> Iterator[str]:
    """What each release ran on, where a sweep sets axes together with the release."""
    first, *others = (rows[rows[RELEASE] == release] for release in releases)
    for name in dict.fromkeys(name for other in others for name in set_together(first, other)):
        if name != RELEASE:
            values = (", ".join(map(str, pd.unique(part[name]))) for part in (first, *others))
            yield f"{label(name)}: {', '.join(map(' on '.join, zip(values, releases, strict=True)))}"


@plot.style()
def release_comparison(frame: pd.DataFrame, *, x: str | None = None, where: Where = None) -> plot.Plot:
    """Cycles, instructions and DRAM traffic of each workload on every release, over those on the oldest.

    A cross marks workloads with outputs that are not what NumPy says. ``x`` has no meaning here.

    Raises:
        FigureError: fewer than two releases, or they share no completed point.
    """
    rows, notes = completed(frame, where, wrong_too=True)
    names = sorted(set(map(str, rows[RELEASE])))
    if len(names) < 2:
        remedy = "give the sweep an axis release"
        raise FigureError(
            "the figure releases compares gem5 releases", key=RELEASE, value=names, remedy=remedy
        )
    reference, others = names[0], names[1:]
    tables = [_changes(rows, reference, other) for other in others]
    if all(table.empty for table in tables):
        remedy = "run the same layers on each; where releases need machines of their own, one for each"
        raise FigureError("no point is completed on two of the releases", value=names, remedy=remedy)
    data = pd.concat([table for table in tables if len(table)], ignore_index=True)
    workloads = list(dict.fromkeys(data["workload"]))
    figure = plot.new_figure(plot.FULL_WIDTH, 0.7 + 0.2 * len(workloads))
    panels = figure.subplots(1, len(others), squeeze=False, sharey=True)[0]
    for axes, other, table in zip(panels, others, tables, strict=True):
        _panel(axes, table, workloads)
        axes.set_title(f"{other}: {int(table['points'].sum()) if len(table) else 0} points")
        axes.set_xlabel(f"{other}: change against {reference}")
    panels[0].set_yticks(range(len(workloads)), workloads)
    panels[0].invert_yaxis()
    looks = [*((name, colour, marker) for _, name, colour, marker in _QUANTITIES), _WRONG]
    plot.legend(figure, [(name, Line2D([], [], linestyle="none", marker=m, color=c)) for name, c, m in looks])
    told = (*notes, *_machines(rows, names), *_results(data, reference))
    return plot.finish(figure, data, "What changed between releases", told)


def _panel(axes: Any, table: pd.DataFrame, workloads: Sequence[str]) -> None:
    """Change in percent; a cross at the right edge where outputs are wrong."""
    axes.axvline(0, color=plot.GREY, linewidth=0.8, zorder=0)
    edge = 1.0
    for row in table.to_dict("records"):
        place = workloads.index(str(row["workload"]))
        for column, _, colour, marker in _QUANTITIES:
            change = 100 * (row.get(column, float("nan")) - 1)
            if change == change:
                axes.plot([change], [place], linestyle="none", marker=marker, color=colour)
                edge = max(edge, 1.15 * abs(change))
        if row["wrong_after"]:
            across = axes.get_yaxis_transform()
            axes.plot([0.97], [place], linestyle="none", marker="x", color=plot.VERMILLION, transform=across)
    axes.set_xlim(-min(edge, 105), edge)
    axes.xaxis.set_major_formatter(PercentFormatter(decimals=None))


def _results(data: pd.DataFrame, reference: str) -> list[str]:
    """What outputs became right or wrong."""
    said = []
    for release, part in data.groupby(RELEASE, sort=False):
        mended = part.loc[(part["wrong_before"] > 0) & (part["wrong_after"] == 0), "workload"]
        broken = part.loc[(part["wrong_before"] == 0) & (part["wrong_after"] > 0), "workload"]
        for verb, found in (("right", mended), ("wrong", broken)):
            if len(found):
                said.append(f"{verb} on {release}, not on {reference}: {', '.join(map(str, found))}")
    return said


@plot.style()
def scatter(frame: pd.DataFrame) -> plot.Plot:
    """Cycles of the preview over those of gem5: a point per run, a panel per primitive.

    Args:
        frame: a row per run: ``primitive``, ``gpu_cycles`` (gem5's), ``predicted``.

    Raises:
        FigureError: there is no run.
    """
    rows = frame[["primitive", VALUE, "predicted"]].copy()
    rows[VALUE] = pd.to_numeric(rows[VALUE], errors="coerce")
    rows = rows[(rows[VALUE] > 0) & (rows["predicted"] > 0)].reset_index(drop=True)
    if rows.empty:
        raise FigureError("there is no run of gem5 to compare the preview with", remedy="run some first")
    rows["error"] = rows["predicted"] / rows[VALUE] - 1.0
    names = sorted(rows["primitive"].unique())
    figure, drawn = panels.grid(len(names), height=1.7)
    for axes, name in zip(drawn, names, strict=True):
        part = rows[rows["primitive"] == name]
        _equality(axes, rows[[VALUE, "predicted"]], _RUN_BAND, 0.7, color=plot.GREY, alpha=0.25)
        axes.plot(part[VALUE], part["predicted"], **_RUN)
        inside = f"{(part['error'].abs() <= _RUN_BAND).mean():.0%} of {len(part)}"
        axes.set_title(name)
        axes.text(0.05, 0.95, inside, transform=axes.transAxes, va="top", fontsize=7)
    panels.bottom(drawn, "gem5 [cycles]")
    panels.left(drawn, "preview [cycles]")
    within = f"within {_RUN_BAND:.0%}"
    band = Patch(color=plot.GREY, alpha=0.25, linewidth=0)
    plot.legend(figure, [("a run", Line2D([], [], **_RUN)), (within, band)])
    title = "GPU cycles by the preview over those of gem5"
    return plot.finish(figure, rows, title, (f"in each panel: share of the runs {within}",))


def write_scatter(frame: pd.DataFrame, stem: Path) -> Sequence[Path]:
    """Write ``scatter`` as SVG and PNG, and its numbers as CSV; ``stem`` has no extension."""
    drawn = scatter(frame)
    return plot.save(drawn.figure, drawn.data, stem)


@plot.style()
def kernels_beside(compared: DispatchComparison) -> plot.Plot:
    """GPU cycles of every kernel in both runs; a kernel that one run alone has shows one bar."""
    rows = compared.table
    shown = rows[["cycles_a", "cycles_b"]].max(axis=1).nlargest(_MOST_KERNELS).index
    rows = rows.loc[sorted(shown)].reset_index(drop=True)
    figure = plot.new_figure(plot.FULL_WIDTH, 0.8 + 0.24 * len(rows))
    axes = figure.subplots()
    places = np.arange(len(rows))
    for offset, column, colour in ((-0.19, "cycles_a", plot.BLUE), (0.19, "cycles_b", plot.GREEN)):
        axes.barh(places + offset, rows[column].fillna(0), height=0.38, color=colour)
    labels = [f"{row.kernel}  {row.grid}" for row in rows.itertuples(index=False)]
    axes.set_yticks(places, [label if len(label) <= 52 else f"{label[:51]}…" for label in labels])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel("GPU cycles, first workgroup to end of the last")
    axes.grid(axis="y", visible=False)
    a, b = compared.names
    plot.legend(figure, [(f"A: {a}", Patch(color=plot.BLUE)), (f"B: {b}", Patch(color=plot.GREEN))])
    left_out = len(compared.table) - len(rows)
    notes = (*compared.notes, *([f"left out: the {left_out} shortest kernels"] if left_out else []))
    return plot.finish(figure, compared.table, _KERNELS_TITLE, notes, name="kernels")


@plot.style()
def time_parts(compared: DispatchComparison) -> plot.Plot:
    """Shares of both runs' simulated time: kernels of the layers, other kernels, and the time around them."""
    parts = compared.parts.set_index("part").loc[[name for name, _ in PARTS]]
    cycles = parts[["cycles_a", "cycles_b"]].to_numpy(dtype=float)
    bars = [f"{side}: {name}" for side, name in zip("AB", compared.names, strict=True)]
    shares = cycles / cycles.sum(axis=0)
    figure = stacked_shares(bars, [""], _PART_COLOURS, [shares], "Share of simulated time (%)")
    meanings = [meaning for _, meaning in PARTS]
    plot.legend(figure, [(text, Patch(color=c)) for text, c in zip(meanings, _PART_COLOURS, strict=True)])
    title = f"{_KERNELS_TITLE}: where the time goes"
    return plot.finish(figure, compared.parts.copy(), title, compared.notes, name="time")
