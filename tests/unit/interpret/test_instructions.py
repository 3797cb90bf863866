"""Single instructions against AMD's manuals ("Vega ISA" unless said), worked out by hand."""

from __future__ import annotations

import math

import machine_code
import numpy as np
import pytest

from apuflow.core.errors import EngineError
from apuflow.interpret.opcodes import IsaName

NAN = float("nan")
INFINITY = float("inf")
SMALLEST = 2.0**-149

CHOOSE = "\nv_cndmask_b32 v0, v3, v4, vcc"
YES: dict[str, object] = {"v3": 5, "v4": 6}

VECTOR: list[tuple[str, dict[str, object], object]] = [
    ("v_add_f32 v0, v1, v2", {"v1": 1.5, "v2": 2.25}, 3.75),
    ("v_add_f32_e64 v0, |v1|, -v2", {"v1": -1.5, "v2": 2.25}, -0.75),
    ("v_add_f32_e64 v0, v1, v2 mul:4", {"v1": 1.5, "v2": 2.25}, 15.0),
    ("v_add_f32_e64 v0, v1, v2 div:2", {"v1": 1.5, "v2": 2.5}, 2.0),
    ("v_add_f32_e64 v0, v1, v2 clamp", {"v1": 1.5, "v2": 2.25}, 1.0),
    ("v_add_f32_e64 v0, v1, v2 clamp", {"v1": NAN, "v2": 1.0}, 0.0),
    ("v_subrev_f32 v0, v1, v2", {"v1": 1.5, "v2": 2.25}, 0.75),
    ("v_mul_legacy_f32 v0, v1, v2", {"v1": 0.0, "v2": INFINITY}, 0.0),
    ("v_max_f32 v0, v1, v2", {"v1": NAN, "v2": 2.0}, 2.0),
    ("v_min_f32 v0, v1, v2", {"v1": -3.0, "v2": 2.0}, -3.0),
    ("v_mac_f32 v0, v1, v2", {"v0": 10.0, "v1": 2.0, "v2": 3.0}, 16.0),
    ("v_fma_f32 v0, v1, v2, v3", {"v1": 1 + 2.0**-23, "v2": 1 - 2.0**-23, "v3": -1.0}, -(2.0**-46)),
    ("v_madak_f32 v0, v1, v2, 0x40400000", {"v1": 2.0, "v2": 5.0}, 13.0),
    ("v_madmk_f32 v0, v1, 0x40400000, v2", {"v1": 2.0, "v2": 5.0}, 11.0),
    ("v_med3_f32 v0, v1, v2, v3", {"v1": 3.0, "v2": 1.0, "v3": 2.0}, 2.0),
    ("v_rndne_f32 v0, v1", {"v1": 2.5}, 2.0),
    ("v_fract_f32 v0, v1", {"v1": -0.25}, 0.75),
    ("v_fract_f32 v0, v1", {"v1": -1e-9}, 1 - 2.0**-24),
    ("v_ldexp_f32 v0, v1, v2", {"v1": 1.5, "v2": -2}, 0.375),
    ("v_frexp_mant_f32 v0, v1", {"v1": 12.0}, 0.75),
    ("v_frexp_exp_i32_f32 v0, v1", {"v1": 12.0}, 4),
    ("v_frexp_exp_i32_f32 v0, v1", {"v1": INFINITY}, 0),
    ("v_exp_f32 v0, v1", {"v1": 10.0}, 1024.0),
    ("v_log_f32 v0, v1", {"v1": 0.125}, -3.0),
    ("v_rcp_f32 v0, v1", {"v1": -4.0}, -0.25),
    ("v_rsq_f32 v0, v1", {"v1": 16.0}, 0.25),
    ("v_sin_f32 v0, v1", {"v1": 0.25}, 1.0),
    ("v_cvt_f16_f32 v0, v1", {"v1": 65536.0}, 0x7C00),
    ("v_cvt_f16_f32 v0, v1", {"v1": 1 + 2.0**-11}, 0x3C00),
    ("v_cvt_f32_f16 v0, v1", {"v1": 0xFFFF3555}, 0.333251953125),
    ("v_cvt_u32_f32 v0, v1", {"v1": -1.5}, 0),
    ("v_cvt_u32_f32 v0, v1", {"v1": 3e10}, 0xFFFFFFFF),
    ("v_cvt_i32_f32 v0, v1", {"v1": NAN}, 0),
    ("v_cvt_i32_f32 v0, v1", {"v1": -1.9}, -1),
    ("v_cvt_f32_ubyte2 v0, v1", {"v1": 0x00C80000}, 200.0),
    ("v_cvt_pkrtz_f16_f32 v0, v1, v2", {"v1": 1 + 2.0**-11, "v2": -2.0}, 0xC0003C00),
    ("v_cvt_off_f32_i4 v0, v1", {"v1": 8}, -0.5),
    ("v_cmp_lt_f32 vcc, v1, v2" + CHOOSE, {"v1": 1.0, "v2": 2.0} | YES, 6),
    ("v_cmp_nlt_f32 vcc, v1, v2" + CHOOSE, {"v1": NAN, "v2": 2.0} | YES, 6),
    ("v_cmp_nlt_f32_e64 vcc, |v1|, 1.0" + CHOOSE, {"v1": -3.0} | YES, 6),
    ("v_cmp_class_f32 vcc, v1, v2" + CHOOSE, {"v1": -0.0, "v2": 0x20} | YES, 6),
    ("v_cmp_class_f32 vcc, v1, v2" + CHOOSE, {"v1": SMALLEST, "v2": 0x80} | YES, 6),
    ("v_add_co_u32 v0, vcc, v1, v2\nv_addc_co_u32 v0, vcc, v3, v4, vcc", {"v1": -1, "v2": 1} | YES, 12),
    ("v_sub_co_u32 v0, vcc, v1, v2\nv_subb_co_u32 v0, vcc, v4, v3, vcc", {"v1": 0, "v2": 1} | YES, 0),
    ("v_bfe_u32 v0, v1, 4, 8", {"v1": 0xABCD1234}, 0x23),
    ("v_bfe_i32 v0, v1, 4, 8", {"v1": 0x800}, 0xFFFFFF80),
    ("v_bfi_b32 v0, v1, v2, v3", {"v1": 0xFF00, "v2": 0x1234, "v3": 0xABCD}, 0x12CD),
    ("v_bfm_b32 v0, 4, 8", {}, 0xF00),
    ("v_bfrev_b32 v0, v1", {"v1": 1}, 0x80000000),
    ("v_ffbh_u32 v0, v1", {"v1": 0x00010000}, 15),
    ("v_ffbl_b32 v0, v1", {"v1": 0x00010000}, 16),
    ("v_ffbh_i32 v0, v1", {"v1": -2}, 31),
    ("v_ffbh_u32 v0, v1", {"v1": 0}, 0xFFFFFFFF),
    ("v_alignbit_b32 v0, v1, v2, 31", {"v1": 1, "v2": 0x80000000}, 3),
    ("v_perm_b32 v0, v1, v2, v3", {"v1": 0x77665544, "v2": 0x33221100, "v3": 0x070C0301}, 0x77003311),
    ("v_mul_u32_u24 v0, v1, v2", {"v1": 0xFF000003, "v2": 5}, 15),
    ("v_mul_i32_i24 v0, v1, v2", {"v1": 0x00FFFFFF, "v2": 5}, -5),
    ("v_mul_hi_u32 v0, v1, v2", {"v1": -1, "v2": -1}, 0xFFFFFFFE),
    ("v_mad_u64_u32 v[0:1], vcc, v2, v3, v[4:5]", {"v2": -1, "v3": -1, "v4": 1}, 2),
    ("v_lshlrev_b64 v[0:1], 33, v[2:3]", {"v2": 1}, 0),
    ("v_ashrrev_i64 v[0:1], 32, v[2:3]", {"v3": 0x80000000}, 0x80000000),
    ("v_lshl_add_u32 v0, v1, 3, v2", {"v1": 5, "v2": 2}, 42),
    ("v_xad_u32 v0, v1, v2, v3", {"v1": 6, "v2": 3, "v3": 10}, 15),
    ("v_sad_u8 v0, v1, v2, v3", {"v1": 0x01050000, "v2": 0x04020000, "v3": 100}, 106),
    ("v_bcnt_u32_b32 v0, v1, v2", {"v1": 0xFF0F, "v2": 3}, 15),
    ("v_add_u16 v0, v1, v2", {"v0": -1, "v1": 0xFFFF, "v2": 2}, 1),
    ("v_pk_add_f16 v0, v1, v2", {"v1": 0x3C004000, "v2": 0x3C003C00}, 0x40004200),
    ("v_pk_mul_lo_u16 v0, v1, v2 op_sel_hi:[1,0]", {"v1": 0x00030002, "v2": 0x00070005}, 0x000F000A),
    ("v_add_u32_sdwa v0, v1, v2 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:BYTE_0",
     {"v0": 0x11223344, "v1": 0x00050000, "v2": 0xFF02}, 0x11220744),
    ("v_add_f16_sdwa v0, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:WORD_0",
     {"v1": 0x3C000000, "v2": 0x3C00}, 0x40000000),
    ("v_mov_b32 v0, 0.5", {}, 0.5),
    ("v_mov_b32 v0, -16", {}, -16),
    ("v_div_fixup_f32 v0, v1, v2, v3", {"v1": 7.0, "v2": 0.0, "v3": -1.0}, -INFINITY),
    ("v_div_fixup_f32 v0, v1, v2, v3", {"v1": 7.0, "v2": -2.0, "v3": 1.0}, -7.0),
]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "registers", "expected"), VECTOR, ids=[each[0].split("\n")[0] for each in VECTOR]
)
def test_vector_instructions(code: str, registers: dict[str, object], expected: object) -> None:
    waves = machine_code.execute("vega", code.split("\n"), registers)
    assert hex(waves.v[0, 0, 17]) == hex(int(machine_code.bits(expected)))


