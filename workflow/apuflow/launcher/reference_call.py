"""A launch for NumPy's versions of kernels: arguments by name, buffers in order, sliding windows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from types import EllipsisType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from apuflow.miopen.launch import Launch, definitions

Array: TypeAlias = NDArray[Any]
Memory: TypeAlias = MutableMapping[str, Array]
"""Buffers by name: flat, 32-bit floats (8-bit integers for a pooling mask, 32-bit ones for indices)."""


class Call:
    """A launch's arguments by name, and its buffers in order."""

    def __init__(self, launch: Launch, memory: Memory) -> None:
        self.launch, self.memory = launch, memory
        self.buffers = [arg for arg in launch.args if arg.kind == "buffer"]
        self.scalars: Mapping[str, float] = {
            arg.name: arg.value for arg in launch.args if not isinstance(arg.value, str)
        }
        self.defines = definitions(launch.arguments)

    def __getitem__(self, name: str) -> int:
        return int(self.scalars[name])

    def number(self, name: str) -> float:
        """A scalar argument."""
        return float(self.scalars[name])

    def define(self, name: str) -> int:
        """A definition among the compile arguments."""
        return int(self.defines[name])

    def defined(self, prefix: str, names: str) -> list[int]:
        """Definitions with a common prefix."""
        return [self.define(prefix + name) for name in names.split()]

    def flat(self, index: int) -> Array:
        """A buffer's memory itself."""
        return self.memory[str(self.buffers[index].value)]

    def read(self, index: int, shape: Sequence[int] | None = None) -> Array:
        """A buffer in double precision (a mask or indices as they are)."""
        flat = self.flat(index)[: self.buffers[index].elements]
        values = flat if flat.dtype.kind in "iu" else flat.astype(np.float64)
        return values if shape is None else values.reshape(shape)

    def write(self, index: int, values: Array, start: int = 0) -> None:
        """Put values into a buffer, from element ``start`` on."""
        flat = np.asarray(values, np.float32).ravel()
        self.flat(index)[start : start + flat.size] = flat


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

    def taps(self, out: Sequence[int]) -> Iterator[tuple[int, int, slice, slice]]:
        """Each tap's row and column, and the rows and columns of a padded plane that it meets."""
        for y in range(self.kernel_h):
            for x in range(self.kernel_w):
                top, left = y * self.dilation_h, x * self.dilation_w
                rows = slice(top, top + (out[0] - 1) * self.stride_h + 1, self.stride_h)
                yield y, x, rows, slice(left, left + (out[1] - 1) * self.stride_w + 1, self.stride_w)

    def padded(self, size: Sequence[int], out: Sequence[int]) -> tuple[int, int]:
        """Height and width of a padded plane of ``size`` from which ``out`` outputs are read."""
        need_h = (out[0] - 1) * self.stride_h + (self.kernel_h - 1) * self.dilation_h + 1
        need_w = (out[1] - 1) * self.stride_w + (self.kernel_w - 1) * self.dilation_w + 1
        return max(need_h, size[0] + self.pad_h), max(need_w, size[1] + self.pad_w)

    def inside(self, size: Sequence[int]) -> tuple[EllipsisType, slice, slice]:
        """The plane in the padded one."""
        return ..., slice(self.pad_h, self.pad_h + size[0]), slice(self.pad_w, self.pad_w + size[1])


def patches(planes: Array, window: Window, out: Sequence[int], fill: float = 0.0) -> Array:
    """(..., kernel_h, kernel_w, out_h, out_w): the inputs of each output from planes (..., h, w)."""
    *many, h, w = planes.shape
    padded = np.full((*many, *window.padded((h, w), out)), fill)
    padded[window.inside((h, w))] = planes
    windows = np.empty((*many, window.kernel_h, window.kernel_w, *out))
    for y, x, rows, cols in window.taps(out):
        windows[..., y, x, :, :] = padded[..., rows, cols]
    return windows


def scatter(columns: Array, window: Window, size: Sequence[int]) -> Array:
    """The adjoint of :func:`patches`: planes (..., h, w) with the sums of all outputs' shares."""
    *many, _, _, out_h, out_w = columns.shape
    padded = np.zeros((*many, *window.padded(size, (out_h, out_w))))
    for y, x, rows, cols in window.taps((out_h, out_w)):
        padded[..., rows, cols] += columns[..., y, x, :, :]
    return padded[window.inside(size)]
