"""Write files atomically."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
_SETTLED = 2.0
"""Seconds after which a change of a file shows in its time stamp on all file systems."""


class Remembered(Generic[T]):
    """Cache of values made from files and directories, until these change. Do not modify the values."""

    def __init__(self, make: Callable[[Path], T]) -> None:
        self._make = make
        self._known: dict[str, tuple[tuple[int, ...], T]] = {}

    def __call__(self, path: Path) -> T:
        """The value of this path."""
        name = str(path.absolute())
        try:
            facts = path.stat()
        except OSError:
            return self._make(path)
        stamp = facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size, facts.st_ino
        known = self._known.get(name)
        if known is not None and known[0] == stamp:
            return known[1]
        made = self._make(path)
        if time.time() - max(facts.st_mtime, facts.st_ctime) > _SETTLED:
            self._known[name] = stamp, made
        return made


@contextlib.contextmanager
def atomic_write(path: str | Path, *, flush: bool = True) -> Iterator[Path]:
    """Yield a path next to ``path`` to write to; on success flush it to disk and rename it to ``path``.

    On an exception the partial file is removed and ``path`` keeps its content.
    ``flush=False`` is for large files that can be made again and are checked before use.
    """
    target = Path(path)
    part = _part_of(target)
    try:
        yield part
        _finish(part, flush)
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_files(contents: Mapping[str | Path, bytes]) -> None:
    """Write all contents next to their targets, flush, then rename. If one fails, no target changes."""
    parts: dict[Path, Path] = {}
    try:
        for name, content in contents.items():
            target = Path(name)
            parts[target] = _part_of(target)
            parts[target].write_bytes(content)
            _finish(parts[target], flush=True)
        for target, part in parts.items():
            part.replace(target)
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)


def _part_of(target: Path) -> Path:
    """A new empty file next to ``target``, whose directory is created if missing."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    os.close(handle)
    return Path(name)


def _finish(part: Path, flush: bool) -> None:
    """Flush a written file to disk and give it the default mode."""
    if flush:
        with part.open("rb+") as written:
            os.fsync(written.fileno())
    umask = os.umask(0)
    os.umask(umask)
    part.chmod(0o666 & ~umask)


@contextlib.contextmanager
def file_lock(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold ``path`` as a lock; False if the file system has no locks (some network file systems).

    The kernel frees it when its holder ends; the file stays. Package filelock replaces a missing flock by a
    lock file that outlives a killed holder, and takes time to load.

    Raises:
        BlockingIOError: another process holds it, and ``wait`` is false.
        OSError: the file cannot be opened or created.
    """
    handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
    locked = True
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:
            locked = False
        yield locked
    finally:
        os.close(handle)


@contextlib.contextmanager
def make_directory_once(place: Path) -> Iterator[Path | None]:
    """Yield a new directory that becomes ``place`` unless an exception comes; None if ``place`` exists."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with file_lock(place.with_name(f".{place.name}.lock")):
        if place.exists():
            yield None
            return
        part = Path(tempfile.mkdtemp(prefix=f".{place.name}.", suffix=".part", dir=place.parent))
        try:
            yield part
            part.chmod(0o755)
            part.rename(place)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise


def write_text(path: str | Path, text: str) -> None:
    """Write ``text`` to ``path`` atomically."""
    with atomic_write(path) as part:
        part.write_text(text, encoding="utf-8")


def wait_for_files(paths: Iterable[Path], seconds: float = 60.0) -> None:
    """Wait for files from another machine, which a network file system may show late.

    Listing a file's directory makes the file system ask its server. Files may be missing afterwards.
    """
    deadline = time.monotonic() + seconds
    for path in paths:
        while not path.exists() and time.monotonic() < deadline:
            for directory in (path.parent.parent, path.parent):
                with contextlib.suppress(OSError), os.scandir(directory) as entries:
                    next(entries, None)
            if path.exists():
                break
            time.sleep(0.5)


def sha256_file(path: str | Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with Path(path).open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def remembered_sha256(path: Path, note: Path) -> str:
    """SHA-256 of a large file, computed again only if its inode, size or times changed.

    ``note`` is a file with the last result; it is ignored if it cannot be read or written.
    """
    state = path.stat()
    look = [str(path), state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns]
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        last = json.loads(note.read_text(encoding="utf-8"))
        if last["look"] == look:
            return str(last["sha256"])
    sha256 = sha256_file(path)
    with contextlib.suppress(OSError):
        write_text(note, json.dumps({"look": look, "sha256": sha256}))
    return sha256


def write_csv(path: Path | None, frame: pd.DataFrame) -> None:
    """Write a table without its index; nothing where no path is given."""
    if path is not None:
        write_text(path, frame.to_csv(index=False, lineterminator="\n"))
