"""MIOpen's databases: whole or absent, read back, readable by others."""

from __future__ import annotations

import bz2
import contextlib
import hashlib
import sqlite3
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apuflow.core.errors import ApuflowError, EngineError
from apuflow.miopen import Row
from apuflow.miopen.database import (
    BrokenDatabase,
    build_database,
    database_directory,
    db_name,
    key,
    lacking,
    read_database,
    rows_identity,
)


def entries(tmp_path: Path, blobs: dict[str, bytes]) -> dict[tuple[str, str], Path]:
    found = {}
    for number, (arguments, blob) in enumerate(blobs.items()):
        path = tmp_path / f"{number}.o"
        path.write_bytes(blob)
        found[key(Row("Scale.cl", arguments), "gfx801")] = path
    return found


ODD = {" -DA=1": b"one" * 1000, ' -DB="x,y"': bytes(range(256)), "": b"\0"}


def test_a_database_has_miopens_schema_and_encoding(tmp_path: Path) -> None:
    path = tmp_path / "db" / "gfx801_4.ukdb"
    build_database(path, entries(tmp_path, ODD))
    with contextlib.closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT kernel_name, kernel_args, kernel_blob, kernel_hash, uncompressed_size FROM kern_db"
        ).fetchall()
        columns = [tuple(row[1:4]) for row in connection.execute("PRAGMA table_info(kern_db)")]
        indices = list(connection.execute("PRAGMA index_list(kern_db)"))
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute(
                "INSERT INTO kern_db (kernel_name, kernel_args, kernel_blob, kernel_hash, uncompressed_size)"
                " VALUES (?, ?, ?, ?, ?)",
                rows[0],
            )
    assert columns == [
        ("id", "INTEGER", 0),
        ("kernel_name", "TEXT", 1),
        ("kernel_args", "TEXT", 1),
        ("kernel_blob", "BLOB", 1),
        ("kernel_hash", "TEXT", 1),
        ("uncompressed_size", "INT", 1),
    ]
    assert [(index[1], index[2]) for index in indices] == [("idx_kern_db", 1)]
    for (name, arguments, blob, digest, size), (plain, data) in zip(rows, ODD.items(), strict=True):
        assert (name, arguments) == ("Scale.cl.o", f" {plain.strip()} -mcpu=gfx801".replace("  ", " "))
        assert (bz2.decompress(blob), digest, size) == (data, hashlib.md5(data).hexdigest(), len(data))
    assert not list(path.parent.glob(".*"))


def test_what_is_written_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "a.ukdb"
    build_database(path, entries(tmp_path, ODD))
    found = read_database(path)
    assert [(entry.row.arguments, entry.gfx, entry.blob) for entry in found] == [
        (arguments, "gfx801", blob) for arguments, blob in ODD.items()
    ]
    wanted = [Row("Scale.cl", " -DA=1"), Row("Scale.cl", " -DA=2")]
    assert lacking(found, wanted, "gfx801") == (wanted[1],)
    assert lacking(found, wanted, "gfx803") == tuple(wanted)


