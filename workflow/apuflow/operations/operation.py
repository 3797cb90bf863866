"""What an operation is: a kind of work with a shape, and the kernels that it launches; DNNMark's layers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import ClassVar, Literal, NamedTuple, Self, TypeAlias

from typing_extensions import override

from apuflow import dnnmark, miopen
from apuflow.core.errors import ConfigError
from apuflow.core.scalar import Scalar
from apuflow.dnnmark import Direction, Problem
from apuflow.dnnmark.key import INT_MAX, format_value
from apuflow.miopen.launch import Arg, Extent, Launch, Role, first_uses
from apuflow.operations.key import keys_of

Pass: TypeAlias = Literal["fwd", "bwd"]
Wrong: TypeAlias = tuple[str, str, str]
"""A key whose value does not fit the others, what is wrong, and what to do."""


def too_large(key: str, elements: int) -> Iterator[Wrong]:
    """That a buffer is too large, if it is; ``key``: what makes it smaller."""
    if elements > INT_MAX:
        remedy = f"make it smaller ({elements} elements, {INT_MAX} at most)"
        yield key, "a buffer has more elements than a C int counts", remedy


class Cost(NamedTuple):
    """What an operation has to do in one direction, whatever its kernels are.

    Attributes:
        macs: multiply-adds (two floating point operations each) of products, convolutions and cells; 0 for
            what only moves data or computes element by element.
        read_bytes, written_bytes: each tensor once, workspaces left out.
    """

    macs: int
    read_bytes: int
    written_bytes: int


@dataclass(frozen=True, kw_only=True)
class Operation(ABC):
    """One operation with its shape. Two with equal keys are equal and launch the same kernels."""

    kind: ClassVar[str]
    title: ClassVar[str]
    """What it computes."""
    source: ClassVar[str]
    """Whose kernels it runs, and which."""
    directions: ClassVar[tuple[Pass, ...]] = ("fwd", "bwd")

    @property
    def text(self) -> str:
        """Canonical form, part of a point's identity: the keys that are not at their defaults."""
        values = ((key, getattr(self, key.name)) for key in keys_of(type(self)))
        lines = [f"{key.name}={format_value(value)}" for key, value in values if value != key.default]
        return "\n".join([f"[{self.kind}]", *lines, ""])

    @property
    def label(self) -> str:
        """Kind and what is not at its default, on a line."""
        return " ".join(self.text.replace("[", "").replace("]", "").split())

    def macs(self, direction: Pass) -> int:
        """Multiply-adds in one direction: those of the matrix products that it launches."""
        products = [(launch.count, launch.gemm) for launch in self.launches(direction, 4)]
        return sum(count * each.m * each.n * each.k * each.batch for count, each in products if each)

    @abstractmethod
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        """The launches of one direction that the operation has."""

    def _all_passes(self, direction: Direction, compute_units: int) -> tuple[Launch, ...]:
        each = (self.one_pass(one, compute_units) for one in self.passes(direction))
        return tuple(chain.from_iterable(each))

    def problems(self) -> Iterator[Wrong]:
        """Keys whose values do not fit each other."""
        yield from ()

    def buffer(self, part: str, elements: int, role: Role, meaning: str = "") -> Arg:
        """One of its buffers as a kernel argument."""
        return Arg("buffer", f"{self.kind}.{part}", elements, role, meaning or part)

    def launch(
        self,
        direction: Pass,
        program: str,
        arguments: str,
        kernel: str,
        grid: Extent,
        group: int,
        args: tuple[Arg, ...],
        note: str = "",
    ) -> Launch:
        """A launch of a kernel from source, in workgroups of ``group`` x 1 x 1 work-items."""
        name, groups = self.kind, (group, 1, 1)
        return Launch(name, name, direction, program, arguments, kernel, grid, groups, args, note)

    def passes(self, direction: Direction) -> tuple[Pass, ...]:
        """The directions that ``direction`` asks for, forward first.

        Raises ConfigError: one that the operation does not have.
        """
        wanted: tuple[Pass, ...] = ("fwd", "bwd") if direction == "both" else (direction,)
        missing = [each for each in wanted if each not in self.directions]
        if missing:
            what, remedy = f"operation {self.kind} has no direction", f"direction: {self.directions[0]}"
            raise ConfigError(f"{what} {missing[0]}", key="direction", value=direction, remedy=remedy)
        return wanted

    def launches(self, direction: Direction, compute_units: int) -> tuple[Launch, ...]:
        """The GPU kernels that it launches, in order. Raises ConfigError: a direction that it lacks."""
        return _launches(self, direction, compute_units)

    def device_bytes(self, direction: Direction) -> int:
        """Simulated memory that it allocates."""
        return sum(self.buffer_bytes(direction).values())

    def data_bytes(self, direction: Direction) -> int:
        """Size of the largest chunk that its program fills from a data file; 0: it has no program."""
        del direction
        return 0

    def traps(
        self, direction: Direction, handles: int | None = None, gfx: str | None = None
    ) -> Iterator[Problem]:
        """What a valid one breaks or misleads by, in a program with so many handles, on a GPU."""
        del direction, handles, gfx
        yield from ()

    def cost(self, direction: Pass) -> Cost:
        """What one direction has to do."""
        read: dict[str, int] = {}
        written: dict[str, int] = {}
        for arg in chain.from_iterable(launch.args for launch in self.launches(direction, 4)):
            name = str(arg.value)
            if arg.kind != "buffer" or name.endswith("workspace"):
                continue
            size = arg.elements * arg.element_bytes
            if arg.role in ("in", "inout") and name not in written:
                read[name] = max(size, read.get(name, 0))
            if arg.role in ("out", "inout"):
                written[name] = max(size, written.get(name, 0))
        return Cost(self.macs(direction), sum(read.values()), sum(written.values()))

    def buffer_bytes(self, direction: Direction) -> dict[str, int]:
        """Bytes of each buffer that its launches touch, workspaces included."""
        return {name: use.size for name, use in first_uses(self.launches(direction, 4)).items()}


