"""Reference of simpleconvolution; whole numbers, so that its sums are exact."""

import numpy as np


def contents(parameters):
    """Pixels and weights."""
    draw, side = np.random.default_rng(0), parameters["size"] + parameters["mask"] - 1
    pixels = draw.integers(0, 256, side * side, dtype="u4")
    return {"in": pixels, "weights": draw.integers(0, 9, parameters["mask"] ** 2).astype("f4")}


def expected(buffers, parameters):
    """The weighted sum of the square of pixels whose corner each pixel is."""
    size, mask = parameters["size"], parameters["mask"]
    pixels = buffers["in"].reshape(size + mask - 1, -1).astype("i4")
    squares = np.lib.stride_tricks.sliding_window_view(pixels, (mask, mask))
    return {"out": np.einsum("yxij,ij->yx", squares, buffers["weights"].reshape(mask, mask).astype("i4"))}
