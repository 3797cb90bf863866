"""Names of figures: what each shows, what it needs, and whether a table can carry it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd

from analysis.figures import bars, engines, heat, kernel_time, lines, releases, roofline, suites
from analysis.figures.axis import axis, axis_columns
from analysis.figures.lines import Quantity
from analysis.figures.output import notice
from analysis.figures.selection import FigureError, completed, independent
from analysis.figures.style import Plot
from apuflow.core.engines import ENGINES

Draw = Callable[..., Plot]


@dataclass(frozen=True)
class FigureSpec:
    """One entry of the registry.

    Attributes:
        name: file name and target.
        title: what a list of figures calls it.
        caption: what it shows, in a sentence or two.
        needed: columns of which the table must have at least one number each.
        draw: ``draw(frame, *, x=None, where=None, ...) -> Plot``.
        axes: how many axes must vary.
        engines: how many engines must have rows.
        releases: of how many gem5 releases there must be rows.
        any_of: columns of which at least one must have numbers.
        per_kernel: whether it needs a table with one row per kernel launch instead of one per point.
        per_item: whether it needs the items of suites instead.
    """

    name: str
    title: str
    caption: str
    draw: Draw
    needed: tuple[str, ...] = ()
    axes: int = 0
    engines: int = 1
    releases: int = 0
    any_of: tuple[str, ...] = ()
    per_kernel: bool = False
    per_item: bool = False


def _over(name: str, shown: Quantity, caption: str) -> FigureSpec:
    return FigureSpec(name, shown.title, caption, partial(lines.over, shown=shown), (shown.column,))


_SPECS: tuple[FigureSpec, ...] = (
    FigureSpec(
        "speedup",
        "Speedup",
        "Speedup of the GPU's active time relative to the smallest machine, with the ideal line; "
        "a ring marks where a line first reaches 90 % of its maximum.",
        lines.speedup,
        (lines.TIME,),
        axes=1,
    ),
    _over(
        "cycles",
        Quantity("gpu_cycles", "GPU cycles", "GPU cycles", logarithmic=True),
        "GPU cycles in which at least one compute unit was awake.",
    ),
    _over(
        "ipc",
        Quantity("ipc", "IPC per compute unit", "Instructions per cycle"),
        "Wavefront instructions per awake cycle of a compute unit (DNNMark paper, figure 9).",
    ),
    _over(
        "occupancy",
        Quantity("occupancy", "Occupancy", "Achieved occupancy", percent=True),
        "Share of the wavefront slots that hold a wavefront (DNNMark paper, figure 10).",
    ),
    _over(
        "eligible",
        Quantity("eligible_wavefronts", "Eligible wavefronts", "Eligible wavefronts per cycle"),
        "Wavefronts with an instruction ready, per cycle and compute unit (DNNMark paper, figure 11).",
    ),
    _over(
        "tcp_hit_rate",
        Quantity("tcp_load_hit_rate", "TCP hit rate", "TCP (L1) load hit rate", percent=True),
        "Share of the vector loads' cache lines that hit in the TCP.",
    ),
    _over(
        "tcc_hit_rate",
        Quantity("tcc_hit_rate", "TCC hit rate", "TCC (L2) hit rate", percent=True),
        "Share of the accesses that hit in the TCC.",
    ),
    _over(
        "dram_bandwidth",
        Quantity("dram_read_bandwidth", "GB/s", "DRAM read bandwidth", factor=1e-9),
        "Bytes read from memory per second of the GPU's active time.",
    ),
    FigureSpec(
        "utilization",
        "Utilization by unit",
        "How busy each unit is, at the smallest and the largest machine (DNNMark paper, figure 12).",
        bars.utilization,
        any_of=tuple(name for names, _ in bars.UNITS for name in names),
    ),
    FigureSpec(
        "stalls",
        "Stall reasons",
        "Why resident wavefronts did not issue, at the smallest and the largest machine.",
        bars.stalls,
        any_of=tuple(name for name, _, _ in bars.STALLS),
    ),
    FigureSpec(
        "instruction_mix",
        "Instruction mix",
        "Wavefront instructions by class, at the smallest and the largest machine.",
        bars.instruction_mix,
        any_of=tuple(name for name, _, _ in bars.MIX),
    ),
    FigureSpec(
        "roofline",
        "Roofline",
        "Attained throughput over operations per byte, under the ceilings of the machine's units and links.",
        roofline.roofline,
        ("gpu_time", *roofline.MACHINE),
        any_of=("flops", "valu_thread_cycles"),
    ),
    FigureSpec(
        "heatmap",
        "Heat map",
        "Speedup over two axes at once, per workload.",
        heat.heatmap,
        (heat.TIME,),
        axes=2,
    ),
    FigureSpec(
        "engines",
        "Engines compared",
        "GPU cycles of the same points by different engines.",
        engines.engine_comparison,
        (engines.VALUE,),
        engines=2,
    ),
    FigureSpec(
        "releases",
        "What changed between releases",
        "Cycles, instructions and DRAM traffic of the same points on several gem5 releases, over the oldest.",
        releases.release_comparison,
        ("gpu_cycles",),
        releases=2,
    ),
    FigureSpec(
        "kernels",
        "GPU cycles by kernel",
        "Shares of each point's GPU cycles by kernel.",
        kernel_time.kernel_breakdown,
        (kernel_time.KERNEL, kernel_time.CYCLES),
        per_kernel=True,
    ),
)

_SPECS += tuple(
    FigureSpec(name, title, caption, draw, (suites.ITERATION, suites.TIME), per_item=True)
    for name, (title, caption, draw) in suites.DRAWN.items()
)

PER_KERNEL = frozenset(name for name, facts in ENGINES.items() if facts.tells_kernels)
"""Engines that tell the kernels of a point apart, whatever the release."""

FIGURES: Mapping[str, FigureSpec] = {spec.name: spec for spec in _SPECS}


def make(
    name: str,
    frame: pd.DataFrame,
    *,
    x: str | None = None,
    where: Mapping[str, Any] | None = None,
    **options: Any,
) -> Plot:
    """Draw a figure by name.

    Args:
        name: one of ``FIGURES``.
        frame: a result table, or several combined with ``combine``.
        x: column to put across; by default compute units, else the numeric axis with most values.
        where: rows to keep: column to a value or several.
        options: further arguments of that figure's function.

    Raises:
        FigureError: no such figure, or the table cannot carry it.
    """
    spec = _spec(name)
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
    axes: Collection[str], engines: Collection[str], *, workloads: bool = True, of_suites: bool = False
) -> tuple[str, ...]:
    """The figures of a sweep before any of it ran.

    Args:
        axes: what varies, with more than one value each; lists that advance together count once.
        engines: the sweep's engines.
        workloads: whether it runs workloads, whose kernels are told apart.
        of_suites: whether it runs suites.

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
    )


def _spec(name: str) -> FigureSpec:
    if name not in FIGURES:
        raise FigureError("there is no such figure", value=name, remedy=f"figures: {_names(tuple(FIGURES))}")
    return FIGURES[name]


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
