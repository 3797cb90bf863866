"""Reference of ladder_atomics.cl."""

import numpy as np


def expected(buffers, parameters):
    """How many work-items have each counter, times all rounds."""
    lines = parameters["lines"]
    items = np.arange(64 * parameters["compute_units"]) % lines
    counters = np.zeros(16 * lines, np.uint32)
    counters[::16] = np.bincount(items, minlength=lines) * (parameters["rounds"] + 2)
    return {"counters": counters}
