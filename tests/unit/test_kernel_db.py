"""Kernel objects and MIOpen's databases: compiled once, whole or absent, read back, readable by others."""

from __future__ import annotations

import bz2
import contextlib
import hashlib
import itertools
import shlex
import sqlite3
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.errors import ApuflowError, ConfigError, EngineError
from apuflow.gem5.guest_errors import missing_kernel
from apuflow.miopen import Row
from apuflow.miopen.codeobject import BrokenObject, read_code_object
from apuflow.miopen.compiler import Compiler, host_compiler, image_compiler
from apuflow.miopen.database import (
    BrokenDatabase,
    build_database,
    key,
    lacking,
    read_database,
    rows_identity,
)
from apuflow.miopen.extra import add_rows, make_row, project_rows, read_rows
from apuflow.miopen.location import DatabaseLocation, db_name
from apuflow.miopen.objects import (
    build_objects,
    compile_object,
    kernel_object,
    sources_identity,
    split_arguments,
)
from apuflow.miopen.prepare import directory_identity, plan_database, prepare_databases

KERNEL = """#include "scale.h"
__kernel void scale(__global float* x, float a) { x[get_global_id(0)] = SCALE(x[get_global_id(0)], a); }
"""
HEADER = "#define SCALE(v, a) ((v) * (a) + OFFSET)\n"


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    """A directory of OpenCL sources, as MIOpen's src/kernels is one."""
    directory = tmp_path / "kernels"
    directory.mkdir()
    (directory / "Scale.cl").write_text(KERNEL)
    (directory / "scale.h").write_text(HEADER)
    return directory


