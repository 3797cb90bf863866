"""Vector instructions against AMD's manual "Vega ISA", chapters 12.6 to 12.11, worked out by hand.

Rows of instructions that later manuals show with an example carry that example ("RDNA 3 ISA", chapter 16).
"""

from __future__ import annotations

import machine_code
import numpy as np
from manual_rows import Row, d, f, h, wrong_rows

NAN, INF, SIGNALLING = 0x7FC00000, 0x7F800000, 0x7FA00000
TINY = 0x00000001
ALL = 0xFFFFFFFFFFFFFFFF
MINUS = 1 << 63
TWO_OVER_PI = 0xA2F9836E4E441529FC2757D1F534DDC0
"""The first 128 bits behind the point, from FreeBSD's e_rem_pio2.c."""
BITS = (1 << 53) - 1

WHOLE = [
    Row("v_add3_u32 v0, v2, v3, v4", {"v2": 0xFFFFFFFF, "v3": 2, "v4": 3}, 4),
    Row("v_add_i32 v0, v2, v3", {"v2": 0x7FFFFFFF, "v3": 1}, 0x80000000),
    Row("v_add_i32 v0, v2, v3 clamp", {"v2": 0x7FFFFFFF, "v3": 1}, 0x7FFFFFFF),
    Row("v_sub_i32 v0, v2, v3", {"v2": 3, "v3": 5}, 0xFFFFFFFE),
    Row("v_sub_i32 v0, v2, v3 clamp", {"v2": 0x80000000, "v3": 1}, 0x80000000),
    Row("v_add_u32_e64 v0, v2, v3 clamp", {"v2": 0xFFFFFFFF, "v3": 2}, 0xFFFFFFFF),
    Row("v_sub_u32_e64 v0, v2, v3 clamp", {"v2": 1, "v3": 2}, 0),
    Row("v_subrev_u32_e64 v0, v2, v3", {"v2": 1, "v3": 2}, 1),
    Row("v_sub_u32 v0, v2, v3", {"v2": 1, "v3": 2}, 0xFFFFFFFF),
    Row("v_add_co_u32_e64 v0, vcc, v2, v3 clamp", {"v2": 0xFFFFFFFF, "v3": 2}, 0xFFFFFFFF, 1),
    Row("v_subrev_co_u32 v0, vcc, v2, v3", {"v2": 3, "v3": 1}, 0xFFFFFFFE, 1),
    Row("v_subb_co_u32 v0, vcc, v2, v3, vcc", {"v2": 3, "v3": 3, "s106": 1 << 17}, 0xFFFFFFFF, 1),
    Row("v_subbrev_co_u32 v0, vcc, v2, v3, vcc", {"v2": 2, "v3": 3, "s106": 1 << 17}, 0, 0),
    Row("v_add_lshl_u32 v0, v2, v3, v4", {"v2": 3, "v3": 4, "v4": 33}, 14),
    Row("v_lshl_or_b32 v0, v2, v3, v4", {"v2": 3, "v3": 4, "v4": 1}, 0x31),
    Row("v_and_or_b32 v0, v2, v3, v4", {"v2": 0xFF, "v3": 0x3C, "v4": 0x100}, 0x13C),
    Row("v_or3_b32 v0, v2, v3, v4", {"v2": 1, "v3": 2, "v4": 4}, 7),
    Row("v_and_b32 v0, v2, v3", {"v2": 0xF0F0, "v3": 0xFF00}, 0xF000),
    Row("v_or_b32 v0, v2, v3", {"v2": 0xF0F0, "v3": 0xFF00}, 0xFFF0),
    Row("v_xor_b32 v0, v2, v3", {"v2": 0xF0F0, "v3": 0xFF00}, 0x0FF0),
    Row("v_not_b32 v0, v2", {"v2": 0xF0F0}, 0xFFFF0F0F),
    Row("v_lshlrev_b32 v0, v2, v3", {"v2": 36, "v3": 3}, 0x30),
    Row("v_lshrrev_b32 v0, v2, v3", {"v2": 36, "v3": 0x80000000}, 0x08000000),
    Row("v_ashrrev_i32 v0, v2, v3", {"v2": 36, "v3": 0x80000000}, 0xF8000000),
    Row("v_lshrrev_b64 v[0:1], v2, v[4:5]", {"v2": 68, "v4": 1 << 63}, 1 << 59),
    Row("v_lshlrev_b16 v0, v2, v3", {"v2": 20, "v3": 0xFF01}, 0xF010),
    Row("v_lshrrev_b16 v0, v2, v3", {"v2": 4, "v3": 0x18001}, 0x0800),
    Row("v_ashrrev_i16 v0, v2, v3", {"v2": 4, "v3": 0x8001}, 0xF800),
    Row("v_add_i16 v0, v2, v3", {"v0": 0xABCD0000, "v2": 0x7FFF, "v3": 1}, 0xABCD8000),
    Row("v_add_i16 v0, v2, v3 clamp", {"v2": 0x7FFF, "v3": 1}, 0x7FFF),
    Row("v_sub_i16 v0, v2, v3 clamp", {"v2": 0x8000, "v3": 1}, 0x8000),
    Row("v_add_i16 v0, v2, v3 op_sel:[1,0,1]", {"v0": 7, "v2": 5 << 16, "v3": 1}, 0x00060007),
    Row("v_add_i16 v0, s4, v3 op_sel:[1,0,0]", {"s4": 5 << 16 | 9, "v3": 1}, 6),
    Row("v_sub_u16 v0, v2, v3", {"v0": 0xABCD0000, "v2": 1, "v3": 2}, 0xFFFF),
    Row("v_sub_u16_e64 v0, v2, v3 clamp", {"v2": 1, "v3": 2}, 0),
    Row("v_subrev_u16 v0, v2, v3", {"v2": 1, "v3": 2}, 1),
    Row("v_mul_lo_u16 v0, v2, v3", {"v2": 0x101, "v3": 0x101}, 0x0201),
    Row("v_mad_u16 v0, v2, v3, v4", {"v0": 0xABCD0000, "v2": 0x100, "v3": 0x101, "v4": 1}, 0xABCD0101),
    Row("v_mad_u16 v0, v2, v3, v4 clamp", {"v2": 0x100, "v3": 0x101, "v4": 1}, 0xFFFF),
    Row("v_mad_i16 v0, v2, v3, v4", {"v2": 0xFFFF, "v3": 3, "v4": 1}, 0xFFFE),
    Row("v_mad_legacy_u16 v0, v2, v3, v4", {"v0": 0xABCD0000, "v2": 2, "v3": 3, "v4": 1}, 7),
    Row("v_mad_legacy_i16 v0, v2, v3, v4", {"v0": 0xABCD0000, "v2": 0xFFFF, "v3": 3, "v4": 1}, 0xFFFE),
    Row("v_mad_u32_u16 v0, v2, v3, v4", {"v2": 0xFFFF, "v3": 0xFFFF, "v4": 1}, 0xFFFE0002),
    Row("v_mad_i32_i16 v0, v2, v3, v4", {"v2": 0xFFFF, "v3": 5, "v4": 1}, 0xFFFFFFFC),
    Row("v_mul_lo_u32 v0, v2, v3", {"v2": 0x10001, "v3": 0x10001}, 0x00020001),
    Row("v_mul_hi_i32 v0, v2, v3", {"v2": 0x80000000, "v3": 6}, 0xFFFFFFFD),
    Row("v_mul_hi_u32_u24 v0, v2, v3", {"v2": 0xFFFFFFFF, "v3": 0xFFFFFFFF}, 0xFFFF),
    Row("v_mul_hi_i32_i24 v0, v2, v3", {"v2": 0x00800000, "v3": 0x7FFFFF}, 0xFFFFC000),
    Row("v_mad_i32_i24 v0, v2, v3, v4", {"v2": 0x00FFFFFF, "v3": 5, "v4": 2}, 0xFFFFFFFD),
    Row("v_mad_u32_u24 v0, v2, v3, v4", {"v2": 0xFF000003, "v3": 5, "v4": 2}, 17),
    Row("v_mad_u32_u24 v0, v2, v3, v4 clamp", {"v2": 0xFFFFFF, "v3": 0xFFFFFF, "v4": 2}, 0xFFFFFFFF),
    Row("v_mad_i64_i32 v[0:1], vcc, v2, v3, v[4:5]", {"v2": -2, "v3": 3, "v4": 1}, ALL - 4, 0),
    Row("v_mad_u64_u32 v[0:1], vcc, v2, v3, v[4:5]", {"v2": 2, "v3": 3, "v4": ALL}, 5, 1),
    Row("v_min_i32 v0, v2, v3", {"v2": -1, "v3": 1}, 0xFFFFFFFF),
    Row("v_min_u32 v0, v2, v3", {"v2": -1, "v3": 1}, 1),
    Row("v_max_i32 v0, v2, v3", {"v2": -1, "v3": 1}, 1),
    Row("v_max_u32 v0, v2, v3", {"v2": -1, "v3": 1}, 0xFFFFFFFF),
    Row("v_min_i16 v0, v2, v3", {"v2": 0xFFFF, "v3": 1}, 0xFFFF),
    Row("v_min_u16 v0, v2, v3", {"v2": 0xFFFF, "v3": 1}, 1),
    Row("v_max_i16 v0, v2, v3", {"v2": 0xFFFF, "v3": 1}, 1),
    Row("v_max_u16 v0, v2, v3", {"v2": 0xFFFF, "v3": 1}, 0xFFFF),
    *(
        Row(f"v_{name}_{kind} v0, v2, v3, v4", {"v2": -3, "v3": 2, "v4": 1}, expected & mask)
        for kind, mask, results in (
            *(("i32", 0xFFFFFFFF, (-3, 2, 1)), ("u32", 0xFFFFFFFF, (1, -3, 2))),
            *(("i16", 0xFFFF, (-3, 2, 1)), ("u16", 0xFFFF, (1, -3, 2))),
        )
        for name, expected in zip(("min3", "max3", "med3"), results, strict=True)
    ),
    Row("v_alignbyte_b32 v0, v2, v3, v4", {"v2": 0x11223344, "v3": 0x55667788, "v4": 3}, 0x22334455),
    Row("v_bfe_u32 v0, v2, v3, v4", {"v2": 0xFFFFFFFF, "v3": 28, "v4": 31}, 0xF),
    Row("v_bfe_i32 v0, v2, v3, v4", {"v2": 0x80000000, "v3": 31, "v4": 8}, 0xFFFFFFFF),
    Row("v_bfe_u32 v0, v2, v3, v4", {"v2": 0xFFFFFFFF, "v3": 4, "v4": 32}, 0),
    Row("v_sad_u16 v0, v2, v3, v4", {"v2": 0x00050009, "v3": 0x00080001, "v4": 100}, 111),
    Row("v_sad_u32 v0, v2, v3, v4", {"v2": 3, "v3": 0x80000000, "v4": 1}, 0x7FFFFFFE),
    Row("v_sad_hi_u8 v0, v2, v3, v4", {"v2": 0x0A, "v3": 0x01, "v4": 5}, 0x00090005),
    Row("v_sad_u8 v0, v2, v3, v4 clamp", {"v2": 0xFF, "v3": 0, "v4": 0xFFFFFFF0}, 0xFFFFFFFF),
    Row("v_msad_u8 v0, v2, v3, v4", {"v2": 0x0A0B0C0D, "v3": 0x00010002, "v4": 100}, 100 + 10 + 11),
    Row("v_qsad_pk_u16_u8 v[0:1], v[2:3], v4, v[6:7]",
        {"v2": 0x0706050403020100, "v4": 0x03020100, "v6": 0x0001000100010001}, 0x000D000900050001),
    Row("v_mqsad_pk_u16_u8 v[0:1], v[2:3], v4, v[6:7]",
        {"v2": 0x0706050403020100, "v4": 0x03020100, "v6": 0x0001000100010001}, 0x000A000700040001),
    Row("v_mqsad_u32_u8 v[0:3], v[4:5], v6, v[8:11]",
        {"v4": 0x0706050403020100, "v6": 0x03020100, "v8": 1, "v9": 2, "v10": 3, "v11": 4},
        0x0000000D_00000009_00000005_00000001),
    Row("v_lerp_u8 v0, v2, v3, v4", {"v2": 0x01010305, "v3": 0x02020506, "v4": 0x01000001}, 0x02010406),
    Row("v_cvt_pk_u16_u32 v0, v2, v3", {"v2": 0x12345, "v3": 7}, 0x0007FFFF),
    Row("v_cvt_pk_i16_i32 v0, v2, v3", {"v2": -70000, "v3": 7}, 0x00078000),
    Row("v_sat_pk_u8_i16 v0, v2", {"v2": 0x0101FFFF}, 0xFF00),
    Row("v_cvt_f32_ubyte0 v0, v2", {"v2": 0x01020304}, f(4.0)),
    Row("v_cvt_f32_ubyte1 v0, v2", {"v2": 0x01020304}, f(3.0)),
    Row("v_cvt_f32_ubyte3 v0, v2", {"v2": 0xFF020304}, f(255.0)),
    Row("v_cvt_f32_i32 v0, v2", {"v2": 0x7FFFFFFF}, f(2147483648.0)),
    Row("v_cvt_f32_u32 v0, v2", {"v2": 0xFFFFFF7F}, f(4294967040.0)),
    Row("v_cvt_f64_i32 v[0:1], v2", {"v2": -5}, d(-5.0)),
    Row("v_cvt_f64_u32 v[0:1], v2", {"v2": -5}, d(4294967291.0)),
    Row("v_cvt_f16_u16 v0, v2", {"v2": 0xFFFF}, h(65504.0) + 1),
    Row("v_cvt_f16_i16 v0, v2", {"v2": 0xFFFF}, h(-1.0)),
    Row("v_mov_b32 v0, v2", {"v2": 5}, 5),
]  # fmt: skip

