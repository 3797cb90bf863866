"""A GPU kernel launch: program, compile arguments, geometry, kernel arguments."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import Literal, NamedTuple, TypeAlias

from apuflow.core.grid import workgroups
from apuflow.dnnmark import Layer

Extent: TypeAlias = tuple[int, int, int]
ArgKind: TypeAlias = Literal["buffer", "char", "int", "uint", "float", "long", "double"]
Role: TypeAlias = Literal["", "in", "out", "inout"]


@lru_cache(maxsize=65536)
def definitions(arguments: str | None) -> Mapping[str, str]:
    """Values of the ``-D`` among compile arguments, by name; 1 where none is given."""
    return {name: value or "1" for name, value in re.findall(r"-D(\w+)(?:=(\S+))?", arguments or "")}


def defines(values: Mapping[str, int | str], prefix: str = "MLO_") -> str:
    """The compile arguments that :func:`definitions` reads."""
    return "".join(f" -D{prefix}{name}={value}" for name, value in values.items())


class Arg(NamedTuple):
    """One kernel argument, in the order of the kernel's signature.

    Attributes:
        value: the number; for a buffer the name of its memory, equal in all launches that share it.
        elements: a buffer's length in elements of ``element_bytes``.
        name: the parameter's meaning.
        step: increase of ``value`` (of a buffer: of ``offset``) per pass of a loop.
        offset: bytes from a buffer's start to the address that the kernel receives.
    """

    kind: ArgKind
    value: int | float | str
    elements: int = 0
    role: Role = ""
    name: str = ""
    step: int = 0
    element_bytes: int = 4
    offset: int = 0


class Gemm(NamedTuple):
    """A call of rocBLAS' matrix product: column major, ``C = alpha op(A) op(B) + beta C``.

    ``op(A)`` is m x k, ``op(B)`` k x n. Offsets, strides (between the products of a batch) and steps (between
    the passes of a loop) are in elements. The launch's first three arguments are the buffers A, B and C.
    """

    m: int
    n: int
    k: int
    transpose_a: bool
    transpose_b: bool
    batch: int
    lda: int
    ldb: int
    ldc: int
    stride_a: int = 0
    stride_b: int = 0
    stride_c: int = 0
    beta: float = 0.0
    offset_a: int = 0
    offset_b: int = 0
    offset_c: int = 0
    step_a: int = 0
    step_b: int = 0
    step_c: int = 0
    alpha: float = 1.0

    @classmethod
    def packed(cls, m: int, n: int, k: int, transpose_a: bool, transpose_b: bool, batch: int = 1) -> Gemm:
        """A product of matrices without gaps between columns."""
        lda, ldb = k if transpose_a else m, n if transpose_b else k
        return cls(m, n, k, transpose_a, transpose_b, batch, lda, ldb, m)


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel launch, or the same launch of every pass of a loop.

    Attributes:
        layer, layer_kind: the layer's name (its kind where it has none), its section's name.
        program: MIOpen's source file; None for rocBLAS.
        arguments: compile arguments as in MIOpen's kernel cache, without ``-mcpu``; None for rocBLAS.
        kernel: name of the OpenCL kernel; "sgemm" for rocBLAS.
        grid: work-items per dimension; if not a multiple of ``workgroup``, the last workgroup is partial.
        workgroup: work-items of a workgroup per dimension.
        note: differences from MIOpen's launch.
        gemm: the matrix product of a rocBLAS launch.
        count: how many times it is launched.
        loop: launches of one layer with the same number above 0 alternate, pass by pass; see ``expand``.
    """

    layer: str
    layer_kind: str
    direction: Literal["fwd", "bwd"]
    program: str | None
    arguments: str | None
    kernel: str
    grid: Extent
    workgroup: Extent
    args: tuple[Arg, ...]
    note: str = ""
    gemm: Gemm | None = None
    count: int = 1
    loop: int = 0

    @property
    def workgroups(self) -> int:
        """Workgroups of one launch, partial ones included."""
        return math.prod(workgroups(self.grid, self.workgroup))


class Use(NamedTuple):
    """A buffer of a process: its bytes, and its first launch and argument."""

    size: int
    launch: Launch
    arg: Arg


