"""Two runs' kernels beside each other: a program with copies and fills, and its layers' kernels alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from run_records import run_record

from apuflow.core.errors import AnalysisError
from apuflow_analysis.figures.comparisons import kernels_beside, time_parts
from apuflow_analysis.tables.dispatches import compare_dispatches, run_pairs
from apuflow_analysis.tables.kernels import UNNAMED

OPTIONS = {"num-compute-units": 4, "gfx-version": "gfx801", "gpu-clock": "1GHz"}
LAUNCHES: list[dict[str, Any]] = [
    {"layer": "conv1", "kernel": "Im2Col", "grid": [256, 1, 1], "workgroup": [256, 1, 1]},
    {"layer": "conv1", "kernel": "sgemm", "grid": [64, 16], "workgroup": [8, 8]},
    {"layer": "relu1", "kernel": "NeuronFwd", "grid": [1024], "workgroup": [256]},
]
FILL = ("Blit kernel", (4096, 1, 1), (64, 1, 1))


def dispatch(size: tuple[str, tuple[int, ...], tuple[int, ...]], start: int, end: int) -> dict[str, Any]:
    """From start to end in GPU cycles of 1000 ticks."""
    name, grid, workgroup = size
    return {
        "name": name,
        "grid": grid,
        "workgroup": workgroup,
        "arguments": 4096,
        "code": 8192,
        "vector_registers": 24,
        "scalar_registers": 32,
        "submitted": start * 1000 - 500,
        "launched": start * 1000,
        "completed": end * 1000,
    }


def of(launch: dict[str, Any], name: str = "Some kernel") -> tuple[str, tuple[int, ...], tuple[int, ...]]:
    """A launch's size as gem5 shows it."""
    return name, (*launch["grid"], 1, 1)[:3], (*launch["workgroup"], 1, 1)[:3]


def write(directory: Path, engine: str, dispatches: list[dict[str, Any]], **changes: Any) -> Path:
    directory.mkdir(parents=True)
    values = {"engine": engine, "options": OPTIONS, "launches": LAUNCHES, "ticks": 2_000_000, **changes}
    (directory / "run.json").write_text(json.dumps(run_record(dispatches=dispatches, **values)))
    return directory


def test_a_run_of_fewer_workgroups_is_not_compared(tmp_path: Path) -> None:
    launches = [{**LAUNCHES[0], "grid": [4096, 1, 1], "ran": 1}, *LAUNCHES[1:]]
    dispatches = [dispatch(of(launch), 10 * n, 10 * n + 5) for n, launch in enumerate(LAUNCHES, 1)]
    run = write(tmp_path / "a", "gem5-kernels", dispatches, launches=launches)
    with pytest.raises(AnalysisError, match="did not launch all workgroups"):
        compare_dispatches(run, run)


def widths(axes: Axes) -> list[float]:
    """Lengths of the bars."""
    return [bar.get_width() for bar in axes.patches if isinstance(bar, Rectangle)]


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    """The program fills a buffer, then runs three kernels with a copy of the fill's size between them."""
    a = [
        dispatch(FILL, 100, 150),
        dispatch(of(LAUNCHES[0]), 200, 300),
        dispatch(FILL, 310, 330),
        dispatch(of(LAUNCHES[1]), 400, 800),
        dispatch(of(LAUNCHES[2]), 900, 1000),
    ]
    b = [
        dispatch(of(LAUNCHES[0], "Blit kernel"), 50, 140),
        dispatch(of(LAUNCHES[1], "Blit kernel"), 150, 650),
        dispatch(of(LAUNCHES[2], "Blit kernel"), 660, 760),
    ]
    return write(tmp_path / "a", "gem5", a), write(tmp_path / "b", "gem5-kernels", b, ticks=800_000)


def test_kernels_are_paired_and_the_runtimes_own_stand_alone(runs: tuple[Path, Path]) -> None:
    compared = compare_dispatches(*runs)
    table = compared.table
    assert list(table["in"]) == ["A", "both", "A", "both", "both"]
    assert list(table["kernel"]) == [UNNAMED, "Im2Col", UNNAMED, "sgemm", "NeuronFwd"]
    assert list(table["cycles_a"]) == [50, 100, 20, 400, 100]
    np.testing.assert_array_equal(table["cycles_b"], [np.nan, 90, np.nan, 500, 100])
    np.testing.assert_allclose(table["ratio"], [np.nan, 0.9, np.nan, 1.25, 1.0])
    assert list(table["layer"]) == ["", "conv1", "", "conv1", "relu1"]
    assert list(table["waited_a"]) == [0.5] * 5
    assert list(table["dispatch_a"]) == [0, 1, 2, 3, 4]


