"""A launch for NumPy's versions of kernels: arguments by name, buffers in order."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any, TypeAlias

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

    def read(self, index: int, shape: Sequence[int] | None = None) -> Array:
        """A buffer in double precision (a mask or indices as they are)."""
        arg = self.buffers[index]
        flat = self.memory[str(arg.value)][: arg.elements]
        values = flat if flat.dtype.kind in "iu" else flat.astype(np.float64)
        return values if shape is None else values.reshape(shape)

    def write(self, index: int, values: Array, start: int = 0) -> None:
        """Put values into a buffer, from element ``start`` on."""
        flat = np.asarray(values, np.float32).ravel()
        self.memory[str(self.buffers[index].value)][start : start + flat.size] = flat
