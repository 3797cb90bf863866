"""Scalar instructions against AMD's manual "Vega ISA", chapters 12.1 to 12.4, worked out by hand."""

from __future__ import annotations

import manual_rows
from manual_rows import Row

A, B = 0xF0F0A5A5, 0x0FF05A00
WIDE, OTHER = 0x8000000100000003, 0x00000003FFFFFFFF
ALL = 0xFFFFFFFFFFFFFFFF

TABLE = [
    Row("s_mov_b32 s0, s2", {"s2": A}, A),
    Row("s_not_b32 s0, s2", {"s2": A}, 0x0F0F5A5A, 1),
    Row("s_not_b32 s0, s2", {"s2": 0xFFFFFFFF, "scc": 1}, 0, 0),
    Row("s_not_b64 s[0:1], s[2:3]", {"s2": WIDE}, 0x7FFFFFFEFFFFFFFC, 1),
    Row("s_wqm_b32 s0, s2", {"s2": 0x00010840}, 0x000F0FF0, 1),
    Row("s_wqm_b64 s[0:1], s[2:3]", {"s2": 0x0000000200000000}, 0x0000000F00000000, 1),
    Row("s_quadmask_b64 s[0:1], s[2:3]", {"s2": 0x100000000000000F}, 0x8001, 1),
    Row("s_brev_b32 s0, s2", {"s2": 0x00000003}, 0xC0000000),
    Row("s_brev_b64 s[0:1], s[2:3]", {"s2": 0x0000000300000001}, 0x80000000C0000000),
    Row("s_bcnt0_i32_b32 s0, s2", {"s2": 0xFFFFFF00}, 8, 1),
    Row("s_bcnt0_i32_b64 s0, s[2:3]", {"s2": ALL, "scc": 1}, 0, 0),
    Row("s_bcnt1_i32_b32 s0, s2", {"s2": 0x80000001}, 2, 1),
    Row("s_ff0_i32_b32 s0, s2", {"s2": 0x7}, 3),
    Row("s_ff0_i32_b32 s0, s2", {"s2": 0xFFFFFFFF}, 0xFFFFFFFF),
    Row("s_ff0_i32_b64 s0, s[2:3]", {"s2": 0x00000001FFFFFFFF}, 33),
    Row("s_ff1_i32_b64 s0, s[2:3]", {"s2": 1 << 40}, 40),
    Row("s_flbit_i32_b64 s0, s[2:3]", {"s2": 1 << 40}, 23),
    Row("s_flbit_i32_b32 s0, s2", {"s2": 0}, 0xFFFFFFFF),
    Row("s_flbit_i32 s0, s2", {"s2": 0x80000000}, 1),
    Row("s_flbit_i32 s0, s2", {"s2": 0x0000CCCC}, 16),
    Row("s_flbit_i32 s0, s2", {"s2": 0xFFFF3333}, 16),
    Row("s_flbit_i32 s0, s2", {"s2": 0xFFFFFFFF}, 0xFFFFFFFF),
    Row("s_flbit_i32_i64 s0, s[2:3]", {"s2": 0xFFFFFFFF00000000}, 32),
    Row("s_sext_i32_i8 s0, s2", {"s2": 0x80}, 0xFFFFFF80),
    Row("s_bitset0_b32 s0, s2", {"s0": 0xFF, "s2": 35}, 0xF7),
    Row("s_bitset0_b64 s[0:1], s2", {"s0": ALL, "s2": 63}, ALL >> 1),
    Row("s_bitset1_b64 s[0:1], s2", {"s2": 33}, 1 << 33),
    Row("s_abs_i32 s0, s2", {"s2": 0xFFFFFFFD}, 3, 1),
    Row("s_abs_i32 s0, s2", {"s2": 0x80000000}, 0x80000000, 1),
    Row("s_cmov_b32 s0, s2", {"s0": 1, "s2": 7, "scc": 1}, 7),
    Row("s_cmov_b64 s[0:1], s[2:3]", {"s0": WIDE, "s2": ALL, "scc": 0}, WIDE),
    Row("s_and_b32 s0, s2, s3", {"s2": A, "s3": B}, 0x00F00000, 1),
    Row("s_or_b32 s0, s2, s3", {"s2": A, "s3": B}, 0xFFF0FFA5, 1),
    Row("s_xor_b32 s0, s2, s3", {"s2": A, "s3": B}, 0xFF00FFA5, 1),
    Row("s_andn2_b32 s0, s2, s3", {"s2": A, "s3": B}, 0xF000A5A5, 1),
    Row("s_orn2_b32 s0, s2, s3", {"s2": A, "s3": B}, 0xF0FFA5FF, 1),
    Row("s_nand_b32 s0, s2, s3", {"s2": A, "s3": B}, 0xFF0FFFFF, 1),
    Row("s_nor_b32 s0, s2, s3", {"s2": A, "s3": B}, 0x000F005A, 1),
    Row("s_xnor_b32 s0, s2, s3", {"s2": A, "s3": B}, 0x00FF005A, 1),
    Row("s_or_b64 s[0:1], s[2:3], s[4:5]", {"s2": WIDE, "s4": OTHER}, 0x80000003FFFFFFFF, 1),
    Row("s_xor_b64 s[0:1], s[2:3], s[2:3]", {"s2": WIDE, "scc": 1}, 0, 0),
    Row("s_andn2_b64 s[0:1], s[2:3], s[4:5]", {"s2": WIDE, "s4": OTHER}, 0x8000000000000000, 1),
    Row("s_orn2_b64 s[0:1], s[2:3], s[4:5]", {"s2": WIDE, "s4": OTHER}, 0xFFFFFFFD00000003, 1),
    Row("s_nand_b64 s[0:1], s[2:3], s[4:5]", {"s2": WIDE, "s4": OTHER}, 0xFFFFFFFEFFFFFFFC, 1),
    Row("s_nor_b64 s[0:1], s[2:3], s[4:5]", {"s2": WIDE, "s4": OTHER}, 0x7FFFFFFC00000000, 1),
    Row("s_xnor_b64 s[0:1], s[2:3], s[4:5]", {"s2": WIDE, "s4": OTHER}, 0x7FFFFFFD00000003, 1),
    Row("s_cselect_b64 s[0:1], s[2:3], s[4:5]", {"s2": WIDE, "s4": OTHER, "scc": 1}, WIDE),
    Row("s_lshl_b32 s0, s2, s3", {"s2": 3, "s3": 33}, 6, 1),
    Row("s_lshr_b32 s0, s2, s3", {"s2": A, "s3": 28}, 0xF, 1),
    Row("s_lshl_b64 s[0:1], s[2:3], s4", {"s2": 3, "s4": 95}, 0x0000000180000000, 1),
    Row("s_lshr_b64 s[0:1], s[2:3], s4", {"s2": WIDE, "s4": 32}, 0x80000001, 1),
    Row("s_ashr_i64 s[0:1], s[2:3], s4", {"s2": WIDE, "s4": 60}, 0xFFFFFFFFFFFFFFF8, 1),
    Row("s_bfm_b64 s[0:1], s2, s3", {"s2": 4, "s3": 62}, 0xC000000000000000),
    Row("s_bfe_u64 s[0:1], s[2:3], s4", {"s2": WIDE, "s4": 8 << 16 | 60}, 8, 1),
    Row("s_bfe_i64 s[0:1], s[2:3], s4", {"s2": WIDE, "s4": 4 << 16 | 60}, 0xFFFFFFFFFFFFFFF8, 1),
    Row("s_bfe_i64 s[0:1], s[2:3], s4", {"s2": WIDE, "s4": 0, "scc": 1}, 0, 0),
    Row("s_sub_i32 s0, s2, s3", {"s2": 0x80000000, "s3": 1}, 0x7FFFFFFF, 1),
    Row("s_subb_u32 s0, s2, s3", {"s2": 5, "s3": 5, "scc": 1}, 0xFFFFFFFF, 1),
    Row("s_min_u32 s0, s2, s3", {"s2": 0xFFFFFFFF, "s3": 3, "scc": 1}, 3, 0),
    Row("s_max_i32 s0, s2, s3", {"s2": 0xFFFFFFFF, "s3": 3, "scc": 1}, 3, 0),
    Row("s_max_u32 s0, s2, s3", {"s2": 0xFFFFFFFF, "s3": 3}, 0xFFFFFFFF, 1),
    Row("s_mul_i32 s0, s2, s3", {"s2": 0x10001, "s3": 0xFFFFFFFF}, 0xFFFEFFFF),
    Row("s_mul_hi_i32 s0, s2, s3", {"s2": 0x80000000, "s3": 6}, 0xFFFFFFFD),
    Row("s_lshl1_add_u32 s0, s2, s3", {"s2": 0x80000000, "s3": 7}, 7, 1),
    Row("s_lshl3_add_u32 s0, s2, s3", {"s2": 2, "s3": 7, "scc": 1}, 23, 0),
    Row("s_lshl4_add_u32 s0, s2, s3", {"s2": 2, "s3": 7}, 39, 0),
    Row("s_pack_lh_b32_b16 s0, s2, s3", {"s2": 0x11112222, "s3": 0x33334444}, 0x33332222),
    Row("s_pack_hh_b32_b16 s0, s2, s3", {"s2": 0x11112222, "s3": 0x33334444}, 0x33331111),
    Row("s_cmovk_i32 s0, -3", {"s0": 1, "scc": 1}, 0xFFFFFFFD),
    Row("s_mulk_i32 s0, -3", {"s0": 7}, 0xFFFFFFEB),
    Row("s_orn2_saveexec_b64 s[0:1], s[2:3]", {"s2": 1 << 40, "exec": ALL - 2}, ALL - 2, 1),
    Row("s_nor_saveexec_b64 s[0:1], s[2:3]", {"s2": 1 << 40, "exec": ALL}, ALL, 0),
    Row("s_andn1_wrexec_b64 s[0:1], s[2:3]", {"s2": 5 << 32, "exec": 0xF << 32}, 0xA << 32, 1),
    Row("s_andn2_wrexec_b64 s[0:1], s[2:3]", {"s2": 5 << 32, "exec": 0xC << 32}, 1 << 32, 1),
]
COMPARED = (("i32", -1, 1), ("u32", 0xFFFFFFFF, 1), ("i32", 4, 4), ("u32", 4, 4), ("u32", 1, 0x80000000))
COMPARES = [
    (name, kind, first & 0xFFFFFFFF, second, int(expected))
    for kind, first, second in COMPARED
    for name, expected in (
        *(("eq", first == second), ("lg", first != second), ("gt", first > second)),
        *(("ge", first >= second), ("lt", first < second), ("le", first <= second)),
    )
]


