"""Archives of a study: equal files give equal bytes, each has its checksum, nothing escapes on unpacking."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

import zstandard

from apuflow.core.errors import AnalysisError
from apuflow.core.files import atomic_write, sha256_file
from apuflow_analysis.archive.format import MANIFEST, SUMS, TIME, Entry, Manifest, read, unsafe

SUFFIXES = (".tar.zst", ".tar.gz")
_LEVEL = 12
_BLOCK = 1 << 20
_ELSEWHERE = "unpack into a new directory"


def write(
    archive: str | Path, name: str, files: Mapping[str, Path | bytes], about: Mapping[str, Any]
) -> Manifest:
    """Write an archive beside its place, read it back with all checksums, and put it there.

    Args:
        archive: path that ends in ``.tar.zst`` or ``.tar.gz``.
        files: path inside the archive (``/`` between parts) to the file or its content.
        about: facts for the manifest.

    Raises:
        AnalysisError: a file cannot be read, or a name or the archive's suffix is not usable.
    """
    target = Path(archive)
    if not target.name.endswith(SUFFIXES):
        message = "the name of an archive must end in .tar.zst or .tar.gz"
        remedy = "choose such a name, as in archives/study.tar.zst"
        raise AnalysisError(message, file=target, remedy=remedy)
    entries = tuple(_entry(path, files[path]) for path in sorted(files))
    manifest = Manifest(name, about, entries)
    try:
        with atomic_write(target) as part:
            with (
                _compressed(part, zstd=target.name.endswith(".tar.zst")) as stream,
                tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as tar,
            ):
                _add(tar, name, MANIFEST, manifest.text())
                _add(tar, name, SUMS, manifest.sums())
                for entry in entries:
                    _add(tar, name, entry.path, files[entry.path])
            verify(part)
    except OSError as error:
        raise AnalysisError(f"cannot write the archive: {error.strerror or error}", file=target) from None
    return manifest


def verify(archive: str | Path) -> Manifest:
    """Read a whole archive and compare every file with its checksum.

    Raises:
        AnalysisError: it is damaged or cut, a file is missing, changed, extra or of another kind, or a path
            leads out of it; the file is named.
    """
    return read(Path(archive), None)


def unpack(archive: str | Path, directory: str | Path) -> Manifest:
    """Unpack an archive after all of it proved whole; nothing is written when anything is wrong.

    Files that are there with the same content stay. Nothing is written through a symbolic link.

    Raises:
        AnalysisError: as ``verify``, or something else is where a file of the archive belongs.
    """
    verify(archive)
    target = Path(directory)
    made = not target.exists()
    try:
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".unpack-", dir=target) as staging:
            manifest = read(Path(archive), Path(staging))
            new = [entry for entry in manifest.entries if _wanted(target, entry)]
            for path in [entry.path for entry in new] + [MANIFEST, SUMS]:
                place = target / path
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(Path(staging) / path, place)
    except OSError as error:
        message = f"cannot unpack: {error.strerror or error}"
        raise AnalysisError(message, file=error.filename or target) from None
    finally:
        if made and target.is_dir() and not any(target.iterdir()):
            target.rmdir()
    return manifest


def differences(manifest: Manifest, directory: str | Path, prefix: str = "") -> tuple[str, ...]:
    """Files of an archive below ``prefix`` that a directory lacks or has with another content."""
    own = (entry for entry in manifest.entries if entry.path.startswith(prefix))
    return tuple(one.path for one in own if _hash_of(Path(directory) / one.path) != one.sha256)


def _entry(path: str, source: Path | bytes) -> Entry:
    if unsafe(path) or path in (MANIFEST, SUMS):
        raise AnalysisError("a file cannot have this name in an archive", value=path)
    try:
        with _opened(source) as stream:
            digest = hashlib.sha256()
            while block := stream.read(_BLOCK):
                digest.update(block)
            return Entry(path, stream.tell(), digest.hexdigest())
    except OSError as error:
        message = f"cannot read a file for the archive: {error.strerror}"
        raise AnalysisError(message, file=error.filename) from None


def _add(tar: tarfile.TarFile, name: str, path: str, source: Path | bytes) -> None:
    info = tarfile.TarInfo(f"{name}/{path}")
    info.mtime = TIME
    info.mode = 0o755 if isinstance(source, Path) and os.access(source, os.X_OK) else 0o644
    with _opened(source) as stream:
        info.size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        tar.addfile(info, stream)


def _opened(source: Path | bytes) -> IO[bytes]:
    return io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")


@contextlib.contextmanager
def _compressed(path: Path, zstd: bool) -> Iterator[IO[bytes]]:
    with path.open("wb") as raw:
        if zstd:
            compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
            with compressor.stream_writer(raw, closefd=False) as out:
                yield out
        else:
            with gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=9, mtime=0) as out:
                yield cast(IO[bytes], out)


def _wanted(target: Path, entry: Entry) -> bool:
    """Whether a file must be written; refuses what is in the way."""
    place = target
    for part in PurePosixPath(entry.path).parts:
        place = place / part
        message = ""
        if place.is_symlink():
            message = "a symbolic link stands where a file of the archive belongs"
        elif place.exists() and place.is_dir() == (place == target / entry.path):
            message = (
                "a directory stands where a file of the archive belongs, or a file where a directory does"
            )
        if message:
            raise AnalysisError(message, file=place, remedy=_ELSEWHERE)
    if not place.exists():
        return True
    if _hash_of(place) == entry.sha256:
        return False
    message = "a file of this name with other content is there already"
    raise AnalysisError(message, file=place, remedy=f"{_ELSEWHERE}, or move the file away")


def _hash_of(path: Path) -> str | None:
    try:
        return sha256_file(path)
    except OSError:
        return None
