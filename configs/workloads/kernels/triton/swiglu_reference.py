"""Reference of swiglu.py."""

import numpy as np


def contents(parameters):
    """Normally distributed numbers."""
    gate, up = np.random.default_rng(6).standard_normal((2, parameters["n"]))
    return {"gate": gate, "up": up}


def expected(buffers, parameters):
    """SwiGLU, in double precision."""
    gate, up = (buffers[name].astype(np.float64) for name in ("gate", "up"))
    return {"y": gate / (1 + np.exp(-gate)) * up}
