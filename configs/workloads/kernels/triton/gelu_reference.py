"""Reference of gelu.py."""

import math

import numpy as np


def contents(parameters):
    """Normally distributed numbers, so that both ends of the curve are met."""
    return {"x": 2 * np.random.default_rng(5).standard_normal(parameters["n"])}


def expected(buffers, parameters):
    """GELU, in double precision."""
    x = buffers["x"].astype(np.float64)
    return {"y": 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))}
