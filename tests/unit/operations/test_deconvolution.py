"""The transposed convolution: by definition, element by element, both ways."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from operation_plays import Array, play

from apuflow import operations
from apuflow.core.errors import ConfigError
from apuflow.operations.filter import Deconvolution

N, H, W = 2, 4, 3
Place = tuple[int, int, int, int]
SHAPES: dict[str, dict[str, Any]] = {
    "plain": {"c": 3, "num_output": 2, "kernel_h": 3, "kernel_w": 2},
    "upsampling": {
        "c": 2, "num_output": 3, "kernel_h": 4, "kernel_w": 4, "stride_h": 2, "stride_w": 2,
        "pad_h": 1, "pad_w": 1,
    },
    "groups": {"c": 4, "num_output": 6, "kernel_h": 2, "kernel_w": 3, "groups": 2, "stride_w": 2},
    "dilated": {"c": 2, "num_output": 2, "kernel_h": 2, "kernel_w": 2, "dilation_h": 2, "pad_w": 1},
    "1x1": {"c": 3, "num_output": 2, "kernel_h": 1, "kernel_w": 1},
    "1x1 stride 2": {"c": 3, "num_output": 2, "kernel_h": 1, "kernel_w": 1, "stride_h": 2, "stride_w": 2},
}  # fmt: skip


def taps(shape: dict[str, Any], out: tuple[int, int]) -> Iterator[tuple[Place, Place, Place]]:
    """(output element, input element, weight element) of every multiply-add."""
    c, k, g = shape["c"], shape["num_output"], shape.get("groups", 1)
    for i, part, y, x in itertools.product(range(N), range(c), range(H), range(W)):
        group = part // (c // g)
        for o, r, s in itertools.product(range(k // g), range(shape["kernel_h"]), range(shape["kernel_w"])):
            row = y * shape.get("stride_h", 1) - shape.get("pad_h", 0) + r * shape.get("dilation_h", 1)
            col = x * shape.get("stride_w", 1) - shape.get("pad_w", 0) + s * shape.get("dilation_w", 1)
            if 0 <= row < out[0] and 0 <= col < out[1]:
                yield (i, group * (k // g) + o, row, col), (i, part, y, x), (part, o, r, s)


@pytest.mark.parametrize("name", SHAPES)
def test_forward_and_both_gradients(name: str) -> None:
    shape = SHAPES[name]
    full = {"n": N, "h": H, "w": W, **shape}
    made = operations.make("deconvolution", full)
    assert isinstance(made, Deconvolution)
    c, k, g = shape["c"], shape["num_output"], shape.get("groups", 1)
    done = play("deconvolution", full)
    x = done["bottom"].reshape(N, c, H, W)
    weights = done["weights"].reshape(c, k // g, shape["kernel_h"], shape["kernel_w"])
    y: Array = np.zeros((N, k, *made.out))
    dy = np.random.default_rng(5).random(y.shape)
    dx, dw = np.zeros(x.shape), np.zeros(weights.shape)
    for target, source, weight in taps(shape, made.out):
        y[target] += x[source] * weights[weight]
        dx[source] += dy[target] * weights[weight]
        dw[weight] += dy[target] * x[source]
    assert done["top"].reshape(y.shape) == pytest.approx(y, rel=1e-5)
    back = play("deconvolution", full, "bwd", {"bottom": x, "weights": weights, "top_diff": dy})
    assert back["weights_diff"].reshape(dw.shape) == pytest.approx(dw, rel=1e-5)
    assert back["bottom_diff"].reshape(dx.shape) == pytest.approx(dx, rel=1e-5)


def test_work_of_an_upsampling() -> None:
    """Each of 2 x 4 x 3 pixels of 2 channels takes 3 filters of 4 x 4; the output is twice as large."""
    made = operations.make("deconvolution", {"n": N, "h": H, "w": W, **SHAPES["upsampling"]})
    assert isinstance(made, Deconvolution)
    assert made.out == (8, 6)
    assert made.macs("fwd") == 2 * 4 * 3 * 2 * 3 * 16
    assert made.macs("bwd") == 2 * made.macs("fwd")


@pytest.mark.parametrize(
    ("change", "key"), [({"groups": 2}, "c"), ({"pad_h": 3}, "pad_h"), ({"n": 2**30}, "n")]
)
def test_shapes_that_do_not_fit(change: dict[str, int], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        operations.make("deconvolution", {"n": N, "h": H, "w": W, **SHAPES["plain"], **change})
    assert caught.value.key == key
