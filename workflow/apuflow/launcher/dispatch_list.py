"""Dispatch lists, the guest program's input. Grammar: docs/gem5-kernels.md; reader: guest/list.c."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from apuflow.core.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FIRST = "apuflow-dispatch-list 1"
END_MARKER = "apuflow-launcher: {count} of {count} dispatches done"
REDIRECTED = ("/proc", "/sys", "/tmp")
"""apu_se.py redirects these paths of the guest to another directory (RedirectPath)."""

SCALARS = {
    "uchar": ("u8", "B"),
    "char": ("u8", "b"),
    "ushort": ("u16", "H"),
    "short": ("u16", "h"),
    "half": ("u16", "e"),
    "int": ("u32", "i"),
    "uint": ("u32", "I"),
    "float": ("u32", "f"),
    "long": ("u64", "q"),
    "ulong": ("u64", "Q"),
    "double": ("u64", "d"),
}
"""OpenCL scalar type -> the list's word for its size, and its :mod:`struct` format."""
FROM_FILE = ("file", "loaded")
"""Kinds of contents from the list's data file, at the offset that follows."""


def guest_path(path: str | Path) -> str:
    """``path`` as the guest opens it; relative means to its working directory.

    Absolute paths that apu_se.py would redirect get a second slash: gem5 compares the path as text, so
    ``//tmp/x`` is the host's ``/tmp/x``.

    Raises:
        ConfigError: white space in the path (neither the list nor apu_se.py's ``--options`` can carry it).
    """
    text = str(path)
    if any(character.isspace() for character in text):
        raise ConfigError(
            "a path with white space cannot be given to the guest program",
            value=text,
            remedy="move the project to a directory without white space in its name",
        )
    return "/" + text if text.startswith(REDIRECTED) else text


