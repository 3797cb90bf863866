"""Reference of kmeans; whole numbers, so that distances are exact."""

import numpy as np


def contents(parameters):
    """Coordinates of points and clusters."""
    draw, features = np.random.default_rng(0), parameters["features"]
    return {
        "values": draw.integers(0, 100, parameters["points"] * features).astype("f4"),
        "centres": draw.integers(0, 100, parameters["clusters"] * features).astype("f4"),
    }


def expected(buffers, parameters):
    """The first of the nearest clusters."""
    values = buffers["values"].reshape(parameters["features"], 1, -1)
    centres = buffers["centres"].reshape(parameters["clusters"], -1).T[:, :, None]
    return {"nearest": ((values - centres) ** 2).sum(axis=0).argmin(axis=0)}
