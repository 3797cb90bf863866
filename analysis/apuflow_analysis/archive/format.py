"""The form of an archive: manifest, checksums, and reading one with every check.

An archive is a tar file, compressed with zstd (``.tar.zst``) or gzip (``.tar.gz``), of regular files only,
all below one directory, all with the same time. Its first file ``MANIFEST.json`` names every other file with
size and SHA-256; ``SHA256SUMS`` says the same for ``sha256sum -c``. It unpacks with plain ``tar`` as well.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import os
import shutil
import tarfile
import unicodedata
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

import zstandard

from apuflow.core.errors import AnalysisError

FORMAT = 1
MANIFEST = "MANIFEST.json"
SUMS = "SHA256SUMS"
TIME = 946684800
"""Time of every file: 2000-01-01 UTC. Equal times, so that no file looks newer than what was made from it."""

MOST_BYTES = 1 << 40
LONGEST_PATH = 1000
_BLOCK = 1 << 20
_RUN_LENGTH = 1
"""Type of a block of zstd that repeats one byte."""
_LONGEST_TEXT = 64 * _BLOCK
_DAMAGE = (
    *(tarfile.TarError, zstandard.ZstdError, gzip.BadGzipFile, zlib.error),
    *(EOFError, ValueError, OverflowError, RecursionError),
)


_KINDS = {
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.LNKTYPE: "a link",
    tarfile.DIRTYPE: "a directory",
    tarfile.FIFOTYPE: "a pipe",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
}


@dataclass(frozen=True)
class Entry:
    """One file of an archive."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What an archive holds.

    Attributes:
        name: the study; the archive's directory is named after it.
        about: further facts, JSON-able.
        entries: its files in order, without manifest and sums.
    """

    name: str
    about: Mapping[str, Any]
    entries: tuple[Entry, ...]

    @property
    def size(self) -> int:
        """Size of all files, uncompressed."""
        return sum(entry.size for entry in self.entries)

    def text(self) -> bytes:
        """MANIFEST.json: the same manifest gives the same bytes."""
        files = [asdict(entry) for entry in self.entries]
        content = {"format": FORMAT, "name": self.name, "about": self.about, "files": files}
        return (json.dumps(content, indent=1, sort_keys=True) + "\n").encode()

    def sums(self) -> bytes:
        """SHA256SUMS, as ``sha256sum -c`` reads it."""
        return "".join(f"{entry.sha256}  {entry.path}\n" for entry in self.entries).encode()


def read(archive: Path, staging: Path | None) -> Manifest:
    """Check an archive; with ``staging`` its files are written there, below their paths."""
    try:
        with _decompressed(archive) as whole:
            metered = _Metered(archive, whole)
            with tarfile.open(fileobj=cast(IO[bytes], metered), mode="r|") as tar:
                manifest = _checked(archive, tar, metered, staging)
                end = tar.offset
            _check_end(archive, metered.after(end) + whole.read(_BLOCK))
    except EOFError:
        raise AnalysisError("the archive is damaged or cut: its end is missing", file=archive) from None
    except _DAMAGE as error:
        raise AnalysisError(f"the archive is damaged: {error}", file=archive) from None
    except OSError as error:
        raise AnalysisError(f"cannot read the archive: {error.strerror or error}", file=archive) from None
    return manifest


def _check_end(archive: Path, rest: bytes) -> None:
    """Two blocks of zeros end a tar file, more of them fill its last record, and nothing follows."""
    if rest.strip(b"\0") or len(rest) >= _BLOCK:
        raise AnalysisError("the archive goes on after its end", file=archive)
    if len(rest) < 2 * tarfile.BLOCKSIZE:
        raise EOFError


class _Metered:
    """An archive's bytes, of which no more are read than its files and a header of a megabyte for each take.

    A header (of a long name, of a file with holes) says its own length, and ``tarfile`` reads all of it into
    memory: four gigabytes of zeros are 130 kB in an archive.
    """

    def __init__(self, archive: Path, stream: IO[bytes]) -> None:
        self._archive, self._stream = archive, stream
        self._allowed = _BLOCK
        self._place = 0
        self._last = b""

    def allow(self, size: int) -> None:
        """A file of this size comes now, and the header of the next one."""
        self._allowed = size + _BLOCK

    def read(self, size: int) -> bytes:
        content = self._stream.read(size)
        self._allowed -= len(content)
        if self._allowed < 0:
            raise AnalysisError("the archive has a header of more than a megabyte", file=self._archive)
        self._place += len(content)
        self._last = (self._last + content)[-2 * tarfile.RECORDSIZE :]
        return content

    def after(self, place: int) -> bytes:
        """What has been read behind a place in the last record."""
        return self._last[max(0, len(self._last) - (self._place - place)) :]


def _checked(archive: Path, tar: tarfile.TarFile, metered: _Metered, staging: Path | None) -> Manifest:
    manifest: Manifest | None = None
    waiting: dict[str, Entry] = {}
    sums = b""
    for member in tar:
        top, _, path = member.name.partition("/")
        plain = member.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and member.sparse is None
        if not plain or unsafe(path) or (manifest is not None and top != manifest.name):
            kind = _KINDS.get(member.type, "a path or a kind of file")
            kind = kind if member.sparse is None else "a file with holes (sparse)"
            message = f"the archive holds {kind}, which archives of studies never hold"
            raise AnalysisError(message, file=archive, value=member.name)
        stream = tar.extractfile(member)
        assert stream is not None
        metered.allow(member.size)
        if manifest is None:
            manifest = _manifest(archive, top, path, stream, member.size)
            _check_space(archive, manifest, staging)
            waiting = {entry.path: entry for entry in manifest.entries}
            _keep(staging, MANIFEST, io.BytesIO(manifest.text()), member.mode)
            continue
        if path == SUMS and not sums and member.size <= _LONGEST_TEXT:
            sums = stream.read()
            _keep(staging, SUMS, io.BytesIO(sums), member.mode)
            continue
        entry = waiting.pop(path, None)
        if entry is None:
            twice = path in (MANIFEST, SUMS, *(entry.path for entry in manifest.entries))
            why = "twice" if twice else "that its manifest does not name"
            raise AnalysisError(f"the archive holds a file {why}", file=archive, value=path)
        if member.size != entry.size or _keep(staging, path, stream, member.mode) != entry.sha256:
            raise AnalysisError("the checksum of a file in the archive is wrong", file=archive, value=path)
    if manifest is None:
        raise AnalysisError("this is not an archive of a study: it has no manifest", file=archive)
    if waiting or sums != manifest.sums():
        raise AnalysisError("the archive lacks a file", file=archive, value=next(iter(waiting), SUMS))
    return manifest


def _check_space(archive: Path, manifest: Manifest, staging: Path | None) -> None:
    """Refuse what the disk cannot hold, before anything is written."""
    if staging is not None and manifest.size > (free := shutil.disk_usage(staging).free):
        message = f"the archive's files take {manifest.size:,} bytes, and {free:,} are free there"
        raise AnalysisError(message, file=archive, remedy="make room, or unpack it on another disk")


def _manifest(archive: Path, top: str, path: str, stream: IO[bytes], size: int) -> Manifest:
    try:
        if path != MANIFEST or size > _LONGEST_TEXT:
            raise ValueError(path)
        content = json.loads(stream.read())
        entries = tuple(Entry(str(f["path"]), int(f["size"]), str(f["sha256"])) for f in content["files"])
        manifest = Manifest(str(content["name"]), dict(content["about"]), entries)
        if content["format"] != FORMAT or manifest.name != top or not 0 <= manifest.size <= MOST_BYTES:
            raise ValueError(content["format"])
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        message = "this is not an archive of a study: its manifest cannot be read"
        raise AnalysisError(message, file=archive) from None
    if any(entry.size < 0 for entry in entries):
        raise AnalysisError("the archive's manifest names an impossible size", file=archive)
    bad = [entry.path for entry in entries if unsafe(entry.path)]
    if bad or len({entry.path for entry in entries}) != len(entries):
        message = "the archive's manifest names impossible paths"
        raise AnalysisError(message, file=archive, value=(bad or [""])[0])
    return manifest


def _keep(staging: Path | None, path: str, stream: IO[bytes], mode: int) -> str:
    """Hash a file of the archive and, with ``staging``, write it there."""
    digest = hashlib.sha256()
    with contextlib.ExitStack() as stack:
        out = None
        if staging is not None:
            place = staging / path
            place.parent.mkdir(parents=True, exist_ok=True)
            out = stack.enter_context(place.open("xb"))
        while block := stream.read(_BLOCK):
            digest.update(block)
            if out is not None:
                out.write(block)
    if staging is not None:
        (staging / path).chmod(0o755 if mode & 0o100 else 0o644)
        os.utime(staging / path, (TIME, TIME))
    return digest.hexdigest()


@contextlib.contextmanager
def _decompressed(path: Path) -> Iterator[IO[bytes]]:
    with path.open("rb") as raw:
        zipped = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        if zipped:
            with gzip.GzipFile(fileobj=raw, mode="rb") as stream:
                yield cast(IO[bytes], stream)
        else:
            _check_frames(raw)
            raw.seek(0)
            decompressor = zstandard.ZstdDecompressor(max_window_size=1 << 27)
            with decompressor.stream_reader(raw, read_across_frames=True) as stream:
                yield stream


def _check_frames(raw: IO[bytes]) -> None:
    """Go through a zstd file block by block without unpacking it: python-zstandard accepts a cut frame.

    Source: RFC 8878, section 3.1.1.

    Raises:
        EOFError: the last frame is cut.
        ZstdError: what follows a frame is none.
    """
    size, place = os.fstat(raw.fileno()).st_size, 0
    while place < size:
        raw.seek(place)
        head = raw.read(18)
        try:
            facts, place = zstandard.get_frame_parameters(head), place + zstandard.frame_header_size(head)
        except zstandard.ZstdError:
            if len(head) < 18:
                raise EOFError from None
            raise
        last = False
        while not last:
            raw.seek(place)
            block = int.from_bytes(raw.read(3), "little")
            last = bool(block & 1) or place + 3 > size
            place += 3 + (1 if block >> 1 & 3 == _RUN_LENGTH else block >> 3)
        place += 4 * facts.has_checksum
        if place > size:
            raise EOFError


def unsafe(path: str) -> bool:
    """Whether no archive has this path.

    It is empty, too long, absolute, leads upwards, is not in its plain form, has control characters, or lies
    in a directory whose files git or Snakemake act on.
    """
    parts = PurePosixPath(path).parts
    plain = "/".join(parts) == path
    control = any(unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp") for letter in path)
    acted_on = any(part.casefold() in (".git", ".snakemake") for part in parts)
    upwards = path.startswith("/") or ".." in parts or "\\" in path
    short = all(len(part.encode(errors="replace")) <= 255 for part in parts)
    return not (0 < len(path) <= LONGEST_PATH and short) or not plain or upwards or control or acted_on
