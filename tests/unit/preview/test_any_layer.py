"""The preview of any layer on any machine: a finite row whose counters fit together, or a plain refusal."""

from __future__ import annotations

import random

import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from launcher_layers import layer
from preview_rows import DEFAULTS, FACTS, Point, any_machine, broken, size, strict_numbers

from apuflow import preview
from apuflow.core.errors import NotModelled
from apuflow.dnnmark import Direction, check, parse

Keys = dict[str, str | int]


MOST_ELEMENTS = 1 << 24


def any_shape(draw: random.Random) -> tuple[int, int, int, int]:
    kind = draw.randrange(5)
    height = 1 if kind == 0 else size(draw, 4096)
    width = height if kind < 3 else size(draw, 4096)
    room = max(1, MOST_ELEMENTS // (height * width))
    channels = size(draw, min(4096, room))
    return size(draw, min(256, max(1, room // channels))), channels, height, width


def any_window(draw: random.Random, shape: tuple[int, int, int, int], largest: int) -> Keys:
    """A window with an output, square or not."""
    keys: Keys = {}
    square = draw.randrange(3) > 0 and shape[2] == shape[3]
    for suffix, room in (("", shape[3]),) if square else (("_h", shape[2]), ("_w", shape[3])):
        kernel = size(draw, largest)
        least = max(0, -(-(kernel - room) // 2))
        keys["kernel_size" + suffix] = kernel
        keys["pad" + suffix] = least + draw.randrange(kernel // 2 + 2)
        keys["stride" + suffix] = size(draw, 32 if draw.randrange(4) == 0 else 4)
    return keys


def any_layer(draw: random.Random) -> str:
    kinds = (
        "Convolution",
        "Pooling",
        "LRN",
        "Activation",
        "FullyConnected",
        "Softmax",
        "BatchNorm",
        "Bypass",
    )
    kind = draw.choice((*kinds, "Dropout", "Convolution", "Convolution", "Pooling", "BatchNorm"))
    shape = any_shape(draw)
    keys: Keys = {}
    if kind == "Convolution":
        modes = ("cross_correlation", "cross_correlation", "convolution", "transpose")
        keys = {"conv_mode": draw.choice(modes), "num_output": size(draw, 2048)}
        if keys["conv_mode"] != "cross_correlation":
            keys["num_output"] = shape[1]
        keys |= any_window(draw, shape, draw.choice((1, 3, 5, 7, 20)))
    elif kind == "Pooling":
        keys = {"pool_mode": draw.choice(("max", "avg")), **any_window(draw, shape, draw.choice((3, 5, 15)))}
    elif kind == "LRN":
        keys = {"lrn_mode": draw.choice(("cross_channel_dim1", "within_channel")), "local_size": 5}
        shape = shape[0], shape[1] + 4, shape[2], shape[3]
    elif kind == "Activation":
        keys = {"activation_mode": draw.choice(("sigmoid", "relu", "tanh", "soft_relu"))}
    elif kind == "FullyConnected":
        keys = {"num_output": size(draw, 4096)}
    elif kind == "BatchNorm":
        keys = {"batchnorm_mode": draw.choice(("per_activation", "spatial"))}
    return layer(kind, shape, **keys)


def any_point(draw: random.Random, number: int = 0) -> Point:
    """A layer that runs (``dnnmark.check``) in one direction or both, on a machine of a release."""
    direction: Direction = draw.choice(("fwd", "bwd", "both"))
    text = any_layer(draw)
    if any(problem.level == "error" for problem in check(parse(text), direction)):
        direction = "fwd"
    return Point(str(number), text, direction, any_machine(draw), draw.choice(FACTS))


def test_thousands_of_layers_have_finite_rows() -> None:
    draw = random.Random(20261121)
    points = [any_point(draw, number) for number in range(2000)]
    with strict_numbers():
        frame = preview.run(points, DEFAULTS)
    assert len(frame) == len(points)
    found = broken(frame)
    assert not found, {name: points[int(rows[0])] for name, rows in found.items()}


def test_a_layer_has_the_same_row_alone_and_among_others() -> None:
    """Launches are evaluated together; NumPy's own functions differ in the last bits with their number."""
    draw = random.Random(20261128)
    points = [any_point(draw, number) for number in range(60)]
    alone = pd.concat([preview.run([point], DEFAULTS) for point in points], ignore_index=True)
    pd.testing.assert_frame_equal(preview.run(points, DEFAULTS), alone, check_dtype=False, rtol=1e-12)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_any_layer_has_a_finite_row(draw: random.Random) -> None:
    point = any_point(draw)
    with strict_numbers():
        frame = preview.run([point], DEFAULTS)
    assert not broken(frame), point


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 40), st.integers(1, 20), st.sampled_from(["cross_channel_dim1", "within_channel"]))
def test_windows_of_lrn_are_modelled_or_refused_by_name(window: int, channels: int, mode: str) -> None:
    text = layer("LRN", (2, channels, 9, 14), lrn_mode=mode, local_size=window)
    try:
        with strict_numbers():
            frame = preview.run([Point("lrn", text, "both", {})], DEFAULTS)
    except NotModelled as error:
        assert error.key in ("c", "local_size")
        assert error.remedy
    else:
        assert not broken(frame)


def im2col(size: int, stride: int) -> pd.Series:
    text = layer(
        "Convolution", (1, 3, size, size), num_output=32, kernel_size=3, pad=0, stride=stride,
        conv_mode="cross_correlation",
    )  # fmt: skip
    frame = preview.kernels_frame([Point("conv", text, "fwd", {})], DEFAULTS)
    return frame[frame["kernel"] == "Im2d2Col"].iloc[0]


def test_five_tiles_across_write_every_column() -> None:
    """Inception's first layer, 149 x 149 outputs.

    Of 4 x 18 whole tiles four wavefronts write, of 18 with 21
    columns three, of 4 with 5 rows three, of the corner two; each for 9 taps of 3 channels.
    """
    assert im2col(299, 2)["global_writes"] == (4 * 18 * 4 + 18 * 3 + 4 * 3 + 2) * 9 * 3
