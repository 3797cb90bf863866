"""NumPy's version of every kernel, by the definition of the primitive, not by the kernel's algorithm.

Details follow MIOpen's kernel sources at rocm-4.0.1: averages count real pixels only, running variance is
unbiased, LRN within a channel divides by the full window forward and by the clipped one backward.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from apuflow.core.errors import NotModelled
from apuflow.launcher import reference_operations, reference_rows
from apuflow.launcher import reference_windows as windows
from apuflow.launcher.reference_call import Array, Call, Memory
from apuflow.miopen.launch import Launch


def execute(launch: Launch, memory: Memory) -> None:
    """Execute a launch.

    Raises:
        NotModelled: a kernel without a reference.
    """
    kernel = _product if launch.gemm is not None else _KERNELS.get(launch.kernel)
    kernel = kernel or _OTHERS.get(launch.kernel)
    if kernel is None:
        raise NotModelled("no reference for this kernel", key="kernel", value=launch.kernel)
    kernel(Call(launch, memory))


# elementwise, softmax -------------------------------------------------------------------------------------
_FORWARD: Mapping[int, Callable[[Array], Array]] = {
    0: lambda x: x,
    1: lambda x: 1 / (1 + np.exp(-x)),
    3: lambda x: np.maximum(x, 0),
    4: lambda x: np.logaddexp(0, x),
}
_BACKWARD: Mapping[int, Callable[[Array, Array, Array], Array]] = {
    0: lambda dy, x, y: dy,
    1: lambda dy, x, y: dy * y * (1 - y),
    3: lambda dy, x, y: dy * (x > 0),
    4: lambda dy, x, y: dy * (1 / (1 + np.exp(-np.minimum(x, 50)))),
}
TANH = 2


def forward_of(call: Call, x: Array) -> Array:
    """The activation that the launch was compiled for."""
    operation = call.define("MIOPEN_NRN_OP_ID")
    if operation == TANH:
        values: Array = call.number("beta") * np.tanh(call.number("alpha") * x)
        return values
    return _FORWARD[operation](x)


def backward_of(call: Call, dy: Array, x: Array, y: Array) -> Array:
    """Its derivative, times ``dy``."""
    operation = call.define("MIOPEN_NRN_OP_ID")
    if operation == TANH:
        alpha, beta = call.number("alpha"), call.number("beta")
        ratio = alpha / beta if abs(beta) > 1e-6 else alpha
        values: Array = dy * ratio * (beta - y) * (beta + y)
        return values
    return _BACKWARD[operation](dy, x, y)


def _activation_forward(call: Call) -> None:
    if "x_offset" in call.scalars:
        reference_rows.activation(call, forward_of)
    else:
        call.write(1, forward_of(call, call.read(0)))


def _activation_backward(call: Call) -> None:
    if "x_offset" in call.scalars:
        reference_rows.activation_back(call, backward_of)
    else:
        call.write(0, backward_of(call, *(call.read(index) for index in (1, 2, 3))))


def _softmax_shape(call: Call) -> tuple[int, int, int]:
    spatial = call["spatial_dim"]
    return call["grid_size"] // spatial, call["vector_size"], spatial


def _softmax_forward(call: Call) -> None:
    x = call.read(0, _softmax_shape(call))
    exponents = np.exp(x - x.max(1, keepdims=True))
    call.write(1, exponents / exponents.sum(1, keepdims=True))


def _softmax_backward(call: Call) -> None:
    y, dy = (call.read(index, _softmax_shape(call)) for index in (0, 1))
    call.write(2, y * (dy - (dy * y).sum(1, keepdims=True)))


# batch normalisation: per activation the batch is one axis, spatial (n, h*w) are two ----------------------
def _bn_shape(call: Call, spatial: bool) -> tuple[tuple[int, int, int], tuple[int, ...]]:
    n, c, plane = call.defined("MIO_BN_", "N C HW")
    return (n, c, plane), ((0, 2) if spatial else (0,))


def _bn_forward(call: Call, spatial: bool) -> None:
    """y, running mean and variance, saved mean and inverse deviation."""
    shape, axes = _bn_shape(call, spatial)
    x = call.read(0, shape)
    count = x.size // x.sum(axes).size
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    inverse = 1 / np.sqrt(variance + call.number("epsilon"))
    scale, bias = (call.read(index).reshape(mean.shape) for index in (2, 3))
    call.write(1, scale * (x - mean) * inverse + bias)
    factor = call.number("exp_avg_factor")
    unbiased = variance * (count / (count - 1) if count > 1 else 1.0)
    for index, now in ((4, mean), (5, unbiased)):
        call.write(index, (1 - factor) * call.read(index) + factor * now.ravel())
    call.write(6, mean)
    call.write(7, inverse)


def _bn_backward(call: Call, spatial: bool) -> None:
    """dx, scale's and bias's gradients, from the saved mean and inverse deviation."""
    shape, axes = _bn_shape(call, spatial)
    x, dy = call.read(0, shape), call.read(1, shape)
    kept = x.sum(axes, keepdims=True).shape
    count = x.size // int(np.prod(kept))
    scale, mean, inverse = (call.read(index).reshape(kept) for index in (3, 6, 7))
    normal = (x - mean) * inverse
    dscale, dbias = (dy * normal).sum(axes, keepdims=True), dy.sum(axes, keepdims=True)
    call.write(2, scale * inverse / count * (count * dy - dbias - normal * dscale))
    call.write(4, dscale)
    call.write(5, dbias)


# matrix products and what surrounds them ------------------------------------------------------------------
def _columns(flat: Array, start: int, rows: int, cols: int, ld: int) -> Array:
    """A column-major matrix as a view."""
    step = flat.itemsize
    return np.lib.stride_tricks.as_strided(flat[start:], (rows, cols), (step, step * ld))


def _product(call: Call) -> None:
    """A matrix product, whichever kernel computes it: the stand-in takes A, B, C, rocBLAS' D, C, A, B."""
    gemm = call.launch.gemm
    assert gemm is not None
    buffers = call.buffers if len(call.buffers) == 3 else [*call.buffers[2:4], call.buffers[0]]
    a, b, c = (call.memory[str(arg.value)] for arg in buffers)
    for product in range(gemm.batch):
        at_a, at_b, at_c = (
            offset + product * stride
            for offset, stride in (
                (gemm.offset_a, gemm.stride_a),
                (gemm.offset_b, gemm.stride_b),
                (gemm.offset_c, gemm.stride_c),
            )
        )
        left = _columns(a, at_a, *((gemm.k, gemm.m) if gemm.transpose_a else (gemm.m, gemm.k)), gemm.lda)
        right = _columns(b, at_b, *((gemm.n, gemm.k) if gemm.transpose_b else (gemm.k, gemm.n)), gemm.ldb)
        left = (left.T if gemm.transpose_a else left).astype(np.float64)
        right = (right.T if gemm.transpose_b else right).astype(np.float64)
        target = _columns(c, at_c, gemm.m, gemm.n, gemm.ldc)
        before = gemm.beta * target.astype(np.float64) if gemm.beta else 0.0
        target[...] = (gemm.alpha * left @ right + before).astype(np.float32)


