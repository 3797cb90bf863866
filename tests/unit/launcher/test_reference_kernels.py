"""NumPy references of the launches: hand values, plain loops, and derivatives of the forward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
from launcher_layers import LAYERS, layer
from numpy.typing import NDArray

from apuflow.dnnmark import parse
from apuflow.launcher.reference_kernels import execute
from apuflow.miopen import expand, launches

Array = NDArray[Any]


Memory = dict[str, Array]


def play(text: str, direction: Literal["fwd", "bwd"], given: Memory, seed: int = 1) -> Memory:
    """Run a layer's launches on random buffers, some of them given; all buffers afterwards."""
    random = np.random.default_rng(seed)
    every = tuple(expand(launches(parse(text), direction, 4)))
    arguments = [arg for launch in every for arg in launch.args if arg.kind == "buffer"]
    memory: Memory = {}
    for arg in sorted(arguments, key=lambda arg: arg.elements):
        name = str(arg.value)
        if name in given:
            memory[name] = given[name].astype(np.float32).ravel()
        elif arg.element_bytes == 1:
            memory[name] = random.integers(0, 9, arg.elements).astype(np.uint8)
        else:
            memory[name] = random.random(arg.elements, np.float32)
    for launch in every:
        execute(launch, memory)
    return memory


def slope(function: Callable[[Array], Array], x: Array, dy: Array) -> Array:
    """d(sum(dy * function(x)))/dx by central differences in double precision."""
    found = np.empty_like(x, np.float64)
    for index in np.ndindex(x.shape):
        step = np.zeros_like(x, np.float64)
        step[index] = 1e-3
        found[index] = (dy * (function(x + step) - function(x - step))).sum() / 2e-3
    return found


def forward(text: str, y: str = "layer.top", **fixed: Array) -> Callable[[Array], Array]:
    given = {f"layer.{key}": value for key, value in fixed.items()}
    return lambda x: play(text, "fwd", {"layer.bottom": x, **given})[y].astype(np.float64)


def test_softmax_hand_values() -> None:
    text = layer("Softmax", (1, 3, 1, 1))
    memory = play(text, "fwd", {"layer.bottom": np.log(np.array([1.0, 2.0, 5.0]))})
    assert memory["layer.top"] == pytest.approx([0.125, 0.25, 0.625])
    # dx = y (dy - sum(dy y)), sum = 0.125 + 0.5 + 1.875
    given = {"layer.top": memory["layer.top"], "layer.top_diff": np.array([1.0, 2.0, 3.0])}
    assert play(text, "bwd", given)["layer.bottom_diff"] == pytest.approx([-0.1875, -0.125, 0.3125])


def test_relu_hand_values() -> None:
    text = layer("Activation", (1, 4, 1, 1), activation_mode="relu")
    x = np.array([-1.0, 0.0, 2.0, 3.0])
    assert play(text, "fwd", {"layer.bottom": x})["layer.top"].tolist() == [0, 0, 2, 3]
    given = {"layer.bottom": x, "layer.top_diff": np.array([1.0, 2.0, 3.0, 4.0])}
    assert play(text, "bwd", given)["layer.bottom_diff"].tolist() == [0, 0, 3, 4]


def test_batch_normalisation_hand_values() -> None:
    """Two samples 1 and 3: mean 2, variance 1 (unbiased 2), so -1 and 1 before scale 2 and bias 10."""
    text = layer(
        "BatchNorm", (2, 1, 1, 1), batchnorm_mode="per_activation", epsilon=1e-5, exp_avg_factor=0.25
    )
    given = {
        "layer.bottom": np.array([1.0, 3.0]),
        "layer.scale": np.array([2.0]),
        "layer.bias": np.array([10.0]),
        "layer.running_mean": np.array([8.0]),
        "layer.running_variance": np.array([4.0]),
    }
    memory = play(text, "fwd", given)
    assert memory["layer.top"] == pytest.approx([8.0, 12.0], abs=1e-4)
    assert memory["layer.saved_mean"] == pytest.approx([2.0])
    assert memory["layer.saved_inverse_variance"] == pytest.approx([1.0], abs=1e-4)
    assert memory["layer.running_mean"] == pytest.approx([0.75 * 8 + 0.25 * 2])
    assert memory["layer.running_variance"] == pytest.approx([0.75 * 4 + 0.25 * 2])


