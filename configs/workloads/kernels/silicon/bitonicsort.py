"""Reference of bitonicsort."""

import numpy as np


def expected(buffers, parameters):
    """Ascending order."""
    return {"data": np.sort(buffers["data"])}