def _scale(call: Call) -> None:
    """rocBLAS' own step before a split sum: C times beta, or zero."""
    arg, beta = call.buffers[0], call.number("beta")
    flat = call.memory[str(arg.value)]
    for product in range(call["batch"]):
        start = arg.offset // flat.itemsize + product * call["stride_d2"]
        target = _columns(flat, start, call["m"], call["n"], call["stride_d1"])
        target[...] = target * np.float32(beta) if beta else 0.0


def _set_tensor(call: Call) -> None:
    call.write(0, np.full(call["elements"], call.number("value")))


def _window(call: Call) -> windows.Window:
    names = ("kernel_h", "kernel_w", "stride_h", "stride_w", "pad_h", "pad_w", "dilation_h", "dilation_w")
    return windows.Window(*(call[name] for name in names))


def _im2col(call: Call) -> None:
    h, w, start = call["image_h"], call["image_w"], call["image_offset"]
    size = call["image_elements"]
    image = call.read(0)[start : start + size].reshape(1, -1, h, w)
    patches = windows.patches(image, _window(call), (call["column_h"], call["column_w"]))
    call.write(1, patches)


def _col2im(call: Call) -> None:
    h, w, window = call["image_h"], call["image_w"], _window(call)
    out = (call["column_h"], call["column_w"])
    columns = call.read(0).reshape(1, -1, window.kernel_h, window.kernel_w, *out)
    image = windows.scatter(columns, window, (h, w))
    call.write(1, image, call["image_offset"])


