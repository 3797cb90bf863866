"""Cycles of a whole program from those of some launches."""

from __future__ import annotations

import math

import pytest

from apuflow_analysis.counters.program import Counted, program_time


def test_every_launch_counts_as_often_as_it_stands_for() -> None:
    exact = [Counted("a", 3, 10, 10, 10, 5), Counted("b", 1, 7, 7, 7, 5)]
    total, low, high = program_time(exact)
    assert total == 37
    assert (low, high) == (37 - 2, 37 + 2)  # a tenth of the 20 that were added


def test_launches_of_the_interval_of_their_own() -> None:
    total, low, high = program_time([Counted("a", 2, 10, 9, 12, 5)])
    assert (total, low, high) == pytest.approx((20, 18 - 1, 24 + 1))


def test_launches_of_a_kernel_that_differ_widen_the_interval() -> None:
    """Of the warm ones each is predicted by the nearest: a half, twice as much, exactly; Student's 4.3027."""
    ran = [(1, 90, 10), (5, 10, 10), (1, 40, 20), (1, 44, 22)]  # weight, time, instructions
    apart = math.expm1(4.3027 * math.log(2) / math.sqrt(3))
    total, _, high = program_time([Counted("a", weight, time, time, time, n) for weight, time, n in ran])
    assert total == 224
    assert high == pytest.approx(224 + apart * 40, rel=1e-3)


def test_launches_that_are_no_part_of_the_program() -> None:
    assert program_time([Counted("a", 0, 10, 10, 10, 5), Counted("b", 1, 7, 7, 7, 5)]) == (7, 7, 7)
