"""Reference of nw."""

import numpy as np

PENALTY = 10


def contents(parameters):
    """Similarities as large as BLOSUM62's; the matrix' first row and column."""
    side = parameters["n"] + 1
    matrix = np.zeros((side, side), "i4")
    matrix[0] = matrix[:, 0] = -PENALTY * np.arange(side)
    similarity = np.random.default_rng(0).integers(-4, 12, (side, side), dtype="i4")
    return {"similarity": similarity, "matrix": matrix}


def expected(buffers, parameters):
    """The best score of each pair of prefixes, a diagonal at a time."""
    side = parameters["n"] + 1
    similarity, matrix = (buffers[name].reshape(side, side).copy() for name in ("similarity", "matrix"))
    for diagonal in range(2, 2 * side - 1):
        y = np.arange(max(1, diagonal - side + 1), min(side - 1, diagonal - 1) + 1)
        x = diagonal - y
        gap = np.maximum(matrix[y - 1, x], matrix[y, x - 1]) - PENALTY
        matrix[y, x] = np.maximum(matrix[y - 1, x - 1] + similarity[y, x], gap)
    return {"matrix": matrix}
