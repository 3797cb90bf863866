"""Cliffs of a result table: steps along an axis whose times differ more than their work, and why.

The cause comes from the terms of a row: how long each unit is busy (``tables.columns.busy`` times the
cycles), and what is counted (stores, page walks, ...), both beside the growth of the work.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import pandas as pd

from apuflow_analysis.tables.columns import BOUNDS, busy

CYCLES: Final = "gpu_cycles"
WORK: Final = "flops"
LAYER: Final = "layer."
STEEP = 3.0
"""Growth of the cycles, over that of the floating-point operations, from which a step is a cliff."""
SLOWER = 1.1
"""Cycles over those of a neighbour with less work, or with more units, from which a step is named."""
UNITS: Final = ("num_compute_units", "num_tccs", "num_dirs", "simds_per_cu", "wfs_per_simd", "max_cu_tokens")
"""Axes on which more should not be slower."""
EXPLAINED = 0.5
"""Part of the growth of the cycles from which a unit's busy time is their cause."""
GROWN = 1.5
"""Growth of a count, over that of the work, from which it is named."""
COUNTS: Final = {
    "global_writes": "stores",
    "global_reads": "loads",
    "page_walks": "page walks",
    "l1_tlb_misses": "misses of the L1 TLB",
    "dram_bytes_read": "bytes read from DRAM",
    "dram_bytes_written": "bytes written to DRAM",
    "lds_accesses": "LDS accesses",
    "instructions": "instructions",
    "workgroups_max": "workgroups of the busiest unit",
}


class Cliff(NamedTuple):
    """A step between two neighbours of an axis.

    Attributes:
        axis, before, after: the column and both values, in rising order.
        where: workload, engine and the values of the other axes.
        cycles, work: factors from ``before`` to ``after``.
        cause: what makes it, in words.
    """

    axis: str
    before: float
    after: float
    where: str
    cycles: float
    work: float
    cause: str

    def __str__(self) -> str:
        name = self.axis.removeprefix(LAYER)
        work = f", work x {self.work:.3g}" if self.work != 1.0 else ""
        head = f"{self.where}: {name} {self.before:g} to {self.after:g}: cycles x {self.cycles:.3g}{work}"
        return f"{head}: {self.cause}"


def cliffs(frame: pd.DataFrame, axes: Sequence[str]) -> list[Cliff]:
    """The cliffs between neighbours of each numeric axis, the steepest first.

    Args:
        frame: a result table, with ``gpu_cycles`` and ``workload``. Sizes of layers are compared where it has
            ``flops``.
        axes: columns of the axes.
    """
    if not {CYCLES, "workload"} <= {*frame.columns}:
        return []
    numeric = [one for one in axes if one in frame and pd.api.types.is_numeric_dtype(frame[one])]
    sized = [one for one in numeric if one in UNITS or (one.startswith(LAYER) and WORK in frame)]
    found = [one for axis in sized for one in _along(frame, axis, axes)]
    return sorted(found, key=lambda one: -max(one.cycles / one.work, one.work / one.cycles))


def _along(frame: pd.DataFrame, axis: str, axes: Sequence[str]) -> Iterator[Cliff]:
    fixed = [name for name in ("workload", "engine", *axes) if name in frame.columns and name != axis]
    rows = frame[frame[CYCLES] > 0].dropna(subset=[axis])
    for _, group in rows.groupby(fixed, sort=False, dropna=False):
        ordered = group.sort_values(axis, kind="stable").drop_duplicates(axis)
        for (_, less), (_, more) in pairwise(ordered.iterrows()):
            cycles = float(more[CYCLES] / less[CYCLES])
            work = 1.0 if axis in UNITS else _ratio(less, more, WORK)
            steep = work >= 1.0 and axis not in UNITS and cycles > STEEP * work
            slower = cycles > SLOWER if axis in UNITS else work > 1.0 and cycles * SLOWER < 1.0
            if steep or slower:
                ends = float(less[axis]), float(more[axis])
                own = (f"{name.removeprefix(LAYER)} {less[name]}" for name in fixed if name in axes)
                where = ", ".join([str(less["workload"]), *own])
                yield Cliff(axis, *ends, where, cycles, work, _cause(less, more, work))


def _ratio(less: pd.Series[Any], more: pd.Series[Any], column: str) -> float:
    """The factor between two counts; NaN where either is unknown or nothing."""
    values = [float(row[column]) for row in (less, more)]
    return values[1] / values[0] if min(values) > 0.0 else float("nan")


def _cause(less: pd.Series[Any], more: pd.Series[Any], work: float) -> str:
    """Which unit's busy time makes the difference, and which counts changed more than the work."""
    before, after = (
        {name: part * float(row[CYCLES]) for name, part in busy(row).items()} for row in (less, more)
    )
    both = [name for name in after if name in before]
    step = float(more[CYCLES] - less[CYCLES])
    grown = {name: (after[name] - before[name]) / step for name in both}
    top = max(grown, key=lambda name: grown[name], default=None)
    if top is not None and grown[top] > EXPLAINED:
        said = f"{BOUNDS[top].meaning}: busy for {before[top]:,.0f}, then {after[top]:,.0f} cycles"
    else:
        bounds = [BOUNDS[row["bound"]].meaning for row in (less, more) if row.get("bound") in BOUNDS]
        limits = f"; limited by {', then '.join(dict.fromkeys(bounds))}" if bounds else ""
        said = f"no unit's busy time changes so much{limits}"
    changed = {}
    for column, words in COUNTS.items():
        ratio = _ratio(less, more, column) if column in less and column in more else float("nan")
        beyond = ratio / work if step > 0.0 else work / ratio
        if beyond > GROWN:
            changed[f"{words} x {ratio:.3g}"] = beyond
    first = sorted(changed, key=lambda text: -changed[text])[:3]
    return said + (f" ({', '.join(first)})" if first else "")


def cliff_texts(frame: pd.DataFrame, axes: Sequence[str], most: int = 3) -> list[str]:
    """``cliffs`` as sentences: the steepest, and how many more there are."""
    found = cliffs(frame, axes)
    texts = [str(one) for one in found[:most]]
    return [*texts, f"and {len(found) - most} more steps of this kind"] if len(found) > most else texts
