"""Code objects of later GPUs changed in place, and what is refused of them before a run."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import needs
import numpy as np
import pytest
from launcher_tools import MACH, played, run
from machine_code import assembled
from numpy.typing import NDArray

from apuflow.core.errors import EngineError
from apuflow.interpret.image import load_image
from apuflow.interpret.run import Launch, Machine, Value
from apuflow.launcher.defects import DefectName
from apuflow.launcher.disassembly import disassembled
from apuflow.launcher.dispatch_list import Argument, Buffer, Contents, Dispatch, DispatchList
from apuflow.launcher.object_changes import as_told, changed, changes_of, descriptors, walked
from apuflow.launcher.refusals import needs_more, refusals
from apuflow.miopen import elf
from apuflow.miopen.compiler import host_compiler

NUMBERS = """
__attribute__((reqd_work_group_size(64, 1, 1)))
__kernel void numbers(__global uint *out, uint factor)
{
    out[get_group_id(0) * 64 + get_local_id(0)] = (get_group_id(0) + 100 * get_group_id(1)) * factor;
}
__kernel void square(__global uint *out) { out[get_local_id(1) * 8 + get_local_id(0)] = get_local_id(1); }
__kernel void spilled(__global uint *out, uint n) {
    uint kept[64];
    for (uint i = 0; i < 64; i++) kept[i] = out[i];
    out[0] = kept[n] + kept[n * 3];
}
"""


@pytest.fixture(scope="module", name="clang")
def _clang() -> str:
    try:
        return host_compiler(code_object=4, gfx="gfx942").command[0]
    except EngineError:
        needs.LATER_CLANG.skip()


def built(clang: str, gfx: str, directory: Path, *options: str) -> Path:
    source, out = directory / "k.cl", directory / f"{gfx}.o"
    source.write_text(NUMBERS)
    made = host_compiler(code_object=4, gfx=gfx)
    command = made.command_line(options, gfx, source, out)
    subprocess.run(command, check=True, capture_output=True)
    return out


def as_gem5_starts(data: bytes) -> bytes:
    """Workgroup numbers right behind the pointers, no preload (gem5's wavefront.cc, the guest's copy)."""
    made, table = bytearray(data), elf.sections(data)
    for symbol in elf.symbols(data, table):
        if symbol.name.endswith(".kd"):
            place = elf.file_offset(table, symbol.value)
            each = next(one for one in descriptors(data) if f"{one.name}.kd" == symbol.name)
            settings = each.settings & ~(31 << 1) | each.pointers << 1
            struct.pack_into("<I", made, place + 52, settings)
            struct.pack_into("<H", made, place + 58, 0)
    return bytes(made)


def with_prologue(data: bytes) -> bytes:
    """The first 256 bytes as Triton's LLVM writes them: they load what the hardware would have preloaded."""
    lines = ("s_load_dwordx2 s[2:3], s[0:1], 0x0", "s_load_dword s4, s[0:1], 0x8", "s_waitcnt lgkmcnt(0)")
    words = [word for each in assembled("gfx940", lines) for word in each]
    words += [0xBF820000 | 64 - len(words) - 1]
    made = bytearray(data)
    kernel = next(each for each in descriptors(data) if each.name == "numbers")
    assert (kernel.pointers, kernel.preload) == (2, 3)
    place = elf.file_offset(elf.sections(data), kernel.entry)
    struct.pack_into("<64I", made, place, *words, *[0xBF800000] * (64 - len(words)))
    return bytes(made)


def run_numbers(data: bytes, path: Path) -> NDArray[np.uint32]:
    path.write_bytes(data)
    machine = Machine({"out": 256 * 4}, [load_image(path)])
    arguments = (Value(buffer="out"), Value(struct.pack("<I", 3)))
    machine.run(Launch(0, "numbers", (256, 1, 1), (64, 1, 1), arguments))
    return machine.memory.view("out").view(np.uint32).copy()


def test_a_kernel_with_preloaded_arguments_finds_its_workgroup(clang: str, tmp_path: Path) -> None:
    path = built(clang, "gfx942", tmp_path, "-mllvm", "-amdgpu-kernarg-preload-count=2")
    data = with_prologue(path.read_bytes())
    wanted = np.repeat(np.arange(4, dtype=np.uint32) * 3, 64)
    assert not np.array_equal(run_numbers(as_gem5_starts(data), tmp_path / "plain.o"), wanted)
    made, names = changed(data, ("preloaded_arguments", "matrix_numbers"))
    assert names == ("preloaded_arguments",) == changes_of(made)
    assert np.array_equal(run_numbers(as_gem5_starts(made), tmp_path / "made.o"), wanted)
    found = [str(each) for each in refusals(path, "gfx942", "v24.1", (), {"numbers": 1})]
    assert any("preloaded" in each for each in found)
    (tmp_path / "made.o").write_bytes(made)
    assert list(refusals(tmp_path / "made.o", "gfx942", "v24.1", (), {"numbers": 1})) == []


