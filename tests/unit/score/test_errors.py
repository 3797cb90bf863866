"""How far the preview is off: errors, ranks, ordered pairs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from apuflow.core.errors import ConfigError
from apuflow.score import errors as module
from apuflow.score.errors import (
    Scored,
    folds,
    measured_error,
    ordered_pairs,
    point_errors,
    random_layers,
    read_runs,
    recorded,
    report,
    score,
    summary,
    sweeps,
)

RUNS = recorded()[0]


def test_score_reports_every_primitive() -> None:
    found = report(score(read_runs(RUNS)))
    errors = {"median_error", "mean_error", "p90_error", "max_error"}
    numbers = {*errors, "ordered_share", "ordered_pairs", "runs"}
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


def test_a_point_is_all_passes_of_its_kernels() -> None:
    """110 + 2 x 300 for 100 + 2 x 200; the other point has one kernel."""
    frame = pd.DataFrame(
        {
            "point": ["a", "a", "b"],
            "primitive": "gemm",
            "num_compute_units": 4,
            "gpu_cycles": ["100", "200", "1000"],
            "predicted": [110.0, 300.0, 900.0],
            "passes": [1, 2, 1],
        }
    )
    frame["error"] = [0.1, 0.5, -0.1]
    assert point_errors(frame).to_dict() == pytest.approx({"a": 0.42, "b": -0.1})
    found = report(Scored(frame, {}))
    assert (found["points"]["runs"], found["points"]["max_error"]) == (2, pytest.approx(0.42))
    assert "points" not in report(Scored(frame[1:], {}))


def test_the_previews_error_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five runs with errors of 10, 20, 30, 50 and 50 %: the middle one is 30 %, nine tenths lie within 50 %.

    Their mean is 160 / 5 = 32 %. The softmax runs are one sweep in the measured order, three pairs. Nine
    tenths of its three errors: 20 + 0.8 * 10 %.
    """
    rows = [
        ("softmax_fwd", "a", 1, 1000, 1100), ("softmax_fwd", "a", 4, 500, 400),
        ("softmax_fwd", "a", 16, 250, 325), ("relu_fwd", "b", 1, 100, 150), ("relu_fwd", "b", 4, 200, 100),
    ]  # fmt: skip
    columns = ["primitive", "kernel", "num_compute_units", "gpu_cycles", "predicted"]
    frame = pd.DataFrame(rows, columns=columns)
    frame["error"] = [0.1, -0.2, 0.3, 0.5, -0.5]
    monkeypatch.setattr(module, "score", lambda _: module.Scored(frame, {"winograd_fwd: unknown": 2}))
    text = measured_error()
    short, full, primitives = text.splitlines()
    assert short.startswith(
        "Cycles 30.0 % off in the median, 50.0 % at the 90th percentile of 5 gem5 runs; of "
    )
    assert "32.0 % in the mean, 50 % at most" in full
    assert "along a sweep of compute units, 100.0 % are in its order" in full
    assert "2 further runs it does not model." in full
    assert "relu_fwd 50/50, softmax_fwd 20/28 " in primitives


def test_a_recorded_run_is_scored_by_trees_that_have_not_seen_its_layer() -> None:
    """Whatever the machine; a layer from which nothing was learned, by all of them."""
    drawn = read_runs(random_layers())
    parts = folds(drawn)
    unseen = drawn["draw"].isin([str(number) for number in range(24, 29)]).to_numpy()
    assert set(parts[~unseen]) == {0, 1, 2, 3, 4}
    assert (parts[unseen] == -1).mean() > 0.95  # a small layer may be drawn twice
    seen = drawn[~unseen].assign(part=parts[~unseen])
    assert seen.groupby(["primitive", "direction", "config", "kernel"])["part"].nunique().max() == 1


@pytest.mark.parametrize("option", ["TCP_latency", "mandatory_queue_latency", "cpu_to_dir_latency"])
def test_runs_that_differ_in_an_option_which_the_model_leaves_out_are_no_sweep(option: str) -> None:
    """On gem5 it changes their cycles: they say nothing of more compute units."""
    rows = pd.DataFrame({"num_compute_units": ["1", "2", "4"], option: ["4", "4", "4"]})
    assert len(list(sweeps(rows))) == 1
    assert not list(sweeps(rows.assign(**{option: ["4", "4", "8"]})))
