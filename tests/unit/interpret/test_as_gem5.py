"""Instructions as gem5's sources have them, v23.0 to v24.1, by hand."""

from __future__ import annotations

import machine_code
import numpy as np
import pytest

from apuflow.core.errors import EngineError

LANE = np.arange(64)


def test_compares_and_choices_ignore_signs() -> None:
    lines = ["v_cmp_nlt_f32_e64 vcc, |v1|, 1.0", "v_cndmask_b32_e64 v0, -v2, v3, vcc"]
    right = machine_code.execute("vega", lines, {"v1": -3.0, "v2": 1.0, "v3": 2.0})
    wrong = machine_code.execute(
        "vega", lines, {"v1": -3.0, "v2": 1.0, "v3": 2.0}, defects={"ignored_signs", "ignored_choice_signs"}
    )
    assert right.vf[0, 0, 5] == 2.0
    assert wrong.vf[0, 0, 5] == 1.0


def test_output_modifiers_do_nothing() -> None:
    waves = machine_code.execute(
        "vega", ["v_add_f32_e64 v0, v1, v1 clamp mul:2"], {"v1": 3.0}, defects={"output_modifiers"}
    )
    assert waves.vf[0, 0, 0] == 6.0


def test_a_swizzle_moves_nothing() -> None:
    line = "ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,1)"
    waves = machine_code.execute("vega", [line], {"v0": 7, "v1": LANE}, defects={"skipped_swizzles"})
    assert (waves.v[0, 0] == 7).all()


def test_fractions_of_negative_numbers_are_negative() -> None:
    waves = machine_code.execute(
        "vega", ["v_fract_f32 v0, v1"], {"v1": -1.25}, defects={"negative_fractions"}
    )
    assert waves.vf[0, 0, 0] == -0.25


def test_16_bit_results_keep_the_upper_half() -> None:
    waves = machine_code.execute(
        "vega", ["v_add_u16 v0, v1, v1"], {"v0": 0xABCD0000, "v1": 2}, defects={"narrow_results"}
    )
    assert waves.v[0, 0, 0] == 0xABCD0004


def test_a_pair_of_a_buffer_store_is_laid_four_words_apart_and_read_two_apart() -> None:
    """Lane 0 is right, lane 1 stores what nobody wrote, lane 2 what belongs to lane 1."""
    lines = ["buffer_store_dwordx2 v[2:3], v0, s[4:7], 0 offen"]
    registers = {"v0": 8 * LANE, "v2": 100 + LANE, "v3": 200 + LANE, "s5": 1, "s6": 4096}
    waves = machine_code.execute("vega", lines, registers, defects={"buffer_pairs"})
    stored = waves.memory.view("data").view(np.uint32)[:6].tolist()
    assert stored == [100, 200, 0, 0, 101, 201]


def test_bytes_of_a_permutation_lie_one_bit_apart() -> None:
    registers = {"v1": 0, "v2": 0x04030201, "v3": 0x03020100}
    waves = machine_code.execute(
        "gcn3", ["v_perm_b32 v0, v1, v2, v3"], registers, defects={"byte_permutation"}
    )
    assert waves.v[0, 0, 0] == 1 | 2 << 1 | 3 << 2 | 4 << 3


def test_sdwa_reads_its_own_second_word() -> None:
    line = "v_mul_f32_sdwa v0, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD"
    second = machine_code.assembled("vega", (line,))[0][1]
    waves = machine_code.execute("vega", [line], {"v1": 3.0, "v2": 2.0}, defects={"ignored_sdwa"})
    assert waves.vf[0, 0, 0] == 2 * np.uint32(second).view(np.float32)


@pytest.mark.parametrize(
    ("line", "defect", "said"),
    [
        (
            "v_mul_f32_sdwa v0, v1, v2 dst_sel:DWORD src0_sel:WORD_1 src1_sel:DWORD",
            "refused_sdwa",
            "SDWA not",
        ),
        ("v_max_f32_dpp v0, v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf", "refused_dpp", "DPP not"),
        ("s_and_b64 s[0:1], s[2:3], 0x12345", "wide_literals", "NumDwords == 1"),
    ],
)
def test_what_ends_gem5_is_an_error_with_its_message(line: str, defect: str, said: str) -> None:
    with pytest.raises(EngineError, match=rf"gem5 ends at .* at 0x1000: .*{said}"):
        machine_code.execute("vega", [line], {}, defects={defect})


def test_lanes_that_dpp_leaves_out_are_written_with_their_own_operand() -> None:
    """v24.1's processDPP changes the operand, and the instruction then writes all active lanes."""
    line = "v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xa bank_mask:0xf"
    waves = machine_code.execute("vega", [line], {"v0": 100 + LANE, "v1": LANE}, defects={"kept_lanes"})
    moved = (LANE // 16 % 2 == 1) & (LANE % 16 > 0)
    assert waves.v[0, 0].tolist() == np.where(moved, LANE - 1, LANE).tolist()
