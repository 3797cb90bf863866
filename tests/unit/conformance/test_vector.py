"""Trials of vector instructions: what they try, and that words and machine code agree."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

import numpy as np
import pytest

from apuflow.conformance.assemble import Assembled, assembled, stored
from apuflow.conformance.case import ROUNDS, Case
from apuflow.conformance.expected import Values, expected
from apuflow.conformance.generators import IsaName, all_cases
from apuflow.conformance.vector import NOT_GENERATED, cases
from apuflow.conformance.vector_rules import has_range, number
from apuflow.conformance.vector_values import Part, registers_of, values
from apuflow.forms.decoded import features_of
from apuflow.forms.features import AT_RUN_TIME
from apuflow.interpret.encodings import Dpp, Instruction, Sdwa, decode
from apuflow.interpret.opcodes import opcodes

needs_llvm = pytest.mark.usefixtures("clang")
ISAS: tuple[IsaName, ...] = ("gcn3", "vega")


@cache
def _cases(isa: IsaName) -> tuple[Case, ...]:
    return tuple(cases(isa))


def _one(isa: IsaName, form: str) -> Case:
    return next(each for each in _cases(isa) if str(each.form) == form)


@needs_llvm
@pytest.mark.parametrize("isa", ISAS)
def test_words_of_forms_are_those_of_the_machine_code(isa: IsaName) -> None:
    wrong = []
    for each in assembled(all_cases(isa, ("vector", "scalar", "scalar_memory", "memory", "buffers", "lds"))):
        found = decode([*each.words, 0, 0, 0][:3], 0, each.isa)
        words = frozenset(each.case.form.features) - AT_RUN_TIME
        if (found.encoding, found.name, features_of(found)) != (*each.case.form[:2], words):
            wrong.append(
                (each.case.text, str(each.case.form), found.name, sorted(features_of(found) ^ words))
            )
    assert not wrong, wrong[:5]


@needs_llvm
@pytest.mark.parametrize("isa", ISAS)
def test_every_instruction_has_a_form_or_a_reason(isa: IsaName) -> None:
    tried = {each.case.form[:2] for each in assembled(_cases(isa))}
    carries = {"v_add_u32", "v_sub_u32", "v_subrev_u32", "v_addc_u32", "v_subb_u32", "v_subbrev_u32"}
    missing = {
        (encoding, name)
        for (encoding, _), name in opcodes(isa).items()
        if encoding in ("vop1", "vop2", "vopc", "vop3")
        and (encoding, name.replace("_u32", "_co_u32") if isa == "gcn3" and name in carries else name)
        not in tried
        and not name.startswith(("v_pk_", "v_mad_mix"))
    }
    assert {name for _, name in missing} <= set(NOT_GENERATED)
    assert all(NOT_GENERATED.values())


@pytest.mark.parametrize("isa", ISAS)
def test_the_number_of_cases_is_that_of_a_night(isa: IsaName) -> None:
    assert 6_000 < len(_cases(isa)) < 14_000


@pytest.mark.parametrize("isa", ISAS)
def test_cases_keep_to_the_contract(isa: IsaName) -> None:
    for each in _cases(isa):
        assert list(each.form.features) == sorted(set(each.form.features))
        for vector in each.vectors.values():
            assert vector.dtype == np.uint32
            assert vector.shape[::2] == (ROUNDS, 64)
        for scalar in each.scalars.values():
            assert scalar.dtype == np.uint32
            assert scalar.shape[0] == ROUNDS
        for register in (*each.vectors, *each.scalars):
            assert (2 if register[0] == "v" else 16) <= int(register[1:]) < 80


def test_cases_are_the_same_each_time() -> None:
    first, second = (
        next(each for each in some if each.form.instruction == "v_fma_f32")
        for some in (_cases("vega"), cases("vega"))
    )
    assert all((first.vectors[name] == second.vectors[name]).all() for name in first.vectors)


@needs_llvm
def test_multiply_add_of_integers_against_python() -> None:
    case = _one("vega", "vop3 v_mad_u64_u32")
    each, got = next(iter(expected(assembled([case]), "gfx902")))
    assert isinstance(got, Values)
    a, b, c = (case.vectors[name].astype(object) for name in ("v10", "v14", "v18"))
    total = a[:, 0] * b[:, 0] + c[:, 0] + (c[:, 1] << 32)
    assert (got.rows[:, 0] == total % 2**32).all()
    assert (got.rows[:, 1] == total // 2**32 % 2**32).all()
    flags = got.rows[:, 2, 0].astype(object) + (got.rows[:, 3, 0].astype(object) << 32)
    assert all(
        flags[turn] >> lane & 1 == total[turn, lane] >> 64 for turn in range(ROUNDS) for lane in range(64)
    )
    assert len(stored(each.case)) == 4


@needs_llvm
@pytest.mark.parametrize(
    ("form", "result"),
    [
        ("vop3 v_add_u32 scalar1", lambda v, s, _: v[0] + s[:, None]),
        ("vop2 v_add_u32 constant0", lambda v, _, c: v[0] + np.uint32(c)),
        ("vop2 v_lshlrev_b32 sdwa select0:BYTE_1", lambda v, *_: v[1] << (v[0] >> 8 & 31)),
        (
            "vop2 v_and_b32 dpp row_mirror",
            lambda v, *_: v[0].reshape(8, 4, 16)[:, :, ::-1].reshape(8, 64) & v[1],
        ),
    ],
)
def test_operands_reach_the_instruction(form: str, result: object) -> None:
    case = _one("vega", form)
    constant = int(case.text.split(",")[1]) % 2**32 if "constant" in form else 0
    _, got = next(iter(expected(assembled([case]), "gfx902")))
    assert isinstance(got, Values)
    vectors = [words[:, 0] for words in case.vectors.values()]
    scalar = next(iter(case.scalars.values()), np.zeros((ROUNDS, 1), np.uint32))[:, 0]
    assert (got.rows[:, 0] == result(vectors, scalar, constant)).all()  # type: ignore[operator]


def test_pairs_of_special_values_meet() -> None:
    a, b = values("v_add_f32", "ff") or []
    pairs = set(zip(a.ravel().tolist(), b.ravel().tolist(), strict=True))
    special = [0, 1 << 31, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7F7FFFFF, 0x3F000000, 0x7F800001]
    assert all((x, y) in pairs for x in special for y in special)
    assert not any(0 < x & 0x7FFFFFFF < 0x00800000 for x, _ in pairs)


def test_ranges_hold_what_they_say() -> None:
    word = {each: frozenset({each}) for each in ("subnormal", "negative", "large")}
    small = (values("v_add_f32", "ff", word["subnormal"]) or [])[0].astype(np.uint32).view(np.float32)
    assert ((small != 0) & (np.abs(small) < 2.0**-126)).any()
    below = (values("v_floor_f32", "f", word["negative"]) or [])[0].astype(np.uint32).view(np.float32)
    assert np.signbit(below).all()
    large = (values("v_cvt_u32_f32", "f", word["large"]) or [])[0].astype(np.uint32).view(np.float32)
    assert (large >= 2.0**31).all()
    assert has_range("v_cvt_f16_f32", "f", "large")
    assert not has_range("v_add_u32", "uu", "subnormal")


@pytest.mark.parametrize(
    ("name", "letters", "good"),
    [
        ("v_sin_f32", "f", lambda x: np.abs(x[0]) <= 8),
        ("v_exp_f32", "f", lambda x: ~(x[0] < -126) | np.isinf(x[0])),
        ("v_div_scale_f32", "fff", lambda x: (x[0] == x[1]) | (x[0] == x[2])),
        ("v_mad_f32", "fff", lambda x: _digits(x[0]) + _digits(x[1]) <= 24),
    ],
)
def test_values_that_the_manual_leaves_open_are_not_tried(name: str, letters: str, good: object) -> None:
    found = values(name, letters) or []
    floats = [column.astype(np.uint32).view(np.float32) for column in found]
    quiet = [each[~np.isnan(floats).any(0)] for each in floats]
    assert len(quiet[0])
    assert np.all(good(quiet))  # type: ignore[operator]


def test_signalling_nan_is_not_compared_in_size() -> None:
    found = (values("v_min_f32", "ff") or [])[0]
    nan = found[found & np.uint64(0x7FFFFFFF) > 0x7F800000]
    assert nan.size
    assert (nan & np.uint64(1 << 22) != 0).all()


def _digits(x: np.ndarray) -> np.ndarray:
    """Binary digits of a float's significand."""
    bits = x.view(np.uint32) & 0x7FFFFF | 0x800000
    lowest = np.log2((bits & (~bits + np.uint32(1))).astype(np.float64)).astype(int)
    return np.asarray(24 - lowest)


