"""NumPy's version of every kernel, by the definition of the primitive, not by the kernel's algorithm.

Details follow MIOpen's kernel sources at rocm-4.0.1: averages count real pixels only, running variance is
unbiased, LRN within a channel divides by the full window forward and by the clipped one backward.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from apuflow.core.errors import NotModelled
from apuflow.launcher import reference_operations
from apuflow.launcher.reference_call import Array, Call, Memory, Window, patches, scatter
from apuflow.miopen.launch import Launch

INVERSE: Final = 7
"""Which buffer of a forward batch normalisation gets the inverse deviation."""


def execute(launch: Launch, memory: Memory) -> None:
    """Execute a launch.

    Raises:
        NotModelled: a kernel without a reference.
    """
    kernel = _product if launch.gemm is not None else _KERNELS.get(launch.kernel)
    if kernel is None:
        raise NotModelled("no reference for this kernel", key="kernel", value=launch.kernel)
    kernel(Call(launch, memory))


# softmax --------------------------------------------------------------------------------------------------
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
    call.write(INVERSE, inverse)


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
    for number in range(gemm.batch):
        at_a, at_b = gemm.offset_a + number * gemm.stride_a, gemm.offset_b + number * gemm.stride_b
        left = _columns(a, at_a, *((gemm.k, gemm.m) if gemm.transpose_a else (gemm.m, gemm.k)), gemm.lda)
        right = _columns(b, at_b, *((gemm.n, gemm.k) if gemm.transpose_b else (gemm.k, gemm.n)), gemm.ldb)
        left = (left.T if gemm.transpose_a else left).astype(np.float64)
        right = (right.T if gemm.transpose_b else right).astype(np.float64)
        target = _columns(c, gemm.offset_c + number * gemm.stride_c, gemm.m, gemm.n, gemm.ldc)
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


def _window(call: Call) -> tuple[Window, tuple[int, int]]:
    """The filter, and height and width of the column matrix's image."""
    return Window(*(call[name] for name in Window._fields)), (call["column_h"], call["column_w"])


def _im2col(call: Call) -> None:
    start, size = call["image_offset"], call["image_elements"]
    image = call.read(0)[start : start + size].reshape(1, -1, call["image_h"], call["image_w"])
    call.write(1, patches(image, *_window(call)))


def _col2im(call: Call) -> None:
    window, out = _window(call)
    columns = call.read(0, (1, -1, window.kernel_h, window.kernel_w, *out))
    call.write(1, scatter(columns, window, (call["image_h"], call["image_w"])), call["image_offset"])


