"""Sources of own kernels, compiled by this machine's clang."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from apuflow.core.errors import ConfigError, EngineError
from apuflow.kernels.metadata import read_kernels
from apuflow.kernels.sources import compile_own, own_compiler, own_object, source_identity
from apuflow.miopen import Row
from apuflow.miopen.compiler import Compiler
from apuflow.miopen.elf import read_code_object

HIP = """#include <hip/hip_runtime.h>
__global__ void f(float *x) { atomicAdd(x, sqrtf(x[threadIdx.x + blockIdx.x * blockDim.x])); }
"""
ASSEMBLY = """
.text
.globl f
.p2align 8
.type f,@function
f: s_endpgm
.rodata
.p2align 6
.amdhsa_kernel f
  .amdhsa_next_free_vgpr 1
  .amdhsa_next_free_sgpr 1
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 1]
amdhsa.kernels:
  - .name: f
    .symbol: f.kd
    .kernarg_segment_size: 0
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 4
    .wavefront_size: 64
    .sgpr_count: 8
    .vgpr_count: 4
    .max_flat_workgroup_size: 64
...
.end_amdgpu_metadata
"""


@pytest.mark.parametrize("gfx", ["gfx801", "gfx902"])
@pytest.mark.parametrize(
    ("name", "text"),
    [("k.hip", HIP), ("k.s", ASSEMBLY), ("k.cl", "__kernel void f(__global int *x) { *x = N; }")],
)
def test_every_language_becomes_a_code_object(
    clang: Compiler, tmp_path: Path, name: str, text: str, gfx: str
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / name).write_text(text)
    out = tmp_path / "out/k.o"
    compile_own(Row(f"in/{name}", "-DN=3" if name == "k.cl" else ""), gfx, out, tmp_path)
    assert read_code_object(out.read_bytes()).gfx == gfx
    (kernel,) = read_kernels(out)
    assert kernel.name in ("f", "_Z1fPf")


def test_mistakes_in_a_source_are_shown(clang: Compiler, tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text("__kernel void f(__global int *x) { *x = y; }")
    with pytest.raises(EngineError, match=r"k.cl does not compile[\s\S]*undeclared identifier 'y'"):
        compile_own(Row("./k.cl", ""), "gfx801", tmp_path / "out.o", tmp_path)


def test_an_object_is_taken_as_it_is(whole: bytes, tmp_path: Path) -> None:
    (tmp_path / "k.co").write_bytes(whole)
    compile_own(Row("./k.co", ""), "gfx801", tmp_path / "out/k.o", tmp_path)
    assert (tmp_path / "out/k.o").read_bytes() == whole
    with pytest.raises(EngineError, match="is for gfx801, the machine is a gfx902"):
        compile_own(Row("./k.co", ""), "gfx902", tmp_path / "other.o", tmp_path)


def test_the_name_of_an_object_follows_source_and_what_it_includes(tmp_path: Path) -> None:
    for number, text in enumerate(("a", "b")):
        place = tmp_path / str(number)
        place.mkdir()
        (place / "k.co").write_text('#include "part.h"\n')
        (place / "part.h").write_text(text)
    names = {own_object("k.co", "", "w", "gfx801", tmp_path / str(number)).name for number in (0, 1)}
    assert len(names) == 2
    shutil.copytree(tmp_path / "0", tmp_path / "2")
    assert source_identity(tmp_path / "2/k.co") == source_identity(tmp_path / "0/k.co")
    with pytest.raises(ConfigError, match="cannot read the kernels' source"):
        source_identity(tmp_path / "absent.cl")


def test_unknown_endings(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not a file of kernels"):
        own_compiler(tmp_path / "k.ptx")