@pytest.mark.parametrize(
    ("gfx", "told", "kept"),
    [
        ("gfx902", 6, 6),
        ("gfx906", 6, 6),
        ("gfx908", 6, 6),
        ("gfx90a", 6, 13),
        ("gfx942", 31, 63),
        ("gfx942", 38, 63),
    ],
)
def test_gem5_is_given_registers_by_four_and_no_preload(
    clang: str, tmp_path: Path, gfx: str, told: int, kept: int
) -> None:
    """COMPUTE_PGM_RSRC1 of gfx90a counts by eight (LLVM's User Guide); 2g + 1 by four are as many, to 256."""
    code = bytearray(built(clang, gfx, tmp_path).read_bytes())
    table = elf.sections(bytes(code))
    symbol = next(each for each in elf.symbols(bytes(code), table) if each.name == "numbers.kd")
    place = elf.file_offset(table, symbol.value)
    struct.pack_into("<I", code, place + 48, 0xABC0 | told)
    struct.pack_into("<H", code, place + 58, 14)
    made = as_told(bytes(code), gfx)
    assert elf.header(made).flags & 0xFF == MACH["gfx902"]
    assert struct.unpack_from("<I", made, place + 48) == (0xABC0 | kept,)
    assert struct.unpack_from("<H", made, place + 58) == (14 if gfx == "gfx902" else 0,)
    rest = [range(0, 48), range(49, place), range(place + 52, place + 58)]
    assert all(made[part.start : part.stop] == code[part.start : part.stop] for part in rest)


@pytest.mark.parametrize(
    ("told", "block", "given"),
    [(31, 8, None), (38, 8, 256), (38, 304, 304), (38, 312, None), (38, 512, None), (63, 512, None)],
)
def test_more_than_256_registers_want_larger_blocks(
    clang: str, tmp_path: Path, told: int, block: int, given: int | None
) -> None:
    """A gem5 of v24.0 and one of v24.1 ran a product of 312 registers with 512 in a block, right (4.8e-3)."""
    code = bytearray(built(clang, "gfx942", tmp_path).read_bytes())
    table = elf.sections(bytes(code))
    symbol = next(each for each in elf.symbols(bytes(code), table) if each.name == "numbers.kd")
    struct.pack_into("<I", code, elf.file_offset(table, symbol.value) + 48, 0xABC0 | told)
    path = tmp_path / "wide.o"
    path.write_bytes(code)
    found = [str(each) for each in refusals(path, "gfx942", "v24.1", (), {"numbers": 1}, block)]
    assert [
        f"gem5 gives it {given}; set the machine options vreg-min-alloc: 512" in each for each in found
    ] == ([True] if given else [])
    assert bool(list(needs_more(path, "gfx942", ["numbers"]))) is (told > 31)


def test_the_guest_takes_code_of_a_later_gpu_as_gem5_is_told(clang: str, tmp_path: Path) -> None:
    path = built(clang, "gfx942", tmp_path)
    arguments = Argument("buffer", "out"), Argument("int", 3)
    step = Dispatch(path, "numbers", (64, 1, 1), (64, 1, 1), arguments)
    made = DispatchList("gfx902", (Buffer("out", 4096, Contents("touch")),), (step,))
    (tmp_path / "list").write_text(made.text())
    assert "gfx902" in run(played(), tmp_path / "list").stderr
    path.write_bytes(as_told(path.read_bytes(), "gfx942"))
    done = run(played(), tmp_path / "list", trace=tmp_path / "trace", idle=True)
    assert done.returncode == 0, done.stderr


def test_a_change_is_made_once(clang: str, tmp_path: Path) -> None:
    path = built(clang, "gfx942", tmp_path, "-mllvm", "-amdgpu-kernarg-preload-count=2")
    data = with_prologue(path.read_bytes())
    present: tuple[DefectName, ...] = ("preloaded_arguments",)
    made, _ = changed(data, present)
    assert changed(made, present) == (made, ())


def test_instructions_are_cut_as_llvm_cuts_them(clang: str, tmp_path: Path) -> None:
    path = built(clang, "gfx942", tmp_path)
    data = path.read_bytes()
    code = next(each for each in elf.sections(data) if each.flags & 4)
    places = {code.address + place - code.offset for place, _ in walked(data, code.offset, code.size)}
    lines = [line for line in disassembled(path, "gfx942").splitlines() if line.startswith("\t")]
    told = {int(line.rpartition("// ")[2].partition(":")[0], 16) for line in lines if "//" in line}
    assert told <= places


def test_what_gem5_cannot_run_is_named(clang: str, tmp_path: Path) -> None:
    path = built(clang, "gfx942", tmp_path)
    asked = {"numbers": 1, "square": 2, "spilled": 1}
    found = [str(each) for each in refusals(path, "gfx942", "v24.1", (), asked)]
    assert any(each.startswith("square: work-item numbers") for each in found)
    assert any(each.startswith("spilled: it uses private memory") for each in found)
    assert not any(each.startswith("numbers:") for each in found)
    assert list(refusals(path, "gfx942", "v24.1", (), {"square": 1, "numbers": 1})) == []
