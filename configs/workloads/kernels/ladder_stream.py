"""Reference of ladder_stream.cl."""

import numpy as np

ITEMS = 256


def expected(buffers, parameters):
    """What each of the three loops leaves, by the buffers that the workload has."""
    vectors, groups = parameters["bytes"] // 16, parameters["groups"] * parameters["compute_units"]
    passes = 1 + max(1, parameters["volume"] // parameters["bytes"])
    part = -(-vectors // groups)
    filled = np.arange(4 * vectors, dtype=np.uint32)
    found = {}
    if "sums" in buffers:
        padded = np.zeros((groups * part, 4), np.uint32)
        padded[:vectors] = filled.reshape(-1, 4)
        whole = np.zeros((groups, -(-part // ITEMS) * ITEMS, 4), np.uint32)
        whole[:, :part] = padded.reshape(groups, part, 4)
        items = whole.reshape(groups, -1, ITEMS, 4).sum(axis=(1, 3), dtype=np.uint32)
        found["sums"] = np.zeros_like(buffers["sums"])
        found["sums"][: items.size] = items.ravel() * np.uint32(passes)
    elif "copy" in buffers:
        found["copy"] = filled
    else:
        numbers = np.arange(vectors, dtype=np.uint32)
        found["set"] = np.stack([numbers] * 3 + [np.full_like(numbers, passes - 1)], axis=1).ravel()
    return found
