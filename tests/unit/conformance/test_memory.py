"""Trials of memory and LDS instructions: the interpreter's values against bytes moved one by one.

"Vega ISA", chapters 7 to 11, 12.12, 12.15 and 12.16.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache

import machine_code
import numpy as np
import pytest
from numpy.typing import NDArray

from apuflow.conformance.assemble import LDS_WORDS, assembled, memory_content
from apuflow.conformance.case import LDS_BYTES, MEMORY_BYTES, ROUNDS, Case
from apuflow.conformance.expected import Values, expected
from apuflow.forms.features import AT_RUN_TIME
from apuflow.forms.scalar_words import features
from apuflow.interpret.encodings import decode
from apuflow.interpret.opcodes import IsaName, opcodes

pytestmark = pytest.mark.usefixtures("clang")
"""LLVM's assembler is beside it."""

ISAS: tuple[IsaName, ...] = ("gcn3", "vega")
ENCODINGS = {
    "scalar_memory": ("smem",),
    "memory": ("flat", "global"),
    "private": ("scratch",),
    "buffers": ("mubuf", "mtbuf"),
    "lds": ("ds",),
}
POISON = 0xA5A5A5A5
SIZES = {
    "ubyte": 1, "sbyte": -1, "byte": 1, "ushort": 2, "sshort": -2, "short": 2,
    "dword": 4, "dwordx2": 8, "dwordx3": 12, "dwordx4": 16,
    "u8": 1, "i8": -1, "b8": 1, "u16": 2, "i16": -2, "b16": 2, "b32": 4, "b64": 8, "b96": 12, "b128": 16,
}  # fmt: skip
"""Bytes of a lane; less than 0: the sign is kept."""


@cache
def made(module: str, isa: IsaName) -> tuple[Case, ...]:
    return tuple(importlib.import_module(f"apuflow.conformance.{module}").cases(isa))


def run(some: Iterable[Case]) -> Iterator[tuple[Case, Values]]:
    some = list(some)
    for gfx, processor in (("gfx801", "gfx803"), ("gfx902", "gfx902")):
        mine = assembled([case for case in some if case.processor == processor])
        for each, values in expected(mine, gfx):
            assert isinstance(values, Values), (each.case.text, values)
            yield each.case, values


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("module", ENCODINGS)
def test_words_and_trials_of_each_instruction(module: str, isa: IsaName) -> None:
    some = made(module, isa)
    reasons = getattr(importlib.import_module(f"apuflow.conformance.{module}"), "NOT_GENERATED", {})
    names = {name for (encoding, _), name in opcodes(isa).items() if encoding in ENCODINGS[module]}
    left = {name for name in names if isa == "gcn3" and "_d16_" in name and module == "buffers"}
    assert names - {case.form.instruction for case in some} == names & reasons.keys() | left
    for case, words in zip(some, machine_code.assembled(isa, tuple(case.text for case in some)), strict=True):
        found = decode([*words, 0, 0], 0, isa)
        assert (found.encoding, found.name) == case.form[:2]
        assert set(features(found)) == set(case.form.features) - AT_RUN_TIME, case.text


def width_of(case: Case) -> int:
    """Bytes of a lane; less than 0: the sign is kept."""
    return SIZES[case.form.instruction.split("_", 2)[2].partition("_d16")[0]]


def given(case: Case, register: str) -> NDArray[np.int64]:
    """A register of the case, (ROUNDS, 64), or (ROUNDS, 1)."""
    values = case.vectors.get(register)
    return (case.scalars[register][:, :1] if values is None else values[:, 0]).astype(np.int64)


def active(case: Case) -> NDArray[np.bool_]:
    """Lanes, (ROUNDS, 64)."""
    if not any(line.startswith("s_mov_b64 exec") for line in case.before):
        return np.ones((ROUNDS, 64), np.bool_)
    bits = case.scalars["s42"].astype("<u4").view(np.uint8)
    return np.unpackbits(bits, axis=1, bitorder="little").astype(np.bool_)


def fixed(case: Case) -> int:
    found = re.search(r"offset:(-?\d+)", case.text)
    return int(found[1]) if found else 0


