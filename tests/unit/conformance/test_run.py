"""A suite from its cases to its table; the interpreter takes the place of gem5."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import needs
import numpy as np
import pytest
from numpy.typing import NDArray

from apuflow.conformance import suite as command
from apuflow.conformance.assemble import Assembled, assembled, memory_content, registers
from apuflow.conformance.case import MEMORY_BYTES, ROUNDS, Case
from apuflow.conformance.compare import Failure, failure
from apuflow.conformance.expected import Values, expected
from apuflow.conformance.report import page
from apuflow.conformance.run import Judged, Suite, covers, judged
from apuflow.conformance.simulator import ENDLESS, Ran, Simulator
from apuflow.core.errors import ConfigError, EngineError
from apuflow.forms.form import Form
from apuflow.miopen.compiler import Compiler

Words = NDArray[np.uint32]
LANES = np.arange(ROUNDS * 64, dtype=np.uint32).reshape(ROUNDS, 1, 64)


def floats(seed: int, count: int = 1) -> Words:
    made = np.random.default_rng(seed).standard_normal((ROUNDS, count, 64)).astype(np.float32)
    return made.view(np.uint32)


def case(
    form: str,
    text: str,
    vectors: dict[str, Words] | None = None,
    results: tuple[str, ...] = ("v8",),
    *,
    processor: str = "gfx902",
    **more: object,
) -> Case:
    encoding, instruction, *features = form.split()
    named = Form(encoding, instruction, tuple(features))  # type: ignore[arg-type]
    scalars = more.pop("scalars", {})
    return Case(named, text, processor, vectors or {}, scalars, results, **more)  # type: ignore[arg-type]


def add(features: str = "", seed: int = 1, text: str = "v_add_f32 v8, v2, v3") -> Case:
    return case(f"vop2 v_add_f32 {features}", text, {"v2": floats(seed), "v3": floats(2)}, floats=32)


def values(one: Case, gfx: str = "gfx902") -> Values:
    (each,) = assembled([one])
    ((_, found),) = expected([each], gfx)
    assert isinstance(found, Values), found
    return found


def test_llvm_decides_which_forms_there_are(clang: Compiler) -> None:
    needs.LATER_CLANG.required_program()
    refused = add(text="v_add_f32 v8, v2, 0x12345678")
    old = case("vop2 v_add_f32", "v_add_f32 v8, v2, v3", processor="gfx801")
    new = case("vop3p v_mfma", "v_mfma_f32_4x4x4_16b_f16 a[0:3], v[2:3], v[4:5], a[0:3]", processor="gfx942")
    found = assembled([add(), refused, new, old])
    assert [each.case.processor for each in found] == ["gfx902", "gfx942", "gfx801"]
    # VOP2: opcode 1 in bits 30:25, target 8 in 24:17, v3 in 16:9, v2 (256 + 2) in 8:0
    assert found[0].words == found[2].words == (1 << 25 | 8 << 17 | 3 << 9 | 258,)
    assert [each.isa for each in found] == ["vega", "gfx940", "gcn3"]


@pytest.mark.parametrize(
    ("text", "names"),
    [("v[8:9]", "v8 v9"), ("s20", "s20"), ("a[0:1]", "v128 v129"), ("vcc", "s90 s91"), ("scc", "s86")],
)
def test_registers_of_a_result(text: str, names: str) -> None:
    assert [register.name for register in registers(text)] == names.split()


def test_what_is_no_register_is_refused() -> None:
    with pytest.raises(EngineError, match="not a register"):
        registers("w8")


@pytest.mark.parametrize("gfx", ["gfx801", "gfx902"])
def test_vector_and_scalar_results(clang: Compiler, gfx: str) -> None:
    one = case("vop2 v_add_f32", "v_add_f32 v8, v2, v3", {"v2": floats(1), "v3": floats(2)}, processor=gfx)
    wanted = floats(1).view(np.float32) + floats(2).view(np.float32)
    assert np.array_equal(values(one, gfx).rows.view(np.float32), wanted)
    given = np.array([[0xFFFFFFFF, number] for number in range(ROUNDS)], np.uint32)
    text = "s_add_u32 s30, s20, s21"
    two = case("sop2 s_add_u32", text, None, ("s30", "scc", "s31"), processor=gfx, scalars={"s20": given})
    rows = values(two, gfx).rows[:, :, 0]
    assert rows[:, 0].tolist() == [0xFFFFFFFF, 0, 1, 2, 3, 4, 5, 6]
    assert rows[:, 1].tolist() == [0, 1, 1, 1, 1, 1, 1, 1]
    assert set(rows[:, 2].tolist()) == {0xA5A5A5A5}


def test_inactive_lanes_keep_what_was_there(clang: Compiler) -> None:
    text = "v_mov_b32 v8, v2"
    one = case("vop1 v_mov_b32", text, {"v2": LANES}, ("v8", "exec"), before=("s_mov_b64 exec, 0x5",))
    rows = values(one).rows
    assert rows[1, 0, :4].tolist() == [64, 0xA5A5A5A5, 66, 0xA5A5A5A5]
    assert rows[1, 1:, 0].tolist() == [5, 0]


def test_memory_and_lds(clang: Compiler) -> None:
    store = "buffer_store_dword v4, v2, s[12:15], 0 offen"
    vectors = {"v2": LANES * 4, "v4": LANES + 7}
    found = values(case("mubuf buffer_store_dword", store, vectors, (), memory=True)).memory.view(np.uint32)
    assert found[:512].tolist() == list(range(7, 519))
    assert np.array_equal(found[512:], memory_content().view(np.uint32)[512:])
    assert found.nbytes == MEMORY_BYTES
    write = "ds_write_b32 v2, v4 offset:1024"
    vectors["v2"] = LANES % 64 * 4
    rows = values(case("ds ds_write_b32", write, vectors, (), lds=True, before=("s_mov_b32 m0, -1",))).rows
    lds = rows[3].reshape(-1)
    assert lds[256:320].tolist() == (vectors["v4"][3, 0]).tolist()
    assert np.array_equal(lds[:256], memory_content().view(np.uint32)[:256])


def test_instructions_of_a_later_gpu_in_an_object_of_gfx902(clang: Compiler) -> None:
    text = "v_mfma_f32_4x4x1f32 a[0:3], v2, v3, a[0:3]"
    vectors = {"v2": floats(1), "v3": floats(2), "a0": floats(3, 4)}
    rows = values(case("vop3 v_mfma", text, vectors, ("a[0:3]",), processor="gfx90a")).rows.view(np.float32)
    a, b = floats(1).view(np.float32), floats(2).view(np.float32)
    # 16 blocks of 4 x 4: lane 4 * block + column has row i of its column in register i
    wanted = a.reshape(ROUNDS, 16, 4, 1) * b.reshape(ROUNDS, 16, 1, 4)
    wanted = wanted.transpose(0, 2, 1, 3).reshape(ROUNDS, 4, 64) + floats(3, 4).view(np.float32)
    assert np.allclose(rows, wanted, rtol=1e-6, atol=1e-6)


def test_what_the_interpreter_lacks_has_no_expected_value(clang: Compiler) -> None:
    (each,) = assembled([case("smem s_dcache_wb", "s_atc_probe 7, s[4:5], 0x0", None, ("s20",))])
    ((_, found),) = expected([each], "gfx902")
    assert isinstance(found, str)
    assert "s_atc_probe" in found


# compare --------------------------------------------------------------------------------------------------
def changed(one: Case, change: Callable[[Words], None]) -> tuple[Assembled, Values, Values]:
    (each,) = assembled([one])
    want = values(one)
    rows = want.rows.copy()
    change(rows)
    return each, Values(rows, want.memory), want


def test_the_smallest_wrong_lane_is_shown(clang: Compiler) -> None:
    def change(rows: Words) -> None:
        rows[2, 0, 5:] ^= 1

    one = case("vop1 v_mov_b32", "v_mov_b32 v8, v2", {"v2": LANES})
    found = failure(*changed(one, change))
    assert found is not None
    # round 2 has 128 to 191: of lanes from 5 on, 136 (lane 8) has the fewest bits and is the smallest
    assert (found.place, found.inputs) == ("v8, lane 8", "v2=0x00000088")
    assert (found.got, found.expected, found.lanes) == ("0x00000089", "0x00000088", "59 of 512")


def test_a_bit_of_a_mask_is_its_lane(clang: Compiler) -> None:
    def change(rows: Words) -> None:
        rows[0, 1, :] ^= 1 << 3  # bit 35

    one = case("vop3 v_cmp_lt_u32", "v_cmp_lt_u32 s[20:21], v2, 4", {"v2": LANES}, ("s[20:21]",))
    found = failure(*changed(one, change))
    assert found is not None
    assert (found.place, found.inputs) == ("s[20:21], lane 35", "v2=0x00000023")
    assert (found.got, found.expected) == ("0x000000080000000f", "0x000000000000000f")


@pytest.mark.parametrize(
    ("bits", "tolerance", "right"),
    [(0x7FC00000, 0, True), (0x7F800001, 0, True), (0x3F800001, 0, False), (0x3F800001, 1, True)],
)
def test_floats(clang: Compiler, bits: int, tolerance: float, right: bool) -> None:
    """All NaN are equal; 0x3f800001 is one unit in the last place above 1."""
    nan = bits > 0x7F800000
    given = np.full((ROUNDS, 1, 64), 0x7FC00000 if nan else 0x3F800000, np.uint32)
    one = case(
        "vop1 v_mov_b32",
        "v_mov_b32 v8, v2",
        {"v2": given},
        floats=32 if right or not nan else 0,
        tolerance=tolerance,
    )

    def change(rows: Words) -> None:
        rows[0, 0, 0] = bits

    assert (failure(*changed(one, change)) is None) == right


# a suite --------------------------------------------------------------------------------------------------
class Gem5:
    """A gem5 that computes as the interpreter does, but for some instructions."""

    def __init__(self, stops: dict[str, str] | None = None, wrong: tuple[str, ...] = ()) -> None:
        self.stops, self.wrong = stops or {}, wrong
        self.ran: list[list[str]] = []

    def run(self, some: Sequence[Assembled], directory: Path) -> Ran:
        self.ran.append([str(each.case.form) for each in some])
        done: list[Values] = []
        for each in some:
            form = str(each.case.form)
            if form in self.stops:
                return Ran(tuple(done), self.stops[form], 1.0)
            found = values(each.case)
            rows = found.rows ^ np.uint32(4) if form in self.wrong else found.rows
            done.append(Values(rows, found.memory))
        return Ran(tuple(done), "", 1.0)


FORMS = ("", "abs0", "neg0", "sdwa", "sdwa select0:BYTE_1", "clamp")


def suite(tmp_path: Path, gem5: Gem5, forms: Sequence[str] = FORMS) -> Suite:
    some = assembled([add(features, number) for number, features in enumerate(forms)])
    return Suite(
        some, gem5, tmp_path, jobs=1, likely=lambda form: "sdwa" in form.features, say=lambda _: None
    )


def verdicts(tried: Suite) -> dict[str, str]:
    kept = tried.run()
    return {" ".join(found.form.features): found.verdict for _, found in judged(tried.some, kept, "gfx902")}


def test_a_suite_goes_on_behind_what_stops_gem5(clang: Compiler, tmp_path: Path) -> None:
    sdwa = "arch/amdgpu/x.cc:1: panic: SDWA not implemented for v_add_f32"
    gem5 = Gem5(
        {"vop2 v_add_f32 abs0": "arch/amdgpu/x.cc:1: fatal: no", "vop2 v_add_f32 sdwa": sdwa},
        ("vop2 v_add_f32 neg0",),
    )
    tried = suite(tmp_path, gem5)
    assert verdicts(tried) == {
        **{"": "right", "abs0": "stops", "neg0": "wrong", "clamp": "right"},
        **{"sdwa": "stops", "sdwa select0:BYTE_1": "stops"},
    }
    # what is likely to stop it comes last, and of SDWA one form speaks for the others
    assert [len(forms) for forms in gem5.ran] == [6, 4]
    assert gem5.ran[0][-2:] == ["vop2 v_add_f32 sdwa", "vop2 v_add_f32 sdwa select0:BYTE_1"]


def test_a_case_that_harms_the_next_one_is_found(clang: Compiler, tmp_path: Path) -> None:
    """gem5 panics outside of the instruction's code, in the dispatch behind the harmful one."""

    class Harmed(Gem5):
        def run(self, some: Sequence[Assembled], directory: Path) -> Ran:
            ran = super().run(some, directory)
            forms = self.ran[-1]
            if "vop2 v_add_f32 abs0" in forms[:-1]:
                done = forms.index("vop2 v_add_f32 abs0") + 1
                return Ran(
                    ran.values[:done], "compute_unit.cc:392: panic: counter for wavefront non-zero", 1.0
                )
            return ran

    gem5 = Harmed()
    found = verdicts(suite(tmp_path, gem5, FORMS[:3]))
    assert found == {"": "right", "abs0": "stops", "neg0": "right"}
    assert [len(forms) for forms in gem5.ran] == [3, 2, 2]


