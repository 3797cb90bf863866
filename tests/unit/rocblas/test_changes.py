"""What is changed in a kernel's assembly. The texts are written by hand, in the forms that Tensile writes."""

from __future__ import annotations

import pytest

from apuflow.core.errors import EngineError
from apuflow.rocblas import changes

PLAIN = """\
.amdgcn_target "amdgcn-amd-amdhsa--gfx803"
.amdhsa_kernel Cijk_X
  .amdhsa_next_free_vgpr 60
  .amdhsa_next_free_sgpr 75 // sgprs
.end_amdhsa_kernel
    .kernarg_segment_size:       144
s_setprio 1 // Raise priority while processing macs
v_readfirstlane_b32 s[sgprWaveId], v0              // WaveId
v_readfirstlane_b32 s69, v5                        // WorkGroup[01] * MT
s_endpgm
"""
SPLIT = (
    PLAIN
    + """\
flat_load_dword v30, v[27:28],                     // load C (atomic) bpm=4 vaw=1
_v_add_co_u32 v27, vcc, v18, v27                   // addr = D + index*bytes (lo)
_v_addc_co_u32 v28, vcc, v19, v28, vcc             // addr = D + index*bytes (hi)
flat_atomic_cmpswap v31, v[27:28], v[29:30] glc    // attempt write
s_mov_b64 exec, s[58:59]                           // must try again
flat_atomic_cmpswap v36, v[32:33], v[34:35] glc    // attempt write
s_waitcnt vmcnt(0)                                 // wait for atomic writes
s_mov_b64 exec, s[56:57]                           // must try again
s_or_saveexec_b64 s[52:53], s[50:51]               // apply combined mask
"""
)


def test_every_kernel_is_changed_in_three_places() -> None:
    text = changes.apply(PLAIN, splits=False, gfx="gfx803")
    assert ".amdhsa_kernel Cijk_X\n  .amdhsa_kernarg_size 144\n" in text
    assert "s_nop 0 // Raise priority" in text
    assert "v_readlane_b32 s[sgprWaveId], v0, 0 " in text
    assert "v_readlane_b32 s69, v5, 0 " in text
    assert "gfx803" in text


def test_for_another_gpu_the_target_is_left_to_the_assembler() -> None:
    assert ".amdgcn_target" not in changes.apply(PLAIN, splits=False, gfx="gfx801")
    assert ".amdgcn_target" in changes.apply(PLAIN, splits=False, gfx="gfx803")


def test_a_split_sum_loads_from_its_address_and_waits_for_its_atomics() -> None:
    lines = [line.split("//")[0].split() for line in changes.apply(SPLIT, True, "gfx803").splitlines()]
    names = [words[0] for words in lines if words][-10:]
    assert names == [
        "_v_add_co_u32", "_v_addc_co_u32", "flat_load_dword", "flat_atomic_cmpswap", "s_waitcnt", "s_mov_b64",
        "flat_atomic_cmpswap", "s_waitcnt", "s_mov_b64", "s_or_saveexec_b64",
    ]  # fmt: skip


def test_an_offset_beyond_the_matrix_is_limited_to_its_size() -> None:
    load = "buffer_load_dwordx4 v[vgprG2LB+4:vgprG2LB+4+3], v[vgprGlobalReadOffsetB+0], "
    load += "s[sgprSrdB:sgprSrdB+3], "
    rows = load + "s[sgprScalarGlobalReadOffsetB+0], offen offset:0 // G -> Reg 0_0_1_0\n"
    inside = load + "0, offen offset:0 // G -> Reg 0_0_0_0\n"
    assert ".amdhsa_next_free_sgpr 75" in changes.apply(PLAIN + inside, splits=False, gfx="gfx803")
    text = changes.apply(PLAIN + inside + rows, splits=False, gfx="gfx803")
    limit = f"s_min_u32 {changes.SCRATCH}, s[sgprScalarGlobalReadOffsetB+0], s[sgprSrdB+2]\n"
    assert ".amdhsa_next_free_sgpr 102 // sgprs" in text
    assert text.endswith(inside + limit + load + f"{changes.SCRATCH}, offen offset:0 // G -> Reg 0_0_1_0\n")


def test_two_elements_are_stored_one_by_one() -> None:
    """The line is Tensile's own, of Cijk_Ailk_Bljk_SB_MT128x96x16...TT8_6_VW2."""
    where = "v53, s[sgprSrdD:sgprSrdD+3], 0, offen"
    pair = f"buffer_store_dwordx2 v[26:27], {where}, offset:128 // store D\n"
    first, second = (
        f"buffer_store_dword v26, {where}, offset:128 // store D\n",
        f"buffer_store_dword v27, {where}, offset:132\n",
    )
    assert changes.apply(PLAIN + pair, splits=False, gfx="gfx803").endswith(first + second)


@pytest.mark.parametrize("gone", ["s_setprio 1", ".amdhsa_kernel Cijk_X", ".kernarg_segment_size:"])
def test_a_text_of_another_tensile_is_refused(gone: str) -> None:
    with pytest.raises(EngineError, match="not as Tensile writes it"):
        changes.apply(PLAIN.replace(gone, "other"), splits=False, gfx="gfx803")


def test_every_change_has_a_reason() -> None:
    names = [change.name for change in changes.changes_of(True, True, True, "gfx801")]
    assert names == [change.name for change in changes.CHANGES]
    assert len(set(names)) == len(names)
    edits = [change.edit for change in changes.CHANGES if change.edit is not None]
    assert all(len(edit.__doc__ or "") > 40 for edit in edits)
    assert all(change.why and ";" not in change.why for change in changes.CHANGES)  # tables split there