def address(case: Case) -> NDArray[np.int64]:
    """Of each lane, from the buffer's begin (chapter 8.1.5 for MUBUF)."""
    if case.form.encoding != "mubuf":
        moved = "v3" if "v3" in case.vectors and "offset" in case.form.features else "v2"
        return given(case, moved) + fixed(case)
    index, inside = index_and_offset(case)
    moved = case.text.split("], ")[-1].split()[0]
    extra = given(case, "s45") if moved == "s45" else 16 if moved == "16" else 0
    if "swizzled" in case.form.features:  # records of 16 bytes, elements of 4, 64 indices side by side
        return extra + (index // 64 * 16 + inside // 4 * 4) * 64 + index % 64 * 4 + inside % 4
    return extra + index * 64 + inside


def index_and_offset(case: Case) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    named, nothing = case.form.features, np.zeros((ROUNDS, 64), np.int64)
    index = given(case, "v2") if "idxen" in named else nothing + np.arange(64) * ("add_tid" in named)
    inside = given(case, "v3" if "idxen" in named else "v2") if "offen" in named else nothing
    return index, inside + fixed(case)


def in_range(case: Case, byte: int = 0) -> NDArray[np.bool_]:
    """Whether the word that begins there is; NUM_RECORDS is half of the buffer, or 4096 records."""
    index, inside = index_and_offset(case)
    if "out_of_range" not in case.form.features:
        return np.ones(index.shape, np.bool_)
    extra = given(case, "s45") if "soffset" in case.form.features else 0
    return index < 4096 if "idxen" in case.form.features else inside + byte + extra < MEMORY_BYTES // 2


def words(data: NDArray[np.uint8], size: int) -> NDArray[np.uint32]:
    """Bytes (..., size) as the words that a load writes."""
    if abs(size) >= 4:
        return np.ascontiguousarray(data).view("<u4")
    kind = {1: np.uint8, -1: np.int8, 2: np.uint16, -2: np.int16}[size]
    return np.ascontiguousarray(data).view(kind).astype(np.int64).astype(np.uint32)


def halves(case: Case, value: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """What D16 leaves in a register that held POISON."""
    if case.form.instruction.endswith("_d16"):
        return value & np.uint32(0xFFFF) | np.uint32(POISON & 0xFFFF0000)
    if case.form.instruction.endswith("_d16_hi"):
        return value << np.uint32(16) | np.uint32(POISON & 0xFFFF)
    return value


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("module", ["memory", "buffers"])
def test_lanes_store_to_places_of_their_own(module: str, isa: IsaName) -> None:
    """Else the result would depend on the order of lanes and of wavefronts."""
    for case in made(module, isa):
        if "store" in case.form.instruction and "format" not in case.form.instruction:
            place = address(case)[active(case) & in_range(case)]
            taken = (place[:, None] + np.arange(width_of(case))).reshape(-1)
            assert np.unique(taken).size == taken.size, case.form
            assert taken.size == 0 or taken.max() < MEMORY_BYTES


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("module", ["memory", "buffers"])
def test_loads_and_stores_move_bytes(module: str, isa: IsaName) -> None:
    content = memory_content()
    some = [
        case
        for case in made(module, isa)
        if re.search("_(load|store)_(?!format)", case.form.instruction) and "lds" not in case.form.features
    ]
    assert len(some) > 100
    for case, values in run(some):
        size, lanes = width_of(case), active(case)
        place = address(case)[:, :, None] + np.arange(abs(size))
        valid = np.stack([in_range(case, byte // 4 * 4) for byte in range(abs(size))], -1)
        after = content.copy()
        if "load" in case.form.instruction:
            data = np.where(valid, content[np.where(valid, place, 0)], 0).astype(np.uint8)
            wanted = halves(case, words(data, size)).transpose(0, 2, 1)
            wanted = np.where(lanes[:, None], wanted, np.uint32(POISON))
            np.testing.assert_array_equal(values.rows, wanted, str(case.form))
        else:
            sent = case.vectors["v8"].transpose(0, 2, 1)
            sent = sent >> np.uint32(16) if case.form.instruction.endswith("_hi") else sent
            data = np.ascontiguousarray(sent).view(np.uint8)[:, :, :size]
            chosen = valid & lanes[:, :, None]
            after[place[chosen]] = data[chosen]
        np.testing.assert_array_equal(values.memory, after, str(case.form))


def signed(x: int, bits: int) -> int:
    return x - (1 << bits) if x >> bits - 1 & 1 else x


ATOMICS: dict[str, Callable[[int, int, int, int], int]] = {
    "swap": lambda old, data, other, bits: data,
    "wrxchg": lambda old, data, other, bits: data,
    "cmpswap": lambda old, data, other, bits: data if old == other else old,
    "cmpst": lambda old, data, other, bits: other if old == data else old,
    "add": lambda old, data, other, bits: old + data,
    "sub": lambda old, data, other, bits: old - data,
    "rsub": lambda old, data, other, bits: data - old,
    "smin": lambda old, data, other, bits: old if signed(old, bits) < signed(data, bits) else data,
    "smax": lambda old, data, other, bits: old if signed(old, bits) > signed(data, bits) else data,
    "umin": lambda old, data, other, bits: min(old, data),
    "umax": lambda old, data, other, bits: max(old, data),
    "and": lambda old, data, other, bits: old & data,
    "or": lambda old, data, other, bits: old | data,
    "xor": lambda old, data, other, bits: old ^ data,
    "inc": lambda old, data, other, bits: 0 if old >= data else old + 1,
    "dec": lambda old, data, other, bits: data if old == 0 or old > data else old - 1,
    "mskor": lambda old, data, other, bits: old & ~data | other,
    "wrap": lambda old, data, other, bits: old - data if old >= data else old + other,
}


def operand(case: Case, first: str, bits: int) -> list[list[int]]:
    """A register, or two, of each lane of each round."""
    kind = "<u4" if bits == 32 else "<u8"
    values = case.vectors.get(first, np.zeros((ROUNDS, 2, 64), np.uint32))[:, : bits // 32]
    found: list[list[int]] = np.ascontiguousarray(values.transpose(0, 2, 1)).view(kind)[:, :, 0].tolist()
    return found


def changed(
    store: NDArray[np.uint8],
    case: Case,
    kind: str,
    bits: int,
    turn: int,
    place: list[int],
    sent: tuple[str, str],
) -> dict[int, int]:
    """Do an atomic lane by lane in bytes; what each active lane gets."""
    memory = store.view("<u4" if bits == 32 else "<u8")
    data, other = (operand(case, each, bits)[turn] for each in sent)
    old: dict[int, int] = {}
    for lane in np.nonzero(active(case)[turn] & in_range(case)[turn])[0].tolist():
        old[lane] = int(memory[place[lane] // (bits // 8)])
        memory[place[lane] // (bits // 8)] = ATOMICS[kind](old[lane], data[lane], other[lane], bits) % (
            1 << bits
        )
    return old


def returned(values: Values, turn: int, bits: int, first: int = 0) -> list[int]:
    pair = np.ascontiguousarray(values.rows[turn, first : first + bits // 32].T)
    found: list[int] = pair.view("<u4" if bits == 32 else "<u8")[:, 0].tolist()
    return found


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("module", ["memory", "buffers"])
def test_atomics_compute_with_memory(module: str, isa: IsaName) -> None:
    some = [case for case in made(module, isa) if "atomic" in case.form.instruction]
    assert {case.form.instruction.split("_")[2] for case in some} == ATOMICS.keys() - {
        *("wrxchg", "cmpst", "rsub", "mskor", "wrap")
    }
    for case, values in run(some):
        kind, bits = case.form.instruction.split("_")[2], 64 if case.form.instruction.endswith("x2") else 32
        after = memory_content().copy()
        stores = given(case, "v3" if module == "buffers" else "v2")
        place = address(case)
        for turn in range(ROUNDS):
            after.view("<u4" if bits == 32 else "<u8")[stores[turn] // (bits // 8)] = operand(
                case, "v24", bits
            )[turn]
            old = changed(after, case, kind, bits, turn, place[turn].tolist(), ("v8", f"v{8 + bits // 32}"))
            if "glc" in case.form.features:
                got = returned(values, turn, bits)
                assert {lane: got[lane] for lane in old} == old, str(case.form)
        np.testing.assert_array_equal(values.memory, after, str(case.form))


def lds_after(values: Values) -> NDArray[np.uint8]:
    """(ROUNDS, LDS_BYTES)."""
    return np.ascontiguousarray(values.rows[:, -LDS_WORDS:]).reshape(ROUNDS, -1).view(np.uint8)


def lds_before() -> NDArray[np.uint8]:
    return np.tile(memory_content()[:LDS_BYTES], (ROUNDS, 1))


@pytest.mark.parametrize("isa", ISAS)
def test_lds_reads_and_writes_move_bytes(isa: IsaName) -> None:
    pattern = re.compile(r"ds_(read|write)(2?)(st64)?(_addtid)?_([bui]\d+)(_d16)?(_hi)?")
    some = [case for case in made("lds", isa) if pattern.fullmatch(case.form.instruction)]
    assert len(some) > 100
    rounds = np.arange(ROUNDS)[:, None, None]
    for case, values in run(some):
        form = pattern.fullmatch(case.form.instruction)
        assert form
        size, lanes, lds = SIZES[form[5]], active(case), lds_before()
        scale = abs(size) * (64 if form[3] else 1) if form[2] else 1
        offsets = [scale * int(each) for each in re.findall(r"offset[01]?:(\d+)", case.text)] or [0]
        first = given(case, "s44") + 4 * np.arange(64) if form[4] else given(case, "v2")
        wanted, goals = [], []
        for offset, register in zip(offsets, ("v8", "v12"), strict=False):
            place = (first + offset)[:, :, None] + np.arange(abs(size))
            if form[1] == "read":
                value = halves(case, words(lds[rounds, place], size)).transpose(0, 2, 1)
                wanted.append(np.where(lanes[:, None], value, np.uint32(POISON)))
                continue
            sent = case.vectors[register].transpose(0, 2, 1)
            data = np.ascontiguousarray(sent >> np.uint32(16) if form[7] else sent).view(np.uint8)
            goals.append(np.where(lanes[:, :, None], place, -1))
            for turn in range(ROUNDS):
                lds[turn, place[turn, lanes[turn]]] = data[turn, lanes[turn], : abs(size)]
        for turn in range(ROUNDS if goals else 0):  # no two lanes write to one place
            each = np.concatenate([goal[turn].reshape(-1) for goal in goals])
            assert np.unique(each[each >= 0]).size == (each >= 0).sum(), str(case.form)
        if wanted:
            np.testing.assert_array_equal(
                values.rows[:, :-LDS_WORDS], np.concatenate(wanted, 1), str(case.form)
            )
        np.testing.assert_array_equal(lds_after(values), lds, str(case.form))


@pytest.mark.parametrize("isa", ISAS)
def test_lds_atomics_of_whole_numbers(isa: IsaName) -> None:
    pattern = re.compile(r"ds_(\w+?)(2?)(st64)?(_rtn)?_([uib])(32|64)")
    some = [
        case
        for case in made("lds", isa)
        if not re.search("read|write|src2|permute|swizzle", case.form.instruction)
        and pattern.fullmatch(case.form.instruction)
    ]
    names = set()
    for case, values in run(some):
        form = pattern.fullmatch(case.form.instruction)
        assert form
        bits, lds = int(form[6]), lds_before()
        kind = form[5].replace("i", "s") + form[1] if form[1] in ("min", "max") else form[1]
        names.add(kind)
        scale = bits // 8 * (64 if form[3] else 1) if form[2] else 1
        offsets = [scale * int(each) for each in re.findall(r"offset[01]?:(\d+)", case.text)] or [0]
        first, start = given(case, "v2"), 0 if form[2] else offsets[0]
        for turn in range(ROUNDS):
            stored = lds[turn].view("<u4" if bits == 32 else "<u8")
            stored[(first[turn] + start) // (bits // 8)] = operand(case, "v24", bits)[turn]
            for number, offset in enumerate(offsets):
                sent = (("v8", "v12")[number], "v12")
                old = changed(lds[turn], case, kind, bits, turn, (first[turn] + offset).tolist(), sent)
                if form[4]:
                    got = returned(values, turn, bits, number * bits // 32)
                    assert {lane: got[lane] for lane in old} == old, str(case.form)
        np.testing.assert_array_equal(lds_after(values), lds, str(case.form))
    assert names == ATOMICS.keys() - {"swap", "cmpswap"}


def test_one_word_of_lds_is_changed_by_the_number_of_lanes() -> None:
    """DS_APPEND adds as many as lanes are active; the word of round 1 is at 128."""
    some = [case for case in made("lds", "vega") if case.form.instruction in ("ds_append", "ds_consume")]
    content = memory_content()[:LDS_BYTES].view(np.uint32)
    for case, values in run(some):
        place, lanes = 128 // 4 + fixed(case) // 4, active(case)[1]
        sign = 1 if case.form.instruction == "ds_append" else -1
        after = lds_after(values)[1].view(np.uint32)
        assert int(after[place]) == (int(content[place]) + sign * int(lanes.sum())) % (1 << 32)
        assert (values.rows[1, 0, lanes] == content[place]).all()


SWIZZLES: dict[str, Callable[[int], int]] = {
    "0x801b": lambda lane: lane & ~3 | 3 - (lane & 3),  # quads reversed
    "0x41f": lambda lane: lane ^ 1,
    "0x401f": lambda lane: lane ^ 16,
    "0x7c1f": lambda lane: lane ^ 31,
    "0xc020": lambda lane: lane & 32 | lane + 1 & 31,  # rotated by 1
    "0xc460": lambda lane: lane & 32 | lane - 3 & 31,
    "0xe01f": lambda lane: lane,  # all five bits are kept
    "0xe000": lambda lane: lane & 32 | int(f"{lane & 31:05b}"[::-1], 2),  # bits reversed
}
"""The lane that each one reads ("Vega ISA", DS_SWIZZLE_B32)."""


def test_swizzles_take_values_of_other_lanes() -> None:
    some = {case.text.rpartition(":")[2]: case for case in made("lds", "vega") if "swizzle" in case.text}
    for case, values in run([some[offset] for offset in SWIZZLES]):
        taken, lanes = [SWIZZLES[case.text.rpartition(":")[2]](lane) for lane in range(64)], active(case)
        wanted = np.where(lanes[:, taken], given(case, "v8")[:, taken], 0)
        np.testing.assert_array_equal(values.rows[:, 0][lanes], wanted[lanes], case.text)


def test_permutations_push_and_pull() -> None:
    """DS_PERMUTE sends to a lane, of two senders the higher one counts; DS_BPERMUTE fetches from one."""
    some = [case for case in made("lds", "gcn3") if "permute" in case.text]
    assert len(some) == 14
    for case, values in run(some):
        lanes, sent = active(case), given(case, "v8")
        goal = (given(case, "v2") + fixed(case)) // 4 % 64
        for turn in range(ROUNDS):
            got = [0] * 64
            for lane in np.nonzero(lanes[turn])[0].tolist():
                other = int(goal[turn, lane])
                if "bpermute" in case.text:
                    got[lane] = int(sent[turn, other]) if lanes[turn, other] else 0
                else:
                    got[other] = int(sent[turn, lane])
            wanted = [value for value, is_active in zip(got, lanes[turn], strict=True) if is_active]
            assert values.rows[turn, 0, lanes[turn]].tolist() == wanted, (str(case.form), turn)


def test_a_second_operand_of_lds() -> None:
    """DS_ADD_SRC2: DS[A] = DS[A] + DS[A + 4 * offset]; the trials store both before."""
    meant: dict[str, Callable[..., NDArray[np.uint64]]] = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "write": lambda _a, b: b,
    }
    names = ("ds_add_src2_u32", "ds_write_src2_b64", "ds_sub_src2_u64")
    some = [case for case in made("lds", "vega") if case.form.instruction in names]
    for case, values in run(some):
        bits, compute = int(case.form.instruction[-2:]), meant[case.form.instruction.split("_")[1]]
        first, second = (np.array(operand(case, each, bits), np.uint64) for each in ("v8", "v12"))
        wanted = np.where(active(case), compute(first, second), first).astype(f"<u{bits // 8}")
        stored = lds_after(values).view(f"<u{bits // 8}")
        got = np.take_along_axis(stored, given(case, "v2") // (bits // 8), 1)
        np.testing.assert_array_equal(got, wanted, str(case.form))


def test_scalar_loads() -> None:
    """Chapter 7: the lower two bits are ignored; a buffer gives 0 beyond NUM_RECORDS (of STRIDE bytes)."""
    content = memory_content().view(np.uint32).astype(np.int64)
    some = [case for isa in ISAS for case in made("scalar_memory", isa) if "_load_" in case.text]
    for case, values in run(some):
        named, count = case.form.features, values.rows.shape[1]
        constant = re.search(r"(-?0x[0-9a-f]+)( glc)?$", case.text)
        inside = int(constant[1], 16) if constant else 0
        records = next(
            (line.split(", ")[1] for line in case.before if line.startswith("s_mov_b32 s58")), "65536"
        )
        limit = int(records) * (64 if "stride" in named else 1)
        register = given(case, "s16") if {"soffset", "m01"} & set(named) else np.zeros((ROUNDS, 1), np.int64)
        base = given(case, "s18") if "s18" in case.scalars else 0
        place = (base >> 2) + (inside >> 2) + (register >> 2) + np.arange(count)
        wanted = np.where(4 * place < limit, content[place % content.size], 0)
        np.testing.assert_array_equal(values.rows[:, :, 0], wanted, case.text)


def test_buffer_loads_to_lds() -> None:
    """Lanes side by side from M0 (512) plus the offset on; inactive ones leave LDS as it is."""
    some = [case for case in made("buffers", "vega") if "lds" in case.form.features]
    content, rounds = memory_content(), np.arange(ROUNDS)[:, None]
    assert len(some) == 15
    for case, values in run(some):
        size, lds = width_of(case), lds_before().view("<u4")
        value = words(content[address(case)[:, :, None] + np.arange(abs(size))], size)[:, :, 0]
        goal = np.broadcast_to((512 + fixed(case)) // 4 + np.arange(64), value.shape)
        lds[rounds, goal] = np.where(active(case), value, lds[rounds, goal])
        np.testing.assert_array_equal(lds_after(values).view("<u4"), lds, str(case.form))


def test_private_memory_is_a_lanes_own_whatever_lies_between() -> None:
    """The bytes of each lane, from the words that it was filled with ("Vega" manual, scratch space)."""
    for case, values in run(each for each in made("private", "vega") if "d16" not in each.form.instruction):
        size = width_of(case)
        held = np.ascontiguousarray(case.vectors["v40"].transpose(0, 2, 1)).view(np.uint8)
        where = given(case, "v2" if "v2" in case.vectors else "s61") + 16 * ("offset" in case.form.features)
        active = np.ones((ROUNDS, 64), np.bool_)
        if "s42" in case.scalars:
            bits = np.ascontiguousarray(case.scalars["s42"]).view(np.uint8)
            active = np.unpackbits(bits, axis=1, bitorder="little").astype(np.bool_)
        for one, lane in np.ndindex(ROUNDS, 64):
            place = int(np.broadcast_to(where, (ROUNDS, 64))[one, lane])
            mine, got = held[one, lane].copy(), values.rows[one, :, lane]
            if "store" in case.form.instruction:
                if active[one, lane]:
                    sent = np.ascontiguousarray(case.vectors["v8"][one, :, lane]).view(np.uint8)
                    mine[place : place + size] = sent[:size]
                assert (np.ascontiguousarray(got).view(np.uint8) == mine).all(), case.text
            elif active[one, lane]:
                taken = int.from_bytes(mine[place : place + abs(size)].tobytes(), "little", signed=size < 0)
                words = [taken >> 32 * word & 0xFFFFFFFF for word in range(max(1, size // 4))]
                assert got.tolist() == words, case.text
            else:
                assert (got == POISON).all(), case.text
