"""A function of a model in HAL's dialect of IREE: buffers, launches, results."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal, NamedTuple, TypeAlias

from apuflow.core.errors import ConfigError

Extent: TypeAlias = tuple[int, int, int]


@dataclass(eq=False)
class Memory:
    """A buffer.

    Attributes:
        kind: an argument of the function (``number``), a constant, or what the function allocates.
        size: bytes.
        data: what it holds before the first launch; empty: nothing, or 0 where it is ``filled``.
        written: by a launch so far.
    """

    kind: Literal["input", "constant", "transient"]
    size: int
    number: int = 0
    data: bytes = b""
    filled: bool = False
    written: bool = False

    def fill(self, offset: int, data: bytes) -> None:
        """Let it hold these bytes from ``offset`` on before the first launch."""
        self.filled = True
        if self.data or any(data):
            whole = self.data.ljust(self.size, b"\0")
            self.data = whole[:offset] + data + whole[offset + len(data) :]


class Shape(NamedTuple):
    """Sizes and HAL's type of a tensor, as ``f32``."""

    sizes: tuple[int, ...]
    type: str

    @property
    def elements(self) -> int:
        """How many."""
        return prod(self.sizes)

    def __str__(self) -> str:
        return "x".join((*map(str, self.sizes), self.type))


class Region(NamedTuple):
    """Part of a buffer, in bytes."""

    memory: Memory
    offset: int


class Result(NamedTuple):
    """A tensor that a function returns: where it lies."""

    region: Region
    shape: Shape


class HalLaunch(NamedTuple):
    """A launch: workgroups in x, y, z; addresses; then constants of 32 bits."""

    kernel: str
    workgroups: Extent
    bindings: tuple[Region, ...]
    constants: tuple[int, ...]


@dataclass
class HalFunction:
    """A function of a model.

    Attributes:
        inputs: shapes of its arguments, all of them tensors.
    """

    name: str
    inputs: tuple[Shape, ...]
    launches: tuple[HalLaunch, ...]
    results: tuple[Result, ...]


def refused(what: str, why: str, remedy: str) -> ConfigError:
    """What of a model cannot be run."""
    return ConfigError(f"the compiled model has {what}: {why}", key="source", value=what, remedy=remedy)
