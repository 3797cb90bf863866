"""The tables of releases that ship, against gem5's sources as they were read before any suite ran."""

from __future__ import annotations

import machine_code
import pytest
from places import ROOT

from apuflow.configure import load_release
from apuflow.forms.objects import form_of, worst
from apuflow.forms.table import read, table_file
from apuflow.interpret.opcodes import IsaName

WRONG, STOPS, RIGHT, SOME = "wrong", "stops", "right", "for some operands"
SDWA, DPP = "src0_sel:WORD_0 src1_sel:BYTE_0", "row_mask:0xf bank_mask:0xf"
READ = {
    "v_sub_u16 v1, v0, v1": (WRONG, WRONG),
    f"v_mul_lo_u16_sdwa v1, v0, v1 {SDWA}": (WRONG, STOPS),
    f"v_or_b32_sdwa v1, v0, v1 {SDWA}": (RIGHT, RIGHT),
    "v_cmp_eq_u16_sdwa vcc, v0, v1 src0_sel:WORD_1 src1_sel:DWORD": (WRONG, WRONG),
    "v_cmp_eq_u16_sdwa vcc, v0, v1 src0_sel:BYTE_1 src1_sel:DWORD": (WRONG, RIGHT),
    f"v_add_f32_dpp v6, v6, v6 row_shr:1 {DPP} bound_ctrl:0": (WRONG, RIGHT),
    f"v_add_f32_dpp v6, v6, v6 row_shr:1 {DPP}": (WRONG, WRONG),
    f"v_mov_b32_dpp v6, v6 row_mirror {DPP}": (WRONG, WRONG),
    f"v_max_f32_dpp v6, v6, v6 row_shr:1 {DPP}": (WRONG, STOPS),
    "v_perm_b32 v1, s6, v0, v1": (WRONG, RIGHT),
    "s_mov_b64 s[4:5], 0xfff": (STOPS, RIGHT),
    "flat_load_dwordx2 v[2:3], v[4:5]": (SOME, SOME),
    "ds_read_b96 v[2:4], v0": (WRONG, WRONG),
    "ds_write_b96 v0, v[2:4] offset:16": (WRONG, WRONG),
    "v_cmp_nlt_f32_e64 s[8:9], |v7|, s11": (WRONG, WRONG),
    "v_cmpx_ge_f32_e64 s[8:9], v7, -v1": (WRONG, WRONG),
    "v_cmp_class_f64_e64 vcc, -v[2:3], v1": (WRONG, WRONG),
    "v_ldexp_f32 v1, -|v0|, v2": (WRONG, WRONG),
    "v_cmp_lt_f32_e64 s[8:9], v7, -1.0": (RIGHT, RIGHT),
    "v_cmp_lt_f64_e64 s[8:9], |v[2:3]|, v[4:5]": (RIGHT, RIGHT),
    "v_cmp_f_f32_e64 s[8:9], |v7|, v1": (RIGHT, RIGHT),
    "v_add_f32_e64 v1, -v0, |v2|": (RIGHT, RIGHT),
    "v_cndmask_b32_e64 v1, v0, -v2, vcc": (STOPS, WRONG),
    "v_fma_f32 v1, v0, 2.0, 1.0 clamp": (WRONG, WRONG),
    "v_fma_f32 v1, v0, v2, 0": (RIGHT, RIGHT),
    "v_mul_f32_e64 v1, v0, v2 mul:2": (WRONG, WRONG),
    "v_fract_f32_e32 v1, v0": (SOME, SOME),
    "buffer_store_dwordx2 v[2:3], v0, s[4:7], 0 offen": (WRONG, WRONG),
    "buffer_store_dwordx3 v[2:4], v0, s[4:7], 0 offen": (WRONG, WRONG),
    "buffer_store_dwordx4 v[2:5], v0, s[4:7], 0 offen": (SOME, SOME),
    "ds_bpermute_b32 v1, v0, v2": (RIGHT, RIGHT),
    "v_and_b32 v1, v0, v1": (RIGHT, RIGHT),
}
"""By instruction: what v23.0 (GCN3) and v24.1 (Vega) do.

Below ``src/arch/amdgpu``: which ``execute`` in ``insts/vop1.cc``, ``vop2.cc``, ``vopc.cc`` (GCN3:
``instructions.cc``) asks ``isSDWAInst`` and ``isDPPInst``, and whether it panics; ``insts/flat.cc``
(``initMemRead<VecElemU64>`` of GCN3), ``insts/ds.cc`` (``DS_READ_B96``, ``DS_WRITE_B96``), ``insts/vop3.cc``
and ``vop3_cmp.cc`` (which ``execute`` asks ``ABS``, ``NEG``, ``CLAMP``, ``OMOD``), ``insts/mubuf.cc``,
``insts/inst_util.hh`` (``dppInstImpl``, ``processDPP``), ``insts/op_encodings.hh`` (``sdwabSelect``).
"""


@pytest.mark.parametrize(("release", "isa", "place"), [("v23.0", "gcn3", 0), ("v24.1", "vega", 1)])
def test_the_suite_found_what_the_sources_say(release: str, isa: IsaName, place: int) -> None:
    gfx = {"gcn3": "gfx801", "vega": "gfx902"}[isa]
    tables = load_release(release, ROOT).known(gfx, ROOT).tables
    found = {}
    for line in READ:
        row = worst(form_of(machine_code.instruction(isa, line)), tables)
        found[line] = RIGHT if row is None else row.verdict if row.certain else SOME
    assert found == {line: verdicts[place] for line, verdicts in READ.items()}


def test_a_release_that_was_not_measured_is_judged_by_the_nearest_ones() -> None:
    """Vega before v24.0 has GCN3's faults or those of the next release that was measured."""

    def known(release: str, gfx: str) -> tuple[str, ...]:
        return load_release(release, ROOT).known(gfx, ROOT).measured_on

    assert known("v24.1", "gfx902") == known("v23.0", "gfx801") == ()
    assert known("v22.1", "gfx801") == ("v23.0's GCN3_X86",)
    assert known("v23.0", "gfx902") == ("v23.0's GCN3_X86", "v24.0's VEGA_X86")
    assert known("v25.0", "gfx902") == ("v24.1's VEGA_X86",)
    both = load_release("v23.0", ROOT).known("gfx902", ROOT).tables
    assert both == tuple(
        read(ROOT / table_file(*each)) for each in (("v23.0", "GCN3_X86"), ("v24.0", "VEGA_X86"))
    )
