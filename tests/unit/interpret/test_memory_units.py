"""Memory and scalar instructions on chosen values, by hand from AMD's manuals ("Vega ISA" unless said)."""

from __future__ import annotations

import machine_code
import numpy as np
import pytest

from apuflow.core.errors import EngineError
from apuflow.interpret.state import Waves

LANE = np.arange(64)
BUFFER = {"s8": 0, "s9": 1, "s10": 256, "s11": 0x27FAC}
"""A descriptor of the first 256 bytes of memory, which begins at 1 << 32; STRIDE is 0."""


def memory(waves: Waves) -> np.ndarray:
    return waves.memory.view("data").view(np.uint32)


def test_lds_atomics_with_two_operands() -> None:
    """DS_MSKOR: (1100 & ~0101) | 0010; DS_WRAP: 12 >= 5: 12 - 5, 3 < 5: 3 + 9; DS_CMPST_F32: -0 equals 0."""
    before = {"exec": 0b11, "v0": 4 * LANE, "v1": np.where(LANE, 3, 12), "v2": 5, "v3": 9}
    lines = ["ds_write_b32 v0, v1"]
    masked = machine_code.execute("vega", [*lines, "ds_mskor_b32 v0, v2, v3"], before | {"v3": 2})
    assert masked.lds.words[:2].tolist() == [0b1010, 0b0010]
    wrapped = machine_code.execute("vega", [*lines, "ds_wrap_rtn_b32 v4, v0, v2, v3"], before)
    assert wrapped.lds.words[:2].tolist() == [7, 12]
    assert wrapped.v[4, 0, :2].tolist() == [12, 3]
    zero = {"v1": -0.0, "v2": 0.0, "v3": 1.0}
    compared = machine_code.execute("vega", [*lines, "ds_cmpst_f32 v0, v2, v3"], before | zero)
    assert compared.lds.words[0] == 0x3F800000


def test_halves_are_added_in_memory() -> None:
    """1.5 + 0.25 and 2 + 2 as fp16 ("Instinct MI300 ISA", DS_PK_ADD_F16); as bf16 1 + 2**-8 is a tie: 1."""
    lines = ["ds_write_b32 v0, v1", "ds_pk_add_f16 v0, v2"]
    halves = {"exec": 1, "v1": 0x40003E00, "v2": 0x40003400}
    assert machine_code.execute("gfx940", lines, halves).lds.words[0] == 0x44003F00
    narrow = {"exec": 1, "v1": 0x3F803F80, "v2": 0x40003B80}
    lines[1] = "ds_pk_add_rtn_bf16 v3, v0, v2"
    waves = machine_code.execute("gfx940", lines, narrow)
    assert waves.lds.words[0] == 0x40403F80
    assert waves.v[3, 0, 0] == 0x3F803F80


def test_two_exchanges() -> None:
    lines = ["ds_write2_b32 v0, v1, v2 offset1:16", "ds_wrxchg2st64_rtn_b32 v[4:5], v0, v2, v1 offset1:0"]
    waves = machine_code.execute("vega", lines, {"exec": 1, "v1": 11, "v2": 22})
    assert waves.v[4:6, 0, 0].tolist() == [11, 22]  # the second one meets what the first one wrote
    assert waves.lds.words[[0, 16]].tolist() == [11, 22]


def test_scalar_atomic() -> None:
    lines = ["s_store_dword s4, s[8:9], 0x10", "s_atomic_add s5, s[8:9], 0x10 glc"]
    waves = machine_code.execute("vega", lines, {"s4": 40, "s5": 2, "s8": 0, "s9": 1})
    assert waves.s[5, 0] == 40
    assert memory(waves)[4] == 42


def test_each_part_of_a_scalar_address_is_in_words() -> None:
    """Chapter 7: of base, register and constant the lower two bits count as 0: 0 + 4 + 8."""
    stored = ["s_store_dword s4, s[8:9], 0xc"]
    lines = [*stored, "s_load_dword s6, s[8:9], s5 offset:0xb"]
    waves = machine_code.execute("vega", lines, {"s4": 99, "s5": 7, "s8": 3, "s9": 1})
    assert waves.s[6, 0] == 99