def test_what_does_not_end_is_tried_once_more_alone(clang: Compiler, tmp_path: Path) -> None:
    class Slow(Gem5):
        def run(self, some: Sequence[Assembled], directory: Path) -> Ran:
            ran = super().run(some, directory)
            return ran if len(self.ran) > 1 else Ran((), ENDLESS, 1.0)

    gem5 = Slow({"vop2 v_add_f32 abs0": ENDLESS})
    assert verdicts(suite(tmp_path, gem5, FORMS[:2])) == {"": "right", "abs0": "stops"}
    assert [len(forms) for forms in gem5.ran] == [2, 1, 2, 2]


def test_a_suite_that_was_cut_goes_on(clang: Compiler, tmp_path: Path) -> None:
    class Cut(Gem5):
        def run(self, some: Sequence[Assembled], directory: Path) -> Ran:
            if self.ran:
                raise KeyboardInterrupt
            return super().run(some, directory)

    cut = Cut({"vop2 v_add_f32 neg0": "arch/amdgpu/x.cc:1: Assertion"})
    with pytest.raises(KeyboardInterrupt):
        suite(tmp_path, cut).run()
    gem5 = Gem5()
    assert set(verdicts(suite(tmp_path, gem5)).values()) == {"right", "stops"}
    assert [len(forms) for forms in gem5.ran] == [3]
    again = Gem5()
    verdicts(suite(tmp_path, again))
    assert again.ran == []


