"""What a program did on the GPU: its launches, and what memory held before and after them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from apuflow.interpret.state import Place
from apuflow.miopen.launch import Extent

Bytes: TypeAlias = NDArray[np.uint8]
MemoryKind: TypeAlias = Literal["device", "host", "managed"]


@dataclass
class Contents:
    """Memory from one change by the program on: a piece of it, or a code object.

    A buffer of the workload. When the program has changed the piece after a launch, later launches that use
    it get another one.

    Attributes:
        number: of the piece; 0: a code object.
        before: its bytes before the first launch that uses it.
        after: those after the last one; None: no launch was executed.
        set: the program wrote something before that launch.
        pointers: addresses of other memory in it before that launch.
    """

    number: int
    before: Bytes
    after: Bytes | None = None
    set: bool = True
    pointers: tuple[Address, ...] = ()

    @property
    def written(self) -> bool:
        """Whether launches have changed it."""
        return self.after is not None and not np.array_equal(self.before, self.after)


@dataclass
class Allocation:
    """A piece of memory that the program has asked for.

    Attributes:
        number: in the order of the requests, from 1.
        current: its contents since the program changed it last; None: no recorded launch has used it.
    """

    number: int
    place: Place
    kind: MemoryKind
    current: Contents | None = None


class Source(NamedTuple):
    """A program in OpenCL C: its text, which includes nothing, and what clang is told."""

    text: str
    arguments: str


@dataclass
class Module:
    """A code object that the program has loaded, and where it lies.

    Attributes:
        data: the file.
        initial: what was loaded, before the program has changed a variable.
        current: as of an :class:`Allocation`.
        source: what it was made of; None: the program brought the code object.
    """

    number: int
    data: bytes
    place: Place
    initial: Bytes = field(default_factory=lambda: np.zeros(0, np.uint8))
    current: Contents | None = None
    source: Source | None = None


class Address(NamedTuple):
    """An address in an argument block, or in memory.

    Attributes:
        place: of the address, in bytes from the first.
        contents: what it points into. offset: bytes from there.
    """

    place: int
    contents: Contents
    offset: int


@dataclass
class Launched:
    """A launch that is recorded.

    Attributes:
        number: among all launches of the program, from 1.
        code: the code object, with its variables as they were.
        grid, workgroup: work-items.
        lds: bytes beside the kernel's own.
        block: its arguments; addresses are those of the program.
        instructions: wavefront instructions; 0: it was not executed.
        launches: of the program that it stands for, itself included.
        represented: wavefront instructions of these. equal: of those with as many as it has.
        offset: of the first work-item's numbers.
    """

    number: int
    module: Module
    code: Contents
    kernel: str
    grid: Extent
    workgroup: Extent
    lds: int
    block: bytes
    addresses: tuple[Address, ...]
    instructions: int = 0
    launches: int = 1
    represented: int = field(init=False)
    equal: int = field(init=False)
    offset: Extent = (0, 0, 0)

    def __post_init__(self) -> None:
        self.represented = self.equal = self.instructions

    def count(self, run: int) -> None:
        """One more launch counts to it, with so many wavefront instructions."""
        self.launches += 1
        self.represented += run
        self.equal += run if run == self.instructions else 0

    @property
    def weight(self) -> float:
        """How often it counts in the whole program: by instructions, else by launches."""
        return self.represented / self.instructions if self.instructions else float(self.launches)


@dataclass
class Journal:
    """Everything that a program did on the GPU.

    Attributes:
        gfx: name of the GPU.
        launches: that are recorded, in order.
        count: of all launches, those included that are not recorded.
        instructions, seconds: of the execution of all launches.
        refused: launches that the GPU does not take, in words.
        waiting: kernels that wait for other workgroups, and where the loop is (``Executed.waits``).
        addresses: of the GPU's memory: the first, and the one behind the last.
    """

    gfx: str
    launches: list[Launched] = field(default_factory=list)
    count: int = 0
    instructions: int = 0
    seconds: float = 0.0
    refused: list[str] = field(default_factory=list)
    waiting: dict[str, int] = field(default_factory=dict)
    addresses: tuple[int, int] = (0, 0)
