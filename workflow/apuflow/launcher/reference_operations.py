"""NumPy's version of kernels that launch on operations, beside DNNMark's primitives, each by its definition.

Direct convolutions, whose sizes come from compile arguments; element-wise kernels; recurrent layers, which
work on rows with gaps between them; this project's own kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from apuflow.launcher.reference_call import Array, Call, Window, patches, scatter

_OPERATORS: Mapping[str, Callable[[Array, Array], Array]] = {
    "miopenAdd": np.add,
    "miopenMul": np.multiply,
    "miopenMin": np.minimum,
    "miopenMax": np.maximum,
}


def _combined(call: Call, a: Array, b: Array, c: Array) -> Array:
    """MIOpen's ``OpTensor``."""
    kept = call.number("beta") * c if call["use_beta"] else 0.0
    operator = _OPERATORS[call.defines["MIOPEN_TENSOR_OP"]]
    return np.asarray(kept + operator(call.number("alpha0") * a, call.number("alpha1") * b))


def _elementwise(call: Call) -> None:
    call.write(2, _combined(call, call.read(0), call.read(1), call.read(2)))


def _bias(call: Call) -> None:
    y = call.read(0, (call["images"], call["channels"], call["channel_stride"]))
    call.write(2, y + call.read(1)[:, None])


def _bias_gradient(call: Call) -> None:
    n, area = call.defined("MLO_OUT_", "BATCH_SZ CHANNEL_STRIDE")
    call.write(1, call.read(0, (n, -1, area)).sum((0, 2)))


def _strided(call: Call, side: str, dimensions: int) -> Array:
    """Positions of a strided copy's elements in one of its buffers."""
    found = np.full((1,) * dimensions, call[f"{side}_offset"])
    for axis in range(dimensions):
        steps = np.arange(call[f"length_{axis}"]) * call[f"{side}_stride_{axis}"]
        found = found + steps.reshape([-1 if k == axis else 1 for k in range(dimensions)])
    return found


def _copy(call: Call, dimensions: int) -> None:
    call.flat(1)[_strided(call, "target", dimensions)] = call.flat(0)[_strided(call, "source", dimensions)]


def _frozen_normalisation(call: Call) -> None:
    n, area, stride = call["batch"], call["image"], call["image_stride"]
    x = call.read(0, (n, stride // area, area))
    mean, variance, scale, bias = (call.read(index).reshape(-1, 1) for index in (2, 3, 4, 5))
    call.write(1, scale * (x - mean) / np.sqrt(np.abs(variance + call.number("epsilon"))) + bias)


def _gelu(call: Call) -> None:
    x = call.read(0)
    call.write(1, x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))))


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
    factor = call.define("FACTOR")
    call.write(1, call.read(0, (-1, call["width"])).repeat(factor, axis=0).repeat(factor, axis=1))


def _upsample_backward(call: Call) -> None:
    factor = call.define("FACTOR")
    call.write(1, call.read(0, (-1, factor, call["width"], factor)).sum((1, 3)))


# activations and recurrent layers -------------------------------------------------------------------------
_FORWARD: Mapping[int, Callable[[Call, Array], Array]] = {
    0: lambda call, x: x,
    1: lambda call, x: _logistic(x),
    2: lambda call, x: call.number("beta") * np.tanh(call.number("alpha") * x),
    3: lambda call, x: np.maximum(x, 0),
    4: lambda call, x: np.logaddexp(0, x),
}
"""The activations by ``MIOPEN_NRN_OP_ID``."""
_BACKWARD: Mapping[int, Callable[[Call, Array, Array, Array], Array]] = {
    0: lambda call, dy, x, y: dy,
    1: lambda call, dy, x, y: dy * y * (1 - y),
    2: lambda call, dy, x, y: _tanh_back(call, dy, y),
    3: lambda call, dy, x, y: dy * (x > 0),
    4: lambda call, dy, x, y: dy * _logistic(np.minimum(x, 50)),
}
"""Their derivatives, times ``dy``."""


