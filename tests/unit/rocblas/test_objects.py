"""Code objects of rocBLAS' kernels. The assembly is written by hand; Tensile's own needs its sources."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Literal

import needs
import pytest
from rocblas_checkouts import checkouts

from apuflow.core.errors import ConfigError, EngineError
from apuflow.miopen.compiler import Compiler, assembler, host_compiler
from apuflow.miopen.launch import Row
from apuflow.rocblas import changes, objects
from apuflow.rocblas.call import ASSEMBLY
from apuflow.rocblas.tables import Solution, solutions

PLAIN: Solution = solutions()["NN", 59]
SPLIT: Solution = solutions()["NN", 17]
OFFSETS = (("NN", 12), ("TN", 13), ("TN", 34), ("TN", 42))
"""Kernels that load rows of a tile at a scalar offset."""
WRITTEN = [solutions()[key] for key in (("NT", 5), ("TN", 16), *OFFSETS)]
TEXT = f"""\
.amdgcn_target "amdgcn-amd-amdhsa--gfx803"
.text
.protected {PLAIN.kernel}
.globl {PLAIN.kernel}
.p2align 8
.type {PLAIN.kernel},@function
.section .rodata,#alloc
.p2align 6
.amdhsa_kernel {PLAIN.kernel}
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 4
  .amdhsa_next_free_sgpr 8
