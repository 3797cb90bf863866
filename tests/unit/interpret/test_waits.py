"""Kernels whose wavefronts wait for other workgroups, and kernels that only look alike."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from apuflow.interpret.image import Image, load_image
from apuflow.interpret.native import Library
from apuflow.interpret.run import Executed, Launch, Machine, Value
from apuflow.interpret.waits import Heed, WaitsForOthers
from apuflow.miopen.compiler import Compiler

SOURCE = """
#define FENCE mem_fence(CLK_GLOBAL_MEM_FENCE)
typedef volatile global uint *words;
kernel void counter(words x, uint n) {
  for (uint round = 1; round <= n; round++) {
    if (get_local_id(0) == 0) {
      atomic_inc(x);
      while (atomic_add(x, 0) < round * get_num_groups(0)) ;
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
  }
}
kernel void flags(words x, uint n) {
  uint group = get_group_id(0), next = (group + 1) % get_num_groups(0);
  if (get_local_id(0) == 0) {
    x[16 * group] = n;
    while (x[16 * next] != n) ;
  }
}
kernel void mutex(words x, uint n) {
  if (get_local_id(0) == 0) {
    while (atomic_cmpxchg(x, 0, 1)) ;
    x[1] += n;
    FENCE;
    atomic_xchg(x, 0);
  }
}
kernel void attempts(words x, uint n) {
  bool done = get_local_id(0) != 0;
  while (!done)
    if (atomic_xchg(x, 1) == 0) {
      x[1] += n;
      FENCE;
      atomic_xchg(x, 0);
      done = true;
    }
}
kernel void ticket(words x, uint n) {
  if (get_local_id(0) == 0) {
    uint mine = atomic_inc(x);
    while (x[16] != mine) ;
    x[32] += n;
    FENCE;
    atomic_inc(x + 16);
  }
}
kernel void asleep(words x, uint n) {
  local uint open;
  if (get_local_id(0) == 0) {
    open = 0;
    x[16 * get_group_id(0)] = n;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  while (!open) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0 && x[16 * (get_num_groups(0) - 1 - get_group_id(0))] == n) open = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

kernel void reduction(words x, uint n) {
  for (uint i = 0; i < n; i++) atomic_add(x, x[64 + get_global_id(0)] + i);
}
kernel void largest(words x, uint n) {
  for (uint i = 0; i < n; i++)
    x[128 + get_global_id(0)] += atomic_max(x + i, get_global_id(0));
}
kernel void queue(words x, uint n) {
  uint i;
  while ((i = atomic_inc(x)) < 64 * n) x[64 + i] = i;
}
kernel void lds(words x, uint n) {
  local uint part[64];
  uint i = get_local_id(0);
  part[i] = i;
  for (uint span = 32; span; span /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < span) part[i] += part[i + span];
  }
  x[get_group_id(0)] = part[0];
}
kernel void constant_again(words x, uint n) {
  for (uint i = 0; i < x[0]; i++) x[64 + get_global_id(0)] += i;
}
kernel void own(words x, uint n) {
  words mine = x + get_group_id(0);
  if (get_local_id(0) == 0)
    for (*mine = 0; *mine < n; *mine += 1) ;
}
kernel void rows(words x, uint n) {
  words begin = x, values = x + 64;
  for (uint i = begin[get_group_id(0)]; i < begin[get_group_id(0) + 1]; i++)
    values[64 * i + get_local_id(0)] += 1;
}
kernel void inserted(words x, uint n) {
  uint key = get_global_id(0) + 1, at = key * 7 % 1024, was;
  while ((was = atomic_cmpxchg(x + at, 0, key)) && was != key) at = (at + 1) % 1024;
}
kernel void product(words x, uint n) {
  words value = x + get_local_id(0) % 4;
  uint old = *value, seen;
  while ((seen = atomic_cmpxchg(value, old, 3 * old + n)) != old) old = seen;
}
"""
WAIT = ("counter", "flags", "mutex", "attempts", "ticket", "asleep")
DO_NOT = ("reduction", "largest", "queue", "lds", "constant_again", "own", "rows", "inserted", "product")
GROUPS = 4


@pytest.fixture(scope="module", params=["gfx801", "gfx902", "gfx90a"])
def code(request: pytest.FixtureRequest, clang: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Path:
    code, source = (tmp_path_factory.mktemp("kernels") / name for name in ("k.o", "k.cl"))
    source.write_text(SOURCE)
    options = (f"-mcpu={request.param}", "-O3", "-mcode-object-version=4")
    subprocess.run([*clang.command, *options, str(source), "-o", str(code)], check=True)
    return code


@pytest.fixture(scope="module")
def image(code: Path) -> Image:
    return load_image(code)


@pytest.fixture(params=["compiled", "NumPy"])
def executor(request: pytest.FixtureRequest, library: Library) -> Library | None:
    return library if request.param == "compiled" else None


def _run(image: Image, kernel: str, executor: Library | None, heed: Heed) -> Executed:
    machine = Machine({"x": 1 << 14}, [image], library=executor, heed=heed)
    begin = np.arange(GROUPS + 1, dtype=np.uint32) if kernel == "rows" else np.zeros(1, np.uint32)
    begin[0] += 5 if kernel == "constant_again" else 0
    machine.memory.view("x").view(np.uint32)[: len(begin)] = begin
    launch = Launch(
        0, kernel, (64 * GROUPS, 1, 1), (64, 1, 1), (Value(buffer="x"), Value(struct.pack("<I", 3)))
    )
    return machine.run(launch, limit=1_000_000)


@pytest.mark.parametrize("kernel", WAIT)
def test_locks_and_barriers_over_workgroups_wait(image: Image, executor: Library | None, kernel: str) -> None:
    found = _run(image, kernel, executor, "note")
    assert found.waits is not None and found.waits > 0
    assert found.instructions == _run(image, kernel, executor, "no").instructions
    with pytest.raises(WaitsForOthers, match=f"{kernel}: it waits .* {found.waits:#x}"):
        _run(image, kernel, executor, "stop")


@pytest.mark.parametrize("kernel", DO_NOT)
def test_loops_that_end_by_themselves_do_not_wait(
    image: Image, executor: Library | None, kernel: str
) -> None:
    assert _run(image, kernel, executor, "stop").waits is None


def test_nobody_heeds_it_by_default(image: Image) -> None:
    machine = Machine({"x": 1 << 14}, [image])
    assert machine.run(Launch(0, "flags", (256, 1, 1), (64, 1, 1), (Value(buffer="x"),))).waits is None
