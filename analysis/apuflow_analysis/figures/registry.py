"""Figures by name: drawing one, and whether a table can carry it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from apuflow.core.engines import ENGINES
from apuflow_analysis.figures.axis import axis, axis_columns
from apuflow_analysis.figures.choice import Choice, FigureError, choice_of, choose
from apuflow_analysis.figures.output import notice
from apuflow_analysis.figures.selection import completed, independent
from apuflow_analysis.figures.specs import FIGURES, FigureSpec
from apuflow_analysis.figures.style import Plot

PER_KERNEL = frozenset(name for name, facts in ENGINES.items() if facts.tells_kernels)
"""Engines that tell the kernels of a point apart, whatever the release."""


def make(
    name: str,
    frame: pd.DataFrame,
    *,
    x: str | None = None,
    where: Mapping[str, Any] | None = None,
    lines: Sequence[str] | None = None,
    baseline: Mapping[str, Any] | None = None,
    **options: Any,
) -> Plot:
    """Draw a figure by name.

    Args:
        name: one of ``FIGURES``.
        frame: a result table, or several combined with ``combine``.
        x: column to put across; by default the machine's size with the greatest effect on the GPU time.
        where: rows to keep: column to a value or several.
        lines: columns that make lines, the most important first; others are held.
        baseline: column to the value that speedups are relative to and at which axes are held.
        options: further arguments of that figure's function.

    Raises:
        FigureError: no such figure, or the table cannot carry it.
    """
    spec = _spec(name)
    if lines is not None or baseline is not None:
        frame = choose(frame, Choice(x, None if lines is None else tuple(lines), baseline or {}))
    reason = refusal(name, frame)
    if reason is not None:
        raise reason
    plot = spec.draw(frame, x=x, where=where, **options)
    caption = " ".join([spec.caption, *(f"{note[0].upper()}{note[1:]}." for note in plot.notes if note)])
    return replace(plot, name=name, caption=caption)


def make_or_say(name: str, frame: pd.DataFrame) -> Plot:
    """Draw a figure, or a notice that says why this table cannot carry it.

    Raises:
        FigureError: no such figure.
    """
    spec = _spec(name)
    try:
        return make(name, frame)
    except FigureError as error:
        return notice(name, spec.title, error.message)


def refusal(name: str, frame: pd.DataFrame) -> FigureError | None:
    """Why a table cannot carry a figure, or None when it can."""
    reason = _refusal(_spec(name), frame)
    if reason is None or reason.remedy is not None:
        return reason
    others = tuple(spec.name for spec in FIGURES.values() if _refusal(spec, frame) is None)
    return FigureError(
        reason.message,
        key=reason.key,
        value=reason.value,
        remedy=f"figures that this table can carry: {_names(others)}",
    )


def _refusal(spec: FigureSpec, frame: pd.DataFrame) -> FigureError | None:
    name = spec.name
    if spec.per_item:
        missing = [column for column in spec.needed if column not in frame.columns]
        said = f"the figure {name} is of suites, and this is no table of their items"
        return FigureError(said, key=missing[0]) if missing else None
    try:
        rows, _ = completed(frame)
    except FigureError as error:
        return error
    for column in spec.needed:
        if column not in rows.columns or rows[column].isna().all():
            return FigureError(f"the table has no numbers for the figure {name}", key=column)
    if spec.any_of and not any(
        column in rows.columns and rows[column].notna().any() for column in spec.any_of
    ):
        return FigureError(f"the table has none of the figure {name}'s columns", key=", ".join(spec.any_of))
    varying, _ = independent(rows, [axis(rows, name) for name in axis_columns(rows)], [])
    if len(varying) < spec.axes:
        return FigureError(
            f"the figure {name} needs {spec.axes} or more axes that vary by themselves",
            value=[varied.column for varied in varying],
            remedy="give the sweep more axes, or ask for another figure",
        )
    objectives = choice_of(frame).objectives
    if len(objectives) < spec.objectives:
        return FigureError(
            f"the figure {name} needs {spec.objectives} or more objectives",
            key="figures.objectives",
            value=list(objectives),
            remedy="name them in the sweep: figures: {objectives: [gpu_cycles, 'tcc_size / 1e6']}",
        )
    found = sorted(set(map(str, rows["release"]))) if "release" in rows.columns else []
    if len(found) < spec.releases:
        return FigureError(
            f"the figure {name} compares gem5 releases and the table has {len(found)}",
            key="release",
            value=found,
            remedy="give the sweep an axis release",
        )
    engines = sorted(set(map(str, rows["engine"])))
    if len(engines) < spec.engines:
        return FigureError(
            f"the figure {name} compares engines and the table has {len(engines)}",
            key="engine",
            value=engines,
            remedy="name several engines in the sweep",
        )
    return None


def applicable(frame: pd.DataFrame) -> tuple[str, ...]:
    """Names of the figures that a table can carry."""
    return tuple(spec.name for spec in FIGURES.values() if _refusal(spec, frame) is None)


def planned(
    axes: Collection[str],
    engines: Collection[str],
    *,
    workloads: bool = True,
    of_suites: bool = False,
    asked: Collection[str] = (),
) -> tuple[str, ...]:
    """The figures of a sweep before any of it ran.

    Args:
        axes: what varies, with more than one value each; lists that advance together count once.
        engines: the sweep's engines.
        workloads: whether it runs workloads, whose kernels are told apart.
        of_suites: whether it runs suites.
        asked: figures that it names.

    Returns:
        Names; a figure whose metric no engine reports turns out as a ``notice``.
    """
    return tuple(
        spec.name
        for spec in FIGURES.values()
        if len(axes) >= spec.axes and len(engines) >= spec.engines
        if spec.releases < 2 or "release" in axes
        if not spec.per_kernel or (workloads and set(engines) & PER_KERNEL)
        if of_suites or not spec.per_item
        if spec.name in asked or not spec.on_request
    )


def _spec(name: str) -> FigureSpec:
    if name not in FIGURES:
        raise FigureError("there is no such figure", value=name, remedy=f"figures: {_names(tuple(FIGURES))}")
    return FIGURES[name]


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
