"""Kernels of the user's own in the preview: compiled, executed, previewed, without gem5."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from places import DATA

import apuflow
from apuflow.configure.kernel_workload import _previewed
from apuflow.core.errors import ApuflowError, NotModelled
from apuflow.kernels import previewed
from apuflow.miopen.compiler import Compiler


@pytest.fixture
def rows(root: Path, clang: Compiler) -> Path:
    """A project with the shipped kernels, on a machine with clang."""
    del clang
    _previewed.cache_clear()
    return root


def test_counts_of_a_vector_sum_are_those_of_its_source(rows: Path) -> None:
    """256 workgroups of 256 add 65,536 numbers: two loads and a store each, 4 lines a wavefront."""
    found = apuflow.evaluate("own_vector_add", {"num-compute-units": [4]}, root=rows)
    row = found.iloc[0]
    assert row["global_reads"] == 2 * row["wavefronts"] and row["global_writes"] == row["wavefronts"]
    assert row["tcp_load_events"] == 2 * 65536 * 4 // 64
    assert "a kernel vector_add (measured never)" in row["flags"]
    assert row["gpu_cycles_low"] < row["gpu_cycles"] < row["gpu_cycles_high"]


@pytest.mark.parametrize(("index", "pages"), [("i", 1), ("i * 1024 % 65536", 64)])
def test_pages_of_loads_are_counted(rows: Path, index: str, pages: int) -> None:
    """256 workgroups of four wavefronts, each of which loads a line of b, and of a 256 bytes or 64 pages.

    The other three touch the pages that the first one has touched.
    """
    source = rows / "configs/workloads/kernels/vector_add.cl"
    source.write_text(source.read_text().replace("a[i]", f"a[{index}]"))
    apuflow.evaluate("own_vector_add", root=rows)
    (kept,) = rows.glob("build/profiles/*.json")
    (profile,) = json.loads(kept.read_text())
    assert profile["load_pages"] == (pages + 1) / 2
    assert profile["pages_again"] == 256 * 3 * (pages + 1)


def test_kernels_are_executed_once(rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second question reads what the first has kept; another size is executed anew."""
    first = apuflow.evaluate("own_vector_add", root=rows)["gpu_cycles"]
    kept = set(rows.glob("build/profiles/*.json"))
    assert len(kept) == 1
    _previewed.cache_clear()
    monkeypatch.setattr(previewed, "traced_program", pytest.fail)
    assert apuflow.evaluate("own_vector_add", root=rows)["gpu_cycles"].equals(first)


def test_launches_stand_for_those_of_the_whole_program(rows: Path) -> None:
    """Five equal launches, of which one is recorded with its weight: the interval holds all five."""
    file = rows / "configs/workloads/own_vector_add.yaml"
    plain = file.read_text()
    assert "arguments: [" in plain
    found = []
    for change in ("repeat: 5, arguments: [", "weight: 5, arguments: ["):
        file.write_text(plain.replace("arguments: [", change))
        _previewed.cache_clear()
        found.append(apuflow.evaluate("own_vector_add", {"num-compute-units": [4, 16]}, root=rows))
    every, one = found
    assert every["program_cycles"].isna().all()
    assert (one["program_cycles"] / one["gpu_cycles"]).tolist() == pytest.approx([5, 5])
    assert (one["program_cycles_low"] <= every["gpu_cycles"]).all()
    assert (every["gpu_cycles"] <= one["program_cycles_high"]).all()


def test_a_kernel_that_leaves_its_buffer_is_named_before_any_row(rows: Path) -> None:
    source = rows / "configs/workloads/kernels/vector_add.cl"
    source.write_text(source.read_text().replace("c[i] =", "c[i + 1000000] ="))
    with pytest.raises(ApuflowError, match="vector_add: 4 bytes at byte"):
        apuflow.evaluate("own_vector_add", root=rows)


def test_a_workgroup_that_its_kernel_is_not_compiled_for_has_no_preview(rows: Path) -> None:
    """Without an attribute clang takes 256 work-items for OpenCL (AMDGPUUsage, flat-work-group-size)."""
    source = rows / "configs/workloads/kernels/ladder_lds.cl"
    source.write_text(source.read_text().replace("__attribute__((amdgpu_flat_work_group_size(1, 1024)))", ""))
    apuflow.evaluate("ladder_lds", {"layer.waves": [4]}, root=rows)
    with pytest.raises(ApuflowError, match="has 320 work-items, it is compiled for at most 256"):
        apuflow.evaluate("ladder_lds", {"layer.waves": [5]}, root=rows)


@pytest.mark.parametrize(
    ("workload", "kernel"),
    [
        ("barrier_counter", "barrier_counter"),
        ("barrier_tree", "barrier_tree"),
        ("barrier_flags", "barrier_flags"),
        ("own_grid_barrier", "grid_barrier"),
    ],
)
def test_kernels_that_wait_for_other_workgroups_have_no_preview(
    rows: Path, workload: str, kernel: str
) -> None:
    """How often their loops turn depends on time."""
    with pytest.raises(NotModelled, match=f"kernel {kernel} waits for other workgroups .loop at") as refused:
        apuflow.evaluate(workload, {"num-compute-units": [4]}, machine="apu-gfx902", root=rows)
    assert refused.value.file == f"configs/workloads/{workload}.yaml"
    assert refused.value.remedy and "gem5-kernels" in refused.value.remedy


def test_a_barrier_of_many_workgroups_is_refused_at_once(rows: Path) -> None:
    """A sample of 2,000 workgroups would wait for others, which do not run."""
    file = rows / "configs/workloads/barrier_flags.yaml"
    text = file.read_text().replace("compute_units * 64", "128000").replace("2 * 64 * 16", "2 * 2000 * 16")
    file.write_text(text)
    _previewed.cache_clear()
    with pytest.raises(NotModelled, match="kernel barrier_flags waits"):
        apuflow.evaluate("barrier_flags", root=rows)


def test_rounds_of_launches_and_atomic_sums_have_a_preview(rows: Path) -> None:
    found = apuflow.evaluate(["barrier_launch", "own_histogram", "own_reduction"], root=rows)
    assert (found["gpu_cycles"] > 0).all()


def test_examples_are_near_what_gem5_took(rows: Path) -> None:
    """Cycles of gem5 develop c91af552, VEGA_X86, apu-gfx902, 2026-11-29. The aim is 12 and 30 %."""
    gem5 = pd.read_csv(DATA / "own_kernels_gem5.csv")
    gem5 = gem5[gem5["workload"] != "own_grid_barrier"]  # the preview refuses it
    units = sorted(gem5["num_compute_units"].unique().tolist())
    found = apuflow.evaluate(
        sorted(set(gem5["workload"])),
        {"num-compute-units": units},
        machine="apu-gfx902",
        release="v24.1",
        root=rows,
    )
    both = gem5.merge(found, on=["workload", "num_compute_units"], suffixes=("", "_preview"))
    errors = (both["gpu_cycles_preview"] / both["gpu_cycles"] - 1.0).abs()
    assert len(errors) == 20
    assert errors.median() <= 0.20 and errors.quantile(0.9) <= 0.45
