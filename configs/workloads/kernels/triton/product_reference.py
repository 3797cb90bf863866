"""Reference of product.py."""

import numpy as np


def contents(parameters):
    """Normally distributed numbers."""
    numbers = np.random.default_rng(8)
    m, n, k = (parameters[name] for name in ("m", "n", "k"))
    return {"a": numbers.standard_normal((m, k)), "b": numbers.standard_normal((k, n))}


def expected(buffers, parameters):
    """The product, in double precision."""
    m, n, k = (parameters[name] for name in ("m", "n", "k"))
    a, b = (buffers[name].astype(np.float64) for name in ("a", "b"))
    return {"c": a.reshape(m, k) @ b.reshape(k, n)}