def upstream_made(path: Path, blob: bytes, size: int | None = None) -> None:
    """A database as DNNMark's generate_cachefiles.py writes it (its statements, from the outside)."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS kern_db (id INTEGER PRIMARY KEY ASC, kernel_name TEXT NOT NULL,"
            " kernel_args TEXT NOT NULL, kernel_blob BLOB NOT NULL, kernel_hash TEXT NOT NULL,"
            " uncompressed_size INT NOT NULL);"
        )
        connection.execute(
            "INSERT OR IGNORE INTO kern_db (kernel_name, kernel_args, kernel_blob, kernel_hash,"
            " uncompressed_size) VALUES (?, ?, ?, ?, ?)",
            (
                "MIOpenSoftmax.cl.o",
                " -DNUM_BATCH=1 -mcpu=gfx801",
                blob,
                hashlib.md5(b"object").hexdigest(),
                6 if size is None else size,
            ),
        )
        connection.commit()


def test_databases_made_elsewhere_are_read(tmp_path: Path) -> None:
    upstream_made(tmp_path / "bz2.ukdb", bz2.compress(b"object"))
    upstream_made(tmp_path / "plain.ukdb", b"object", 0)
    for name in ("bz2.ukdb", "plain.ukdb"):
        (entry,) = read_database(tmp_path / name)
        assert (entry.row, entry.blob) == (Row("MIOpenSoftmax.cl", " -DNUM_BATCH=1"), b"object")


@pytest.mark.parametrize(
    ("blob", "size", "reason"),
    [
        (bz2.compress(b"another"), 7, "does not match its hash"),
        (bz2.compress(b"object")[:-5], None, "does not decompress"),
        (bz2.compress(b"object"), 9, "6 bytes instead of 9"),
        (b"not bzip2", None, "does not decompress"),
    ],
)
def test_entries_that_miopen_would_reject_are_named(
    tmp_path: Path, blob: bytes, size: int | None, reason: str
) -> None:
    path = tmp_path / "bad.ukdb"
    upstream_made(path, blob, size)
    with pytest.raises(BrokenDatabase, match=reason) as caught:
        read_database(path)
    assert (caught.value.key, caught.value.file) == ("MIOpenSoftmax.cl.o", str(path))


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    good = tmp_path / "good.ukdb"
    build_database(
        good, entries(tmp_path, {f" -DN={number}": bytes([number]) * 5000 for number in range(50)})
    )
    (tmp_path / "truncated").write_bytes(good.read_bytes()[: good.stat().st_size // 2])
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "text").write_text("kernel_name,kernel_args\n" * 100)
    with contextlib.closing(sqlite3.connect(tmp_path / "schema")) as connection:
        connection.execute("CREATE TABLE perf_db (id INTEGER, solver TEXT)")
    for name, reason in (
        ("truncated", "cannot read"),
        ("empty", "empty file"),
        ("text", "not a database"),
        ("schema", "no table kern_db"),
        ("absent", "no such database"),
    ):
        with pytest.raises(BrokenDatabase, match=reason) as caught:
            read_database(tmp_path / name)
        assert caught.value.remedy
    assert not (tmp_path / "absent").exists()


def test_a_database_locked_by_a_writer_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.ukdb"
    build_database(path, entries(tmp_path, ODD))
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        with pytest.raises(BrokenDatabase, match="locked") as caught:
            read_database(path, patience=0.05)
        connection.execute("ROLLBACK")
    assert caught.value.remedy is not None and "wait" in caught.value.remedy
    assert len(read_database(path)) == 3


def test_a_database_that_cannot_be_written_keeps_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.ukdb"
    build_database(path, entries(tmp_path, ODD))
    before = path.read_bytes()
    with pytest.raises(EngineError, match="cannot build"):
        build_database(path, {("Scale.cl.o", " -mcpu=gfx801"): tmp_path / "absent.o"})
    assert path.read_bytes() == before
    (tmp_path / "file").write_text("")
    with pytest.raises(EngineError, match="cannot build"):
        build_database(tmp_path / "file" / "a.ukdb", entries(tmp_path, ODD))


def test_two_builders_at_once_leave_one_sound_database(tmp_path: Path) -> None:
    path = tmp_path / "out" / "a.ukdb"
    objects = entries(tmp_path, ODD)
    failures: list[BaseException] = []

    def build() -> None:
        try:
            for _ in range(5):
                build_database(path, objects)
                read_database(path)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=build) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(read_database(path)) == 3
    assert [item.name for item in path.parent.iterdir()] == ["a.ukdb"]


def test_the_same_objects_give_the_same_bytes(tmp_path: Path) -> None:
    objects = entries(tmp_path, ODD)
    build_database(tmp_path / "a.ukdb", objects)
    build_database(tmp_path / "b.ukdb", objects)
    assert (tmp_path / "a.ukdb").read_bytes() == (tmp_path / "b.ukdb").read_bytes()


@given(st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damage_to_a_database_is_reported_cleanly(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    directory = tmp_path_factory.mktemp("fuzz")
    path = directory / "a.ukdb"
    build_database(path, entries(directory, ODD))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 20))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(content[: data.draw(st.integers(0, len(content)))]))
    try:
        found = read_database(path, patience=0.05)
    except ApuflowError as error:
        assert error.file == str(path) and error.remedy
    else:
        assert all(isinstance(entry.blob, bytes) for entry in found)


def test_a_databases_identity_is_its_content() -> None:
    one, two = (("a.cl.o", " -DX=1"), "a-1"), (("a.cl.o", " -DX=2"), "a-2")
    assert rows_identity([one, two]) == rows_identity([two, one])
    assert rows_identity([one]) != rows_identity([one, two])
    assert rows_identity([one]) != rows_identity([(one[0], "a-3")])


@pytest.mark.parametrize(
    ("gfx", "num_cus", "name"),
    [
        ("gfx801", 1, "gfx801_1.ukdb"),
        ("gfx801", 64, "gfx801_64.ukdb"),
        ("gfx801", 65, "gfx80141.ukdb"),
        ("gfx801", 80, "gfx80150.ukdb"),
        ("gfx803", 120, "gfx80378.ukdb"),
    ],
)
def test_the_database_is_named_as_miopen_opens_it(gfx: str, num_cus: int, name: str) -> None:
    assert db_name(gfx, num_cus) == name


@pytest.mark.parametrize(
    ("home", "directory"),
    [
        ("/root", "/root/.cache/miopen/2.9.0.8252-rocm-rel-4.0-26-64506314"),
        ("/", "/tmp/.cache/miopen/2.9.0.8252-rocm-rel-4.0-26-64506314"),
        ("", "/tmp/.cache/miopen/2.9.0.8252-rocm-rel-4.0-26-64506314"),
        (None, "/tmp/.cache/miopen/2.9.0.8252-rocm-rel-4.0-26-64506314"),
    ],
)
def test_the_database_lies_where_miopen_looks(home: str | None, directory: str) -> None:
    for cache in (".cache/miopen", "{home}/.cache/miopen"):
        version = "2.9.0.8252-rocm-rel-4.0-26-64506314"
        assert str(database_directory(version, cache, home)) == directory
