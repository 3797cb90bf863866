"""Trials of scalar instructions: the interpreter's values against whole numbers of Python, by the manual.

"Vega ISA", chapter 12.1 to 12.5: the pseudo code of each instruction.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

import machine_code
import numpy as np
import pytest
from numpy.typing import NDArray

from apuflow.conformance import scalar
from apuflow.conformance.assemble import assembled, stored
from apuflow.conformance.case import ROUNDS, Case
from apuflow.conformance.expected import Values, expected
from apuflow.forms.features import AT_RUN_TIME
from apuflow.forms.scalar_words import features
from apuflow.interpret.encodings import decode
from apuflow.interpret.opcodes import IsaName, opcodes

pytestmark = pytest.mark.usefixtures("clang")
"""LLVM's assembler is beside it."""

ISAS: tuple[IsaName, ...] = ("gcn3", "vega")
SCALAR = ("sop1", "sop2", "sopc", "sopk", "sopp")


def signed(x: int, bits: int) -> int:
    return x - (1 << bits) if x >> bits - 1 & 1 else x


def ones(x: int) -> int:
    return bin(x).count("1")


def highest_unlike_sign(x: int, bits: int) -> int:
    text = f"{x:0{bits}b}"
    place = next((number for number, bit in enumerate(text) if bit != text[0]), -1)
    return place & 0xFFFFFFFF


def field_of(x: int, what: int, bits: int, keeps_sign: bool) -> int:
    first, count = what & bits - 1, what >> 16 & 0x7F
    inside = (signed(x, bits) if keeps_sign else x) >> first & (1 << count) - 1
    return signed(inside, count) if keeps_sign and 0 < count < bits else inside


def quads(x: int, bits: int) -> list[bool]:
    return [bool(x >> place & 15) for place in range(0, bits, 4)]


Result = tuple[int, "bool | None"]
"""What is written, and SCC; None: it stays."""


def flagged(value: int, bits: int = 32) -> Result:
    value &= (1 << bits) - 1
    return value, value != 0


@cache
def meanings() -> dict[str, Callable[[int, int, bool, int], Result]]:
    """Of sources, SCC and the target before."""
    found: dict[str, Callable[[int, int, bool, int], Result]] = {
        "s_add_u32": lambda a, b, c, o: (a + b, a + b >= 1 << 32),
        "s_addc_u32": lambda a, b, c, o: (a + b + c, a + b + c >= 1 << 32),
        "s_sub_u32": lambda a, b, c, o: (a - b, b > a),
        "s_subb_u32": lambda a, b, c, o: (a - b - c, b + c > a),
        "s_add_i32": lambda a, b, c, o: (a + b, abs(signed(a, 32) + signed(b, 32) + 0.5) > 1 << 31),
        "s_sub_i32": lambda a, b, c, o: (a - b, abs(signed(a, 32) - signed(b, 32) + 0.5) > 1 << 31),
        "s_min_u32": lambda a, b, c, o: (min(a, b), a < b),
        "s_max_u32": lambda a, b, c, o: (max(a, b), a > b),
        "s_min_i32": lambda a, b, c, o: (a, True) if signed(a, 32) < signed(b, 32) else (b, False),
        "s_max_i32": lambda a, b, c, o: (a, True) if signed(a, 32) > signed(b, 32) else (b, False),
        "s_mul_i32": lambda a, b, c, o: (a * b, None),
        "s_mul_hi_u32": lambda a, b, c, o: (a * b >> 32, None),
        "s_mul_hi_i32": lambda a, b, c, o: (signed(a, 32) * signed(b, 32) >> 32, None),
        "s_absdiff_i32": lambda a, b, c, o: flagged(
            abs(signed(signed(a, 32) - signed(b, 32) & 0xFFFFFFFF, 32))
        ),
        "s_abs_i32": lambda a, b, c, o: flagged(abs(signed(a, 32))),
        "s_ashr_i32": lambda a, b, c, o: flagged(signed(a, 32) >> (b & 31)),
        "s_ashr_i64": lambda a, b, c, o: flagged(signed(a, 64) >> (b & 63), 64),
        "s_flbit_i32": lambda a, b, c, o: (highest_unlike_sign(a, 32), None),
        "s_flbit_i32_i64": lambda a, b, c, o: (highest_unlike_sign(a, 64), None),
        "s_sext_i32_i8": lambda a, b, c, o: (signed(a & 0xFF, 8), None),
        "s_sext_i32_i16": lambda a, b, c, o: (signed(a & 0xFFFF, 16), None),
        "s_pack_ll_b32_b16": lambda a, b, c, o: (a & 0xFFFF | b << 16, None),
        "s_pack_lh_b32_b16": lambda a, b, c, o: (a & 0xFFFF | b >> 16 << 16, None),
        "s_pack_hh_b32_b16": lambda a, b, c, o: (a >> 16 | b >> 16 << 16, None),
        "s_bitreplicate_b64_b32": lambda a, b, c, o: (int("".join(2 * bit for bit in f"{a:032b}"), 2), None),
    }
    for shift in (1, 2, 3, 4):
        found[f"s_lshl{shift}_add_u32"] = lambda a, b, c, o, n=shift: (  # type: ignore[misc]
            (a << n) + b,
            (a << n) + b >= 1 << 32,
        )
    for bits in (32, 64):
        found |= _bitwise(bits)
        for letter in "iu":
            keeps = letter == "i"
            found[f"s_bfe_{letter}{bits}"] = lambda a, b, c, o, n=bits, k=keeps: flagged(  # type: ignore[misc]
                field_of(a, b, n, k), n
            )
    comparisons: dict[str, Callable[[int, int], bool]] = {
        **{"eq": int.__eq__, "lg": int.__ne__, "gt": int.__gt__},
        **{"ge": int.__ge__, "lt": int.__lt__, "le": int.__le__},
    }
    for word, compare in comparisons.items():
        for kind in ("i32", "u32", "u64"):
            found[f"s_cmp_{word}_{kind}"] = lambda a, b, c, o, f=compare, k=kind: (  # type: ignore[misc]
                0,
                f(signed(a, 32), signed(b, 32)) if k == "i32" else f(a, b),
            )
    return found


