"""Criteria over intervals, judged by hand."""

from __future__ import annotations

import pytest

from apuflow.core.errors import ConfigError
from apuflow.studies.criterion import Interval, check, judge

A, B = Interval(1.0, 2.0, 3.0), Interval(2.5, 4.0, 5.0)


@pytest.mark.parametrize(
    ("criterion", "verdict"),
    [
        ("a < 4", True),
        ("a < b", None),  # 3 is above 2.5
        ("a > 3", False),
        ("a >= 3", None),
        ("b - a > -1", True),  # from -0.5 to 4
        ("b / a > 5", False),  # at most 5
        ("a < b and a > 9", False),  # one part fails for sure
        ("a < b or a < 9", True),
        ("not a < 4", False),
        ("max(a, b) < 5.5", True),
        ("0 < a < b", None),
    ],
)
def test_a_criterion_holds_for_all_none_or_some_of_the_numbers(criterion: str, verdict: bool | None) -> None:
    assert judge(criterion, {"a": A, "b": B}, "holds") is verdict


@pytest.mark.parametrize(
    ("criterion", "message"),
    [
        ("a < c", "names a value that is not there: c"),
        ("a + 1", "a number, not a criterion"),
        ("a == 1", "not a criterion"),
        ("__import__('os') < a", "not a criterion"),
        ("a <", "not a criterion"),
        ("b < 3", "does not use"),
    ],
)
def test_a_wrong_criterion_is_named(criterion: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check(criterion, ("a", "b"), "holds")


def test_a_quotient_by_what_may_be_0_is_refused() -> None:
    with pytest.raises(ConfigError, match="divides by what may be 0"):
        judge("1 / a > 2", {"a": Interval(-1.0, 1.0, 2.0)}, "holds")
