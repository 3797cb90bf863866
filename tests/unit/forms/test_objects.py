"""Forms of instructions in code objects, held against a table of what a gem5 does with each."""

from __future__ import annotations

from pathlib import Path

import pytest
from places import ROOT

from apuflow.configure import load_release
from apuflow.core.errors import ConfigError
from apuflow.forms.form import Form
from apuflow.forms.objects import forms_of, met, told
from apuflow.forms.table import Row, Table, read, table_file, text
from apuflow.launcher.judge import ProgramJudge
from apuflow.launcher.known import NOTHING, Known
from apuflow.miopen.compiler import Compiler, compile_source
from apuflow.miopen.launch import Row as Source

KERNEL = """
float helper(float x) { return tanh(x); }
__kernel void k(__global float *a) { a[get_global_id(0)] = OF(a[get_global_id(0)]); }
"""
FILE = "vega/insts/vop3_cmp.cc"
DOES = "gem5 compares the operands without their |x| and -x"
SIGN = Row(
    "vop3", "v_cmp_nlt_f32", "wrong", frozenset({"abs0"}), source=f"{FILE}: Inst_VOP3__V_CMP_NLT_F32::execute"
)
"""gem5 v24.1 ignores |x| in compares of VOP3 (vop3_cmp.cc reads neither ABS nor NEG of these)."""


@pytest.fixture
def compiled(clang: Compiler, tmp_path: Path) -> dict[str, Path]:
    """A kernel with tanh, and one that leaves it in the object without a call."""
    (tmp_path / "k.cl").write_text(KERNEL)
    found = {name: tmp_path / f"{name}.o" for name in ("helper", "fabs")}
    for name, out in found.items():
        compile_source(tmp_path / "k.cl", Source("k.cl", f"-DOF={name}"), "gfx902", clang, out)
    return found


def test_forms_are_those_of_the_kernels_instructions(compiled: dict[str, Path]) -> None:
    """clang's tanh compares |x| with a constant; the other kernel clears the sign with an AND."""
    assert Form("vop3", "v_cmp_nlt_f32", ("abs0", "scalar1")) in forms_of(compiled["helper"])
    assert not [form for form in forms_of(compiled["fabs"]) if form.instruction.startswith("v_cmp")]
    assert Form("sopp", "s_endpgm") in forms_of(compiled["fabs"])


def test_a_run_on_a_gem5_with_a_table_names_the_forms_that_it_executes_wrongly(
    compiled: dict[str, Path], tmp_path: Path
) -> None:
    known = Known((Table((SIGN,)),))
    results = ProgramJudge((compiled["helper"],), known).results(tmp_path)
    assert results is not None
    assert f"gem5 executes wrongly v_cmp_nlt_f32 with abs0: {DOES} ({FILE})" in (results.note or "")
    assert ProgramJudge((compiled["fabs"],), known).results(tmp_path) is None


def test_what_depends_on_operands_explains_a_wrong_result_and_is_no_doubt(
    compiled: dict[str, Path], tmp_path: Path
) -> None:
    some = SIGN.__class__(**{**SIGN.__dict__, "features": frozenset({"abs0", "subnormal"})})
    judge = ProgramJudge((compiled["helper"],), Known((Table((some,)),)))
    assert judge.results(tmp_path) is None
    assert "with abs0 subnormal" in judge.explained("y differs")


def test_rows_of_one_kind_are_told_together() -> None:
    other = SIGN.__class__(**{**SIGN.__dict__, "instruction": "v_cmp_lt_f32"})
    stop = Row("vop2", "v_add_f16", "stops", frozenset(), message="unimplemented")
    assert told([SIGN, other, stop]) == (
        f"v_cmp_nlt_f32, v_cmp_lt_f32 with abs0: {DOES} ({FILE})",
        "v_add_f16: gem5 ends: unimplemented",
    )


def test_right_forms_and_forms_that_were_not_tried_are_not_named(compiled: dict[str, Path]) -> None:
    right = Row("vop3", "v_cmp_nlt_f32", "right", frozenset({"abs0", "literal1"}))
    assert met([compiled["helper"]], [Table((right,))]) == {}


def test_a_release_reads_the_table_of_its_build(tmp_path: Path) -> None:
    release = load_release("v24.1")
    assert release.known("gfx902", tmp_path) == release.known("gfx902", ROOT) != NOTHING
    file = tmp_path / table_file("v24.1", "VEGA_X86")
    file.parent.mkdir(parents=True)
    file.write_text(text(Table((SIGN,), "gem5 v24.1")))
    assert release.known("gfx902", tmp_path).tables == (read(file),) == (Table((SIGN,), "gem5 v24.1"),)
    file.write_text("form\nx\n")
    with pytest.raises(ConfigError, match="has the columns"):
        release.known("gfx902", tmp_path)


def test_what_the_next_instructions_mend_is_not_counted(clang: Compiler, tmp_path: Path) -> None:
    """A division of floats ends with V_DIV_FIXUP, which gem5 computes from its other two operands."""
    source = "__kernel void k(__global float *a) { a[0] = a[1] / a[2]; }"
    (tmp_path / "k.cl").write_text(source)
    compile_source(tmp_path / "k.cl", Source("k.cl", ""), "gfx902", clang, tmp_path / "k.o")
    names = {form.instruction for form in forms_of(tmp_path / "k.o")}
    assert "v_div_fixup_f32" in names
    assert not names & {"v_div_scale_f32", "v_div_fmas_f32"}


def test_a_certain_cause_is_named_alone(compiled: dict[str, Path]) -> None:
    """Of gem5 v24.1, each load with no active lane would be named in each wrong run."""
    some = Row("global", "global_load_dword", "stops", frozenset({"no_lane"}), message="panic")
    known = Known((Table((SIGN, some)),))
    assert known.suspects([compiled["helper"]]) == (f"v_cmp_nlt_f32 with abs0: {DOES} ({FILE})",)


def test_what_gem5_said_names_the_instruction_alone(compiled: dict[str, Path]) -> None:
    """The line in gem5's sources is another one in each release."""
    text = "compute_unit.cc:394: panic: LM write counter for wavefront non-zero"
    some = Row("global", "global_store_dword", "stops", frozenset({"no_lane"}), message=text)
    known = Known((Table((SIGN, some)),))
    assert "global_store_dword" in {form.instruction for form in forms_of(compiled["helper"])}
    assert known.explained(f"it ended: {text.replace('394', '401')}", [compiled["helper"]]).endswith(
        f"executes wrongly global_store_dword with no_lane: gem5 ends: {text}"
    )
