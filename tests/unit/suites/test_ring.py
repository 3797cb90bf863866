"""All-reduce and epochs, reckoned by hand and beside DeepBench's anchors."""

from __future__ import annotations

import math

import pytest

from apuflow.core.errors import ConfigError
from apuflow.suites.epoch import DATASETS, ParallelIteration, Ring, epoch


def test_a_ring_moves_each_part_twice_around() -> None:
    # 4 devices, 400 bytes, 100 bytes a step: 6 steps of 1 s + 0.5 s latency, and 3 sums of 100 bytes at 50/s
    assert Ring(4, 100, 0.5, 50).seconds(400) == 6 * 1.5 + 3 * 2
    assert Ring(4, 100).bus_bandwidth(400) == 100
    assert Ring(1, 100).seconds(400) == 0


def test_time_of_a_long_message_hardly_grows_with_the_ring() -> None:
    # 16,777,216 floats of DeepBench: a ring is below twice the time of two devices, whatever its length
    size = 4 * 16_777_216
    times = [Ring(devices, 12.5e9).seconds(size) for devices in (2, 8, 16, 32)]
    assert times == sorted(times)
    assert times[-1] < 2 * times[0]
    assert times[1] == pytest.approx(2 * 7 / 8 * size / 12.5e9)


def test_overlap_hides_the_shorter_of_backward_pass_and_communication() -> None:
    one = ParallelIteration(1, 2, 0.5, 1.5)
    assert (one.apart, one.overlapped) == (5, 3.5)
    assert ParallelIteration(1, 2, 0.5, 3).overlapped == 4.5


def test_an_epoch_ends_with_an_iteration_that_is_not_full() -> None:
    # ImageNet at 64 on each of 8 devices: 1,281,167 / 512 = 2,502.3
    found = epoch(DATASETS["imagenet"].train, 64, 8, 0.5, 24.0)
    assert found.iterations == 2503
    assert found.seconds == 2503 * 0.5
    assert found.cost == pytest.approx(2503 * 0.5 / 3600 * 24)


@pytest.mark.parametrize("wrong", [(0, 1e9, 0), (2, 0, 0), (2, 1e9, -1), (2, 1e9, math.inf)])
def test_numbers_that_make_no_sense_are_refused(wrong: tuple[int, float, float]) -> None:
    with pytest.raises(ConfigError):
        Ring(*wrong)
    with pytest.raises(ConfigError):
        epoch(10, 1, 0, 1.0)
    with pytest.raises(ConfigError):
        epoch(10, 1, 1, math.nan)
