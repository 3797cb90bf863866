"""Changes of code for a gem5 compute what the changed instruction does; no wrong form is passed over."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import needs
import pytest
from places import ROOT

from apuflow.configure import load_release
from apuflow.conformance import changed_suite
from apuflow.conformance import suite as command
from apuflow.conformance.assemble import assembled
from apuflow.conformance.case import Case
from apuflow.conformance.changed import Changed, changed, covers
from apuflow.conformance.changed_suite import Tried, table_of
from apuflow.conformance.compare import Failure, failure
from apuflow.conformance.expected import Values, expected
from apuflow.conformance.fates import fates
from apuflow.conformance.generators import IsaName, all_cases, matches
from apuflow.conformance.report import page
from apuflow.conformance.run import Judged
from apuflow.core.errors import ConfigError
from apuflow.forms.changes import Change, changes_file, mending, read, text
from apuflow.forms.form import Form
from apuflow.forms.rules import rule_of, rules
from apuflow.forms.table import Row, Table, table_file
from apuflow.forms.table import read as read_table
from apuflow.miopen.compiler import Compiler

RELEASES = {"v23.0": ("GCN3_X86", "gfx801"), "v24.0": ("VEGA_X86", "gfx902"), "v24.1": ("VEGA_X86", "gfx902")}
TABLES = {
    name: ROOT / table_file(name, build)
    for name, (build, _) in RELEASES.items()
    if (ROOT / table_file(name, build)).exists()
}
CHANGES = {name: ROOT / changes_file(name, RELEASES[name][0]) for name in TABLES}


@cache
def generated(isa: IsaName, generator: str) -> tuple[Case, ...]:
    return tuple(all_cases(isa, (generator,)))


def touched(release: str, generator: str, *patterns: str) -> list[Changed]:
    """The changed cases of the forms that these patterns name; each names some."""
    every = generated("gcn3" if release == "v23.0" else "vega", generator)
    cases = [each for each in every if any(matches(each.form, one) for one in patterns)]
    assert all(any(matches(each.form, one) for each in cases) for one in patterns)
    return changed(assembled(cases), load_release(release, ROOT), RELEASES[release][1])


@pytest.mark.parametrize(
    ("release", "generator", "patterns", "by"),
    [
        ("v24.1", "vector", ("vop3 v_cmp_lt_f32 *abs*", "vop3 v_cndmask_b32 *neg*"), "sign"),
        ("v24.1", "vector", ("vop3 v_add_f32 *mul4*", "vop3 v_add_u32 *clamp*"), "output_modifiers"),
        ("v24.1", "vector", ("vop1 v_fract_f32 sdwa*", "vop1 v_fract_f32 *dpp*"), "negative_fractions"),
        ("v24.1", "vector", ("vop2 v_lshlrev_b16", "vop2 v_min_u16 *dpp*"), "narrow_results"),
        ("v23.0", "vector", ("vop2 v_mac_f32 sdwa*", "vop2 v_max_i32 *sext*"), "ignored_sdwa"),
        ("v24.1", "lds", ("ds ds_swizzle_b32 quad_perm", "ds_read_b96", "ds_write_b96"), ""),
        ("v24.1", "buffers", ("mubuf buffer_store_dwordx2 offen",), "buffer_pairs"),
        ("v24.1", "packed", ("vop3p v_pk_fma_f32 *neg*", "* v_pk_mul_f32 float*"), "packed"),
    ],
)
def test_a_change_computes_what_the_instruction_does(
    clang: Compiler, release: str, generator: str, patterns: tuple[str, ...], by: str
) -> None:
    needs.LATER_CLANG.required_program()
    found = touched(release, generator, *patterns)
    assert found
    assert any(by in name for each in found for name in each.by)
    gfx = RELEASES[release][1]
    wants = {each.key: values for each, values in expected([each.of for each in found], gfx)}
    gots = {each.key: values for each, values in expected([each.made for each in found], gfx)}
    for each in found:
        got, want = gots[each.made.key], wants[each.of.key]
        assert isinstance(got, Values), f"{each.text}: {got}"
        assert isinstance(want, Values), want
        wrong = failure(each.made, got, want)
        assert wrong is None, f"{each.of.printed} -> {each.text}: {wrong}"


@pytest.mark.parametrize("form", ["v_sad_u16", "v_add_i16", "v_max3_i16", "v_med3_u16"])
def test_results_that_keep_the_upper_half_or_need_it_stay(clang: Compiler, form: str) -> None:
    """GCNSubtarget::zeroesHigh16BitsOfDest does not list them; V_SAD_U16 adds to 32 bits."""
    assert not touched("v24.1", "vector", f"vop3 {form}", f"vop3 {form} scalar1")


def test_which_changed_forms_a_message_is_about() -> None:
    about = covers(Form("vop1", "v_x", ("sdwa",)), "fatal: Encountered unimplemented VEGA instruction: v_x")
    assert about(Form("vop1", "v_x", ("clamp",)))
    assert not about(Form("vop3", "v_x"))
    assert not covers(Form("vop1", "v_x", ("sdwa",)), "panic: DPP not implemented for v_x")(
        Form("vop1", "v_x")
    )


# the table ------------------------------------------------------------------------------------------------
def tried(each: Changed, verdict: str) -> Tried:
    return Tried(each, Judged(each.of.case.form, each.of.printed, verdict, "a message"))  # type: ignore[arg-type]


def test_a_row_is_mended_if_all_its_forms_are_right_with_the_change(clang: Compiler) -> None:
    found = [each for each in touched("v24.1", "vector", "vop3 v_cmp_lt_f32*") if each.gfx == "gfx902"]
    row = Row("vop3", "v_cmp_lt_f32", "wrong", frozenset({"abs0"}))
    known = Table((row, Row("vop3", "v_cmp_lt_f32", "right", frozenset({"neg1"}))))
    some = [each.of for each in found]
    made = list(table_of([tried(each, "right") for each in found], some, known, "gfx902"))
    assert mending(row, "gfx902", made) is not None
    assert mending(row, "gfx90a", made) is None
    one = next(each for each in found if "abs0" in each.of.case.form.features)
    verdicts = [tried(each, "wrong" if each is one else "right") for each in found]
    made = list(table_of(verdicts, some, known, "gfx902"))
    assert mending(row, "gfx902", made) is None
    (bad,) = (each for each in made if each.verdict == "wrong")
    assert (bad.changed - bad.right, bad.problem, bad.changes) == (1, "a message", ("ignored_signs",))
    harmed = table_of([tried(each, "wrong") for each in found], some, known, "gfx902")
    assert [(each.verdict, each.harmful) for each in harmed] == [("right", True), ("wrong", False)]


def test_the_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    of = (
        "vop3",
        "v_cmp_lt_f32",
        frozenset({"abs0", "neg0"}),
        "wrong",
        ("gfx902",),
        "text",
        ("ignored_signs",),
    )
    change = Change(*of, 4, 4, 3, "v_and_b32; v_cmp", "v2=1: 2, expected 3")  # type: ignore[arg-type]
    (tmp_path / "t.csv").write_text(text([change], "gem5"), encoding="utf-8")
    assert read(tmp_path / "t.csv") == (change,)
    for old, new, said in ((",4,4,", ",4,x,", "row 1"), ("gpus,", "gpu,", "has the columns")):
        (tmp_path / "t.csv").write_text(text([change]).replace(old, new), encoding="utf-8")
        with pytest.raises(ConfigError, match=said):
            read(tmp_path / "t.csv")
    with pytest.raises(ConfigError, match="cannot read"):
        read(tmp_path / "none.csv")


def test_without_a_table_of_forms_there_is_nothing_to_compare_with(root: Path) -> None:
    with pytest.raises(ConfigError, match="table of forms") as caught:
        list(changed_suite.run(command.chosen("v25.0", "", (), (), root), 1, lambda _: None))
    assert "apuflow conformance --release v25.0" in str(caught.value)


# the committed tables -------------------------------------------------------------------------------------
@pytest.mark.parametrize("release", TABLES)
def test_no_form_is_passed_over(clang: Compiler, release: str) -> None:
    """Each wrong or stopping form is mended by a change that was right on gem5, refused, or named."""
    needs.LATER_CLANG.required_program()
    table = read_table(TABLES[release])
    changes = read(CHANGES[release]) if CHANGES[release].exists() else ()
    found = fates(table, changes, load_release(release, ROOT), RELEASES[release][1])
    assert len(found) == sum(row.verdict in ("wrong", "stops") for row in table.rows)
    assert [row.form for row, fate in found.items() if fate == "silent"] == []
    assert set(found.values()) >= ({"mended", "named"} if changes else {"named"})


@pytest.mark.parametrize("release", TABLES)
def test_every_wrong_form_falls_under_a_rule(release: str) -> None:
    rows = [row for row in read_table(TABLES[release]).rows if row.verdict == "wrong"]
    undecided = [row.form for row in rows if rule_of(row.encoding, row.instruction, row.features) is None]
    assert undecided == []


@pytest.mark.parametrize(
    ("form", "by"),
    [
        ("vop3 v_cmp_nlt_f32 abs0", "Vega 6.2.1"),
        ("vop3 v_add_f32 mul2", "MI200 6.2.2"),
        ("vop2 v_min_f32 special", "V_MIN_F32"),
        ("vop1 v_cvt_f16_f32", "IEEE 754-2019 4.3.1"),
        ("ds ds_swizzle_b32 bit_mask", "DS_SWIZZLE_B32"),
        ("vop2 v_add_f32", None),
        ("ds ds_read_b32 offset", None),
    ],
)
def test_the_section_that_decides(form: str, by: str | None) -> None:
    encoding, instruction, *words = form.split()
    found = rule_of(encoding, instruction, words)
    assert by in found.by if found and by else found is None and by is None, found


def test_every_rule_says_everything() -> None:
    assert len({rule.name for rule in rules()}) == len(rules())
    assert [rule.name for rule in rules() if not (rule.gem5 and rule.gpu and rule.by)] == []
    assert [rule.name for rule in rules() if rule.forms == ".*" and not rule.words] == []


def test_a_report_names_the_section(clang: Compiler) -> None:
    (each,) = assembled(
        [one for one in generated("vega", "vector") if str(one.form) == "vop3 v_cmp_lt_f32 abs0"][:1]
    )
    wrong = Failure("s[20:21], lane 3", "v10=0x80000001", "0x8", "0x0", "1 of 512")
    said = page(each, Judged(each.case.form, each.case.text, "wrong", "", wrong), "gem5", "", "gfx902")
    assert "- Source: Vega 6.2.1 (input modifiers)" in said
    assert "gem5 compares the operands without their |x| and -x." in said


MENDED = [  # from kernels that were wrong on this gem5, and right with the change
    ("v24.1", "vop3 v_cmp_nlt_f32 abs0", "ignored_signs"),
    ("v24.1", "ds ds_swizzle_b32 bit_mask", "skipped_swizzles"),
    ("v24.1", "mubuf buffer_store_dwordx2 offen", "buffer_pairs"),
    ("v24.1", "vop3p v_pk_mul_f32 float0 select_high", "packed_constants"),
    ("v24.1", "sop2 s_lshl2_add_u32", "scaled_sums"),
    ("v23.0", "vop3 v_cmp_nlt_f32 abs0", "ignored_signs"),
    ("v23.0", "ds ds_swizzle_b32 bit_mask", "skipped_swizzles"),
]


@pytest.mark.parametrize(("release", "form", "by"), [row for row in MENDED if row[0] in TABLES])
def test_changes_that_were_right_on_gem5(release: str, form: str, by: str) -> None:
    encoding, instruction, *words = form.split()
    rows = read_table(TABLES[release]).rows
    of = (encoding, instruction, frozenset(words))
    (row,) = (each for each in rows if (each.encoding, each.instruction, each.features) == of)
    changes = read(CHANGES[release])
    gpus = (RELEASES[release][1], "gfx90a")
    found = next(filter(None, (mending(row, gfx, changes) for gfx in gpus)), None)
    assert found is not None
    assert by in found.changes


@pytest.mark.parametrize("release", TABLES)
def test_no_change_makes_a_right_form_wrong(release: str) -> None:
    if not CHANGES[release].exists():
        pytest.skip(f"`apuflow conformance --changed` has not run on {release}")
    assert [f"{each.instruction}: {each.problem}" for each in read(CHANGES[release]) if each.harmful] == []
