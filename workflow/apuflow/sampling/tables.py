"""The tables of a sample: its operations, and the total of each iteration."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from apuflow.core.scalar import Scalar
from apuflow.sampling.suites import MEASURED, Sampled


def member_table(sampled: Iterable[Sampled]) -> pd.DataFrame:
    """Every distinct operation of every iteration: ``Sampled.members`` with suite, engine, combination."""
    frames = []
    for one in sampled:
        frame = one.members.rename_axis("point").reset_index()
        for name, value in (("at", one.label), ("engine", one.engine), ("suite", one.suite)):
            frame.insert(0, name, value)
        frames.append(frame)
    return _rounded(pd.concat(frames, ignore_index=True))


def total_table(sampled: Iterable[Sampled]) -> pd.DataFrame:
    """A row per iteration: its cycles, their interval, and what they rest on."""
    return _rounded(pd.DataFrame([_total(one) for one in sampled]))


def _rounded(frame: pd.DataFrame) -> pd.DataFrame:
    """Cycles with one digit behind the point, shares with six: what an estimate has no more of."""
    cycles = ("predicted", "measured", "cycles", "low", "high", "cost")
    shares = ("error", "measured_doubt", "half_width", "missed", "spent", "simulated", "covered")
    return frame.round({**dict.fromkeys(cycles, 1), **dict.fromkeys(shares, 6)})


def _total(one: Sampled) -> dict[str, Scalar]:
    total = one.estimate.total
    origin, audit = one.members["origin"], one.audit
    return {
        "suite": one.suite,
        "engine": one.engine,
        "at": one.label,
        **one.axes,
        "cycles": total,
        "low": one.estimate.low,
        "high": one.estimate.high,
        "half_width": one.estimate.relative,
        "missed": one.estimate.missed / total,
        "bound": one.aim.bound,
        "confidence": one.aim.confidence,
        "ended": one.ended,
        "operations": len(origin),
        "measured": int((origin == MEASURED).sum()),
        "audited": len(audit),
        "audit_inside": int(audit["inside"].astype(bool).sum()),
        "out_of_reach": len(one.out_of_reach),
        "unmeasured": int(one.members["unmeasured"].sum()),
        "more_runs": "; ".join(one.members["operation"][one.more_runs]),
        "failed": one.failed,
        "left_out": one.left_out,
        "budget": one.aim.budget,
        "spent": one.spent,
        "simulated": one.estimate.cost,
        "covered": one.estimate.simulated,
    }
