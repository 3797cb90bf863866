"""OpenCL programs with apuflow as their GPU: what they see, and what is recorded."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import needs
import numpy as np
import pytest
from places import DATA
from typer.testing import CliRunner

from apuflow.capture import opencl
from apuflow.capture.device import Device
from apuflow.capture.server import run
from apuflow.capture.writer import write
from apuflow.cli import build_app
from apuflow.core.errors import EngineError
from apuflow.core.gpus import gpu
from apuflow.miopen.compiler import Compiler

PROGRAMS = DATA / "opencl_programs"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, clang: Compiler) -> Path:
    """A directory with the programs, compiled."""
    if not opencl.HEADER.is_file():
        needs.OPENCL.skip()
    place = tmp_path_factory.mktemp("programs")
    cc = needs.C_COMPILER.required_program()
    for source in PROGRAMS.glob("*.c"):
        subprocess.run([cc, "-w", "-o", place / source.stem, source, "-lOpenCL"], check=True)
    return place


@pytest.fixture(scope="module")
def variables(tmp_path_factory: pytest.TempPathFactory, built: Path) -> Mapping[str, str]:
    """What lets a loader find the implementation."""
    return opencl.loader_variables(tmp_path_factory.mktemp("library"))


def test_a_loop_that_the_host_ends(
    built: Path,
    variables: Mapping[str, str],
    root: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Steps of 64 in a ring of 200 reach 25 rooms, the last after 12, and room 8 after 3: 8 = 200 - 3 * 64.

    The launches give the same results on another GPU, for which the recorded source is compiled.
    """
    device = Device(gpu("gfx801"))
    assert run([str(built / "levels")], device, [], variables) == 0
    assert capfd.readouterr().out == "13 launches; level of room 0: 0, 64: 1, 8: 3, 1: -1\n"
    assert [each.block[24] for each in device.journal.launches] == list(range(13))
    write(device.journal, "levels", root, "levels")
    text = (root / "configs/workloads/levels/kernels.cl").read_text()
    assert text.startswith("kernel void spread(global const int *next, global int *level")
    monkeypatch.chdir(root)
    done = CliRunner().invoke(build_app(), ["check-kernels", "levels", "--gfx", "gfx90a", "--run"])
    assert done.exit_code == 0, done.output
    assert len(re.findall(r"(level|changed\w*) equals its reference", done.output)) == 13


def test_transfers_maps_and_a_launch_with_an_offset(
    built: Path, variables: Mapping[str, str], root: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The program checks what it reads; the launch turns groups of 8 round in rows 4 to 19."""
    device = Device(gpu("gfx801"))
    assert run([str(built / "shapes")], device, [], variables) == 0
    said = capfd.readouterr()
    assert said.out == "all as OpenCL says\n"
    assert "clGetEventProfilingInfo: no times are known" in said.err
    (launch,) = device.journal.launches
    assert (launch.grid, launch.workgroup, launch.offset, launch.lds) == (
        (32, 16, 1),
        (8, 1, 1),
        (0, 4, 0),
        32,
    )
    given, made = (each.contents for each in launch.addresses)
    first = np.arange(1024, dtype=np.float32)
    first[0] = 100
    assert np.array_equal(given.before.view(np.float32), first)
    wanted = np.full((32, 32), -1, np.float32)
    wanted[16, 1:5] = first[:4]
    assert np.array_equal(made.before.view(np.float32), wanted.ravel())
    turned = first.reshape(32, 4, 8)[:, :, ::-1].reshape(32, 32)
    wanted[4:20] = 2 * turned[4:20] + 1000 * 4 + 1
    assert made.after is not None and np.array_equal(made.after.view(np.float32), wanted.ravel())
    write(device.journal, "shapes", root, "shapes")
    workload = (root / "configs/workloads/shapes.yaml").read_text()
    assert "offset: [0, 4]" in workload and "compile: -DSIDE=32 -cl-fast-relaxed-math" in workload


@pytest.mark.parametrize(
    ("word", "said", "remedy"),
    [
        ("image", "the program calls clCreateImage2D", "use buffers"),
        ("native", "the program calls clEnqueueNativeKernel", "call the function"),
        ("shared", "the program calls clSVMAlloc", "use buffers"),
        ("prints", "kernels call printf", "leave it out"),
    ],
)
def test_what_is_not_recorded_ends_the_program_by_its_name(
    built: Path,
    variables: Mapping[str, str],
    capfd: pytest.CaptureFixture[str],
    word: str,
    said: str,
    remedy: str,
) -> None:
    with pytest.raises(EngineError, match=rf"{said}[\s\S]*{remedy}"):
        run([str(built / "refused"), word], Device(gpu("gfx801")), [], variables)
    assert capfd.readouterr().out == ""


def test_a_program_sees_what_the_compiler_says(
    built: Path, variables: Mapping[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run([str(built / "refused"), "wrong"], Device(gpu("gfx801")), [], variables) == 2
    assert "use of undeclared identifier 'nothing'" in capfd.readouterr().err


def test_a_recorded_source_includes_nothing(tmp_path: Path, clang: Compiler) -> None:
    """A file beside the program, found from the directory in which it runs."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/n.h").write_text("#define N 7\n")
    source = '#include "n.h"\nkernel void fill(global int *out) { out[get_global_id(0)] = N + M; }\n'
    payload = f"{tmp_path}\0-I parts -DM=1\0{source}".encode()
    made = opencl.build_program(payload, "gfx801", tmp_path / "program.cl")
    assert made.names == ("fill",) and made.code
    assert made.source is not None and "#" not in made.source.text
    assert made.source.arguments == "-DM=1"
    assert "out[get_global_id(0)] = 7 + 1;" in made.source.text


def test_missing_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opencl, "HEADER", tmp_path / "cl_icd.h")
    with pytest.raises(EngineError, match="apt install opencl-c-headers"):
        opencl.loader_variables(tmp_path)
