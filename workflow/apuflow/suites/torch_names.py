"""Names of PyTorch's modules and functions, and ONNX' names of the same operators."""

from __future__ import annotations

from typing import Final

CONVOLUTIONS: Final = ("Conv", "ConvTranspose")
LEARNT: Final = ("weight", "bias")
"""Parameters of a layer, in the order of ONNX' inputs."""
MODULES: Final = {
    "Conv1d": "Conv",
    "Conv2d": "Conv",
    "Conv3d": "Conv",
    "ConvTranspose2d": "ConvTranspose",
    "BatchNorm2d": "BatchNormalization",
    "BatchNorm1d": "BatchNormalization",
    "ReLU": "Relu",
    "ReLU6": "Clip",
    "Hardtanh": "Clip",
    "MaxPool2d": "MaxPool",
    "AvgPool2d": "AveragePool",
    "AdaptiveAvgPool2d": "GlobalAveragePool",
    "Linear": "Gemm",
    "LocalResponseNorm": "LRN",
    **dict.fromkeys(("Dropout1d", "Dropout2d", "AlphaDropout"), "Dropout"),
}
FUNCTIONS: Final = {
    "add": "Add",
    "iadd": "Add",
    "add_": "Add",
    "cat": "Concat",
    "concat": "Concat",
    "flatten": "Flatten",
    "reshape": "Reshape",
    "view": "Reshape",
    "contiguous": "Identity",
    "squeeze": "Squeeze",
    "unsqueeze": "Unsqueeze",
    "relu": "Relu",
    "relu_": "Relu",
    "relu6": "Clip",
    "clamp": "Clip",
    "hardtanh": "Clip",
    "sigmoid": "Sigmoid",
    "tanh": "Tanh",
    "softmax": "Softmax",
    "log_softmax": "LogSoftmax",
    "dropout": "Dropout",
    "dropout2d": "Dropout",
    "adaptive_avg_pool2d": "GlobalAveragePool",
    "max_pool2d": "MaxPool",
    "avg_pool2d": "AveragePool",
}
POOLS: Final = ("max_pool2d", "avg_pool2d")
DATA: Final = {
    "max_pool2d": ("input", "kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices"),
    "avg_pool2d": (
        *("input", "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"),
    ),
    "cat": ("tensors", "dim"),
    "concat": ("tensors", "dim"),
    "softmax": ("input", "dim"),
    "log_softmax": ("input", "dim"),
    "clamp": ("input", "min", "max"),
    "hardtanh": ("input", "min_val", "max_val"),
}
"""Arguments of functions, in order."""
