"""How points are divided into jobs, and what a job asks for."""

from __future__ import annotations

from plan_tasks import task

from apuflow.plan.schedule import batch_name, batch_sizes, divide, minutes


def test_points_of_a_second_share_jobs_of_the_wanted_length() -> None:
    """1.3 s each with what a run takes besides: 23 of them in 30 s."""
    batches = list(divide([task(number) for number in range(50)], 30.0))
    assert [len(batch) for batch in batches] == [23, 23, 4]
    assert [one.point.label for batch in batches for one in batch] == [f"u{number}" for number in range(50)]
    assert len(set(map(batch_name, batches))) == 3
    seconds = [one.seconds for one in batches[0]]
    assert minutes(seconds, 86400) == 2 + 10  # 4 times 29.9 s, and ten minutes to start
    assert list(batch_sizes([1.0] * 50, 30.0)) == [23, 23, 4]


def test_long_and_unknown_points_have_a_job_of_their_own() -> None:
    tasks = [task(1, seconds=None), task(2, seconds=20.0), task(3), task(4), task(5, seconds=3600.0)]
    assert [[one.point.label for one in batch] for batch in divide(tasks, 30.0)] == [["u3", "u4"]]
    assert list(divide(tasks, 0.0)) == []


def test_a_batch_has_no_runs_of_another_size() -> None:
    tasks = [task(1), task(2, memory_mb=4090), task(3, memory_mb=64000), task(4, memory_mb=65000)]
    assert [[one.memory_mb for one in batch] for batch in divide(tasks, 30.0)] == [
        [4000, 4090],
        [64000, 65000],
    ]


def test_a_scheduler_is_asked_for_several_times_the_estimate_and_for_the_wall_limit_at_most() -> None:
    assert minutes([59.7], 7 * 86400) == 4 + 10
    assert minutes([None], 5400) == 90 + 10
    assert minutes([5000], 5400) == 90 + 10