FLOATS = [
    Row("v_sub_f32 v0, v2, v3", {"v2": 1.0, "v3": 3.0}, f(-2.0)),
    Row("v_add_f32 v0, v2, v3", {"v2": TINY, "v3": TINY}, 2),
    Row("v_mul_f32 v0, v2, v3", {"v2": 0x00800000, "v3": 0.5}, 0x00400000),
    Row("v_max_f32 v0, v2, v3", {"v2": 0x80000000, "v3": 0}, 0),
    Row("v_max_f32 v0, v2, v3", {"v2": 0, "v3": 0x80000000}, 0),
    Row("v_min_f32 v0, v2, v3", {"v2": 0x80000000, "v3": 0}, 0x80000000),
    Row("v_min_f32 v0, v2, v3", {"v2": 0, "v3": 0x80000000}, 0x80000000),
    Row("v_min_f32 v0, v2, v3", {"v2": NAN, "v3": 2.0}, f(2.0)),
    Row("v_min_f32 v0, v2, v3", {"v2": SIGNALLING, "v3": 2.0}, NAN),
    Row("v_max_f32 v0, v2, v3", {"v2": 2.0, "v3": SIGNALLING}, NAN),
    Row("v_max3_f32 v0, v2, v3, v4", {"v2": 2.0, "v3": NAN, "v4": 3.0}, f(3.0)),
    Row("v_min3_f32 v0, v2, v3, v4", {"v2": 2.0, "v3": -7.0, "v4": NAN}, f(-7.0)),
    Row("v_med3_f32 v0, v2, v3, v4", {"v2": NAN, "v3": 7.0, "v4": 3.0}, f(3.0)),
    Row("v_med3_f32 v0, v2, v3, v4", {"v2": 0x80000000, "v3": 0, "v4": 0}, 0),
    Row("v_mad_f32 v0, v2, v3, v4", {"v2": 0x3F800001, "v3": 0x3F800001, "v4": 0xBF800002}, 0),
    Row("v_fma_f32 v0, v2, v3, v4", {"v2": 0x3F800001, "v3": 0x3F800001, "v4": 0xBF800002}, f(2.0**-46)),
    Row("v_mad_f32 v0, v2, v3, v4", {"v2": TINY, "v3": f(2.0**100), "v4": 1.0}, f(1.0)),
    Row("v_mac_f32 v0, v2, v3", {"v0": 0, "v2": 0x00800000, "v3": 0.5}, 0),
    Row("v_mad_legacy_f32 v0, v2, v3, v4", {"v2": 0, "v3": INF, "v4": 2.0}, f(2.0)),
    Row("v_trunc_f32 v0, v2", {"v2": -2.7}, f(-2.0)),
    Row("v_ceil_f32 v0, v2", {"v2": -0.5}, 0x80000000),
    Row("v_floor_f32 v0, v2", {"v2": -0.5}, f(-1.0)),
    Row("v_rndne_f32 v0, v2", {"v2": 3.5}, f(4.0)),
    # examples of the manual "RDNA 3 ISA"
    Row("v_exp_f32 v0, v2", {"v2": 0xFF800000}, 0),
    Row("v_exp_f32 v0, v2", {"v2": 0x80000000}, 0x3F800000),
    Row("v_exp_f32 v0, v2", {"v2": INF}, INF),
    Row("v_log_f32 v0, v2", {"v2": 0x80000000}, 0xFF800000),
    Row("v_log_f32 v0, v2", {"v2": 0x3F800000}, 0),
    Row("v_log_f32 v0, v2", {"v2": INF}, INF),
    Row("v_rcp_f32 v0, v2", {"v2": 0xFF800000}, 0x80000000),
    Row("v_rcp_f32 v0, v2", {"v2": 0xC0000000}, 0xBF000000),
    Row("v_rcp_f32 v0, v2", {"v2": 0x80000000}, 0xFF800000),
    Row("v_sin_f32 v0, v2", {"v2": 0x3E800000}, 0x3F800000),
    Row("v_sin_f32 v0, v2", {"v2": 0x80000000}, 0x80000000),
    Row("v_sin_f32 v0, v2", {"v2": 0xFF7FFFFF}, 0),
    Row("v_cos_f32 v0, v2", {"v2": 0}, 0x3F800000),
    Row("v_cos_f32 v0, v2", {"v2": 300.25}, 0x3F800000),
    # "denormals are flushed"
    Row("v_rcp_f32 v0, v2", {"v2": 0x7F7FFFFF}, 0),
    Row("v_rcp_f32 v0, v2", {"v2": TINY}, INF),
    Row("v_rcp_iflag_f32 v0, v2", {"v2": 4.0}, f(0.25)),
    Row("v_exp_f32 v0, v2", {"v2": -140.0}, 0),
    Row("v_log_f32 v0, v2", {"v2": TINY}, 0xFF800000),
    Row("v_sqrt_f32 v0, v2", {"v2": 0x00400000}, 0),
    Row("v_sqrt_f32 v0, v2", {"v2": 2.25}, f(1.5)),
    Row("v_rsq_f32 v0, v2", {"v2": TINY}, INF),
    Row("v_exp_legacy_f32 v0, v2", {"v2": 3.0}, f(8.0)),
    Row("v_log_legacy_f32 v0, v2", {"v2": 8.0}, f(3.0)),
    Row("v_frexp_mant_f32 v0, v2", {"v2": TINY}, f(0.5)),
    Row("v_frexp_exp_i32_f32 v0, v2", {"v2": TINY}, 0xFFFFFF6C),
    Row("v_frexp_mant_f32 v0, v2", {"v2": 0xFF800000}, 0xFF800000),
    Row("v_ldexp_f32 v0, v2, v3", {"v2": 1.5, "v3": -149}, 2),
    Row("v_ldexp_f32 v0, v2, v3", {"v2": -1.0, "v3": 0x7FFFFFFF}, 0xFF800000),
    Row("v_cvt_rpi_i32_f32 v0, v2", {"v2": -1.5}, 0xFFFFFFFF),
    Row("v_cvt_rpi_i32_f32 v0, v2", {"v2": 2.5}, 3),
    Row("v_cvt_flr_i32_f32 v0, v2", {"v2": -1.5}, 0xFFFFFFFE),
    Row("v_cvt_pknorm_i16_f32 v0, v2, v3", {"v2": -1.0, "v3": 2.0}, 0x7FFF8001),
    Row("v_cvt_pknorm_u16_f32 v0, v2, v3", {"v2": -1.0, "v3": 0.5}, 0x80000000),
    Row("v_cvt_pk_u8_f32 v0, v2, v3, v4", {"v2": 300.0, "v3": 1, "v4": 0x11223344}, 0x1122FF44),
    Row("v_cvt_pkaccum_u8_f32 v0, v2, v3", {"v0": 0x11223344, "v2": 7.0, "v3": 2}, 0x11073344),
    Row("v_cubeid_f32 v0, v2, v3, v4", {"v2": 1.0, "v3": -2.0, "v4": 2.0}, f(4.0)),
    Row("v_cubeid_f32 v0, v2, v3, v4", {"v2": -3.0, "v3": -2.0, "v4": 2.0}, f(1.0)),
    Row("v_cubesc_f32 v0, v2, v3, v4", {"v2": -3.0, "v3": -2.0, "v4": 2.0}, f(2.0)),
    Row("v_cubetc_f32 v0, v2, v3, v4", {"v2": 1.0, "v3": -3.0, "v4": 2.0}, f(-2.0)),
    Row("v_cubema_f32 v0, v2, v3, v4", {"v2": 1.0, "v3": -3.0, "v4": 2.0}, f(-6.0)),
    Row("v_mul_legacy_f32 v0, v2, v3", {"v2": 0x80000000, "v3": 2.0}, 0),
    Row("v_cndmask_b32_e64 v0, -v2, v3, vcc", {"v2": 1.0, "v3": 2.0}, f(-1.0)),
    Row("v_mul_f32_e64 v0, v2, v3 clamp", {"v2": -1.0, "v3": 0}, 0),
]  # fmt: skip

