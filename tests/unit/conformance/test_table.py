"""The table of a release's instructions: what it says of a form, how it is written and read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from apuflow.conformance.case import ROUNDS, Case
from apuflow.conformance.compare import Failure
from apuflow.conformance.made import of_judged
from apuflow.conformance.run import Judged
from apuflow.conformance.sources import Sources
from apuflow.conformance.special import special, special_operands
from apuflow.core.errors import ConfigError
from apuflow.forms.form import Form
from apuflow.forms.table import Table, Verdict, read, table_file, text

WRONG = Failure("v8, lane 3", "v2=0x00000001", "0x00000002", "0x00000003", "1 of 512")


def judged(form: str, verdict: Verdict, *, message: str = "", is_special: bool = False) -> Judged:
    encoding, instruction, *words = form.split()
    wrong = Failure(*WRONG.__dict__.values()) if verdict == "wrong" else None
    if wrong and is_special:
        wrong = Failure(wrong.place, wrong.inputs, wrong.got, wrong.expected, wrong.lanes, special=True)
    named = Form(encoding, instruction, tuple(words))  # type: ignore[arg-type]
    return Judged(named, f"{instruction} v8, v2", verdict, message, wrong)


FOUND = [
    judged("vop3 v_cmp_lt_f32", "right"),
    judged("vop3 v_cmp_lt_f32 constant0", "right"),
    judged("vop3 v_cmp_lt_f32 abs0", "wrong"),
    judged("vop3 v_cmp_lt_f32 abs0 neg0", "wrong"),
    judged("vop3 v_cmp_lt_f32 neg1", "wrong"),
    judged("vop1 v_fract_f32", "right"),
    judged("vop1 v_fract_f32 negative", "wrong"),
    judged("vop1 v_exp_f32", "wrong", is_special=True),
    judged("vop1 v_mov_b32", "right"),
    judged("vop1 v_mov_b32 sdwa", "stops", message="panic: SDWA, not implemented"),
    judged("vop1 v_mov_b32 sdwa select0:BYTE_1", "stops", message="panic: SDWA, not implemented"),
    judged("vop1 v_clrexcp", "stops", message="fatal: unimplemented"),
    judged("ds ds_add_u32", "unknown", message="the interpreter does not have it"),
]


def table() -> Table:
    return of_judged(FOUND, lambda form: f"vega/insts/x.cc: {form.instruction}", "gem5 v24.1, machine gfx902")


def test_a_row_for_each_smallest_set_of_words() -> None:
    rows = [(row.verdict, row.form) for row in table().rows if row.instruction == "v_cmp_lt_f32"]
    assert rows == [
        ("right", "vop3 v_cmp_lt_f32 constant0"),
        ("wrong", "vop3 v_cmp_lt_f32 abs0"),
        ("wrong", "vop3 v_cmp_lt_f32 neg1"),
    ]


@pytest.mark.parametrize(
    ("form", "verdict", "certain"),
    [
        ("vop3 v_cmp_lt_f32", "right", True),
        ("vop3 v_cmp_lt_f32 constant0", "right", True),
        ("vop3 v_cmp_lt_f32 constant0 abs0 abs1", "wrong", True),
        ("vop3 v_cmp_lt_f32 clamp", None, True),
        ("vop1 v_fract_f32", "wrong", False),  # of negative numbers, which no decoder sees
        ("vop1 v_exp_f32", "wrong", False),  # of special numbers
        ("vop1 v_mov_b32 sdwa sext0", "stops", True),
        ("vop1 v_clrexcp", "stops", True),
        ("ds ds_add_u32", "unknown", True),
        ("ds ds_sub_u32", None, True),
    ],
)
def test_what_holds_for_a_form(form: str, verdict: str | None, certain: bool) -> None:
    encoding, instruction, *words = form.split()
    row = table().of(encoding, instruction, words)
    assert (row and row.verdict) == verdict
    assert row is None or row.certain == certain


def test_the_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text(table()), encoding="utf-8")
    assert read(tmp_path / "t.csv") == table()
    assert table().counts["vop3"] == {"right": 2, "unknown": 0, "wrong": 3, "stops": 0}
    assert table().instructions("stops") == {"v_clrexcp"}
    assert table_file("v24.1", "VEGA_X86").suffix == ".csv"


def test_of_several_cases_of_a_form_the_worst_counts() -> None:
    form = "vop2 v_add_f32 literal0"
    made = of_judged([judged(form, "right"), judged(form, "wrong"), judged(form, "right")], lambda _: "")
    assert [row.verdict for row in made.rows] == ["wrong"]
    made = of_judged([judged(form, "wrong", is_special=True), judged(form, "wrong")], lambda _: "")
    assert [row.certain for row in made.rows] == [True]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("encoding,", "coding,"), "a table of instructions has the columns"),
        ((",wrong,", ",odd,"), "not a row"),
        ((",right,constant0", ",right"), "not a row"),
    ],
)
def test_what_is_no_table(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    (tmp_path / "t.csv").write_text(text(table()).replace(*change, 1), encoding="utf-8")
    with pytest.raises(ConfigError, match=said):
        read(tmp_path / "t.csv")
    with pytest.raises(ConfigError, match="cannot read"):
        read(tmp_path / "none.csv")


def test_the_function_of_gem5(tmp_path: Path) -> None:
    insts = tmp_path / "vega/insts"
    insts.mkdir(parents=True)
    (insts / "vop3.cc").write_text("    void\n    Inst_VOP3__V_ADD_F32::execute(GPUDynInstPtr gpuDynInst)\n")
    (insts / "flat.cc").write_text("    void\n    Inst_FLAT__FLAT_LOAD_DWORD::execute(GPUDynInstPtr)\n")
    (insts / "instructions.hh").write_text(
        "    using Inst_VOP3P_MAI__V_MFMA_F32_4X4X1_16B_F32 =\n        X;\n"
    )
    sources = Sources(tmp_path / "vega")
    assert sources.of(Form("vop3", "v_add_f32")) == "vega/insts/vop3.cc: Inst_VOP3__V_ADD_F32::execute"
    assert sources.of(Form("global", "global_load_dword")).startswith("vega/insts/flat.cc")
    assert "V_MFMA" in sources.of(Form("vop3", "v_mfma_f32_4x4x1_16b_f32"))
    assert sources.of(Form("vop2", "v_add_f32")) == ""


@pytest.mark.parametrize(
    ("value", "bits", "found"),
    [
        (0x3F800000, 32, False),
        (0x80000000, 32, True),
        (0x00000001, 32, True),
        (0x7F800000, 32, True),
        (0x7FC00000, 32, True),
        (0x3C00, 16, False),
        (0x7C00, 16, True),
        (0xFFFF3C00, 16, False),
        (0x3FF0000000000000, 64, False),
        (0x0000000000000001, 64, True),
    ],
)
def test_special_floats(value: int, bits: int, found: bool) -> None:
    words = np.array([value & 0xFFFFFFFF, value >> 32], np.uint32)[: 2 if bits == 64 else 1]
    assert special(words.reshape(1, -1, 1), bits).item() is found


def test_operands_that_are_no_floats_are_not_special() -> None:
    one = np.full((ROUNDS, 1, 64), 1, np.uint32)  # of a float, the smallest subnormal
    number = np.full((ROUNDS, 1, 64), 0x3F800000, np.uint32)

    def found(instruction: str, words: str, vectors: dict[str, np.ndarray]) -> bool:
        form = Form("vop3", instruction)
        return bool(special_operands(Case(form, words, "gfx902", vectors, {}, ("v8",))).any())

    ldexp = "v_ldexp_f32 v8, v2, v3"
    assert not found("v_ldexp_f32", ldexp, {"v2": number, "v3": one})
    assert found("v_ldexp_f32", ldexp, {"v2": one, "v3": one})
    assert found("v_add_f32", "v_add_f32_e64 v8, |v2|, -v3 clamp", {"v2": number, "v3": one})
    assert not found("v_add_u32", "v_add_u32 v8, v2, v3", {"v2": one, "v3": one})
    assert found("v_mac_f32", "v_mac_f32 v8, v2, v3", {"v8": one, "v2": number, "v3": number})