LATER: list[tuple[IsaName, str, dict[str, object], object]] = [
    ("gfx906", "v_fma_mix_f32 v0, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[1,0,0]",
     {"v1": 0x40000000, "v2": 3.0, "v3": 1.0}, 7.0),
    ("gfx906", "v_dot4_i32_i8 v0, v1, v2, v3", {"v1": 0x0201FF03, "v2": 0x01010101, "v3": 10}, 15),
    ("gfx906", "v_dot2_f32_f16 v0, v1, v2, v3", {"v1": 0x40003C00, "v2": 0x3C004000, "v3": 1.0}, 5.0),
    ("gfx90a", "v_pk_mul_f32 v[0:1], v[2:3], v[4:5] op_sel:[1,0]", {"v2": 2.0, "v3": 3.0, "v4": 5.0}, 15.0),
    ("gfx90a", "v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7] neg_lo:[0,0,1]",
     {"v2": 2.0, "v4": 5.0, "v6": 1.0}, 9.0),
    ("gfx940", "v_lshl_add_u64 v[0:1], v[2:3], 2, v[4:5]", {"v2": 5, "v4": 1}, 21),
    ("gcn3", "v_add_u32 v0, vcc, v1, v2", {"v1": 5, "v2": 6}, 11),
    ("gcn3", "v_mul_f16 v0, v1, v2", {"v0": -1, "v1": 0x4000, "v2": 0x4200}, 0x4600),
]  # fmt: skip


