"""The data inside of a report."""

from __future__ import annotations

import json

from result_frames import HOSTILE, grid

from analysis.report.data import MANY_ROWS, embed, page_data


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
