"""Networks recorded on gem5, with some operations made slower or faster than the preview has ever seen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from network_runs import network_sweep

from apuflow.configure.point import Point
from apuflow.configure.sweep_keys import Sampling
from apuflow.plan.campaign import Campaign
from apuflow.sampling import suites as sampled_suites
from apuflow.sampling.runs import Ran
from apuflow.sampling.suites import Sampled, total_table

AIM = Sampling(bound=0.1, budget=0.6)


def largest(members: pd.DataFrame) -> pd.Series:
    time = members["predicted"] * members["repeats"]
    return pd.Series(members.index.isin(time.nlargest(3).index), index=members.index)


def at_random(members: pd.DataFrame) -> pd.Series:
    return pd.Series(np.random.default_rng(1).random(len(members)) < 0.1, index=members.index)


def everything(members: pd.DataFrame) -> pd.Series:
    return pd.Series(True, index=members.index)


def played(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    rows: pd.DataFrame,
    slow: Callable[..., pd.Series],
    factor: float,
) -> tuple[Sampled, float]:
    """The sample, and the cycles of the whole network, with gem5 slower by a factor where ``slow`` says."""
    recorded = {(str(of), str(kernel)): float(cycles) for of, kernel, cycles in rows.to_numpy()}
    runs: dict[str, Ran] = {}

    def measured(point: Point, *_: object) -> Ran | None:
        return runs.get(point.id)

    monkeypatch.setattr(sampled_suites, "read_ran", measured)
    campaign = Campaign(root)
    sweep = campaign.load("net")
    [one] = sampled_suites.sample_suites(campaign, sweep, AIM)
    factors = slow(one.members).map({True: factor, False: 1.0})
    while one.round:
        for name in (Path(record).parent.name for record in one.round):
            operation, kernels = map(str, one.members.loc[name, ["operation", "kernels"]])
            runs[name] = Ran(
                tuple(recorded[operation, kernel] * factors[name] for kernel in kernels.split("+"))
            )
        [one] = sampled_suites.sample_suites(campaign, sweep, AIM)
    cycles = one.members["operation"].map(rows.groupby("operation")["gpu_cycles"].sum())
    return one, float((cycles * factors * one.members["repeats"]).sum())


def test_intervals_hold_where_gem5_has_cliffs(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two networks, four cliffs: one of eight intervals of 95 % may miss."""
    monkeypatch.chdir(root)
    held = []
    for network, units in (("resnet18", 4), ("squeezenet1_1", 16)):
        rows = network_sweep(root, network, units)
        for slow, factor in ((largest, 2.0), (at_random, 2.0), (at_random, 0.5), (everything, 2.0)):
            one, truth = played(root, monkeypatch, rows, slow, factor)
            held.append(one.estimate.low <= truth <= one.estimate.high)
    assert held.count(False) <= 1


def test_where_the_audit_contradicts_the_interval_widens_and_runs_are_named(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    rows = network_sweep(root, "resnet18", 4)
    calm, _ = played(root, monkeypatch, rows, at_random, 1.0)
    cliff, truth = played(root, monkeypatch, rows, at_random, 5.0)
    assert cliff.estimate.relative > calm.estimate.relative
    assert cliff.estimate.low <= truth <= cliff.estimate.high
    [total] = total_table([cliff]).to_dict("records")
    assert total["ended"] == "contradicted" and total["audit_inside"] < total["audited"]
    unknown = cliff.members["operation"][cliff.members["measured"].isna()]
    assert total["more_runs"] and set(total["more_runs"].split("; ")) <= set(unknown)
