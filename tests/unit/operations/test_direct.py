"""MIOpen's direct convolutions: the same results by other kernels, and the settings that MIOpen takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from operation_plays import play

from apuflow import operations
from apuflow.core.errors import ConfigError

DIRECT: dict[str, dict[str, Any]] = {
    "3x3": {"c": 3, "num_output": 5, "kernel_h": 3, "kernel_w": 3, "pad_h": 1, "pad_w": 1},
    "3x3 stride": {
        "c": 2, "num_output": 3, "kernel_h": 3, "kernel_w": 3, "pad_h": 1, "pad_w": 1, "stride_h": 2,
        "stride_w": 2, "h": 15, "w": 16,
    },
    "5x5": {"c": 2, "num_output": 3, "kernel_h": 5, "kernel_w": 5, "stride_h": 2, "stride_w": 2},
    "depthwise": {"c": 3, "num_output": 3, "kernel_h": 3, "kernel_w": 3, "groups": 3},
    "groups": {"c": 4, "num_output": 8, "kernel_h": 3, "kernel_w": 3, "groups": 2, "w": 9},
    "1x1": {"c": 16, "num_output": 32, "kernel_h": 1, "kernel_w": 1},
}  # fmt: skip
STRIDED = {"kernel_h": 1, "kernel_w": 1, "stride_h": 2, "stride_w": 2, "propagation": False}
BACKWARD: dict[str, tuple[dict[str, Any], list[str]]] = {
    "3x3": ({}, ["MIOpenCvBwdWrW", "MIOpenCvBwdWrW_rdc", "MIOpenConvUni"]),
    "3x3 stride": ({}, ["MIOpenCvBwdWrW", "MIOpenCvBwdWrW_rdc", "MIOpenConvUni"]),
    "depthwise": ({"w": 5}, ["MIOpenCvBwdWrW", "MIOpenCvBwdWrW_rdc", "MIOpenConvUni"]),
    "groups": ({"n": 1}, ["MIOpenCvBwdWrW", "MIOpenConvUni"]),
    "1x1": ({}, ["MIOpenCvBwdWrW_8x8map", "MIOpenConv1x1"]),
    "1x1 of few": (
        {"c": 6, "num_output": 9, "kernel_h": 1, "kernel_w": 1},
        ["MIOpenCvBwdWrW", "MIOpenCvBwdWrW_rdc", "MIOpenConv1x1"],
    ),
    "two passes": ({"c": 32, "num_output": 16, **STRIDED}, ["SubSample", "MIOpenCvBwdWrW_8x8map"]),
    "one pass": (
        {"c": 16, "num_output": 32, **STRIDED, "propagation": True},
        ["MIOpenCvBwdWrW_8x8map", "MIOpenConv1x1pquv"],
    ),
    "16x16": (
        {"c": 128, "num_output": 256, "kernel_h": 1, "kernel_w": 1, "propagation": False},
        ["MIOpenCvBwdWrW_16x16map"],
    ),
    "many channels": (
        {"c": 96, "num_output": 96, "kernel_h": 3, "kernel_w": 3, "pad_h": 1, "pad_w": 1, "w": 4},
        ["MIOpenCvBwdWrW", "MIOpenConvUni"],
    ),
}
"""What differs from ``DIRECT``'s layer of the same name, and MIOpen's kernels in order."""


def layer(name: str, **change: Any) -> dict[str, Any]:
    return {"n": 2, "h": 8, "w": 7, **DIRECT.get(name, {}), **change, "algorithm": "direct"}


@pytest.mark.parametrize("name", DIRECT)
def test_forward(name: str) -> None:
    """The same result by another algorithm, in one launch that is labelled."""
    shape = layer(name)
    done = play("convolution", shape)
    given = {part: done[part] for part in ("bottom", "weights")}
    by_gemm = play("convolution", {**shape, "algorithm": "gemm"}, given=given)
    assert done["top"] == pytest.approx(by_gemm["top"], rel=1e-5)
    [launch] = operations.make("convolution", shape).launches("fwd", 4)
    assert "direct algorithm instead of DNNMark's GEMM" in launch.note


@pytest.mark.parametrize("name", BACKWARD)
def test_gradients(name: str) -> None:
    """Of weights and input the same as by products, by the kernels that MIOpen chooses."""
    change, kernels = BACKWARD[name]
    shape = layer(name, **change)
    by_gemm = {**shape, "algorithm": "gemm"}
    rest = play("convolution", by_gemm, "bwd")
    sizes = {"bottom": rest["bottom"].size, "weights_diff": rest["weights_diff"].size}
    random = np.random.default_rng(3)
    given = {"bottom": random.random(sizes["bottom"]), "top_diff": random.random(rest["top_diff"].size)}
    if shape.get("propagation", True):
        given["weights"] = random.random(sizes["weights_diff"])
    done, expected = (play("convolution", one, "bwd", given) for one in (shape, by_gemm))
    for part in ("weights_diff", "bottom"):
        assert done[part] == pytest.approx(expected[part], rel=2e-5), part
    found = operations.make("convolution", shape).launches("bwd", 4)
    assert [launch.kernel for launch in found] == kernels
    assert all("direct algorithm" in launch.note for launch in found)


def test_settings_of_the_forward_kernel() -> None:
    """ResNet-50's 3x3 over 56x56, 64 channels: tiles of 32, 2x2 pixels each, 8 outputs of 2 inputs."""
    shape: dict[str, Any] = {"n": 1, "c": 64, "h": 56, "w": 56, "num_output": 64}
    shape |= {"kernel_h": 3, "kernel_w": 3, "pad_h": 1, "pad_w": 1, "algorithm": "direct"}
    [launch] = operations.make("convolution", shape).launches("fwd", 4)
    assert (launch.kernel, launch.grid, launch.workgroup) == ("MIOpenConvUni", (1024, 8, 1), (256, 1, 1))
    for define in ("IN_TILE0=32", "GRP_TILE0=16", "OUT_TILE1=2", "N_OUT_TILES=8", "N_IN_TILES_PERSTACK=2"):
        assert f" -DMLO_{define} " in (launch.arguments or "")


