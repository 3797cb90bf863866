"""The grammar of ``.dnnmark`` files: parse, check, write, and what a network needs."""

from apuflow.dnnmark.key import Key
from apuflow.dnnmark.kind import Direction
from apuflow.dnnmark.layers import (
    LAYER_KEYS,
    LRN,
    Activation,
    BatchNorm,
    Convolution,
    FullyConnected,
    Pooling,
)
from apuflow.dnnmark.network import Layer, Network, Problem, check, device_bytes, mmap_bytes
from apuflow.dnnmark.parser import parse
from apuflow.dnnmark.shape import Plane, Shape
from apuflow.dnnmark.writer import with_layer_values, write

__all__ = [
    "LAYER_KEYS",
    "LRN",
    "Activation",
    "BatchNorm",
    "Convolution",
    "Direction",
    "FullyConnected",
    "Key",
    "Layer",
    "Network",
    "Plane",
    "Pooling",
    "Problem",
    "Shape",
    "check",
    "device_bytes",
    "mmap_bytes",
    "parse",
    "with_layer_values",
    "write",
]