.end_amdhsa_kernel
.text
{PLAIN.kernel}:
s_setprio 1 // Raise priority
v_readfirstlane_b32 s3, v1              // WaveId
s_endpgm
// .kernarg_segment_size:       144
"""


def row(solution: Solution) -> Row:
    return Row(solution.kernel + ASSEMBLY, "")


@pytest.fixture(scope="module")
def clang() -> Compiler:
    needs.CLANG.required_program()
    try:
        return host_compiler(code_object=4)
    except EngineError:
        needs.CLANG.skip()


def test_a_name_says_what_an_object_is_made_from(monkeypatch: pytest.MonkeyPatch) -> None:
    one = objects.library_object(row(PLAIN), "gfx801", "clang 15")
    assert one.name.startswith(f"{PLAIN.kernel}-")
    others = [
        objects.library_object(row(PLAIN), "gfx803", "clang 15"),
        objects.library_object(row(PLAIN), "gfx801", "clang 16"),
    ]
    monkeypatch.setattr(changes, "CHANGES_VERSION", "changed")
    others.append(objects.library_object(row(PLAIN), "gfx801", "clang 15"))
    assert len({one.name, *(other.name for other in others)}) == 4


def test_the_assembly_is_the_same_for_all_gpus() -> None:
    assert objects.assembly_path(row(PLAIN).program).startswith(f"cachefiles/assembly/{PLAIN.kernel}-")
    assert objects.assembly_name(row(PLAIN).program) != objects.assembly_name(row(SPLIT).program)


def test_another_program_is_refused() -> None:
    assert not objects.is_library_kernel("MIOpenSoftmax.cl")
    assert not objects.is_library_kernel("Cijk_nothing.s")
    with pytest.raises(ConfigError, match="not a single precision kernel of rocBLAS"):
        objects.assembly_name("Cijk_nothing.s")


@pytest.mark.parametrize("gfx", ["gfx801", "gfx803"])
@pytest.mark.parametrize("code_object", [3, 4])  # of the image's ROCm, of the launcher
def test_a_text_is_changed_and_assembled(
    clang: Compiler, tmp_path: Path, gfx: str, code_object: Literal[3, 4]
) -> None:
    text, out = tmp_path / "kernel.s", tmp_path / "o/kernel.o"
    text.write_text(TEXT)
    tool = assembler(host_compiler(clang.command[0], code_object=code_object))
    made = objects.assemble(row(PLAIN), gfx, tool, text, out)
    assert out.read_bytes()[8] == code_object - 2  # EI_ABIVERSION
    assert (made.gfx, made.kernels) == (gfx, (PLAIN.kernel,))
    assert not [path for path in out.parent.iterdir() if path.name.startswith(".work-")]


def test_a_text_that_does_not_assemble_is_told_with_its_log(clang: Compiler, tmp_path: Path) -> None:
    text = tmp_path / "kernel.s"
    text.write_text(TEXT.replace("s_endpgm", "s_nothing"))
    with pytest.raises(EngineError, match=r"does not compile.*s_nothing|invalid instruction"):
        objects.assemble(row(PLAIN), "gfx801", assembler(clang), text, tmp_path / "k.o")
    assert not (tmp_path / "k.o").exists()


def test_a_checkout_of_something_else_is_named(tmp_path: Path) -> None:
    with pytest.raises(EngineError) as caught:
        objects.write(row(PLAIN).program, tmp_path, tmp_path, tmp_path / "k.s", tmp_path / "log")
    assert caught.value.key == "rocblas_source"
    assert "r9nano_Cijk_Ailk_Bljk_SB.yaml" in str(caught.value.file)


def test_what_tensile_says_is_shown_where_it_fails(tmp_path: Path) -> None:
    logic = tmp_path / objects.LOGIC_DIRECTORY
    logic.mkdir(parents=True)
    (logic / "r9nano_Cijk_Ailk_Bljk_SB.yaml").write_text("[]")
    (tmp_path / "Tensile").mkdir()
    (tmp_path / "Tensile/__init__.py").write_text("")
    (tmp_path / "Tensile/Common.py").write_text("raise RuntimeError('of another time')")
    (tmp_path / "Tensile/KernelWriterAssembly.py").write_text("")
    with pytest.raises(EngineError, match="of another time"):
        objects.write(row(PLAIN).program, tmp_path, tmp_path, tmp_path / "k.s", tmp_path / "log")
    assert not (tmp_path / "k.s").exists()


@pytest.mark.gem5
@pytest.mark.parametrize("solution", [PLAIN, SPLIT, *WRITTEN])
def test_tensile_writes_kernels_that_assemble(clang: Compiler, tmp_path: Path, solution: Solution) -> None:
    tensile, rocblas = checkouts()
    text, out = tmp_path / "kernel.s", tmp_path / "kernel.o"
    objects.write(row(solution).program, tensile, rocblas, text, tmp_path / "log")
    written = text.read_text()
    assert f".amdhsa_next_free_vgpr {solution.vgprs} " in written
    assert f".amdhsa_group_segment_fixed_size {solution.lds_bytes} " in written
    objects.assemble(row(solution), "gfx801", assembler(clang), text, out)
    tool = Path(clang.command[0]).resolve().with_name("llvm-objdump")
    listed = subprocess.run([str(tool), "-d", "--mcpu=gfx801", str(out)], capture_output=True, text=True)
    for unknown in ("s_setprio", "v_readfirstlane", "buffer_atomic"):
        assert unknown not in listed.stdout
    assert ("flat_atomic_cmpswap" in listed.stdout) == solution.splits
    assert ("s_min_u32 s101," in listed.stdout) == bool(solution.row_offsets)
    assert scalar_condition_survives(listed.stdout)


READS_SCC = re.compile(r"s_(cselect|cmov|addc|subb|cbranch_scc)")
WRITES_SCC = re.compile(r"s_(add|sub|min|max|and|or|xor|not|cmp|bitcmp|lsh|ash|bfe|abs|absdiff)")


def scalar_condition_survives(listing: str) -> bool:
    """Whether nothing reads the scalar condition code that ``s_min_u32`` of a limited offset overwrote."""
    overwritten = False
    for line in listing.splitlines():
        word = line.strip().partition(" ")[0]
        if word == "s_min_u32" and " s101," in line:
            overwritten = True
        elif overwritten and READS_SCC.match(word):
            return False
        elif WRITES_SCC.match(word):
            overwritten = False
    return True
