"""Reference of histogram.py."""

import numpy as np


def contents(parameters):
    """Random whole numbers below `bins`, small ones more often."""
    numbers = np.random.default_rng(12)
    return {"x": (parameters["bins"] * numbers.random(parameters["n"]) ** 2).astype(np.int32)}


def expected(buffers, parameters):
    """How often each occurs."""
    return {"counts": np.bincount(buffers["x"], minlength=parameters["bins"])}
