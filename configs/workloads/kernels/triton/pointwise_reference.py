"""Reference of pointwise.py."""

import numpy as np


def contents(parameters):
    """Numbers from a half to two, for which every operator is defined."""
    a, b = np.random.default_rng(12).uniform(0.5, 2.0, (2, parameters["n"]))
    return {"a": a, "b": b}


def expected(buffers, parameters):
    """The operator of that number, in double precision."""
    a, b = (buffers[name].astype(np.float64) for name in ("a", "b"))
    results = (
        *(a, a + b, a - b, a * b, a / b, np.maximum(a, b), np.minimum(a, b), np.maximum(a, 0)),
        *(1 / (1 + np.exp(-a)), np.tanh(a), a / (1 + np.exp(-a)), np.exp(a), -a, np.abs(a)),
        *(np.sqrt(a), 1 / np.sqrt(a), a * a),
    )
    return {"y": results[parameters["operator"]]}
