"""MIOpen's kernel database (``.ukdb``): write, read and compare it; where MIOpen looks for it.

Source: MIOpen ``src/include/miopen/kern_db.hpp`` (schema, hash, compression), ``src/bz2.cpp``; for place
and name ``src/binary_cache.cpp`` (``GetCachePath``), ``src/include/miopen/handle.hpp`` (``GetDbBasename``),
``src/include/miopen/device_name.hpp``, ``src/expanduser.cpp``.
"""

from __future__ import annotations

import bz2
import contextlib
import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from apuflow.core.errors import ApuflowError, ConfigError, EngineError
from apuflow.core.files import atomic_write
from apuflow.core.gpus import gpu
from apuflow.miopen.compiler import digest
from apuflow.miopen.launch import Row

SCHEMA: Final = (
    "CREATE TABLE kern_db (id INTEGER PRIMARY KEY ASC, kernel_name TEXT NOT NULL, kernel_args TEXT NOT NULL,"
    " kernel_blob BLOB NOT NULL, kernel_hash TEXT NOT NULL, uncompressed_size INT NOT NULL);",
    "CREATE UNIQUE INDEX idx_kern_db ON kern_db (kernel_name, kernel_args);",
)
COLUMNS: Final = ("kernel_name", "kernel_args", "kernel_blob", "kernel_hash", "uncompressed_size")
_INSERT: Final = f"INSERT INTO kern_db ({', '.join(COLUMNS)}) VALUES (?, ?, ?, ?, ?)"
_SELECT: Final = f"SELECT {', '.join(COLUMNS)} FROM kern_db ORDER BY id"
REBUILD: Final = "if it is a MIOpen database, it is damaged: build it again; else name another file"


class BrokenDatabase(ConfigError):
    """A file that is not a sound kernel database."""


@dataclass(frozen=True)
class Entry:
    """One row of a database.

    Attributes:
        name: program file and ``.o``.
        arguments: compile arguments with ``-mcpu``.
        blob: the object, uncompressed.
        compressed_size: bytes in the database.
    """

    name: str
    arguments: str
    blob: bytes
    compressed_size: int

    @property
    def row(self) -> Row:
        """Program and arguments without ``-mcpu``."""
        return Row(self.name.removesuffix(".o"), self.arguments.rpartition(" -mcpu=")[0])

    @property
    def gfx(self) -> str:
        """The GPU that it was compiled for."""
        return self.arguments.rpartition("-mcpu=")[2]


def key(row: Row, gfx: str) -> tuple[str, str]:
    """``kernel_name`` and ``kernel_args`` that MIOpen looks up for a row on a GPU architecture."""
    words = (row.arguments.strip(), f"-mcpu={gpu(gfx).miopen_name}")
    return f"{row.program}.o", "".join(f" {word}" for word in words if word)


def rows_identity(objects: Iterable[tuple[tuple[str, str], str]]) -> str:
    """Hash of a database's content: of each key and its object's name, in any order."""
    return digest(*sorted(f"{name}\n{arguments}\n{item}" for (name, arguments), item in objects))


def build_database(path: str | Path, objects: Mapping[tuple[str, str], Path]) -> None:
    """Write a database of kernel objects, read it back, and rename it to ``path``.

    Args:
        path: the database; its name decides whether MIOpen finds it (``db_name``).
        objects: by key (``key``), the object file.

    Raises:
        EngineError: an object is missing, or the database cannot be written or reads back differently.
    """
    try:
        blobs = {name: objects[name].read_bytes() for name in objects}
        with atomic_write(path) as part:
            part.unlink()
            with contextlib.closing(sqlite3.connect(part, isolation_level=None)) as connection:
                connection.execute("PRAGMA journal_mode = OFF")
                connection.execute("BEGIN")
                for statement in SCHEMA:
                    connection.execute(statement)
                rows = ((*name, bz2.compress(blob, 9), _md5(blob), len(blob)) for name, blob in blobs.items())
                connection.executemany(_INSERT, rows)
                connection.execute("COMMIT")
            _verify(part, blobs)
    except OSError as error:
        raise EngineError(
            f"cannot build the kernel database: {error.strerror}",
            file=error.filename or path,
            remedy="the objects must be there, and the directory writable with room on its disk",
        ) from None
    except sqlite3.Error as error:
        raise EngineError(
            f"cannot build the kernel database: {error}", file=path, remedy="check that the disk has room"
        ) from None


def _md5(blob: bytes) -> str:
    return hashlib.md5(blob, usedforsecurity=False).hexdigest()


