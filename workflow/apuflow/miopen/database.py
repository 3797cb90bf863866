"""MIOpen's kernel database (``.ukdb``): plan, write and read it; where MIOpen looks for it.

Source: MIOpen ``src/include/miopen/kern_db.hpp`` (schema, hash, compression), ``src/bz2.cpp``; for place
and name ``src/binary_cache.cpp`` (``GetCachePath``), ``src/include/miopen/handle.hpp`` (``GetDbBasename``),
``src/include/miopen/device_name.hpp``, ``src/expanduser.cpp``.
"""

from __future__ import annotations

import bz2
import contextlib
import hashlib
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from apuflow.core import paths
from apuflow.core.errors import ConfigError, EngineError
from apuflow.core.files import atomic_write
from apuflow.core.gpus import gpu
from apuflow.miopen.compiler import Compiler, Runner, digest, run_on_host
from apuflow.miopen.derive import distinct
from apuflow.miopen.launch import Row
from apuflow.miopen.objects import Built, KernelObject, build_objects, kernel_object, sources_identity

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


class Entry(NamedTuple):
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
            if {(entry.name, entry.arguments): entry.blob for entry in read_database(part)} != blobs:
                raise EngineError(
                    "the kernel database reads back differently",
                    file=part,
                    remedy="check the disk for errors, then build it again",
                )
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


def read_database(path: str | Path, *, patience: float = 5.0) -> tuple[Entry, ...]:
    """Read all entries of a database; check hash, size and compression.

    Args:
        patience: seconds to wait while another process writes.

    Raises:
        BrokenDatabase: the database is missing, truncated, locked or of another schema, or has an entry that
        MIOpen would reject.
    """
    file = Path(path)
    if not file.is_file():
        raise BrokenDatabase("no such database", file=file, remedy="build it, or correct the path")
    if file.stat().st_size == 0:
        raise BrokenDatabase("an empty file, not a database", file=file, remedy=REBUILD)
    try:
        uri = f"{file.resolve().as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=patience)) as connection:
            columns = {str(row[1]) for row in connection.execute("PRAGMA table_info(kern_db)")}
            if columns.issuperset(COLUMNS):
                return tuple(_entry(file, *row) for row in connection.execute(_SELECT))
            tables = [str(row[0]) for row in connection.execute("SELECT name FROM sqlite_master")]
    except (sqlite3.Error, OSError, OverflowError, ValueError) as error:
        locked = isinstance(error, sqlite3.OperationalError) and "locked" in str(error)
        raise BrokenDatabase(
            f"cannot read the database: {error}",
            file=file,
            remedy="another process writes it: wait for it to end" if locked else REBUILD,
        ) from None
    raise BrokenDatabase(
        "not a MIOpen kernel database: no table kern_db with its columns",
        file=file,
        value=", ".join(tables) or "no tables",
        remedy="name a .ukdb or .kdb file of MIOpen 2.x",
    )


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


def database_directory(version: str, cache: str, home: str | None) -> PurePosixPath:
    """Where a release's MIOpen looks for databases.

    Args:
        version: MIOpen's full version, which names the directory.
        cache: the cache, below the guest's HOME (or with ``{home}``).
        home: the guest's HOME; /tmp takes its place if it is unset, empty or "/".
    """
    base = home if home and home.rstrip("/") else "/tmp"
    return PurePosixPath(base) / cache.removeprefix("{home}").strip("/") / version


@dataclass(frozen=True)
class DatabasePlan:
    """A planned database. Its path depends on its objects, so that sweeps with the same rows share it.

    Attributes:
        release: name of the release whose MIOpen reads it.
        gfx, compute_units: part of the file's name.
        objects: its content.
    """

    release: str
    gfx: str
    compute_units: int
    objects: tuple[KernelObject, ...]

    @cached_property
    def identity(self) -> str:
        """16 hexadecimal digits over keys and objects."""
        return rows_identity((key(item.row, self.gfx), item.name) for item in self.objects)

    @property
    def path(self) -> str:
        """Relative to the project's directory."""
        return paths.kernel_database(self.release, self.identity, db_name(self.gfx, self.compute_units))


def plan_database(
    rows: Iterable[Row],
    gfx: str,
    compute_units: int,
    *,
    release: str,
    compiler: str,
    sources: str | Path,
) -> DatabasePlan:
    """The database of a set of rows.

    Args:
        compiler: the compiler's identity (``Compiler.identity``).
        sources: MIOpen's sources: a commit, or the directory ``src/kernels``, whose content counts.
    """

    def identity(program: str) -> str:
        return sources if isinstance(sources, str) else sources_identity(sources, program)

    objects = tuple(kernel_object(row, gfx, compiler, identity(row.program)) for row in distinct(rows))
    return DatabasePlan(release, gfx, compute_units, objects)


def prepare_databases(
    plans: Iterable[DatabasePlan],
    compiler: Compiler,
    kernels: Path,
    *,
    root: Path = Path(),
    jobs: int = 1,
    run: Runner = run_on_host,
    place: Callable[[DatabasePlan], Path] | None = None,
) -> Built:
    """Compile the distinct objects of all plans, ``jobs`` at a time, then write missing databases.

    Args:
        place: returns another path for a plan's database; an existing file is replaced.

    Raises:
        EngineError: objects failed; the message names each with its layer. The others stay compiled.
    """
    wanted = list(plans)
    objects = (item for plan in wanted for item in plan.objects)
    built = build_objects(objects, compiler, kernels, root=root, jobs=jobs, run=run)
    built.check()
    written: dict[str, Path] = {}
    for plan in wanted:
        target = place(plan) if place else root / plan.path
        if place or not _is_sound(target):
            if plan.identity in written:
                with atomic_write(target) as part:
                    shutil.copyfile(written[plan.identity], part)
            else:
                build_database(target, {key(item.row, plan.gfx): item.path(root) for item in plan.objects})
        written[plan.identity] = target
    return built


def _is_sound(path: Path) -> bool:
    try:
        read_database(path)
    except BrokenDatabase:
        return False
    return True
