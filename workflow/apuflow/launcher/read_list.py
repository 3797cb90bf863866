"""Read dispatch lists of other programs. Grammar: docs/gem5-kernels.md."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from apuflow.core.errors import ConfigError
from apuflow.core.gpus import gpu
from apuflow.launcher.dispatch_list import (
    FIRST,
    FROM_FILE,
    Argument,
    Buffer,
    Contents,
    Dispatch,
    DispatchList,
    Dump,
    Pointer,
)

_SCALARS: Final = {"u8": "uchar", "u16": "ushort", "u32": "uint", "u64": "ulong"}
_PARAMETERS: Final = {
    **dict.fromkeys(("zero", "touch", "untouched"), 0),
    **dict.fromkeys(("constant", *FROM_FILE, "uniform"), 1),
    **dict.fromkeys(("modulo", "indices"), 2),
}
"""Numbers that follow each kind of contents."""
_WITHOUT_MEANING: Final = ("wait", "statistics", "check")
"""Statements about the launcher, not about the kernels."""


def read_list(path: Path) -> DispatchList:
    """Read a dispatch list; its paths are relative to its directory.

    Raises:
        ConfigError: the file cannot be read, or a line is not a statement of a dispatch list.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"cannot read the dispatch list: {error}", file=path, remedy="a text file (docs/gem5-kernels.md)"
        ) from None
    if not lines or lines[0].split() != FIRST.split():
        raise _wrong(path, 1, f"the first line of a dispatch list is '{FIRST}'", "".join(lines[:1]))
    reader = _Reader(path)
    for number, line in enumerate(lines[1:], 2):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if reader.ended:
            raise _wrong(path, number, "a statement after 'end'", line)
        try:
            reader.statement(words)
        except (LookupError, ValueError) as error:
            raise _wrong(
                path, number, str(error.args[0]) if error.args else "not a statement", line
            ) from None
    return reader.result(len(lines))


def _wrong(path: Path, line: int, what: str, value: str) -> ConfigError:
    return ConfigError(
        what, file=path, key=f"line {line}", value=value, remedy="docs/gem5-kernels.md has the statements"
    )


