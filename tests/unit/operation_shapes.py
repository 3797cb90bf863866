"""A small shape of every kind of operation."""

from __future__ import annotations

from typing import Any

CASES: dict[str, dict[str, Any]] = {
    "gemm": {"m": 5, "n": 6, "k": 7, "beta": 1, "transpose_b": True},
    "convolution": {
        "n": 2, "c": 4, "h": 5, "w": 6, "num_output": 6, "kernel_h": 3, "kernel_w": 2, "groups": 2,
    },
    "convolution dilated": {
        "n": 1, "c": 3, "h": 9, "w": 9, "num_output": 2, "kernel_h": 3, "kernel_w": 3, "dilation_h": 2,
    },
    "convolution direct": {
        "n": 2, "c": 3, "h": 9, "w": 9, "num_output": 4, "kernel_h": 3, "kernel_w": 3, "algorithm": "direct",
    },
    "convolution direct groups": {
        "n": 1, "c": 4, "h": 9, "w": 9, "num_output": 4, "kernel_h": 3, "kernel_w": 3, "algorithm": "direct",
        "groups": 4, "pad_h": 1, "pad_w": 1,
    },
    "convolution direct 1x1": {
        "n": 2, "c": 32, "h": 5, "w": 5, "num_output": 32, "kernel_h": 1, "kernel_w": 1,
        "algorithm": "direct",
    },
    "convolution direct stride": {
        "n": 2, "c": 3, "h": 15, "w": 16, "num_output": 4, "kernel_h": 3, "kernel_w": 3,
        "pad_h": 1, "pad_w": 1, "stride_h": 2, "stride_w": 2, "algorithm": "direct",
    },
    "convolution direct small": {
        "n": 1, "c": 4, "h": 4, "w": 4, "num_output": 4, "kernel_h": 3, "kernel_w": 3, "algorithm": "direct",
        "pad_h": 1, "pad_w": 1,
    },
    "deconvolution": {
        "n": 2, "c": 3, "h": 4, "w": 5, "num_output": 2, "kernel_h": 4, "kernel_w": 4, "stride_h": 2,
    },
    "im2col": {"n": 2, "c": 3, "h": 6, "w": 5, "kernel_h": 3, "kernel_w": 2, "pad_h": 1, "stride_w": 2},
    "col2im": {"n": 2, "c": 3, "h": 6, "w": 5, "kernel_h": 3, "kernel_w": 2, "pad_h": 1, "stride_w": 2},
    "bias": {"n": 2, "c": 3, "h": 5, "w": 5},
    "bias of one image": {"n": 1, "c": 100, "h": 1, "w": 1},
    "elementwise": {"n": 2, "c": 3, "h": 4, "w": 5},
    "concat": {"n": 2, "channels": "2,3", "h": 4, "w": 4},
    "concat one image": {"n": 1, "channels": "2,3", "h": 4, "w": 4},
    "scale_shift": {"n": 2, "c": 3, "h": 4, "w": 5},
    "copy": {"elements": 1000},
    "fill": {"elements": 1000},
    "transpose": {"n": 2, "c": 3, "h": 4, "w": 4},
    "recurrent lstm": {"cell": "lstm", "hidden": 8, "batch": 3, "steps": 3, "input": 4},
    "recurrent gru": {"cell": "gru", "hidden": 8, "batch": 3, "steps": 3},
    "recurrent": {"cell": "tanh", "hidden": 6, "batch": 3, "steps": 3},
    "layernorm": {"rows": 6, "width": 100},
    "gelu": {"elements": 1000},
    "gelu odd": {"elements": 999},
    "embedding": {"rows": 50, "width": 24, "tokens": 7},
    "upsample": {"n": 1, "c": 2, "h": 3, "w": 5},
    "upsample by 4": {"n": 2, "c": 1, "h": 2, "w": 70, "factor": 4},
    "sgd": {"elements": 1000},
}  # fmt: skip
"""A small shape of every kind."""
