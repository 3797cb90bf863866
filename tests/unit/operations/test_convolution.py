"""Groups, depthwise and dilated convolutions: by definition, element by element, both ways."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from operation_plays import Array, play

from apuflow import dnnmark, miopen, operations
from apuflow.core.errors import ConfigError
from apuflow.operations.convolution import Convolution
from apuflow.preview.kernels.facts import facts_of
from apuflow.preview.kernels.registry import profile

Place = tuple[int, int, int, int]
SHAPES: dict[str, dict[str, Any]] = {
    "groups": {"c": 4, "num_output": 6, "kernel_h": 3, "kernel_w": 2, "pad_h": 1, "groups": 2},
    "depthwise": {"c": 3, "num_output": 3, "kernel_h": 3, "kernel_w": 3, "stride_w": 2, "groups": 3},
    "multiplied": {"c": 2, "num_output": 4, "kernel_h": 2, "kernel_w": 2, "groups": 2},
    "dilated": {"c": 2, "num_output": 3, "kernel_h": 3, "kernel_w": 2, "dilation_h": 2, "pad_h": 2},
    "dilated both": {
        "c": 2, "num_output": 2, "kernel_h": 2, "kernel_w": 3, "dilation_h": 3, "dilation_w": 2,
        "stride_h": 2, "pad_w": 2,
    },
    "1x1 groups": {"c": 4, "num_output": 2, "kernel_h": 1, "kernel_w": 1, "groups": 2},
    "1x1 groups stride 2": {
        "c": 4, "num_output": 6, "kernel_h": 1, "kernel_w": 1, "groups": 2, "stride_h": 2, "stride_w": 2,
    },
}  # fmt: skip


def taps(
    shape: dict[str, Any], n: int, h: int, w: int, out: tuple[int, int]
) -> Iterator[tuple[Place, Place, Place]]:
    """(output element, input element, weight element) of every multiply-add, outside the image none."""
    c, k, g = shape["c"], shape["num_output"], shape.get("groups", 1)
    kh, kw = shape["kernel_h"], shape["kernel_w"]
    for i, o, y, x in itertools.product(range(n), range(k), range(out[0]), range(out[1])):
        group = o // (k // g)
        for part, r, s in itertools.product(range(c // g), range(kh), range(kw)):
            row = y * shape.get("stride_h", 1) - shape.get("pad_h", 0) + r * shape.get("dilation_h", 1)
            col = x * shape.get("stride_w", 1) - shape.get("pad_w", 0) + s * shape.get("dilation_w", 1)
            if 0 <= row < h and 0 <= col < w:
                yield (i, o, y, x), (i, group * (c // g) + part, row, col), (o, part, r, s)


@pytest.mark.parametrize("name", SHAPES)
def test_forward_and_both_gradients(name: str) -> None:
    n, h, w, shape = 2, 8, 7, SHAPES[name]
    full = {"n": n, "h": h, "w": w, **shape}
    made = operations.make("convolution", full)
    assert isinstance(made, Convolution)
    out = made.out
    k, c, g = shape["num_output"], shape["c"], shape.get("groups", 1)
    weights_of = (k, c // g, shape["kernel_h"], shape["kernel_w"])
    done = play("convolution", full)
    x, weights = done["bottom"].reshape(n, c, h, w), done["weights"].reshape(weights_of)
    y: Array = np.zeros((n, k, *out))
    dy = np.random.default_rng(5).random(y.shape)
    dx, dw = np.zeros(x.shape), np.zeros(weights.shape)
    for target, source, weight in taps(shape, n, h, w, out):
        y[target] += x[source] * weights[weight]
        dx[source] += dy[target] * weights[weight]
        dw[weight] += dy[target] * x[source]
    assert done["top"].reshape(y.shape) == pytest.approx(y, rel=1e-5)
    back = play("convolution", full, "bwd", {"bottom": x, "weights": weights, "top_diff": dy})
    assert back["weights_diff"].reshape(dw.shape) == pytest.approx(dw, rel=1e-5)
    assert back["bottom"].reshape(dx.shape) == pytest.approx(dx, rel=1e-5)


def test_without_groups_and_dilation_the_launches_are_those_of_dnnmarks_layer() -> None:
    text = (
        "[DNNMark]\nrun_mode=standalone\n[Convolution]\nname=convolution\nn=2\nc=3\nh=9\nw=8\n"
        "previous_layer=null\nconv_mode=cross_correlation\nnum_output=4\nkernel_size=3\npad=1\nstride=2\n"
    )
    shape = {"n": 2, "c": 3, "h": 9, "w": 8, "num_output": 4, "kernel_h": 3, "kernel_w": 3}
    shape |= {"pad_h": 1, "pad_w": 1, "stride_h": 2, "stride_w": 2}
    made = operations.make("convolution", shape)
    for direction in ("fwd", "bwd"):
        expected = miopen.launches(dnnmark.parse(text), direction, 4)
        found = made.launches(direction, 4)
        assert [(one.kernel, one.arguments, one.grid, one.gemm, one.count) for one in found] == [
            (one.kernel, one.arguments, one.grid, one.gemm, one.count) for one in expected
        ]


def test_one_product_of_all_groups_for_every_image() -> None:
    """MobileNetV2's 3x3 over 96 channels at stride 2: 96 products of one output channel each."""
    shape = {"n": 2, "c": 96, "h": 112, "w": 112, "num_output": 96, "kernel_h": 3, "kernel_w": 3}
    shape |= {"pad_h": 1, "pad_w": 1, "stride_h": 2, "stride_w": 2, "groups": 96}
    made = operations.make("convolution", shape)
    columns, product = made.launches("fwd", 4)
    assert (columns.count, product.count) == (2, 2)
    gemm = product.gemm
    assert gemm is not None
    assert (gemm.m, gemm.n, gemm.k, gemm.batch) == (56 * 56, 1, 9, 96)
    assert made.macs("fwd") == 2 * 96 * 56 * 56 * 9
    assert made.macs("bwd") == 2 * made.macs("fwd")