@pytest.mark.parametrize(("isa", "code", "registers", "expected"), LATER, ids=[each[1] for each in LATER])
def test_instructions_of_other_gpus(
    isa: IsaName, code: str, registers: dict[str, object], expected: object
) -> None:
    waves = machine_code.execute(isa, [code], registers)
    assert hex(waves.v[0, 0, 17]) == hex(int(machine_code.bits(expected)))


SCALAR: list[tuple[str, dict[str, object], int, int | None]] = [
    ("s_add_u32 s0, s1, s2", {"s1": 0xFFFFFFFF, "s2": 2}, 1, 1),
    ("s_addc_u32 s0, s1, s2", {"s1": 5, "s2": 6, "scc": 1}, 12, 0),
    ("s_add_i32 s0, s1, s2", {"s1": 0x7FFFFFFF, "s2": 1}, 0x80000000, 1),
    ("s_sub_u32 s0, s1, s2", {"s1": 1, "s2": 2}, 0xFFFFFFFF, 1),
    ("s_mul_hi_u32 s0, s1, s2", {"s1": 0x80000000, "s2": 6}, 3, None),
    ("s_bfe_u32 s0, s1, 0x80004", {"s1": 0x12345678}, 0x67, 1),
    ("s_bfe_i32 s0, s1, 0x80004", {"s1": 0x800}, 0xFFFFFF80, 1),
    ("s_bfm_b32 s0, 4, 8", {}, 0xF00, None),
    ("s_ff1_i32_b32 s0, s1", {"s1": 0x100}, 8, None),
    ("s_flbit_i32_b32 s0, s1", {"s1": 0x00010000}, 15, None),
    ("s_bcnt1_i32_b64 s0, s[2:3]", {"s2": 0xF, "s3": 1}, 5, 1),
    ("s_min_i32 s0, s1, s2", {"s1": 0xFFFFFFFF, "s2": 3}, 0xFFFFFFFF, 1),
    ("s_cselect_b32 s0, s1, s2", {"s1": 5, "s2": 6, "scc": 0}, 6, None),
    ("s_lshl2_add_u32 s0, s1, s2", {"s1": 0x40000000, "s2": 7}, 7, 1),
    ("s_sext_i32_i16 s0, s1", {"s1": 0x8000}, 0xFFFF8000, None),
    ("s_movk_i32 s0, -2", {}, 0xFFFFFFFE, None),
    ("s_addk_i32 s0, -2", {"s0": 1}, 0xFFFFFFFF, 0),
    ("s_pack_ll_b32_b16 s0, s1, s2", {"s1": 0x11112222, "s2": 0x33334444}, 0x44442222, None),
    ("s_bitset1_b32 s0, 5", {"s0": 1}, 0x21, None),
    ("s_quadmask_b32 s0, s1", {"s1": 0x10F0}, 0b1010, 1),
    ("s_ashr_i32 s0, s1, 4", {"s1": 0x80000000}, 0xF8000000, 1),
    ("s_absdiff_i32 s0, s1, s2", {"s1": 3, "s2": 10}, 7, 1),
]


