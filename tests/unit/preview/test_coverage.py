"""What a preview row says of how far it can be trusted."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from sweep_texts import HEAD, expand

from apuflow import preview
from apuflow.configure.option_rules import defaults
from apuflow.preview.coverage import FILE
from apuflow.study.measured import text
from apuflow.study.score import read_tables, recorded, score


def run(root: Path, sweep: str) -> pd.DataFrame:
    return preview.run(expand(root, sweep), defaults(preview.RELEASE))


def test_the_ranges_are_those_of_the_recorded_runs() -> None:
    """And they follow the model: run python -m apuflow.study.measured after a change of it."""
    assert FILE.read_text() == text()


def test_inside_the_range_nine_of_ten_measured_runs_lie_in_the_interval(root: Path) -> None:
    """Softmax forward of 100x1000 on 4 units: 193,319 cycles on gem5 (campaign.csv)."""
    row = run(root, HEAD + "release: v23.0\nlayer: {n: 100, c: 1000}\n").iloc[0]
    assert row["unmeasured"] == ""
    assert row["gpu_cycles_low"] < row["gpu_cycles"] < row["gpu_cycles_high"]
    scored = score(read_tables(recorded())).frame
    errors = scored[scored["kernel"] == "SoftmaxForward"]["error"]
    low, high = (row[f"gpu_cycles_{end}"] / row["gpu_cycles"] for end in ("low", "high"))
    inside = ((1.0 / (1.0 + errors)).between(low, high)).mean()
    assert 0.85 <= inside <= 0.95


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("layer: {n: 100000}", "wavefronts of SoftmaxForward"),
        ("options: {num-dirs: 4}", "4 num-dirs (measured 1)"),
        ("options: {mem-type: DDR3_2133_8x8}", "DDR3_2133_8x8 mem-type (measured DDR3_1600_8x8)"),
        ("options: {num-compute-units: 128}", "128 num-compute-units (measured 1 to 64)"),
        ("options: {gpu-clock: 4GHz}", "0.25 ns of gpu-clock (measured 0.5 to 2)"),
    ],
)
def test_outside_the_range_the_row_says_what_and_its_interval_is_wider(
    root: Path, change: str, said: str
) -> None:
    row = run(root, HEAD + f"release: v23.0\n{change}\n").iloc[0]
    assert said in row["unmeasured"]
    assert (
        row["gpu_cycles_high"] > 1.6 * row["gpu_cycles"] and row["gpu_cycles_low"] < row["gpu_cycles"] / 1.6
    )


def test_a_product_that_the_preview_takes_for_four_times_too_fast_is_marked(root: Path) -> None:
    """n=100, c=512, 1,024 outputs on 32 units: 1,748,689 cycles on gem5, a quarter by the preview."""
    text = HEAD.replace("softmax_fwd", "fc_fwd") + (
        "release: v23.0\noptions: {num-compute-units: 32}\n"
        "layer: {n: 100, c: 512, h: 1, w: 1, num_output: 1024}\n"
    )
    (point,) = expand(root, text, "fc_fwd")
    row = preview.run([point], defaults(preview.RELEASE)).iloc[0]
    assert "of sgemm" in row["unmeasured"]


@pytest.mark.parametrize(
    ("size", "units", "measured"), [((128, 96, 256), 4, 258_448), ((40, 57, 1671), 63, 211_402)]
)
def test_rocblas_kernels_are_measured_by_their_problem(
    root: Path, size: tuple[int, int, int], units: int, measured: int
) -> None:
    """Each of many kernels ran once or twice on gem5; one model has them all. Cycles of gem5 v23.0.1.0."""
    (root / "configs/site.yaml").write_text("products: rocblas\n")
    m, n, k = size
    head = HEAD.replace("softmax_fwd", "gemm") + f"release: v23.0\noptions: {{num-compute-units: {units}}}\n"
    layer = "layer: {{m: {}, n: {}, k: {}, transpose_a: false, transpose_b: false}}\n"
    row = run(root, head + layer.format(m, n, k)).iloc[0]
    assert row["unmeasured"] == ""
    assert row["gpu_cycles_low"] < measured < row["gpu_cycles_high"]
    assert row["gpu_cycles_high"] < 1.5 * row["gpu_cycles_low"]
    row = run(root, head + layer.format(50 * m, 50 * n, k)).iloc[0]
    assert "of Cijk_Ailk_Bljk_SB (measured" in row["unmeasured"]
