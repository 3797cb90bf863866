"""The grammar of ``.dnnmark`` files: parse, check, write, and what a network needs."""

from apuflow.dnnmark.key import Key
from apuflow.dnnmark.kind import Direction, Kind
from apuflow.dnnmark.layers import (
    LAYER_KEYS,
    LRN,
    Activation,
    BatchNorm,
    Bypass,
    Convolution,
    Dropout,
    FullyConnected,
    Pooling,
    Softmax,
)
from apuflow.dnnmark.network import Layer, Network, Problem, RunMode, check, device_bytes, mmap_bytes
from apuflow.dnnmark.parser import parse
from apuflow.dnnmark.shape import Plane, Shape
from apuflow.dnnmark.writer import with_layer_values, write

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
    "Plane",
    "Pooling",
    "Problem",
    "RunMode",
    "Shape",
    "Softmax",
    "check",
    "device_bytes",
    "mmap_bytes",
    "parse",
    "with_layer_values",
    "write",
]
