"""How far the preview is off: errors, ranks, ordered pairs."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from apuflow.core.errors import ConfigError
from apuflow.study.score import (
    measured_error,
    ordered_pairs,
    plateau_ranks,
    rank_correlation,
    read_runs,
    read_tables,
    recorded,
    report,
    score,
    summary,
)

RUNS = recorded()[0]


def test_score_reports_every_primitive() -> None:
    found = report(score(read_runs(RUNS)))
    numbers = {"median_error", "p90_error", "rank_correlation", "ordered_share", "ordered_pairs", "runs"}
    assert set(found) == {*numbers, "primitives"}
    assert found["runs"] == 137
    assert set(found["primitives"]["softmax_fwd"]) == numbers
    assert sum(part["runs"] for part in found["primitives"].values()) == 137


def test_unknown_primitives_are_listed_as_refused(tmp_path: Path) -> None:
    frame = pd.read_csv(RUNS, dtype=str)
    frame.loc[0, ["primitive", "kernel"]] = ["winograd_fwd", "Winograd"]
    file = tmp_path / "runs.csv"
    frame.to_csv(file, index=False)
    scored = score(read_runs(file))
    assert len(scored.frame) == 136
    assert [name.split(":")[0] for name in scored.refused] == ["winograd_fwd"]


def test_a_table_without_columns_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "runs.csv"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(ConfigError, match="gpu_cycles"):
        read_runs(file)
    with pytest.raises(ConfigError, match="cannot read"):
        read_runs(tmp_path / "absent.csv")


def test_rank_correlation_follows_cu_sweeps_only() -> None:
    rows = [("a", 1, 400, 500), ("a", 4, 200, 300), ("a", 16, 100, 150), ("b", 4, 10, 99)]
    frame = pd.DataFrame(rows, columns=["kernel", "num_compute_units", "gpu_cycles", "predicted"])
    assert rank_correlation(frame) == pytest.approx(1.0)
    frame.loc[1, "predicted"] = 600
    assert rank_correlation(frame) == pytest.approx(0.5)


def test_pairs_that_gem5_tells_apart_are_ordered_or_not() -> None:
    """In "a", 4 units are told apart from 1, 16 and 64, and 16 from 64; 1 is within 10 % of both.

    The model has 1-4 and 16-64 right, 4-16 equal and 4-64 wrong. "b" has two numbers only:
    no sweep.
    """
    rows = [
        ("a", 1, 220, 220), ("a", 4, 400, 300), ("a", 16, 200, 300), ("a", 64, 240, 310),
        ("b", 1, 500, 400), ("b", 4, 100, 100),
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["kernel", "num_compute_units", "gpu_cycles", "predicted"])
    frame["error"] = frame["predicted"] / frame["gpu_cycles"] - 1.0
    assert ordered_pairs(frame) == (2, 4)
    found = summary(frame)
    assert (found["ordered_share"], found["ordered_pairs"]) == (0.5, 4)
    nothing = summary(frame[frame["kernel"] == "b"])
    assert (nothing["ordered_share"], nothing["ordered_pairs"]) == (None, 0)


def test_times_on_a_plateau_share_a_rank() -> None:
    # 96 and 100 are within 5 % of 96; 102 is not.
    assert plateau_ranks([400.0, 100.0, 96.0, 102.0]) == [3.0, 0.5, 0.5, 2.0]


def test_the_goals_hold_on_the_recorded_runs() -> None:
    found = report(score(read_runs(RUNS)))
    assert found["median_error"] <= 0.10
    assert found["p90_error"] <= 0.25


def test_the_previews_error_is_the_one_that_score_prints() -> None:
    text = measured_error()
    found = summary(score(read_tables(recorded())).frame)
    numbers = [float(number) for number in re.findall(r"(\d+\.\d) %", text)]
    assert numbers == pytest.approx([100 * found["median_error"], 100 * found["p90_error"]], abs=0.06)
    assert f"{found['runs']} runs of real gem5" in text
