"""Reference of flash_attention.py."""

import numpy as np


def contents(parameters):
    """Normally distributed numbers."""
    numbers = np.random.default_rng(9)
    heads, group, sequence, head = (parameters[name] for name in ("heads", "group", "sequence", "head"))
    q = numbers.standard_normal((heads, sequence, head))
    k, v = numbers.standard_normal((2, heads // group, sequence, head))
    return {"q": q, "k": k, "v": v}


def expected(buffers, parameters):
    """Softmax of q k' / sqrt(head), times v, in double precision."""
    heads, group, sequence, head = (parameters[name] for name in ("heads", "group", "sequence", "head"))
    q = buffers["q"].astype(np.float64).reshape(heads, sequence, head)
    k, v = (buffers[name].astype(np.float64).reshape(-1, sequence, head) for name in ("k", "v"))
    k, v = np.repeat(k, group, 0), np.repeat(v, group, 0)
    s = q @ k.transpose(0, 2, 1) / np.sqrt(head)
    if parameters["causal"]:
        s = np.where(np.tri(sequence, dtype=bool), s, -np.inf)
    p = np.exp(s - s.max(2, keepdims=True))
    return {"o": p @ v / p.sum(2, keepdims=True)}
