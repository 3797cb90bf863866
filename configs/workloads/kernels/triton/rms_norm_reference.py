"""Reference of rms_norm.py."""

import numpy as np

EPSILON = 1e-5
"""As triton_rms_norm.yaml gives it to the kernel."""


def contents(parameters):
    """Normally distributed numbers."""
    numbers = np.random.default_rng(4)
    rows, columns = parameters["rows"], parameters["columns"]
    return {"x": numbers.standard_normal((rows, columns)), "weight": numbers.standard_normal(columns)}


def expected(buffers, parameters):
    """RMS normalisation of each row, in double precision."""
    x, weight = (buffers[name].astype(np.float64) for name in ("x", "weight"))
    x = x.reshape(parameters["rows"], parameters["columns"])
    return {"y": x / np.sqrt((x * x).mean(1, keepdims=True) + EPSILON) * weight}
