"""Intervals of a mean from few observations."""

from __future__ import annotations


def student_quantile(confidence: float, freedom: float) -> float:
    """Half width of the interval over the standard error of the mean (Student's distribution).

    ``confidence`` is such as 0.95; degrees of ``freedom`` are above 0.
    """
    from scipy.special import stdtrit  # loading takes a third of a second

    return float(stdtrit(freedom, 0.5 + confidence / 2))


def poisson_limit(confidence: float, events: int) -> float:
    """Upper confidence limit of the mean of a Poisson distribution (Garwood, Biometrika 28, 1936).

    0 events give -log(1 - confidence), about 3.
    """
    from scipy.special import chdtri

    return float(chdtri(2 * (events + 1), 1.0 - confidence)) / 2
