"""Comparing tables and engines."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from result_frames import engine_table, grid

from apuflow.core.errors import AnalysisError
from apuflow_analysis.tables.compare import compare, compare_engines, compare_releases, compare_values


def test_ratio_and_difference_per_point() -> None:
    result = compare(
        engine_table("gem5", {1: 100, 2: 50, 4: 20}),
        engine_table("preview", {1: 110, 2: 40, 8: 5}),
        ["gpu_cycles"],
    )
    assert list(result.table["num_compute_units"]) == [1, 2]
    assert list(result.table["ratio"]) == [1.1, 0.8]
    assert list(result.table["difference"]) == [10, -10]
    assert (result.only_a, result.only_b) == (1, 1)
    summary = result.summary.iloc[0]
    assert summary["points"] == 2
    assert summary["geometric_mean_ratio"] == pytest.approx(math.sqrt(1.1 * 0.8))
    assert (summary["smallest_ratio"], summary["largest_ratio"], summary["largest_difference"]) == (
        0.8,
        1.1,
        10,
    )


def test_zero_and_unknown() -> None:
    a, b = engine_table("gem5", {1: 0, 2: 0, 4: 10}), engine_table("gem5", {1: 0, 2: 5, 4: 10})
    table = compare(a, b, ["gpu_cycles", "occupancy"]).table
    ratios = table[table["column"] == "gpu_cycles"]["ratio"].tolist()
    assert ratios[0] == 1 and math.isnan(ratios[1]) and ratios[2] == 1
    assert table[table["column"] == "occupancy"]["ratio"].isna().all()


def test_two_engines_of_one_table() -> None:
    both = pd.concat(
        [engine_table("gem5", {1: 100, 2: 60}), engine_table("preview", {1: 50, 2: 60})], ignore_index=True
    )
    result = compare_engines(both, "gem5", "preview", ["gpu_cycles"])
    assert list(result.table["ratio"]) == [0.5, 1]
    with pytest.raises(AnalysisError, match="no row of this engine") as caught:
        compare_engines(both, "gem5", "gem5-kernels")
    assert "gem5, preview" in str(caught.value)


def test_points_whose_products_are_other_kernels_are_counted() -> None:
    a = engine_table("gem5-kernels", {1: 100, 2: 50, 4: 20})
    b = engine_table("gem5-kernels", {1: 110, 2: 40, 4: 20})
    a["products"], b["products"] = ["rocBLAS", "rocBLAS", None], ["stand-in", "rocBLAS", "stand-in"]
    assert compare(a, b).differ == (("products of 1 of 3 points", "rocBLAS", "stand-in"),)
    assert compare(a, a).differ == compare(a, b.drop(columns="products")).differ == ()


def test_a_machine_parameter_that_varies_is_a_key() -> None:
    a = pd.concat(
        [engine_table("gem5", {1: 100}, num_tccs=1), engine_table("gem5", {1: 80}, num_tccs=2)],
        ignore_index=True,
    )
    result = compare(a, a, ["gpu_cycles"])
    assert "num_tccs" in result.keys
    assert list(result.table["ratio"]) == [1, 1]


def test_what_cannot_be_compared() -> None:
    a = engine_table("gem5", {1: 100})
    with pytest.raises(AnalysisError, match="no completed point in common"):
        compare(a, engine_table("gem5", {2: 100}))
    with pytest.raises(AnalysisError, match="no such counter or metric"):
        compare(a, a, ["colour"])
    with pytest.raises(AnalysisError, match="several rows of one point"):
        compare(pd.concat([a, engine_table("preview", {1: 90})], ignore_index=True), a)


def test_two_releases_of_one_table() -> None:
    frame = grid({"release": ["v23.0", "v23.1"], "num_compute_units": [4, 8]})
    newer = frame["release"] == "v23.1"
    frame.loc[newer, "gpu_cycles"] *= 2
    frame.loc[newer & (frame["workload"] == "softmax_bwd"), "flags"] = "wrong results: x"
    found = compare_releases(frame, "v23.0", "v23.1", ["gpu_cycles"])
    assert found.summary["points"].tolist() == [4]
    assert found.summary["geometric_mean_ratio"].tolist() == [pytest.approx(2)]
    assert (found.wrong_a, found.wrong_b) == ((), ("softmax_bwd on preview",))
    assert "release" not in found.keys
    with pytest.raises(AnalysisError, match="no row of this release"):
        compare_releases(frame, "v23.0", "v24.0")


def test_releases_on_machines_of_their_own() -> None:
    """GCN3 on one release, Vega on the other: points agree in everything but what goes with the release."""
    frame = grid({"release": ["v23.0", "v24.0"], "num_compute_units": [4, 8]})
    newer = frame["release"] == "v24.0"
    axes = (*frame.attrs["axes"], "machine")
    frame = frame.copy().assign(machine=newer.map({False: "apu-gfx801", True: "apu-gfx902"}))
    frame.attrs["axes"] = axes
    frame.loc[newer, "gpu_cycles"] *= 2
    for found in (
        compare_releases(frame, "v23.0", "v24.0", ["gpu_cycles"]),
        compare_values(frame, "machine", "apu-gfx801", "apu-gfx902", ["gpu_cycles"]),
    ):
        assert found.summary["points"].tolist() == [4]
        assert found.summary["geometric_mean_ratio"].tolist() == [pytest.approx(2)]
        assert ("machine", "apu-gfx801", "apu-gfx902") in found.differ


def test_forward_with_backward_names_what_differs() -> None:
    forward = engine_table("preview", {1: 100, 2: 60}).assign(workload="conv_fwd", direction="fwd")
    backward = engine_table("preview", {1: 250, 2: 60}).assign(workload="conv_bwd", direction="bwd")
    result = compare(forward, backward, ["gpu_cycles"])
    assert list(result.table["ratio"]) == [2.5, 1]
    assert result.differ == (("workload", "conv_fwd", "conv_bwd"), ("direction", "fwd", "bwd"))


def test_two_values_of_an_axis() -> None:
    frame = engine_table("gem5", {4: 100, 16: 25})
    result = compare_values(frame, "num-compute-units", "4", "16", ["gpu_cycles"])
    assert list(result.table["ratio"]) == [0.25]
    assert result.differ == (("num_compute_units", "4", "16"),)
    with pytest.raises(AnalysisError, match="no row of this value") as caught:
        compare_values(frame, "num_compute_units", "4", "5")
    assert "4, 16" in str(caught.value) and "np.int64" not in str(caught.value)
    with pytest.raises(AnalysisError, match="no such axis") as caught:
        compare_values(frame, "tcc-size", "4", "5")
    assert "num_compute_units" in str(caught.value)


def test_several_rows_of_one_point_are_told_in_plain_numbers() -> None:
    doubled = pd.concat([engine_table("gem5", {4: 100})] * 2, ignore_index=True)
    with pytest.raises(AnalysisError, match="several rows of one point") as caught:
        compare(doubled, doubled)
    assert "num_compute_units: 4" in str(caught.value) and "np." not in str(caught.value)
