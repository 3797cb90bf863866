"""An audit can draw every operation, and its bound holds as often as it says."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from apuflow.core.interval import poisson_limit
from apuflow.sampling.audit import Audit, draw, missed_size

SIZE = pd.Series([50.0, 20.0, 10.0, 10.0, 5.0, 5.0], index=list("abcdef"))


def drawn(seed: int, limit: float = 60.0) -> Audit:
    return draw(SIZE, SIZE, limit, 1000, str(seed))


def test_every_operation_can_be_drawn_and_the_first_is_in_proportion_to_size() -> None:
    first = pd.Series([drawn(seed).names[0] for seed in range(2000)]).value_counts(normalize=True)
    assert set(first.index) == set(SIZE.index)
    for name, size in SIZE.items():
        share = size / SIZE.sum()
        assert first[str(name)] == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / 2000))


def test_a_larger_budget_keeps_what_was_drawn() -> None:
    for seed in range(20):
        few, many = drawn(seed, 50), drawn(seed, 80)
        assert many.names[: len(few.names)] == few.names


def test_an_operation_above_the_budget_is_named_and_counts_whole() -> None:
    audit = drawn(1, limit=30)
    assert audit.out_of_reach == {"a"}
    assert missed_size(audit, dict(SIZE), ["a"], [], [], 0.95) == 50


def test_without_a_finding_the_limit_is_three_and_grows_with_findings() -> None:
    """Garwood's table: 3.00, 4.74, 6.30."""
    assert [round(poisson_limit(0.95, k), 2) for k in (0, 1, 2)] == [3.0, 4.74, 6.3]


@pytest.mark.parametrize("off", [range(3), range(10), range(40)])
def test_what_the_audit_missed_is_within_its_bound_as_often_as_promised(off: range) -> None:
    """100 operations, some of them off; whoever is drawn shows it."""
    sizes = np.random.default_rng(5).lognormal(0, 1, 100)
    size = pd.Series(sizes, index=[f"o{number}" for number in range(100)])
    bad, held = [f"o{number}" for number in off], []
    for seed in range(400):
        audit = draw(size, size, 0.4 * float(size.sum()), 1000, str(seed))
        unknown = [name for name in size.index if name not in audit.names]
        found = [name for name in audit.names if name in bad]
        missed = size[[name for name in bad if name in unknown]].sum()
        held.append(missed <= missed_size(audit, dict(size), unknown, found, [], 0.95))
    assert np.mean(held) >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / 400)
