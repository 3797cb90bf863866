"""What a trace counts, of kernels whose lines, pages, banks and waits are counted by hand."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Callable

import numpy as np
import pytest

from apuflow.interpret.image import load_image
from apuflow.interpret.run import Launch, Machine, Value
from apuflow.interpret.trace import Trace, Traced
from apuflow.kernels.previewed import traced_profile
from apuflow.miopen.compiler import Compiler

SOURCE = """
__kernel void copied(__global const float* x, __global float* y)
{
    y[get_global_id(0)] = x[get_global_id(0)];
}
__kernel void twice(__global const int* x, __global int* y)
{
    int other = x[get_global_id(0)];
    y[get_global_id(0)] = x[other];
}
__kernel void apart(__global const float* x, __global float* y)
{
    y[get_global_id(0)] = x[get_global_id(0) * 1024];
}
__kernel void banks(__global float* y, uint step)
{
    __local float kept[64 * 32];
    kept[get_local_id(0) * step] = get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    y[get_global_id(0)] = kept[(63 - get_local_id(0)) * step];
}
__kernel void eighth(__global int* y)
{
    int kept;
    __asm volatile("s_mov_b64 exec, 0xff\\nv_mov_b32 %0, 1\\ns_mov_b64 exec, -1" : "=v"(kept));
    y[get_global_id(0)] = kept;
}
__kernel void full(__global int* y)
{
    int kept;
    __asm volatile("s_mov_b64 exec, -1\\nv_mov_b32 %0, 1\\ns_mov_b64 exec, -1" : "=v"(kept));
    y[get_global_id(0)] = kept;
}
__kernel void stored(__global const int* x, __global int* y)
{
    y[get_global_id(0)] = x[get_global_id(0)] + 1;
    __asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory");
}
"""
Run = Callable[..., Traced]


@pytest.fixture(scope="module", params=("gfx801", "gfx902"))
def trace(request: pytest.FixtureRequest, clang: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Of a launch of 8 workgroups of one wavefront."""
    code, source = (tmp_path_factory.mktemp("traced") / name for name in ("k.o", "k.cl"))
    source.write_text(SOURCE)
    options = (f"-mcpu={request.param}", "-O3", "-mcode-object-version=4")
    subprocess.run([*clang.command, *options, str(source), "-o", str(code)], check=True)
    image = load_image(code)

    def traced(kernel: str, *arguments: str | int) -> Traced:
        machine = Machine({"x": 4 * 1024 * 512, "y": 4 * 512}, [image])
        machine.memory.view("x")[:] = np.arange(1024 * 512, dtype=np.int32).view(np.uint8)
        values = [Value(buffer=a) if isinstance(a, str) else Value(struct.pack("<I", a)) for a in arguments]
        launch = Launch(0, kernel, (512, 1, 1), (64, 1, 1), tuple(values))
        watch = Trace(launch, image.kernels[kernel])
        return watch.result(machine.run(launch, watch=watch))

    return traced


def test_a_copy_loads_and_stores_four_lines_a_wavefront_and_waits_once(trace: Run) -> None:
    found = trace("copied", "x", "y")
    assert (found.workgroups, found.wavefronts) == (8, 8)
    assert (found.instructions["load"], found.instructions["store"]) == (8, 8)
    assert len(found.accesses.line) == 64  # 8 wavefronts x (4 lines read, 4 written)
    assert found.load_waits == 8
    assert found.scalar_waits == 8  # for the kernel's arguments
    profile = traced_profile(found)
    load, store = profile.streams
    assert (load.kind, load.lines, load.pages, load.sharing, load.line_sharing) == ("load", 32, 1, 8, 1)
    assert (store.kind, store.lines, profile.rounds, profile.stores_last) == ("store", 32, 1, True)


def test_a_load_that_needs_another_one_is_a_wait_more(trace: Run) -> None:
    assert trace("twice", "x", "y").load_waits == 16


def test_lanes_that_exec_leaves_out_do_not_count(trace: Run) -> None:
    assert trace("full", "y").lanes - trace("eighth", "y").lanes == 8 * (64 - 8)


def test_a_wait_for_a_flat_store_is_no_wait_for_the_load_before(
    trace: Run, request: pytest.FixtureRequest
) -> None:
    """gfx801 stores by FLAT instructions, which ``lgkmcnt`` counts; gfx902 by GLOBAL ones."""
    found = trace("stored", "x", "y")
    flat = "gfx801" in request.node.name
    assert (found.load_waits, found.store_waits) == (8, 8 if flat else 0)


def test_lanes_a_page_apart_touch_a_line_and_a_page_each(trace: Run) -> None:
    (load, _) = traced_profile(trace("apart", "x", "y")).streams
    assert (load.accesses, load.lines, load.pages) == (512, 512, 512)


@pytest.mark.parametrize(("step", "turns"), [(1, 4), (2, 8), (8, 32), (32, 32)])
def test_gem5_takes_banks_by_byte_so_that_words_in_a_row_meet(trace: Run, step: int, turns: int) -> None:
    """32 lanes at a time, bank = byte address % 32 (``LdsState::countBankConflicts``).

    Words side by side fall into 8 banks, 4 in each; every eighth or later word into one bank, 32 in it. Both
    halves of a wavefront, one write and one read.
    """
    found = trace("banks", "y", step)
    assert found.instructions["lds"] == 16
    assert found.bank_turns == 8 * 2 * 2 * turns
