"""Folding points of operations into suites, reckoned by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from result_frames import table

from apuflow.core.engines import PREVIEW_VERSION
from apuflow.core.products import SCALE, SCALE_NOTE
from apuflow_analysis.tables.suites import Folder, Item, Iteration, coverage_text, summary, times

SECOND = 10**12
"""Ticks."""


def operations(**changed: object) -> pd.DataFrame:
    """Three operations: 1 s, 2 s and 4 s."""
    rows = [
        {
            "engine": "preview",
            "workload": "operations",
            "direction": "fwd",
            "point": name,
            "gpu_active_ticks": seconds * SECOND,
            "gpu_cycles": seconds * 10**9,
            "gpu_clock_ticks": 1000,
            "compute_units": 4,
            "kernels_launched": seconds,
            "bound": bound,
            "stand_in": stand_in,
            **(changed if name == "c" else {}),
        }
        for name, seconds, bound, stand_in in (
            ("a", 1, "dram", None),
            ("b", 2, "lds", "sgemm: ours"),
            ("c", 4, "dram", None),
        )
    ]
    return table(rows, [])


ITERATION = Iteration(
    suite="net",
    engine="preview",
    direction="both",
    label="net-1",
    axes={"layer.n": 8},
    items=(
        Item(1, "one", "conv", "forward", 1, 3 * 10**12, point="b"),
        Item(2, "two", "relu", "forward", 1, 0, point="a"),
        Item(3, "gone", "dropout", "forward", 1, 0, why="no kernel"),
        Item(2, "two", "relu", "backward", 1, 0, point="a"),
        Item(1, "one", "conv", "backward", 3, 6 * 10**12, point="c"),
    ),
    images=8,
    params=5,
    memory={"weights": 20},
)


def test_an_item_has_its_operations_time_as_often_as_it_is_repeated() -> None:
    items = Folder(operations()).items([ITERATION])
    assert items["ms"].tolist()[:2] == [2000, 1000]
    assert items["total_ms"].tolist()[3:] == [1000, 12000]
    assert items["tflops"].tolist()[0] == 3 / 2
    assert items["tflops"].tolist()[4] == 6 / 12
    assert items["status"].tolist()[2] == "not run"
    assert items["total_ms"].isna().tolist() == [False, False, True, False, False]


def test_an_iteration_with_products_of_both_kinds_says_both() -> None:
    frame = operations()
    frame["products"] = [{"a": "rocBLAS", "b": "stand-in"}.get(name) for name in frame["point"]]
    frame["stand_in"] = [{"a": f"{SCALE}: {SCALE_NOTE}"}.get(name) for name in frame["point"]]
    folder = Folder(frame)
    [row] = folder.table([ITERATION]).to_dict("records")
    [whole] = summary(folder.items([ITERATION]), folder.table([ITERATION]), [ITERATION]).to_dict("records")
    assert row["products"] == whole["products"] == "rocBLAS + stand-in"
    assert whole["stand_ins"] == 0  # what scales C for rocBLAS' kernels is none


def test_an_iteration_is_the_sum_of_its_items() -> None:
    folded = Folder(operations()).table([ITERATION])
    [row] = folded.to_dict("records")
    assert (row["workload"], row["layer.n"], row["status"]) == ("net", 8, "completed")
    assert row["gpu_cycles"] == (2 + 1 + 1 + 3 * 4) * 10**9
    assert row["gpu_time"] == 16
    assert row["compute_units"] == 4  # of the machine, not added up
    assert row["kernels_launched"] == 16
    assert row["bound"] == "dram"  # 14 of 16 s
    assert row["stand_in"] == "sgemm: ours"
    assert "1 x dropout forward: no kernel" in row["evidence"]
    assert "3 operations stand for 4 of 5 steps" in row["evidence"]


def test_the_interval_of_a_previewed_iteration_is_the_sum_of_its_operations() -> None:
    frame = operations()
    frame["gpu_cycles_low"], frame["gpu_cycles_high"] = [1.0, 2.0, 3.0], [10.0, 20.0, 30.0]
    frame["flags"] = [
        "",
        "unmeasured: 3 wavefronts of x",
        "unmeasured: 4 wavefronts of y;wrong results: z; by w;ipc=2>1",
    ]
    [row] = Folder(frame).table([ITERATION]).to_dict("records")
    assert (row["gpu_cycles_low"], row["gpu_cycles_high"]) == (2 + 1 + 1 + 3 * 3, 20 + 10 + 10 + 3 * 30)
    assert row["flags"].split(";", 1)[0] == "unmeasured: 2 of 3 operations, which their table names"
    assert row["flags"].endswith(";wrong results: 1 of 3 operations, the first: z; by w;ipc=2>1")


def test_an_iteration_on_gem5_has_no_interval() -> None:
    [row] = Folder(operations()).table([ITERATION]).to_dict("records")
    assert pd.isna(row["gpu_cycles_low"]) and pd.isna(row["gpu_cycles_high"])


def test_an_iteration_with_extrapolated_operations_says_so() -> None:
    """The interval is theirs alone: the others were measured."""
    frame = operations()
    frame["extrapolated"] = [None, None, "extrapolated from 136 of 1,000 workgroups, +- 5.0%"]
    frame["gpu_cycles_low"], frame["gpu_cycles_high"] = [np.nan, np.nan, 3.8e9], [np.nan, np.nan, 4.2e9]
    [row] = Folder(frame).table([ITERATION]).to_dict("records")
    assert row["extrapolated"] == "1 of 3 distinct operations, from the first workgroups of launches"
    assert row["gpu_cycles"] == 16e9
    assert (row["gpu_cycles_low"], row["gpu_cycles_high"]) == pytest.approx((16e9 - 6e8, 16e9 + 6e8))
    [row] = Folder(operations()).table([ITERATION]).to_dict("records")
    assert row["extrapolated"] is None


def test_time_is_told_by_phase_and_kind() -> None:
    items = Folder(operations()).items([ITERATION])
    found = times(items, [ITERATION])
    by = {(row["phase"], row["op"]): row for row in found.to_dict("records")}
    assert by["forward", "conv"]["total_ms"] == 2000
    assert by["backward", "conv"]["share"] == 12 / 16
    assert by["forward", "dropout"]["run"] == 0


def test_the_summary_has_phases_rate_and_memory() -> None:
    folder = Folder(operations())
    items = folder.items([ITERATION])
    [row] = summary(items, folder.table([ITERATION]), [ITERATION]).to_dict("records")
    assert (row["forward_ms"], row["backward_ms"], row["total_ms"]) == (3000, 13000, 16000)
    assert row["images_per_s"] == 8 / 16
    assert row["overlapped_ms"] == 16000  # one device shares nothing: no communication to hide
    assert row["tflops"] == pytest.approx(9 / 16)
    assert (row["weights_bytes"], row["params"], row["not_run"]) == (20, 5, 1)


def test_tables_say_what_their_times_rest_on() -> None:
    """2 + 1 + 1 + 3 * 4 s; a is 0.5 to 3 s, b and c have no interval; c is unmeasured; b is a stand-in."""
    frame = operations()
    frame["gpu_cycles_low"], frame["gpu_cycles_high"] = [0.5e9, np.nan, np.nan], [3e9, np.nan, np.nan]
    frame["flags"] = ["", "", "unmeasured: 4 wavefronts of y"]
    folder = Folder(frame)
    items = folder.items([ITERATION])
    assert items[["low_ms", "high_ms"]].to_numpy()[1].tolist() == [500, 3000]
    assert items[["low_ms", "high_ms"]].to_numpy()[4].tolist() == [4000, 4000]
    assert items["unmeasured"].tolist() == [False, False, False, False, True]
    assert items["engine_version"].isna().tolist() == [False, False, True, False, False]
    [whole] = summary(items, folder.table([ITERATION]), [ITERATION]).to_dict("records")
    assert (whole["low_ms"], whole["high_ms"]) == (2000 + 2 * 500 + 12000, 2000 + 2 * 3000 + 12000)
    assert (whole["operations"], whole["unmeasured"], whole["unmeasured_share"]) == (3, 1, 12 / 16)
    assert (whole["stand_ins"], whole["stand_in_share"]) == (1, 2 / 16)
    assert whole["engine_version"] == f"preview {PREVIEW_VERSION}"
    by = {(row["phase"], row["op"]): row for row in times(items, [ITERATION]).to_dict("records")}
    assert by["backward", "conv"]["unmeasured_share"] == 1 and by["forward", "conv"]["unmeasured"] == 0
    assert by["forward", "relu"]["high_ms"] == 3000
    assert "1 of 3 operations (75% of the time) are outside" in coverage_text(items)


def test_what_is_reckoned_is_a_phase_that_may_run_beside_the_backward_pass() -> None:
    shared = Item(4, "all_reduce", "all_reduce", "communication", 1, 0, why="reckoned", reckoned_ms=4000)
    several = replace(ITERATION, items=(*ITERATION.items, shared), devices=2)
    folder = Folder(operations())
    items = folder.items([several])
    assert items["status"].tolist()[-1] == "reckoned"
    [row] = summary(items, folder.table([several]), [several]).to_dict("records")
    assert (row["communication_ms"], row["total_ms"], row["overlapped_ms"]) == (4000, 20000, 16000)
    assert (row["images_per_s"], row["not_run"]) == (2 * 8 / 20, 1)
    assert "stand for 4 of 5 steps" in row["evidence"]
    assert times(items, [several])["share"].tolist()[-1] == 4 / 20


def test_an_iteration_with_a_failed_operation_has_no_numbers_and_says_which() -> None:
    folded = Folder(operations(status="timeout", evidence="7 days are over")).table([ITERATION])
    [row] = folded.to_dict("records")
    assert row["status"] == "timeout"
    assert "1 operations failed, the first: 7 days are over" in row["evidence"]
    assert pd.isna(row["gpu_cycles"])


def test_what_a_suite_leaves_out_stands_in_each_of_its_tables() -> None:
    one = replace(ITERATION, left_out="The loss.")
    folder = Folder(operations())
    items, table = folder.items([one]), folder.table([one])
    for frame in (items, times(items, [one]), summary(items, table, [one])):
        assert set(frame["left_out"]) == {"The loss."}
    assert table["evidence"][0].endswith("; left out: The loss.")