HALVES = [
    Row("v_add_f16 v0, v2, v3", {"v0": 0xABCD0000, "v2": h(2048.0), "v3": h(1.0)}, h(2048.0)),
    Row("v_add_f16 v0, v2, v3", {"v2": 1, "v3": 1}, 2),
    Row("v_sub_f16 v0, v2, v3", {"v2": h(1.0), "v3": h(3.0)}, h(-2.0)),
    Row("v_subrev_f16 v0, v2, v3", {"v2": h(1.0), "v3": h(3.0)}, h(2.0)),
    Row("v_mul_f16 v0, v2, v3", {"v2": h(300.0), "v3": h(300.0)}, 0x7C00),
    Row("v_max_f16 v0, v2, v3", {"v2": 0x8000, "v3": 0}, 0),
    Row("v_min_f16 v0, v2, v3", {"v2": 0x7E00, "v3": h(-2.0)}, h(-2.0)),
    Row("v_mac_f16 v0, v2, v3", {"v0": h(1.0), "v2": h(2.0), "v3": h(3.0)}, h(7.0)),
    Row("v_madak_f16 v0, v2, v3, 0x4200", {"v2": h(2.0), "v3": h(5.0)}, h(13.0)),
    Row("v_madmk_f16 v0, v2, 0x4200, v3", {"v2": h(2.0), "v3": h(5.0)}, h(11.0)),
    Row("v_mad_f16 v0, v2, v3, v4", {"v0": 0xABCD0000, "v2": 0x3C01, "v3": 0x3C01, "v4": 0xBC02}, 0xABCD0000),
    Row("v_fma_f16 v0, v2, v3, v4", {"v2": 0x3C01, "v3": 0x3C01, "v4": 0xBC02}, h(2.0**-20)),
    Row("v_mad_legacy_f16 v0, v2, v3, v4",
        {"v0": 0xABCD0000, "v2": h(2.0), "v3": h(3.0), "v4": h(1.0)}, h(7.0)),
    Row("v_fma_legacy_f16 v0, v2, v3, v4",
        {"v0": 0xABCD0000, "v2": h(2.0), "v3": h(3.0), "v4": h(1.0)}, h(7.0)),
    Row("v_max3_f16 v0, v2, v3, v4", {"v2": h(1.0), "v3": 0x7E00, "v4": h(2.0)}, h(2.0)),
    Row("v_min3_f16 v0, v2, v3, v4", {"v2": h(1.0), "v3": h(-1.0), "v4": h(2.0)}, h(-1.0)),
    Row("v_med3_f16 v0, v2, v3, v4", {"v2": h(1.0), "v3": h(-1.0), "v4": h(2.0)}, h(1.0)),
    Row("v_rcp_f16 v0, v2", {"v2": h(4.0)}, h(0.25)),
    Row("v_rcp_f16 v0, v2", {"v2": h(65504.0)}, 0x0100),
    Row("v_sqrt_f16 v0, v2", {"v2": h(2.25)}, h(1.5)),
    Row("v_rsq_f16 v0, v2", {"v2": h(0.25)}, h(2.0)),
    Row("v_exp_f16 v0, v2", {"v2": h(-3.0)}, h(0.125)),
    Row("v_log_f16 v0, v2", {"v2": h(8.0)}, h(3.0)),
    Row("v_sin_f16 v0, v2", {"v2": h(0.25)}, h(1.0)),
    Row("v_cos_f16 v0, v2", {"v2": h(0.5)}, h(-1.0)),
    Row("v_floor_f16 v0, v2", {"v2": h(-0.5)}, h(-1.0)),
    Row("v_ceil_f16 v0, v2", {"v2": h(0.5)}, h(1.0)),
    Row("v_trunc_f16 v0, v2", {"v2": h(-1.5)}, h(-1.0)),
    Row("v_rndne_f16 v0, v2", {"v2": h(2.5)}, h(2.0)),
    Row("v_fract_f16 v0, v2", {"v2": h(-0.25)}, h(0.75)),
    Row("v_frexp_mant_f16 v0, v2", {"v2": h(12.0)}, h(0.75)),
    Row("v_frexp_exp_i16_f16 v0, v2", {"v2": 1}, 0xFFE9),
    Row("v_frexp_exp_i16_f16 v0, v2", {"v2": h(12.0)}, 4),
    Row("v_ldexp_f16 v0, v2, v3", {"v2": h(1.5), "v3": 0xFFFE}, h(0.375)),
    Row("v_cvt_u16_f16 v0, v2", {"v2": h(-3.0)}, 0),
    Row("v_cvt_i16_f16 v0, v2", {"v2": h(-3.5)}, 0xFFFD),
    Row("v_cvt_i16_f16 v0, v2", {"v2": h(65504.0)}, 0x7FFF),
    Row("v_cvt_norm_i16_f16 v0, v2", {"v2": h(-1.0)}, 0x8001),
    Row("v_cvt_norm_u16_f16 v0, v2", {"v2": h(1.0)}, 0xFFFF),
    Row("v_cvt_pknorm_i16_f16 v0, v2, v3", {"v2": h(1.0), "v3": h(-2.0)}, 0x80017FFF),
    Row("v_cvt_pknorm_u16_f16 v0, v2, v3", {"v2": h(1.0), "v3": 0x7E00}, 0x0000FFFF),
    Row("v_pack_b32_f16 v0, v2, v3", {"v2": 0x11112222, "v3": 0x33334444}, 0x44442222),
    Row("v_pack_b32_f16 v0, s4, v3 op_sel:[1,0,0]", {"s4": 0x11112222, "v3": 0x33334444}, 0x44441111),
    Row("v_pack_b32_f16 v0, v2, v3 op_sel:[1,0,0]", {"v2": 0x11112222, "v3": 0x33334444}, 0x44441111),
    Row("v_div_fixup_f16 v0, v2, v3, v4", {"v2": h(7.0), "v3": 0, "v4": h(-1.0)}, 0xFC00),
    Row("v_div_fixup_legacy_f16 v0, v2, v3, v4", {"v2": h(7.0), "v3": h(-2.0), "v4": h(1.0)}, h(-7.0)),
    Row("v_mad_mix_f32 v0, v2, v3, v4 op_sel_hi:[1,1,0]", {"v2": h(2.0), "v3": h(3.0), "v4": 0.5}, f(6.5)),
    Row("v_mad_mixlo_f16 v0, v2, v3, v4",
        {"v0": 0xABCD0000, "v2": 2.0, "v3": 3.0, "v4": 0.5}, 0xABCD0000 | h(6.5)),
    Row("v_mad_mixhi_f16 v0, v2, v3, v4",
        {"v0": 0xABCD, "v2": 2.0, "v3": 3.0, "v4": 0.5}, h(6.5) << 16 | 0xABCD),
    Row("v_mad_mix_f32 v0, |v2|, -v3, v4", {"v2": -2.0, "v3": 3.0, "v4": 0.5}, f(-5.5)),
    Row("v_pk_fma_f16 v0, v2, v3, v4",
        {"v2": h(2.0), "v3": h(3.0) << 16 | h(3.0), "v4": h(1.0) << 16}, h(1.0) << 16 | h(6.0)),
    Row("v_pk_mad_i16 v0, v2, v3, v4", {"v2": 0xFFFF0002, "v3": 0x00030003, "v4": 0x00010001}, 0xFFFE0007),
    Row("v_pk_mad_u16 v0, v2, v3, v4 clamp", {"v2": 0x0100FFFF, "v3": 0x00030003, "v4": 1}, 0x0300FFFF),
    Row("v_pk_add_u16 v0, v2, v3 clamp", {"v2": 0x0001FFFF, "v3": 0x00010001}, 0x0002FFFF),
    Row("v_pk_sub_i16 v0, v2, v3 clamp", {"v2": 0x80000001, "v3": 0x00010003}, 0x8000FFFE),
    # inline constants: a word with a sign; of fp16 operations the upper half of a float is 0 (LLVM)
    Row("v_pk_add_u16 v0, v2, -1", {"v2": 0x00050005}, 0x00040004),
    Row("v_pk_add_u16 v0, v2, 1", {"v2": 0x00050005}, 0x00050006),
    Row("v_pk_add_f16 v0, v2, 1.0", {"v2": 0}, 0x00003C00),
    Row("v_pk_add_f16 v0, v2, 1.0 op_sel_hi:[1,0]", {"v2": 0}, 0x3C003C00),
]  # fmt: skip

