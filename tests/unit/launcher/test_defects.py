"""Instructions that gem5 executes wrongly."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import get_args

import pytest
from places import ROOT

from apuflow.configure import load_release
from apuflow.configure.catalogue import RELEASES
from apuflow.launcher.defects import DefectName, met
from apuflow.launcher.disassembly import disassembled
from apuflow.launcher.judge import ProgramJudge
from apuflow.launcher.known import NOTHING, Known
from apuflow.miopen.compiler import Compiler, compile_source
from apuflow.miopen.launch import Row


def assembled(clang: Compiler, tmp_path: Path, *instructions: str, gfx: str = "gfx801") -> Path:
    source, target = tmp_path / "kernel.s", tmp_path / "kernel.o"
    source.write_text("kernel:\n" + "".join(f"  {line}\n" for line in (*instructions, "s_endpgm")))
    command = [clang.command[0], "--target=amdgcn-amd-amdhsa", f"-mcpu={gfx}", "-c", str(source)]
    subprocess.run([*command, "-o", str(target)], check=True)
    return target


READ_RELEASES = RELEASES[: RELEASES.index("v24.1") + 1]
"""Those whose sources were there to be read."""
GCN3 = {"gcn3": ("v21.1", "v23.1")}
EVER = GCN3 | {"vega": ("v21.2", "v24.1")}
NEVER: dict[str, dict[str, tuple[str, str]]] = {}
READ: dict[str, dict[str, dict[str, tuple[str, str]]]] = {
    "v_sub_u16 v1, v0, v1": {"narrow_results": GCN3 | {"vega": ("v21.2", "v24.1")}},
    "v_mul_lo_u16_sdwa v1, v0, v1 src0_sel:WORD_0 src1_sel:BYTE_0": {
        "narrow_results": GCN3 | {"vega": ("v21.2", "v24.1")},
        "ignored_sdwa": GCN3 | {"vega": ("v21.2", "v24.0")},
        "refused_sdwa": {"vega": ("v24.1", "v24.1")},
    },
    "v_or_b32_sdwa v1, v0, v1 src0_sel:WORD_0 src1_sel:BYTE_0": NEVER,
    "v_cmp_eq_u16_sdwa vcc, v0, v1 src0_sel:WORD_1 src1_sel:DWORD": {
        "ignored_sdwa": GCN3 | {"vega": ("v21.2", "v24.0")},
        "short_words": {"vega": ("v24.1", "v24.1")},
    },
    "v_cmp_eq_u16_sdwa vcc, v0, v1 src0_sel:BYTE_1 src1_sel:DWORD": {
        "ignored_sdwa": GCN3 | {"vega": ("v21.2", "v24.0")},
    },
    "v_add_f32_dpp v6, v6, v6 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0": {
        "lane_moves": GCN3 | {"vega": ("v21.2", "v22.1")},
    },
    "v_add_f32_dpp v6, v6, v6 row_shr:1 row_mask:0xf bank_mask:0xf": {
        "lane_moves": GCN3 | {"vega": ("v21.2", "v22.1")},
        "kept_lanes": {"vega": ("v23.0", "v24.1")},
    },
    "v_mov_b32_dpp v6, v6 quad_perm:[1,0,3,2] row_mask:0xa bank_mask:0xf": {
        "lane_moves": GCN3 | {"vega": ("v21.2", "v22.1")},
        "kept_lanes": {"vega": ("v23.0", "v24.1")},
    },
    "v_mov_b32_dpp v6, v6 row_half_mirror row_mask:0xf bank_mask:0xf": {
        "lane_moves": GCN3 | {"vega": ("v21.2", "v22.1")},
        "mirrored_lanes": {"vega": ("v23.0", "v24.1")},
    },
    "v_max_f32_dpp v6, v6, v6 row_shr:1 row_mask:0xf bank_mask:0xf": {
        "ignored_dpp": GCN3 | {"vega": ("v21.2", "v24.0")},
        "refused_dpp": {"vega": ("v24.1", "v24.1")},
    },
    "v_perm_b32 v1, s6, v0, v1": {
        "byte_permutation": {"gcn3": ("v21.1", "v23.0"), "vega": ("v21.2", "v23.0")}
    },
    "s_mov_b64 s[4:5], 0xfff": {"wide_literals": GCN3 | {"vega": ("v21.2", "v23.1")}},
    "v_readfirstlane_b32 s20, v2": {"first_lane_register": GCN3 | {"vega": ("v21.2", "v22.0")}},
    "v_mul_u32_u24_sdwa v1, v0, s3 src0_sel:WORD_0 src1_sel:DWORD": {
        "scalar_sdwa": {"vega": ("v21.2", "v24.1")}
    },
    "flat_load_dwordx2 v[2:3], v[4:5]": {"split_pairs": GCN3 | {"vega": ("v21.2", "v24.0")}},
    "ds_read_b96 v[2:4], v0": {"lds_triples": GCN3 | {"vega": ("v22.0", "v24.1")}},
    "ds_write_b96 v0, v[2:4] offset:16": {"lds_triples": GCN3 | {"vega": ("v22.0", "v24.1")}},
    "scratch_load_dwordx2 v[2:3], off, s3": {"wide_scratch": {"vega": ("v24.1", "v24.1")}},
    "v_cmp_nlt_f32_e64 s[8:9], |v7|, s11": {"ignored_signs": EVER},
    "v_cmpx_ge_f32_e64 s[8:9], v7, -v1": {"ignored_signs": EVER},
    "v_cmp_class_f64_e64 vcc, -v[2:3], v1": {"ignored_signs": EVER},
    "v_ldexp_f32 v1, -|v0|, v2": {"ignored_signs": EVER},
    "v_cmp_lt_f32_e64 s[8:9], v7, -1.0": NEVER,
    "v_cmp_lt_f64_e64 s[8:9], |v[2:3]|, v[4:5]": NEVER,
    "v_cmp_f_f32_e64 s[8:9], |v7|, v1": NEVER,
    "v_add_f32_e64 v1, -v0, |v2|": NEVER,
    "v_cndmask_b32_e64 v1, v0, -v2, vcc": {
        "refused_choice_signs": GCN3 | {"vega": ("v21.2", "v23.1")},
        "ignored_choice_signs": {"vega": ("v24.0", "v24.1")},
    },
    "v_fma_f32 v1, v0, 2.0, 1.0 clamp": {"output_modifiers": EVER},
    "v_mul_f32_e64 v1, v0, v2 mul:2": {"output_modifiers": EVER},
    "v_fract_f32_e32 v1, v0": {"negative_fractions": EVER},
    "buffer_store_dwordx2 v[2:3], v0, s[4:7], 0 offen": {"buffer_pairs": EVER},
    "buffer_store_dwordx3 v[2:4], off, s[4:7], 0": {"buffer_pairs": EVER},
    "buffer_store_dwordx4 v[2:5], off, s[4:7], 0": NEVER,
    "ds_swizzle_b32 v1, v0 offset:swizzle(SWAP,16)": {"skipped_swizzles": EVER},
    "ds_bpermute_b32 v1, v0, v2": NEVER,
}
"""By instruction and defect: the first and the last release that has it, as gem5's sources were read.

