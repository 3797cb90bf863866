"""Trials of packed and matrix instructions."""

from __future__ import annotations

import needs
import numpy as np
import pytest

from apuflow.conformance import matrix, packed
from apuflow.conformance.assemble import assembled
from apuflow.conformance.case import ROUNDS, Case
from apuflow.forms.features import AT_RUN_TIME
from apuflow.forms.packed_words import features
from apuflow.interpret.encodings import decode
from apuflow.interpret.matrix import shape_of
from apuflow.interpret.opcodes import PROCESSORS, opcodes

SOME = ("v_pk_fma_f16", "v_pk_add_u16", "v_mad_mix_f32", "v_pk_fma_f32", "v_dot4_i32_i8", "v_dot2_f32_f16")


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return [*packed.cases("vega"), *matrix.cases("vega")]


def test_gcn3_has_none() -> None:
    assert [*packed.cases("gcn3"), *matrix.cases("gcn3")] == []


def test_every_packed_and_matrix_instruction_of_the_tables_is_tried(cases: list[Case]) -> None:
    tried = {case.form.instruction for case in cases}
    for isa in PROCESSORS:
        known = {name for (encoding, _), name in opcodes(isa).items() if encoding == "vop3p"}
        assert known <= tried


def test_words_of_a_form_are_those_of_its_decoded_instruction(cases: list[Case]) -> None:
    some = [case for case in cases if case.form.instruction in SOME or "mfma_f32_16x16x4" in case.text]
    own = {"select_low", "select_high", "neg_low", "neg_high", "accumulation", "cbsz", "blgp"}
    own.add("implied_accumulation")
    needs.CLANG.required_program()
    found = assembled(case for case in some if case.processor != "gfx942")
    assert len(found) > len(some) / 2
    for each in found:
        decoded = decode([*each.words, 0, 0], 0, each.isa)
        assert decoded.name == each.case.form.instruction
        assert {*features(decoded)} == ({*each.case.form.features} & own) - AT_RUN_TIME, each.case.text


def test_forms_are_sorted_and_operands_have_their_shape(cases: list[Case]) -> None:
    for case in cases:
        assert list(case.form.features) == sorted(case.form.features)
        for words in case.vectors.values():
            assert words.shape[0] == ROUNDS
            assert words.shape[2] == 64
            assert words.dtype == np.uint32


def test_the_same_numbers_come_each_time(cases: list[Case]) -> None:
    again = next(iter(matrix.cases("vega")))
    first = next(case for case in cases if case.text == again.text)
    assert all((first.vectors[name] == words).all() for name, words in again.vectors.items())


def test_large_products_of_a_matrix_instruction_are_single(cases: list[Case]) -> None:
    """One element of A and B a row and column: then no order of additions matters."""
    case = next(
        each
        for each in cases
        if each.form.instruction == "v_mfma_f32_16x16x16_f16" and "large" in each.form.features
    )
    shape = shape_of("v_mfma_f32_16x16x16_f16")
    assert shape is not None
    for words in list(case.vectors.values())[:2]:
        halves = np.ascontiguousarray(np.moveaxis(words, 1, -1)).view(np.float16)
        assert not halves[:, shape.rows :].any()
        assert not halves[:, :, 1:].any()
        assert halves.any()
