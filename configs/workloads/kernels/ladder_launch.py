"""Reference of ladder_launch.cl."""

import numpy as np


def expected(buffers, parameters):
    """Each workgroup's number, from 1."""
    return {"marks": np.repeat(np.arange(1, parameters["workgroups"] + 1, dtype=np.uint32), 64)}