def test_settings_of_the_gradients_kernels() -> None:
    """ResNet-50's first convolution of stage 3: 3x3 at stride 2 from 56x56 to 28x28, 128 channels, 16 images.

    Of weights: 128 / 4 groups of outputs for every input and image, rows of 1 + 56 + 4 floats (whole reads of
    6), made odd. Of the input: tiles of 32x32 of dx, 2x2 for each work-item, padding 3 - 1 - 1.
    """
    shape: dict[str, Any] = {"n": 16, "c": 128, "h": 56, "w": 56, "num_output": 128, "stride_h": 2}
    shape |= {"kernel_h": 3, "kernel_w": 3, "pad_h": 1, "pad_w": 1, "stride_w": 2, "algorithm": "direct"}
    weights, sums, data = operations.make("convolution", shape).launches("bwd", 4)
    assert (weights.program, weights.grid) == ("MIOpenConvBwdWrWS2.cl", (128 * 64, 32, 16))
    for define in ("IN_LCL_WIDTH=61", "ALIGNED_OUT_SCAN_LN=5", "N_OUT_BLK=10", "OUT_N_PIXS_OFF=4"):
        assert f" -DMLO_{define} " in (weights.arguments or "")
    assert sums.grid == (128 * 128 * 9, 1, 1)
    assert (data.grid, data.workgroup) == ((4 * 256, 16, 16), (256, 1, 1))
    for define in ("DIR_FORWARD=0", "FILTER_PAD0=1", "OUT_TILE0=2", "IN_TILE0=32", "IN_WIDTH=28"):
        assert f" -DMLO_{define} " in (data.arguments or "")


def test_a_gradient_without_a_direct_kernel_is_gemms() -> None:
    """Dilation has none; a filter of 4x4 has one of the weights alone."""
    shape: dict[str, Any] = {"n": 1, "c": 3, "h": 16, "w": 16, "num_output": 5, "kernel_h": 4, "kernel_w": 4}
    shape |= {"propagation": False, "algorithm": "direct"}
    [weights] = operations.make("convolution", shape).launches("bwd", 4)
    assert weights.kernel == "MIOpenCvBwdWrW"
    mixed = {**layer("3x3", w=20), "stride_h": 3, "stride_w": 3, "pad_h": 0, "pad_w": 0}
    found = operations.make("convolution", mixed).launches("bwd", 4)
    assert [launch.kernel for launch in found] == [
        "MIOpenCvBwdWrW",
        "MIOpenCvBwdWrW_rdc",
        "sgemm",
        "Col2Im2d",
    ]


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"kernel_h": 4, "kernel_w": 4}, "kernel_h"),
        ({"dilation_h": 2}, "dilation_h"),
        ({"stride_h": 3, "stride_w": 3}, "stride_h"),
        ({"pad_w": 0}, "stride_h"),
        ({"kernel_h": 1, "kernel_w": 1}, "pad_h"),
        ({"kernel_h": 1, "kernel_w": 1, "pad_h": 0, "pad_w": 0}, "c"),
        ({"c": 144, "num_output": 32, "kernel_h": 1, "kernel_w": 1, "pad_h": 0, "pad_w": 0}, "c"),
        ({"c": 16, "num_output": 48, "kernel_h": 1, "kernel_w": 1, "pad_h": 0, "pad_w": 0}, "num_output"),
    ],
)
def test_what_miopen_has_no_direct_kernel_for(change: dict[str, int], key: str) -> None:
    shape: dict[str, Any] = {"n": 1, "h": 16, "w": 16, **DIRECT["3x3"], "algorithm": "direct"}
    with pytest.raises(ConfigError, match="set algorithm to gemm") as caught:
        operations.make("convolution", {**shape, **change}).launches("fwd", 4)
    assert caught.value.key == key