@dataclass
class _Reader:
    """State of reading; ``due``: missing arguments of the last dispatch."""

    path: Path
    device: str = ""
    data: Path | None = None
    objects: list[Path] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    steps: list[Dispatch | Dump] = field(default_factory=list)
    pointers: list[Pointer] = field(default_factory=list)
    due: int = 0
    ended: bool = False

    def statement(self, words: list[str]) -> None:
        """Read a line; raises ValueError with its mistake."""
        name, *rest = words
        if self.due and name != "arg":
            raise ValueError(f"{self.due} arguments missing before this line")
        match name, rest:
            case "device", [word]:
                try:
                    self.device = gpu(word, "device").name
                except ConfigError as error:
                    raise ValueError(error.message) from None
            case "data", [word]:
                self.data = self.path.parent / word
            case "object", [word]:
                self.objects.append(self.path.parent / word)
            case "buffer", [word, size, kind, *numbers]:
                self._buffer(word, _number(size, 1 << 40), kind, numbers)
            case "dispatch", [number, kernel, *numbers] if len(numbers) in (7, 8):
                self._dispatch(self._object(_number(number)), kernel, [_number(each) for each in numbers])
            case "arg", [kind, *values]:
                self._argument(kind, values)
            case "dump", [word, file]:
                self.steps.append(Dump(self._named(word).name, self.path.parent / file))
            case "address" | "variable", [into, place, to, *offset] if len(offset) < 2:
                self._pointer(name, into, _number(place), to, _number(offset[0]) if offset else 0)
            case "end", []:
                self.ended = True
            case word, _ if word in _WITHOUT_MEANING:
                pass
            case _:
                raise ValueError("not a statement, or not its words")

    def _object(self, number: int) -> Path:
        if number >= len(self.objects):
            raise ValueError(f"there is no object {number} before this line")
        return self.objects[number]

    def _named(self, name: str) -> Buffer:
        for buffer in self.buffers:
            if buffer.name == name:
                return buffer
        raise ValueError(f"no such buffer: {name}")

    def _buffer(self, name: str, size: int, kind: str, numbers: list[str]) -> None:
        if any(buffer.name == name for buffer in self.buffers):
            raise ValueError(f"a second buffer of this name: {name}")
        if not size or size % 4:
            raise ValueError("a buffer's size is a multiple of 4 bytes, above 0")
        if _PARAMETERS.get(kind) != len(numbers):
            raise ValueError("unknown contents, or not their numbers")
        limit = 1 << 64 if kind in FROM_FILE else 1 << 32
        contents = Contents(kind, tuple(_number(each, limit - 1) for each in numbers))
        largest = 256 if kind == "modulo" else (1 << 31) - 1
        if kind in ("modulo", "indices") and not 0 < contents.parameters[1] <= largest:
            raise ValueError("a modulus is above 0, of modulo at most 256")
        if kind in FROM_FILE and self.data is None:
            raise ValueError("contents from a file, but no data line before")
        self.buffers.append(Buffer(name, size, contents))

    def _dispatch(self, code: Path, kernel: str, numbers: list[int]) -> None:
        (gx, gy, gz, wx, wy, wz, self.due), lds = numbers[:7], numbers[7:]
        if not all((gx, gy, gz, wx, wy, wz)) or wx * wy * wz > 1024:
            raise ValueError("a grid or workgroup size is 0, or a workgroup has more than 1024 work-items")
        self.steps.append(Dispatch(code, kernel, (gx, gy, gz), (wx, wy, wz), (), *lds))

    def _pointer(self, kind: str, into: str, place: int, to: str, offset: int) -> None:
        if offset > self._named(to).size or (kind == "address" and place + 8 > self._named(into).size):
            raise ValueError("an address does not fit there, or lies behind its buffer")
        where = into if kind == "address" else self._object(_number(into))
        self.pointers.append(Pointer(where, place, to, offset))

    def _argument(self, kind: str, values: list[str]) -> None:
        if not self.due:
            raise ValueError("an argument more than its dispatch says")
        if kind == "buffer" and len(values) in (1, 2):
            buffer = self._named(values[0])
            given = Argument("buffer", buffer.name, *(_number(each, buffer.size - 1) for each in values[1:]))
        elif kind in _SCALARS and len(values) == 1:
            given = Argument(_SCALARS[kind], _number(values[0], (1 << int(kind[1:])) - 1))
        else:
            raise ValueError("unknown kind of argument, or not its words")
        last = self.steps[-1]
        assert isinstance(last, Dispatch)
        self.steps[-1] = replace(last, arguments=(*last.arguments, given))
        self.due -= 1

    def result(self, lines: int) -> DispatchList:
        """The complete list; raises ConfigError for missing parts."""
        dispatched = any(isinstance(step, Dispatch) for step in self.steps)
        for present, what in (
            (self.ended, "the list is cut off: no 'end'"),
            (self.device, "no device line"),
            (dispatched, "nothing to dispatch"),
        ):
            if not present:
                raise _wrong(self.path, lines, what, "")
        pointers = tuple(self.pointers)
        return DispatchList(
            self.device, tuple(self.buffers), tuple(self.steps), data=self.data, pointers=pointers
        )


def _number(word: str, limit: int = (1 << 32) - 1) -> int:
    """A decimal or hexadecimal number, as guest/util.c reads it."""
    plain, digits = word[:2] != "0x", word.removeprefix("0x")
    if not digits or not set(digits.lower()) <= set("0123456789" if plain else "0123456789abcdef"):
        raise ValueError(f"not a number: {word}")
    value = int(digits, 10 if plain else 16)
    if value > limit:
        raise ValueError(f"too large: {word}")
    return value
