"""A total from a few simulated members: right on average, and inside its interval as often as promised."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pandas as pd
import pytest

from apuflow.configure.sampling import Sampling
from apuflow.study.sampling import Sample, strata


def network(generator: np.random.Generator, kernels: int, within: float, between: float) -> pd.DataFrame:
    """A made-up network: ``truth`` is ``predicted`` times a factor per kernel and one per member."""
    size = int(generator.integers(30, 100))
    kernel = generator.integers(0, kernels, size)
    predicted = np.exp(generator.normal(11, 1.5, size))
    factor = np.exp(generator.normal(0, between, kernels)[kernel] + generator.normal(0, within, size))
    return pd.DataFrame(
        {
            "kernels": [f"k{number}" for number in kernel],
            "weight": generator.geometric(0.4, size).astype(float),
            "predicted": predicted,
            "truth": predicted * factor,
        },
        index=[f"m{number}" for number in range(size)],
    )


def cycles(members: pd.DataFrame, names: Iterable[str]) -> dict[str, float]:
    """What gem5 would take for these."""
    return {name: float(members["truth"][name]) for name in names}


def sampled(members: pd.DataFrame, aim: Sampling) -> tuple[float, Sample, dict[str, float]]:
    """Simulate until the aim is met; the true total beside."""
    measured: dict[str, float] = {}
    while names := Sample(members, measured).next(aim):
        measured |= cycles(members, names)
    return float((members["weight"] * members["truth"]).sum()), Sample(members, measured), measured


@pytest.mark.parametrize(("within", "between"), [(0.05, 0.05), (0.1, 0.3), (0.2, 0.1)])
def test_the_interval_holds_the_total_as_often_as_promised(within: float, between: float) -> None:
    generator = np.random.default_rng(20261122)
    aim = Sampling(bound=0.05, budget=0.9)
    held, errors, widths = [], [], []
    for _ in range(100):
        truth, sample, _ = sampled(network(generator, 6, within, between), aim)
        estimate = sample.estimate(aim)
        held.append(abs(estimate.total - truth) <= estimate.half_width)
        errors.append(estimate.total / truth - 1)
        widths.append(estimate.relative)
    assert np.mean(held) >= 0.93
    assert abs(np.mean(errors)) < 0.01
    assert np.median(widths) <= 0.05


def test_fewer_cycles_than_a_random_choice_of_the_same_error() -> None:
    generator = np.random.default_rng(7)
    aim = Sampling(bound=0.05, budget=1)
    ours, theirs = [], []
    for _ in range(30):
        members = network(generator, 6, 0.1, 0.2)
        truth, sample, measured = sampled(members, aim)
        names = generator.permutation(members.index.to_numpy())
        spent = members["predicted"][names].cumsum() <= members["predicted"][list(measured)].sum()
        chance = Sample(members, cycles(members, names[spent.to_numpy()]))
        ours.append(abs(sample.estimate(aim).total / truth - 1))
        theirs.append(abs(chance.estimate(aim).total / truth - 1))
    assert np.mean(ours) < np.mean(theirs)


def test_all_measured_is_the_sum_itself() -> None:
    members = network(np.random.default_rng(3), 3, 0.1, 0.1)
    truth = float((members["weight"] * members["truth"]).sum())
    estimate = Sample(members, cycles(members, members.index)).estimate(Sampling())
    assert estimate.total == pytest.approx(truth, rel=1e-12)
    assert estimate.half_width == 0
    assert estimate.simulated == 1


def test_a_member_alike_takes_the_measured_factor() -> None:
    """Two measured members of a stratum, both 1.2 times the prediction; the third follows."""
    members = pd.DataFrame(
        {"kernels": ["a"] * 3, "weight": [1.0, 1, 10], "predicted": [1000.0, 2000, 3000]}, index=list("xyz")
    )
    estimate = Sample(members, {"x": 1200, "y": 2400}).estimate(Sampling())
    row = estimate.members.loc["z"]
    assert not row["is_measured"]
    assert 1.1 * 3000 < row["cycles"] < 1.22 * 3000
    assert row["low"] < row["cycles"] < row["high"]
    assert estimate.total == pytest.approx(1200 + 2400 + 10 * row["cycles"])


def test_the_budget_is_kept() -> None:
    members = network(np.random.default_rng(5), 20, 0.1, 0.1)
    names = Sample(members, {}).next(Sampling(bound=1e-6, budget=0.1))
    spent = members["predicted"][names].sum() / members["predicted"].sum()
    assert 0.05 < spent <= 0.1


def test_members_set_aside_take_no_part() -> None:
    members = network(np.random.default_rng(9), 3, 0.1, 0.1)
    aim = Sampling(budget=0.3)
    names = Sample(members, {}).next(aim)
    measured = cycles(members, names)
    aside = Sample(members, measured).audit(aim, "seed")
    assert len(aside) == 3
    assert not set(aside) & set(names)
    with_audit = Sample(members, measured | dict.fromkeys(aside, 1e12), aside)
    assert with_audit.estimate(aim).total == Sample(members, measured).estimate(aim).total
    assert not set(aside) & set(with_audit.next(Sampling(bound=1e-6, budget=1)))


def test_strata_are_kernels_and_size_classes() -> None:
    members = pd.DataFrame({"kernels": ["a", "a", "a", "b"], "predicted": [100, 999, 1000, 100]})
    assert strata(members).tolist() == ["a 1e2", "a 1e2", "a 1e3", "b 1e2"]


@pytest.mark.parametrize(
    ("change", "measured", "message"),
    [
        ({"weight": 0.0}, {}, "above 0"),
        ({"predicted": math.nan}, {}, "above 0"),
        ({}, {"other": 1.0}, "no member: other"),
        ({}, {"x": 0.0}, "measured cycles are above 0"),
    ],
)
def test_what_makes_no_sense_is_refused(
    change: dict[str, float], measured: dict[str, float], message: str
) -> None:
    members = pd.DataFrame({"kernels": ["a"], "weight": [1.0], "predicted": [10.0]}, index=["x"]).assign(
        **change
    )
    with pytest.raises(ValueError, match=message):
        Sample(members, measured)


def test_the_budget_holds_the_audit_before_it_is_run() -> None:
    members = pd.DataFrame({"kernels": "k", "weight": 1.0, "predicted": 1000.0}, index=list("abcdefghij"))
    aim = Sampling(bound=0.001, budget=0.5)
    assert len(Sample(members, {}, aside=["a", "b"]).next(aim)) == 3
    assert len(Sample(members, {"a": 1000.0}, aside=["a", "b"]).next(aim)) == 3


def test_a_round_is_a_quarter_of_the_budget_and_one_member_at_least() -> None:
    members = pd.DataFrame(
        {"kernels": "k", "weight": 1.0, "predicted": 1000.0}, index=list("abcdefghijklmnop")
    )
    aim = Sampling(bound=0.001, budget=0.5)
    sample = Sample(members, {})
    following = sample.next(aim)
    assert len(following) == 8
    assert sample.first(following, aim) == following[:2]
    assert sample.first(following, Sampling(bound=0.001, budget=0.1)) == following[:1]
    assert sample.first([], aim) == []


def test_an_audit_takes_half_of_the_budget_at_most() -> None:
    members = pd.DataFrame(
        {"kernels": "k", "weight": 1.0, "predicted": 100.0}, index=[f"m{number}" for number in range(100)]
    )
    sample = Sample(members, {})
    assert len(sample.audit(Sampling(budget=0.2, audit=50), "seed")) == 10
    assert len(sample.audit(Sampling(budget=0.2, audit=5), "seed")) == 5
    assert sample.audit(Sampling(budget=0.2, audit=5), "other") != sample.audit(
        Sampling(budget=0.2, audit=5), "seed"
    )
