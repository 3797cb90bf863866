"""Cycles of the runs that a sample rests on, kernel by kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from apuflow.configure.point import Point
from apuflow.core.record import RunRecord, read_run
from apuflow_analysis.counters.extrapolate import extrapolations
from apuflow_analysis.tables.kernels import kernel_table
from apuflow_analysis.tables.records import COMPLETED, Row, read_record


@dataclass(frozen=True)
class Ran:
    """What gem5 took for an operation.

    Attributes:
        cycles: GPU cycles, kernel by kernel or all of them; empty where the run failed.
        doubts: relative half widths of their intervals (95 %), where launches were extrapolated.
        shares: of each kernel's workgroups, those that were launched; a kernel that is not named: all.
        kept_whole: kernels that need their whole grid.
    """

    cycles: tuple[float, ...]
    doubts: tuple[float, ...] = ()
    shares: Mapping[str, float] = field(default_factory=dict)
    kept_whole: frozenset[str] = frozenset()

    @property
    def doubt(self) -> float:
        """Half width of all its cycles over all of them."""
        if not self.doubts:
            return 0.0
        return float(np.dot(self.cycles, self.doubts)) / sum(self.cycles)


def read_ran(point: Point, kernels: Sequence[str], root: Path) -> Ran | None:
    """What a point's run took, kernel by kernel; None where it has no record.

    Where the run's statistics do not tell its kernels apart they are all together.

    Raises:
        AnalysisError: the run's record or statistics are damaged.
    """
    file = root / point.record
    if not file.exists():
        return None
    row = read_record(file)
    if not isinstance(row, Row) or row.values["status"] != COMPLETED:
        return Ran(())
    launches = _launches(read_run(file), row.counters["gpu_clock_ticks"])
    wide = launches["half_width"]
    cycles = [float(row.counters["gpu_cycles"])]
    half_widths = [float(wide.sum())]
    if len(kernels) > 1:
        by_kernel = kernel_table(file.parent).groupby("kernel")["gpu_cycles"].sum()
        if set(kernels) <= set(by_kernel.index):
            cycles = [float(by_kernel[name]) for name in kernels]
            half_widths = [float(wide.get(name, 0.0)) for name in kernels]
    doubts = [min(1.0, wide / number) for wide, number in zip(half_widths, cycles, strict=True)]
    return Ran(
        tuple(cycles),
        tuple(doubts) if any(doubts) else (),
        {str(name): float(share) for name, share in (launches["launched"] / launches["workgroups"]).items()},
        frozenset(map(str, launches.index[launches["kept_whole"]])),
    )


def _launches(record: RunRecord, clock: float) -> pd.DataFrame:
    """By kernel of a run: ``workgroups``, those ``launched``, ``half_width`` (GPU cycles), ``kept_whole``."""
    launches = record.launches
    parts = extrapolations(record) or [None] * len(launches)
    columns = {
        "kernel": [launch.kernel for launch in launches],
        "workgroups": [launch.workgroups for launch in launches],
        "launched": [launch.launched_workgroups for launch in launches],
        "half_width": [0.0 if part is None else part.half_width / clock for part in parts],
        "kept_whole": [launch.kept_whole is not None for launch in launches],
    }
    how = {"workgroups": "sum", "launched": "sum", "half_width": "sum", "kept_whole": "any"}
    return pd.DataFrame(columns).groupby("kernel").agg(how)
