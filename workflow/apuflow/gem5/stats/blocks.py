"""Open statistics files of any packing and cut them into blocks.

gem5 writes an empty line and a begin mark, the rows, an empty line and an end mark (``Text::begin`` and
``Text::end`` in src/base/stats/text.cc). Each mark is a whole line. A block is complete between the two;
outside of blocks there are empty lines alone.
"""

from __future__ import annotations

import gzip
import hashlib
import lzma
import mmap
import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import numpy as np
import zstandard

from apuflow.core.errors import AnalysisError

BEGIN = b"---------- Begin Simulation Statistics ----------"
END = b"---------- End Simulation Statistics   ----------"
_READ = 32 << 20
_AHEAD = 512 << 20
_POPULATE = getattr(mmap, "MAP_POPULATE", 0)
_PACKED = (".gz", ".xz", ".zst")
_UNREADABLE = (OSError, EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError)

Text = bytes | mmap.mmap


class Fault(NamedTuple):
    """What gem5 did not write so: the number of the line (0: the whole file), and what is wrong with it."""

    line: int
    reason: str


@dataclass(frozen=True)
class Block:
    """A complete block: ``text[start:stop]`` is between its marks, ``lines_before`` are before ``text``."""

    text: Text
    start: int
    stop: int
    lines_before: int

    @property
    def lines(self) -> memoryview:
        """The lines, as ``parse_block`` takes them."""
        return memoryview(self.text)[self.start : self.stop]

    @property
    def line(self) -> int:
        """The number of the line, from 1, that ``start`` lies in: the begin mark."""
        return self.lines_before + self.text[: self.start].count(b"\n") + 1


class Blocks:
    """The complete blocks of a file, one at a time.

    Memory holds one block and what was read ahead, at most as much again or 32 MiB. A plain file is mapped;
    one whose ``digest`` takes the text is read: another process may cut it. Iteration raises an AnalysisError
    where the file cannot be opened.

    Attributes:
        fault: the first thing that is wrong outside of the blocks that were given so far.
        cut: after the last block: what is missing at the end, ``None`` if nothing is.
    """

    def __init__(self, path: str | Path, digest: Callable[[bytes], object] | None = None) -> None:
        self.path = Path(path)
        self.fault: Fault | None = None
        self.cut: str | None = None
        self._digest = digest
        self._text: Text = b""
        self._at = self._count = self._lines_before = 0
        self._inside = False

    def __iter__(self) -> Iterator[Block]:
        for text, low, high in self._windows():
            self._text = text
            for mark, at in _marks(text, low, high):
                if at < self._at:
                    continue
                if not self._inside:
                    self._skip(at)
                elif mark is END:
                    yield Block(text, self._at, at, self._lines_before)
                self._take(mark, at)
            if not self._inside:
                self._skip(max(self._at, high - len(BEGIN)))
        if self._inside:
            self._wrong(f"is cut in block {self._count + 1}")
            self._note(f"dump {self._count + 1} has no end; the file stops after {self._text[-60:]!r}")
        else:
            self._skip(len(self._text))

    def _take(self, mark: bytes, at: int) -> None:
        """Note a mark that is out of place, and go on behind it."""
        number = self._count + 1
        if (mark is END) != self._inside:
            self._wrong(f"the file is cut or mixed up near block {number}", at)
            if mark is BEGIN:
                self._note(f"dump {number} was cut off and another begins")
        elif mark is END:
            self._count += 1
        self._inside = mark is BEGIN
        self._at = at + len(mark)

    def _skip(self, to: int) -> None:
        """Go on to a place outside of all blocks."""
        other = self._text[self._at : to].lstrip(b"\n")
        if other:
            self._wrong("it stands in no statistics block", to - len(other))
        self._at = to

    def _wrong(self, reason: str, at: int | None = None) -> None:
        """Keep the first fault; ``at``: the place of its line in the text."""
        if self.fault is None:
            line = 0
            if at is not None and self._digest is not None:
                line = Block(self._text, at, at, self._lines_before).line
            self.fault = Fault(line, reason)

    def _windows(self) -> Iterator[tuple[Text, int, int]]:
        """Text that holds all since the last mark, and between which places marks were not looked for yet."""
        with open_packed(self.path) as stream:
            if self._digest is not None or self.path.suffix in _PACKED or not self.path.is_file():
                yield from self._stream(stream)
                return
            size = os.fstat(stream.fileno()).st_size
            if size == 0:
                return
            ahead = _POPULATE if size <= _AHEAD else 0
            text = mmap.mmap(stream.fileno(), 0, flags=mmap.MAP_SHARED | ahead, prot=mmap.PROT_READ)
        for at in range(0, size, _READ):
            yield text, max(at - len(BEGIN), 0), min(at + _READ, size)

    def _stream(self, stream: BinaryIO) -> Iterator[tuple[bytes, int, int]]:
        held, size = b"", _READ
        while data := self._read(stream, size):
            if self._digest is not None:
                self._digest(data)
            size = _READ if self._at else max(size, len(held))
            self._lines_before += held.count(b"\n", 0, self._at)
            held, low, self._at = held[self._at :], len(held) - self._at, 0
            held += data
            yield held, max(low - len(BEGIN), 0), len(held)

    def _read(self, stream: BinaryIO, size: int) -> bytes:
        """About ``size`` bytes; fewer at the end or where the file cannot be read on."""
        parts: list[bytes] = []
        total = 0
        try:
            while total < size and (part := stream.read1(size - total)):  # type: ignore[attr-defined]
                parts.append(part)
                total += len(part)
        except _UNREADABLE as error:
            self._wrong(f"cannot be read to its end: {error}")
            self._note(f"the archive is torn: {error}")
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _note(self, text: str) -> None:
        if self.cut is None:
            self.cut = text
        elif text not in self.cut:
            self.cut = f"{self.cut}; {text}"


def _marks(text: Text, start: int, stop: int) -> list[tuple[bytes, int]]:
    """Begin and end marks that are lines of their own in ``text[start:stop]``, with their positions.

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
            at = text.find(mark + b"\n", max(hit - 10, start), min(hit + len(mark) + 1, stop))
            if at == 0 or (at > 0 and text[at - 1 : at] == b"\n"):
                marks[at] = mark
    return [(marks[at], at) for at in sorted(marks)]


def open_packed(path: Path, suffix: str | None = None) -> BinaryIO:
    """A statistics file as it reads uncompressed; ``suffix``: how it is packed, where its name does not say.

    Raises:
        AnalysisError: it cannot be opened.
    """
    suffix = path.suffix if suffix is None else suffix
    try:
        if suffix == ".gz":
            return cast(BinaryIO, gzip.open(path, "rb"))
        if suffix == ".xz":
            return cast(BinaryIO, lzma.open(path, "rb"))
        stream = path.open("rb")
        if suffix == ".zst":
            unpack = zstandard.ZstdDecompressor()
            return cast(BinaryIO, unpack.stream_reader(stream, read_across_frames=True, closefd=True))
        return stream
    except OSError as error:
        problem, remedy = f"cannot open the statistics: {error.strerror}", "give a stats.txt that a run left"
        raise AnalysisError(problem, file=path, remedy=remedy) from None


def text_sha256(path: Path, suffix: str | None = None) -> str | None:
    """SHA-256 of the text of a statistics file, uncompressed; None where it cannot be read to its end."""
    digest = hashlib.sha256()
    try:
        with open_packed(path, suffix) as stream:
            while part := stream.read(1 << 20):
                digest.update(part)
    except (AnalysisError, *_UNREADABLE):
        return None
    return digest.hexdigest()