def _bitwise(bits: int) -> dict[str, Callable[[int, int, bool, int], Result]]:
    mask, below = (1 << bits) - 1, bits - 1
    return {
        f"s_mov_b{bits}": lambda a, b, c, o: (a, None),
        f"s_not_b{bits}": lambda a, b, c, o: flagged(~a, bits),
        f"s_and_b{bits}": lambda a, b, c, o: flagged(a & b, bits),
        f"s_or_b{bits}": lambda a, b, c, o: flagged(a | b, bits),
        f"s_xor_b{bits}": lambda a, b, c, o: flagged(a ^ b, bits),
        f"s_andn2_b{bits}": lambda a, b, c, o: flagged(a & ~b, bits),
        f"s_orn2_b{bits}": lambda a, b, c, o: flagged(a | ~b, bits),
        f"s_nand_b{bits}": lambda a, b, c, o: flagged(~(a & b), bits),
        f"s_nor_b{bits}": lambda a, b, c, o: flagged(~(a | b), bits),
        f"s_xnor_b{bits}": lambda a, b, c, o: flagged(~(a ^ b), bits),
        f"s_lshl_b{bits}": lambda a, b, c, o: flagged(a << (b & below), bits),
        f"s_lshr_b{bits}": lambda a, b, c, o: flagged(a >> (b & below), bits),
        f"s_cselect_b{bits}": lambda a, b, c, o: (a if c else b, None),
        f"s_cmov_b{bits}": lambda a, b, c, o: (a if c else o, None),
        f"s_bfm_b{bits}": lambda a, b, c, o: ((1 << (a & below)) - 1 << (b & below), None),
        f"s_bitset0_b{bits}": lambda a, b, c, o: (o & ~(1 << (a & below)) & mask, None),
        f"s_bitset1_b{bits}": lambda a, b, c, o: (o | 1 << (a & below), None),
        f"s_bcnt0_i32_b{bits}": lambda a, b, c, o: flagged(bits - ones(a)),
        f"s_bcnt1_i32_b{bits}": lambda a, b, c, o: flagged(ones(a)),
        f"s_ff0_i32_b{bits}": lambda a, b, c, o: (f"{a:0{bits}b}"[::-1].find("0"), None),
        f"s_ff1_i32_b{bits}": lambda a, b, c, o: (f"{a:0{bits}b}"[::-1].find("1"), None),
        f"s_flbit_i32_b{bits}": lambda a, b, c, o: (f"{a:0{bits}b}".find("1"), None),
        f"s_brev_b{bits}": lambda a, b, c, o: (int(f"{a:0{bits}b}"[::-1], 2), None),
        f"s_wqm_b{bits}": lambda a, b, c, o: flagged(
            sum(15 << 4 * number for number, some in enumerate(quads(a, bits)) if some), bits
        ),
        f"s_quadmask_b{bits}": lambda a, b, c, o: flagged(
            sum(1 << number for number, some in enumerate(quads(a, bits)) if some), bits
        ),
        f"s_bitcmp0_b{bits}": lambda a, b, c, o: (0, not a >> (b & below) & 1),
        f"s_bitcmp1_b{bits}": lambda a, b, c, o: (0, bool(a >> (b & below) & 1)),
    }


def number_of(words: NDArray[np.uint32]) -> int:
    return sum(int(word) << 32 * place for place, word in enumerate(words))


def operand(case: Case, text: str, turn: int, bits: int) -> int:
    """A source's value: a register of the case, or a constant of the manual's table of operands."""
    first = re.match(r"s\[?(\d+)", text)
    if first:
        return number_of(case.scalars[f"s{first[1]}"][turn])
    constants = {"1.0": 0x3FF0000000000000 if bits == 64 else 0x3F800000, "0x12345678": 0x12345678}
    return constants.get(text) or int(text) & (1 << bits) - 1


