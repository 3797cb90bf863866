"""The grammar of ``.dnnmark`` files: parse, check, write, and what a network needs."""

from apuflow.dnnmark.checks import check
from apuflow.dnnmark.edit import with_layer_values
from apuflow.dnnmark.keys import LAYER_KEYS, Key, Value
from apuflow.dnnmark.memory import device_bytes, mmap_bytes
from apuflow.dnnmark.model import (
    LRN,
    Activation,
    BatchNorm,
    Bypass,
    Convolution,
    Direction,
    Dropout,
    FullyConnected,
    Kind,
    Layer,
    Network,
    Pooling,
    Problem,
    RunMode,
    Shape,
    Softmax,
)
from apuflow.dnnmark.parser import parse

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
