"""A program on its own GPU under ROCm, played by a stand-in: what our tool of the runtime tells of it."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import needs
import numpy as np
import pytest
from places import DATA
from typer.testing import CliRunner

from apuflow.capture import observed
from apuflow.capture.observed import ObservedDevice
from apuflow.capture.protocol import ADDRESS, LAUNCH, MODULE, PIECE, Request, Status
from apuflow.capture.selection import Choice
from apuflow.capture.server import run
from apuflow.capture.writer import write
from apuflow.cli import build_app
from apuflow.core.errors import ConfigError, EngineError
from apuflow.core.gpus import gpu
from apuflow.kernels.sources import compiled
from apuflow.miopen.compiler import Compiler

PROGRAM = DATA / "hsa_programs"
HEADERS = Path("/usr/include/hsa/hsa_api_trace.h")
A = np.arange(256, dtype=np.float32)
B = A % 10


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory, clang: Compiler) -> list[str]:
    """The program, its code object and kernel. Its compiler reads the runtime's tables as C++."""
    if not HEADERS.is_file():
        needs.ROCM.skip()
    out = tmp_path_factory.mktemp("program") / "program"
    words = ["-x", "c++", "-std=c++17", "-fno-threadsafe-statics", f"-I{HEADERS.parent}"]
    source = PROGRAM / "program.cpp"
    subprocess.run([needs.CLANG.required_program(), *words, str(source), "-o", str(out)], check=True)
    return [str(out), str(compiled(str(PROGRAM / "add.cl"), "", "gfx90a")), "add"]


@pytest.fixture(scope="module")
def library_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("library")


def test_launches_and_memory_of_a_program_on_its_own_gpu(
    command: list[str],
    library_root: Path,
    root: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """out = a + 2 b, then out = out + 0.5 a: 13, then 18.5 for number 11. The interpreter gives the same."""
    device = ObservedDevice(gpu("gfx90a"))
    assert run(command, device, [], observed.tool_variables(library_root)) == 0
    assert capfd.readouterr().out == "out[11] = 18.5\n"
    launches = device.journal.launches
    assert [(each.kernel, each.grid, each.workgroup) for each in launches] == [
        ("add", (256, 1, 1), (64, 1, 1))
    ] * 2
    a, b, out = (each.contents for each in launches[0].addresses)
    assert [each.contents for each in launches[1].addresses] == [out, a, out]
    assert np.array_equal(a.before.view(np.float32), A) and np.array_equal(b.before.view(np.float32), B)
    assert not out.before.any() and out.after is not None
    assert np.array_equal(out.after.view(np.float32), A + 2 * B + A / 2)
    write(device.journal, "observed", root, "program")
    monkeypatch.chdir(root)
    done = CliRunner().invoke(build_app(), ["check-kernels", "observed", "--gfx", "gfx90a", "--run"])
    assert done.exit_code == 0, done.output
    assert "out equals its reference" in done.output


def test_memory_that_only_memory_points_to(command: list[str]) -> None:
    """Piece 2 is asked for once piece 1, which holds its address, is known; after the launch both are."""
    device = ObservedDevice(gpu("gfx90a"))
    first, second = 0x7F00_0000_0000, 0x7F00_0001_0000

    def pieces() -> set[int]:
        _, reply = device.answer(Request.MISSING, b"")
        return {each for each, _ in PIECE.iter_unpack(reply[8:])}

    device.answer(Request.LOAD, Path(command[1]).read_bytes())
    device.answer(Request.KERNEL, MODULE.pack(0) + b"add")
    for address in (first, second):
        device.answer(Request.PLACED, PIECE.pack(address, 64))
    block = struct.pack("<QQQf", first, first, first, 1)
    launch = LAUNCH.pack(0, 0, *(64, 1, 1), *(64, 1, 1), *(0, 0, 0)) + block
    assert device.answer(Request.OBSERVE, launch) == (Status.OK, b"")
    known = {first: struct.pack("<Q", second + 16).ljust(64, b"\0"), second: bytes(64)}
    for wanted in ({first}, {second}, set(), {first, second}, set()):
        assert pieces() == wanted
        for address in wanted:
            device.answer(Request.SNAPSHOT, ADDRESS.pack(address) + known[address])
    device.answer(Request.OBSERVED, b"")
    (given, *_) = device.journal.launches[0].addresses
    assert [(each.place, each.contents.number, each.offset) for each in given.contents.pointers] == [
        (0, 2, 16)
    ]


def test_only_launches_that_are_wanted_are_observed(command: list[str], library_root: Path) -> None:
    """After the first one the program is ended; a pattern that no kernel has lets it run to its end."""
    variables = observed.tool_variables(library_root)
    device = ObservedDevice(gpu("gfx90a"), Choice(first=1))
    assert run(command, device, [], variables) == 0
    assert len(device.journal.launches) == device.journal.count == 1
    device = ObservedDevice(gpu("gfx90a"), Choice(pattern="multiply"))
    assert run(command, device, [], variables) == 0
    assert (len(device.journal.launches), device.journal.count) == (0, 2)


def test_tables_of_another_rocm_are_left_alone(
    command: list[str], library_root: Path, root: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """They are larger than the headers say: functions may lie elsewhere."""
    device = ObservedDevice(gpu("gfx90a"))
    variables = {**observed.tool_variables(library_root), "STAND_IN_OF_ANOTHER_ROCM": "1"}
    assert run(command, device, [], variables) == 0
    said = capfd.readouterr()
    assert said.out == "out[11] = 18.5\n" and "name the headers of this ROCm in ROCM_PATH" in said.err
    with pytest.raises(ConfigError, match="the program has launched no kernel"):
        write(device.journal, "observed", root, "program")


def test_code_for_another_gpu(command: list[str], library_root: Path) -> None:
    with pytest.raises(EngineError, match="no code for this GPU"):
        run(command, ObservedDevice(gpu("gfx942")), [], observed.tool_variables(library_root))


def test_missing_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCM_PATH", str(tmp_path))
    with pytest.raises(EngineError, match="apt install libhsa-runtime-dev"):
        observed.tool_variables(tmp_path)