@pytest.mark.parametrize(("code", "registers", "expected", "scc"), SCALAR, ids=[each[0] for each in SCALAR])
def test_scalar_instructions(code: str, registers: dict[str, object], expected: int, scc: int | None) -> None:
    waves = machine_code.execute("vega", [code], registers)
    assert hex(waves.s[0, 0]) == hex(expected)
    if scc is not None:
        assert waves.scc[0] == scc


LANE = np.arange(64)


@pytest.mark.parametrize(
    ("control", "expected"),
    [
        ("quad_perm:[3,2,1,0]", LANE ^ 3),
        ("row_shl:1", np.where(LANE % 16 == 15, 0, LANE + 1)),
        ("row_shr:2", np.where(LANE % 16 < 2, 0, LANE - 2)),
        ("row_ror:4", LANE & 48 | (LANE - 4) % 16),
        ("row_mirror", LANE & 48 | 15 - LANE % 16),
        ("row_half_mirror", LANE & 56 | 7 - LANE % 8),
        ("row_bcast:15", np.where(LANE < 16, 0, (LANE & 48) - 1)),
        ("row_bcast:31", np.where(LANE < 32, 0, 31)),
        ("wave_shr:1", np.maximum(LANE - 1, 0)),
    ],
)
def test_dpp_moves_lanes_and_gives_0_where_there_is_none(control: str, expected: np.ndarray) -> None:
    line = f"v_mov_b32_dpp v0, v1 {control} row_mask:0xf bank_mask:0xf bound_ctrl:0"
    waves = machine_code.execute("vega", [line], {"v1": LANE})
    assert waves.v[0, 0].tolist() == expected.tolist()


