"""Dispatch lists of other programs as workloads."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import numpy as np
import pytest
from launcher_tools import built, run

from apuflow.configure import load_workload
from apuflow.core.errors import ConfigError
from apuflow.kernels.sources import compile_own
from apuflow.launcher.read_list import read_list
from apuflow.miopen.compiler import Compiler
from apuflow.miopen.launch import Row
from apuflow.workloads.dispatch_list import import_list

SCALE = """\
__kernel void scale(__global const float *in, __local float *tile, int by, __global float *out)
{
    tile[get_local_id(0)] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = tile[get_local_size(0) - 1 - get_local_id(0)] * by;
}
"""
SHIFT = """\
#include <hip/hip_runtime.h>
struct add { short low; char text[6]; float value; };
extern __shared__ float tile[];
extern "C" __global__ void shift(float *data, add by)
{
    tile[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = tile[threadIdx.x] + by.value + by.low;
}
"""
LIST = f"""\
apuflow-dispatch-list 1
# written by another program
device gfx801
wait event
data memory.bin
object scale.o
object shift.o
buffer x 1024 file 64
buffer y 1024 touch
dispatch 0 scale 256 1 1 64 1 1 4 256
arg buffer x
arg u32 0
arg u32 0xfffffffd
arg buffer y
dispatch 1 shift 64 1 1 64 1 1 5 256
arg buffer y 256
arg u16 7
arg u16 0
arg u32 0
arg u32 {struct.unpack("<I", struct.pack("<f", 0.5))[0]:#x}
dispatch 1 shift 64 1 1 64 1 1 5 256
arg buffer y 256
arg u16 7
arg u16 0
arg u32 0
arg u32 {struct.unpack("<I", struct.pack("<f", 0.5))[0]:#x}
dump y left.bin
end
"""
"""y = -3 x, each 64 the other way round; then 2 x 7.5 more in its elements 64 to 127."""


@pytest.fixture(scope="module")
def written(clang: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the other program wrote: the list, code objects, memory, and what it had computed itself."""
    place = tmp_path_factory.mktemp("written")
    for name, text in {"scale.cl": SCALE, "shift.hip": SHIFT}.items():
        (place / name).write_text(text)
        compile_own(Row(str(place / name), ""), "gfx801", (place / name).with_suffix(".o"))
    x = np.arange(256, dtype="<f4") / 8
    (place / "memory.bin").write_bytes(bytes(64) + x.tobytes())
    left = (-3 * x).reshape(4, 64)[:, ::-1].ravel()
    left[64:128] += 15
    (place / "left.bin").write_bytes(left.astype("<f4").tobytes())
    (place / "run.list").write_text(LIST)
    return place


@pytest.fixture
def export(written: Path, tmp_path: Path) -> Path:
    """A copy of its list and files."""
    return shutil.copytree(written, tmp_path / "export") / "run.list"


def test_the_launcher_takes_the_list_as_it_is(export: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(export.parent)
    assert run(built(), "--check", export).returncode == 0


def test_an_imported_list_is_a_workload(export: Path, root: Path) -> None:
    files, gfx = import_list(export, "mine", root)
    assert gfx == "gfx801"
    place = root / "configs/workloads"
    assert sorted(str(file.relative_to(place)) for file in files) == [
        *("mine.yaml", "mine/expected-y.bin", "mine/kernels-gfx801.co", "mine/kernels1-gfx801.co"),
        *("mine/reference.py", "mine/x.bin"),
    ]
    spec = load_workload("mine", root).spec  # type: ignore[attr-defined]
    assert {name: (each.type, each.elements) for name, each in spec.buffers.items()} == {
        "x": ("float", 256),
        "y": ("float", 256),
    }
    scale, shift = spec.launches
    assert [scale.arguments[0], scale.arguments[1].lds, *scale.arguments[2:]] == ["x", 256, -3, "y"]
    assert (shift.source, shift.lds, shift.repeat) == ("mine/kernels1-{gfx}.co", 256, 2)
    assert (shift.arguments[0].buffer, shift.arguments[0].offset) == ("y", 64)
    assert shift.arguments[1].bytes == "07000000" + "00000000" + "0000003f"
    with pytest.raises(ConfigError, match="already"):
        import_list(export, "mine", root)


def test_outputs_that_nobody_recorded_are_named(export: Path, root: Path) -> None:
    (export.parent / "left.bin").unlink()
    import_list(export, "mine", root)
    text = (root / "configs/workloads/mine.yaml").read_text()
    assert "# Written by the list, not compared: y." in text
    assert "\noutputs:" not in text


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("list 1", "list 2", "the first line of a dispatch list"),
        ("device gfx801", "device gfx1030", "line 3"),
        ("device gfx801", "device gfx803", "is for gfx801, the list for gfx803"),
        ("object scale.o", "object absent.o", "cannot read code object"),
        ("object scale.o", "object memory.bin", "code object"),
        ("x 1024 file 64", "x 1024 file 65", "the data file has 1088 bytes, x needs 1024 from 65"),
        ("data memory.bin", "data absent.bin", "cannot read the data file"),
        ("scale 256", "double 256", "no kernel of this name"),
        ("arg u32 0\narg u32 0xfffffffd", "arg u32 4\narg u32 1", "other hidden arguments or LDS addresses"),
        ("4 256\narg buffer x", "4\narg buffer x", r"addresses \[0\] in 0 bytes of LDS"),
        (
            "arg u32 0xfffffffd\narg buffer y",
            "arg u32 1\narg u64 4096",
            "is an address, the list gives the number 0x1000",
        ),
        ("dump y left.bin\nend", "end\nwait poll", "a statement after 'end'"),
        ("\nend", "", "cut off"),
        ("arg buffer y 256\n", "arg buffer y 2560\n", "too large: 2560"),
        ("arg u32 0xfffffffd\n", "", "arguments missing before"),
        ("shift 64 1 1 64 1 1 5", "shift 64 1 1 64 1 1 2", "an argument more"),
        ("buffer y 1024", "buffer 2y 1024", "no such buffer: y"),
    ],
)
def test_what_cannot_be_imported_is_said_and_nothing_written(
    export: Path, root: Path, old: str, new: str, said: str
) -> None:
    assert old in LIST
    export.write_text(LIST.replace(old, new))
    with pytest.raises(ConfigError, match=said):
        import_list(export, "mine", root)
    assert not list((root / "configs/workloads").glob("mine*"))


def test_outputs_before_the_last_launch_and_of_another_size(export: Path, root: Path) -> None:
    export.write_text(LIST.replace("dispatch 1", "dump y left.bin\ndispatch 1", 1))
    with pytest.raises(ConfigError, match="written before the last launch"):
        import_list(export, "mine", root)
    export.write_text(LIST)
    (export.parent / "left.bin").write_bytes(bytes(1000))
    with pytest.raises(ConfigError, match="has 1000 bytes, buffer y has 1024"):
        import_list(export, "mine", root)


def test_a_list_is_read_as_it_was_written(tmp_path: Path) -> None:
    text = (
        "apuflow-dispatch-list 1\ndevice gfx902\nwait event\nstatistics run\nobject k.o\n"
        "buffer a 64 modulo 3 256\nbuffer b 64 constant 5\n"
        "dispatch 0 k 128 2 1 64 1 1 3 512\narg buffer a 4\narg u8 0xff\narg u64 0x100000000\nend\n"
    )
    path = tmp_path / "a.list"
    path.write_text(text)
    assert read_list(path).text().replace(f"/{tmp_path}/", "") == text
