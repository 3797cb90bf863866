"""Kernel objects: compiled once, whole or absent."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from apuflow.core.errors import ConfigError, EngineError
from apuflow.miopen import Row
from apuflow.miopen.compiler import Compiler, host_compiler
from apuflow.miopen.elf import read_code_object
from apuflow.miopen.objects import (
    build_objects,
    compile_object,
    kernel_object,
    sources_identity,
)


def fake(tmp_path: Path, script: str) -> Compiler:
    """A compiler that is a few lines of Python; ``out`` is its output file."""
    program = tmp_path / "compiler.py"
    program.write_text(f"import pathlib, sys, os\nout = pathlib.Path(sys.argv[-1])\n{script}\n")
    return Compiler("fake", (sys.executable, str(program)), (), f"fake {script}")


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
    assert not list(out.parent.glob(".*"))


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
    kernels: Path, whole: bytes, tmp_path: Path
) -> None:
    (tmp_path / "whole.o").write_bytes(whole)
    compiler = fake(tmp_path, f"out.write_bytes(pathlib.Path({str(tmp_path / 'whole.o')!r}).read_bytes())")
    with pytest.raises(EngineError, match="object for gfx801"):
        compile_object(Row("Scale.cl", ""), "gfx803", compiler, kernels, tmp_path / "a.o")
    with pytest.raises(EngineError, match="with SoftmaxForward"):
        compile_object(Row("Scale.cl", ""), "gfx801", compiler, kernels, tmp_path / "b.o", expect=["other"])


def test_a_compiler_that_is_not_there_is_named(kernels: Path, tmp_path: Path) -> None:
    compiler = Compiler("none", ("/nowhere/clang-ocl",), (), "none")
    with pytest.raises(EngineError, match="cannot start the compiler"):
        compile_object(Row("Scale.cl", ""), "gfx801", compiler, kernels, tmp_path / "a.o")
    with pytest.raises(EngineError, match="no clang"):
        host_compiler("/nowhere/clang")


def test_sources_outside_the_directory_are_refused(kernels: Path, tmp_path: Path) -> None:
    for program in ("Other.cl", "../kernels/Scale.cl", "scale.h"):
        with pytest.raises(ConfigError, match="no such OpenCL source"):
            compile_object(Row(program, ""), "gfx801", fake(tmp_path, ""), kernels, tmp_path / "a.o")


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
    header = kernels / "scale.h"
    header.write_text(header.read_text() + "\n")
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
    repaired = build_objects(objects[:1], compiler, kernels, root=tmp_path, run=run)
    assert len(repaired.made) == 1 and objects[0].path(tmp_path).read_bytes() == whole