def run(some: list[Case]) -> Iterator[tuple[Case, Values]]:
    for gfx, processor in (("gfx801", "gfx803"), ("gfx902", "gfx902")):
        mine = assembled([case for case in some if case.processor == processor])
        for each, values in expected(mine, gfx):
            assert isinstance(values, Values), values
            yield each.case, values


@pytest.mark.parametrize("isa", ISAS)
def test_instructions_compute_what_the_manual_says(isa: IsaName) -> None:
    known = meanings()
    some = [
        case
        for case in scalar.cases(isa)
        if case.form.instruction in known
        and not any(word.startswith(("vcc", "m0", "exec", "to_")) for word in case.form.features)
    ]
    assert {case.form.instruction for case in some} >= known.keys() & set(opcodes(isa).values())
    for case, values in run(some):
        name = case.form.instruction
        operands = case.text.partition(" ")[2].split(", ")
        target = None if case.form.encoding == "sopc" else operands.pop(0)
        bits = 64 if re.search(r"_[biu]64$", name) else 32
        for turn in range(ROUNDS):
            places = [operand(case, text, turn, bits) for text in operands]
            goals = re.findall(r"\d+", target or "")
            before = number_of(case.scalars[f"s{goals[0]}"][turn]) if goals else 0
            flag = turn % 2 == 0
            value, scc = known[name](places[0], places[-1], flag, before)
            rows = dict(zip((row.name for row in stored(case)), values.rows[turn, :, 0], strict=True))
            wanted = {"s86": int(flag if scc is None else scc)}
            for place, number in enumerate(goals):
                wanted[f"s{number}"] = value >> 32 * place & 0xFFFFFFFF
            assert {name: int(word) for name, word in rows.items()} == wanted, (
                str(case.form),
                turn,
                case.text,
            )


@pytest.mark.parametrize("isa", ISAS)
def test_every_instruction_has_a_trial_or_a_reason(isa: IsaName) -> None:
    """LLVM prints some SOPK opcodes by the name of another encoding: those stand in the table twice."""
    tried = {case.form.instruction for case in scalar.cases(isa)}
    names = {name for (encoding, _), name in opcodes(isa).items() if encoding in SCALAR}
    assert names - tried == names & scalar.NOT_GENERATED.keys()
    assert all(scalar.NOT_GENERATED.values())


@pytest.mark.parametrize("isa", ISAS)
def test_the_words_of_a_form_are_those_of_its_instruction(isa: IsaName) -> None:
    some = list(scalar.cases(isa))
    assert len({case.form for case in some}) == len(some)
    for case, words in zip(some, machine_code.assembled(isa, tuple(case.text for case in some)), strict=True):
        found = decode([*words, 0, 0], 0, isa)
        assert (found.encoding, found.name) == case.form[:2]
        assert set(features(found)) == set(case.form.features) - AT_RUN_TIME, case.text


def test_branches_go_over_one_word() -> None:
    some = [case for case in scalar.cases("vega") if "branch" in case.form.instruction]
    assert len(some) == 19
    for case, values in run(some):
        for turn in range(ROUNDS):
            taken = "taken" in case.form.features or ("some_taken" in case.form.features and turn % 2 == 0)
            assert values.rows[turn, :, 0].tolist() == [0xA5A5A5A5 if taken else 3, 4], str(case.form)


def test_kept_addresses_are_those_of_the_next_word() -> None:
    """S_CALL and S_SWAPPC keep the address of the word that they go over: S_MOV_B32 s20, 3 (0xBE940083)."""
    names = ("s_getpc_b64", "s_swappc_b64", "s_call_b64")
    some = [case for case in scalar.cases("vega") if case.form.instruction in names]
    assert len(some) == 3
    for case, values in run(some):
        went_over = case.form.instruction != "s_getpc_b64"
        assert values.rows[0, :, 0].tolist() == [0xA5A5A5A5 if went_over else 3, 4, 0xBE940083]


@pytest.mark.parametrize(
    ("name", "place"),
    [("s_movrels_b32", 0), ("s_movrels_b64", 0), ("s_movreld_b32", 3), ("s_movreld_b64", 6)],
)
def test_relative_registers(name: str, place: int) -> None:
    """In round 3 M0 is 3, of 64 bits 6: a source of s16 + M0 goes to s48, or s16 to s48 + M0."""
    (case,) = (case for case in scalar.cases("gcn3") if case.form.instruction == name)
    ((_, values),) = run([case])
    taken = 0 if place else (6 if name.endswith("64") else 3)
    assert values.rows[3, place, 0] == case.scalars["s16"][3, taken]
    if name.endswith("64"):
        assert values.rows[3, place + 1, 0] == case.scalars["s16"][3, taken + 1]


def test_a_field_of_the_mode_reads_back() -> None:
    some = [case for case in scalar.cases("vega") if "etreg" in case.form.instruction]
    read = {case.form.instruction: values.rows[:, 0, 0].tolist() for case, values in run(some)}
    assert read == {
        "s_getreg_b32": [0] * ROUNDS,
        "s_setreg_b32": [0, 1, 2, 3] * 2,
        "s_setreg_imm32_b32": [2] * ROUNDS,
    }
