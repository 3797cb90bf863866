"""Reference of decode_attention.py."""

import numpy as np


def contents(parameters):
    """Normally distributed numbers; the caches are filled from all their places down to half of them."""
    numbers = np.random.default_rng(10)
    batch, heads, group, capacity, head = _shape(parameters)
    k, v = numbers.standard_normal((2, batch, heads // group, capacity, head))
    length = np.linspace(capacity, capacity // 2, batch).astype(np.int32)
    return {"q": numbers.standard_normal((batch, heads, head)), "k": k, "v": v, "length": length}


def expected(buffers, parameters):
    """Softmax of q k' / sqrt(head) over the filled places, times v, in double precision."""
    batch, heads, group, capacity, head = _shape(parameters)
    q = buffers["q"].astype(np.float64).reshape(batch, heads, head)
    k, v = (buffers[name].astype(np.float64).reshape(batch, -1, capacity, head) for name in ("k", "v"))
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    s = np.einsum("bhd,bhjd->bhj", q, k) / np.sqrt(head)
    s[np.arange(capacity) >= buffers["length"][:, None, None] + np.zeros((1, heads, 1))] = -np.inf
    p = np.exp(s - s.max(2, keepdims=True))
    return {"o": np.einsum("bhj,bhjd->bhd", p / p.sum(2, keepdims=True), v)}


def _shape(parameters):
    return tuple(parameters[name] for name in ("batch", "heads", "group", "capacity", "head"))