@pytest.mark.parametrize(
    ("message", "other", "covered"),
    [
        ("fatal: Encountered unimplemented VEGA instruction: v_x", "vop1 v_x abs0", True),
        ("fatal: Encountered unimplemented VEGA instruction: v_x", "vop3 v_x", False),
        ("panic: DPP not implemented for v_x", "vop1 v_x dpp row_shl", True),
        ("panic: DPP not implemented for v_x", "vop1 v_x", False),
        ("Assertion `NumDwords == 1' failed", "vop1 v_x dpp row_shl", False),
    ],
)
def test_which_forms_a_message_is_about(message: str, other: str, covered: bool) -> None:
    encoding, instruction, *features = other.split()
    named = Form(encoding, instruction, tuple(features))  # type: ignore[arg-type]
    assert covers(Form("vop1", "v_x", ("dpp", "quad_perm")), message)(named) is covered


# the command ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("release", "gfx", "generators", "said"),
    [
        ("v99.9", "", (), "v99.9"),
        ("v24.1", "gfx801", (), "cannot run this GPU"),
        ("v24.1", "gfx1030", (), "not a GPU that gem5 models"),
    ],
)
def test_what_cannot_be_chosen(
    root: Path, release: str, gfx: str, generators: tuple[str, ...], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        command.chosen(release, gfx, (), generators, root)


def test_an_unknown_generator(root: Path) -> None:
    chosen = command.chosen("v24.1", "", (), ("vectors",), root)
    with pytest.raises(ConfigError, match="no such generator") as caught:
        chosen.assembled()
    assert "did you mean vector" in str(caught.value)


def test_a_release_without_a_binary(root: Path) -> None:
    with pytest.raises(EngineError, match=r"gem5 v24\.1 is not built here") as caught:
        Simulator.of("v24.1", "gfx902", root)
    assert "apuflow doctor --prove gem5-kernels --release v24.1" in str(caught.value)


def test_an_unknown_form_is_not_reported(
    clang: Compiler, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "all_cases", lambda *_: iter([add(), add("abs0")]))
    chosen = command.chosen("v24.1", "", (), (), root)
    with pytest.raises(ConfigError, match="no form of this name") as caught:
        command.report(chosen, "vop2 v_ad_f32 abs0", 1, lambda _: None)
    assert "did you mean vop2 v_add_f32 abs0" in str(caught.value)


def test_a_report_names_what_a_maintainer_needs(clang: Compiler) -> None:
    (each,) = assembled([add("abs0")])
    found = Failure("v8, lane 3", "v2=0x80000000(-0)", "0x00000001", "0x00000002", "1 of 512")
    source = "vega/insts/vop2.cc: Inst_VOP2__V_ADD_F32::execute"
    judged = Judged(each.case.form, each.case.text, "wrong", "", found)
    text = page(each, judged, "gem5 v24.1, abc, build VEGA_X86, machine gfx902", source, "gfx902")
    for part in (
        source,
        "0x02100702",
        "gem5 v24.1, abc",
        "v2=0x80000000(-0)",
        "0x00000002",
        "v_add_f32 v8, v2, v3",
    ):
        assert part in text
    assert " .long 0x2100702" in text
