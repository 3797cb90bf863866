"""Reference of floydwarshall."""

import numpy as np


def contents(parameters):
    """Distances from 1 to 100, and ways that go nowhere yet."""
    nodes = parameters["nodes"]
    distance = np.random.default_rng(0).integers(1, 101, (nodes, nodes), dtype="u4")
    np.fill_diagonal(distance, 0)
    return {"distance": distance, "via": np.repeat(np.arange(nodes, dtype="u4"), nodes)}


def expected(buffers, parameters):
    """The algorithm, a matrix at a time."""
    nodes = parameters["nodes"]
    distance, via = (buffers[name].reshape(nodes, nodes).copy() for name in ("distance", "via"))
    for over in range(nodes):
        other = distance[:, over, None] + distance[over]
        via[other < distance] = over
        distance = np.minimum(distance, other)
    return {"distance": distance, "via": via}
