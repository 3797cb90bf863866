"""Output shapes of layers: the ``ComputeOutputDim`` functions of DNNMark's ``layers/*_layer.h``."""

from __future__ import annotations

from apuflow.dnnmark.model import Convolution, FullyConnected, Params, Pooling, Shape


class NoOutput(ValueError):
    """The window does not fit into the padded input."""


def output_shape(params: Params, shape: Shape) -> Shape:
    """Shape of a layer's output.

    Raises:
        NoOutput: no output element is left.
    """
    if isinstance(params, Convolution):
        return Shape(
            shape.n,
            params.num_output,
            _floor_window(shape.h, params.kernel_h, params.pad_h, params.stride_h),
            _floor_window(shape.w, params.kernel_w, params.pad_w, params.stride_w),
        )
    if isinstance(params, Pooling):
        padded = params.pad_h > 0 and params.pad_w > 0
        return Shape(
            shape.n,
            shape.c,
            _ceil_window(shape.h, params.kernel_h, params.pad_h, params.stride_h, padded),
            _ceil_window(shape.w, params.kernel_w, params.pad_w, params.stride_w, padded),
        )
    if isinstance(params, FullyConnected):
        return Shape(shape.n, params.num_output, 1, 1)
    return shape


def _floor_window(size: int, kernel: int, pad: int, stride: int) -> int:
    """Convolution: only whole windows count."""
    room = size + 2 * pad - kernel
    if room < 0:
        raise NoOutput(f"a window of {kernel} in {size} with padding {pad}")
    return room // stride + 1


def _ceil_window(size: int, kernel: int, pad: int, stride: int, padded: bool) -> int:
    """Pooling: a part of a window counts, but none that starts behind the padded input (Caffe's rule)."""
    out = -((kernel - size - 2 * pad) // stride) + 1
    if padded and (out - 1) * stride >= size + pad:
        out -= 1
    if out < 1:
        raise NoOutput(f"a window of {kernel} in {size} with padding {pad} and stride {stride}")
    return out
