"""The machine, the queueing network and the score of the preview."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from apuflow.configure import option_rules
from apuflow.core.errors import ConfigError, NotModelled
from apuflow.preview.machine import machine
from apuflow.preview.queueing import STATIONS, SYNCHRONOUS, solve
from apuflow.study.score import (
    ordered_pairs,
    plateau_ranks,
    rank_correlation,
    read_runs,
    recorded,
    report,
    score,
    summary,
)

RUNS = recorded()[0]
DEFAULTS = option_rules.defaults("v23.0")


def test_clocks_and_sizes() -> None:
    built = machine({"gpu-clock": "500MHz", "tcp-size": "8kB", "tcc-size": "1048576"}, DEFAULTS)
    assert (built.gpu_ns, built.ruby_ns) == (2.0, 0.5)
    assert (built.tcp_bytes, built.tcc_bytes) == (8192, 1 << 20)
    for key, value in (("gpu-clock", "fast"), ("gpu-clock", "0GHz"), ("tcc-size", "big"), ("l2_size", "0")):
        with pytest.raises(ConfigError, match=key):
            machine({key: value}, DEFAULTS)


def test_bw_scalor_widens_links_and_sizes_the_tcc() -> None:
    plain = machine({"num-compute-units": 8, "tcc-size": "256kB"}, DEFAULTS)
    wide = machine({"num-compute-units": 8, "bw-scalor": 1, "tcc-size": "256kB"}, DEFAULTS)
    assert (plain.link_bytes, plain.tcc_bytes) == (8, 256 * 1024)
    assert (wide.link_bytes, wide.tcc_bytes) == (128, 8 * 128 * 1024)


@pytest.mark.parametrize(
    ("key", "value"), [("dgpu", True), ("WB_L2", True), ("mem-type", "HBM_1000_4H_1x64")]
)
def test_unknown_mechanisms_are_refused_by_name(key: str, value: object) -> None:
    with pytest.raises(NotModelled, match=key):
        machine({key: value}, DEFAULTS)  # type: ignore[dict-item]


def _residence(demand: float, station: str, delay: float, local: float, overall: float) -> float:
    demands = np.zeros((1, len(STATIONS)))
    demands[0, STATIONS.index(station)] = demand
    own = np.where(SYNCHRONOUS, demands, 0.0)
    time, _, _ = solve(demands, own, np.array([delay]), np.array([local]), np.array([overall]))
    return float(time[0])


def test_one_wavefront_only_sees_latency() -> None:
    assert _residence(100.0, "salu", 300.0, 1.0, 1.0) == pytest.approx(400.0, rel=1e-6)


def test_what_is_left_behind_does_not_hold_up_a_lone_wavefront() -> None:
    assert _residence(100.0, "tokens", 300.0, 1.0, 1.0) == pytest.approx(300.0, rel=1e-6)


def test_many_wavefronts_wait_for_the_station() -> None:
    # 40 wavefronts, 100 ns each on the one scalar ALU: a round takes 4000 ns whatever the latency.
    assert _residence(100.0, "salu", 300.0, 40.0, 40.0) == pytest.approx(4000.0, rel=0.05)


def test_a_station_of_the_compute_unit_is_not_shared() -> None:
    # 16 wavefronts in each of 8 compute units.
    assert _residence(100.0, "salu", 0.0, 16.0, 128.0) == pytest.approx(1600.0, rel=0.01)
    assert _residence(100.0, "dram", 0.0, 16.0, 128.0) == pytest.approx(12800.0, rel=0.01)


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
