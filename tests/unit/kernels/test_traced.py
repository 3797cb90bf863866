"""Launches of which only the slice, and only some workgroups, are executed: against all of them in whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from apuflow.configure import load_workload
from apuflow.configure.kernel_workload import KernelsWorkload
from apuflow.core.errors import ConfigError
from apuflow.kernels.interpreted import interpret_program
from apuflow.kernels.metadata import read_kernels
from apuflow.kernels.previewed import traced_profile
from apuflow.kernels.sampled import Sampled
from apuflow.kernels.sources import kept_object
from apuflow.kernels.traced import traced_program
from apuflow.miopen.compiler import Compiler
from apuflow.preview.profile import Profile

SOURCE = """
kernel void scaled(global const float *x, global int *y, int n) {
  int i = get_global_id(0);
  if (i < n) y[i] = (int)(2 * x[i]);
}
kernel void triangle(global const float *x, global int *y, int n) {
  float sum = 0;
  for (int k = 0; k <= (int)get_group_id(0); k++)
    if (sum < 1e30f) sum += x[(64 * k + (int)get_local_id(0)) % n];
  y[get_global_id(0)] = sum;
}
kernel void reversed(global const float *x, global int *y, int n) {
  y[get_global_id(0)] = n - 1 - get_global_id(0);
}
kernel void gathered(global const float *x, global int *y, int n) {
  int i = get_global_id(0);
  y[i] = i % 3 ? x[y[i] % n] : -1;
}
kernel void pointed(global const float *x, global int *y, int n) {
  global float *to = *(global float *global const *)(x + 2);
  to[get_global_id(0)] = n;
}
kernel void tree(global const float *x, global int *y, int n) {
  local float part[256];
  int i = get_local_id(0);
  part[i] = x[get_global_id(0)] * x[n - 1 - get_global_id(0)];
  for (int span = 128; span; span /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < span) part[i] += part[i + span];
  }
  if (i == 0) y[16 * get_group_id(0)] = part[0] > 0.5f ? part[0] : 1;
}
"""
WORKLOAD = """description: a test
kind: kernels
source: kernels/traced.cl
parameters: {n: 65000}
buffers:
  x: {type: float, elements: n, contents: {uniform: 1}}
  y: {type: int, elements: 4 * n, contents: touch}
launches:
"""
Found = tuple[list[Profile], list[Profile], list[bool]]


def _both(root: Path, gfx: str, launches: list[tuple[str, int, int]], n: int, text: str = WORKLOAD) -> Found:
    """Profiles of launches (kernel, grid, workgroup) by all that is executed, and by the slice."""
    (root / "configs/workloads/kernels/traced.cl").write_text(SOURCE)
    lines = [
        f"  - {{kernel: {kernel}, grid: [{grid}], workgroup: [{group}], arguments: [x, y, n]}}\n"
        for kernel, grid, group in launches
    ]
    (root / "configs/workloads/traced.yaml").write_text(text + "".join(lines))
    workload = load_workload("traced", root)
    assert isinstance(workload, KernelsWorkload)
    errors: list[ConfigError] = []
    work = workload.work({"n": n}, errors.append)
    assert work is not None, errors
    program = work.program(4, gfx)
    codes = {c: kept_object(str(c.source), c.arguments, gfx, root) for c in program.codes}
    kernels = {code: read_kernels(path) for code, path in codes.items()}
    whole, _ = interpret_program(program, kernels, codes, gfx, trace=True)
    some = traced_program(program, kernels, codes, gfx)
    return (
        [traced_profile(each) for each in whole.traced],
        [traced_profile(each) for each in some],
        [isinstance(each, Sampled) for each in some],
    )


@pytest.fixture(params=["gfx801", "gfx90a"])
def gfx(request: pytest.FixtureRequest, clang: Compiler) -> str:
    del clang
    return str(request.param)


def test_some_workgroups_tell_the_lines_of_all(gfx: str, root: Path) -> None:
    """65,000 floats are 4,062.5 lines of 64 bytes, 63.5 pages; 1,016 workgroups of a wavefront."""
    whole, some, sampled = _both(root, gfx, [("scaled", 65024, 64)], 65000)
    assert sampled == [True] and some == whole
    (load, store) = some[0].streams
    assert (load.lines, load.pages, load.accesses) == (4063, 64, 4063)
    assert (store.lines, some[0].counts.ends) == (4063, 1016)


def test_workgroups_that_differ_run_all(gfx: str, root: Path) -> None:
    whole, some, sampled = _both(root, gfx, [("triangle", 64 * 150, 64)], 65000)
    assert sampled == [False] and some == whole
    assert some[0].counts.loads == 150 * 151 / 2


def test_barriers_masks_and_lds_are_those_of_the_whole_program(gfx: str, root: Path) -> None:
    whole, some, sampled = _both(root, gfx, [("tree", 65024, 256)], 65024)
    assert sampled == [True]
    pages = some[0].pages_again
    assert pages == pytest.approx(whole[0].pages_again, rel=0.01)  # workgroups begin elsewhere in their pages
    assert some[0]._replace(streams=()) == whole[0]._replace(streams=(), pages_again=pages)
    assert [s.lines for s in some[0].streams] == [s.lines for s in whole[0].streams]


def test_addresses_that_a_buffer_has_are_there(gfx: str, root: Path) -> None:
    """The table's address at byte 8 leads to 1,024 floats, which are 64 lines."""
    workload = WORKLOAD.replace("launches:", "addresses:\n- {buffer: x, place: 8, to: y}\nlaunches:")
    whole, some, _ = _both(root, gfx, [("pointed", 1024, 64)], 65000, workload)
    assert some == whole
    assert [each.lines for each in some[0].streams] == [64]


def test_addresses_that_an_earlier_launch_computes_are_computed(gfx: str, root: Path) -> None:
    """Without the first launch's stores, the second would read place 0 throughout."""
    whole, some, _ = _both(root, gfx, [("reversed", 65024, 64), ("gathered", 64000, 64)], 65000)
    assert some == whole
    assert some[1].streams[0].lines > 4000
