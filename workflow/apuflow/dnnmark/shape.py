"""Shapes of tensors and windows, and how many windows fit."""

from __future__ import annotations

from typing import Final, NamedTuple

FLOAT_BYTES: Final = 4


class Shape(NamedTuple):
    """Dimensions of a packed NCHW tensor of float32."""

    n: int
    c: int
    h: int
    w: int

    @property
    def elements(self) -> int:
        """Number of values."""
        return self.n * self.c * self.h * self.w

    def __str__(self) -> str:
        return f"{self.n}x{self.c}x{self.h}x{self.w}"


class Plane(NamedTuple):
    """Height and width, or a pair along them."""

    h: int
    w: int


class NoOutput(ValueError):
    """The window does not fit into the padded input."""


def whole_windows(size: int, kernel: int, pad: int, stride: int) -> int:
    """Outputs of a convolution along one axis: only whole windows count. Raises NoOutput: there is none."""
    beside = size + 2 * pad - kernel
    if beside < 0:
        raise NoOutput(f"a window of {kernel} in {size} with padding {pad}")
    return beside // stride + 1


def started_windows(size: int, kernel: int, pad: int, stride: int, padded: bool) -> int:
    """Outputs of a pooling along one axis: a part of a window counts as well.

    Where both axes have padding (``padded``), no window may start behind the input (Caffe's rule).
    Raises NoOutput: there is none.
    """
    out = -((kernel - size - 2 * pad) // stride) + 1
    if padded and (out - 1) * stride >= size + pad:
        out -= 1
    if out < 1:
        raise NoOutput(f"a window of {kernel} in {size} with padding {pad} and stride {stride}")
    return out


def windows(
    size: int, kernel: int, pad: int, stride: int, *, started: bool, padded: bool = True
) -> int | None:
    """Outputs along one axis, of started or of whole windows; None: there is none."""
    try:
        if started:
            return started_windows(size, kernel, pad, stride, padded)
        return whole_windows(size, kernel, pad, stride)
    except NoOutput:
        return None