DOUBLES = [
    Row("v_add_f64 v[0:1], v[2:3], v[4:5]", {"v2": d(1.5), "v4": d(2.0**-60)}, d(1.5)),
    Row("v_mul_f64 v[0:1], v[2:3], -v[4:5]", {"v2": d(1.5), "v4": d(-3.0)}, d(4.5)),
    Row("v_min_f64 v[0:1], v[2:3], v[4:5]", {"v2": MINUS, "v4": 0}, MINUS),
    Row("v_max_f64 v[0:1], v[2:3], v[4:5]", {"v2": MINUS, "v4": 0}, 0),
    Row("v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]",
        {"v2": d(1 + 2.0**-52), "v4": d(1 - 2.0**-52), "v6": d(-1.0)}, d(-(2.0**-104))),
    Row("v_trunc_f64 v[0:1], v[2:3]", {"v2": d(-2.5)}, d(-2.0)),
    Row("v_ceil_f64 v[0:1], v[2:3]", {"v2": d(-2.5)}, d(-2.0)),
    Row("v_floor_f64 v[0:1], v[2:3]", {"v2": d(-2.5)}, d(-3.0)),
    Row("v_rndne_f64 v[0:1], v[2:3]", {"v2": d(-2.5)}, d(-2.0)),
    Row("v_fract_f64 v[0:1], v[2:3]", {"v2": d(-2.75)}, d(0.25)),
    Row("v_frexp_mant_f64 v[0:1], v[2:3]", {"v2": d(-12.0)}, d(-0.75)),
    Row("v_frexp_exp_i32_f64 v0, v[2:3]", {"v2": d(-12.0)}, 4),
    Row("v_ldexp_f64 v[0:1], v[2:3], v4", {"v2": d(1.5), "v4": -1074}, 2),
    Row("v_rcp_f64 v[0:1], v[2:3]", {"v2": d(-4.0)}, d(-0.25)),
    Row("v_rsq_f64 v[0:1], v[2:3]", {"v2": d(16.0)}, d(0.25)),
    Row("v_sqrt_f64 v[0:1], v[2:3]", {"v2": d(16.0)}, d(4.0)),
    Row("v_cvt_f32_f64 v0, v[2:3]", {"v2": d(1 + 2.0**-24)}, f(1.0)),
    Row("v_cvt_f64_f32 v[0:1], v2", {"v2": TINY}, d(2.0**-149)),
    Row("v_cvt_i32_f64 v0, v[2:3]", {"v2": d(-3e9)}, 0x80000000),
    Row("v_cvt_u32_f64 v0, v[2:3]", {"v2": d(4294967295.9)}, 0xFFFFFFFF),
    Row("v_div_fixup_f64 v[0:1], v[2:3], v[4:5], v[6:7]",
        {"v2": d(7.0), "v4": 0, "v6": 0}, 0x7FF8000000000000),
    Row("v_div_fmas_f64 v[0:1], v[2:3], v[4:5], v[6:7]",
        {"v2": d(2.0), "v4": d(3.0), "v6": d(1.0), "s106": 1 << 17}, d(7 * 2.0**-128)),
    Row("v_div_scale_f64 v[0:1], vcc, v[2:3], v[2:3], v[4:5]",
        {"v2": d(2.0**-400), "v4": d(2.0**400)}, d(2.0**-272), 1),
    Row("v_div_scale_f64 v[0:1], vcc, v[2:3], v[4:5], v[2:3]",
        {"v2": d(2.0), "v4": d(3.0)}, d(2.0), 0),
    Row("v_trig_preop_f64 v[0:1], v[2:3], 0", {"v2": d(1.0)}, d((TWO_OVER_PI >> 75) * 2.0**-53)),
    Row("v_trig_preop_f64 v[0:1], v[2:3], 1", {"v2": d(1.0)}, d((TWO_OVER_PI >> 22 & BITS) * 2.0**-106)),
    Row("v_trig_preop_f64 v[0:1], v[2:3], 0", {"v2": d(2.0**60)}, d((TWO_OVER_PI >> 69 & BITS) * 2.0**-59)),
]  # fmt: skip