def _transpose(call: Call) -> None:
    """1x1 convolution of stride 2: gather or spread every stride-th pixel, exchange batch and channels."""
    n, c = call.define("N"), call.define("C")
    start_in, start_out = call.define("IN_OFF"), call.define("OUT_OFF")
    source, target = (call.memory[str(arg.value)] for arg in call.buffers)
    to_cnhw = "NCHW2CNHW" in call.launch.kernel
    first, second = (n, c) if to_cnhw else (c, n)
    if call.launch.kernel.endswith("_opt"):
        size = n * c * call.define("H") * call.define("W")
        moved = source[start_in : start_in + size].reshape(first, second, -1).swapaxes(0, 1)
        target[start_out : start_out + size] = moved.ravel()
        return
    hw_in, hw_out, w_in, w_out = call.defined("", "HW_IN HW_OUT W_IN W_OUT")
    rows, cols = call.define("H_STRIDE"), call.define("W_STRIDE")
    h_out = hw_out // w_out
    image = (hw_in // w_in, w_in)
    if to_cnhw:
        pixels = source[start_in : start_in + n * c * hw_in].reshape(n, c, *image)
        taken = pixels[:, :, ::rows, ::cols][:, :, :h_out, :w_out].swapaxes(0, 1)
        target[start_out : start_out + taken.size] = taken.ravel()
    else:
        taken = source[start_in : start_in + n * c * hw_out].reshape(c, n, h_out, w_out).swapaxes(0, 1)
        pixels = target[start_out : start_out + n * c * hw_in].reshape(n, c, *image)
        pixels[:, :, : h_out * rows : rows, : w_out * cols : cols] = taken


# windows --------------------------------------------------------------------------------------------------
def _pool_shapes(call: Call) -> tuple[tuple[int, int, int], tuple[int, int, int], windows.Window]:
    """(planes, h, w) below and above, and the window."""
    prefix = "MLO_POOLING_"
    kernel_h, kernel_w, stride_h, stride_w = call.defined(prefix, "KERNEL_SZ1 KERNEL_SZ0 STRIDE1 STRIDE0")
    window = windows.Window(kernel_h, kernel_w, stride_h, stride_w, call["pad_h"], call["pad_w"])
    elements = call.buffers[0].elements
    top, bottom = (call["top_h"], call["top_w"]), (call["bottom_h"], call["bottom_w"])
    planes = elements // (bottom[0] * bottom[1] if call.launch.direction == "fwd" else top[0] * top[1])
    return (planes, *bottom), (planes, *top), window


def _pool_forward(call: Call) -> None:
    bottom, top, window = _pool_shapes(call)
    pool = windows.pool_maximum if call.define("MLO_POOLING_OP_ID") == 1 else windows.pool_average
    call.write(1, pool(call.read(0, bottom), window, top[1:]))


def _pool_maximum_backward(call: Call) -> None:
    bottom, top, window = _pool_shapes(call)
    call.write(
        1, windows.pool_maximum_backward(call.read(0, top), call.read(2).reshape(top), window, bottom[1:])
    )


def _pool_average_backward(call: Call) -> None:
    bottom, top, window = _pool_shapes(call)
    call.write(1, windows.pool_average_backward(call.read(0, top), window, bottom[1:]))


def _lrn(call: Call, cross: bool, forward: bool) -> None:
    prefix = "MLO_LRN_"
    n, c, h, w, area = call.defined(prefix, "BATCH_SZ N_INPUTS BOT_HEIGHT BOT_WIDTH KERNEL_SZ")
    shape, span = (n, c, h, w), (area - call.define(prefix + "PRE_PAD") - 1, call.define(prefix + "PRE_PAD"))
    if forward:
        y, scale = windows.lrn_forward(
            call.read(0, shape), span, cross, *(call.number(k) for k in ("alpha_over_area", "beta", "k"))
        )
        call.write(1, y)
        call.write(2, scale)
        return
    y, x, dy, scale = (call.read(index, shape) for index in range(4))
    ratio = call.number("ratio") if cross else 2 * call.number("alpha") * call.number("beta")
    call.write(4, windows.lrn_backward(y, x, dy, scale, span, cross, ratio, call.number("beta")))


_KERNELS: Mapping[str, Callable[[Call], None]] = {
    "MIOpenActiveFwdLite": _activation_forward,
    "MIOpenActiveBwdLite": _activation_backward,
    "MIOpenActiveFwd2DLite": _activation_forward,
    "MIOpenActiveBwd2DLite": _activation_backward,
    "SoftmaxForward": _softmax_forward,
    "SoftmaxBackward": _softmax_backward,
    "MIOpenBatchNormFwdTrainPerActivation": lambda call: _bn_forward(call, False),
    "MIOpenBatchNormBwdPerActivationSaved": lambda call: _bn_backward(call, False),
    "MIOpenBatchNormFwdTrainSpatial": lambda call: _bn_forward(call, True),
    "MIOpenBatchNormBwdSpatial": lambda call: _bn_backward(call, True),
    "mloPoolingG": _pool_forward,
    "mloPoolingMaxBwd": _pool_maximum_backward,
    "mloPoolingAveBwd": _pool_average_backward,
    "MIOpenLRNAcrossChannels4": lambda call: _lrn(call, True, True),
    "MIOpenLRNWithinChannel_PS": lambda call: _lrn(call, False, True),
    "MIOpenLRNAcrossChannelsBwd1": lambda call: _lrn(call, True, False),
    "MIOpenLRNWithinChannelBwd": lambda call: _lrn(call, False, False),
    "Im2d2Col": _im2col,
    "Col2Im2d": _col2im,
    "SubTensorOpWithScalar1d": _set_tensor,
    "Cijk_S": _scale,
    "transpose_NCHW2CNHW": _transpose,
    "transpose_NCHW2CNHW_opt": _transpose,
    "transpose_CNHW2NCHW": _transpose,
    "transpose_CNHW2NCHW_opt": _transpose,
}
"""Variant 2 of spatial batch normalisation passes intermediate sums through y and has no reference."""

_OTHERS: Mapping[str, Callable[[Call], None]] = {**reference_operations.KERNELS, **reference_rows.KERNELS}
"""Kernels of operations beyond DNNMark's primitives."""
