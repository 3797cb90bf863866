"""Axes of a table."""

from __future__ import annotations

import pandas as pd
import pytest
from result_frames import grid

from apuflow_analysis import figures
from apuflow_analysis.figures.axis import label, quantity


def test_lists_that_advance_together_are_one_line() -> None:
    frame = grid({"num_compute_units": [4, 8, 16]}, workloads=["pool_fwd"])
    frame["num_tccs"] = frame["num_compute_units"] // 4
    frame.attrs["axes"] = ("num_compute_units", "num_tccs")
    plot = figures.make("speedup", frame)
    assert list(plot.data["speedup"]) == [1, 2, 4]
    assert any("TCC banks: set together with Compute units" in note for note in plot.notes)


def test_a_list_that_repeats_a_value_follows_the_one_that_does_not() -> None:
    frame = grid({"num_compute_units": [4, 8, 16]}, workloads=["pool_fwd"])
    frame["tcc_size"] = ["256kB", "256kB", "1MB"]
    frame.attrs["axes"] = ("tcc_size", "num_compute_units")
    plot = figures.make("speedup", frame)
    assert list(plot.data["num_compute_units"]) == [4, 8, 16]
    assert plot.data["line"].nunique() == 1
    assert any("TCC size: set together with Compute units" in note for note in plot.notes)
    assert "heatmap" not in figures.applicable(frame)


def test_lists_that_all_repeat_values_are_one_axis() -> None:
    frame = grid({"num_compute_units": [4, 8, 16]}, workloads=["pool_fwd"])
    frame["num_compute_units"] = [16, 4, 16]
    frame["tcc_size"] = ["256kB", "256kB", "1MB"]
    frame.attrs["axes"] = ("num_compute_units", "tcc_size")
    together = [("num-compute-units", "tcc-size")]
    chosen = figures.choose(frame, figures.Choice.of(None, None, {}, together))
    data = figures.make("cycles", chosen).data
    assert list(data["num_compute_units+tcc_size"]) == ["4 + 256kB", "16 + 256kB", "16 + 1MB"]
    assert data["line"].nunique() == 1 and "heatmap" not in figures.applicable(chosen)
    named = figures.choose(frame, figures.Choice.of("num-compute-units", None, {}, together))
    assert set(figures.make("cycles", named).data["num_compute_units"]) == {4, 16}


@pytest.mark.filterwarnings("error::pandas.errors.PerformanceWarning")
def test_a_table_that_grew_column_by_column_gets_its_axis_without_a_warning() -> None:
    frame = grid({"num_compute_units": [4, 8, 16]}, workloads=["pool_fwd"])
    frame["num_compute_units"] = [16, 4, 16]
    frame["tcc_size"] = ["256kB", "256kB", "1MB"]
    pieces = [frame, *(pd.Series(0.0, frame.index, name=f"metric_{number}") for number in range(200))]
    frame = pd.concat(pieces, axis="columns")
    frame.attrs["axes"] = ("num_compute_units", "tcc_size")
    chosen = figures.choose(frame, figures.Choice.of(None, None, {}, [("num-compute-units", "tcc-size")]))
    assert chosen.attrs["axes"] == ("num_compute_units+tcc_size",)
    assert "num_compute_units+tcc_size" not in frame


def test_sizes_stand_in_order_of_size() -> None:
    frame = grid({"tcc_size": ["1MB", "256kB", "4MB", "512kB"]}, workloads=["pool_fwd"])
    data = figures.make("cycles", frame).data
    assert list(data["tcc_size"]) == ["256kB", "512kB", "1MB", "4MB"]


def test_axes_of_different_programs_do_not_hide_each_other() -> None:
    """A layer key that only one program varies is empty in the rows of the others."""
    pool = grid({"num_compute_units": [4, 16], "layer.kernel_size": [2, 3]}, workloads=["pool_fwd"])
    norm = grid({"num_compute_units": [4, 16], "layer.n": [1, 10]}, workloads=["bn_fwd"])
    data = figures.make("cycles", figures.combine([pool, norm])).data
    assert len(data) == 8
    assert set(data["line"]) == {"kernel_size 2", "kernel_size 3", "n 1", "n 10"}


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("256kB", 262144),
        ("4MB", 4194304),
        ("1.5GHz", 1.5e9),
        ("12", 12),
        (7, 7),
        (True, None),
        ("DDR3", None),
    ],
)
def test_sizes(text: object, size: float | None) -> None:
    assert quantity(text) == size


def test_n_of_a_matrix_product_is_no_batch() -> None:
    assert label("layer.n+layer.c") == "Batch size n + Channels c"
    assert label("layer.m+layer.n+layer.k+num_compute_units") == "m + n + k + CUs"
