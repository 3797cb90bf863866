"""The queueing network of the preview."""

from __future__ import annotations

import numpy as np
import pytest

from apuflow.preview.queueing import STATIONS, SYNCHRONOUS, solve


def _residence(demand: float, station: str, delay: float, local: float, overall: float) -> float:
    demands = np.zeros((1, len(STATIONS)))
    demands[0, STATIONS.index(station)] = demand
    own = np.where(SYNCHRONOUS, demands, 0.0)
    time, _ = solve(demands, own, np.array([delay]), np.array([local]), np.array([overall]))
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
