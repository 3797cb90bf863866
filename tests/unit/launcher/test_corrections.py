"""Assembly of kernels, changed so that gem5 computes what the GPU does."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import get_args

import pytest
from launcher_layers import LAYERS
from places import ROOT

from apuflow.configure import load_release
from apuflow.core.gpus import GPUS
from apuflow.dnnmark import parse
from apuflow.launcher.corrections import corrected, correcting, version_of
from apuflow.launcher.defects import DefectName
from apuflow.miopen import launches
from apuflow.miopen.compiler import Compiler, compile_source
from apuflow.miopen.launch import Row

KERNEL = """
{name}:
{body}
	s_endpgm
	.amdhsa_kernel {name}
		.amdhsa_next_free_vgpr {registers}
		.amdhsa_next_free_sgpr 16
	.end_amdhsa_kernel
"""
DIVIDE = """
__kernel void divide(__global uint *out)
{
    uint lane = get_local_id(0);
    out[lane] = lane / 7 + 100 * (lane % 7) + 10000 * ((lane * 3) / 49);
}
"""
PAD = "dst_sel:DWORD dst_unused:UNUSED_PAD"
EVERY: tuple[DefectName, ...] = get_args(DefectName)


def kernel(*body: str, name: str = "k", registers: int = 9) -> str:
    return KERNEL.format(name=name, body="\n".join(f"\t{line}" for line in body), registers=registers)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # results of 16 bits: the upper half is cleared
        ("v_mul_lo_u16_e32 v3, 3, v0", ["v_mul_lo_u16_e32 v3, 3, v0", "v_and_b32 v3, 0xffff, v3"]),
        ("v_lshrrev_b16_e32 v2, 1, v2 ; half", ["v_lshrrev_b16_e32 v2, 1, v2", "v_and_b32 v2, 0xffff, v2"]),
        # v23 is no register of a kernel with 9, so that gem5 would end at s23
        ("v_readfirstlane_b32 s23, v0", ["s_ff1_i32_b64 s23, exec", "v_readlane_b32 s23, v0, s23"]),
        # the target holds a part where it is not read otherwise
        (
            f"v_mul_lo_u16_sdwa v5, v17, v15 {PAD} src0_sel:BYTE_0 src1_sel:DWORD",
            ["v_bfe_u32 v5, v17, 0, 8", "v_mul_lo_u16 v5, v5, v15", "v_and_b32 v5, 0xffff, v5"],
        ),
        (
            f"v_ashrrev_i16_sdwa v5, v6, sext(v5) {PAD} src0_sel:DWORD src1_sel:BYTE_1",
            ["v_bfe_i32 v5, v5, 8, 8", "v_ashrrev_i16 v5, v6, v5", "v_and_b32 v5, 0xffff, v5"],
        ),
        # half a register, as an instruction of 16 bits reads it anyhow
        (
            f"v_add_u16_sdwa v1, v0, v2 {PAD} src0_sel:WORD_0 src1_sel:DWORD",
            ["v_add_u16 v1, v0, v2", "v_and_b32 v1, 0xffff, v1"],
        ),
        # the result's place
        (
            "v_and_b32_sdwa v1, v0, v2 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:DWORD",
            [
                *("v_bfe_u32 v1, v0, 16, 16", "v_and_b32 v1, v1, v2"),
                *("v_bfe_u32 v1, v1, 0, 16", "v_lshlrev_b32 v1, 16, v1"),
            ],
        ),
        (
            f"v_cvt_f32_u32_sdwa v1, v1 {PAD} src0_sel:BYTE_3",
            ["v_bfe_u32 v1, v1, 24, 8", "v_cvt_f32_u32 v1, v1"],
        ),
        # a comparison has no vector register to put a part into: see the next test
        ("v_cmp_eq_u16_sdwa vcc, v0, v1 src0_sel:WORD_0 src1_sel:DWORD", ["v_cmp_eq_u16 vcc, v0, v1"]),
        # three words of LDS: what overwrites the address comes last
        (
            "ds_read_b96 v[13:15], v40 offset:896",
            ["ds_read_b32 v15, v40 offset:904", "ds_read_b64 v[13:14], v40 offset:896"],
        ),
        ("ds_read_b96 v[1:3], v1", ["ds_read_b32 v3, v1 offset:8", "ds_read_b64 v[1:2], v1"]),
        ("ds_read_b96 v[1:3], v3", ["ds_read_b64 v[1:2], v3", "ds_read_b32 v3, v3 offset:8"]),
        (
            "ds_write_b96 v0, v[2:4] offset:24",
            ["ds_write_b32 v0, v4 offset:32", "ds_write_b64 v0, v[2:3] offset:24"],
        ),
        # a result is limited behind the instruction
        (
            "v_fma_f32 v2, v1, 2.0, -v3 clamp",
            ["v_fma_f32 v2, v1, 2.0, -v3", "v_max_f32 v2, 0, v2", "v_min_f32 v2, 1.0, v2"],
        ),
        (
            "v_add_f64 v[2:3], v[4:5], v[0:1] clamp",
            [
                *("v_add_f64 v[2:3], v[4:5], v[0:1]", "v_max_f64 v[2:3], v[2:3], 0"),
                "v_min_f64 v[2:3], v[2:3], 1.0",
            ],
        ),
        ("v_mul_f32_e64 v2, v1, v0 div:2", ["v_mul_f32_e64 v2, v1, v0", "v_mul_f32 v2, 0.5, v2"]),
        (
            "v_add_u32_e64 v5, s[0:1], v7, v8 clamp",
            ["v_add_u32_e64 v5, s[0:1], v7, v8", "v_cndmask_b32_e64 v5, v5, -1, s[0:1]"],
        ),
        (
            "v_sub_co_u32_e64 v5, vcc, v7, 1 clamp",
            ["v_sub_co_u32_e64 v5, vcc, v7, 1", "v_cndmask_b32_e64 v5, v5, 0, vcc"],
        ),
        # each word is stored by itself
        (
            "buffer_store_dwordx2 v[5:6], v[2:3], s[0:3], s9 idxen offen offset:4088 glc slc",
            [
                "buffer_store_dword v5, v[2:3], s[0:3], s9 idxen offen offset:4088 glc slc",
                "buffer_store_dword v6, v[2:3], s[0:3], s9 idxen offen offset:4092 glc slc",
            ],
        ),
        (
            "buffer_store_dwordx3 v[5:7], off, s[0:3], 0",
            [
                "buffer_store_dword v5, off, s[0:3], 0",
                "buffer_store_dword v6, off, s[0:3], 0 offset:4",
                "buffer_store_dword v7, off, s[0:3], 0 offset:8",
            ],
        ),
        ("s_mov_b64 s[4:5], 0xfff", ["s_mov_b32 s4, 0xfff", "s_mov_b32 s5, 0"]),
        ("s_mov_b64 exec, 0x10001", ["s_mov_b32 exec_lo, 0x10001", "s_mov_b32 exec_hi, 0"]),
    ],
)  # fmt: skip
def test_replacements(before: str, after: list[str]) -> None:
    """By hand, from the GPU's manual: SDWA takes parts of operands, and clears the rest of the result."""
    assert corrected(kernel(before), EVERY) == kernel(*after)


