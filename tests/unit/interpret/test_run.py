"""Whole kernels, compiled by clang for each generation, against NumPy."""

from __future__ import annotations

import math
import struct
import subprocess
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from apuflow.core.errors import EngineError
from apuflow.interpret.image import Image, load_image
from apuflow.interpret.native import Library
from apuflow.interpret.run import Executed, Launch, Machine, Value
from apuflow.interpret.state import OutOfBounds
from apuflow.miopen.compiler import Compiler

SOURCE = """
__kernel void product(__global const float* a, __global const float* b, __global float* c, uint n)
{
    __local float ta[16][16], tb[16][16];
    uint x = get_local_id(0), y = get_local_id(1);
    uint row = get_group_id(1) * 16 + y, column = get_group_id(0) * 16 + x;
    float sum = 0;
    for (uint k = 0; k < n; k += 16) {
        ta[y][x] = a[row * n + k + x];
        tb[y][x] = b[(k + y) * n + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint each = 0; each < 16; each++) sum += ta[y][each] * tb[each][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + column] = sum;
}
__kernel void steps(__global const int* x, __global int* y, uint n)
{
    uint i = get_global_id(0);
    if (i >= n) return;
    int value = x[i], count = 0;
    while (value != 1) { value = value & 1 ? 3 * value + 1 : value / 2; count++; }
    y[i] = count;
}
__kernel void functions(__global const float* x, __global float* y)
{
    float v = x[get_global_id(0)];
    float power = sin(v) * pow(fabs(v) + 0.1f, 1.7f);
    y[get_global_id(0)] = tanh(v) + exp(v) / (1 + sqrt(fabs(v))) + power + erf(v);
}
__kernel void chosen(__global const int* x, __global int* y, uint n)
{
    int table[16], sum = 0, own = x[get_global_id(0)];
    for (uint k = 0; k < 16; k++) table[k] = own * (int)k;
    for (uint k = 0; k < n; k++) sum += table[(own + k) & 15];
    y[get_global_id(0)] = sum;
}
__kernel void counted(__global const int* x, __global uint* bins)
{
    atomic_inc(bins + (x[get_global_id(0)] & 7));
}
__kernel void third(__global const double* x, __global double* y)
{
    y[get_global_id(0)] = x[get_global_id(0)] / 3;
}
__kernel void hyperbolic(__global const float* x, __global float* y)
{
    y[get_global_id(0)] = tanh(x[get_global_id(0)]);
}
__kernel void rows(__global uint* y)
{
    y[get_global_id(1) * 10 + get_global_id(0)] = get_local_id(1);
}
__kernel void outside(__global float* x, uint far) { x[get_global_id(0) + far] = 1; }
__kernel void endless(volatile __global uint* x) { while (x[0] == 0) {} }
"""
GPUS = ("gfx801", "gfx902", "gfx90a")