def test_dilation_makes_the_columns_tile_wider() -> None:
    """(8 - 1 + 2 * 2 + 1) rows of (32 - 1 + 2 * 2 + 1) pixels: Im2ColGPU's LDS of a 3x3 with dilation 2."""
    shape = {"n": 1, "c": 3, "h": 40, "w": 40, "num_output": 2, "kernel_h": 3, "kernel_w": 3}
    columns = operations.make("convolution", {**shape, "dilation_h": 2, "dilation_w": 2}).launches("fwd", 4)[
        0
    ]
    assert "-DLOCAL_MEM_SIZE=432 " in (columns.arguments or "")


def test_the_preview_takes_fewer_columns_of_a_dilated_filter() -> None:
    """Every column is added to one pixel, but for those over the padding: as many loads as there are."""
    shape = {"n": 1, "c": 1, "h": 16, "w": 16, "num_output": 1, "kernel_h": 3, "kernel_w": 3}
    launches = operations.make("convolution", {**shape, "dilation_h": 2, "dilation_w": 2}).launches("bwd", 4)
    [back] = [launch for launch in launches if launch.kernel == "Col2Im2d"]
    assert profile(facts_of(back, vega=False)).flops == 9 * 12 * 12


@pytest.mark.parametrize(
    ("change", "key", "says"),
    [
        ({"groups": 3}, "c", "3 groups do not divide it"),
        ({"num_output": 7, "groups": 2}, "num_output", "2 groups do not divide it"),
        ({"kernel_h": 9}, "kernel_h", "larger than the padded image"),
        ({"dilation_w": 9}, "kernel_h", "larger than the padded image"),
    ],
)
def test_shapes_that_do_not_fit(change: dict[str, int], key: str, says: str) -> None:
    shape = {"n": 1, "c": 4, "h": 8, "w": 8, "num_output": 6, "kernel_h": 3, "kernel_w": 3}
    with pytest.raises(ConfigError, match=says) as caught:
        operations.make("convolution", {**shape, **change})
    assert caught.value.key == key
