"""Reference of group_norm.py."""

import numpy as np


def contents(parameters):
    """Normally distributed numbers."""
    numbers = np.random.default_rng(16)
    rows, width = parameters["rows"], parameters["width"]
    weight, bias = numbers.standard_normal((2, parameters["groups"] * (width // parameters["pixels"])))
    return {"x": numbers.standard_normal((rows, width)), "weight": weight, "bias": bias}


def expected(buffers, parameters):
    """The same, in double precision."""
    groups, pixels = parameters["groups"], parameters["pixels"]
    x = buffers["x"].astype(np.float64).reshape(-1, groups, parameters["width"] // pixels, pixels)
    weight, bias = (
        buffers[name].astype(np.float64).reshape(groups, -1)[..., None] for name in ("weight", "bias")
    )
    off = x - x.mean((2, 3), keepdims=True)
    return {"y": off / np.sqrt((off * off).mean((2, 3), keepdims=True) + 1e-5) * weight + bias}