@pytest.fixture(scope="session")
def clang() -> Compiler:
    try:
        return host_compiler()
    except EngineError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def whole(clang: Compiler, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A real AMDGPU object for gfx801."""
    directory = tmp_path_factory.mktemp("whole")
    (directory / "Scale.cl").write_text(KERNEL)
    (directory / "scale.h").write_text(HEADER)
    out = directory / "scale.o"
    compile_object(Row("Scale.cl", " -DOFFSET=1"), "gfx801", clang, directory, out)
    return out.read_bytes()


def fake(tmp_path: Path, script: str) -> Compiler:
    """A compiler that is a few lines of Python; ``out`` is its output file."""
    program = tmp_path / "compiler.py"
    program.write_text(f"import pathlib, sys, os\nout = pathlib.Path(sys.argv[-1])\n{script}\n")
    return Compiler("fake", (sys.executable, str(program)), (), f"fake {script}")


def leftovers(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir() if path.name.startswith(".")]


# objects ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("gfx", ["gfx801", "gfx803"])
def test_a_kernel_compiles_to_an_object_for_its_gpu(
    kernels: Path, clang: Compiler, tmp_path: Path, gfx: str
) -> None:
    out = tmp_path / "made" / "scale.o"
    row = Row("Scale.cl", " -DOFFSET=2")
    found = compile_object(row, gfx, clang, kernels, out, expect=["scale"])
    assert (found.gfx, found.kernels) == (gfx, ("scale",))
    assert read_code_object(out.read_bytes()) == found
    assert out.with_suffix(".log").read_text() == ""
    assert leftovers(out.parent) == []


def test_messages_of_a_failing_compiler_are_kept_and_name_the_layer(
    kernels: Path, clang: Compiler, tmp_path: Path
) -> None:
    out = tmp_path / "bad.o"
    with pytest.raises(EngineError) as caught:
        compile_object(Row("Scale.cl", " -DOFFSET=oops", "conv1"), "gfx801", clang, kernels, out)
    assert "layer conv1" in caught.value.message
    assert "oops" in caught.value.message
    assert "undeclared identifier 'oops'" in out.with_suffix(".log").read_text()
    assert not out.exists()


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("out.write_bytes(WHOLE[:len(WHOLE) // 2]); os._exit(0)", "end at byte"),
        ("out.write_bytes(WHOLE[:700]); os._exit(139)", "exit status 139"),
        ("out.write_bytes(b'')", "shorter than an ELF header"),
        ("pass", "wrote no object"),
        ("out.write_bytes(pathlib.Path(sys.executable).read_bytes())", "instead of AMDGPU"),
    ],
)
def test_half_an_object_is_refused(
    kernels: Path, whole: bytes, tmp_path: Path, script: str, reason: str
) -> None:
    (tmp_path / "whole.o").write_bytes(whole)
    compiler = fake(tmp_path, f"WHOLE = pathlib.Path({str(tmp_path / 'whole.o')!r}).read_bytes()\n{script}")
    out = tmp_path / "scale.o"
    with pytest.raises(EngineError, match=reason):
        compile_object(Row("Scale.cl", ""), "gfx801", compiler, kernels, out)
    assert not out.exists()


def test_an_object_for_another_gpu_or_without_the_kernel_is_refused(
    kernels: Path, clang: Compiler, whole: bytes, tmp_path: Path
) -> None:
    (tmp_path / "whole.o").write_bytes(whole)
    compiler = fake(tmp_path, f"out.write_bytes(pathlib.Path({str(tmp_path / 'whole.o')!r}).read_bytes())")
    with pytest.raises(EngineError, match="object for gfx801"):
        compile_object(Row("Scale.cl", ""), "gfx803", compiler, kernels, tmp_path / "a.o")
    with pytest.raises(EngineError, match="with scale"):
        compile_object(Row("Scale.cl", ""), "gfx801", compiler, kernels, tmp_path / "b.o", expect=["other"])


@given(st.integers(0, 4000), st.integers(0, 255))
@settings(max_examples=200)
def test_any_damage_is_refused_or_harmless(whole: bytes, position: int, value: int) -> None:
    data = bytearray(whole)
    data[position % len(data)] = value
    with contextlib.suppress(BrokenObject):
        read_code_object(bytes(data))
    with pytest.raises(BrokenObject):
        read_code_object(whole[: position % len(whole)])


def test_a_compiler_that_is_not_there_is_named(kernels: Path, tmp_path: Path) -> None:
    compiler = Compiler("none", ("/nowhere/clang-ocl",), (), "none")
    with pytest.raises(EngineError, match="cannot start the compiler"):
        compile_object(Row("Scale.cl", ""), "gfx801", compiler, kernels, tmp_path / "a.o")
    with pytest.raises(EngineError, match="no clang"):
        host_compiler("/nowhere/clang")


def test_sources_outside_the_directory_are_refused(kernels: Path, clang: Compiler, tmp_path: Path) -> None:
    for program in ("Other.cl", "../kernels/Scale.cl", "scale.h"):
        with pytest.raises(ConfigError, match="no such OpenCL source"):
            compile_object(Row(program, ""), "gfx801", clang, kernels, tmp_path / "a.o")


def test_arguments_reach_the_compiler_as_a_shell_would_split_them(
    kernels: Path, clang: Compiler, tmp_path: Path
) -> None:
    (kernels / "Scale.cl").write_text(
        "__kernel void scale(__global float* x) { x[TWO(0, 1)] = sizeof(NAME); }"
    )
    row = Row("Scale.cl", ' \'-DTWO(a,b)=b\' -DNAME="\\"a,b\\""')
    compile_object(row, "gfx801", clang, kernels, tmp_path / "a.o")
    with pytest.raises(ConfigError, match="No closing quotation"):
        compile_object(Row("Scale.cl", " -DX='"), "gfx801", clang, kernels, tmp_path / "b.o")


def test_the_image_runs_clang_ocl_as_upstream_does() -> None:
    command = image_compiler("sha256:1").command_line(["-DX=1"], "gfx801", Path("/k/a.cl"), Path("/o/a.o"))
    assert command == [
        *("/opt/rocm/bin/clang-ocl", "-DX=1", "-mcpu=gfx801", "-Wno-everything"),
        *("-Xclang", "-target-feature", "-Xclang", "+code-object-v3", "/k/a.cl", "-o", "/o/a.o"),
    ]


def test_an_objects_name_changes_with_whatever_can_change_it(kernels: Path) -> None:
    def name(arguments: str = " -DA=1", gfx: str = "gfx801", compiler: str = "c", sources: str = "s") -> str:
        return kernel_object(Row("Scale.cl", arguments), gfx, compiler, sources).name

    assert name() == name(" -DA=1 ")
    assert len({name(), name(" -DA=2"), name(gfx="gfx803"), name(compiler="d"), name(sources="t")}) == 5
    before = sources_identity(kernels, "Scale.cl")
    sources_identity.cache_clear()
    (kernels / "unrelated.h").write_text("x")
    assert sources_identity(kernels, "Scale.cl") == before
    sources_identity.cache_clear()
    (kernels / "scale.h").write_text(HEADER + "\n")
    assert sources_identity(kernels, "Scale.cl") != before


def test_each_distinct_object_is_compiled_once_and_failures_stay_alone(
    kernels: Path, whole: bytes, tmp_path: Path
) -> None:
    calls: list[Sequence[str]] = []

    def run(command: Sequence[str], directory: Path, log: Path) -> int:
        calls.append(command)
        if "-DOFFSET=9" in command:
            log.write_text("error: nine is right out")
            return 1
        Path(command[-1]).write_bytes(whole)
        return 0

    compiler = Compiler("recorded", ("clang-ocl",), (), "recorded")
    rows = [Row("Scale.cl", f" -DOFFSET={number}", f"layer{number}") for number in (1, 2, 9, 1)]
    objects = [kernel_object(row, "gfx801", compiler.identity, "s") for row in rows]
    first = build_objects(objects, compiler, kernels, root=tmp_path, jobs=3, run=run)
    assert (len(first.made), len(first.kept), len(first.failed)) == (2, 0, 1)
    assert len(calls) == 3
    with pytest.raises(
        EngineError, match=r"1 of 3 kernel objects failed:(.|\n)*layer layer9(.|\n)*right out"
    ):
        first.check()
    again = build_objects(objects, compiler, kernels, root=tmp_path, run=run)
    assert (len(again.made), len(again.kept)) == (0, 2)
    objects[0].path(tmp_path).write_bytes(whole[:100])  # a disk that was full
    mended = build_objects(objects[:1], compiler, kernels, root=tmp_path, run=run)
    assert len(mended.made) == 1 and objects[0].path(tmp_path).read_bytes() == whole


# databases -------------------------------------------------------------------------------------------------
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
    assert leftovers(path.parent) == []


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


# plans -----------------------------------------------------------------------------------------------------
def test_six_compute_unit_counts_share_their_objects(kernels: Path, whole: bytes, tmp_path: Path) -> None:
    calls = itertools.count()

    def run(command: Sequence[str], directory: Path, log: Path) -> int:
        next(calls)
        Path(command[-1]).write_bytes(whole)
        return 0

    compiler = Compiler("recorded", ("clang-ocl",), (), "recorded")

    def plan(num_cus: int) -> object:
        rows = [Row("Scale.cl", " -DOFFSET=1"), Row("Scale.cl", f" -DOFFSET={2 if num_cus < 8 else 3}")]
        return plan_database(
            rows,
            "gfx801",
            num_cus,
            release="r",
            compiler=compiler.identity,
            sources=directory_identity(kernels),
        )

    plans = [plan(num_cus) for num_cus in (1, 2, 4, 8, 64, 80)]
    prepare_databases(plans, compiler, kernels, root=tmp_path, run=run)  # type: ignore[arg-type]
    assert next(calls) == 3
    names = [Path(item.path).name for item in plans]  # type: ignore[attr-defined]
    assert names == [
        "gfx801_1.ukdb",
        "gfx801_2.ukdb",
        "gfx801_4.ukdb",
        "gfx801_8.ukdb",
        "gfx801_64.ukdb",
        "gfx80150.ukdb",
    ]
    assert all(len(read_database(tmp_path / item.path)) == 2 for item in plans)  # type: ignore[attr-defined]
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.ukdb")}
    prepare_databases([*plans, plan(16)], compiler, kernels, root=tmp_path, run=run)  # type: ignore[list-item]
    assert next(calls) == 4  # nothing was compiled: the count itself took one
    assert all(path.stat().st_mtime_ns == before[path] for path in before)


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
        ("gfx802", 4, "gfx803_4.ukdb"),
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
        location = DatabaseLocation("2.9.0.8252-rocm-rel-4.0-26-64506314", cache)
        assert str(location.directory(home)) == directory
        assert str(location.file(home, "gfx801", 80)) == f"{directory}/gfx80150.ukdb"


# rows that are written down --------------------------------------------------------------------------------
def test_upstreams_format_is_read_with_its_oddities(tmp_path: Path) -> None:
    path = tmp_path / "cachefiles.csv"
    path.write_text(
        "MIOpenNeuron.cl, -DLITE -DX=3 -mcpu=gfx906\n"
        "MIOpenSoftmax.cl,-DNUM_BATCH=1 -mcpu=gfx803 -Wno-everything\n"
        "\n# a comment\n"
        "MIOpenNeuron.cl,-DLITE -DX=3\n"
        'MIOpenA.cl,"-DP(a,b)=""a,b"" -DQ=1"\n'
        "MIOpenB.cl, -DP(a,b)=a,b -mcpu=gfx801\n"
        "MIOpenC.cl,\n"
    )
    assert read_rows(path) == [
        Row("MIOpenNeuron.cl", " -DLITE -DX=3"),
        Row("MIOpenSoftmax.cl", " -DNUM_BATCH=1"),
        Row("MIOpenA.cl", ' -DP(a,b)="a,b" -DQ=1'),
        Row("MIOpenB.cl", " -DP(a,b)=a,b"),
        Row("MIOpenC.cl", ""),
    ]


@pytest.mark.parametrize(
    "line", ["MIOpenNeuron.cl", "gcnAsm.s, -Wa,-defsym,X=1", "../a.cl, -DX", "a.cl, -DX='", ", -DX=1"]
)
def test_lines_that_are_no_row_are_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"MIOpenNeuron.cl, -DLITE\n{line}\n")
    with pytest.raises(ConfigError) as caught:
        read_rows(path)
    assert (caught.value.file, caught.value.key) == (str(path), "line 2")


@given(st.lists(st.text(st.characters(exclude_categories=("C", "Z")), max_size=20), max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_rows_that_are_added_read_back(tmp_path_factory: pytest.TempPathFactory, parts: list[str]) -> None:
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    row = make_row("MIOpenA.cl", " ".join(parts))
    path.write_text("MIOpenB.cl, -DX=1")
    try:
        split_arguments(row.arguments)
    except ConfigError:
        with pytest.raises(ConfigError):
            add_rows(path, [row])
        assert read_rows(path) == [Row("MIOpenB.cl", " -DX=1")]
    else:
        assert add_rows(path, [row, Row("MIOpenB.cl", " -DX=1")]) == 1
        assert read_rows(path) == [Row("MIOpenB.cl", " -DX=1"), row]
        assert add_rows(path, [row]) == 0


LOG = (
    "MIOpen Error: /src/tmp_dir.cpp:47: Can't execute cd /tmp/miopen-MIOpenLRNFwd.cl-1-2;"
    " /opt/rocm/bin/clang-ocl  -DA=1 -DB=2 -mcpu=gfx801 -Wno-everything -Xclang -target-feature"
    " -Xclang +code-object-v3 MIOpenLRNFwd.cl"
    " -o /tmp/x/MIOpenLRNFwd.cl.o\n"
)


def test_the_command_that_a_failed_run_names_adds_the_kernel_to_every_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert project_rows() == []
    missed = missing_kernel(LOG)
    assert missed is not None
    program, *arguments = shlex.split(missed.remedy.partition("run again: ")[2])
    assert program == "apuflow"
    result = CliRunner().invoke(build_app(), arguments)
    assert result.exit_code == 0, result.output
    assert project_rows() == [Row("MIOpenLRNFwd.cl", " -DA=1 -DB=2")]


# the command -----------------------------------------------------------------------------------------------
CONFIG = "[DNNMark]\nrun_mode=standalone\n[Softmax]\nname=s\nn=1\nc=600\nh=1\nw=1\n"


def test_the_command_lists_rows_and_what_a_database_lacks(tmp_path: Path) -> None:
    config, db = tmp_path / "net.dnnmark", tmp_path / "a.ukdb"
    config.write_text(CONFIG)
    run = CliRunner()
    listed = run.invoke(build_app(), ["kernels", str(config), "--direction", "fwd"])
    assert listed.exit_code == 0 and listed.output.count("MIOpenSoftmax.cl") == 1
    as_csv = run.invoke(build_app(), ["kernels", str(config), "--csv"]).stdout
    (tmp_path / "rows.csv").write_text(as_csv)
    rows = read_rows(tmp_path / "rows.csv")
    assert len(rows) == 2
    (tmp_path / "x.o").write_bytes(b"x")
    build_database(db, {key(rows[0], "gfx801"): tmp_path / "x.o"})
    compared = run.invoke(build_app(), ["kernels", str(config), "--db", str(db)])
    assert compared.exit_code == 1
    assert [line.split()[0] for line in compared.stdout.splitlines()[::2]] == ["present", "missing"]
    complete = run.invoke(build_app(), ["kernels", str(config), "--db", str(db), "--direction", "fwd"])
    assert complete.exit_code == 0
    shown = run.invoke(build_app(), ["kernels", "--db", str(db)])
    assert shown.exit_code == 0 and "RUN_FORWARD=1" in shown.stdout and "1 for gfx801" in shown.output


@pytest.mark.parametrize(
    "arguments", [[], ["absent.dnnmark"], ["--db", "absent.ukdb"], ["--add", "nonsense"]]
)
def test_the_command_refuses_nonsense_with_a_remedy(arguments: list[str], tmp_path: Path) -> None:
    result = CliRunner().invoke(build_app(), ["kernels", *arguments])
    assert isinstance(result.exception, ConfigError)
