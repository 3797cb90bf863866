"""Workloads of kind kernels: their file, their parameters, their points."""

from __future__ import annotations

from pathlib import Path

import pytest

from apuflow.configure import load_workload
from apuflow.configure.kernel_workload import KernelsWork
from apuflow.core.errors import ConfigError
from apuflow.engines import runs_on
from apuflow.plan.campaign import Campaign

OWN = """\
description: one kernel
kind: kernels
source: kernels/k.cl
compile: -DN={n}
parameters: {n: 100}
buffers:
  a: {type: float, elements: 2 * n, contents: uniform}
  b: {type: uchar, elements: 3}
launches:
  - kernel: f
    grid: [n, compute_units]
    workgroup: [10]
    arguments: [a, n + 1, 0.5, {buffer: a, offset: n}]
    repeat: 3
"""
SWEEP = "description: x\nengines: [gem5-kernels]\nrelease: v23.0\nworkloads: [mine]\n"


def project(root: Path, text: str = OWN, sweep: str = SWEEP) -> Campaign:
    place = root / "configs/workloads"
    (place / "mine.yaml").write_text(text)
    (place / "kernels/k.cl").write_text("__kernel void f() {}")
    (root / "configs/sweeps/mine.yaml").write_text(sweep)
    return Campaign(root)


def test_what_a_point_runs(root: Path) -> None:
    """100 x 8 work-items three times; 2 x 100 floats and 3 bytes, which take 4."""
    sweep = SWEEP + "axes: {num-compute-units: [8], layer: {n: [100, 7]}}\n"
    points = project(root, sweep=sweep).points("mine", "mine")
    assert [point.label for point in points] == ["v23.0_u8", "v23.0_u8_n7"]
    work = points[0].work
    assert isinstance(work, KernelsWork)
    program = work.program(8, "gfx801")
    assert [launch.grid for launch in program.launches] == [(100, 8, 1)] * 3
    assert [(given.kind, given.value, given.offset) for given in program.launches[0].arguments] == [
        *(("buffer", "a", 0), ("integer", 101, 0), ("real", 0.5, 0), ("buffer", "a", 100)),
    ]
    assert [code.arguments for code in program.codes] == ["-DN=100"]
    assert work.device_bytes == 800 + 4


def test_a_launch_may_begin_at_an_offset_and_be_compiled_otherwise(root: Path) -> None:
    more = "    offset: [0, 2 * n]\n  - {kernel: g, grid: [4], workgroup: [4], compile: '-DM={n}'}\n"
    work = project(root, OWN + more).points("mine", "mine")[0].work
    assert isinstance(work, KernelsWork)
    launches = work.program(1, "gfx801").launches
    assert [(each.offset, each.code.arguments) for each in launches] == [
        *([((0, 200, 0), "-DN=100")] * 3),
        ((0, 0, 0), "-DM=100"),
    ]


def test_a_point_is_another_when_anything_that_it_reads_is(root: Path) -> None:
    ids = {project(root).points("mine", "mine")[0].id}
    (root / "configs/workloads/kernels/k.cl").write_text("__kernel void f() { barrier(0); }")
    from apuflow.kernels.sources import source_identity

    source_identity.cache_clear()
    ids.add(Campaign(root).points("mine", "mine")[0].id)
    ids.add(project(root, OWN.replace("uniform", "{uniform: 1}")).points("mine", "mine")[0].id)
    assert len(ids) == 3
    same = project(root, OWN.replace("one kernel", "other words"))
    assert same.points("mine", "mine")[0].id in ids


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("elements: 3", "elements: m", "unknown name m"),
        ("grid: [n,", "grid: [n - 100,", "0 is below 1"),
        ("{type: uchar", "{type: byte", "type"),
        ("contents: uniform", "contents: {uniform: 1, constant: 2}", "one thing"),
        ("contents: uniform", "contents: random", r"key:   buffers.a.contents\n"),
        ("buffer: a, offset", "buffer: z, offset", "not a buffer"),
        ("repeat: 3", "offset: [-1]", "no negative numbers"),
        ("repeat: 3", "source: k.hip\n    offset: [1]", "only OpenCL numbers work-items"),
        ("source: kernels/k.cl", "source: ../k.cl", "not a file beside this one"),
        ("source: kernels/k.cl", "source: kernels/absent.cl", "cannot read the kernels' source"),
        ("compile: -DN={n}", "compile: -DN={m}", "name in braces"),
        ("parameters: {n", "parameters: {compute_units", "has a meaning already"),
        ("parameters: {n", "parameters: {1n", "can stand in an expression"),
        ("repeat: 3", "repeat: 99999", "more than 10000 launches"),
        ("repeat: 3", "repeat: {i: 999, j: 999}", "more than 10000 launches"),
        ("repeat: 3", "repeat: {n: 2}", "has a meaning already"),
        ("repeat: 3", "repeat: {i: m}", r"unknown name m[\s\S]*repeat.i"),
        ("launches:", "outputs: [a]\nlaunches:", "a Python file has to say"),
        ("launches:", "outputs: [z]\nlaunches:", "not a buffer"),
    ],
)
def test_mistakes_are_named(root: Path, old: str, new: str, said: str) -> None:
    assert old in OWN
    with pytest.raises(ConfigError, match=said):
        project(root, OWN.replace(old, new)).points("mine", "mine")


def test_a_launch_counts_its_repetitions(root: Path) -> None:
    """A bitonic sort of 8 = 2 ** 3 elements takes 1 + 2 + 3 passes; log2 is rounded down."""
    looped = OWN.replace("repeat: 3", "repeat: {stage: log2(n), step: stage + 1}")
    looped = looped.replace("n + 1, 0.5", "stage, step").replace("{n: 100", "{n: 8")
    [point] = project(root, looped).points("mine", "mine")
    assert isinstance(point.work, KernelsWork)
    launches = point.work.program(8, "gfx801").launches
    told = [tuple(given.value for given in launch.arguments[1:3]) for launch in launches]
    assert told == [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)]


def test_unknown_parameters_of_a_sweep(root: Path) -> None:
    with pytest.raises(ConfigError, match=r"not a parameter of this workload[\s\S]*its parameters: n"):
        project(root, sweep=SWEEP + "layer: {m: 1}\n").points("mine", "mine")


def test_two_engines_run_them(root: Path) -> None:
    workload = load_workload("own_square", root)
    assert [runs_on(workload, engine).state for engine in ("gem5", "gem5-kernels", "preview")] == [
        *("no", "yes", "yes"),
    ]
