"""The guest program: what it refuses, and what reaches the device, with a played /dev/kfd."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from launcher_tools import MACH, GuestList, built, code_object, constant, played, run

from apuflow.core.errors import EngineError
from apuflow.launcher.dispatch_list import Argument, Buffer, Contents, Dispatch, Dump
from apuflow.launcher.program import build_launcher

KERNARG_BYTES = 32
RECORD_BYTES = 8 + 64 + 256 + 256 + KERNARG_BYTES


@pytest.fixture(name="launcher")
def _launcher() -> Path:
    return built()


@pytest.fixture(name="played")
def _played() -> Path:
    return played()


def twice(tmp_path: Path, device: str = "gfx801", count: int = 128, **changes: object) -> GuestList:
    """A list with one kernel: y = 2x."""
    path = tmp_path / "kernel.o"
    if not path.exists():
        path.write_bytes(code_object(mach=MACH[device]))
    arguments = (
        Argument("buffer", "x"),
        Argument("buffer", "y"),
        Argument("int", -5),
        Argument("double", 1.5),
    )
    buffers = (Buffer("x", 4 * count, Contents("uniform", (7,))), Buffer("y", 4 * count, Contents("touch")))
    dispatch = Dispatch(path, "twice", (count, 1, 1), (64, 1, 1), arguments)
    made = GuestList(device, buffers, (dispatch, Dump("y", tmp_path / "y.bin")), finite=("y",))
    return replace(made, **changes)  # type: ignore[arg-type]


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "dispatch.list"
    path.write_text(text)
    return path


def records(trace: Path) -> list[tuple[bytes, bytes, bytes, bytes]]:
    """(packet, kernel object, queue, arguments) of every dispatch that the played device saw."""
    data = trace.read_bytes()
    assert len(data) % RECORD_BYTES == 0
    cut = [data[start + 8 : start + RECORD_BYTES] for start in range(0, len(data), RECORD_BYTES)]
    return [(part[:64], part[64:320], part[320:576], part[576:]) for part in cut]


def packet_addresses(trace: Path) -> list[int]:
    data = trace.read_bytes()
    return [struct.unpack_from("<Q", data, start)[0] for start in range(0, len(data), RECORD_BYTES)]


def test_program_is_static_and_small(launcher: Path) -> None:
    data = launcher.read_bytes()
    headers, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
    kinds = [struct.unpack_from("<I", data, headers + 56 * index)[0] for index in range(count)]
    assert 3 not in kinds, "asks for a dynamic linker"
    assert len(data) < 40_000


def test_without_device_says_so(launcher: Path, tmp_path: Path) -> None:
    done = run(launcher, write(tmp_path, twice(tmp_path).text()))
    assert done.returncode == 4
    assert "/dev/kfd: cannot open (errno 2)" in done.stderr
    assert "gem5" in done.stderr
    assert not (tmp_path / "y.bin").exists()


def test_check_needs_no_device(launcher: Path, tmp_path: Path) -> None:
    done = run(launcher, "--check", write(tmp_path, twice(tmp_path).text()))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "apuflow-launcher: dispatch 0 twice grid 128x1x1 workgroup 64x1x1 lds 0 private 0 checked",
        "apuflow-launcher: list checked",
    ]


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["--check"]])
def test_usage(launcher: Path, arguments: list[str]) -> None:
    done = run(launcher, *arguments)
    assert done.returncode in (2, 3)
    assert "apuflow-launcher: error:" in done.stderr


def test_missing_list(launcher: Path, tmp_path: Path) -> None:
    done = run(launcher, tmp_path / "none")
    assert done.returncode == 3
    assert "none: cannot open (errno 2)" in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("apuflow-dispatch-list 1", "apuflow-dispatch-list 2", 1, "first line of a dispatch list"),
        ("device gfx801", "device gfx906", 2, "unknown device: gfx906"),
        ("wait event", "wait a while", 3, "too many words after: wait"),
        ("wait event", "wait never", 3, "unknown choice: never"),
        ("buffer x 512 uniform 7", "buffer x 511 uniform 7", 6, "multiple of 4"),
        ("buffer x 512 uniform 7", "buffer x -4 uniform 7", 6, "not a number: -4"),
        ("buffer x 512 uniform 7", "buffer x 512 noise", 6, "unknown contents: noise"),
        ("buffer x 512 uniform 7", "buffer x 512 uniform", 6, "too few words"),
        ("buffer x 512 uniform 7", "buffer x 512 uniform 4294967296", 6, "too large: 4294967296"),
        ("buffer x 512 uniform 7", "buffer x 512 file 0", 6, "no data line before"),
        ("buffer x 512 uniform 7", "buffer x 512 loaded 0", 6, "no data line before"),
        ("buffer y", "buffer x", 7, "a second buffer of this name: x"),
        ("dispatch 0", "dispatch 1", 8, "too large: 1"),
        ("twice 128 1 1", "twice 0 1 1", 8, "size is 0"),
        ("64 1 1", "64 4 8", 8, "at most 1024 work-items, this one: 2048"),
        ("64 1 1 4", "64 1 1 4 2097152", 8, "too large: 2097152"),
        ("arg buffer x", "arg buffer z", 9, "no such buffer: z"),
        ("arg buffer x", "arg buffer x 512", 9, "too large: 512"),
        ("arg u32 0xfffffffb", "arg u32 0x1fffffffb", 11, "too large"),
        ("arg u32 0xfffffffb", "arg f16 0", 11, "unknown kind of argument: f16"),
        ("arg u32 0xfffffffb\n", "", 12, "arguments missing before: check"),
        ("check y finite", "arg u32 0", 13, "an argument more than its dispatch says"),
        ("check y finite", "check y pretty", 13, "unknown check: pretty"),
        ("check y finite", "bake y", 13, "unknown statement: bake"),
        ("\nend\n", "\n", 14, "cut off: no 'end'"),
        ("\nend\n", "\nend\nwait poll\n", 16, "a statement after 'end': wait"),
    ],
)
def test_mistakes_are_named_with_their_line(
    launcher: Path, tmp_path: Path, old: str, new: str, line: int, words: str
) -> None:
    text = twice(tmp_path).text()
    assert text.count(old) >= 1
    path = write(tmp_path, text.replace(old, new, 1))
    done = run(launcher, "--check", path)
    assert done.returncode == 2, done
    assert f"{path}:{line}: " in done.stderr
    assert words in done.stderr


@pytest.mark.parametrize("size", [0, 3, 63, 200, 0x410, 0x1100, 0x1180])
def test_truncated_code_object(launcher: Path, tmp_path: Path, size: int) -> None:
    made = twice(tmp_path)
    (tmp_path / "kernel.o").write_bytes(code_object()[:size])
    done = run(launcher, "--check", write(tmp_path, made.text()))
    assert done.returncode == 3
    assert "truncated code object" in done.stderr or "not a 64-bit ELF file" in done.stderr


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"machine": 62}, "not for AMD GPUs (ELF machine 62)"),
        ({"mach": MACH["gfx803"]}, "not compiled for gfx801 (machine flag 0x2a"),
        ({"kernel": "thrice"}, "no kernel twice"),
        ({"kernel": "twices"}, "no kernel twice"),
    ],
)
def test_wrong_code_object(launcher: Path, tmp_path: Path, changes: dict[str, object], words: str) -> None:
    made = twice(tmp_path)
    (tmp_path / "kernel.o").write_bytes(code_object(**changes))  # type: ignore[arg-type]
    done = run(launcher, "--check", write(tmp_path, made.text()))
    assert done.returncode == 3
    assert words in done.stderr
    if "kernel" in changes:
        assert f"kernels here: {changes['kernel']}.kd" in done.stdout


def test_too_many_arguments_for_the_kernel(launcher: Path, tmp_path: Path) -> None:
    made = twice(tmp_path)
    (tmp_path / "kernel.o").write_bytes(code_object(kernarg=24))
    done = run(launcher, "--check", write(tmp_path, made.text()))
    assert done.returncode == 2
    assert "twice takes 24 bytes of arguments, the list gives 32" in done.stderr


@pytest.mark.parametrize("contents", [Contents("file", (4000,)), Contents("loaded", (4000,))])
def test_data_file_too_small(launcher: Path, tmp_path: Path, contents: Contents) -> None:
    data = tmp_path / "data.bin"
    data.write_bytes(bytes(4096))
    made = twice(tmp_path, data=data, buffers=(Buffer("x", 512, contents), twice(tmp_path).buffers[1]))
    done = run(launcher, "--check", write(tmp_path, made.text()))
    assert done.returncode == 2
    assert "holds 4096 bytes, buffer x needs 512 from 4000" in done.stderr


@pytest.mark.parametrize("poll", [True, False])
def test_dispatch_end_to_end(played: Path, tmp_path: Path, poll: bool) -> None:
    made = twice(tmp_path, poll=poll)
    done = run(played, write(tmp_path, made.text()), trace=tmp_path / "trace")
    assert (done.returncode, done.stderr) == (0, "")
    assert made.end_marker == "apuflow-launcher: 1 of 1 dispatches done"
    assert made.end_marker in done.stdout.splitlines()
    x = made.buffers[0].contents.values(512).view(np.float32)
    assert np.array_equal(np.fromfile(tmp_path / "y.bin", np.float32), 2 * x)

    [(packet, kernel_object, queue, arguments)] = records(tmp_path / "trace")
    # HSA System Architecture 1.1, table 2-11: header, setup, workgroup, grid, segments, three addresses
    header, setup, *sizes = struct.unpack_from("<HHHHHHIIIII", packet)
    assert header == 2 | 2 << 9 | 2 << 11
    assert setup == 1
    assert sizes == [64, 1, 1, 0, 128, 1, 1, 0, 0]
    object_address, kernarg, reserved, signal = struct.unpack_from("<QQQQ", packet, 32)
    assert object_address % 64 == 0 and signal % 64 == 0 and kernarg % 16 == 0 and reserved == 0
    assert kernel_object[64:] == bytes(192), "gem5 reads past the 64-byte descriptor"
    assert struct.unpack_from("<I", queue, 136) == (128,)
    assert struct.unpack_from("<I", queue, 140) == (0,)
    # 8 + 8 + 4, four bytes of padding, 8
    assert struct.unpack_from("<iid", arguments, 16) == (-5, 0, 1.5)


def test_lds_of_the_launch_is_added_to_the_kernels_own(played: Path, tmp_path: Path) -> None:
    """The packet's group segment size (HSA System Architecture 1.1, table 2-11) is a workgroup's LDS."""
    made = twice(tmp_path)
    (tmp_path / "kernel.o").write_bytes(code_object(group=512))
    made = replace(made, steps=(replace(made.dispatches[0], lds=1000), *made.steps[1:]))
    done = run(played, write(tmp_path, made.text()), trace=tmp_path / "trace")
    assert done.returncode == 0, done.stderr
    [(packet, *_)] = records(tmp_path / "trace")
    assert struct.unpack_from("<I", packet, 28) == (1512,)
    assert " lds 1512 private " in done.stdout


@pytest.mark.parametrize("device", ["gfx801", "gfx900", "gfx902"])
def test_several_dispatches_share_buffers(
    played: Path, tmp_path: Path, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if device == "gfx902":
        monkeypatch.setenv("FAKE_GFX9", "1")
    forth = twice(tmp_path, device).dispatches[0]
    back = Dispatch(
        forth.object, "twice", (128, 1, 1), (64, 1, 1), (Argument("buffer", "y"), Argument("buffer", "x", 4))
    )
    made = twice(
        tmp_path,
        device,
        buffers=(Buffer("x", 1024, constant(0.5)), Buffer("y", 512, Contents("touch"))),
        steps=(forth, back) * 40 + (Dump("y", tmp_path / "y.bin"),),
        statistics="dispatch",
    )
    done = run(played, write(tmp_path, made.text()), trace=tmp_path / "trace")
    assert done.returncode == 0, done.stderr
    assert "apuflow-launcher: 80 of 80 dispatches done" in done.stdout
    assert "statistics: 79 reset, 81 written" in done.stdout  # a first block holds what came before
    # gem5 before v24.0 keeps what kernels have read through the scalar cache: nothing lies in one place twice
    arguments = [struct.unpack_from("<Q", packet, 40)[0] for packet, _, _, _ in records(tmp_path / "trace")]
    assert len({address // 64 for address in arguments}) == 80
    assert len(set(packet_addresses(tmp_path / "trace"))) == 80
    # y[i] = 2 x[i], x[i + 1] = 2 y[i]: x[0] stays 0.5, and each element is twice its neighbour's double
    y = np.fromfile(tmp_path / "y.bin", np.float32)
    assert y[:4].tolist() == [1.0, 4.0, 16.0, 64.0]


def test_statistics_are_reset_before_each_dispatch_where_gem5s_script_writes_them(
    played: Path, tmp_path: Path
) -> None:
    """v24.0's script writes a block at a kernel's end: without the reset it holds the filling of buffers."""
    step = twice(tmp_path).dispatches[0]
    made = twice(tmp_path, steps=(step,) * 3, statistics="reset")
    done = run(played, write(tmp_path, made.text()), trace=tmp_path / "trace")
    assert done.returncode == 0, done.stderr
    assert "statistics: 3 reset, 0 written" in done.stdout


def test_infinite_output_is_an_error(played: Path, tmp_path: Path) -> None:
    made = twice(tmp_path)
    buffers = (Buffer("x", 512, constant(3.0e38)), made.buffers[1])
    done = run(played, write(tmp_path, twice(tmp_path, buffers=buffers).text()), trace=tmp_path / "trace")
    assert done.returncode == 6
    assert "buffer y: element 0 is not finite (0x7f800000)" in done.stderr
    assert "dispatches done" not in done.stdout


def test_contents_match_numpy(played: Path, tmp_path: Path) -> None:
    data = tmp_path / "data.bin"
    data.write_bytes(np.arange(5000, dtype=np.uint32).tobytes())
    kinds = {
        "a": Contents("zero"),
        "b": constant(-1.25),
        "c": Contents("uniform", (123456789,)),
        "d": Contents("modulo", (42, 9)),
        "e": Contents("file", (4096,)),
        "f": Contents("untouched"),
        "g": Contents("indices", (7, 1000)),
        "h": Contents("loaded", (4100,)),
    }
    made = twice(tmp_path)
    buffers = made.buffers + tuple(Buffer(name, 12_000, contents) for name, contents in kinds.items())
    dumps = tuple(Dump(name, tmp_path / name) for name in kinds)
    whole = twice(tmp_path, buffers=buffers, steps=made.steps + dumps, data=data)
    done = run(played, write(tmp_path, whole.text()), trace=tmp_path / "trace")
    assert done.returncode == 0, done.stderr
    file = np.fromfile(data, np.uint8)
    for name in "cdegh":
        assert (tmp_path / name).read_bytes() == kinds[name].values(12_000, file).tobytes(), name
    assert (tmp_path / "a").read_bytes() == (tmp_path / "f").read_bytes() == bytes(12_000)
    assert (tmp_path / "b").read_bytes() == struct.pack("<f", -1.25) * 3000
    uniform = np.fromfile(tmp_path / "c", np.float32)
    assert 0 <= uniform.min() < 0.01 and 0.99 < uniform.max() < 1 and abs(uniform.mean() - 0.5) < 0.02
    assert set(np.fromfile(tmp_path / "d", np.uint8)) == set(range(9))
    assert 980 < np.fromfile(tmp_path / "g", np.int32).max() < 1000


def test_scratch_of_a_kernel_with_private_memory(played: Path, tmp_path: Path) -> None:
    """648 bytes a work-item: 40.5 KiB a wavefront, counted in whole KiB; 500 workgroups of 4 wavefronts."""
    (tmp_path / "kernel.o").write_bytes(code_object(private=648, group=512))
    made = twice(tmp_path, count=500 * 256)
    dispatch = Dispatch(
        tmp_path / "kernel.o", "twice", (500 * 256, 1, 1), (256, 1, 1), made.dispatches[0].arguments
    )
    done = run(
        played,
        write(tmp_path, twice(tmp_path, count=500 * 256, steps=(dispatch,)).text()),
        trace=tmp_path / "t",
    )
    assert done.returncode == 0, done.stderr
    [(packet, _, queue, _)] = records(tmp_path / "t")
    assert struct.unpack_from("<II", packet, 24) == (648, 512)
    tmpring, base, high, size, flags = struct.unpack_from("<IIIII", queue, 140)
    assert tmpring >> 12 == 41
    assert size == 500 * 4 * 41 * 1024
    assert struct.unpack_from("<Q", queue, 168) == (size,)
    assert struct.unpack_from("<I", queue, 176) == (648,)
    assert high >> 31 == 1, "swizzled"
    assert (base | (high & 0xFFFF) << 32) % 4096 == 0
    # GCN3 ISA, buffer resource word 3: 4-byte elements, index stride 64, add the lane's number
    assert (flags >> 19 & 3, flags >> 21 & 3, flags >> 23 & 1) == (1, 3, 1)


def test_scratch_needs_whole_wavefronts(played: Path, tmp_path: Path) -> None:
    (tmp_path / "kernel.o").write_bytes(code_object(private=16))
    made = twice(tmp_path)
    dispatch = Dispatch(tmp_path / "kernel.o", "twice", (128, 1, 1), (32, 1, 1), made.dispatches[0].arguments)
    done = run(played, write(tmp_path, twice(tmp_path, steps=(dispatch,)).text()), trace=tmp_path / "trace")
    assert done.returncode == 2
    assert "whole wavefronts" in done.stderr


@pytest.mark.parametrize("device", ["gfx803", "gfx900"])
def test_discrete_gpu_is_told_about_memory(played: Path, tmp_path: Path, device: str) -> None:
    made = twice(tmp_path, device)
    second = made.steps + made.steps
    done = run(
        played, write(tmp_path, twice(tmp_path, device, steps=second).text()), trace=tmp_path / "trace"
    )
    assert done.returncode == 0, done.stderr
    sizes = [int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("registered")]
    # the code object, two buffers, and the queue's control, ring, signal, descriptor and argument pages
    assert sizes == [8192, 4096, 4096] + [4096] * 5
    assert len(records(tmp_path / "trace")) == 2


def test_apu_registers_nothing(played: Path, tmp_path: Path) -> None:
    done = run(played, write(tmp_path, twice(tmp_path, "gfx902").text()), trace=tmp_path / "trace")
    assert done.returncode == 0, done.stderr
    assert "registered" not in done.stdout


def test_missing_compiler(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="no C compiler"):
        build_launcher("no-such-compiler", tmp_path / "launcher")


def test_failing_compiler_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="does not compile"):
        build_launcher("false", tmp_path / "launcher")
    assert list(tmp_path.iterdir()) == []
