"""The grammar of ``.dnnmark`` files: parse, check, write, and what a network needs."""

from apuflow.dnnmark.checks import check
from apuflow.dnnmark.layers import (
    LAYER_KEYS,
    LRN,
    Activation,
    BatchNorm,
    Bypass,
    Convolution,
    Direction,
    Dropout,
    FullyConnected,
    Key,
    Kind,
    Layer,
    Network,
    Pooling,
    Problem,
    RunMode,
    Shape,
    Softmax,
    Value,
)
from apuflow.dnnmark.memory import device_bytes, mmap_bytes
from apuflow.dnnmark.parser import parse
from apuflow.dnnmark.writer import with_layer_values

__all__ = [
    "LAYER_KEYS",
    "LRN",
    "Activation",
    "BatchNorm",
    "Bypass",
    "Convolution",
    "Direction",
    "Dropout",
    "FullyConnected",
    "Key",
    "Kind",
    "Layer",
    "Network",
    "Pooling",
    "Problem",
    "RunMode",
    "Shape",
    "Softmax",
    "Value",
    "check",
    "device_bytes",
    "mmap_bytes",
    "parse",
    "with_layer_values",
]
