"""Intervals of a mean from few observations."""

from __future__ import annotations


def student_quantile(confidence: float, freedom: float) -> float:
    """Half width of the interval over the standard error of the mean (Student's distribution).

    Args:
        confidence: how often the interval shall hold the mean, such as 0.95.
        freedom: degrees of freedom, above 0.
    """
    from scipy.special import stdtrit  # a third of a second, which every start of the workflow would pay

    return float(stdtrit(freedom, 0.5 + confidence / 2))
