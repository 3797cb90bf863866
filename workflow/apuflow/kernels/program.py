"""What a point with own kernels runs, every number known: memory, launches, what is compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from apuflow.core.errors import ConfigError
from apuflow.kernels.element_types import ELEMENT_BYTES, NUMPY_TYPES, ElementType, numbers, rounded, stored
from apuflow.kernels.metadata import Kernel
from apuflow.launcher.dispatch_list import Contents
from apuflow.miopen.launch import Extent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.generic]

FillKind: TypeAlias = Literal[
    "zero", "touch", "untouched", "constant", "uniform", "modulo", "values", "file", "data", "reference"
]
FROM_DATA: Final[tuple[FillKind, ...]] = ("values", "file", "data", "reference")
"""Contents that reach the guest in its data file; it computes the others itself."""
_SHORT: Final[tuple[ElementType, ...]] = ("half", "bfloat16")
"""Types whose ``uniform`` contents the data file has: the guest computes numbers of 32 bits."""
COMPUTED: Final[tuple[FillKind, ...]] = ("zero", "constant", "uniform", "modulo")
"""Contents that it computes, and the simulated CPU writes in whole."""


@dataclass(frozen=True)
class Fill:
    """What a buffer holds before the first launch.

    Attributes:
        numbers: the constant; the seed of ``uniform``; seed and modulus of ``modulo``; the ``values``.
        file: of ``file``: raw elements, little-endian. data: of ``data``: the same, from the buffer's begin.
    """

    kind: FillKind = "zero"
    numbers: tuple[int | float, ...] = ()
    file: Path | None = None
    data: bytes = b""


@dataclass(frozen=True)
class OwnBuffer:
    """Memory that kernels take the address of: ``elements`` of ``type``."""

    name: str
    type: ElementType
    elements: int
    fill: Fill

    @property
    def size(self) -> int:
        """Bytes, a multiple of 4 as the guest wants it."""
        return -(-self.elements * ELEMENT_BYTES[self.type] // 4) * 4


@dataclass(frozen=True)
class Given:
    """One kernel argument as the file gives it.

    Attributes:
        kind: a buffer's address (``value`` its name, plus ``offset`` elements), a whole number, a number
            with a point (``type`` half, float or double; None: as large as the parameter), raw bytes
            (``value`` in hexadecimal digits), or the address of ``value`` bytes of LDS.
        addresses: of buffers that stand in raw bytes: places and names.
    """

    kind: Literal["buffer", "integer", "real", "bytes", "lds"]
    value: str | int | float
    offset: int = 0
    type: Literal["half", "float", "double"] | None = None
    addresses: tuple[tuple[int, str], ...] = ()


class Code(NamedTuple):
    """What one code object is made of.

    Attributes:
        source: a file of kernels, from the project's directory.
        arguments: for its compiler.
    """

    source: Path
    arguments: str = ""


KernelsByCode: TypeAlias = Mapping[Code, tuple[Kernel, ...]]
"""The kernels of each code object of a program."""


@dataclass(frozen=True)
class OwnLaunch:
    """One kernel launch: grid and workgroup in work-items.

    Attributes:
        code: what has the kernel.
        lds: bytes of LDS behind the kernel's own that no argument points to (HIP: ``extern __shared__``).
        offset: of the first work-item's numbers (OpenCL: ``global_work_offset``).
        weight: how often its cycles count in the whole program of which launches are recorded.
    """

    code: Code
    kernel: str
    grid: Extent
    workgroup: Extent
    arguments: tuple[Given, ...]
    lds: int = 0
    offset: Extent = (0, 0, 0)
    weight: float = field(default=1.0, compare=False)


class Pointer(NamedTuple):
    """The address of buffer ``to``, plus ``offset`` bytes, in memory before the first launch.

    Attributes:
        into: the buffer that holds it, or the code with a variable that does.
        place: bytes from the buffer's first, or in the loaded code object.
    """

    into: str | Code
    place: int
    to: str
    offset: int = 0


class Output(NamedTuple):
    """What is compared after the last launch: ``elements`` of ``type`` in a buffer.

    Attributes:
        offset: bytes from the buffer's first.
    """

    buffer: str
    type: ElementType
    elements: int
    offset: int = 0

    def values(self, raw: NDArray[np.uint8]) -> Array:
        """The numbers, from the buffer's bytes."""
        end = self.offset + self.elements * ELEMENT_BYTES[self.type]
        return numbers(raw[self.offset : end], self.type)


class Model(NamedTuple):
    """A model whose compiler made the launches, and whose results on the CPU are the reference.

    Attributes:
        inputs: of its function: buffer and shape, as ``2x3xf32``. results: names of the outputs.
    """

    source: Path
    function: str
    inputs: tuple[tuple[str, str], ...]
    results: tuple[str, ...]


