"""A whole launch from its first workgroups, on machines that are played here."""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from places import DATA

from apuflow.core.errors import AnalysisError
from apuflow.core.record import DispatchRecord, LaunchRecord
from apuflow.run.kernel_trace import parse_trace
from apuflow_analysis.counters.counters import Counters, counters
from apuflow_analysis.counters.extrapolate import CONFIDENCE, FLOOR, extrapolation, interval, told

LAUNCH = LaunchRecord(kernel="k", grid=(64 * 1000, 1, 1), workgroup=(64, 1, 1), ran=100)


def dispatch(held: int, *fillings: float) -> DispatchRecord:
    return DispatchRecord(
        name="k",
        grid=(64, 1, 1),
        workgroup=(64, 1, 1),
        arguments=0,
        submitted=0,
        held=held,
        fillings=fillings,
    )


def played(workgroups: int, held: int, lasts: Callable[[int], float]) -> tuple[DispatchRecord, float]:
    """A machine that gives the place of each workgroup that ends to the next, and when the last one ends."""
    head = "system.cpu3.gpu_cmd_proc"
    lines = [f"0: {head}: Task ID: 0 Got AQL: wg size (64x1x1), grid size (64x1x1) kernarg addr: 0x10, x"]
    running: list[float] = []
    now = 0.0
    for number in range(workgroups):
        if len(running) == held:
            now = heapq.heappop(running)
            lines.append(
                f"{round(now)}: {head}.dispatcher: WG Complete cycle:{round(now)} wg:0 kernel:0 cu:0"
            )
        lines.append(f"{round(now)}: system.cpu3: WG Begin cycle:{round(now)} wg:{number} cu:0")
        heapq.heappush(running, now + lasts(number))
    [found] = parse_trace(lines)
    return found, max(running)


def test_workgroups_that_follow_one_another_evenly() -> None:
    """10 at once, 1,000 ticks each but for the first ten: 900 left out of 1,000 take 90 fillings more."""
    ran, end = played(100, 10, lambda number: 1500 if number < 10 else 1000)
    _, whole = played(1000, 10, lambda number: 1500 if number < 10 else 1000)
    found = extrapolation(LAUNCH, ran)
    assert found is not None
    assert (end, found.ticks, whole) == (10_500, 90_000, 100_500)
    assert found.half_width == FLOOR * 90_000


def test_the_interval_comes_from_how_fillings_differ() -> None:
    """Fillings of 1000, 1100, 1200 and 1300 ticks: mean 1150, deviation 129.1, Student's t of three 3.182."""
    launch = LAUNCH.model_copy(update={"ran": 65})
    found = extrapolation(launch, dispatch(10, 0, 5000, 6000, 7100, 8300, 9600))
    assert found is not None
    assert found.ticks == pytest.approx(935 * 115)
    assert found.half_width == pytest.approx(935 * 3.1824 * 12.910 * math.sqrt(1.5) / 2, rel=1e-4)
    assert CONFIDENCE == 0.95


def test_the_first_layer_of_a_grid_is_cold() -> None:
    """25 workgroups along x: the ten from 30 on are the first that count."""
    launch = LaunchRecord(kernel="k", grid=(25 * 16, 640, 1), workgroup=(16, 16, 1), ran=75)
    found = extrapolation(launch, dispatch(10, 0, 5000, 10000, 12000, 13000, 14000, 15000))
    assert found is not None
    assert (launch.workgroups, launch.layer_workgroups) == (1000, 25)
    assert found.ticks == pytest.approx(925 * 3000 / 30)


@pytest.mark.parametrize("spread", [0.02, 0.1, 0.3, 0.5])
def test_the_interval_holds_what_the_whole_takes(spread: float) -> None:
    """Workgroups of independent, uneven length, a cold start, any seed."""
    inside = 0
    for seed in range(40):
        chance = random.Random(seed)
        lengths = [1000 * math.exp(chance.gauss(0, spread)) + (700 if n < 16 else 0) for n in range(1000)]
        ran, end = played(136, 16, lengths.__getitem__)
        _, whole = played(1000, 16, lengths.__getitem__)
        found = extrapolation(LAUNCH.model_copy(update={"ran": 136}), ran)
        assert found is not None
        inside += abs(end + found.ticks - whole) <= found.half_width
    assert inside >= 36


def test_nothing_takes_less_than_what_ran() -> None:
    """Two fillings of 100 and 900 ticks tell almost nothing: the interval would begin below zero."""
    ran = dispatch(10, 0, 500, 600, 1500)
    found = extrapolation(LAUNCH.model_copy(update={"ran": 45}), ran)
    assert found is not None and found.ticks == pytest.approx(955 * 50)
    low, high = interval([None, found], 2000 + found.ticks)
    assert low == pytest.approx(2000)
    assert high == pytest.approx(2000 + found.ticks + found.half_width)


def test_a_launch_that_ran_whole_is_left_alone() -> None:
    assert extrapolation(LAUNCH.model_copy(update={"ran": None}), None) is None


UNTRACED = [None, dispatch(10), dispatch(10, 0, 1, 2, 3), dispatch(50, 0, 1)]
"""No trace, nothing in it, fillings of too few workgroups, too few fillings."""


@pytest.mark.parametrize("traced", UNTRACED)
def test_without_a_trace_there_is_nothing_to_extrapolate_from(traced: DispatchRecord | None) -> None:
    with pytest.raises(AnalysisError, match="does not say when"):
        extrapolation(LAUNCH, traced)


def test_too_few_fillings_have_no_error() -> None:
    found = extrapolation(LAUNCH.model_copy(update={"ran": 35}), dispatch(10, 0, 9, 18))
    assert found is not None
    assert math.isinf(found.half_width)
    assert told([found], {"gpu_active_ticks": 1000.0}) == (
        "extrapolated from 35 of 1,000 workgroups, no error known"
    )


def test_counters_of_the_whole_launch() -> None:
    """A recorded run of 100 workgroups, as if it were a tenth of a launch that takes 2.5 times as long."""
    dump = counters(Path(DATA / "gem5_runs/stats/softmax_fwd-100x1000x1x1-u4.txt.xz"))
    ticks = dump["gpu_active_ticks"]
    found = extrapolation(LAUNCH, dispatch(10, *(ticks / 60 * number for number in range(10))))
    assert found is not None
    whole = found.of(dump)
    assert isinstance(whole, Counters) and set(whole) == set(dump)
    assert whole["workgroups"] == 1000 and whole["instructions"] == 10 * dump["instructions"]
    for name in ("gpu_active_ticks", "gpu_cycles", "cu_cycles", "slot_cycles"):
        assert whole[name] == pytest.approx(2.5 * dump[name], rel=1e-4), name
    assert whole["sim_ticks"] == pytest.approx(dump["sim_ticks"] + 1.5 * ticks, rel=1e-6)
    for name in ("host_seconds", "compute_units", "kernels_launched", "gpu_clock_ticks"):
        assert whole[name] == dump[name], name
    for name in ("stall_waitcnt", "tcp_hits", "tcc_reads", "l1_tlb_misses", "dram_bytes_read"):
        assert math.isnan(whole[name]), name
    assert told([found], whole) == "extrapolated from 100 of 1,000 workgroups, +- 6.0%"