def _verify(path: Path, blobs: Mapping[tuple[str, str], bytes]) -> None:
    stored = {(entry.name, entry.arguments): entry.blob for entry in read_database(path)}
    if stored != blobs:
        raise EngineError(
            "the kernel database reads back differently",
            file=path,
            remedy="check the disk for errors, then build it again",
        )


def read_database(path: str | Path, *, patience: float = 5.0) -> tuple[Entry, ...]:
    """Read all entries of a database; check hash, size and compression.

    Args:
        patience: seconds to wait while another process writes.

    Raises:
        BrokenDatabase: the database is missing, truncated, locked or of another schema, or has an entry that
        MIOpen would reject.
    """
    file = Path(path)
    with _errors(file), contextlib.closing(_open(file, patience)) as connection:
        columns = {str(row[1]) for row in connection.execute("PRAGMA table_info(kern_db)")}
        if not columns.issuperset(COLUMNS):
            tables = [str(row[0]) for row in connection.execute("SELECT name FROM sqlite_master")]
            raise BrokenDatabase(
                "not a MIOpen kernel database: no table kern_db with its columns",
                file=file,
                value=", ".join(tables) or "no tables",
                remedy="name a .ukdb or .kdb file of MIOpen 2.x",
            )
        return tuple(_entry(file, *row) for row in connection.execute(_SELECT))


def _open(file: Path, patience: float) -> sqlite3.Connection:
    if not file.is_file():
        raise BrokenDatabase("no such database", file=file, remedy="build it, or correct the path")
    if file.stat().st_size == 0:
        raise BrokenDatabase("an empty file, not a database", file=file, remedy=REBUILD)
    return sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True, timeout=patience)


@contextlib.contextmanager
def _errors(file: Path) -> Iterator[None]:
    try:
        yield
    except ApuflowError:
        raise
    except sqlite3.OperationalError as error:
        locked = "locked" in str(error)
        raise BrokenDatabase(
            f"cannot read the database: {error}",
            file=file,
            remedy="another process writes it: wait for it to end" if locked else REBUILD,
        ) from None
    except (sqlite3.Error, OSError, OverflowError, ValueError) as error:
        raise BrokenDatabase(f"cannot read the database: {error}", file=file, remedy=REBUILD) from None


def _entry(file: Path, name: object, arguments: object, blob: object, digest_: object, size: object) -> Entry:
    if not (
        isinstance(name, str)
        and isinstance(arguments, str)
        and isinstance(blob, bytes)
        and isinstance(digest_, str)
        and isinstance(size, int)
    ):
        raise BrokenDatabase("an entry of unexpected types", file=file, value=name, remedy=REBUILD)
    try:
        data = bz2.decompress(blob) if size else blob
    except (OSError, ValueError, EOFError) as error:
        reason = f"does not decompress ({error})"
    else:
        if size not in (0, len(data)):
            reason = f"has {len(data)} bytes instead of {size}"
        elif _md5(data) != digest_:
            reason = "does not match its hash"
        else:
            return Entry(name, arguments, data, len(blob))
    raise BrokenDatabase(
        f"the kernel object of an entry {reason}: MIOpen would refuse it",
        file=file,
        key=name,
        value=arguments,
        remedy=REBUILD,
    )


def lacking(entries: Iterable[Entry], rows: Iterable[Row], gfx: str) -> tuple[Row, ...]:
    """Rows that a database lacks for a GPU architecture."""
    present = {(entry.name, entry.arguments) for entry in entries}
    return tuple(row for row in rows if key(row, gfx) not in present)


def db_name(gfx: str, compute_units: int) -> str:
    """File name of the user's database, such as ``gfx801_4.ukdb``.

    Above 64 compute units the number is hexadecimal without underscore: ``gfx80150.ukdb`` for 80.
    """
    number = f"_{compute_units}" if compute_units <= 64 else f"{compute_units:x}"
    return f"{gpu(gfx).miopen_name}{number}.ukdb"


@dataclass(frozen=True)
class DatabaseLocation:
    """Where a release's MIOpen looks for databases; the values come from the release's file.

    Attributes:
        version_directory: MIOpen's full version, which names the database's directory.
        cache_directory: the cache, below the guest's HOME (or with ``{home}``).
    """

    version_directory: str
    cache_directory: str = ".cache/miopen"

    def directory(self, home: str | None) -> PurePosixPath:
        """The database's directory for the guest's HOME; below /tmp if that is unset, empty or "/"."""
        base = home if home and home.rstrip("/") else "/tmp"
        below = self.cache_directory.removeprefix("{home}").strip("/")
        return PurePosixPath(base) / below / self.version_directory

    def file(self, home: str | None, gfx: str, compute_units: int) -> PurePosixPath:
        """The database that MIOpen opens first."""
        return self.directory(home) / db_name(gfx, compute_units)
