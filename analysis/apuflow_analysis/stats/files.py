"""Open statistics files of any packing and cut them into dumps."""

from __future__ import annotations

import gzip
import lzma
import mmap
import os
import weakref
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import zstandard

from apuflow.core.errors import AnalysisError

BEGIN = b"---------- Begin Simulation Statistics ----------"
END = b"---------- End Simulation Statistics   ----------"
_READ = 32 << 20
_AHEAD = 512 << 20
_POPULATE = getattr(mmap, "MAP_POPULATE", 0)
_PACKED = (".gz", ".xz", ".zst")
TORN = (EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError, gzip.BadGzipFile)

Text = bytes | mmap.mmap


class _Descriptor:
    """A file that stays open, also after another has taken its name, until nobody needs it."""

    def __init__(self, stream: BinaryIO) -> None:
        self.number = os.dup(stream.fileno())
        weakref.finalize(self, os.close, self.number)


class Blocks:
    """What stands between begin and end mark of each complete dump of a file, one at a time.

    Memory holds one dump and what was read ahead, at most as much again or 32 MiB.

    Attributes:
        cut: after the last block: what is missing at the end, ``None`` if nothing is.

    Raises:
        AnalysisError: when iterated: the file cannot be opened.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.cut: str | None = None
        self._file: _Descriptor | None = None

    def spans(self) -> Iterator[tuple[Text, int, int]]:
        """The blocks as text that holds them, start and stop.

        A plain file is mapped, not read: use the text at once and do not keep it.
        """
        if self.path.suffix in _PACKED or not self.path.is_file():
            with open_packed(self.path) as stream:
                yield from self._stream(stream)
            return
        with open_packed(self.path) as stream:
            size = os.fstat(stream.fileno()).st_size
            if size == 0:
                return
            self._file = _Descriptor(stream)
            ahead = _POPULATE if size <= _AHEAD else 0
            text = mmap.mmap(stream.fileno(), 0, flags=mmap.MAP_SHARED | ahead, prot=mmap.PROT_READ)
        begin, count = -1, 0
        for at in range(0, len(text), _READ):
            for mark, place in _marks(text, at, min(at + _READ + len(BEGIN), len(text))):
                if place >= at + _READ:
                    continue
                if mark is END and begin >= 0:
                    count += 1
                    yield text, begin, place
                    begin = -1
                elif mark is BEGIN:
                    if begin >= 0:
                        self._note(_followed(count + 1))
                    begin = place + len(BEGIN)
        if begin >= 0:
            self._note(_endless(count + 1, text[-60:]))

    def source(self, start: int) -> Callable[[int, int], bytes]:
        """What reads stretches of the block that begins at ``start`` of the (plain) file again."""
        file = self._file
        assert file is not None
        return lambda low, high: os.pread(file.number, high - low, start + low)

    def _stream(self, stream: BinaryIO) -> Iterator[tuple[bytes, int, int]]:
        held, size, begin, count = b"", _READ, -1, 0
        while data := self._read(stream, size):
            held, searched = (held + data, max(len(held) - len(BEGIN), 0)) if held else (data, 0)
            consumed = 0
            for mark, at in _marks(held, searched, len(held)):
                if mark is END and begin >= 0:
                    count += 1
                    yield held, begin, at
                    begin, consumed = -1, at + len(END)
                elif mark is BEGIN:
                    if begin >= 0:
                        self._note(_followed(count + 1))
                    begin = at + len(BEGIN)
                    consumed = begin
            size = _READ if consumed else max(size, len(held))
            start = consumed if begin < 0 else begin
            keep = start if begin >= 0 else max(start, len(held) - len(BEGIN))
            held, begin = held[keep:], begin if begin < 0 else 0
        if begin >= 0:
            self._note(_endless(count + 1, held[-60:]))

    def _read(self, stream: BinaryIO, size: int) -> bytes:
        """About ``size`` bytes; fewer at the end or where an archive is torn."""
        parts: list[bytes] = []
        total = 0
        try:
            while total < size and (part := stream.read1(size - total)):  # type: ignore[attr-defined]
                parts.append(part)
                total += len(part)
        except TORN as error:
            self._note(f"the archive is torn: {error}")
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _note(self, text: str) -> None:
        if self.cut is None:
            self.cut = text
        elif text not in self.cut:
            self.cut = f"{self.cut}; {text}"


def _followed(dump: int) -> str:
    return f"dump {dump} was cut off and another begins"


def _endless(dump: int, last: bytes) -> str:
    return f"dump {dump} has no end; the file stops after {last!r}"


def _marks(text: Text, start: int, stop: int) -> list[tuple[bytes, int]]:
    """Begin and end marks in ``text[start:stop]`` with their positions.

    Both open with ten dashes, so it is enough to look at every eighth byte for one.
    """
    buffer = np.frombuffer(text, dtype=np.uint8)[start:stop]
    hits = np.flatnonzero(buffer[::8] == 45) * 8
    hits = hits[
        (buffer[np.maximum(hits - 1, 0)] == 45) | (buffer[np.minimum(hits + 1, len(buffer) - 1)] == 45)
    ]
    marks: dict[int, bytes] = {}
    for hit in (hits + start).tolist():
        for mark in (BEGIN, END):
            at = text.find(mark, max(hit - 10, start), min(hit + len(mark), stop))
            if at >= 0:
                marks[at] = mark
    return [(marks[at], at) for at in sorted(marks)]


def open_packed(path: Path) -> BinaryIO:
    """A statistics file as it reads uncompressed. AnalysisError when it cannot be opened."""
    try:
        if path.suffix == ".gz":
            return cast(BinaryIO, gzip.open(path, "rb"))
        if path.suffix == ".xz":
            return cast(BinaryIO, lzma.open(path, "rb"))
        if path.suffix == ".zst":
            stream = path.open("rb")
            unpacked = zstandard.ZstdDecompressor().stream_reader(
                stream, read_across_frames=True, closefd=True
            )
            return cast(BinaryIO, unpacked)
        return path.open("rb")
    except OSError as error:
        raise AnalysisError(
            f"cannot open the statistics: {error.strerror}",
            file=path,
            remedy="give a stats.txt that a run left",
        ) from None
