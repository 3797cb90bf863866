"""Which kernels do the same work in each workgroup when fewer of them are launched."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from apuflow.launcher.disassembly import needs_whole_grid
from apuflow.miopen.compiler import Compiler

LOOKS = "it looks at the size of its grid"
TOGETHER = "its workgroups may depend on one another (atomics, loads past the caches)"
HEAD = "kernel void k(global float *a, global int *n, int m) { int g = get_global_id(0); "
KERNELS = {
    "one element each": (HEAD + "a[g] += 1.0f; }", "", ""),
    "the workgroup's size, less at the edge": (HEAD + "a[g] = get_local_size(0); }", LOOKS, ""),
    "the workgroup's number": (HEAD + "a[g] = get_group_id(0) + get_group_id(1); }", "", ""),
    "a loop over the grid": (HEAD + "for (; g < m; g += get_global_size(0)) a[g] += 1.0f; }", LOOKS, ""),
    "groups along y": (HEAD + "a[g] = get_num_groups(1); }", "", LOOKS),
    "groups along y, where that matters": (
        HEAD + "if (m > 3) { a[g] = sqrt(a[g]); barrier(CLK_LOCAL_MEM_FENCE); } "
        "a[g + 1] = m > 4 ? get_num_groups(1) : 0; }",
        "",
        LOOKS,
    ),
    "a sum of all": (HEAD + "atomic_add(n, m); }", TOGETHER, TOGETHER),
    "a wait for others": (HEAD + "while (*(volatile global int *)n < m); a[g] = 1.0f; }", TOGETHER, TOGETHER),
    "a function": (
        "__attribute__((noinline)) float f(float x) { return x * x + 1.0f; }\n" + HEAD + "a[g] = f(a[g]); }",
        "it calls functions",
        "it calls functions",
    ),
}


@pytest.mark.parametrize("gfx", ["gfx801", "gfx902"])
@pytest.mark.parametrize("name", KERNELS)
def test_what_a_kernel_sees_of_its_grid(name: str, gfx: str, clang: Compiler, tmp_path: Path) -> None:
    text, along_x, along_y = KERNELS[name]
    source, target = tmp_path / "k.cl", tmp_path / "k.o"
    source.write_text(text)
    subprocess.run(clang.command_line((), gfx, source, target), check=True)
    assert needs_whole_grid(target, "k", frozenset(), gfx, 0) == along_x
    assert needs_whole_grid(target, "k", frozenset(), gfx, 1) == along_y


def test_a_file_that_is_no_code_object(tmp_path: Path) -> None:
    (tmp_path / "k.o").write_text("no code")
    assert "cannot be read" in needs_whole_grid(tmp_path / "k.o", "k", frozenset(), "gfx801", 0)


ASSEMBLY = """
.amdgcn_target "amdgcn-amd-amdhsa--gfx801"
.text
first:
  s_mov_b32 s0, 1
loop:
  flat_store_dword v[0:1], v2
  s_endpgm
second:
  s_mov_b32 s0, 1
another_loop:
  flat_atomic_add v[0:1], v2
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel first
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 4
  .amdhsa_next_free_sgpr 8
.end_amdhsa_kernel
.p2align 6
.amdhsa_kernel second
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 4
  .amdhsa_next_free_sgpr 8
.end_amdhsa_kernel
"""


def test_hand_written_kernels_have_labels(clang: Compiler, tmp_path: Path) -> None:
    """What follows a label belongs to the kernel, as in rocBLAS' assembly; what follows a kernel does not."""
    source, target = tmp_path / "k.s", tmp_path / "k.o"
    source.write_text(ASSEMBLY)
    command = [clang.command[0], "--target=amdgcn-amd-amdhsa", "-mcpu=gfx801", "-nogpulib", str(source)]
    subprocess.run([*command, "-o", str(target)], check=True)
    assert needs_whole_grid(target, "first", frozenset({"second"}), "gfx801", 0) == ""
    assert needs_whole_grid(target, "second", frozenset({"first"}), "gfx801", 0) == TOGETHER