LATER = [
    Row("v_xnor_b32 v0, v2, v3", {"v2": 0xF0F0, "v3": 0xFF00}, 0xFFFFF00F),
    Row("v_fmac_f32 v0, v2, v3", {"v0": 0xBF800002, "v2": 0x3F800001, "v3": 0x3F800001}, f(2.0**-46)),
    Row("v_fma_mixlo_f16 v0, v2, v3, v4",
        {"v0": 0xABCD0000, "v2": 2.0, "v3": 3.0, "v4": 0.5}, 0xABCD0000 | h(6.5)),
    Row("v_fma_mixhi_f16 v0, v2, v3, v4",
        {"v0": 0xABCD, "v2": 2.0, "v3": 3.0, "v4": 0.5}, h(6.5) << 16 | 0xABCD),
    Row("v_dot2_i32_i16 v0, v2, v3, v4", {"v2": 0x0002FFFF, "v3": 0x00030004, "v4": 10}, 12),
    Row("v_dot2_i32_i16 v0, v2, v3, v4 clamp",
        {"v2": 0x7FFF7FFF, "v3": 0x7FFF7FFF, "v4": 0x7FFFFFFF}, 0x7FFFFFFF),
    Row("v_dot2_u32_u16 v0, v2, v3, v4", {"v2": 0x0002FFFF, "v3": 0x00030001, "v4": 1}, 0x10006),
    Row("v_dot2_u32_u16 v0, v2, v3, v4 clamp", {"v2": 0xFFFFFFFF, "v3": 0xFFFFFFFF, "v4": 1}, 0xFFFFFFFF),
    Row("v_dot2_f32_f16 v0, v2, v3, v4 neg_lo:[1,0,0]",
        {"v2": h(2.0) << 16 | h(3.0), "v3": h(1.0) << 16 | h(1.0), "v4": 0}, f(-1.0)),
    Row("v_dot4_u32_u8 v0, v2, v3, v4", {"v2": 0x010203FF, "v3": 0x01010102, "v4": 1}, 517),
    Row("v_dot8_i32_i4 v0, v2, v3, v4", {"v2": 0x1000000F, "v3": 0x70000002, "v4": 0}, 5),
    Row("v_dot8_u32_u4 v0, v2, v3, v4", {"v2": 0x1000000F, "v3": 0x70000002, "v4": 0}, 37),
    Row("v_dot8_u32_u4 v0, v2, v3, v4 clamp",
        {"v2": 0x1000000F, "v3": 0x70000002, "v4": 0xFFFFFFFF}, 0xFFFFFFFF),
]  # fmt: skip