def test_the_time_of_a_run_has_no_holes(runs: tuple[Path, Path]) -> None:
    """By hand: A is 2000 cycles long, its first kernel begins at 100, its last ends at 1000."""
    parts = compare_dispatches(*runs).parts.set_index("part")
    assert parts["cycles_a"].to_dict() == {
        "before": 100,
        "layer": 600,
        "other": 70,
        "between": 230,
        "after": 1000,
    }
    assert parts["cycles_b"].to_dict() == {"before": 50, "layer": 690, "other": 0, "between": 20, "after": 40}
    assert parts["cycles_a"].sum() == 2000 and parts["cycles_b"].sum() == 800
    assert parts["kernels_a"].to_dict() == {"before": 0, "layer": 3, "other": 2, "between": 0, "after": 0}


def test_what_differs_is_said_or_refused(runs: tuple[Path, Path], tmp_path: Path) -> None:
    a, b = runs
    dispatches = json.loads((b / "run.json").read_text())["dispatches"]
    other = write(tmp_path / "m", "gem5-kernels", dispatches[:2], options={**OPTIONS, "mem-size": "1GB"})
    notes = compare_dispatches(a, other).notes
    assert "1 of the 3 launches that the layers of B were expected to make are not in its trace" in notes
    assert "options that differ: mem-size (None, 1GB)" in notes
    large = write(tmp_path / "l", "gem5-kernels", dispatches, options={**OPTIONS, "num-compute-units": 8})
    with pytest.raises(AnalysisError, match="num-compute-units is 4 in A"):
        compare_dispatches(a, large)
    untraced = write(tmp_path / "u", "gem5", [])
    with pytest.raises(AnalysisError, match="no trace of its kernels"):
        compare_dispatches(untraced, b)
    cut = write(tmp_path / "c", "gem5", [{**dispatches[0], "completed": None}])
    with pytest.raises(AnalysisError, match="did not end"):
        compare_dispatches(cut, b)


def test_overlapping_kernels_leave_no_negative_time(runs: tuple[Path, Path], tmp_path: Path) -> None:
    both = [dispatch(of(LAUNCHES[0]), 100, 300), dispatch(of(LAUNCHES[1]), 200, 250)]
    parts = compare_dispatches(write(tmp_path / "o", "gem5", both), runs[1]).parts.set_index("part")
    assert parts.loc["between", "cycles_a"] == 0 and parts.loc["layer", "cycles_a"] == 250


def test_figures_show_what_the_tables_hold(runs: tuple[Path, Path]) -> None:
    compared = compare_dispatches(*runs)
    drawn = kernels_beside(compared)
    axes = drawn.figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()][1] == "Im2Col  256x1x1"
    assert sorted(widths(axes)) == [0, 0, 20, 50, 90, 100, 100, 100, 400, 500]
    assert sum(widths(time_parts(compared).figure.axes[0])) == pytest.approx(2.0)


def test_runs_of_a_table_are_paired_by_its_axes() -> None:
    rows = [
        {
            "engine": engine,
            "workload": "w",
            "point": f"{engine}-{units}",
            "status": status,
            "num_compute_units": units,
        }
        for engine, units, status in (
            ("gem5", 4, "completed"),
            ("gem5", 8, "timeout"),
            ("gem5-kernels", 4, "completed"),
            ("gem5-kernels", 8, "completed"),
        )
    ]
    table = pd.DataFrame(rows)
    table.attrs["axes"] = ["num_compute_units"]
    assert run_pairs(table, "gem5", "gem5-kernels") == [
        (("gem5", "w", "gem5-4"), ("gem5-kernels", "w", "gem5-kernels-4"))
    ]
    with pytest.raises(AnalysisError, match="no point that gem5 and preview"):
        run_pairs(table, "gem5", "preview")