@pytest.mark.parametrize(
    ("before", "after", "more"),
    [
        (
            f"v_mul_lo_u16_sdwa v1, v0, v1 {PAD} src0_sel:BYTE_0 src1_sel:DWORD",
            ["v_bfe_u32 v9, v0, 0, 8", "v_mul_lo_u16 v1, v9, v1", "v_and_b32 v1, 0xffff, v1"],
            1,
        ),
        (
            f"v_xor_b32_sdwa v1, v1, v2 {PAD} src0_sel:BYTE_1 src1_sel:BYTE_2",
            ["v_bfe_u32 v9, v1, 8, 8", "v_bfe_u32 v10, v2, 16, 8", "v_xor_b32 v1, v9, v10"],
            2,
        ),
        (
            "v_cmp_eq_u32_sdwa s[4:5], v0, v1 src0_sel:WORD_0 src1_sel:DWORD",
            ["v_bfe_u32 v9, v0, 0, 16", "v_cmp_eq_u32 s[4:5], v9, v1"],
            1,
        ),
        (
            "v_cmp_ne_u16 vcc, v0, v1 src0_sel:BYTE_1 src1_sel:WORD_1",  # as LLVM 15 writes it for GFX8
            ["v_bfe_u32 v9, v0, 8, 8", "v_bfe_u32 v10, v1, 16, 16", "v_cmp_ne_u16 vcc, v9, v10"],
            2,
        ),
    ],
)
def test_a_register_is_taken_where_no_other_is_free(before: str, after: list[str], more: int) -> None:
    other = kernel("v_mov_b32 v0, 0", name="other")
    text = corrected(kernel(before) + other, EVERY)
    assert text == kernel(*after, registers=9 + more) + other


LANE = ("v_mbcnt_lo_u32_b32 v9, -1, 0", "v_mbcnt_hi_u32_b32 v9, -1, v9")
READ = ("v_lshlrev_b32 v9, 2, v9", "ds_bpermute_b32 v1, v9, v0")


