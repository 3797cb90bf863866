"""Reference of rotary.py."""

import numpy as np


def contents(parameters):
    """Normally distributed numbers, and the tables for angles position / 10000 ** (d / half)."""
    positions, heads, half = (parameters[name] for name in ("positions", "heads", "half"))
    angles = np.outer(np.arange(positions), 10000.0 ** (-np.arange(half) / half))
    x = np.random.default_rng(7).standard_normal((positions, heads, 2 * half))
    return {"x": x, "cosine": np.cos(angles), "sine": np.sin(angles)}


def expected(buffers, parameters):
    """Every pair as a complex number, times that of its angle."""
    positions, heads, half = (parameters[name] for name in ("positions", "heads", "half"))
    x = buffers["x"].astype(np.float64).reshape(positions, heads, 2, half)
    turn = buffers["cosine"] + 1j * buffers["sine"].astype(np.float64)
    y = (x[:, :, 0] + 1j * x[:, :, 1]) * turn.reshape(positions, 1, half)
    return {"y": np.stack([y.real, y.imag], 2)}