Below ``src/arch/amdgpu`` of v21.1.0.2 ... v24.0.0.1 and commit c91af552: which ``execute`` in
``insts/vop1.cc``, ``vop2.cc``, ``vopc.cc`` (before v24.0: ``instructions.cc``) asks ``isSDWAInst`` and
``isDPPInst``, and whether it panics; ``insts/flat.cc`` (``initMemRead<VecElemU64>`` until v24.0,
``initMemRead<2>`` after), ``insts/ds.cc`` (``DS_READ_B96``, ``DS_WRITE_B96``),
``insts/vop3.cc`` and ``vop3_cmp.cc`` (which ``execute`` asks ``ABS``, ``NEG``, ``CLAMP``, ``OMOD``),
``insts/mubuf.cc``, ``insts/inst_util.hh`` (``dppInstImpl``, ``processDPP``), ``insts/op_encodings.hh``
(``sdwabSelect``, ``initMemRead<3>``), ``gpu_mem_helpers.hh``.
"""


@pytest.mark.parametrize("instruction", READ)
def test_instruction_that_gem5_executes_wrongly(instruction: str, clang: Compiler, tmp_path: Path) -> None:
    """Each build is asked with the GPU of its own, where that has the instruction."""
    vega_alone = "scratch_" in instruction or re.search(r"_sdwa.*\bs\d", instruction)
    harmless = (
        "s_mov_b64 s[4:5], 1",
        "v_add_f32 v6, v6, v6",
        "v_cmp_gt_u16 vcc, v0, v1",
        "s_mov_b32 s4, 0xfff",
    )
    for build, gfx in (("GCN3_X86", "gfx801"), ("VEGA_X86", "gfx902")):
        if vega_alone and build == "GCN3_X86":
            continue
        built = assembled(clang, tmp_path, *harmless, instruction, gfx=gfx)
        meets = [defect.name for defect in met([built], gfx, get_args(DefectName))]
        releases = [load_release(name, ROOT) for name in READ_RELEASES]
        has = {one.name: one.instruction_defects(gfx) for one in releases if build in one.build_targets}
        every = {defect: [name for name, defects in has.items() if defect in defects] for defect in meets}
        found = {defect: names for defect, names in every.items() if names}
        ranges = {
            name: spans[build[:4].lower()]
            for name, spans in READ[instruction].items()
            if build[:4].lower() in spans
        }
        assert found == {
            name: [each for each in READ_RELEASES if first <= each <= last]
            for name, (first, last) in ranges.items()
        }


def test_functions_that_no_kernel_calls_are_not_looked_at(clang: Compiler, tmp_path: Path) -> None:
    """clang leaves tanh, which compares |x|, in the object beside a kernel that does not use it."""
    source, built = tmp_path / "k.cl", tmp_path / "k.o"
    signs: tuple[DefectName, ...] = ("ignored_signs",)
    text = (
        "float helper(float x) { return tanh(x); }\n__kernel void k(__global float *a) { a[0] = OF(a[0]); }"
    )
    source.write_text(text)
    for name, called in (("fabs", False), ("helper", True)):
        compile_source(source, Row("k.cl", f"-DOF={name}"), "gfx801", clang, built)
        assert "v_cmp_nlt_f32_e64" in disassembled(built, "gfx801")
        assert bool(Known(signs).suspects([built], "gfx801")) is called


def test_sound_instructions_are_not_named(clang: Compiler, tmp_path: Path) -> None:
    sound = (
        "s_mov_b64 s[4:5], -1",
        "v_lshrrev_b32 v1, 16, v0",
        "flat_load_dword v1, v[2:3]",
        "v_cvt_f32_f16 v1, v0",
    )
    known = Known(get_args(DefectName))
    assert known.suspects([assembled(clang, tmp_path, *sound)], "gfx801") == ()


def test_finished_program_says_what_gem5_executed_wrongly(clang: Compiler, tmp_path: Path) -> None:
    """Lanes that are moved to the wrong places end no run: the row has to say it."""
    moves = assembled(clang, tmp_path, "v_add_f32_dpp v6, v6, v6 row_shr:1 row_mask:0xf bank_mask:0xf")
    results = ProgramJudge((moves,), "gfx801", Known(("lane_moves", "wide_literals"))).results(tmp_path)
    assert results is not None
    assert results.agree is None
    assert "gem5 executes wrongly v_add_f32_dpp: lanes are moved" in (results.note or "")
    assert ProgramJudge((moves,), "gfx801", NOTHING).results(tmp_path) is None


def test_what_ends_gem5_is_no_doubt_about_a_finished_program(clang: Compiler, tmp_path: Path) -> None:
    literal = assembled(clang, tmp_path, "s_mov_b64 s[4:5], 0xfff")
    judge = ProgramJudge((literal,), "gfx801", Known(("wide_literals",)))
    assert judge.results(tmp_path) is None
    assert judge.explained("it ended").startswith("it ended; gem5 executes wrongly s_mov_b64")
