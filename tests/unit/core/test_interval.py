"""Student's distribution, against the table of any textbook."""

from __future__ import annotations

import pytest

from apuflow.core.interval import student_quantile


@pytest.mark.parametrize(
    ("confidence", "freedom", "quantile"),
    [(0.95, 1, 12.706), (0.95, 4, 2.776), (0.9, 10, 1.812), (0.99, 30, 2.750)],
)
def test_quantiles_are_those_of_the_table(confidence: float, freedom: float, quantile: float) -> None:
    assert student_quantile(confidence, freedom) == pytest.approx(quantile, abs=5e-4)
