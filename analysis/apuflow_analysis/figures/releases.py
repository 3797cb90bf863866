"""What changed between gem5 releases: the same points on several of them, against the oldest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from apuflow_analysis.figures.axis import axis_columns, label
from apuflow_analysis.figures.choice import FigureError
from apuflow_analysis.figures.selection import completed
from apuflow_analysis.figures.style import (
    BLUE,
    FULL_WIDTH,
    GREEN,
    GREY,
    ORANGE,
    VERMILLION,
    Plot,
    head,
    legend,
    new_figure,
    style,
)
from apuflow_analysis.tables.columns import WRONG
from apuflow_analysis.tables.compare import set_together

QUANTITIES: tuple[tuple[str, str, str, str], ...] = (
    ("gpu_cycles", "GPU cycles", BLUE, "o"),
    ("instructions", "instructions", GREEN, "s"),
    ("dram_bytes_read", "bytes read from DRAM", ORANGE, "^"),
)
"""Column, name, colour and marker of what is compared."""
RELEASE = "release"
_ROW = 0.2


def changes(frame: pd.DataFrame, reference: str, other: str) -> pd.DataFrame:
    """The workloads that two releases both completed.

    Returns:
        ``engine workload direction release``, ``points``, for each of ``QUANTITIES`` the geometric mean of
        its ratio (other over reference; NaN where a release does not report it), and how many points have
        outputs that are wrong on the reference (``wrong_before``) and on the other (``wrong_after``).
    """
    known = [column for column, *_ in QUANTITIES if column in frame.columns]
    rows = frame.assign(_wrong=frame["flags"].astype(str).str.contains(WRONG, regex=False))
    left, right = _parts(rows, reference, other)
    without = {RELEASE, *set_together(left, right)}
    keys = ["engine", "workload", "direction", *(name for name in axis_columns(rows) if name not in without)]
    left, right = (side[[*keys, *known, "_wrong"]] for side in (left, right))
    joined = left.merge(right, on=keys, suffixes=("_a", "_b"), validate="one_to_one")
    found = []
    for group, part in joined.groupby(["engine", "workload", "direction"], sort=False, dropna=False):
        values = {name: _mean_ratio(part[f"{name}_a"], part[f"{name}_b"]) for name in known}
        found.append(
            dict(zip(("engine", "workload", "direction"), group, strict=True))
            | {RELEASE: other, "points": len(part), **values}
            | {"wrong_before": int(part["_wrong_a"].sum()), "wrong_after": int(part["_wrong_b"].sum())}
        )
    return pd.DataFrame(found)


def _parts(rows: pd.DataFrame, *releases: str) -> Iterator[pd.DataFrame]:
    """The rows of each release."""
    for name in releases:
        part = rows[rows[RELEASE] == name]
        part.attrs = dict(rows.attrs)
        yield part


def _machines(rows: pd.DataFrame, releases: Sequence[str]) -> Iterator[str]:
    """What each release ran on, where a sweep sets axes together with the release."""
    first, *others = _parts(rows, *releases)
    for name in dict.fromkeys(name for other in others for name in set_together(first, other)):
        if name != RELEASE:
            values = (", ".join(map(str, pd.unique(part[name]))) for part in (first, *others))
            yield f"{label(name)}: {', '.join(map(' on '.join, zip(values, releases, strict=True)))}"


def _mean_ratio(before: pd.Series[Any], after: pd.Series[Any]) -> float:
    a, b = (side.to_numpy(dtype=np.float64) for side in (before, after))
    known = (a > 0) & (b > 0)
    return float(np.exp(np.log(b[known] / a[known]).mean())) if known.any() else float("nan")


def release_comparison(
    frame: pd.DataFrame, *, x: str | None = None, where: Mapping[str, Any] | None = None
) -> Plot:
    """Cycles, instructions and DRAM traffic of each workload on every release, over those on the oldest.

    A cross marks workloads with outputs that are not what NumPy says. ``x`` has no meaning here.

    Raises:
        FigureError: fewer than two releases, or they share no completed point.
    """
    with style():
        rows, notes = completed(frame, where, wrong_too=True)
        names = sorted(set(map(str, rows[RELEASE])))
        if len(names) < 2:
            raise FigureError(
                "the figure releases compares gem5 releases",
                key=RELEASE,
                value=names,
                remedy="give the sweep an axis release",
            )
        reference, others = names[0], names[1:]
        tables = [changes(rows, reference, other) for other in others]
        if all(table.empty for table in tables):
            raise FigureError(
                "no point is completed on two of the releases",
                value=names,
                remedy="run the same layers on each; where releases need machines of their own, one for each",
            )
        workloads = list(dict.fromkeys(name for table in tables if len(table) for name in table["workload"]))
        figure = new_figure(FULL_WIDTH, 0.7 + _ROW * len(workloads))
        panels = figure.subplots(1, len(others), squeeze=False, sharey=True)[0]
        for axes, other, table in zip(panels, others, tables, strict=True):
            _panel(axes, table, workloads)
            axes.set_title(f"{other}: {int(table['points'].sum()) if len(table) else 0} points")
            axes.set_xlabel(f"{other}: change against {reference}")
        panels[0].set_yticks(range(len(workloads)), workloads)
        panels[0].invert_yaxis()
        handles = [
            Line2D([], [], linestyle="none", marker=marker, color=colour) for *_, colour, marker in QUANTITIES
        ]
        handles.append(Line2D([], [], linestyle="none", marker="x", color=VERMILLION))
        legend(figure, handles, [*(name for _, name, *_ in QUANTITIES), "wrong outputs there"])
        data = pd.concat([table for table in tables if len(table)], ignore_index=True)
        all_notes = (*notes, *_machines(rows, names), *_results(data, reference))
        title = "What changed between releases"
        head(figure, title, all_notes)
        return Plot(figure, data, title, notes=all_notes)


def _panel(axes: Any, table: pd.DataFrame, workloads: Sequence[str]) -> None:
    """Change in percent; a cross at the right edge where outputs are wrong."""
    axes.axvline(0, color=GREY, linewidth=0.8, zorder=0)
    edge = 1.0
    for row in table.to_dict("records") if len(table) else ():
        place = workloads.index(str(row["workload"]))
        for column, _, colour, marker in QUANTITIES:
            change = 100 * (row.get(column, float("nan")) - 1)
            if change == change:
                axes.plot([change], [place], linestyle="none", marker=marker, color=colour)
                edge = max(edge, 1.15 * abs(change))
        if row["wrong_after"]:
            across = axes.get_yaxis_transform()
            axes.plot([0.97], [place], linestyle="none", marker="x", color=VERMILLION, transform=across)
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
