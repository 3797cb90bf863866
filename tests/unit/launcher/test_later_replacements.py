"""Code of gfx90a and gfx942 changed for gem5: the interpreter computes the same with it and without."""

from __future__ import annotations

import re

import numpy as np
import pytest
from machine_code import assembled, execute

from apuflow.interpret.opcodes import IsaName
from apuflow.launcher.corrections import corrected
from apuflow.launcher.defects import PATTERNS, DefectName
from apuflow.launcher.gem5_decoder import is_executed

KERNEL = """\t.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
k:
\t{}
\ts_endpgm
\t.amdhsa_kernel k
\t\t.amdhsa_next_free_vgpr {}
\t\t.amdhsa_next_free_sgpr 16
\t\t.amdhsa_accum_offset 16
\t.end_amdhsa_kernel
"""
RANDOM = np.random.default_rng(7)
WORDS = {f"v{number}": RANDOM.integers(0, 1 << 32, 64, np.uint32) for number in range(12)}
FLOATS = {f"v{number}": RANDOM.normal(size=64).astype(np.float32) for number in range(12)}
DOUBLES = {
    f"v{2 * number + half}": words
    for number in range(6)
    for half, words in enumerate(RANDOM.normal(size=64).view(np.uint32).reshape(64, 2).T)
}
SCALARS = {f"s{number}": int(word) for number, word in enumerate(RANDOM.integers(0, 1 << 31, 12))}
FULL = "row_mask:0xf bank_mask:0xf bound_ctrl:0"


def changed(line: str, defect: DefectName, registers: int = 16) -> list[str]:
    text = corrected(KERNEL.format(line, registers), (defect,))
    return [each.strip() for each in text.partition("k:\n")[2].partition("\ts_endpgm")[0].splitlines()]


@pytest.mark.parametrize(
    ("line", "defect", "of"),
    [
        ("v_pack_b32_f16 v3, v1, v2", "refused_packs", WORDS),
        ("v_pack_b32_f16 v3, v1, v2 op_sel:[1,1,0]", "refused_packs", WORDS),
        ("v_pack_b32_f16 v3, s1, v2 op_sel:[0,1,0]", "refused_packs", WORDS),
        ("v_pack_b32_f16 v3, v1, 1.0", "refused_packs", WORDS),
        ("v_pack_b32_f16 v3, 0, v3 op_sel:[0,1,0]", "refused_packs", WORDS),
        ("v_pk_add_f32 v[2:3], v[4:5], 1.0 op_sel_hi:[1,0]", "packed_constants", FLOATS),
        ("v_pk_mul_f32 v[2:3], v[2:3], 0.5 op_sel:[1,0] op_sel_hi:[0,0]", "packed_constants", FLOATS),
        (
            "v_pk_fma_f32 v[2:3], v[4:5], v[6:7], v[2:3] op_sel:[1,0,1] op_sel_hi:[0,1,0] "
            "neg_lo:[0,1,0] neg_hi:[1,0,1]",
            "packed_signs",
            FLOATS,
        ),
        ("v_mov_b32_dpp v3, v1 row_mirror row_mask:0xf bank_mask:0xf", "mirrored_rows", WORDS),
        (f"v_add_f32_dpp v3, v1, v2 row_half_mirror {FULL}", "mirrored_rows", FLOATS),
        (f"v_max_f32_dpp v3, -v3, |v3| row_mirror {FULL}", "mirrored_rows", FLOATS),
        (f"v_add_u32_dpp v3, v3, v2 row_shr:1 {FULL}", "bounded_dpp", WORDS),
        (f"v_max_f32_dpp v3, |v1|, v2 row_ror:8 {FULL}", "bounded_dpp", FLOATS),
        ("v_fmac_f64_e32 v[2:3], v[4:5], v[6:7]", "misread_fmac", DOUBLES),
    ],
)
def test_changed_code_computes_the_same(line: str, defect: DefectName, of: dict[str, object]) -> None:
    lines = changed(line, defect)
    assert not any(re.match(PATTERNS[defect], each) for each in lines), lines
    for each in lines:
        assert is_executed(_words(each), "v24.1"), each
    registers = {**of, **SCALARS}
    plain, made = (execute("gfx90a", code, registers) for code in ([line], lines))
    assert np.array_equal(plain.v[:12], made.v[:12])


def _words(line: str, isa: IsaName = "gfx90a") -> tuple[int, ...]:
    return assembled(isa, (line,))[0]


def test_a_scaled_sum_takes_a_free_scalar_register() -> None:
    line = "s_lshl2_add_u32 s3, s1, s3"
    lines = changed(line, "scaled_sums")
    assert lines == ["s_lshl_b32 s16, s1, 2", "s_add_u32 s3, s16, s3"]
    plain, made = (execute("gfx90a", code, SCALARS) for code in ([line], lines))
    assert np.array_equal(plain.s[:12], made.s[:12])


def test_accumulation_registers_go_through_free_ones() -> None:
    assert changed("global_store_dwordx2 v[2:3], a[4:5], off", "accumulator_accesses", 24) == [
        "v_accvgpr_read_b32 v16, a4",
        "v_accvgpr_read_b32 v17, a5",
        "global_store_dwordx2 v[2:3], v[16:17], off",
    ]
    assert changed("ds_read_b32 a3, v1", "accumulator_accesses", 24) == [
        "ds_read_b32 v16, v1",
        "s_waitcnt lgkmcnt(0)",
        "v_accvgpr_write_b32 a3, v16",
    ]


def test_accumulation_registers_begin_behind_the_taken_ones() -> None:
    """24 registers, 8 of them accumulation: one more makes 16 + 4 and 8 behind them."""
    present: tuple[DefectName, ...] = ("accumulator_accesses",)
    text = corrected(KERNEL.format("ds_read_b32 a3, v1", 24), present)
    assert ".amdhsa_accum_offset 20" in text
    assert ".amdhsa_next_free_vgpr 28" in text


@pytest.mark.parametrize("line", ["buffer_wbl2", "buffer_inv", "s_lshl1_add_u32 s0, s1, s2"])
def test_gem5_does_not_execute_what_is_replaced(line: str) -> None:
    isa: IsaName = "gfx90a" if line.startswith("s_") else "gfx940"
    words = {"buffer_wbl2": (0xE0A00000, 0), "buffer_inv": (0xE0A48000, 0)}.get(line) or _words(line, isa)
    assert not is_executed(words, "v24.1")


@pytest.mark.parametrize(
    ("line", "executed"),
    [
        ("v_mfma_f32_32x32x8bf16_1k v[0:15], v[16:17], v[18:19], v[0:15]", False),
        ("v_mfma_f32_16x16x16f16 v[0:3], v[16:17], v[18:19], v[0:3]", True),
        ("v_pack_b32_f16 v0, v1, v2", False),
        ("global_atomic_add_f32 v[0:1], v2, off", True),
        ("buffer_atomic_add v0, off, s[0:3], 0", False),
        ("v_fma_mix_f32 v0, v1, v2, v3", False),
        ("v_lshl_or_b32 v0, v1, 10, v0", True),
        ("s_waitcnt vmcnt(0)", True),
        ("s_load_dwordx4 s[0:3], s[4:5], 0x10", True),
    ],
)
def test_what_gem5_decodes(line: str, executed: bool) -> None:
    """As gem5 v24.1 says of them when it runs."""
    assert is_executed(_words(line), "v24.1") is executed