def test_pooling_hand_values() -> None:
    plane = np.arange(1.0, 10.0)  # 1 2 3 / 4 5 6 / 7 8 9
    sizes = {"kernel_size": 2, "pad": 0, "stride": 2}
    maximum = layer("Pooling", (1, 1, 3, 3), pool_mode="max", **sizes)
    average = layer("Pooling", (1, 1, 3, 3), pool_mode="avg", **sizes)
    assert play(maximum, "fwd", {"layer.bottom": plane})["layer.top"].tolist() == [5, 6, 8, 9]
    # windows over the edge count the pixels that are there
    assert play(average, "fwd", {"layer.bottom": plane})["layer.top"].tolist() == [3, 4.5, 7.5, 9]
    spread = play(average, "bwd", {"layer.top_diff": np.array([4.0, 2.0, 6.0, 8.0])})["layer.bottom_diff"]
    assert spread.tolist() == [1, 1, 1, 1, 1, 1, 3, 3, 8]


def test_pooling_backward_puts_gradients_where_the_mask_says() -> None:
    text = layer("Pooling", (1, 1, 4, 4), pool_mode="max", kernel_size=2, pad=0, stride=2)
    memory: Memory = {
        "layer.top_diff": np.array([1, 2, 3, 4], np.float32),
        "layer.bottom_diff": np.zeros(16, np.float32),
        "layer.workspace": np.array([0, 1, 2, 3], np.uint8),
    }
    [launch] = launches(parse(text), "bwd", 4)
    execute(launch, memory)
    assert memory["layer.bottom_diff"].reshape(4, 4).tolist() == [
        [1, 0, 0, 2],
        [0, 0, 0, 0],
        [0, 0, 0, 0],
        [3, 0, 0, 4],
    ]


def test_lrn_hand_values() -> None:
    """Three channels of one pixel, window 3: scale = 1 + 3/3 * (sum of squares in reach)."""
    text = layer("LRN", (1, 3, 1, 1), lrn_mode="cross_channel_dim1", local_size=3, alpha=3, beta=0.5, k=1)
    memory = play(text, "fwd", {"layer.bottom": np.array([1.0, 2.0, 3.0])})
    assert memory["layer.workspace"] == pytest.approx([6, 15, 14])
    assert memory["layer.top"] == pytest.approx([6**-0.5, 2 * 15**-0.5, 3 * 14**-0.5])


def test_lrn_across_channels_loses_the_sign() -> None:
    """MIOpenLRNFwd.cl: prv_out = sqrt(bot_in2[c_o]), of the square."""
    text = layer("LRN", (1, 3, 1, 1), lrn_mode="cross_channel_dim1", local_size=3, alpha=3, beta=0.5, k=1)
    memory = play(text, "fwd", {"layer.bottom": np.array([1.0, -2.0, 3.0])})
    assert memory["layer.top"] == pytest.approx([6**-0.5, 2 * 15**-0.5, 3 * 14**-0.5])


def test_lrn_of_an_even_window_reaches_further_back() -> None:
    """Window 4 across channels: two back, one ahead (MIOpenLRNFwd.cl: PRE_PAD = (4 - 1) / 2 ahead)."""
    text = layer("LRN", (1, 5, 1, 1), lrn_mode="cross_channel_dim1", local_size=4, alpha=4, beta=0.5, k=1)
    memory = play(text, "fwd", {"layer.bottom": np.array([1.0, 2.0, 3.0, 4.0, 5.0])})
    assert memory["layer.workspace"] == pytest.approx([1 + 5, 1 + 14, 1 + 30, 1 + 54, 1 + 50])


