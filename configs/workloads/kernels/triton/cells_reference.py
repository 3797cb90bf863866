"""Reference of cells.py."""

import numpy as np


def contents(parameters):
    """Normally distributed numbers."""
    numbers = np.random.default_rng(19)
    batch, hidden, gates = (parameters[name] for name in ("batch", "hidden", "gates"))
    a, b = numbers.standard_normal((2, batch, gates * hidden))
    return {"a": a, "b": b, "state": numbers.standard_normal((batch, hidden))}


def expected(buffers, parameters):
    """In double precision; state is the cell's memory of LSTM, the state of GRU."""
    batch, mode = parameters["batch"], parameters["mode"]
    a, b, state = (buffers[name].astype(np.float64).reshape(batch, -1) for name in ("a", "b", "state"))
    if mode < 3:
        return {"y": np.tanh(a + b) if mode == 0 else np.maximum(a + b, 0), "memory": np.zeros_like(state)}
    hidden = state.shape[1]
    gates = [slice(gate * hidden, (gate + 1) * hidden) for gate in range(mode)]
    first, second = (_sigmoid(a[:, gate] + b[:, gate]) for gate in gates[:2])
    if mode == 3:
        new = np.tanh(a[:, gates[2]] + first * b[:, gates[2]])
        return {"y": new + second * (state - new), "memory": np.zeros_like(state)}
    kept = second * state + first * np.tanh(a[:, gates[2]] + b[:, gates[2]])
    return {"y": _sigmoid(a[:, gates[3]] + b[:, gates[3]]) * np.tanh(kept), "memory": kept}


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))
