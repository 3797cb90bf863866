"""Reference of batch_norm.py."""

import numpy as np


def contents(parameters):
    """Normally distributed numbers; variances are positive."""
    numbers = np.random.default_rng(15)
    images, channels, pixels = (parameters[name] for name in ("images", "channels", "pixels"))
    mean, weight, bias = numbers.standard_normal((3, channels))
    return {
        "x": numbers.standard_normal((images, channels, pixels)),
        "mean": mean,
        "variance": numbers.uniform(0.5, 2, channels),
        "weight": weight,
        "bias": bias,
    }


def expected(buffers, parameters):
    """The same, in double precision."""
    x = buffers["x"].astype(np.float64).reshape(parameters["images"], parameters["channels"], -1)
    names = ("mean", "variance", "weight", "bias")
    mean, variance, weight, bias = (buffers[name].astype(np.float64)[:, None] for name in names)
    return {"y": (x - mean) / np.sqrt(variance + 1e-5) * weight + bias}
