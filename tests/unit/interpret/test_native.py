"""The compiled executor against NumPy, instruction by instruction, to the bit."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from needs import C_COMPILER

from apuflow.interpret import native
from apuflow.interpret.blocks import step_of
from apuflow.interpret.encodings import VECTOR, Dpp, Instruction, Sdwa
from apuflow.interpret.native_ops import MOVER, Encoder
from apuflow.interpret.opcodes import Encoding
from apuflow.interpret.state import EXEC, LANES, Lds, Memory, Waves
from apuflow.interpret.vector import meaning

COUNT, REGISTERS = 3, 24
SPECIAL = np.array(
    [
        *(
            0,
            1,
            2,
            31,
            63,
            64,
            0x7F,
            0x80,
            0xFFFF,
            0x7FFFFFFF,
            0x80000000,
            0xFFFFFFFF,
            0x3F800000,
            0xBF800000,
        ),
        *(0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0x00800000, 0x007FFFFF, 0x00000100, 0x4F000000),
        *(0xCF000000, 0x4F800000, 0x3FF00000, 0x7FF00000, 0xFFF00000, 0x7FF80000, 0x00100000, 0x41E00000),
        *(0xC1E00000, 0x3EAAAAAB, 0x00010000),
    ],
    np.uint32,
)


def wavefronts(seed: int, *, full: bool = False) -> Waves:
    """Registers with numbers of all sizes, some special ones among them."""
    random = np.random.default_rng(seed)

    def words(*shape: int) -> np.ndarray:
        found = random.integers(0, 1 << 32, shape, np.uint32)
        found = found >> random.integers(0, 32, shape, np.uint32)
        floats = (random.standard_normal(shape) * 10.0 ** random.integers(-30, 30, shape)).astype(np.float32)
        found = np.where(random.random(shape) < 0.3, floats.view(np.uint32), found)
        return np.where(random.random(shape) < 0.2, random.choice(SPECIAL, shape), found)

    memory = Memory({"x": 4096})
    memory.view("x")[:] = random.integers(0, 256, 4096, np.uint8)
    lds = Lds(2, 512)
    lds.bytes[:1024] = random.integers(0, 256, 1024, np.uint8)
    lds.live[:] = [2, 1]
    lanes = (
        np.ones((COUNT, LANES), np.bool_) if full else random.random((COUNT, LANES)) < [[0.6], [0.1], [0.0]]
    )
    group, number, private = np.array([0, 0, 1]), np.arange(COUNT), np.zeros(COUNT, np.int64)
    scalars, vectors = words(128, COUNT), words(REGISTERS, COUNT, LANES)
    scc = random.random(COUNT) < 0.5
    return Waves(scalars, vectors, lanes, scc, group, number, private, memory, lds, 16)


def compare(
    library: native.Library, found: Instruction, isa: str, seed: int = 1, *, full: bool = False
) -> bool:
    """Whether the executor has the instruction; then it leaves what NumPy leaves."""
    encoder = Encoder(library.functions, isa)
    row = encoder.row(found)
    if row["function"] < 0:
        return False
    left, right = wavefronts(seed, full=full), wavefronts(seed, full=full)
    step = step_of(found, isa)
    assert step is not None
    with np.errstate(all="ignore"):
        step(left)
    movers = np.array(encoder.movers or np.zeros(1, MOVER), MOVER)
    ops = np.array([row])
    done = library.op(*(ctypes.addressof(native.waves_of(right)), ops.ctypes.data, movers.ctypes.data))
    assert done
    for name in ("s", "exec", "scc"):
        same(getattr(left, name), getattr(right, name), f"{found.name} {found}: {name}")
    assert np.array_equal(left.memory.bytes, right.memory.bytes) and np.array_equal(
        left.lds.bytes, right.lds.bytes
    )
    if found.target >= 0 and found.encoding.startswith("v"):
        known = meaning(found.name)
        wide = known is not None and known.results[0] == "d"
        same(left.v, right.v, str(found), wide=wide)
    else:
        same(left.v, right.v, str(found))
    return True


def same(left: np.ndarray, right: np.ndarray, what: str, *, wide: bool = False) -> None:
    """Equal bits; a NaN may be another one."""
    if np.array_equal(left, right):
        return
    differ = np.argwhere(left != right)
    for place in map(tuple, differ):
        values = [each[place] for each in (left, right)]
        if left.dtype == np.uint32 and np.isnan(np.array(values, np.uint32).view(np.float32)).all():
            continue
        if wide:
            pairs = [[each[(target, *place[1:])] for target in (10, 11)] for each in (left, right)]
            if np.isnan(np.array(pairs, np.uint32).view(np.float64)).all():
                continue
        pytest.fail(f"{what} at {place}: {values[0]:#x} by NumPy, {values[1]:#x} compiled")


def vector_forms(name: str) -> Iterator[Instruction]:
    """Sources in registers and constants, with signs, clamp and multiples, by SDWA and DPP."""
    known = meaning(name)
    assert known is not None
    count = len(known.sources) - known.accumulates
    scalars = [20 if letter == "m" else None for letter in known.sources[:count]]

    def form(*codes: int, **changes: object) -> Instruction:
        every = (*codes, 20)
        sources = tuple(code if fixed is None else fixed for code, fixed in zip(every, scalars, strict=False))
        target = -1 if known.results == "m" else 10
        flag = 30 if "m" in known.results else -1
        made = Instruction(64, 8, "vop3", name, target, flag, sources[:count])
        return replace(made, **changes)  # type: ignore[arg-type]

    vectors = [VECTOR + each for each in (2, 4, 6)]
    yield form(*vectors)
    yield form(VECTOR + 10, VECTOR + 11, VECTOR + 10)
    yield form(40, VECTOR + 4, 42)
    yield form(VECTOR + 2, 44, 193)
    yield form(242, VECTOR + 4, 240)
    yield form(255, VECTOR + 4, VECTOR + 6, literal=0xC1234567)
    yield form(EXEC, VECTOR + 4, VECTOR + 6)
    if known.sources[0] in "fd":
        yield form(*vectors, negative=5, absolute=6)
        yield form(242, VECTOR + 4, 40, negative=1, absolute=1)
    if known.results[0] in "fd":
        yield form(*vectors, clamp=True)
        yield form(*vectors, output=1, clamp=True)
        yield form(*vectors, output=3)
    if name.startswith("v_cmp"):
        yield form(*vectors, scalar_target=EXEC)
        yield replace(form(*vectors), name=name.replace("v_cmp", "v_cmpx"))
    if set(known.sources + known.results[0]) & set("dUI"):
        return
    for selects, signed, target, unused in _PARTS[: 1 if known.results == "f" else 3]:  # no parts of a NaN
        yield form(*vectors, sdwa=Sdwa(selects, signed, target, unused))
    for control, bound in ((0x1B, True), (0x111, False), (0x142, True), (0x140, False), (0x134, False)):
        yield form(*vectors, dpp=Dpp(control, 0xD, 0xE, bound))


_PARTS = (
    ((0, 5), (True, False), 6, 0),
    ((6, 2), (False, True), 1, 1),
    ((4, 6), (False, False), 5, 2),
)


def test_every_vector_function_does_what_numpy_does(library: native.Library) -> None:
    names = [each for each in library.functions if each.startswith("v_") and meaning(each)]
    assert len(names) > 200
    for number, name in enumerate(names):
        ran = [
            compare(library, found, "vega", number + place, full=place % 4 == 3)
            for place, found in enumerate(vector_forms(name))
        ]
        assert ran[0], name


def test_every_scalar_function_does_what_numpy_does(library: native.Library) -> None:
    names = [each for each in library.functions if each.startswith("s_")]
    assert len(names) > 90
    for seed, name in enumerate(names):
        immediate = re.fullmatch(r"s_(addk|mulk|movk|cmovk)_i32", name)
        encoding: Encoding = "sopk" if immediate else "sopc" if "cmp" in name else "sop1"
        target = -1 if encoding == "sopc" else 50
        two = (
            encoding == "sopc"
            or name in _TWO
            or re.match(r"s_(lsh|ash|add|sub|mul|min|max|bfe|bfm|pack|csel)", name)
        )
        codes = ((40, 42), (EXEC, 193), (44, 129), (106, 40), (255, 46), (200, 241))
        forms = [codes[0]] if immediate else codes
        for place, (first, second) in enumerate(forms):
            sources = () if immediate else (first, second)[: 2 if two else 1]
            found = Instruction(64, 4, encoding, name, target, -1, sources, literal=0x89ABCDEF, immediate=-3)
            assert compare(library, found, "vega", 7 * seed + place), name
            if target >= 0 and name.endswith("b64") and "save" not in name:
                compare(library, replace(found, target=EXEC), "vega", 7 * seed + place)
        if "cmp" in name and "bitcmp" not in name and "64" not in name:
            found = Instruction(64, 4, "sopk", name.replace("s_cmp", "s_cmpk"), 50, immediate=-7)
            assert compare(library, found, "vega", seed)


_TWO = {
    f"s_{name}_b{width}"
    for name in ("and", "or", "xor", "andn2", "orn2", "nand", "nor", "xnor")
    for width in (32, 64)
}


LDS = (
    *(
        "ds_read_b32",
        "ds_write_b32",
        "ds_read_b64",
        "ds_write_b128",
        "ds_read_u8",
        "ds_read_i16",
        "ds_write_b8",
    ),
    *("ds_read2_b32", "ds_write2_b64", "ds_read2st64_b32", "ds_read_u8_d16_hi", "ds_write_b16_d16_hi"),
    *("ds_add_u32", "ds_add_rtn_u32", "ds_max_rtn_i32", "ds_cmpst_rtn_b64", "ds_inc_rtn_u32", "ds_add_f32"),
    *("ds_wrxchg_rtn_b32", "ds_mskor_b32", "ds_min_u64", "ds_bpermute_b32", "ds_permute_b32"),
)
GLOBAL = (
    *("dword", "dwordx2", "dwordx4", "ubyte", "sshort", "short_d16", "short_d16_hi"),
    *("atomic_add", "atomic_smin_x2", "atomic_cmpswap", "atomic_dec", "atomic_add_f32", "atomic_swap_x2"),
)


@pytest.mark.parametrize("name", LDS)
def test_lds_is_read_and_written_as_by_numpy(library: native.Library, name: str) -> None:
    """At random places, aligned as the hardware wants it; some lanes have the same one."""
    size = 16 if "128" in name else 8 if "64" in name and "st64" not in name else 4
    offset = 1 if "st64" in name else size
    found = Instruction(
        64, 8, "ds", name, 10, sources=(VECTOR + 2, VECTOR + 4, VECTOR + 8), offsets=(offset, 0)
    )
    _compare_places(library, found, 128 if "st64" in name else 300, size)


@pytest.mark.parametrize("name", GLOBAL)
def test_memory_is_read_and_written_as_by_numpy(library: native.Library, name: str) -> None:
    kinds = [""] if name.startswith("atomic") else ["load_", "store_"]
    size = 16 if name.endswith("x4") else 8 if "x2" in name else 4
    for kind in kinds:
        word = re.sub(r"^[us](?=byte|short)", "", name) if kind == "store_" else name
        if kind == "store_" and word == "short_d16":
            continue
        flags = frozenset({"glc"}) if name.startswith("atomic") else frozenset()
        sources = (VECTOR + 2, VECTOR + 4, 0x7F)
        found = Instruction(
            64, 8, "global", f"global_{kind}{word}", 10, sources=sources, offsets=(-8,), flags=flags
        )
        _compare_places(library, found, 3000, size)


def _compare_places(library: native.Library, found: Instruction, most: int, size: int) -> None:
    isa = "gfx90a"
    row = Encoder(library.functions, isa).row(found)
    assert row["function"] >= 0
    sides = [wavefronts(3), wavefronts(3)]
    for waves in sides:
        places = np.random.default_rng(4).integers(0, most // size, (COUNT, LANES)) * size
        if found.encoding == "ds":
            waves.v[2] = places
        else:
            addresses = places + waves.memory.places["x"].address + 8
            waves.v[2], waves.v[3] = addresses & 0xFFFFFFFF, addresses >> 32
    step = step_of(found, isa)
    assert step is not None
    with np.errstate(all="ignore"):
        step(sides[0])
    movers = np.zeros(1, MOVER)
    ops = np.array([row])
    assert library.op(ctypes.addressof(native.waves_of(sides[1])), ops.ctypes.data, movers.ctypes.data)
    same(sides[0].v, sides[1].v, str(found))
    same(sides[0].memory.bytes, sides[1].memory.bytes, str(found))
    same(sides[0].lds.bytes, sides[1].lds.bytes, str(found))


def test_a_place_outside_of_memory_changes_nothing(library: native.Library) -> None:
    """NumPy then says what is wrong."""
    found = Instruction(
        64, 8, "global", "global_store_dword", 10, sources=(VECTOR + 2, VECTOR + 4, 0x7F), offsets=(0,)
    )
    row = Encoder(library.functions, "gfx90a").row(found)
    waves = wavefronts(5)
    before = waves.memory.bytes.copy()
    ops, movers = np.array([row]), np.zeros(1, MOVER)
    assert not library.op(ctypes.addressof(native.waves_of(waves)), ops.ctypes.data, movers.ctypes.data)
    assert np.array_equal(before, waves.memory.bytes)


@pytest.mark.parametrize("name", ["v_pk_add_f32", "v_pk_mul_f32", "v_pk_fma_f32", "v_pk_mov_b32"])
def test_packed_operations_do_what_numpy_does(library: native.Library, name: str) -> None:
    count = 3 if "fma" in name else 2
    plain = Instruction(
        64, 8, "vop3p", name, 10, sources=(VECTOR + 2, VECTOR + 4, VECTOR + 6)[:count], select_high=7
    )
    forms = [
        plain,
        replace(plain, sources=(VECTOR + 10, VECTOR + 9, VECTOR + 11)[:count]),
        replace(plain, sources=(40, VECTOR + 4, 242)[:count], select=5, select_high=2),
        replace(plain, select=3, select_high=4, negative=6, negative_high=3),
        replace(plain, sources=(242, VECTOR + 4, 44)[:count], negative=1, negative_high=5),
    ]
    if name != "v_pk_mov_b32":
        forms.append(replace(plain, clamp=True))
    for place, found in enumerate(forms):
        assert compare(library, found, "gfx90a", 5 + place, full=place == 0)


def test_registers_that_a_kernel_does_not_have_are_left_to_numpy(library: native.Library) -> None:
    found = Instruction(64, 4, "vop1", "v_mov_b32", 10, sources=(VECTOR + REGISTERS,))
    ops, movers = np.array([Encoder(library.functions, "vega").row(found)]), np.zeros(1, MOVER)
    assert not library.op(
        ctypes.addressof(native.waves_of(wavefronts(5))), ops.ctypes.data, movers.ctypes.data
    )


def test_without_a_compiler_there_is_none(tmp_path: Path) -> None:
    assert native.library(tmp_path, cc="no-such-compiler") is None


@pytest.mark.parametrize("status", [0, 1])
def test_a_compiler_that_fails_is_as_none(tmp_path: Path, status: int) -> None:
    """It leaves a part of a library, or something that is none."""
    cc = tmp_path / "cc"
    cc.write_text(
        "#!/bin/sh\n[ $1 = --version ] && exit\nwhile [ $1 != -o ]; do shift; done\n"
        f"echo x > $2\nexit {status}\n"
    )
    cc.chmod(0o755)
    assert native.library(tmp_path / "project", cc=str(cc)) is None
    assert len(list(tmp_path.glob("project/**/*.*"))) == 1 - status


def test_no_warnings(tmp_path: Path) -> None:
    C_COMPILER.required_program()
    warnings = ("-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror", "-fsyntax-only")
    subprocess.run(
        ["cc", *native.FLAGS, *warnings, *map(str, native.SOURCES.glob("*.c"))], check=True, cwd=tmp_path
    )
