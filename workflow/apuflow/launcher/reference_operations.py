"""NumPy's version of the kernels of operations beyond DNNMark's primitives, each by its definition."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from apuflow.launcher import reference_convolutions
from apuflow.launcher.reference_call import Array, Call

_OPERATORS: Mapping[str, Callable[[Array, Array], Array]] = {
    "miopenAdd": np.add,
    "miopenMul": np.multiply,
    "miopenMin": np.minimum,
    "miopenMax": np.maximum,
}


def _elementwise(call: Call) -> None:
    a, b = call.number("alpha0") * call.read(0), call.number("alpha1") * call.read(1)
    kept = call.number("beta") * call.read(2) if call["use_beta"] else 0.0
    call.write(2, kept + _OPERATORS[call.defines["MIOPEN_TENSOR_OP"]](a, b))


def _bias(call: Call) -> None:
    y = call.read(0, (call["images"], call["channels"], call["channel_stride"]))
    call.write(2, y + call.read(1)[:, None])


def _bias_gradient(call: Call) -> None:
    n, area = call.defined("MLO_OUT_", "BATCH_SZ CHANNEL_STRIDE")
    call.write(1, call.read(0, (n, -1, area)).sum((0, 2)))


def _places(call: Call, side: str, dimensions: int) -> Array:
    """Positions of a strided copy's elements in one of its buffers."""
    found = np.full((1,) * dimensions, call[f"{side}_offset"])
    for axis in range(dimensions):
        steps = np.arange(call[f"length_{axis}"]) * call[f"{side}_stride_{axis}"]
        found = found + steps.reshape([-1 if k == axis else 1 for k in range(dimensions)])
    return found


def _copy(call: Call, dimensions: int) -> None:
    source, target = (call.memory[str(arg.value)] for arg in call.buffers)
    target[_places(call, "target", dimensions)] = source[_places(call, "source", dimensions)]


def _frozen_normalisation(call: Call) -> None:
    n, area, stride = call["batch"], call["image"], call["image_stride"]
    x = call.read(0, (n, stride // area, area))
    mean, variance, scale, bias = (call.read(index).reshape(-1, 1) for index in (2, 3, 4, 5))
    call.write(1, scale * (x - mean) / np.sqrt(np.abs(variance + call.number("epsilon"))) + bias)


def _gelu(x: Array) -> Array:
    values: Array = x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return values


def _gelu_backward(call: Call) -> None:
    x, dy = call.read(0), call.read(1)
    u = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
    inner = np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x**2)
    call.write(2, dy * ((1 + np.tanh(u)) / 2 + x / 2 * inner / np.cosh(u) ** 2))


def _sgd(call: Call) -> None:
    weights, velocity, gradient = (call.read(index) for index in range(3))
    velocity = call.number("momentum") * velocity + gradient + call.number("decay") * weights
    call.write(1, velocity)
    call.write(0, weights - call.number("rate") * velocity)


def _layer_norm(call: Call) -> None:
    x = call.read(0, (-1, call["width"]))
    mean, inverse = x.mean(1), 1 / np.sqrt(x.var(1) + call.number("epsilon"))
    normal = (x - mean[:, None]) * inverse[:, None]
    call.write(3, call.read(1) * normal + call.read(2))
    call.write(4, mean)
    call.write(5, inverse)


def _layer_norm_backward(call: Call) -> None:
    x, dy = (call.read(index, (-1, call["width"])) for index in (0, 1))
    mean, inverse = (call.read(index).reshape(-1, 1) for index in (3, 4))
    normal, slope = (x - mean) * inverse, dy * call.read(2)
    along = (slope * normal).mean(1, keepdims=True)
    call.write(5, inverse * (slope - slope.mean(1, keepdims=True) - normal * along))


def _layer_norm_weights(call: Call) -> None:
    x, dy = (call.read(index, (-1, call["width"])) for index in (0, 1))
    mean, inverse = (call.read(index).reshape(-1, 1) for index in (2, 3))
    call.write(4, (dy * (x - mean) * inverse).sum(0))
    call.write(5, dy.sum(0))


def _embedding(call: Call) -> None:
    call.write(2, call.read(1, (call["rows"], call["width"]))[call.read(0)])


def _embedding_backward(call: Call) -> None:
    shape = call["rows"], call["width"]
    sums = call.read(2, shape)
    np.add.at(sums, call.read(0), call.read(1, (call["tokens"], call["width"])))
    call.write(2, sums)


def _upsample(call: Call) -> None:
    factor = int(call.defines["FACTOR"])
    x = call.read(0, (-1, call["width"]))
    call.write(1, x.repeat(factor, axis=0).repeat(factor, axis=1))


def _upsample_backward(call: Call) -> None:
    factor = int(call.defines["FACTOR"])
    call.write(1, call.read(0, (-1, factor, call["width"], factor)).sum((1, 3)))


KERNELS: Mapping[str, Callable[[Call], None]] = {
    "gelu_forward": lambda call: call.write(1, _gelu(call.read(0))),
    "gelu_backward": _gelu_backward,
    "sgd_momentum": _sgd,
    "layernorm_forward": _layer_norm,
    "layernorm_backward": _layer_norm_backward,
    "layernorm_weights": _layer_norm_weights,
    "embedding_forward": _embedding,
    "embedding_backward": _embedding_backward,
    "upsample_forward": _upsample,
    "upsample_backward": _upsample_backward,
    **reference_convolutions.KERNELS,
    "OpTensorFwdBias": _bias,
    "MIOpenConvBwdB": _bias_gradient,
    "Op4dTensorLite": _elementwise,
    "SubTensorOpWithSubTensor1d": lambda call: _copy(call, 1),
    "SubTensorOpWithSubTensor2d": lambda call: _copy(call, 2),
    "MIOpenBatchNormFwdInferSpatialEst": _frozen_normalisation,
}
"""By the kernel's name."""
