"""The order of simulations: the longest first, within the memory, by Snakemake's own scheduler."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from places import ROOT
from schedules import Run, bound, makespan, recorded_runs

from apuflow.core import paths
from apuflow.engines import estimate
from apuflow.plan import schedule
from apuflow.plan.campaign import Campaign
from apuflow.plan.runs import Runs


@pytest.mark.parametrize(("cores", "memory_mb"), [(2, 4000), (4, 6000), (8, 16000), (16, 16000)])
def test_a_mixed_sweep_ends_at_most_a_tenth_after_the_bound(cores: int, memory_mb: int) -> None:
    runs = recorded_runs()
    assert len(runs) == 137
    assert makespan(runs, cores, memory_mb) <= 1.1 * bound(runs, cores, memory_mb)


def test_the_longest_is_not_left_for_the_end() -> None:
    """By hand: 8 runs of 1 s and one of 8 s on two cores take 8 s, and 12 s when the long one comes last."""
    lengths = [1.0] * 8 + [8.0]
    planned = [Run(each, 100, schedule.priority(each)) for each in lengths]
    assert makespan(planned, 2, 1000) == 8.0
    by_chance = [Run(each, 100, 0.0) for each in lengths]
    assert makespan(by_chance, 2, 1000) == 12.0


def test_memory_limits_how_many_run_at_a_time() -> None:
    """By hand: three runs of 600 MB fit into 1000 MB one at a time, a small one beside them."""
    runs = [Run(10, 600, schedule.priority(10)) for _ in range(3)] + [Run(30, 300, schedule.priority(30))]
    assert makespan(runs, 8, 1000) == 30.0
    assert makespan(runs, 8, 2100) == 30.0 and makespan(runs[:3], 8, 1000) == 30.0


def test_preparations_go_before_runs_and_the_unknown_before_the_known() -> None:
    first, second, third, last = (schedule.priority(each) for each in (None, 1e6, 10.0, 0.0))
    assert 0 > first > second > third > last >= -1


def test_short_runs_of_one_machine_follow_one_another_where_they_share_a_start() -> None:
    runs = [(machine, seconds) for seconds in (5.0, 9.0, 30.0, 59.0, 600.0) for machine in ("4", "16", "64")]
    order = sorted(runs, key=lambda run: schedule.priority(run[1], run[0]), reverse=True)
    assert [seconds for _, seconds in order[:3]] == [600.0] * 3
    machines = [machine for machine, _ in order[3:]]
    assert sum(one != other for one, other in pairwise(machines)) == 2
    assert [seconds for _, seconds in order[3:]] == [59.0, 30.0, 9.0, 5.0] * 3


def test_points_share_a_start_where_the_site_says_so(root: Path) -> None:
    def order() -> list[int]:
        campaign = Campaign(root)
        inputs = Runs(campaign)
        inputs.memory_mb = 8_000
        points = [
            point
            for workload in ("softmax_fwd", "softmax_bwd", "bypass_fwd")
            for point in campaign.points("cu_scaling_kernels", workload)
            if point.engine == "gem5-kernels"
        ]
        of = {"engine": "gem5-kernels"}
        points.sort(
            key=lambda p: inputs.priority(of | {"workload": p.workload, "point": p.id}),
            reverse=True,
        )
        return [int(point.options["num-compute-units"]) for point in points]

    (root / "configs/site.yaml").write_text("container: host\nshared_start: false\n")
    apart = order()
    (root / "configs/site.yaml").write_text("container: host\nshared_start: true\n")
    together = order()
    changes = [sum(one != other for one, other in pairwise(each)) for each in (apart, together)]
    assert changes[1] < changes[0] and sorted(apart) == sorted(together)


def test_points_are_ordered_and_packed_by_what_they_are_expected_to_take(clang: object) -> None:
    campaign = Campaign(ROOT)
    points = [p for p in campaign.points("cu_scaling_kernels", "softmax_fwd") if p.engine == "gem5-kernels"]
    wildcards = [{"engine": p.engine, "workload": p.workload, "point": p.id} for p in points]
    inputs = Runs(campaign)
    assert {inputs.priority(each) for each in wildcards} == {0.0}
    inputs.memory_mb = 1_000
    seconds = estimate.from_preview(points)
    priorities = [inputs.priority(each) for each in wildcards]
    assert sorted(range(len(points)), key=priorities.__getitem__) == sorted(
        range(len(points)), key=seconds.__getitem__
    )
    expected = [inputs.expected_memory(each) for each in wildcards]
    assert max(expected) == 1_000 and min(expected) < 1_000
    assert all(mb <= inputs.job_memory(each) for mb, each in zip(expected, wildcards, strict=True))


@pytest.mark.usefixtures("clang")
def test_what_the_longest_run_reads_is_made_first() -> None:
    """So it starts when its own kernels are there: a sweep of 1,000 points has hundreds of them."""
    campaign = Campaign(ROOT)
    points = campaign.points("random_layers", "conv_bwd", "gem5-kernels")
    inputs = Runs(campaign)
    inputs.memory_mb = 16_000
    pattern = paths.kernel_object()
    needed: dict[str, list[float]] = {}
    for point in points:
        wildcards = {"engine": point.engine, "workload": point.workload, "point": point.id}
        for file in filter(paths.matcher(pattern).fullmatch, inputs.job_inputs(wildcards)["needs"]):
            needed.setdefault(file, []).append(inputs.priority(wildcards))
    assert len({max(each) for each in needed.values()}) > 1
    for file, runs in needed.items():
        _, gfx, name = file.rsplit("/", 2)
        wildcards = {"gfx": gfx, "object": name.removesuffix(".o")}
        assert pattern.format(**wildcards) == file
        assert inputs.input_priority(pattern)(wildcards) == max(runs)


def test_available_memory_is_the_systems_own_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "meminfo"
    monkeypatch.setattr(schedule, "_MEMINFO", file)
    file.write_text("MemTotal:       24000000 kB\nMemAvailable:   12288000 kB\n")
    assert schedule.available_memory_mb() == 12000
    file.unlink()
    assert schedule.available_memory_mb() > 0
