"""Reference of gelu.py."""

import numpy as np


def contents(parameters):
    """Normally distributed numbers, so that both ends of the curve are met."""
    return {"x": 2 * np.random.default_rng(5).standard_normal(parameters["n"])}


def expected(buffers, parameters):
    """GELU by tanh, in double precision."""
    x = buffers["x"].astype(np.float64)
    return {"y": 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))}
