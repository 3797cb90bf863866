"""Reference of workload read_again."""

import numpy as np

ITEMS = 256


def expected(buffers, parameters):
    """The sums of each work-item: every 256th vector of its workgroup's part."""
    vectors, groups = parameters["bytes"] // 16, parameters["compute_units"]
    part = -(-vectors // groups)
    padded = np.zeros((groups * part, 4), np.uint32)
    padded[:vectors] = np.arange(4 * vectors, dtype=np.uint32).reshape(-1, 4)
    whole = np.zeros((groups, -(-part // ITEMS) * ITEMS, 4), np.uint32)
    whole[:, :part] = padded.reshape(groups, part, 4)
    items = whole.reshape(groups, -1, ITEMS, 4).sum(axis=(1, 3), dtype=np.uint32).ravel()
    sums = np.zeros_like(buffers["sums"])
    sums[: items.size] = items
    return {"sums": sums}
