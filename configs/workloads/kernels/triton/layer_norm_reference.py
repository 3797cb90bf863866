"""Reference of layer_norm.py."""

import numpy as np

EPSILON = 1e-5
"""As triton_layer_norm.yaml gives it to the kernel."""


def contents(parameters):
    """Normally distributed numbers, the rows around a mean that is not 0."""
    numbers = np.random.default_rng(3)
    rows, columns = parameters["rows"], parameters["columns"]
    weight, bias = numbers.standard_normal((2, columns))
    return {"x": 0.5 + numbers.standard_normal((rows, columns)), "weight": weight, "bias": bias}


def expected(buffers, parameters):
    """Layer normalisation of each row, in double precision."""
    x, weight, bias = (buffers[name].astype(np.float64) for name in ("x", "weight", "bias"))
    x = x.reshape(parameters["rows"], parameters["columns"])
    scale = 1 / np.sqrt(x.var(1, keepdims=True) + EPSILON)
    return {"y": (x - x.mean(1, keepdims=True)) * scale * weight + bias}
