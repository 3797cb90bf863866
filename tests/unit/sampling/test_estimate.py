"""A total from a few simulated members: right on average, and inside its interval as often as promised."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pandas as pd
import pytest

from apuflow.configure.sweep_keys import Sampling
from apuflow.sampling.estimate import Sample


def network(generator: np.random.Generator, kernels: int, within: float, between: float) -> pd.DataFrame:
    """A made-up network of operations of one to three kernels.

    ``truth`` is ``predicted`` times a factor of the kernel and one of its own.
    """
    size = int(generator.integers(30, 100))
    operation = np.repeat(np.arange(size), generator.integers(1, 4, size))
    kernel = generator.integers(0, kernels, len(operation))
    predicted = np.exp(generator.normal(11, 1.5, len(operation)))
    factor = np.exp(
        generator.normal(0, between, kernels)[kernel] + generator.normal(0, within, len(operation))
    )
    return pd.DataFrame(
        {
            "family": [f"f{number // 2}" for number in kernel],
            "kernel": [f"k{number}" for number in kernel],
            "weight": generator.geometric(0.4, size).astype(float)[operation],
            "predicted": predicted,
            "truth": predicted * factor,
        },
        index=[f"m{number}" for number in operation],
    )


def sample(
    parts: pd.DataFrame,
    measured: dict[str, list[float]],
    aside: Iterable[str] = (),
    doubts: dict[str, list[float]] | None = None,
) -> Sample:
    weight = dict(zip(parts.index, parts["weight"], strict=True))
    return Sample(parts, weight, measured, tuple(aside), doubts)


def alone(number: int, predicted: float, names: str = "") -> pd.DataFrame:
    """Operations of one kernel, all alike."""
    index = list(names) or [f"m{each}" for each in range(number)]
    return pd.DataFrame({"family": "f", "kernel": "k", "weight": 1.0, "predicted": predicted}, index=index)


def cycles(parts: pd.DataFrame, names: Iterable[str]) -> dict[str, list[float]]:
    """What gem5 would take for these."""
    return {name: parts.loc[[name], "truth"].tolist() for name in names}


def truth_of(parts: pd.DataFrame) -> float:
    return float((parts["weight"] * parts["truth"]).sum())


def sampled(parts: pd.DataFrame, aim: Sampling) -> tuple[float, Sample, dict[str, list[float]]]:
    """Simulate until the aim is met; the true total beside."""
    measured: dict[str, list[float]] = {}
    while names := sample(parts, measured).next(aim):
        measured |= cycles(parts, names)
    return truth_of(parts), sample(parts, measured), measured


@pytest.mark.parametrize(("within", "between"), [(0.05, 0.05), (0.1, 0.3), (0.2, 0.1)])
def test_the_interval_holds_the_total_as_often_as_promised(within: float, between: float) -> None:
    generator = np.random.default_rng(20261122)
    aim = Sampling(bound=0.05, budget=0.9)
    held, errors, widths = [], [], []
    for _ in range(50):
        truth, found, _ = sampled(network(generator, 6, within, between), aim)
        estimate = found.estimate(aim)
        held.append(abs(estimate.total - truth) <= estimate.half_width)
        errors.append(estimate.total / truth - 1)
        widths.append(estimate.relative)
    assert np.mean(held) >= 0.93
    assert abs(np.mean(errors)) < 0.01
    assert np.median(widths) <= 0.05


def test_the_interval_holds_where_measurements_have_intervals_of_their_own() -> None:
    """Extrapolated launches: each measurement is off by what an interval of 20 % at 95 % allows."""
    generator = np.random.default_rng(20261125)
    aim, doubt = Sampling(bound=0.03, budget=0.4), 0.2
    held, errors = [], []
    for _ in range(50):
        parts = network(generator, 6, 0.1, 0.2).assign(doubt=doubt)
        seen = parts.assign(truth=parts["truth"] * np.exp(generator.normal(0, doubt / 1.96, len(parts))))
        measured: dict[str, list[float]] = {}
        doubts: dict[str, list[float]] = {}
        while names := sample(parts, measured, (), doubts).next(aim):
            measured |= cycles(seen, names)
            doubts |= {name: [doubt] * len(measured[name]) for name in names}
        estimate = sample(parts, measured, (), doubts).estimate(aim)
        held.append(abs(estimate.total - truth_of(parts)) <= estimate.half_width)
        errors.append(estimate.total / truth_of(parts) - 1)
    assert np.mean(held) >= 0.93
    assert abs(np.mean(errors)) < 0.01


def test_a_doubtful_measurement_counts_for_less() -> None:
    """One operation takes 1.5 times the prediction: the less it is known, the nearer to the prediction."""
    parts = alone(1, 1000)
    found = [
        sample(parts, {"m0": [1500.0]}, (), {"m0": [doubt]}).estimate(Sampling())
        for doubt in (0, 0.1, 0.5, 1)
    ]
    assert found[0].total == 1500 and found[0].half_width == 0
    totals, widths = [one.total for one in found], [one.relative for one in found]
    assert totals == sorted(totals, reverse=True) and 1000 < totals[-1] < 1400
    assert widths == sorted(widths)
    assert 0.1 < widths[1] < 0.1 * 2.57 / 1.96, "of Student's distribution with 5 degrees of freedom"
    row = found[1].members.loc["m0"]
    assert row["is_measured"] and row["low"] < row["cycles"] < row["high"]


def test_where_launches_are_cut_the_same_budget_measures_more() -> None:
    parts = network(np.random.default_rng(5), 6, 0.1, 0.2)
    cut = parts.assign(cost=parts["predicted"] / 8, doubt=0.08)
    aim = Sampling(bound=0.001, budget=0.1)
    whole, shorter = sample(parts, {}).next(aim), sample(cut, {}).next(aim)
    assert len(shorter) > len(whole)
    allowed = 0.1 * parts["predicted"].sum()
    assert cut.loc[shorter, "cost"].sum() <= allowed
    doubts = {name: [0.08] * len(parts.loc[[name]]) for name in shorter}
    narrow = sample(cut, cycles(parts, shorter), (), doubts).estimate(aim)
    wide = sample(parts, cycles(parts, whole)).estimate(aim)
    assert narrow.half_width < wide.half_width and narrow.simulated > 2 * wide.simulated
    assert narrow.cost == pytest.approx(
        cut.loc[shorter, "cost"].sum() / (parts["weight"] * parts["predicted"]).sum()
    )


def test_fewer_cycles_than_a_random_choice_of_the_same_error() -> None:
    generator = np.random.default_rng(7)
    aim = Sampling(bound=0.05, budget=1)
    ours, theirs = [], []
    for _ in range(30):
        parts = network(generator, 6, 0.1, 0.2)
        truth, found, measured = sampled(parts, aim)
        names = generator.permutation(found.members.index.to_numpy())
        cost = found.members["predicted"]
        spent = cost[names].cumsum() <= cost[list(measured)].sum()
        chance = sample(parts, cycles(parts, names[spent.to_numpy()]))
        ours.append(abs(found.estimate(aim).total / truth - 1))
        theirs.append(abs(chance.estimate(aim).total / truth - 1))
    assert np.mean(ours) < np.mean(theirs)


def test_all_measured_is_the_sum_itself() -> None:
    parts = network(np.random.default_rng(3), 3, 0.1, 0.1)
    estimate = sample(parts, cycles(parts, parts.index)).estimate(Sampling())
    assert estimate.total == pytest.approx(truth_of(parts), rel=1e-12)
    assert estimate.half_width == 0
    assert estimate.simulated == 1


def test_a_kernel_takes_the_factor_measured_in_another_operation() -> None:
    """In x and y kernel k takes 1.2 times the prediction and kernel l as long as predicted; z has both."""
    parts = pd.DataFrame(
        {
            "family": ["f", "g", "f", "g", "f", "g"],
            "kernel": ["k", "l"] * 3,
            "weight": [1.0, 1, 1, 1, 10, 10],
            "predicted": [1000.0, 1000, 1100, 1100, 1200, 400],
        },
        index=["x", "x", "y", "y", "z", "z"],
    )
    measured = {"x": [1200.0, 1000.0], "y": [1320.0, 1100.0]}
    estimate = sample(parts, measured).estimate(Sampling())
    row = estimate.members.loc["z"]
    assert not row["is_measured"]
    assert row["cycles"] == pytest.approx(1.2 * 1200 + 400, rel=0.03)
    assert row["low"] < 1.2 * 1200 + 400 < row["high"]
    assert estimate.total == pytest.approx(2200 + 2420 + 10 * row["cycles"])
    # The same cycles without their parts say that both are a tenth slower.
    together = sample(parts, {name: [sum(values)] for name, values in measured.items()})
    assert together.estimate(Sampling()).members.loc["z", "cycles"] == pytest.approx(1.1 * 1600, rel=0.03)


def test_nothing_measured_is_the_preview_with_its_own_error() -> None:
    """One kernel: the squares of what it shares add up to 0.0268, its own is 0.07; Student: 2.776."""
    estimate = sample(alone(1, 1000.0), {}).estimate(Sampling(confidence=0.95))
    assert estimate.total == pytest.approx(1000 * math.exp(0.0317 / 2), rel=1e-9)
    assert estimate.relative == pytest.approx(0.0317**0.5 * 2.776, rel=1e-3)


def test_the_budget_is_kept() -> None:
    parts = network(np.random.default_rng(5), 20, 0.1, 0.1)
    found = sample(parts, {})
    names = found.next(Sampling(bound=1e-6, budget=0.1))
    assert 0.05 < found.members["predicted"][names].sum() / parts["predicted"].sum() <= 0.1


def test_members_whose_runs_failed_are_estimated_and_not_run_again() -> None:
    parts = network(np.random.default_rng(9), 3, 0.1, 0.1)
    aim = Sampling(budget=0.3)
    failed, *others = sample(parts, {}).next(aim)
    measured = cycles(parts, others)
    without = sample(parts, measured, [failed])
    assert without.estimate(aim).total == sample(parts, measured).estimate(aim).total
    assert failed not in without.next(Sampling(bound=1e-6, budget=1))


def test_a_failed_member_of_the_audit_counts_whole_among_what_it_missed() -> None:
    """All others were run, so nothing else was missed; it may take twice, or half, of what is estimated."""
    parts, aim = alone(4, 1000.0, "abcd"), Sampling(budget=1)
    audit = sample(parts, {}).audit(aim, "seed")
    weight = dict.fromkeys("abcd", 1.0)
    found = Sample(parts, weight, {name: [1000.0] for name in "bcd"}, ["a"], audit=audit).estimate(aim)
    assert found.missed == pytest.approx(1000)


def test_a_held_out_member_is_estimated_as_if_it_had_not_been_run() -> None:
    parts = network(np.random.default_rng(4), 5, 0.1, 0.1)
    names, aim = list(dict.fromkeys(parts.index))[:12], Sampling()
    every = sample(parts, cycles(parts, names))
    for name in names:
        without = sample(parts, cycles(parts, (other for other in names if other != name)))
        vars(without)["_size"] = every._size  # what all of them say of the model
        assert every.held_out["cycles"][name] == pytest.approx(
            without.estimate(aim).members["cycles"][name], rel=1e-6
        )


@pytest.mark.parametrize(
    ("change", "measured", "message"),
    [
        ({"weight": 0.0}, {}, "above 0"),
        ({"predicted": math.nan}, {}, "above 0"),
        ({}, {"other": [1.0]}, "no operation: other"),
        ({}, {"x": [0.0]}, "measured cycles are above 0"),
        ({}, {"x": [1.0, 2.0, 3.0]}, "x has 1 kernels, 3 measured"),
    ],
)
def test_what_makes_no_sense_is_refused(
    change: dict[str, float], measured: dict[str, list[float]], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        sample(alone(1, 10.0, "x").assign(**change), measured)


def test_runs_that_failed_count_in_the_budget() -> None:
    parts = alone(10, 1000.0, "abcdefghij")
    aim = Sampling(bound=0.001, budget=0.5)
    assert len(sample(parts, {}, aside=["a", "b"]).next(aim)) == 3
    assert len(sample(parts, {"a": [1000.0]}, aside=["a", "b"]).next(aim)) == 3


def test_a_round_is_a_quarter_of_the_budget_and_one_member_at_least() -> None:
    aim = Sampling(bound=0.001, budget=0.5)
    found = sample(alone(16, 1000.0), {})
    following = found.next(aim)
    assert len(following) == 8
    assert found.first(following, aim) == following[:2]
    assert found.first(following, Sampling(bound=0.001, budget=0.1)) == following[:1]
    assert found.first([], aim) == []


def test_an_audit_takes_the_budget_at_most() -> None:
    found = sample(alone(100, 100.0), {})
    assert len(found.audit(Sampling(budget=0.2, audit=50), "seed").names) == 20
    five = found.audit(Sampling(budget=0.2, audit=5), "seed")
    assert len(five.names) == 5
    assert found.audit(Sampling(budget=0.2, audit=5), "other").names != five.names