@dataclass(frozen=True)
class Contents:
    """A buffer's initial contents, as functions of kind, seed and index; the simulated CPU writes them.

    Attributes:
        kind: ``touch`` (a store per page: zeros, mostly uncached), ``zero``, ``untouched``, ``constant``
            (32-bit word), ``uniform`` (floats in [0, 1); seed), ``modulo`` (bytes; seed, modulus up to 256),
            ``indices`` (32-bit whole numbers; seed, modulus), ``file`` (of the list's data file; offset),
            ``loaded`` (the same, but gem5 writes them itself: no cache holds them).
        parameters: the numbers in brackets.
    """

    kind: str
    parameters: tuple[int, ...] = ()

    def values(self, size: int, data: NDArray[np.uint8] | None = None) -> NDArray[np.uint8]:
        """The bytes of a buffer of ``size`` bytes; ``data`` is the data file."""
        import numpy as np

        match self.kind:
            case "uniform":
                bits = _mix(self.parameters[0], size // 4) >> np.uint32(8)
                return (bits.astype(np.float32) * np.float32(2.0**-24)).view(np.uint8)
            case "constant":
                return np.full(size // 4, self.parameters[0], np.uint32).view(np.uint8)
            case "modulo":
                return (_mix(self.parameters[0], size) % np.uint32(self.parameters[1])).astype(np.uint8)
            case "indices":
                return (_mix(self.parameters[0], size // 4) % np.uint32(self.parameters[1])).view(np.uint8)
            case "file" | "loaded":
                if data is None or self.parameters[0] + size > data.size:
                    raise ConfigError("the data file is too small for a buffer", value=size)
                return data[self.parameters[0] : self.parameters[0] + size].copy()
            case _:
                return np.zeros(size, np.uint8)


def _mix(seed: int, count: int) -> NDArray[np.uint32]:
    """guest/memory.c ``mix``, for indices 0 to ``count``."""
    import numpy as np

    x = np.uint32(seed) + np.arange(count, dtype=np.uint32) * np.uint32(0x9E3779B9)
    x = (x ^ x >> np.uint32(16)) * np.uint32(0x7FEB352D)
    x = (x ^ x >> np.uint32(15)) * np.uint32(0x846CA68B)
    return x ^ x >> np.uint32(16)


@dataclass(frozen=True)
class Buffer:
    """Memory of ``size`` bytes (a multiple of 4) for kernels."""

    name: str
    size: int
    contents: Contents

    def line(self) -> str:
        """The statement in the guest program's grammar."""
        words = ["buffer", self.name, self.size, self.contents.kind, *self.contents.parameters]
        return " ".join(map(str, words))


@dataclass(frozen=True)
class Argument:
    """One kernel argument: a scalar, or a buffer (kind "buffer", value its name) plus a byte offset."""

    kind: str
    value: str | int | float
    offset: int = 0

    def line(self) -> str:
        """The statement; raises ConfigError for an unsupported type or a value outside its type."""
        if self.kind == "buffer":
            return f"arg buffer {self.value}" + (f" {self.offset}" if self.offset else "")
        if self.kind not in SCALARS:
            raise ConfigError("unknown type of kernel argument", value=self.kind)
        word, code = SCALARS[self.kind]
        try:
            packed = struct.pack("<" + code, self.value)
        except (struct.error, OverflowError) as error:
            raise ConfigError(
                f"kernel argument does not fit its type {self.kind}", value=self.value
            ) from error
        return f"arg {word} {int.from_bytes(packed, 'little'):#x}"


@dataclass(frozen=True)
class Dispatch:
    """One kernel launch: grid and workgroup in work-items; ``lds``: bytes beside the kernel's own.

    Attributes:
        weight: how often it counts in the program that it was recorded from; the guest does not know it.
    """

    object: Path
    kernel: str
    grid: tuple[int, int, int]
    workgroup: tuple[int, int, int]
    arguments: tuple[Argument, ...]
    lds: int = 0
    weight: float = 1.0


@dataclass(frozen=True)
class Dump:
    """Write a buffer to a file of the host."""

    buffer: str
    path: Path


@dataclass(frozen=True)
class Pointer:
    """The address of a buffer that stands in memory before the first dispatch.

    Attributes:
        into: the buffer that holds it, or the code object with a variable that does.
        place: of the address, in bytes: in the buffer, or in the loaded code object.
        to: the buffer whose address it is, plus ``offset`` bytes.
    """

    into: str | Path
    place: int
    to: str
    offset: int = 0


Statistics: TypeAlias = Literal["run", "reset", "dispatch"]


@dataclass(frozen=True)
class DispatchList:
    """Everything one guest process does, in order.

    Attributes:
        device: the simulated GPU.
        statistics: handling of gem5's: none (``run``), ``reset`` before each dispatch, or also a block after
        it (``dispatch``).
        data: the file that contents come from.
        pointers: addresses in buffers and in code objects.
    """

    device: str
    buffers: tuple[Buffer, ...]
    steps: tuple[Dispatch | Dump, ...]
    statistics: Statistics = "run"
    data: Path | None = None
    pointers: tuple[Pointer, ...] = ()

    @property
    def dispatches(self) -> tuple[Dispatch, ...]:
        """The steps that launch a kernel."""
        return tuple(step for step in self.steps if isinstance(step, Dispatch))

    @property
    def end_marker(self) -> str:
        """The last line that the guest prints after a complete run."""
        return END_MARKER.format(count=len(self.dispatches))

    def text(self) -> str:
        """The list as text for the guest."""
        objects = list(dict.fromkeys(dispatch.object for dispatch in self.dispatches))
        lines = [FIRST, f"device {self.device}", "wait event", f"statistics {self.statistics}"]
        if self.data is not None:
            lines.append(f"data {guest_path(self.data)}")
        lines += [f"object {guest_path(path)}" for path in objects]
        lines += [buffer.line() for buffer in self.buffers]
        for each in self.pointers:
            named = isinstance(each.into, str)
            words = ["address", each.into] if named else ["variable", objects.index(Path(each.into))]
            lines.append(" ".join(map(str, [*words, each.place, each.to, each.offset])))
        for step in self.steps:
            match step:
                case Dispatch():
                    words = [objects.index(step.object), step.kernel, *step.grid, *step.workgroup]
                    words += [len(step.arguments), *([step.lds] if step.lds else [])]
                    lines.append(" ".join(map(str, ["dispatch", *words])))
                    lines += [argument.line() for argument in step.arguments]
                case Dump():
                    lines.append(f"dump {step.buffer} {guest_path(step.path)}")
        return "\n".join([*lines, "end", ""])
