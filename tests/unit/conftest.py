"""Fixtures of the unit tests."""

from __future__ import annotations

import shutil
from pathlib import Path

import needs
import pytest
from places import ROOT

from apuflow.core.errors import EngineError
from apuflow.miopen.compiler import Compiler, host_compiler

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
    except EngineError:
        needs.CLANG.skip()


@pytest.fixture(scope="session")
def whole() -> bytes:
    """A real AMDGPU object for gfx801, as clang 15 wrote it: it holds the kernel ``SoftmaxForward``."""
    return (ROOT / "tests/standins/miopen/src/kernels/standin-gfx801.o").read_bytes()