def first_uses(launches: Iterable[Launch]) -> dict[str, Use]:
    """Buffers of launches by name in the order of first use, in which the CPU fills them."""
    found: dict[str, Use] = {}
    for launch in launches:
        for arg in launch.args:
            if arg.kind == "buffer":
                size = arg.elements * arg.element_bytes
                known = found.setdefault(str(arg.value), Use(size, launch, arg))
                if size > known.size:
                    found[str(arg.value)] = known._replace(size=size)
    return found


class Row(NamedTuple):
    """A kernel object that MIOpen looks up: source file and compile arguments (leading space, no -mcpu)."""

    program: str
    arguments: str
    layer: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What distinguishes two rows."""
        return self.program, self.arguments


class Buffers(NamedTuple):
    """Names of a layer's memory. In a composed network ``bottom`` is the previous layer's ``top``."""

    own: str
    bottom: str
    bottom_diff: str
    top: str
    top_diff: str


class LayerPass(NamedTuple):
    """A layer in one direction at a number of compute units: its buffers as arguments, and its launches."""

    layer: Layer
    buffers: Buffers
    direction: Literal["fwd", "bwd"]
    compute_units: int

    @property
    def forward(self) -> bool:
        """Whether it is the forward pass."""
        return self.direction == "fwd"

    @property
    def x(self) -> Arg:
        """The input."""
        return Arg("buffer", self.buffers.bottom, self.layer.input.elements, "in", "x")

    @property
    def y(self) -> Arg:
        """The output, which the backward pass reads."""
        role: Role = "out" if self.forward else "in"
        return Arg("buffer", self.buffers.top, self.layer.output.elements, role, "y")

    @property
    def dx(self) -> Arg:
        """The gradient of the input."""
        return Arg("buffer", self.buffers.bottom_diff, self.layer.input.elements, "out", "dx")

    @property
    def dy(self) -> Arg:
        """The gradient of the output."""
        return Arg("buffer", self.buffers.top_diff, self.layer.output.elements, "in", "dy")

    def own(self, name: str, elements: int, role: Role, meaning: str = "") -> Arg:
        """Memory that the layer shares with no other."""
        return Arg("buffer", f"{self.buffers.own}.{name}", elements, role, meaning or name)

    def launch(
        self, program: str, arguments: str, kernel: str, grid: Extent, group: Extent, args: tuple[Arg, ...]
    ) -> Launch:
        """One launch of a kernel from source."""
        layer = self.layer
        return Launch(layer.label, layer.kind, self.direction, program, arguments, kernel, grid, group, args)


Builder: TypeAlias = Callable[[LayerPass], tuple[Launch, ...]]
"""Launches of one layer in one direction."""


def expand(launches: Iterable[Launch]) -> Iterator[Launch]:
    """All single launches in the GPU's order, with loops unrolled and offsets applied."""
    for _, group in groupby(enumerate(launches), lambda one: _loop(*one)):
        body = [launch for _, launch in group]
        for number in range(body[0].count):
            yield from (_pass(launch, number) for launch in body)


def _loop(number: int, launch: Launch) -> tuple[str, str, int, int]:
    """What the launches of one loop have in common; a launch outside of loops is alone."""
    return launch.layer, launch.direction, launch.loop, 0 if launch.loop else number


def _pass(launch: Launch, number: int) -> Launch:
    args = tuple(_later(arg, number) if arg.step else arg for arg in launch.args)
    gemm = launch.gemm
    if gemm is not None:
        gemm = gemm._replace(
            offset_a=gemm.offset_a + number * gemm.step_a,
            offset_b=gemm.offset_b + number * gemm.step_b,
            offset_c=gemm.offset_c + number * gemm.step_c,
        )._replace(step_a=0, step_b=0, step_c=0)
    return replace(launch, args=args, gemm=gemm, count=1, loop=0)


def _later(arg: Arg, number: int) -> Arg:
    grown = number * arg.step
    if isinstance(arg.value, str):
        return arg._replace(offset=arg.offset + grown, step=0)
    return arg._replace(value=arg.value + grown, step=0)
