"""Small layers of every primitive, as DNNMark texts."""

from __future__ import annotations

from typing import Any

SOFTMAX: dict[str, Any] = {"softmax_algo": "accurate", "softmax_mode": "channel"}
LRN: dict[str, Any] = {"lrn_mode": "cross_channel_dim1", "local_size": 5, "alpha": 0.2, "beta": 0.75, "k": 1}
PER_ACTIVATION: dict[str, Any] = {
    "batchnorm_mode": "per_activation",
    "epsilon": 1e-5,
    "exp_avg_factor": 0.5,
}
SPATIAL: dict[str, Any] = {**PER_ACTIVATION, "batchnorm_mode": "spatial"}

HEAD = "[DNNMark]\nrun_mode=standalone\n\n"


def layer(kind: str, shape: tuple[int, int, int, int], **keys: object) -> str:
    n, c, h, w = shape
    rest = "".join(f"{key}={value}\n" for key, value in keys.items())
    return f"{HEAD}[{kind}]\nname=layer\nn={n}\nc={c}\nh={h}\nw={w}\nprevious_layer=null\n{rest}"


def convolution(shape: tuple[int, int, int, int], outputs: int, kernel: int, pad: int, stride: int) -> str:
    sizes = {"num_output": outputs, "kernel_size": kernel, "pad": pad, "stride": stride}
    return layer("Convolution", shape, conv_mode="cross_correlation", **sizes)


LAYERS = {
    "softmax": layer("Softmax", (6, 40, 1, 1), **SOFTMAX),
    "relu": layer("Activation", (2, 3, 5, 7), activation_mode="relu"),
    "sigmoid": layer("Activation", (2, 3, 4, 4), activation_mode="sigmoid"),
    "bypass": layer("Bypass", (3, 10, 1, 1)),
    "pool_max": layer("Pooling", (2, 3, 9, 11), pool_mode="max", kernel_size=3, pad=1, stride=2),
    "pool_avg": layer("Pooling", (2, 3, 9, 11), pool_mode="avg", kernel_size=3, pad=1, stride=2),
    "lrn": layer("LRN", (2, 8, 4, 5), **LRN),
    "lrn_within": layer(
        "LRN", (2, 3, 7, 6), lrn_mode="within_channel", local_size=3, alpha=0.2, beta=0.75, k=1
    ),
    "bn": layer("BatchNorm", (5, 3, 4, 4), **PER_ACTIVATION),
    "bn_spatial": layer("BatchNorm", (5, 3, 4, 4), **SPATIAL),
    "fc": layer("FullyConnected", (3, 20, 1, 1), num_output=7),
    "conv": convolution((2, 3, 9, 8), 4, kernel=3, pad=1, stride=2),
    "conv1x1": convolution((2, 3, 6, 8), 4, kernel=1, pad=0, stride=1),
    "conv1x1s2": convolution((2, 3, 6, 8), 4, kernel=1, pad=0, stride=2),
}
