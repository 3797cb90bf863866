"""Fixtures of the unit tests."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from apuflow.core.errors import EngineError
from apuflow.miopen import Row
from apuflow.miopen.compiler import Compiler, host_compiler
from apuflow.miopen.objects import compile_object

ROOT = Path(__file__).parents[2]
KERNEL = """#include "scale.h"
__kernel void scale(__global float* x, float a) { x[get_global_id(0)] = SCALE(x[get_global_id(0)], a); }
"""
HEADER = "#define SCALE(v, a) ((v) * (a) + OFFSET)\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project directory with the shipped configuration."""
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    (tmp_path / "configs/site.yaml").unlink(missing_ok=True)
    return tmp_path


def write_kernels(directory: Path) -> Path:
    (directory / "Scale.cl").write_text(KERNEL)
    (directory / "scale.h").write_text(HEADER)
    return directory


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    """A directory of OpenCL sources, as MIOpen's src/kernels is one."""
    directory = tmp_path / "kernels"
    directory.mkdir()
    return write_kernels(directory)


@pytest.fixture(scope="session")
def clang() -> Compiler:
    try:
        return host_compiler()
    except EngineError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def whole(clang: Compiler, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A real AMDGPU object for gfx801."""
    directory = write_kernels(tmp_path_factory.mktemp("whole"))
    out = directory / "scale.o"
    compile_object(Row("Scale.cl", " -DOFFSET=1"), "gfx801", clang, directory, out)
    return out.read_bytes()
