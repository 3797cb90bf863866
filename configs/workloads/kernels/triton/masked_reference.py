"""Reference of kernel masked of pointwise.py."""

import numpy as np


def contents(parameters):
    """Small whole numbers, of which some are equal, and truth values."""
    numbers = np.random.default_rng(20)
    a, b = numbers.integers(-4, 5, (2, parameters["n"]))
    return {"a": a.astype(float), "b": b.astype(float), "mask": numbers.integers(0, 2, parameters["n"])}


def expected(buffers, parameters):
    """The operator of that number; what it does not write stays."""
    a, b, mask = (buffers[name] for name in ("a", "b", "mask"))
    operator = parameters["operator"]
    if operator < 2:
        return {"y": np.where(mask != 0, (a, np.ones_like(a))[operator], (b, a)[operator]), "mask": mask}
    compared = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)[operator - 2]
    return {"y": np.zeros_like(a), "mask": compared(a, b)}