def _logistic(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def _tanh_back(call: Call, dy: Array, y: Array) -> Array:
    alpha, beta = call.number("alpha"), call.number("beta")
    ratio = alpha / beta if abs(beta) > 1e-6 else alpha
    return np.asarray(dy * ratio * (beta - y) * (beta + y))


def _activation(call: Call) -> None:
    x, y = _activated(call, "x y")
    _write(call, 1, y, _FORWARD[call.define("MIOPEN_NRN_OP_ID")](call, _read(call, 0, x)))


def _activation_backward(call: Call) -> None:
    places = _activated(call, "dx dy x y")
    dy, x, y = (_read(call, index, places[index]) for index in (1, 2, 3))
    _write(call, 0, places[0], _BACKWARD[call.define("MIOPEN_NRN_OP_ID")](call, dy, x, y))


def _activated(call: Call, names: str) -> list[Array]:
    """Places of the elements of an activation's buffers: of all, or of rows, packed or not."""
    if "x_offset" not in call.scalars:
        return [np.arange(arg.elements) for arg in call.buffers]
    width, rows, _ = call.launch.grid
    width *= call.define("MIOPEN_READ_UNIT")
    pitches = [call[f"{name}_pitch"] if f"{name}_pitch" in call.scalars else width for name in names.split()]
    offsets = (call[f"{name}_offset"] for name in names.split())
    return [_places(offset, pitch, rows, width) for offset, pitch in zip(offsets, pitches, strict=True)]


def _places(offset: int, pitch: int, rows: int, width: int) -> Array:
    """Positions of rows' elements in their buffer."""
    return offset + np.arange(rows)[:, None] * pitch + np.arange(width)


def _read(call: Call, index: int, places: Array) -> Array:
    return call.flat(index)[places].astype(np.float64)


def _write(call: Call, index: int, places: Array, values: Array) -> None:
    call.flat(index)[places] = values.astype(np.float32)


def _combine(call: Call) -> None:
    width, rows = call["total_work"] * call.define("RD_BLCK"), call["total_rows"]
    places = [_places(call[f"{name}_offset"], call[f"{name}_pitch"], rows, width) for name in "abc"]
    operands = (_read(call, index, place) for index, place in enumerate(places))
    _write(call, 2, places[2], _combined(call, *operands))


def _lstm_places(call: Call, names: str) -> dict[str, Array]:
    sizes = call["pitch"], call["batch"], call["hidden"]
    return {name: _places(call[f"{name}_offset"], *sizes) for name in names.split()}


def _packed(call: Call, offset: str) -> Array:
    """Consecutive rows of the state's length: initial states, the cell's tanh."""
    return _places(call[offset], call["hidden"], call["batch"], call["hidden"])


def _lstm(call: Call) -> None:
    """Gates, cell and hidden state of a step."""
    at = _lstm_places(call, "i f o c cell before hidden")
    i, f, o = (_logistic(_read(call, 1, at[name])) for name in "ifo")
    c = np.tanh(_read(call, 1, at["c"]))
    before = _read(call, 0, _packed(call, "cx_offset")) if call["begin"] else _read(call, 1, at["before"])
    cell = f * before + i * c
    results = {"i": i, "f": f, "o": o, "c": c, "cell": cell, "hidden": o * np.tanh(cell)}
    for name, values in results.items():
        _write(call, 1, at[name], values)
    _write(call, 1, _packed(call, "active_offset"), np.tanh(cell))


def _lstm_back(call: Call) -> None:
    """Gradients of a step's gates and cell from that of its hidden state."""
    at = _lstm_places(call, "i f o c before f_later di df do dc dcell dcell_later dhidden")
    i, f, o, c = (_read(call, 2, at[name]) for name in "ifoc")
    active, dh = _read(call, 2, _packed(call, "active_offset")), _read(call, 3, at["dhidden"])
    dcell = dh * o * (1 - active**2)
    if not call["end"]:
        dcell = dcell + _read(call, 3, at["dcell_later"]) * _read(call, 2, at["f_later"])
    before = _read(call, 0, _packed(call, "cx_offset")) if call["begin"] else _read(call, 2, at["before"])
    results = {
        "di": dcell * c * i * (1 - i),
        "df": dcell * before * f * (1 - f),
        "do": dh * active * o * (1 - o),
        "dc": dcell * i * (1 - c**2),
        "dcell": dcell,
    }
    for name, values in results.items():
        _write(call, 3, at[name], values)


# direct convolutions --------------------------------------------------------------------------------------
class _Layer(NamedTuple):
    """A convolution: images ``(n, c, h, w)``, its output's size and channels."""

    image: tuple[int, int, int, int]
    outputs: int
    out: tuple[int, int]
    window: Window
    groups: int

    def columns(self, images: Array) -> Array:
        """(n, groups, taps of all channels, pixels): the inputs of each output."""
        seen = patches(images.reshape(self.image), self.window, self.out)
        n = self.image[0]
        return seen.reshape(n, self.groups, -1, self.out[0] * self.out[1])

    def filtered(self, values: Array) -> Array:
        """An output (n, groups, channels of a group, pixels)."""
        return values.reshape(self.image[0], self.groups, self.outputs // self.groups, -1)

    def filters(self, weights: Array) -> Array:
        """(groups, outputs of a group, taps of all channels)."""
        return weights.reshape(self.groups, self.outputs // self.groups, -1)

    def forward(self, images: Array, weights: Array) -> Array:
        """The output."""
        return np.asarray(np.einsum("gkt,ngtp->ngkp", self.filters(weights), self.columns(images)))

    def image_gradient(self, gradients: Array, weights: Array) -> Array:
        """The gradient of the images."""
        columns = np.einsum("gkt,ngkp->ngtp", self.filters(weights), self.filtered(gradients))
        of = self.window
        n, c, *size = self.image
        return scatter(columns.reshape(n, c, of.kernel_h, of.kernel_w, *self.out), of, size)

    def weight_gradients(self, gradients: Array, images: Array) -> Array:
        """The gradient of the weights for each image."""
        return np.asarray(np.einsum("ngkp,ngtp->ngkt", self.filtered(gradients), self.columns(images)))


def _layer(call: Call, image: str, filtered: str, pad: Sequence[int] | None = None) -> _Layer:
    """The layer, whose image and output MIOpen calls IN or OUT: backward data exchanges them."""
    names = "FILTER_SIZE1 FILTER_SIZE0 FILTER_STRIDE1 FILTER_STRIDE0 FILTER_PAD1 FILTER_PAD0"
    window = Window(*call.defined("MLO_", names))
    if pad is not None:
        window = window._replace(pad_w=pad[0], pad_h=pad[1])
    n, c, h, w = call.defined("MLO_", f"BATCH_SZ N_{image}PUTS {image}_HEIGHT {image}_WIDTH")
    outputs, out_h, out_w = call.defined("MLO_", f"N_{filtered}PUTS {filtered}_HEIGHT {filtered}_WIDTH")
    groups = int(call.defines.get("MLO_GROUP_COUNTS", 1))
    return _Layer((n, c, h, w), outputs, (out_h, out_w), window, groups)


def _data(call: Call) -> None:
    """Forward, or the gradient of the input, whose padding is that of the turned filter."""
    if call.define("MLO_DIR_FORWARD"):
        call.write(2, _layer(call, "IN", "OUT").forward(call.read(0), call.read(1)))
        return
    pad = None
    if call.launch.kernel == "MIOpenConvUni":
        names = "FILTER_SIZE0 FILTER_PAD0 FILTER_SIZE1 FILTER_PAD1"
        size_w, turned_w, size_h, turned_h = call.defined("MLO_", names)
        pad = size_w - 1 - turned_w, size_h - 1 - turned_h
    call.write(2, _layer(call, "OUT", "IN", pad).image_gradient(call.read(0), call.read(1)))


def _pointwise(call: Call) -> None:
    """MIOpenConv1x1 of MIOpenConv1x1J1.cl, or of MIOpenConv1x1S.cl."""
    if "MLO_DIR_FORWARD" in call.defines:
        _data(call)
        return
    n, c, h, w, outputs = call.defined("", "BATCHSIZE C H W K")
    one = _Layer((n, c, h, w), outputs, (h, w), Window(1, 1, 1, 1, 0, 0), 1)
    call.write(2, one.forward(call.read(0), call.read(1)))


def _weights(call: Call) -> None:
    """The gradients of all parts of the batch, consecutively."""
    sums = _layer(call, "IN", "OUT").weight_gradients(call.read(0), call.read(1))
    images = int(call.defines.get("MLO_N_BATCH_LOOPS", len(sums)))
    call.write(2, np.add.reduceat(sums, range(0, len(sums), images)))


def _sums(call: Call) -> None:
    call.write(1, call.read(0, (-1, call.buffers[1].elements)).sum(0))


def _seen(call: Call) -> None:
    """The pixels that a strided 1x1 filter reads."""
    n, c, out_h, out_w, area, width, across, down = call.defined(
        "MLO_",
        "BATCH_SZ N_INPUTS IN_HEIGHT IN_WIDTH IN0_CHANNEL_STRIDE IN0_STRIDE FILTER0_STRIDE0 FILTER0_STRIDE1",
    )
    planes = call.read(0, (n, c, area // width, width))
    call.write(1, planes[:, :, : out_h * down : down, : out_w * across : across])


KERNELS: Mapping[str, Callable[[Call], None]] = {
    "MIOpenActiveFwdLite": _activation,
    "MIOpenActiveBwdLite": _activation_backward,
    "MIOpenActiveFwd2DLite": _activation,
    "MIOpenActiveBwd2DLite": _activation_backward,
    "Op2dTensorLite": _combine,
    "LSTMFwdHidUpdate": _lstm,
    "LSTMBwdHidUpdate": _lstm_back,
    "gelu_forward": _gelu,
    "gelu_backward": _gelu_backward,
    "sgd_momentum": _sgd,
    "layernorm_forward": _layer_norm,
    "layernorm_backward": _layer_norm_backward,
    "layernorm_weights": _layer_norm_weights,
    "embedding_forward": _embedding,
    "embedding_backward": _embedding_backward,
    "upsample_forward": _upsample,
    "upsample_backward": _upsample_backward,
    "MIOpenConvUni": _data,
    "MIOpenConv1x1": _pointwise,
    "MIOpenConv1x1pquv": _data,
    "MIOpenCvBwdWrW": _weights,
    "MIOpenCvBwdWrW_rdc": _sums,
    "MIOpenCvBwdWrW_8x8map": _weights,
    "MIOpenCvBwdWrW_16x16map": _weights,
    "SubSample": _seen,
    "OpTensorFwdBias": _bias,
    "MIOpenConvBwdB": _bias_gradient,
    "Op4dTensorLite": _elementwise,
    "SubTensorOpWithSubTensor1d": lambda call: _copy(call, 1),
    "SubTensorOpWithSubTensor2d": lambda call: _copy(call, 2),
    "MIOpenBatchNormFwdInferSpatialEst": _frozen_normalisation,
}
"""By the kernel's name."""