@dataclass(frozen=True)
class OwnProgram:
    """Everything that a point runs.

    Attributes:
        launches: in order, repetitions unrolled.
        outputs: what is read after the last launch: names of buffers or of ``views``.
        reference: Python file with what they should hold; None: ``model`` says it, else nothing is compared.
        tolerance: largest difference that counts as equal, relative to the largest element; None: the type's
            (``reference.tolerance``).
        parameters: of this point, ``compute_units`` among them; words are types of elements.
    """

    name: str
    buffers: tuple[OwnBuffer, ...]
    launches: tuple[OwnLaunch, ...]
    outputs: tuple[str, ...] = ()
    reference: Path | None = None
    tolerance: float | None = None
    parameters: Mapping[str, int | str] = field(default_factory=dict)
    model: Model | None = None
    views: Mapping[str, Output] = field(default_factory=dict)
    pointers: tuple[Pointer, ...] = ()

    @property
    def compared(self) -> bool:
        """Whether anything says what its outputs should hold."""
        return self.reference is not None or self.model is not None

    def output(self, name: str) -> Output:
        """Where one of the outputs lies."""
        if name in self.views:
            return self.views[name]
        buffer = self.buffer(name)
        return Output(name, buffer.type, buffer.elements)

    @property
    def codes(self) -> tuple[Code, ...]:
        """What its code objects are made of, each once."""
        return tuple(dict.fromkeys(launch.code for launch in self.launches))

    @property
    def device_bytes(self) -> int:
        """Simulated memory of all buffers."""
        return sum(buffer.size for buffer in self.buffers)

    def buffer(self, name: str) -> OwnBuffer:
        """The buffer of that name, which the file was checked to have."""
        return next(buffer for buffer in self.buffers if buffer.name == name)


def from_data(buffer: OwnBuffer) -> bool:
    """Whether the data file has a buffer's contents, because the guest cannot compute them."""
    return buffer.fill.kind in FROM_DATA or (buffer.fill.kind == "uniform" and buffer.type in _SHORT)


def guest_contents(buffer: OwnBuffer, offset: int) -> Contents:
    """A buffer's contents as the guest program makes them; ``offset``: its place in the data file."""
    fill = buffer.fill
    if from_data(buffer):
        return Contents("file", (offset,))
    numbers = (_word(buffer),) if fill.kind == "constant" else tuple(map(int, fill.numbers))
    return Contents(fill.kind, numbers)


def _word(buffer: OwnBuffer) -> int:
    """The 32-bit word that a constant element is made of.

    Raises:
        ConfigError: an element of 64 bits whose halves differ, or a number that is none of its type.
    """
    import numpy as np

    value = buffer.fill.numbers[0]
    try:
        with np.errstate(all="raise"):
            np.array([value], NUMPY_TYPES[buffer.type])
            element = stored([value], buffer.type)
    except (OverflowError, FloatingPointError, ValueError) as error:
        raise ConfigError(
            f"not a number of type {buffer.type}", key=f"buffers.{buffer.name}.contents", value=value
        ) from error
    words = np.frombuffer(element.tobytes() * (4 // element.itemsize or 1), "<u4")
    if len(set(words.tolist())) != 1:
        raise ConfigError(
            "a constant of 64 bits must have equal halves: the guest fills memory by words of 32 bits",
            key=f"buffers.{buffer.name}.contents",
            value=value,
            remedy="use contents: reference, or values",
        )
    return int(words[0])


def initial_value(buffer: OwnBuffer) -> Array:
    """What a buffer holds before the first launch, as numbers; not for contents that the reference makes.

    Raises:
        ConfigError: a file that is not there or too small, or numbers that are none of the type.
    """
    import numpy as np

    kind, fill = np.dtype(NUMPY_TYPES[buffer.type]), buffer.fill
    key = f"buffers.{buffer.name}.contents"
    if not from_data(buffer):
        return numbers(guest_contents(buffer, 0).values(buffer.size), buffer.type)[: buffer.elements]
    if fill.kind == "uniform":
        floats = Contents("uniform", (int(fill.numbers[0]),)).values(4 * buffer.elements).view(np.float32)
        return rounded(floats, buffer.type)
    if fill.kind == "values":
        given = np.array(fill.numbers)
        values = np.zeros(buffer.elements, kind)
        if given.size > values.size or (kind.kind != "f" and not np.array_equal(given, given.astype(kind))):
            raise ConfigError(
                f"more than {values.size} numbers, or some that are none of type {buffer.type}",
                key=key,
                remedy="correct them, or the buffer's type and elements",
            )
        values[: given.size] = given
        return rounded(values, buffer.type)
    wanted = buffer.elements * ELEMENT_BYTES[buffer.type]
    if fill.kind == "data":
        return numbers(np.frombuffer(fill.data.ljust(wanted, b"\0"), np.uint8, wanted), buffer.type)
    assert fill.file is not None
    if not fill.file.is_file() or fill.file.stat().st_size < wanted:
        raise ConfigError(
            f"the file of a buffer is missing or holds less than its {wanted} bytes",
            file=fill.file,
            key=key,
            remedy="write it (numpy: array.tofile(path)), or give the buffer fewer elements",
        )
    return numbers(np.fromfile(fill.file, np.uint8, wanted), buffer.type)
