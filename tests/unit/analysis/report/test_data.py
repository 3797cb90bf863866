"""The data inside of a report."""

from __future__ import annotations

import json

from places import ROOT
from result_frames import HOSTILE, grid

import apuflow
from apuflow_analysis.figures.axis import Choice, choose
from apuflow_analysis.report.data import MANY_ROWS, embed, page_data


def test_data_keep_values_and_leave_out_empty_columns() -> None:
    frame = grid({"num_compute_units": [4, 8]}, workloads=["softmax_fwd"])
    data = page_data(frame, [])
    columns = {column["name"]: column for column in data["columns"]}
    assert columns["gpu_cycles"]["values"] == [16000, 8000]
    assert columns["gfx"]["constant"] == "gfx801"
    assert columns["num_compute_units"]["axis"] and columns["num_compute_units"]["label"] == "Compute units"
    assert "page_walks" not in columns
    assert json.loads(str(embed({"a": HOSTILE}))) == {"a": HOSTILE}
    assert not set("<>&") & set(str(embed({"a": HOSTILE})))


def test_many_rows_carry_only_the_main_columns() -> None:
    frame = grid({"num_compute_units": range(1, MANY_ROWS + 2)}, workloads=["softmax_fwd"])
    names = {column["name"] for column in page_data(frame, [])["columns"]}
    assert {"gpu_cycles", "num_compute_units", "status"} <= names
    assert "issue_period" not in names


def test_cells_hold_tags_and_the_legend_says_what_they_mean() -> None:
    frame = grid({"num_compute_units": [4, 8, 16]}, workloads=["softmax_fwd"])
    frame["flags"] = ["", "unmeasured: 4 more; of a kernel", "wrong results: y differs;lds_utilization=1.7>1"]
    frame["bound"] = ["tokens", "dram", None]
    frame["stand_in"] = ["sgemm: for rocBLAS", None, None]
    frame["extrapolated"] = [None, "extrapolated from 136 of 1,000 workgroups, +- 3.0%", None]
    data = page_data(frame, [])
    columns = {column["name"]: column for column in data["columns"]}
    assert columns["flags"]["tags"] == [[], ["unmeasured"], ["wrong values", "check"]]
    assert columns["bound"]["tags"] == [["tokens"], ["DRAM"], []]
    assert columns["stand_in"]["tags"] == [["stand-in"], [], []]
    assert columns["extrapolated"]["tags"] == [[], ["extrapolated"], []]
    meanings = dict(data["legend"])
    named = {"unmeasured", "wrong values", "check", "stand-in", "extrapolated"}
    assert set(meanings) == {"tokens", "DRAM", *named}
    assert meanings["tokens"].startswith("limited by coalescer tokens")


def test_rocblas_kernels_with_their_scaling_are_not_tagged_as_the_stand_in() -> None:
    """Column ``stand_in`` as the preview has it of a split sum (NT) and of TT."""
    sizes = {"m": 64, "n": 16, "k": 512, "transpose_a": [False, True], "transpose_b": True}
    frame = apuflow.evaluate("gemm", layer=sizes, root=ROOT)
    columns = {column["name"]: column for column in page_data(frame, [])["columns"]}
    assert frame["stand_in"].str.startswith("Cijk_S: ").tolist() == [True, False]
    assert columns["stand_in"]["tags"] == [["scaling"], ["stand-in"]]


def test_what_a_reader_asks_first_stands_first() -> None:
    frame = grid({"num_compute_units": [4, 8]}, workloads=["softmax_fwd"])
    frame["bound"] = "dram"
    names = [column["name"] for column in page_data(frame, [])["columns"] if column["shown"]]
    assert names[:4] == ["workload", "num_compute_units", "gpu_cycles", "bound"] and names[-1] == "point"


def test_columns_that_advance_together_are_one_axis() -> None:
    frame = grid({"num_compute_units": [4, 8, 16]}, workloads=["softmax_fwd"])
    frame["tcc_size"] = ["256kB", "1MB", "2MB"]
    frame.attrs["axes"] = ("num_compute_units", "tcc_size")
    data = page_data(frame, [], [("num_compute_units", "tcc_size")])
    axes = [column for column in data["columns"] if column["axis"]]
    assert [column["label"] for column in axes] == ["Compute units (with TCC size)"]
    assert axes[0]["values"] == ["4", "8", "16"] and axes[0]["sizes"] == [4, 8, 16]
    assert data["chart"] == {"x": "num_compute_units+tcc_size", "others": []}
    frame["num_compute_units"] = [4, 16, 16]
    frame["tcc_size"] = ["256kB", "1MB", "256kB"]
    data = page_data(frame, [], [("num_compute_units", "tcc_size")])
    group = next(column for column in data["columns"] if column["axis"])
    assert data["chart"] == {"x": "num_compute_units+tcc_size", "others": []}
    assert group["values"] == ["4 + 256kB", "16 + 1MB", "16 + 256kB"] and group["sizes"] == [0, 2, 1]


def test_the_chart_begins_with_the_axis_of_the_greatest_effect() -> None:
    frame = grid({"num_tccs": [1, 2, 4], "num_dirs": [1, 2, 4]}, workloads=["softmax_fwd"])
    frame["gpu_time"] = 1 / frame["num_dirs"]
    chart = page_data(frame, [])["chart"]
    assert chart == {
        "x": "num_dirs",
        "others": [{"name": "num_tccs", "value": 1, "held": False}],
    }
    chosen = choose(frame, Choice("num_tccs", (), {"num_dirs": 2, "num_tccs": 3}))
    chart = page_data(chosen, [])["chart"]
    assert chart["others"] == [{"name": "num_dirs", "value": 2, "held": True}]
    assert "DRAM channels = 2" in page_data(chosen, [])["base"]["text"]


def test_a_baseline_is_written_as_the_table_has_it() -> None:
    frame = grid({"tcc_size": ["256kB", "1MB"], "num_compute_units": [4, 8]}, workloads=["softmax_fwd"])
    chosen = choose(frame, Choice("num_compute_units", None, {"tcc_size": "1024kB"}))
    assert "TCC size = 1MB" in page_data(chosen, [])["base"]["text"]
