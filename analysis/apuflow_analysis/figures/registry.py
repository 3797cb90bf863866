"""Figures by name: what each shows and needs, whether a table can carry it, and drawing it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd

from apuflow.core.engines import ENGINES
from apuflow.core.figures import CAPTIONS
from apuflow_analysis.figures import (
    comparisons,
    energy,
    heat,
    ladders,
    limits,
    lines,
    paper,
    pareto,
    roofline,
    shares,
    suites,
)
from apuflow_analysis.figures.axis import (
    Choice,
    FigureError,
    axis,
    axis_columns,
    choice_of,
    choose,
    independent,
)
from apuflow_analysis.figures.lines import Quantity
from apuflow_analysis.figures.plot import Plot, notice
from apuflow_analysis.figures.selection import completed


@dataclass(frozen=True)
class FigureSpec:
    """One entry of the registry.

    Attributes:
        name: file name and target.
        draw: ``draw(frame, *, x=None, where=None, ...) -> Plot``: the result table (or several combined), the
            column across (by default as the sweep says, else the axis with the greatest effect), and the rows
            to keep (column to a value or several).
        needed: columns of which the table must have at least one number each.
        axes, engines, releases, objectives: how many of these there must be at least: axes that vary, engines
            and releases with rows, objectives of the sweep.
        any_of: columns of which at least one must have numbers.
        per_kernel: whether it needs a table with one row per kernel launch instead of one per point.
        per_item: whether it needs the items of suites instead.
        on_request: whether a report has it only where the sweep names it.
        caption: what it shows, in a sentence or two (``apuflow.core.figures``).
    """

    name: str
    title: str
    draw: Callable[..., Plot]
    needed: tuple[str, ...] = ()
    axes: int = 0
    engines: int = 1
    releases: int = 0
    objectives: int = 0
    any_of: tuple[str, ...] = ()
    per_kernel: bool = False
    per_item: bool = False
    on_request: bool = False
    caption: str = ""


def _over(name: str, shown: Quantity) -> FigureSpec:
    return FigureSpec(name, shown.title, partial(lines.over, shown=shown), (shown.column,))


def _parts(name: str, title: str, parts: Sequence[tuple[str, str, str]], meaning: str) -> FigureSpec:
    draw = partial(shares.stacked, parts=parts, title=title, meaning=meaning)
    return FigureSpec(name, title, draw, any_of=tuple(column for column, _, _ in parts))


def _suites(name: str, title: str, draw: Callable[..., Plot]) -> FigureSpec:
    return FigureSpec(name, title, draw, (suites.ITERATION, suites.TIME), per_item=True)


def _shares(name: str, title: str, part: str) -> FigureSpec:
    return _suites(name, title, partial(suites.shares, part=part, title=title))


def _ladder(name: str, title: str, draw: Callable[..., Plot]) -> FigureSpec:
    return FigureSpec(name, title, draw, _LAUNCHES, per_kernel=True, on_request=True)


_CYCLES = (comparisons.VALUE,)
_LAUNCHES = (shares.KERNEL, shares.CYCLES)
_STALLS = "Shares of the cycles of resident wavefronts that did not issue"
_PAPER = "Statements of the DNNMark paper"
_SPECS: tuple[FigureSpec, ...] = (
    FigureSpec("speedup", "Speedup", lines.speedup, (lines.TIME,), axes=1),
    _over("cycles", Quantity("gpu_cycles", "GPU cycles", "GPU cycles", logarithmic=True, power=1)),
    FigureSpec("bound", "What limits each point", limits.bounds, (limits.BOUND,)),
    _over("ipc", Quantity("ipc", "IPC per compute unit", "Instructions per cycle", paper=9, power=-1)),
    _over("occupancy", Quantity("occupancy", "Occupancy", "Achieved occupancy", percent=True, paper=10)),
    _over(
        "eligible",
        Quantity("eligible_wavefronts", "Eligible wavefronts", "Eligible wavefronts per cycle", paper=11),
    ),
    _over(
        "tcp_hit_rate",
        Quantity("tcp_load_hit_rate", "TCP hit rate", "TCP (L1) load hit rate", percent=True),
    ),
    _over("tcc_hit_rate", Quantity("tcc_hit_rate", "TCC hit rate", "TCC (L2) hit rate", percent=True)),
    _over(
        "dram_bandwidth",
        Quantity("dram_read_bandwidth", "GB/s", "DRAM read bandwidth", factor=1e-9, power=-1),
    ),
    FigureSpec("utilization", "Utilization by unit", limits.utilization, any_of=limits.METRICS),
    _parts("stalls", "Stall reasons", shares.STALLS, _STALLS),
    _parts("instruction_mix", "Instruction mix", shares.MIX, "Shares of the wavefront instructions executed"),
    FigureSpec("energy", "Energy by part", energy.by_part, energy.NEEDED),
    FigureSpec(
        "roofline",
        "Roofline",
        roofline.roofline,
        ("gpu_time", *roofline.MACHINE),
        any_of=("flops", "valu_thread_cycles"),
    ),
    FigureSpec("heatmap", "Heat map", heat.heatmap, (heat.TIME,), axes=2),
    FigureSpec("engines", "Engines compared", comparisons.engine_comparison, _CYCLES, engines=2),
    FigureSpec(
        "releases", "What changed between releases", comparisons.release_comparison, _CYCLES, releases=2
    ),
    FigureSpec("kernels", "GPU cycles by kernel", shares.kernel_breakdown, _LAUNCHES, per_kernel=True),
    _shares("operations", "Time by kind of layer", "op"),
    _shares("phases", "Time by phase", "phase"),
    _suites("layers", "Time layer by layer", suites.timeline),
    _suites("memory", "Memory by part", suites.memory),
    _suites("memory_images", "Memory over images", suites.memory_over_images),
    FigureSpec("paper_statements", _PAPER, paper.statements, paper.NEEDED, on_request=True),
    FigureSpec(
        "dominant_kernels",
        "Dominant kernels",
        paper.dominant_kernels,
        _LAUNCHES,
        per_kernel=True,
        on_request=True,
    ),
    _ladder("latency_ladder", ladders.LATENCY, ladders.latency),
    _ladder("bandwidth_ladder", ladders.BANDWIDTH, ladders.bandwidth),
    _ladder("ladder_numbers", ladders.NUMBERS, ladders.numbers),
    FigureSpec(
        "best_points", "Best points", pareto.best_points, _CYCLES, axes=1, objectives=1, on_request=True
    ),
    FigureSpec("pareto", pareto.TITLE, pareto.front, _CYCLES, axes=1, objectives=2, on_request=True),
)
FIGURES: Mapping[str, FigureSpec] = {spec.name: replace(spec, caption=CAPTIONS[spec.name]) for spec in _SPECS}


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
    reason = _refusal(spec, frame)
    if reason is not None:
        others = ", ".join(applicable(frame)) if reason.remedy is None else ""
        reason.remedy = reason.remedy or f"figures that this table can carry: {others or 'none'}"
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


def _refusal(spec: FigureSpec, frame: pd.DataFrame) -> FigureError | None:
    """Why a table cannot carry a figure, or None when it can."""
    figure = f"the figure {spec.name}"
    if spec.per_item:
        missing = [column for column in spec.needed if column not in frame.columns]
        said = f"{figure} is of suites, and this is no table of their items"
        return FigureError(said, key=missing[0]) if missing else None
    try:
        rows, _ = completed(frame)
    except FigureError as error:
        return error
    named = [column for column in (*spec.needed, *spec.any_of) if column in rows]
    known = {column for column in named if rows[column].notna().any()}
    for column in spec.needed:
        if column not in known:
            return FigureError(f"the table has no numbers for {figure}", key=column)
    if spec.any_of and not known & set(spec.any_of):
        return FigureError(f"the table has none of {figure}'s columns", key=", ".join(spec.any_of))
    varying, _ = independent(rows, [axis(rows, column) for column in axis_columns(rows)])
    for key, needed, found, said, remedy in (
        (
            None,
            spec.axes,
            [varied.column for varied in varying],
            f"needs {spec.axes} or more axes that vary by themselves",
            "give the sweep more axes, or ask for another figure",
        ),
        (
            "figures.objectives",
            spec.objectives,
            list(choice_of(frame).objectives),
            f"needs {spec.objectives} or more objectives",
            "name them in the sweep: figures: {objectives: [gpu_cycles, 'tcc_size / 1e6']}",
        ),
        (
            "release",
            spec.releases,
            _values(rows, "release"),
            "compares gem5 releases and the table has {}",
            "give the sweep an axis release",
        ),
        (
            "engine",
            spec.engines,
            _values(rows, "engine"),
            "compares engines and the table has {}",
            "name several engines in the sweep",
        ),
    ):
        if len(found) < needed:
            return FigureError(f"{figure} {said.format(len(found))}", key=key, value=found, remedy=remedy)
    return None


def _values(rows: pd.DataFrame, column: str) -> list[str]:
    return sorted(set(map(str, rows[column]))) if column in rows.columns else []


def applicable(frame: pd.DataFrame) -> tuple[str, ...]:
    """Names of the figures that a table can carry."""
    return tuple(name for name, spec in FIGURES.items() if _refusal(spec, frame) is None)


def planned(
    axes: Collection[str],
    engines: Collection[str],
    *,
    workloads: bool = True,
    of_suites: bool = False,
    named: Collection[str] = (),
) -> tuple[str, ...]:
    """The figures of a sweep before any of it ran.

    Args:
        axes: what varies, with more than one value each; lists that advance together count once.
        workloads: whether it runs workloads, whose kernels are told apart.
        named: figures that it names.

    Returns:
        Names; a figure whose metric no engine reports turns out as a ``notice``.
    """
    kernels = workloads and any(facts.tells_kernels for name, facts in ENGINES.items() if name in engines)
    return tuple(
        spec.name
        for spec in _SPECS
        if len(axes) >= spec.axes and len(engines) >= spec.engines
        if spec.releases < 2 or "release" in axes
        if kernels or not spec.per_kernel
        if of_suites or not spec.per_item
        if spec.name in named or not spec.on_request
    )


def _spec(name: str) -> FigureSpec:
    if name not in FIGURES:
        raise FigureError("there is no such figure", value=name, remedy=f"figures: {', '.join(FIGURES)}")
    return FIGURES[name]
