"""Reference of pointwise.py."""

import math

import numpy as np

SIGNED = (*range(19, 32),)
"""Operators that are defined for all numbers, and are others below 0."""


def contents(parameters):
    """Numbers from a half to two, for which every operator is defined; of ``SIGNED`` from -4 to 4."""
    numbers = np.random.default_rng(12)
    a, b = numbers.uniform(0.5, 2.0, (2, parameters["n"]))
    if parameters["operator"] in SIGNED:
        a = 4 * (a - 1.25) / 0.75
    return {"a": a, "b": b}


def expected(buffers, parameters):
    """The operator of that number, in double precision."""
    with np.errstate(invalid="ignore"):  # of operators that are not asked for
        return {"y": _results(buffers)[parameters["operator"]]}


def _results(buffers):
    a, b = (buffers[name].astype(np.float64) for name in ("a", "b"))
    return (
        *(a, a + b, a - b, a * b, a / b, np.maximum(a, b), np.minimum(a, b), np.maximum(a, 0)),
        *(1 / (1 + np.exp(-a)), np.tanh(a), a / (1 + np.exp(-a)), np.exp(a), -a, np.abs(a)),
        *(np.sqrt(a), 1 / np.sqrt(a), a * a, 1 / a, np.log(a), np.sin(a), np.cos(a), _erf(a), np.floor(a)),
        *(np.sign(a), np.clip(a, 0, 6), np.clip(a + 3, 0, 6) / 6, a * np.clip(a + 3, 0, 6) / 6),
        *(np.where(a > 0, a, 0.01 * a), np.where(a > 0, a, np.expm1(a)), np.log1p(np.exp(a))),
        *(a * np.tanh(np.log1p(np.exp(a))), np.clip(a, -1, 1), np.log1p(a), np.expm1(a), a**b),
    )


def _erf(x):
    return np.array([math.erf(each) for each in x])