def test_parts_of_registers() -> None:
    column = np.full((ROUNDS, 64), 0x12, np.uint64)
    byte = registers_of("u", column, Part("BYTE_2"), "x")
    assert (byte >> 16 & 0xFF == 0x12).all()
    assert len(np.unique(byte)) > 64
    pair = registers_of("d", np.full((ROUNDS, 64), number("d", 1.0), np.uint64), None, "x")
    assert pair.shape == (ROUNDS, 2, 64)
    assert (pair[:, 1] == 0x3FF00000).all()


def test_words_of_unknown_controls_do_not_fail() -> None:
    found = Instruction(0, 8, "vop2", "v_add_f32", 2, sources=(266, 270), dpp=Dpp(0x1FF, 15, 15, False))
    assert features_of(found) == {"dpp", "unknown"}
    found = Instruction(
        0, 8, "vop2", "v_add_f32", 2, sources=(266, 270), sdwa=Sdwa((7, 6), (False, False), 7, 3)
    )
    assert features_of(found) == {"sdwa", "select0:unknown", "target:unknown", "unused:unknown"}


@needs_llvm
@pytest.mark.parametrize("isa", ISAS)
def test_the_interpreter_has_a_value_for_each_instruction(isa: IsaName) -> None:
    first: dict[str, list[Assembled]] = defaultdict(list)
    for each in assembled(case for case in _cases(isa) if not case.form.features):
        first[each.case.form.instruction].append(each)
    some = [each[0] for each in first.values()]
    missing = [
        (each.case.text, got)
        for each, got in expected(some, {"gcn3": "gfx801", "vega": "gfx902"}[isa])
        if isinstance(got, str)
    ]
    assert not missing
