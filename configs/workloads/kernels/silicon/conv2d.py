"""Reference of conv2d."""

import numpy as np


def expected(buffers, parameters):
    """The weighted sums of each square of pixels."""
    size, mask = parameters["size"], parameters["mask"]
    picture, weights = buffers["in"].reshape(size, size), buffers["weights"].reshape(3, mask, mask)
    squares = np.lib.stride_tricks.sliding_window_view(picture, (mask, mask))
    return {"out": np.einsum("yxij,oij->oyx", squares, weights)}