@pytest.mark.parametrize(
    ("before", "after", "more"),
    [
        (
            "v_cmp_nlt_f32_e64 s[8:9], |v7|, s11",
            ["v_and_b32 v9, 0x7fffffff, v7", "v_cmp_nlt_f32_e64 s[8:9], v9, s11"],
            1,
        ),
        (
            "v_cmp_gt_f32_e64 vcc, -|v7|, -s2",
            [
                *("v_or_b32 v9, 0x80000000, v7", "v_mov_b32 v10, s2", "v_xor_b32 v10, 0x80000000, v10"),
                "v_cmp_gt_f32_e64 vcc, v9, v10",
            ],
            2,
        ),
        (
            "v_cmp_class_f64_e64 s[4:5], |v[3:4]|, s6",
            [
                *("v_mov_b32 v9, v3", "v_and_b32 v10, 0x7fffffff, v4"),
                "v_cmp_class_f64_e64 s[4:5], v[9:10], s6",
            ],
            2,
        ),
        ("v_ldexp_f32 v6, -v6, v2", ["v_xor_b32 v9, 0x80000000, v6", "v_ldexp_f32 v6, v9, v2"], 1),
        (
            "v_add_f32_dpp v6, -v5, -v6 row_shr:1 row_mask:0xf bank_mask:0xf",
            [
                *("v_xor_b32 v9, 0x80000000, v5", "v_xor_b32 v10, 0x80000000, v6"),
                "v_add_f32_dpp v6, v9, v10 row_shr:1 row_mask:0xf bank_mask:0xf",
            ],
            2,
        ),
        (
            "v_cndmask_b32_e64 v6, v4, -v5, vcc",
            ["v_xor_b32 v9, 0x80000000, v5", "v_cndmask_b32_e64 v6, v4, v9, vcc"],
            1,
        ),
        ("v_fract_f32_e32 v0, v0", ["v_floor_f32 v9, v0", "v_sub_f32 v0, v0, v9"], 1),
        (
            "v_fract_f64_e32 v[0:1], v[2:3]",
            ["v_floor_f64 v[9:10], v[2:3]", "v_add_f64 v[0:1], v[2:3], -v[9:10]"],
            2,
        ),
        (
            "v_add_u32_e64 v4, s9, v1 clamp",
            ["v_not_b32 v9, s9", "v_min_u32_e64 v9, v1, v9", "v_add_u32_e64 v4, s9, v9"],
            1,
        ),
        (
            "v_subrev_u32_e64 v4, v0, v1 clamp",
            ["v_min_u32_e64 v9, v1, v0", "v_sub_u32_e64 v4, v1, v9"],
            1,
        ),
        ("ds_swizzle_b32 v1, v0", [*LANE, "v_and_b32 v9, 32, v9", *READ], 1),
        ("ds_swizzle_b32 v1, v0 offset:0x401f", [*LANE, "v_xor_b32 v9, 16, v9", *READ], 1),
        ("ds_swizzle_b32 v1, v0 offset:swizzle(SWAP,16)", [*LANE, "v_xor_b32 v9, 16, v9", *READ], 1),
        ("ds_swizzle_b32 v1, v0 offset:swizzle(REVERSE,8)", [*LANE, "v_xor_b32 v9, 7, v9", *READ], 1),
        (
            "ds_swizzle_b32 v1, v0 offset:swizzle(BROADCAST,8,3)",
            [*LANE, "v_and_b32 v9, 56, v9", "v_or_b32 v9, 3, v9", *READ],
            1,
        ),
        (
            'ds_swizzle_b32 v1, v0 offset:swizzle(BITMASK_PERM,"01pip")',
            [*LANE, "v_and_b32 v9, 39, v9", "v_or_b32 v9, 8, v9", "v_xor_b32 v9, 2, v9", *READ],
            1,
        ),
        (
            "ds_swizzle_b32 v1, v0 offset:swizzle(QUAD_PERM,1,0,3,2)",
            [
                *(*LANE, "v_lshlrev_b32 v10, 1, v9", "v_and_b32 v10, 6, v10", "v_mov_b32 v11, 0xb1"),
                *("v_lshrrev_b32 v11, v10, v11", "v_and_b32 v11, 3, v11", "v_and_b32 v9, 60, v9"),
                *("v_or_b32 v9, v9, v11", *READ),
            ],
            3,
        ),
    ],
)
def test_a_changed_sign_a_limit_and_a_lane_take_registers(before: str, after: list[str], more: int) -> None:
    """By hand, from AMD's Vega manual: bit 31 is the sign, DS_SWIZZLE_B32's pattern is and, or, xor."""
    assert corrected(kernel(before), EVERY) == kernel(*after, registers=9 + more)


def test_no_register_is_taken_behind_the_last_one() -> None:
    one, two = "v_cmp_gt_f32_e64 vcc, -v7, v2", "v_cmp_gt_f32_e64 vcc, -v7, -v2"
    assert "v_xor_b32 v255" in corrected(kernel(one, registers=255), EVERY)
    for text in (kernel(two, registers=255), kernel(one, registers=256)):
        assert corrected(text, EVERY) == text