def _transpose(call: Call) -> None:
    """1x1 convolution of stride 2: gather or spread every stride-th pixel, exchange batch and channels."""
    n, c, start_in, start_out = call.defined("", "N C IN_OFF OUT_OFF")
    source, target = call.flat(0)[start_in:], call.flat(1)[start_out:]
    to_cnhw = "NCHW2CNHW" in call.launch.kernel
    if call.launch.kernel.endswith("_opt"):
        first, second = (n, c) if to_cnhw else (c, n)
        size = n * c * call.define("H") * call.define("W")
        target[:size] = source[:size].reshape(first, second, -1).swapaxes(0, 1).ravel()
        return
    hw_in, hw_out, w_in, w_out, down, across = call.defined("", "HW_IN HW_OUT W_IN W_OUT H_STRIDE W_STRIDE")
    image, (h_out, every) = (n, c, hw_in // w_in, w_in), (hw_out // w_out, n * c * hw_in)
    if to_cnhw:
        taken = source[:every].reshape(image)[:, :, ::down, ::across][:, :, :h_out, :w_out].swapaxes(0, 1)
        target[: taken.size] = taken.ravel()
    else:
        taken = source[: n * c * hw_out].reshape(c, n, h_out, w_out).swapaxes(0, 1)
        target[:every].reshape(image)[:, :, : h_out * down : down, : w_out * across : across] = taken


# windows --------------------------------------------------------------------------------------------------
def _pool(call: Call) -> tuple[Window, tuple[int, int, int], tuple[int, int, int]]:
    """The window, and (planes, h, w) of input and output."""
    sizes = call.defined("MLO_POOLING_", "KERNEL_SZ1 KERNEL_SZ0 STRIDE1 STRIDE0")
    window = Window(*sizes, *[call["pad_h"], call["pad_w"]])
    top, bottom = (call["top_h"], call["top_w"]), (call["bottom_h"], call["bottom_w"])
    h, w = bottom if call.launch.direction == "fwd" else top
    planes = call.buffers[0].elements // (h * w)
    return window, (planes, *bottom), (planes, *top)


def _covered(window: Window, size: Sequence[int], out: Sequence[int]) -> Array:
    """Real pixels below every output, at least 1."""
    return np.asarray(np.maximum(patches(np.ones((1, *size)), window, out).sum((-4, -3)), 1.0))


def _pool_forward(call: Call) -> None:
    window, bottom, (_, *out) = _pool(call)
    x = call.read(0, bottom)
    if call.define("MLO_POOLING_OP_ID") == 1:  # maximum: padding never wins
        call.write(1, patches(x, window, out, float(np.finfo(np.float32).min)).max((-4, -3)))
    else:
        call.write(1, patches(x, window, out).sum((-4, -3)) / _covered(window, bottom[1:], out))


def _pool_maximum_backward(call: Call) -> None:
    """The mask has the element of its window (row by row) that each output has taken."""
    window, (_, *size), top = _pool(call)
    places = np.arange(window.kernel_h * window.kernel_w).reshape(window.kernel_h, window.kernel_w, 1, 1)
    chosen = call.read(2, top)[:, None, None] == places
    call.write(1, scatter(chosen * call.read(0, top)[:, None, None], window, size))


def _pool_average_backward(call: Call) -> None:
    """Each output's gradient, divided equally among the real pixels below its window."""
    window, (_, *size), (planes, *out) = _pool(call)
    share = call.read(0, (planes, *out)) / _covered(window, size, out)
    spread = np.broadcast_to(share[:, None, None], (planes, window.kernel_h, window.kernel_w, *out))
    call.write(1, scatter(spread, window, size))


def _lrn_shape(call: Call) -> tuple[list[int], int, int]:
    """(n, c, h, w), and how far a window reaches to one side and to the other."""
    *shape, area, pre = call.defined("MLO_LRN_", "BATCH_SZ N_INPUTS BOT_HEIGHT BOT_WIDTH KERNEL_SZ PRE_PAD")
    return shape, area - pre - 1, pre


def _window_sum(values: Array, before: int, after: int, cross: bool) -> Array:
    """Sums over [-before, +after] along channels, or along height and width; zeros outside."""
    for axis in (1,) if cross else (2, 3):
        padding = [(0, 0)] * values.ndim
        padding[axis] = (before, after)
        length = values.shape[axis]
        padded = np.pad(values, padding)
        values = np.sum(
            [np.take(padded, range(s, s + length), axis) for s in range(before + after + 1)], axis=0
        )
    return values


def _lrn_forward(call: Call, cross: bool) -> None:
    """Across channels MIOpen's kernel takes sqrt(x*x) for x (``prv_out = sqrt(prv_out)``)."""
    shape, pad, pre = _lrn_shape(call)
    x = call.read(0, shape)
    before, after = (pad, pre) if cross else (pre, pad)
    scale = call.number("k") + call.number("alpha_over_area") * _window_sum(x * x, before, after, cross)
    call.write(1, (np.abs(x) if cross else x) * scale ** -call.number("beta"))
    call.write(2, scale)


def _lrn_backward(call: Call, cross: bool) -> None:
    shape, pad, pre = _lrn_shape(call)
    y, x, dy, scale = (call.read(index, shape) for index in range(4))
    sums = _window_sum(dy * y / scale, *((pre, pad) if cross else (pad, pre)), cross)
    ratio: float | Array = call.number("ratio")
    if not cross:
        area: float | Array = 1.0
        for axis in (2, 3):
            length = shape[axis]
            start = np.arange(length) - pad
            extent = np.minimum(start + pad + pre + 1, length + pre) - start
            area = area * extent.reshape([-1 if a == axis else 1 for a in range(4)])
        ratio = 2 * call.number("alpha") * call.number("beta") / area
    call.write(4, dy * scale ** -call.number("beta") - ratio * x * sums)


_KERNELS: Mapping[str, Callable[[Call], None]] = {
    "SoftmaxForward": _softmax_forward,
    "SoftmaxBackward": _softmax_backward,
    "MIOpenBatchNormFwdTrainPerActivation": lambda call: _bn_forward(call, False),
    "MIOpenBatchNormBwdPerActivationSaved": lambda call: _bn_backward(call, False),
    "MIOpenBatchNormFwdTrainSpatial": lambda call: _bn_forward(call, True),
    "MIOpenBatchNormBwdSpatial": lambda call: _bn_backward(call, True),
    "mloPoolingG": _pool_forward,
    "mloPoolingMaxBwd": _pool_maximum_backward,
    "mloPoolingAveBwd": _pool_average_backward,
    "MIOpenLRNAcrossChannels4": lambda call: _lrn_forward(call, True),
    "MIOpenLRNWithinChannel_PS": lambda call: _lrn_forward(call, False),
    "MIOpenLRNAcrossChannelsBwd1": lambda call: _lrn_backward(call, True),
    "MIOpenLRNWithinChannelBwd": lambda call: _lrn_backward(call, False),
    "Im2d2Col": _im2col,
    "Col2Im2d": _col2im,
    "SubTensorOpWithScalar1d": _set_tensor,
    "Cijk_S": _scale,
    "transpose_NCHW2CNHW": _transpose,
    "transpose_NCHW2CNHW_opt": _transpose,
    "transpose_CNHW2NCHW": _transpose,
    "transpose_CNHW2NCHW_opt": _transpose,
    **reference_operations.KERNELS,
}
"""Variant 2 of spatial batch normalisation passes intermediate sums through y and has no reference."""
