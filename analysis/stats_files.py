"""Open statistics files of any packing and cut them into dumps."""

from __future__ import annotations

import gzip
import lzma
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from analysis.errors import AnalysisError

BEGIN = b"---------- Begin Simulation Statistics ----------"
END = b"---------- End Simulation Statistics   ----------"
_CHUNK = 1 << 20
_TORN = (EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError, gzip.BadGzipFile)


class Blocks:
    """The bytes between begin and end mark of each complete dump of a file, one at a time.

    Attributes:
        cut: after the last block: what is missing at the end, ``None`` if nothing is.

    Raises:
        AnalysisError: when iterated: the file cannot be opened.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.cut: str | None = None

    def __iter__(self) -> Iterator[bytes]:
        with _open(self.path) as stream:
            yield from self._blocks(stream)

    def _blocks(self, stream: BinaryIO) -> Iterator[bytes]:
        held = bytearray()
        inside, count, searched = False, 0, 0
        while chunk := self._read(stream):
            held += chunk
            while True:
                mark = END if inside else BEGIN
                at = held.find(mark, max(searched - len(mark), 0))
                if at < 0:
                    searched = len(held)
                    if not inside:
                        del held[: max(len(held) - len(mark), 0)]
                        searched = 0
                    break
                if inside:
                    count += 1
                    yield self._last_begin(bytes(held[:at]), count)
                del held[: at + len(mark)]
                inside, searched = not inside, 0
        if inside:
            self._note(f"dump {count + 1} has no end; the file stops after {bytes(held[-60:])!r}")

    def _last_begin(self, block: bytes, count: int) -> bytes:
        """Drop what an earlier begin left in a block: a dump that was cut off and followed by another."""
        at = block.rfind(BEGIN)
        if at < 0:
            return block
        self._note(f"dump {count} begins twice; what stands before the second begin was cut off")
        return block[at + len(BEGIN) :]

    def _read(self, stream: BinaryIO) -> bytes:
        try:
            return stream.read(_CHUNK)
        except _TORN as error:
            self._note(f"the archive is torn: {error}")
            return b""

    def _note(self, text: str) -> None:
        self.cut = text if self.cut is None else f"{self.cut}; {text}"


def _open(path: Path) -> BinaryIO:
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


def selected(patterns: Sequence[str]) -> Callable[[bytes], bytes]:
    """A function that keeps the lines of a block whose statistic's name matches one of the patterns.

    A pattern that names a vector or distribution keeps all its rows; ``*`` stands for anything.
    """
    parts = [re.escape(pattern.encode()).replace(rb"\*", rb"[^ \n]*") for pattern in patterns]
    line = re.compile(rb"^(?:" + rb"|".join(parts) + rb")(?:::[^ \n]*)? [^\n]*\n", re.MULTILINE)
    return lambda block: b"".join(line.findall(block))