def test_a_function_beside_a_kernel_takes_none_of_its_registers() -> None:
    function = "helper:\n\tv_cmp_gt_f32_e64 vcc, |v7|, v2\n\ts_setpc_b64 s[30:31]\n"
    text = function + kernel("v_mov_b32 v0, 0")
    assert corrected(text, EVERY) == text


def test_points_keep_their_identity_where_no_instruction_of_theirs_changes() -> None:
    """By clang 15's code of MIOpen's kernels for gfx801 and gfx902: tanh and average pooling compare |x|."""
    tanh = LAYERS["relu"].replace("=relu", "=tanh")
    texts = {
        **{name: LAYERS[name] for name in ("relu", "softmax", "lrn", "pool_max", "pool_avg")},
        "tanh": tanh,
    }
    versions = {name: version_of(launches(parse(text), "fwd", 4)) for name, text in texts.items()}
    assert {name for name, version in versions.items() if version == "3"} == {"tanh", "pool_avg"}
    assert set(versions.values()) == {"2", "3"}


@pytest.mark.parametrize(
    "instruction",
    [
        "v_add_u32_e32 v1, vcc, v1, v2",
        f"v_or_b32_sdwa v0, v0, v1 {PAD} src0_sel:BYTE_0 src1_sel:DWORD",
        "v_and_b32_sdwa v1, v0, v2 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:DWORD",
        f"v_mul_f32_sdwa v1, -v0, v2 {PAD} src0_sel:WORD_1 src1_sel:DWORD",
        "v_cmpx_eq_u16_sdwa vcc, v0, v1 src0_sel:BYTE_0 src1_sel:DWORD",
        "ds_read_b96 v[1:3], v0 offset:65528",
        "v_readfirstlane_b32 s11, v0",
        "v_cmp_lt_f32_e64 s[8:9], v7, -1.0",
        "v_max_f32_e64 v1, |v0|, -v2",
        "buffer_store_dwordx2 v[5:6], off, s[0:3], 0 offset:4092",
        "ds_swizzle_b32 v1, v0 offset:0xc000",
        "v_mad_u32_u24 v1, v0, v2, v3 clamp",
        "ds_read_b128 v[1:4], v0",
        "s_mov_b64 s[4:5], -1",
        "s_mov_b64 s[4:5], 0xfffffff0",
        "s_and_b64 s[4:5], s[4:5], 0xfff",
        "v_add_f32_dpp v6, v6, v6 row_shr:1 row_mask:0xf bank_mask:0xf",
    ],
)
def test_sound_instructions_and_those_without_a_replacement_stay(instruction: str) -> None:
    assert corrected(kernel(instruction), EVERY) == kernel(instruction)


def test_a_release_without_the_defect_keeps_the_code() -> None:
    text = kernel("v_mul_lo_u16_e32 v3, 3, v0")
    assert corrected(text, ("lane_moves", "wide_literals")) == text


@pytest.mark.parametrize("gfx", [name for name, each in GPUS.items() if not each.least_clang])
def test_compiled_code_loses_what_gem5_executes_wrongly(gfx: str, clang: Compiler, tmp_path: Path) -> None:
    """The kernel is left whole: its disassembly is the compiler's with more instructions."""
    source = tmp_path / "divide.cl"
    source.write_text(DIVIDE)
    narrow: DefectName = "narrow_results"
    parts: tuple[DefectName, ...] = ("ignored_sdwa", "scalar_sdwa")
    row, plain, changed = Row("divide.cl", ""), tmp_path / "plain.o", tmp_path / "changed.o"
    compile_source(source, row, gfx, clang, plain, expect=["divide"])
    compile_source(source, row, gfx, correcting(clang, (narrow, *parts)), changed, expect=["divide"])
    known = load_release("v23.0" if gfx in ("gfx801", "gfx803") else "v24.1", ROOT).known(gfx, ROOT)
    assert any("v_mul_lo_u16" in named for named in known.suspects([plain], certain=True))
    assert known.suspects([changed], certain=True) == ()
    words = [instructions(path, gfx) for path in (plain, changed)]
    assert words[1].count("v_and_b32") >= sum("16" in word for word in words[0])
    untouched = re.compile(r"s_(?!nop)|flat_")  # s_nop fills the end
    assert list(filter(untouched.match, words[1])) == list(filter(untouched.match, words[0]))


def instructions(path: Path, gfx: str) -> list[str]:
    command = ["llvm-objdump-15", "-d", f"--mcpu={gfx}", "--no-show-raw-insn", str(path)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line.split()[0].partition("_e")[0] for line in text.splitlines() if line.startswith("\t")]
