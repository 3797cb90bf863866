"""``benchmarks/traced_launches.py``: which launches the table gets, its rows, and one that is traced."""

from __future__ import annotations

import io
import time
from pathlib import Path

import layer_passes
import numpy as np
import pandas as pd
import pytest
from launch_table import Traceable, chosen_of, in_order, places, read_table, spread, table
from needs import CLANG
from traced_launches import Tools, record

from apuflow import operations
from apuflow.preview.kernels.totals import TOTALS
from apuflow.preview.kernels.traced import facts_of_row


def gelu(elements: int, gfx: str = "gfx902") -> Traceable:
    """A launch of one kernel, a work-item for four elements."""
    (launch,) = operations.make("gelu", {"elements": elements}).launches("fwd", 4)
    return Traceable.of(launch, gfx)


def test_each_next_point_is_as_far_as_can_be_from_those_before() -> None:
    assert spread(np.array([[0.0], [1.0], [2.0], [10.0]]), 3) == [2, 3, 0]
    assert spread(np.zeros((0, 2)), 3) == []


def test_numbers_with_few_values_tell_apart_as_names_do() -> None:
    rows = [{"size": float(size), "flag": float(size % 2), "same": 7.0} for size in range(8)]
    found = places(rows)
    assert found.shape == (8, 3)  # the size's logarithm, and two values of the flag
    away = np.linalg.norm(found[:, None] - found, axis=2)
    assert away[6, 7] == pytest.approx(np.hypot(2.0, np.log(8 / 7)))


def test_two_of_three_rows_are_of_vega() -> None:
    group = [gelu(4 * 2**power, gfx) for power in range(9) for gfx in ("gfx801", "gfx902")]
    assert [each.gfx for each in chosen_of(group, 9)].count("gfx902") == 6


def test_long_launches_are_traced_later() -> None:
    small, large = gelu(1000), gelu(4000)
    every = {each.facts: each for each in (large, small)}
    assert in_order(every, {large.facts: 3e6, small.facts: 100.0}, {large.facts}) == [small, large]


def test_a_row_is_read_as_the_launch_and_the_totals_that_were_written(tmp_path: Path) -> None:
    each = gelu(1000)
    totals = {name: 1.0 + place for place, name in enumerate(TOTALS)}
    one = {"waves": 4, "lds_bytes": 0, "vgprs": 20, "sgprs": 24, **totals}
    data = table([each], {each.key: one}, 9)
    (tmp_path / "t.csv.xz").write_bytes(data)
    (again,) = read_table(tmp_path / "t.csv.xz").values()
    assert again == {**one, "key": each.key, "kernel": each.launch.kernel}
    frame = pd.read_csv(io.BytesIO(data), compression="xz", keep_default_na=False)
    row = frame.iloc[0]
    assert len(frame) == 1
    assert facts_of_row(row) == each.facts
    assert {name: row[name] for name in TOTALS} == totals
    assert row["sgprs"] == 24


def test_the_runs_that_judge_the_preview_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    section = "[DNNMark]\nrun_mode=standalone\n\n[BatchNorm]\nname=b\nc=4\nh=4\nw=4\n"
    rows = [
        {"draw": draw, "config": f"{section}n={n}\n", "kernel": kernel, "launch": "0", "direction": "fwd",
         "grid_x": "1", "workgroup_x": "1", "num_compute_units": "4", "gfx_version": "gfx902"}
        for draw, n in (("23", 2), ("24", 3))
        for kernel in ["MIOpenBatchNormFwdTrainPerActivation"]
    ]  # fmt: skip
    monkeypatch.setattr(layer_passes, "RECORDED", ["layers.csv.xz"])
    monkeypatch.setattr(layer_passes, "read_runs", lambda _: pd.DataFrame(rows))
    (seen,), (judge,) = layer_passes.recorded(), layer_passes.recorded(held_out=True)
    assert (seen.launch.args[0].elements, judge.launch.args[0].elements) == (2 * 64, 3 * 64)
    assert seen.gfx == "gfx902"


def test_random_passes_reach_kernels_of_all_kinds() -> None:
    kernels = {found.launch.kernel for found in layer_passes.drawn(12, 1)}
    assert kernels >= {
        *("Im2d2Col", "Col2Im2d", "MIOpenConvUni", "MIOpenConv1x1", "MIOpenCvBwdWrW", "OpTensorFwdBias"),
        *("MIOpenConvBwdB", "Op4dTensorLite", "Op2dTensorLite", "MIOpenBatchNormFwdTrainSpatial"),
        *("SubTensorOpWithSubTensor1d", "transpose_NCHW2CNHW_opt", "layernorm_forward", "embedding_forward"),
    }


def test_a_traced_launch_has_the_accesses_of_its_elements(tmp_path: Path) -> None:
    CLANG.required_program()
    one = record((gelu(1000), Tools(tmp_path, tmp_path, time.time() + 60.0)))
    assert one is not None
    assert (one["waves"], one["loads"], one["stores"]) == (4, 4, 4)  # 250 work-items, four floats each
    assert (one["load_lines"], one["store_accesses"]) == (63, 63)  # 4,000 bytes from a page's begin
    assert one["load_group_lines"] == 63


def test_no_launch_is_begun_after_the_time(tmp_path: Path) -> None:
    assert record((gelu(1000), Tools(tmp_path, tmp_path, 0.0))) is None