@lru_cache(maxsize=65536)
def _launches(operation: Operation, direction: Direction, compute_units: int) -> tuple[Launch, ...]:
    return operation._all_passes(direction, compute_units)


@dataclass(frozen=True, kw_only=True)
class Layers(Operation):
    """Layers of DNNMark, checked: a network, or one layer of it. Two with equal texts are equal."""

    kind: ClassVar[str] = "DNNMark"
    title: ClassVar[str] = "layers of DNNMark"
    source: ClassVar[str] = "MIOpen and rocBLAS"

    network: dnnmark.Network = field(compare=False)
    canonical: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "canonical", dnnmark.write(self.network))

    @classmethod
    def of_text(cls, text: str) -> Self:
        """The layers of a ``.dnnmark`` text; raises ConfigError as ``dnnmark.parse``."""
        return cls(network=dnnmark.parse(text))

    @classmethod
    def single(cls, section: str, keys: Mapping[str, Scalar], name: str = "") -> Self:
        """One layer with these keys, named as its section in small letters unless ``name`` is given."""
        lines = ["[DNNMark]", "run_mode=standalone", f"[{section}]", f"name={name or section.lower()}"]
        lines += [f"{key}={format_value(value)}" for key, value in keys.items()]
        return cls.of_text("\n".join([*lines, ""]))

    @property
    @override
    def text(self) -> str:
        return self.canonical

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        return self.launches(direction, compute_units)

    @override
    def _all_passes(self, direction: Direction, compute_units: int) -> tuple[Launch, ...]:
        # One object for all numbers of compute units with the same launches: the preview computes it once.
        return miopen.launches(self.network, direction, compute_units)

    @override
    def device_bytes(self, direction: Direction) -> int:
        return dnnmark.device_bytes(self.network)

    @override
    def data_bytes(self, direction: Direction) -> int:
        return dnnmark.mmap_bytes(self.network, direction)

    @override
    def traps(
        self, direction: Direction, handles: int | None = None, gfx: str | None = None
    ) -> Iterator[Problem]:
        return iter(dnnmark.check(self.network, direction, handles, gfx))