NEWEST = [
    Row("v_mov_b64 v[0:1], v[2:3]", {"v2": 0x123456789ABCDEF0}, 0x123456789ABCDEF0),
    Row("v_fmac_f64 v[0:1], v[2:3], v[4:5]", {"v0": d(1.0), "v2": d(2.0), "v4": d(3.0)}, d(7.0)),
    Row("v_dot2c_i32_i16 v0, v2, v3", {"v0": 1, "v2": 0x0002FFFF, "v3": 0x00030004}, 3),
    Row("v_dot4c_i32_i8 v0, v2, v3", {"v0": 1, "v2": 0x010203FF, "v3": 0x01010102}, 5),
    Row("v_dot8c_i32_i4 v0, v2, v3", {"v0": 1, "v2": 0x1000000F, "v3": 0x70000002}, 6),
    Row("v_dot2c_f32_f16 v0, v2, v3", {"v0": 1.0, "v2": h(2.0) << 16, "v3": h(3.0) << 16}, f(7.0)),
    Row("v_pk_fmac_f16 v0, v2, v3",
        {"v0": h(1.0), "v2": h(2.0) << 16 | h(2.0), "v3": h(3.0) << 16 | h(3.0)}, h(6.0) << 16 | h(7.0)),
    # FP8: 1 is 0x40, -240 is 0xFF, 2^-10 is 1, NaN is 0x80; BF8: 1 is 0x40, 57344 is 0x7F
    Row("v_cvt_f32_fp8 v0, v2", {"v2": 0xFF40}, f(1.0)),
    Row("v_cvt_f32_bf8 v0, v2", {"v2": 0x7F}, f(57344.0)),
    Row("v_cvt_pk_f32_fp8 v[0:1], v2", {"v2": 0xFF01}, f(-240.0) << 32 | f(2.0**-10)),
    Row("v_cvt_pk_f32_bf8 v[0:1], v2", {"v2": 0x4000}, f(1.0) << 32),
    Row("v_cvt_pk_fp8_f32 v0, v2, v3", {"v0": 0xABCD0000, "v2": 1.0625, "v3": 1.1875}, 0xABCD4240),
    Row("v_cvt_pk_fp8_f32 v0, v2, v3 op_sel:[0,0,1]", {"v0": 0xABCD, "v2": 1e6, "v3": -0.0}, 0x0080ABCD),
    Row("v_cvt_pk_bf8_f32 v0, v2, v3", {"v2": 57344.0, "v3": -1.0}, 0xC07F),
]  # fmt: skip


