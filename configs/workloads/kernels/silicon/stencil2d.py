"""Reference of stencil2d; the border stays 0."""

import numpy as np


def expected(buffers, parameters):
    """Weighted sums of each element and its neighbours."""
    n = parameters["n"]
    given = buffers["in"].reshape(n + 2, -1).astype(float)
    weights = np.array([[0.05, 0.15, 0.05], [0.15, 0.25, 0.15], [0.05, 0.15, 0.05]])
    out = np.zeros_like(given)
    for y, x in np.ndindex(3, 3):
        out[1 : n + 1, 1 : n + 1] += weights[y, x] * given[y : y + n, x : x + n]
    return {"out": out}
