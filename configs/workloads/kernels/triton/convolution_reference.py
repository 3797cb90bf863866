"""Reference of convolution.py."""

import itertools

import numpy as np

AXES = "dhw"


def contents(parameters):
    """Normally distributed numbers."""
    numbers = np.random.default_rng(13)
    p = parameters
    taps = p["kernel_d"] * p["kernel_h"] * p["kernel_w"]
    filters = p["c"] * p["k"] // p["groups"] * taps
    return {
        "x": numbers.standard_normal(p["n"] * p["c"] * p["d"] * p["h"] * p["w"]),
        "f": numbers.standard_normal(filters) / np.sqrt(taps),
    }


def expected(buffers, parameters):
    """The sum over the window of each output, tap by tap, in double precision."""
    p = parameters
    sizes, outs, kernel, stride, pad, dilation = (
        tuple(p[f"{name}{axis}"] for axis in AXES)
        for name in ("", "out_", "kernel_", "stride_", "pad_", "dilation_")
    )
    x = buffers["x"].astype(np.float64).reshape(p["n"], p["groups"], p["c"] // p["groups"], *sizes)
    f = buffers["f"].astype(np.float64)
    groups, channels, filters = p["groups"], p["c"] // p["groups"], p["k"] // p["groups"]
    if p["turned"]:
        f = f.reshape(groups, channels, filters, *kernel).swapaxes(1, 2)
    else:
        f = f.reshape(groups, filters, channels, *kernel)
    y = np.zeros((p["n"], groups, filters, *outs))
    for tap in itertools.product(*map(range, kernel)):
        source, goal = [], []
        for axis in range(3):
            out = np.arange(outs[axis])
            if p["turned"]:
                whole = out + pad[axis] - tap[axis] * dilation[axis]
                at, fits = whole // stride[axis], whole % stride[axis] == 0
            else:
                at, fits = out * stride[axis] - pad[axis] + tap[axis] * dilation[axis], True
            inside = (at >= 0) & (at < sizes[axis]) & fits
            source.append(at[inside])
            goal.append(out[inside])
        read = x[(slice(None), slice(None), slice(None), *np.ix_(*source))]
        y[(slice(None), slice(None), slice(None), *np.ix_(*goal))] += np.einsum(
            "ngcdhw,gkc->ngkdhw", read, f[(..., *tap)]
        )
    return {"y": y}