def test_whole_numbers() -> None:
    assert wrong_rows("vega", WHOLE) == []


def test_floats_of_32_bits() -> None:
    assert wrong_rows("vega", FLOATS) == []


def test_floats_of_16_bits() -> None:
    assert wrong_rows("vega", HALVES) == []


def test_floats_of_64_bits() -> None:
    assert wrong_rows("vega", DOUBLES) == []


def test_instructions_of_gfx906() -> None:
    assert wrong_rows("gfx906", LATER) == []


def test_instructions_of_gfx90a_and_gfx940() -> None:
    assert wrong_rows("gfx940", NEWEST) == []


def test_compares_of_16_and_64_bits() -> None:
    table = [
        Row("v_cmp_lt_i16 vcc, v2, v3", {"v2": 0xFFFF, "v3": 0x10001}, 1),
        Row("v_cmp_lt_u16 vcc, v2, v3", {"v2": 0xFFFF, "v3": 0x10001}, 0),
        Row("v_cmp_ge_f16 vcc, v2, v3", {"v2": h(1.0), "v3": 0x7E00}, 0),
        Row("v_cmp_nge_f16 vcc, v2, v3", {"v2": h(1.0), "v3": 0x7E00}, 1),
        Row("v_cmp_lg_f32 vcc, v2, v3", {"v2": NAN, "v3": 1.0}, 0),
        Row("v_cmp_nlg_f32 vcc, v2, v3", {"v2": NAN, "v3": 1.0}, 1),
        Row("v_cmp_neq_f32 vcc, v2, v3", {"v2": NAN, "v3": 1.0}, 1),
        Row("v_cmp_o_f32 vcc, v2, v3", {"v2": NAN, "v3": 1.0}, 0),
        Row("v_cmp_u_f64 vcc, v[2:3], v[4:5]", {"v2": 0x7FF8000000000000, "v4": 0}, 1),
        Row("v_cmp_eq_f32 vcc, v2, v3", {"v2": 0, "v3": 0x80000000}, 1),
        Row("v_cmp_gt_i64 vcc, v[2:3], v[4:5]", {"v2": 1, "v4": MINUS}, 1),
        Row("v_cmp_gt_u64 vcc, v[2:3], v[4:5]", {"v2": 1, "v4": MINUS}, 0),
        Row("v_cmp_t_u32 vcc, v2, v3", {}, 1),
        Row("v_cmp_f_i32 vcc, v2, v3", {}, 0),
        Row("v_cmp_tru_f32 vcc, v2, v3", {"v2": NAN}, 1),
        *(
            Row("v_cmp_class_f32 vcc, v2, v3", {"v2": bits, "v3": 1 << bit}, 1)
            for bit, bits in enumerate(
                (SIGNALLING, NAN, 0xFF800000, f(-1.0), 0x80000001, 0x80000000, 0, 1, f(1.0), INF)
            )
        ),
        Row("v_cmp_class_f32 vcc, v2, v3", {"v2": f(1.0), "v3": 0x3FF & ~(1 << 8)}, 0),
        Row("v_cmp_class_f16 vcc, v2, v3", {"v2": 1, "v3": 1 << 7}, 1),
        Row("v_cmp_class_f64 vcc, v[2:3], v4", {"v2": d(-1.0), "v4": 1 << 3}, 1),
    ]
    assert wrong_rows("vega", table) == []


def test_a_sum_that_differs_by_the_rounding_of_its_product() -> None:
    """v_mad_f32 against fp32 arithmetic of NumPy, v_fma_f32 against fp64's, which holds these sums."""
    random = np.random.default_rng(2)
    a, b = (random.integers(1 << 23, 1 << 24, 64).astype(np.float32) for _ in range(2))
    c = -(a * b)
    lines = ["v_mad_f32 v0, v2, v3, v4", "v_fma_f32 v1, v2, v3, v4"]
    waves = machine_code.execute("vega", lines, {"v2": a, "v3": b, "v4": c})
    assert not waves.vf[0, 0].any()
    assert waves.vf[1, 0].tolist() == (a.astype(np.float64) * b + c).astype(np.float32).tolist()
    assert waves.vf[1, 0].any()
