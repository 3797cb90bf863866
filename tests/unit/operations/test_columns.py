"""Column matrices by definition, element by element, and back."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from operation_plays import Array, play
from places import ROOT

from apuflow import operations
from apuflow.configure.suite import load_suite
from apuflow.core.errors import ConfigError
from apuflow.suites.spec import Spec, spec_of
from apuflow.suites.step import Choice

SHAPES: dict[str, dict[str, Any]] = {
    "padded": {"kernel_h": 3, "kernel_w": 2, "pad_h": 1, "pad_w": 1, "stride_w": 2},
    "dilated": {"kernel_h": 2, "kernel_w": 3, "dilation_h": 3, "dilation_w": 2},
}


def columns(image: Array, shape: dict[str, Any]) -> Array:
    """Row (channel, row and column of the filter), column (output pixel): the layout of torch's unfold."""
    kernel, pad, stride, step = (
        (shape.get(f"{key}_h", default), shape.get(f"{key}_w", default))
        for key, default in (("kernel", 1), ("pad", 0), ("stride", 1), ("dilation", 1))
    )
    padded = np.pad(image, ((0, 0), (pad[0], pad[0]), (pad[1], pad[1])))
    rows = []
    for c, r, s in itertools.product(range(len(image)), range(kernel[0]), range(kernel[1])):
        high, wide = ((k - 1) * d + 1 for k, d in zip(kernel, step, strict=True))
        down = range(0, padded.shape[1] - high + 1, stride[0])
        across = range(0, padded.shape[2] - wide + 1, stride[1])
        rows.append([padded[c, y + r * step[0], x + s * step[1]] for y in down for x in across])
    return np.array(rows)


@pytest.mark.parametrize("name", SHAPES)
def test_columns_of_an_image_and_their_sums(name: str) -> None:
    shape = {"n": 1, "c": 2, "h": 7, "w": 6, **SHAPES[name]}
    done = play("im2col", shape)
    image = done["image"].reshape(2, 7, 6)
    expected = columns(image, shape)
    assert done["columns"].reshape(expected.shape) == pytest.approx(expected)
    # each pixel is the sum of its columns: of ones, how often it is in one
    back = play("col2im", shape, given={"columns": np.ones(expected.size)})
    random = np.random.default_rng(3).random(image.shape)
    assert (back["image"].reshape(image.shape) * random).sum() == pytest.approx(columns(random, shape).sum())


def test_a_filter_larger_than_the_image_is_refused() -> None:
    with pytest.raises(ConfigError, match="larger than the padded image"):
        operations.make("im2col", {"n": 1, "c": 1, "h": 4, "w": 4, "kernel_h": 5, "kernel_w": 1})


def test_all_memory_operations_run() -> None:
    found = [spec_of(step) for step in load_suite("memory_operations", ROOT).steps(Choice())]
    assert len(found) == 34
    texts = [spec.text for spec in found if isinstance(spec, Spec)]
    assert len(texts) == 34
    assert (
        "im2col fwd n=1 c=3 h=224 w=224 kernel_h=7 kernel_w=7 pad_h=3 pad_w=3 stride_h=2 stride_w=2" in texts
    )
