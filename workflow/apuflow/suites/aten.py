"""PyTorch's ATen operators under ONNX' names; attributes are those of the operators' schemas.

An operator that is missing here keeps its own name. Source: ``aten/src/ATen/native/native_functions.yaml``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from apuflow.suites.models import Dims

Attributes: TypeAlias = dict[str, Any]
_POOLS: Final = {"max_pool": "MaxPool", "avg_pool": "AveragePool"}
NAMES: Final[Mapping[str, str]] = {
    name: op
    for op, names in {
        "Conv": "conv1d conv2d conv3d convolution",
        "ConvTranspose": "conv_transpose1d conv_transpose2d conv_transpose3d",
        "BatchNormalization": "batch_norm",
        "Gemm": "linear addmm",
        "MatMul": "matmul mm bmm",
        "Attention": "scaled_dot_product_attention",
        "LayerNormalization": "layer_norm",
        "RMSNormalization": "rms_norm",
        "GroupNormalization": "group_norm instance_norm",
        "Embedding": "embedding",
        "LSTM": "lstm",
        "GRU": "gru",
        "RNN": "rnn_tanh rnn_relu",
        "Clip": "clamp hardtanh relu6",
        "GlobalAveragePool": "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d",
        "Copy": "roll flip copy pixel_shuffle pixel_unshuffle channel_shuffle",
        "Filled": "new_zeros new_ones new_full zeros_like ones_like full_like",
        "Dropout": "dropout feature_dropout alpha_dropout",
        "Concat": "cat concat stack",
        "Reshape": "view reshape unflatten",
        "Flatten": "flatten",
        "Squeeze": "squeeze",
        "Unsqueeze": "unsqueeze",
        "Transpose": "transpose permute t numpy_T swapaxes movedim",
        "Slice": "slice select narrow split split_with_sizes chunk unbind tensor_split",
        "Expand": "expand expand_as",
        "Identity": "contiguous clone alias detach getitem lift_fresh_copy",
        "Cast": "to type_as _to_copy",
        "Softmax": "softmax",
        "LogSoftmax": "log_softmax",
        "Pad": "pad constant_pad_nd",
        "Reduce": "mean sum amax amin max min var std prod argmax norm linalg_vector_norm",
        "UpsampleNearest": "upsample_nearest2d",
        "UpsampleBilinear": "upsample_bilinear2d",
        **{f"{op}": f"{name}1d {name}2d {name}3d" for name, op in _POOLS.items()},
        **{name.capitalize(): name for name in ("relu", "sigmoid", "tanh", "gelu", "silu", "exp", "neg")},
        **{name.capitalize(): name for name in ("add", "sub", "mul", "div", "abs", "sqrt", "pow", "erf")},
        **{name.capitalize(): name for name in ("hardswish", "hardsigmoid", "elu", "mish", "prelu")},
    }.items()
    for name in names.split()
}
"""ONNX' name, or ours, by ATen's."""


def _windows(value: Any, count: int) -> Dims:
    given = tuple(int(one) for one in value) if isinstance(value, (list, tuple)) else (int(value),)
    return given * count if len(given) == 1 else given


def _convolved(given: Attributes, dims: int) -> Attributes:
    window = {"strides": _windows(given["stride"], dims), "dilations": _windows(given["dilation"], dims)}
    found = {**window, "group": given["groups"]}
    if isinstance(given["padding"], str):
        return found | {"auto_pad": {"same": "SAME_UPPER", "valid": "VALID"}[given["padding"]]}
    return found | {"pads": _windows(given["padding"], dims) * 2}


def _pooled(given: Attributes, dims: int) -> Attributes:
    """Without a stride, windows are adjacent."""
    kernel = _windows(given["kernel_size"], dims)
    found = {
        "kernel_shape": kernel,
        "strides": _windows(given.get("stride") or kernel, dims),
        "pads": _windows(given["padding"], dims) * 2,
        "ceil_mode": int(given["ceil_mode"]),
    }
    if "dilation" in given:
        return found | {"dilations": _windows(given["dilation"], dims)}
    counted = {"count_include_pad": int(given["count_include_pad"])}
    return found | counted | {"divisor_override": given["divisor_override"] or 0}


def _clipped(given: Attributes, dims: int) -> Attributes:
    del dims
    if "min_val" in given:
        return {"min": given["min_val"], "max": given["max_val"]}
    return {"min": given["min"], "max": given["max"]} if "min" in given else {"min": 0.0, "max": 6.0}


_MADE: Final[Mapping[str, Callable[[Attributes, int], Attributes]]] = {
    **dict.fromkeys(("Conv", "ConvTranspose"), _convolved),
    **dict.fromkeys(_POOLS.values(), _pooled),
    "Clip": _clipped,
    **dict.fromkeys(("Concat", "Softmax", "LogSoftmax"), lambda given, _: {"axis": given["dim"]}),
}


def attributes_of(op: str, given: Attributes, dims: int) -> Attributes:
    """Attributes under ONNX' names where ONNX has the operator.

    Args:
        given: arguments that are no tensors, by the schema's names.
        dims: dimensions of a window.
    """
    return _MADE[op](given, dims) if op in _MADE else given