def test_a_scalar_load_beyond_its_buffer_gives_0() -> None:
    lines = ["s_store_dword s4, s[8:9], 0xfc", "s_store_dword s4, s[8:9], 0x100"]
    lines += ["s_buffer_load_dwordx2 s[6:7], s[8:11], 0xfc"]
    waves = machine_code.execute("vega", lines, BUFFER | {"s4": 5, "s7": 1})
    assert waves.s[6:8, 0].tolist() == [5, 0]


def test_swizzled_buffer() -> None:
    """Chapter 8.1.5: STRIDE 16, elements of 4, 64 indices side by side: index 65 is the second of block 1."""
    swizzled = {"s9": 1 | 16 << 16 | 1 << 31, "s11": 3 << 21}
    lines = ["buffer_store_dword v2, v[0:1], s[8:11], 0 idxen offen"]
    waves = machine_code.execute("vega", lines, BUFFER | swizzled | {"exec": 1, "v0": 65, "v1": 8, "v2": 7})
    assert np.nonzero(memory(waves))[0].tolist() == [(1 * 16 + 8) * 64 // 4 + 1]


def test_range_of_a_buffer_counts_each_word() -> None:
    """Chapter 8.1.5: of two words at 252 the second is beyond 256; with a format, all or nothing."""
    lines = ["buffer_store_dwordx2 v[2:3], v0, s[8:11], 0 offen"]
    given = BUFFER | {"exec": 1, "v0": 252, "v2": 5, "v3": 6}
    assert memory(machine_code.execute("vega", lines, given))[62:66].tolist() == [0, 5, 0, 0]
    lines = ["buffer_store_format_xy v[2:3], v0, s[8:11], 0 offen"]
    pair = {"s11": 0xFAC | 4 << 12 | 11 << 15}
    assert not memory(machine_code.execute("vega", lines, given | pair)).any()
    inside = memory(machine_code.execute("vega", lines, given | pair | {"v0": 248}))
    assert inside[62:64].tolist() == [5, 6]


def test_formats_choose_components() -> None:
    """DST_SEL x, y, 0, 1 of 32_32 (chapter 8.1.8): the third component is 0, the fourth 1."""
    lines = [
        "buffer_store_dwordx2 v[2:3], v0, s[8:11], 0 offen",
        "buffer_load_format_xyzw v[4:7], v0, s[8:11], 0 offen",
    ]
    chosen = {"s11": 4 | 5 << 3 | 0 << 6 | 1 << 9 | 4 << 12 | 11 << 15}
    waves = machine_code.execute("vega", lines, BUFFER | chosen | {"exec": 1, "v2": 5, "v3": 6})
    assert waves.v[4:8, 0, 0].tolist() == [5, 6, 0, 1]


def test_a_format_that_converts_is_refused() -> None:
    lines = ["buffer_load_format_x v4, v0, s[8:11], 0 offen"]
    with pytest.raises(EngineError, match="DATA_FORMAT 10 and NUM_FORMAT 0"):
        machine_code.execute("vega", lines, BUFFER | {"s11": 0xFAC | 10 << 15})


def test_a_buffer_loads_to_lds() -> None:
    """Lanes side by side from M0 plus the offset; the sign of a byte is kept."""
    lines = ["buffer_store_dword v2, v0, s[8:11], 0 offen offset:4", "s_mov_b32 m0, 64"]
    lines += ["buffer_load_sbyte v0, s[8:11], 0 offen offset:4 lds"]
    waves = machine_code.execute("vega", lines, BUFFER | {"exec": 0b101, "v0": 8 * LANE, "v2": 0x80 + LANE})
    assert waves.lds.words[16:20].tolist() == [0, 0xFFFFFF80, 0, 0xFFFFFF82]


def test_bits_of_the_mode_read_back() -> None:
    lines = ["s_getreg_b32 s4, hwreg(HW_REG_MODE)", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 2, 2), 3"]
    lines += ["s_getreg_b32 s5, hwreg(HW_REG_MODE, 0, 8)"]
    waves = machine_code.execute("vega", lines, {})
    assert waves.s[4:6, 0].tolist() == [0x3F0, 0xFC]


def test_a_difference_wraps_before_its_sign_is_dropped() -> None:
    """S_ABSDIFF_I32: D = S0 - S1, then -D if D < 0; 0x7FFFFFFF - 0x80000000 is -1 in 32 bits."""
    waves = machine_code.execute("vega", ["s_absdiff_i32 s4, s5, s6"], {"s5": 0x7FFFFFFF, "s6": 0x80000000})
    assert waves.s[4, 0] == 1
