"""Reference of pooling.py."""

import itertools

import numpy as np

AXES = "dhw"


def contents(parameters):
    """Normally distributed numbers."""
    sizes = [parameters[name] for name in ("n", "c", *AXES)]
    return {"x": np.random.default_rng(14).standard_normal(sizes)}


def expected(buffers, parameters):
    """The largest, or the mean, of each window's elements that lie in the image."""
    p = parameters
    sizes, outs, kernel, stride, pad = (
        tuple(p[f"{name}{axis}"] for axis in AXES) for name in ("", "out_", "kernel_", "stride_", "pad_")
    )
    x = buffers["x"].astype(np.float64).reshape(p["n"] * p["c"], *sizes)
    y = np.zeros((len(x), *outs))
    for place in itertools.product(*map(range, outs)):
        starts = [place[axis] * stride[axis] - pad[axis] for axis in range(3)]
        window = x[
            (slice(None), *(slice(max(0, at), at + size) for at, size in zip(starts, kernel, strict=True)))
        ]
        window = window.reshape(len(x), -1)
        y[(slice(None), *place)] = window.mean(1) if p["average"] else window.max(1)
    return {"y": y}