def test_results_and_scc_are_those_of_the_manual() -> None:
    assert manual_rows.wrong_rows("vega", TABLE) == []


def test_compares_set_scc() -> None:
    table = [
        Row(f"s_cmp_{name}_{kind} s2, s3", {"s2": first, "s3": second, "scc": 1 - expected}, 0, expected)
        for name, kind, first, second, expected in COMPARES
    ]
    assert manual_rows.wrong_rows("vega", table) == []


def test_compares_with_an_immediate_extend_it() -> None:
    """SOPK: the immediate has a sign for i32, and none for u32."""
    table = [
        Row("s_cmpk_eq_i32 s2, 0xffff", {"s2": 0xFFFFFFFF}, 0, 1),
        Row("s_cmpk_eq_u32 s2, 0xffff", {"s2": 0xFFFF}, 0, 1),
        Row("s_cmpk_lg_i32 s2, 5", {"s2": 5, "scc": 1}, 0, 0),
        Row("s_cmpk_lg_u32 s2, 5", {"s2": 6}, 0, 1),
        Row("s_cmpk_gt_i32 s2, 0xfffe", {"s2": 0xFFFFFFFF}, 0, 1),
        Row("s_cmpk_gt_u32 s2, 0xfffe", {"s2": 5, "scc": 1}, 0, 0),
        Row("s_cmpk_ge_i32 s2, 0xffff", {"s2": 0xFFFFFFFF}, 0, 1),
        Row("s_cmpk_ge_u32 s2, 1", {"s2": 0, "scc": 1}, 0, 0),
        Row("s_cmpk_lt_i32 s2, 0", {"s2": 0x80000000}, 0, 1),
        Row("s_cmpk_lt_u32 s2, 0", {"s2": 0x80000000, "scc": 1}, 0, 0),
        Row("s_cmpk_le_i32 s2, 0xffff", {"s2": 0, "scc": 1}, 0, 0),
        Row("s_cmpk_le_u32 s2, 0xffff", {"s2": 0x10000, "scc": 1}, 0, 0),
        Row("s_cmp_eq_u64 s[2:3], s[4:5]", {"s2": WIDE, "s4": WIDE}, 0, 1),
        Row("s_cmp_lg_u64 s[2:3], s[4:5]", {"s2": WIDE, "s4": WIDE ^ 1 << 63}, 0, 1),
        Row("s_bitcmp0_b32 s2, s3", {"s2": 0xFFFFFFF7, "s3": 35}, 0, 1),
        Row("s_bitcmp1_b32 s2, s3", {"s2": 0xFFFFFFF7, "s3": 3, "scc": 1}, 0, 0),
        Row("s_bitcmp0_b64 s[2:3], s4", {"s2": 1 << 40, "s4": 40, "scc": 1}, 0, 0),
        Row("s_bitcmp1_b64 s[2:3], s4", {"s2": 1 << 40, "s4": 104}, 0, 1),
    ]
    assert manual_rows.wrong_rows("vega", table) == []