@pytest.fixture(scope="module", params=GPUS)
def image(request: pytest.FixtureRequest, clang: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Image:
    code, source = (tmp_path_factory.mktemp("kernels") / name for name in ("k.o", "k.cl"))
    source.write_text(SOURCE)
    options = (f"-mcpu={request.param}", "-O3", "-mcode-object-version=4")
    subprocess.run([*clang.command, *options, str(source), "-o", str(code)], check=True)
    return load_image(code)


Arrays = Mapping[str, NDArray[Any]]
EXECUTOR: list[Library] = []


@pytest.fixture(scope="module", autouse=True)
def _compiled(library: Library) -> None:
    EXECUTOR[:] = [library]


def run(
    image: Image,
    kernel: str,
    arrays: Arrays,
    *numbers: int,
    grid: tuple[int, ...],
    workgroup: tuple[int, ...] = (64,),
    limit: int = 10_000_000,
    defects: tuple[str, ...] = (),
) -> tuple[Executed, Arrays]:
    """A kernel that takes the addresses of all arrays, then the numbers; the arrays afterwards.

    The compiled executor does the same, where there is one.
    """
    executed, after = _run_by(
        None, image, kernel, arrays, *numbers, grid=grid, workgroup=workgroup, limit=limit, defects=defects
    )
    if not EXECUTOR or defects:
        return executed, after
    again, too = _run_by(
        EXECUTOR[0], image, kernel, arrays, *numbers, grid=grid, workgroup=workgroup, limit=limit
    )
    assert {str(each): count for each, count in executed.instructions.items()} == {
        str(each): count for each, count in again.instructions.items()
    }
    for name, array in after.items():
        assert np.array_equal(array.view(np.uint8), too[name].view(np.uint8)), name
    return executed, after


def _run_by(
    library: Library | None,
    image: Image,
    kernel: str,
    arrays: Arrays,
    *numbers: int,
    grid: tuple[int, ...],
    workgroup: tuple[int, ...],
    limit: int,
    defects: tuple[str, ...] = (),
) -> tuple[Executed, Arrays]:
    machine = Machine({name: array.nbytes for name, array in arrays.items()}, [image], library=library)
    for name, array in arrays.items():
        machine.memory.view(name)[:] = array.reshape(-1).view(np.uint8)
    arguments = [Value(buffer=name) for name in arrays] + [
        Value(struct.pack("<I", number)) for number in numbers
    ]
    launch = Launch(0, kernel, _extent(grid), _extent(workgroup), tuple(arguments))
    executed = machine.run(launch, limit=limit, defects=defects)
    after = {
        name: machine.memory.view(name).view(array.dtype).reshape(array.shape)
        for name, array in arrays.items()
    }
    return executed, after


def _extent(sizes: tuple[int, ...]) -> tuple[int, int, int]:
    x, y, z, *_ = (*sizes, 1, 1)
    return x, y, z


RANDOM = np.random.default_rng(5)


def test_workgroups_share_lds_and_wait_for_each_other(image: Image) -> None:
    a, b = RANDOM.integers(-8, 9, (2, 64, 64)).astype(np.float32)
    executed, after = run(
        image, "product", {"a": a, "b": b, "c": np.zeros_like(a)}, 64, grid=(64, 64), workgroup=(16, 16)
    )
    assert (after["c"] == a @ b).all()
    assert executed.workgroups == 16
    assert executed.wavefronts == 64


def test_lanes_that_loop_longer_go_on_alone(image: Image) -> None:
    x = np.arange(1, 1001, dtype=np.int32)

    def steps(value: int) -> int:
        count = 0
        while value != 1:
            value, count = (3 * value + 1 if value & 1 else value // 2), count + 1
        return count

    _, after = run(image, "steps", {"x": x, "y": np.zeros_like(x)}, 1000, grid=(1024,), workgroup=(256,))
    assert after["y"].tolist() == [steps(int(each)) for each in x]


def test_functions_of_the_device_library(image: Image) -> None:
    x = RANDOM.uniform(-3, 3, 512).astype(np.float32)
    _, after = run(image, "functions", {"x": x, "y": np.zeros_like(x)}, grid=(512,))
    v = x.astype(float)
    powers = np.sin(v) * (np.abs(v) + 0.1) ** 1.7
    expected = np.tanh(v) + np.exp(v) / (1 + np.sqrt(np.abs(v))) + powers + [math.erf(each) for each in v]
    assert np.abs(after["y"] - expected).max() < 1e-5


def test_clangs_tanh_is_as_wrong_as_a_real_gem5_has_it(image: Image) -> None:
    """gem5 c91af552 left MIOpen's tanh wrong by 19,000 times its largest element."""
    x = RANDOM.uniform(-4, 4, 4096).astype(np.float32)
    arrays = {"x": x, "y": np.zeros_like(x)}
    _, right = run(image, "hyperbolic", arrays, grid=(4096,))
    _, wrong = run(image, "hyperbolic", arrays, grid=(4096,), defects=("ignored_signs",))
    assert np.abs(right["y"] - np.tanh(x)).max() < 1e-6
    assert 10_000 < np.abs(wrong["y"] - np.tanh(x)).max() < 30_000


def test_private_memory(image: Image) -> None:
    x = RANDOM.integers(0, 100, 512).astype(np.int32)
    _, after = run(image, "chosen", {"x": x, "y": np.zeros_like(x)}, 11, grid=(512,), workgroup=(128,))
    assert after["y"].tolist() == [sum(int(own) * ((int(own) + k) & 15) for k in range(11)) for own in x]


def test_atomics_of_all_lanes_count(image: Image) -> None:
    x = RANDOM.integers(0, 100, 2048).astype(np.int32)
    _, after = run(image, "counted", {"x": x, "bins": np.zeros(8, np.uint32)}, grid=(2048,), workgroup=(256,))
    assert after["bins"].tolist() == np.bincount(x & 7, minlength=8).tolist()


def test_division_of_doubles_is_rounded_right(image: Image) -> None:
    x = np.array([1.0, 1e300, -5e-324, 7.5, np.inf, 1e-310, 2.0, 3.0] * 8)
    _, after = run(image, "third", {"x": x, "y": np.zeros_like(x)}, grid=(64,))
    assert after["y"].tolist() == (x / 3).tolist()


def test_an_access_outside_of_a_buffer_names_buffer_offset_instruction_and_lane(image: Image) -> None:
    with pytest.raises(
        OutOfBounds, match=r"outside: 4 bytes at byte 400 of x, which has 400 bytes.*_store_dword.*lane 36"
    ):
        run(image, "outside", {"x": np.zeros(100, np.float32)}, 0, grid=(128,))


def test_a_loop_without_end_is_stopped(image: Image) -> None:
    with pytest.raises(
        EngineError, match=r"endless: 100,000 wavefront instructions have run and it does not end"
    ):
        run(image, "endless", {"x": np.zeros(4, np.uint32)}, grid=(64,), limit=100_000)


def test_an_unknown_kernel_is_named_with_those_that_there_are(image: Image) -> None:
    with pytest.raises(EngineError, match="no kernel products"):
        run(image, "products", {}, grid=(64,))


def test_the_grids_last_workgroup_starts_only_wavefronts_with_work(image: Image) -> None:
    x = np.ones(300, np.int32)
    executed, after = run(image, "steps", {"x": x, "y": x.copy()}, 300, grid=(300,), workgroup=(256,))
    assert executed.wavefronts == 5
    assert not after["y"].any()


def test_work_items_of_a_partial_workgroup_have_no_gaps(image: Image) -> None:
    """10 x 10 of 16 x 16 are two wavefronts, as gem5 counts them in LRN backward of 10 x 10 pixels."""
    executed, after = run(image, "rows", {"y": np.zeros(100, np.uint32)}, grid=(10, 10), workgroup=(16, 16))
    assert executed.wavefronts == 2
    assert after["y"].tolist() == [item // 10 for item in range(100)]
