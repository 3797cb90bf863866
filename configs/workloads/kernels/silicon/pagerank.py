"""Reference of pagerank: every node has edges to half of the others."""

import numpy as np


def contents(parameters):
    """The graph as CSR, and equal ranks."""
    nodes = parameters["nodes"]
    draw = np.random.default_rng(0)
    columns = np.stack([np.sort(draw.permutation(nodes)[: nodes // 2]) for _ in range(nodes)])
    return {
        "rank": np.full(nodes, 1 / nodes, "f4"),
        "begins": np.arange(nodes + 1, dtype="u4") * (nodes // 2),
        "columns": columns.astype("u4"),
        "values": np.full(columns.size, 2 / nodes, "f4"),
    }


def expected(buffers, parameters):
    """The matrix times the ranks, twice."""
    columns, values = (buffers[name].reshape(parameters["nodes"], -1) for name in ("columns", "values"))
    rank = buffers["rank"].astype(float)
    for _ in range(2):
        rank = (values * rank[columns]).sum(axis=1)
    return {"rank": rank}
