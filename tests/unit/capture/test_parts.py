"""Bundles, names, memory that another process shares: without a compiler of HIP."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from needs import C_COMPILER
from typer.testing import CliRunner

from apuflow.capture.bundle import bundled, code_objects, targets
from apuflow.capture.hip import hip_library, names
from apuflow.capture.names import demangled, described
from apuflow.cli import build_app
from apuflow.core.errors import EngineError
from apuflow.interpret.state import Memory, OutOfBounds
from apuflow.kernels.metadata import Kernel, Parameter
from apuflow.miopen import elf


def test_a_bundle_gives_back_its_code_objects() -> None:
    data = bundled({"gfx90a": b"first", "gfx942": b"second"})
    assert code_objects(data) == {"gfx90a": b"first", "gfx942": b"second"}
    assert targets(b"..." + data) == ("gfx90a", "gfx942")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"CCOB" + bytes(60), "compressed"),
        (b"nothing of the kind", "neither a code object"),
        (b"__CLANG_OFFLOAD_BUNDLE__\x05" + bytes(9), "damaged"),
    ],
)
def test_what_is_no_bundle(data: bytes, message: str) -> None:
    with pytest.raises(EngineError, match=message):
        code_objects(data)


@pytest.mark.parametrize(
    ("name", "types"),  # the declarations that clang gives these names
    [
        ("_Z13vector_squareIfEvPT_PKS0_m", ("float*", "float*", "ulong")),
        ("_Z3mixPKhPdSt4pairIiiEPPf", ("uchar*", "double*", "", "")),
        ("plain", ("", "", "", "")),
    ],
)
def test_types_of_arguments_come_from_the_name(name: str, types: tuple[str, ...]) -> None:
    parameters = tuple(Parameter(8 * n, 8, "global_buffer", f"a{n}.coerce") for n in range(len(types)))
    found = described(Kernel(name, parameters, 64, 0, 0, 0, 0, 64, 64, 0, False))
    assert tuple(each.type_name for each in found.parameters) == types
    assert found.parameters[0].name == "a0"


def test_a_name_that_is_not_of_cxx() -> None:
    assert demangled("kernel") == "kernel"


def test_memory_lies_in_given_bytes_at_given_addresses() -> None:
    data = np.zeros(1 << 16, np.uint8)
    memory = Memory({}, data, 1 << 44)
    first, second = memory.add("first", 100), memory.add("second", 8)
    assert (first.address, second.address % 4096) == (1 << 44, 0)
    memory.view("second")[:] = 7
    assert data[second.address - first.address] == 7
    assert memory.owner(first.address + 99) == "first"
    assert memory.owner(first.address + 100) is None
    memory.remove("first")
    assert memory.owner(first.address) is None
    with pytest.raises(OutOfBounds):
        memory.offsets(np.array([first.address]), 4)
    with pytest.raises(EngineError, match="no memory is left"):
        memory.add("third", 1 << 16)


def test_the_library_has_every_name_of_hip(tmp_path: Path) -> None:
    C_COMPILER.required_program()
    data = hip_library(tmp_path).resolve().read_bytes()
    exported = {each.name for each in elf.symbols(data, elf.sections(data)) if each.value}
    assert set(names()) <= exported
    assert {"hipMalloc", "hipGraphLaunch", "__hipRegisterFatBinary"} <= exported
    assert (tmp_path / "build/device").is_dir()


def test_a_gpu_of_unknown_name() -> None:
    done = CliRunner().invoke(build_app(), ["capture", "x", "--gfx", "gfx1030", "--", "./none"])
    assert done.exit_code != 0
    assert "not a GPU that gem5 models" in str(done.exception)
    assert "gfx90a" in str(done.exception)


def test_a_program_that_names_no_gpu(tmp_path: Path) -> None:
    program = tmp_path / "script"
    program.write_text("#!/bin/sh\n")
    done = CliRunner().invoke(build_app(), ["capture", "x", "--", str(program)])
    assert "no code for GPUs" in str(done.exception)


def test_a_program_that_is_not_there() -> None:
    done = CliRunner().invoke(build_app(), ["capture", "x", "--", "./none"])
    assert "no such program" in str(done.exception)
    assert "./none" in str(done.exception)