@pytest.mark.parametrize("name", ["sigmoid", "softmax"])
def test_backward_is_the_slope_of_forward(name: str) -> None:
    text = LAYERS[name]
    random = np.random.default_rng(3)
    size = parse(text).layers[0].input.elements
    x, dy = random.normal(size=size), random.normal(size=size)
    y = play(text, "fwd", {"layer.bottom": x})["layer.top"]
    given = {"layer.bottom": x, "layer.top": y, "layer.top_diff": dy}
    found = play(text, "bwd", given)["layer.bottom_diff"]
    assert found == pytest.approx(slope(forward(text), x, dy), abs=2e-3)


@pytest.mark.parametrize("name", ["lrn", "bn", "bn_spatial"])
def test_backward_of_normalisation_is_the_slope_of_forward(name: str) -> None:
    text = LAYERS[name]
    random = np.random.default_rng(4)
    size = parse(text).layers[0].input.elements
    x, dy = random.normal(size=size), random.normal(size=size)
    if name == "lrn":  # the forward kernel takes |x|
        x = np.abs(x)
    after = play(text, "fwd", {"layer.bottom": x})
    fixed: dict[str, Any] = {
        key: after[f"layer.{key}"] for key in ("scale", "bias") if f"layer.{key}" in after
    }
    after["layer.top_diff"] = dy
    found = play(text, "bwd", after)["layer.bottom_diff"]
    assert found == pytest.approx(slope(forward(text, **fixed), x, dy), abs=5e-3)


def loops(x: Array, weights: Array, pad: int, stride: int) -> Array:
    n, _, h, w = x.shape
    outputs, _, kernel, _ = weights.shape
    out = ((h + 2 * pad - kernel) // stride + 1, (w + 2 * pad - kernel) // stride + 1)
    padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    y = np.zeros((n, outputs, *out))
    for b, k, i, j in np.ndindex(y.shape):
        window = padded[b, :, i * stride : i * stride + kernel, j * stride : j * stride + kernel]
        y[b, k, i, j] = (window * weights[k]).sum()
    return y


@pytest.mark.parametrize(
    ("name", "kernel", "pad", "stride"), [("conv", 3, 1, 2), ("conv1x1", 1, 0, 1), ("conv1x1s2", 1, 0, 2)]
)
def test_convolution_is_its_definition(name: str, kernel: int, pad: int, stride: int) -> None:
    """im2col, products, transposes and col2im together: y by loops, dx and dw by adjointness."""
    text = LAYERS[name]
    shape = tuple(parse(text).layers[0].input)
    random = np.random.default_rng(5)
    x, weights = random.normal(size=shape), random.normal(size=(4, 3, kernel, kernel))
    want = loops(x, weights, pad, stride)
    memory = play(text, "fwd", {"layer.bottom": x, "layer.weights": weights})
    assert memory["layer.top"] == pytest.approx(want.ravel(), abs=1e-4)

    dy = random.normal(size=want.shape)
    given = {"layer.bottom": x, "layer.weights": weights, "layer.top_diff": dy}
    after = play(text, "bwd", given)
    probe = random.normal(size=weights.shape)
    assert (after["layer.weights_diff"] * probe.ravel()).sum() == pytest.approx(
        (dy * loops(x, probe, pad, stride)).sum(), rel=1e-4
    )
    # the port writes the data's gradient over the input
    image = random.normal(size=shape)
    assert (after["layer.bottom"] * image.ravel()).sum() == pytest.approx(
        (dy * loops(image, weights, pad, stride)).sum(), rel=1e-4
    )


def test_fully_connected_is_a_product() -> None:
    text = LAYERS["fc"]
    random = np.random.default_rng(6)
    x, weights = random.normal(size=(3, 20)), random.normal(size=(7, 20))
    memory = play(text, "fwd", {"layer.bottom": x, "layer.weights": weights})
    assert memory["layer.top"] == pytest.approx((x @ weights.T).ravel(), abs=1e-5)
    dy = random.normal(size=(3, 7))
    after = play(text, "bwd", {"layer.bottom": x, "layer.weights": weights, "layer.top_diff": dy})
    assert after["layer.weights_diff"] == pytest.approx((dy.T @ x).ravel(), abs=1e-5)
    assert after["layer.bottom_diff"] == pytest.approx((dy @ weights).ravel(), abs=1e-5)