def test_dpp_without_bounds_and_outside_of_its_masks_keeps_the_target() -> None:
    line = "v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xa bank_mask:0xf"
    waves = machine_code.execute("vega", [line], {"v0": 100 + LANE, "v1": LANE})
    written = (LANE // 16 % 2 == 1) & (LANE % 16 > 0)
    assert waves.v[0, 0].tolist() == np.where(written, LANE - 1, 100 + LANE).tolist()


def test_lanes_that_are_not_active_keep_their_registers_and_give_no_bit() -> None:
    lines = ["v_add_u32 v0, v1, v2", "v_cmp_eq_u32 vcc, v1, v1"]
    waves = machine_code.execute("vega", lines, {"exec": 0b101, "v1": 5, "v2": 6, "v0": 1})
    assert waves.v[0, 0, :4].tolist() == [11, 1, 11, 1]
    assert waves.s[106:108, 0].tolist() == [0b101, 0]


def test_exec_is_saved_and_replaced() -> None:
    lines = ["s_and_saveexec_b64 s[4:5], vcc", "v_mov_b32 v0, 1", "s_mov_b64 exec, s[4:5]", "v_mov_b32 v1, 1"]
    waves = machine_code.execute("vega", lines, {"exec": 0b111, "s106": 0b110})
    assert waves.v[0, 0, :4].tolist() == [0, 1, 1, 0]
    assert waves.v[1, 0, :4].tolist() == [1, 1, 1, 0]


def test_lanes_are_counted_and_read() -> None:
    lines = ["v_mbcnt_lo_u32_b32 v0, -1, 0", "v_mbcnt_hi_u32_b32 v0, -1, v0", "v_readlane_b32 s0, v0, 40",
             "v_readfirstlane_b32 s1, v0", "v_writelane_b32 v1, s0, 3"]  # fmt: skip
    waves = machine_code.execute("vega", lines, {"exec": 1 << 7 | 1 << 50})
    assert waves.v[0, 0, [7, 50]].tolist() == [7, 50]
    assert waves.s[:2, 0].tolist() == [0, 7]
    assert waves.v[1, 0, 3] == 0


def test_swizzle_and_permutes_through_lds_hardware() -> None:
    lines = [
        "ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,2)",
        "ds_bpermute_b32 v2, v3, v1",
        "ds_permute_b32 v4, v3, v1",
    ]
    waves = machine_code.execute("vega", lines, {"v1": LANE, "v3": 4 * ((LANE + 1) % 64)})
    assert waves.v[0, 0].tolist() == (LANE ^ 2).tolist()
    assert waves.v[2, 0].tolist() == ((LANE + 1) % 64).tolist()
    assert waves.v[4, 0].tolist() == ((LANE - 1) % 64).tolist()


def test_lds_is_read_and_written_in_pairs_and_added_to() -> None:
    lines = ["ds_write2_b32 v0, v1, v2 offset1:1", "ds_read_b64 v[4:5], v0", "ds_add_rtn_u32 v6, v3, v1",
             "ds_read_u8 v7, v3 offset:1", "ds_read_i16 v8, v3"]  # fmt: skip
    waves = machine_code.execute(
        "vega", lines, {"exec": 0b11, "v0": 8 * LANE, "v1": 0xFFFE, "v2": 7}, lds=512
    )
    assert waves.v[4, 0, :2].tolist() == [0xFFFE, 0xFFFE]
    assert waves.v[5, 0, :2].tolist() == [7, 7]
    assert waves.v[6, 0, :2].tolist() == [0xFFFE, 0x1FFFC]
    assert waves.v[7, 0, 0] == 0xFF
    assert waves.v[8, 0, 0] == 0xFFFFFFFA


@pytest.mark.parametrize("rows", [16, 32])
def test_matrix_product_in_the_layout_of_the_manual(rows: int) -> None:
    """Lanes hold columns of D in groups of four rows ("Instinct MI200 ISA", chapter 7)."""
    depth = 64 // rows
    random = np.random.default_rng(1)
    a, b = random.integers(-4, 5, (rows, depth)), random.integers(-4, 5, (depth, rows))
    c = random.integers(-4, 5, (rows, rows))
    lane = np.arange(64)
    registers: dict[str, object] = {
        "v0": a[lane % rows, lane // rows].astype(float),
        "v1": b[lane // rows, lane % rows].astype(float),
    }
    items = rows * rows // 64
    place = [4 * (64 // rows) * (item // 4) + 4 * (lane // rows) + item % 4 for item in range(items)]
    for item in range(items):
        registers[f"v{8 + item}"] = c[place[item], lane % rows].astype(float)
    name = f"v_mfma_f32_{rows}x{rows}x{depth}f32"
    line = f"{name} v[40:{39 + items}], v0, v1, v[8:{7 + items}]"
    waves = machine_code.execute("gfx90a", [line], registers)
    for item in range(items):
        assert waves.vf[40 + item, 0].tolist() == (a @ b + c)[place[item], lane % rows].tolist()


def test_half_precision_matrix_product_adds_in_fp32() -> None:
    line = "v_mfma_f32_16x16x16f16 v[8:11], v[0:1], v[2:3], 0"
    half = int(np.float16(0.1).view(np.uint16))
    waves = machine_code.execute("gfx90a", [line], {f"v{each}": half | half << 16 for each in range(4)})
    assert waves.vf[8, 0, 0] == pytest.approx(16 * float(np.float16(0.1)) ** 2, rel=1e-7)


DIVISIONS = [(1.0, 3.0), (1e-44, 3e38), (-7.0, 2e-45), (0.0, -2.0), (5.0, INFINITY)]


@pytest.mark.parametrize(("numerator", "denominator"), DIVISIONS)
def test_division_as_clang_writes_it(numerator: float, denominator: float) -> None:
    """Rounded right, as IEEE 754 demands; the sequence is LLVM's for OpenCL's rounded division."""
    lines = [
        "v_div_scale_f32 v2, s[0:1], v1, v1, v0",
        "v_div_scale_f32 v3, vcc, v0, v1, v0",
        "v_rcp_f32 v4, v2",
        "v_fma_f32 v5, -v2, v4, 1.0",
        "v_fma_f32 v4, v5, v4, v4",
        "v_mul_f32 v5, v3, v4",
        "v_fma_f32 v6, -v2, v5, v3",
        "v_fma_f32 v5, v6, v4, v5",
        "v_fma_f32 v2, -v2, v5, v3",
        "v_div_fmas_f32 v2, v2, v4, v5",
        "v_div_fixup_f32 v0, v2, v1, v0",
    ]
    waves = machine_code.execute("vega", lines, {"v0": numerator, "v1": denominator})
    with np.errstate(all="ignore"):
        expected = np.float32(numerator) / np.float32(denominator)
    assert waves.vf[0, 0, 0] == expected
    assert math.copysign(1, waves.vf[0, 0, 0]) == math.copysign(1, expected)


def test_what_is_not_known_is_named_with_its_address() -> None:
    with pytest.raises(EngineError, match=r"v_screen_partition_4se_b32 \(at 0x1000\)"):
        machine_code.execute("vega", ["v_screen_partition_4se_b32 v0, v1"], {})
