"""Sliding windows for the references: columns of a convolution, pooling, local response normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]


class Window(NamedTuple):
    """Kernel size, stride, padding, and pixels from one tap of the kernel to the next."""

    kernel_h: int
    kernel_w: int
    stride_h: int
    stride_w: int
    pad_h: int
    pad_w: int
    dilation_h: int = 1
    dilation_w: int = 1

    @property
    def span_h(self) -> int:
        """Rows from the first tap to the last, both included."""
        return (self.kernel_h - 1) * self.dilation_h + 1

    @property
    def span_w(self) -> int:
        """The same across."""
        return (self.kernel_w - 1) * self.dilation_w + 1


def patches(planes: Array, window: Window, out: Sequence[int], fill: float = 0.0) -> Array:
    """(..., kernel_h, kernel_w, out_h, out_w): the inputs of each output from planes (..., h, w)."""
    h, w = planes.shape[-2:]
    need_h = (out[0] - 1) * window.stride_h + window.span_h
    need_w = (out[1] - 1) * window.stride_w + window.span_w
    padded = np.full((*planes.shape[:-2], max(need_h, h + window.pad_h), max(need_w, w + window.pad_w)), fill)
    padded[..., window.pad_h : window.pad_h + h, window.pad_w : window.pad_w + w] = planes
    windows = np.empty((*planes.shape[:-2], window.kernel_h, window.kernel_w, *out))
    for y in range(window.kernel_h):
        for x in range(window.kernel_w):
            top, left = y * window.dilation_h, x * window.dilation_w
            rows = slice(top, top + (out[0] - 1) * window.stride_h + 1, window.stride_h)
            cols = slice(left, left + (out[1] - 1) * window.stride_w + 1, window.stride_w)
            windows[..., y, x, :, :] = padded[..., rows, cols]
    return windows


def scatter(columns: Array, window: Window, size: Sequence[int]) -> Array:
    """The adjoint of :func:`patches`: planes (..., h, w) with the sums of all outputs' shares."""
    out_h, out_w = columns.shape[-2:]
    need_h = (out_h - 1) * window.stride_h + window.span_h
    need_w = (out_w - 1) * window.stride_w + window.span_w
    shape = (max(need_h, size[0] + window.pad_h), max(need_w, size[1] + window.pad_w))
    padded = np.zeros((*columns.shape[:-4], *shape))
    for y in range(window.kernel_h):
        for x in range(window.kernel_w):
            top, left = y * window.dilation_h, x * window.dilation_w
            rows = slice(top, top + (out_h - 1) * window.stride_h + 1, window.stride_h)
            cols = slice(left, left + (out_w - 1) * window.stride_w + 1, window.stride_w)
            padded[..., rows, cols] += columns[..., y, x, :, :]
    return padded[..., window.pad_h : window.pad_h + size[0], window.pad_w : window.pad_w + size[1]]


def pool_maximum(planes: Array, window: Window, out: Sequence[int]) -> Array:
    """The largest of each window; padding never wins."""
    return np.asarray(patches(planes, window, out, float(np.finfo(np.float32).min)).max((-4, -3)))


def _covered(window: Window, size: Sequence[int], out: Sequence[int]) -> Array:
    """Real pixels below every output, at least 1."""
    return np.asarray(np.maximum(patches(np.ones((1, *size)), window, out).sum((-4, -3)), 1.0))


def pool_average(planes: Array, window: Window, out: Sequence[int]) -> Array:
    """The mean of the real pixels below each window."""
    size = planes.shape[-2:]
    return np.asarray(patches(planes, window, out).sum((-4, -3)) / _covered(window, size, out))


def pool_average_backward(gradient: Array, window: Window, size: Sequence[int]) -> Array:
    """Each output's gradient, divided equally among the real pixels below its window."""
    share = gradient / _covered(window, size, gradient.shape[-2:])
    spread = np.broadcast_to(
        share[..., None, None, :, :],
        (*share.shape[:-2], window.kernel_h, window.kernel_w, *share.shape[-2:]),
    )
    return scatter(spread, window, size)


def pool_maximum_backward(gradient: Array, mask: Array, window: Window, size: Sequence[int]) -> Array:
    """``mask``: the element of its window (row by row) that each output has taken."""
    places = np.arange(window.kernel_h * window.kernel_w).reshape(window.kernel_h, window.kernel_w, 1, 1)
    chosen = mask[..., None, None, :, :] == places
    return scatter(chosen * gradient[..., None, None, :, :], window, size)


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


def lrn_forward(
    x: Array, span: tuple[int, int], cross: bool, alpha_over_area: float, beta: float, k: float
) -> tuple[Array, Array]:
    """(y, scale) of (n, c, h, w); ``span`` = (pad, pre_pad) is the window's reach.

    Across channels it reaches ``pad`` back and ``pre_pad`` ahead, within a channel the other way round.
    MIOpen's kernel across channels takes sqrt(x*x) for x (MIOpenLRNFwd.cl, ``prv_out = sqrt(prv_out)``).
    """
    before, after = span if cross else span[::-1]
    scale = k + alpha_over_area * _window_sum(x * x, before, after, cross)
    return (np.abs(x) if cross else x) * scale**-beta, scale


def lrn_backward(
    y: Array,
    x: Array,
    dy: Array,
    scale: Array,
    span: tuple[int, int],
    cross: bool,
    ratio: float,
    beta: float,
) -> Array:
    """dx; ``ratio`` is 2*alpha*beta, across channels already divided by the window's size."""
    pad, pre = span
    sums = _window_sum(dy * y / scale, *((pre, pad) if cross else (pad, pre)), cross)
    if not cross:
        area = 1.0
        kernel = pad + pre + 1
        for axis in (2, 3):
            length = x.shape[axis]
            start = np.arange(length) - pad
            extent = np.minimum(start + kernel, length + pre) - start
            area = area * extent.reshape([-1 if a == axis else 1 for a in range(4)])
        ratio = ratio / area
    return np.asarray(dy * scale**-beta - ratio * x * sums)
