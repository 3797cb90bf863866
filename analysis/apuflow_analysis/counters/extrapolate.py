"""The whole of a launch of which gem5 ran the first workgroups (``ran`` in its record).

Time: once the machine is full, workgroups begin as others end. The workgroups left out are added at the mean
time ``s`` between two begins: ``T(W) = T(K) + (W - K) s``; cold start and the machine running empty are in
``T(K)``. The first filling of the machine, or the first layer of a grid of several axes, does not count for
the mean: it is cold. From the middle of each further filling to that of the next is one observation of ``s``
(workgroups that run in step begin all at once, so that single ones tell little). Their spread gives the
interval (95 %, Student's distribution), which is never narrower than ``FLOOR``.

Counts (column ``grows`` of ``counters.csv``): of what each workgroup does, as many times more as workgroups;
of awake time, as much more as time. Anything else (stalls, hits, misses, DRAM) depends on how far the caches
were filled, and stays unknown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import variance

from apuflow.core.errors import AnalysisError
from apuflow.core.interval import student_quantile
from apuflow.core.record import DispatchRecord, LaunchRecord, RunRecord
from apuflow_analysis.counters.counters import Counters
from apuflow_analysis.counters.table import BY_NAME
from apuflow_analysis.counters.terms import NAN

CONFIDENCE = 0.95
FLOOR = 0.1
"""Half width of the interval over the time that is added, at least (docs/sampling.md: what has been seen)."""
SHARED = 1.5
"""Variance of the mean over what the spread of its observations says: two that follow one another share the
workgroups of a filling, and so differ too little (of moving means over one filling: 3/2)."""


@dataclass(frozen=True)
class Extrapolation:
    """What is added to a launch.

    Attributes:
        ran, whole: workgroups that ran, and those of the whole launch.
        ticks: time of those that did not run.
        half_width: of the interval of ``ticks``; infinite where there were too few fillings to tell.
    """

    ran: int
    whole: int
    ticks: float
    half_width: float

    def of(self, dump: Counters) -> Counters:
        """The counters of the whole launch."""
        active = dump["gpu_active_ticks"]
        factors = {"work": self.whole / self.ran, "time": (active + self.ticks) / active, "no": 1.0}
        numbers: dict[str, float] = {}
        for name, value in dump.items():
            grows = BY_NAME[name].grows
            whole = value + round(self.ticks) if grows == "ticks" else value * factors.get(grows, NAN)
            counts = grows in ("work", "time") and math.isfinite(value)
            numbers[name] = float(round(whole)) if counts else whole
        return replace(dump, numbers=numbers)


def extrapolation(launch: LaunchRecord, dispatch: DispatchRecord | None) -> Extrapolation | None:
    """What is missing of a launch by gem5's trace of it; None: nothing, all of its workgroups ran.

    Raises:
        AnalysisError: the trace does not say when its workgroups began.
    """
    if launch.ran is None:
        return None
    held, fillings = (dispatch.held or 0, dispatch.fillings) if dispatch is not None else (0, ())
    cold = -(-max(held, launch.layer_workgroups) // held) if held else 0
    if not held or len(fillings) != launch.ran // held or len(fillings) < cold + 2:
        raise AnalysisError(
            f"gem5's trace does not say when the {launch.ran:,} workgroups of {launch.kernel} began: there "
            "is nothing to extrapolate from",
            key="dispatches",
            remedy="take `workgroups` out of the sweep: all workgroups are simulated then",
        )
    left = launch.workgroups - launch.ran
    apart = [(after - before) / held for before, after in pairwise(fillings[cold:])]
    ticks = left * math.fsum(apart) / len(apart)
    return Extrapolation(launch.ran, launch.workgroups, ticks, max(left * _half_width(apart), FLOOR * ticks))


def _half_width(values: Sequence[float]) -> float:
    """Half of the confidence interval of the mean."""
    count = len(values)
    if count < 2:
        return math.inf
    return student_quantile(CONFIDENCE, count - 1) * math.sqrt(SHARED * variance(values) / count)


def extrapolations(record: RunRecord) -> tuple[Extrapolation | None, ...]:
    """Of every launch of a run; none where all of them ran whole.

    Raises:
        AnalysisError: as :func:`extrapolation`.
    """
    if all(launch.ran is None for launch in record.launches):
        return ()
    traced: Sequence[DispatchRecord | None] = record.dispatches
    if len(traced) != len(record.launches):
        traced = [None] * len(record.launches)
    return tuple(map(extrapolation, record.launches, traced))


def half_width(parts: Sequence[Extrapolation | None]) -> float:
    """Of the sum of a run's launches, in ticks: errors of one kind add up."""
    return math.fsum(part.half_width for part in parts if part is not None)


def interval(parts: Sequence[Extrapolation | None], ticks: float) -> tuple[float, float]:
    """The ends of the interval of a run's ticks; the lower one is never below what has been simulated."""
    wide, added = half_width(parts), math.fsum(part.ticks for part in parts if part is not None)
    return ticks - min(wide, added), ticks + wide


def told(parts: Sequence[Extrapolation | None], numbers: Mapping[str, float]) -> str | None:
    """What a row says of it: how many workgroups ran, how far its cycles may be off; None: all ran."""
    cut = [part for part in parts if part is not None]
    if not cut:
        return None
    launches = f"{len(cut)} of {len(parts)} launches: " if len(parts) > 1 else ""
    share = half_width(parts) / numbers["gpu_active_ticks"]
    error = f"+- {share:.1%}" if math.isfinite(share) else "no error known"
    ran, whole = sum(part.ran for part in cut), sum(part.whole for part in cut)
    return f"{launches}extrapolated from {ran:,} of {whole:,} workgroups, {error}"
