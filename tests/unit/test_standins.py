"""The stand-in of clang succeeds and fails as clang does, so that tests with it mean something."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from standins import repositories

from apuflow.core.errors import EngineError
from apuflow.launcher.corrections import correcting
from apuflow.miopen.compiler import Compiler, compile_source, host_compiler
from apuflow.miopen.elf import read_code_object
from apuflow.miopen.launch import Row

KERNELS = repositories.HERE / "miopen/src/kernels"
SOFTMAX = ("-DNUM_BATCH=1", "-DRUN_FORWARD=1")


@pytest.fixture(params=["stand-in", "real"])
def compiler(request: pytest.FixtureRequest) -> Compiler:
    if request.param == "real":
        real: Compiler = request.getfixturevalue("clang")
        return real
    return host_compiler(str(repositories.CLANG / "clang-15"), repositories.CLANG / "bitcode")


def compile_softmax(
    compiler: Compiler, out: Path, *arguments: str, source: str = "MIOpenSoftmax.cl"
) -> subprocess.CompletedProcess[str]:
    command = compiler.command_line(arguments, "gfx801", KERNELS / source, out)
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_it_makes_the_object(compiler: Compiler, tmp_path: Path) -> None:
    done = compile_softmax(compiler, tmp_path / "k.o", *SOFTMAX)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    found = read_code_object((tmp_path / "k.o").read_bytes())
    assert (found.gfx, found.kernels) == ("gfx801", ("SoftmaxForward",))


def test_it_makes_the_object_by_way_of_its_assembly(compiler: Compiler, tmp_path: Path) -> None:
    row, out = Row("MIOpenSoftmax.cl", " ".join(SOFTMAX)), tmp_path / "k.o"
    changing = correcting(compiler, ("narrow_results", "ignored_sdwa"))
    found = compile_source(KERNELS / row.program, row, "gfx801", changing, out)
    assert (found.gfx, found.kernels) == ("gfx801", ("SoftmaxForward",))
    assert read_code_object(out.read_bytes()) == found


def test_it_refuses_what_clang_refuses(compiler: Compiler, tmp_path: Path) -> None:
    out = tmp_path / "k.o"
    failures = {
        'error: "the arguments of MIOpen\'s softmax are missing"': compile_softmax(compiler, out),
        "no such file or directory": compile_softmax(compiler, out, *SOFTMAX, source="MIOpenOther.cl"),
        "error: unknown argument: '-fno-such-option'": compile_softmax(
            compiler, out, *SOFTMAX, "-fno-such-option"
        ),
        "cannot find ROCm device library": compile_softmax(
            compiler, out, *SOFTMAX, "--rocm-device-lib-path=/nowhere"
        ),
        "ld.lld: error: cannot open output file": compile_softmax(
            compiler, tmp_path / "no/such/k.o", *SOFTMAX
        ),
    }
    for message, done in failures.items():
        assert done.returncode == 1, message
        assert message in done.stderr
    assert not out.exists()


def test_bitcode_is_looked_for_where_clangs_own_variable_says(monkeypatch: pytest.MonkeyPatch) -> None:
    program = str(repositories.CLANG / "clang-15")
    monkeypatch.setenv("HIP_DEVICE_LIB_PATH", str(repositories.CLANG / "bitcode"))
    assert f"--rocm-device-lib-path={repositories.CLANG / 'bitcode'}" in host_compiler(program).command
    monkeypatch.setenv("HIP_DEVICE_LIB_PATH", "/nowhere")
    with pytest.raises(EngineError, match="device libraries are missing"):
        host_compiler(program)
