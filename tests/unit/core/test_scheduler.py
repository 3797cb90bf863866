"""Who ended a job: answers in the format of Slurm 22.05's scontrol and squeue, and recorded ones of sacct."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from places import DATA
from slurm_commands import says, silent

from apuflow.core.scheduler import Placement, end_of, living_jobs

JOB = "JobId=7 JobName=x JobState={} Reason={} Requeue=1 Restarts={} ExitCode={} RunTime=00:00:09 "
JOB += "TimeLimit=00:01:00 PreemptTime=None NodeList=node1 BatchHost=node1 MinMemoryNode=200M Power="


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return silent(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (("TIMEOUT", "TimeLimit", 0, "0:15"), "Slurm's time limit of 00:01:00 ended job 7"),
        (("CANCELLED", "None", 0, "0:15"), "job 7 was cancelled (scancel)"),
        (("OUT_OF_MEMORY", "OutOfMemory", 0, "0:125"), "Slurm's memory limit of 200M ended job 7"),
        (("NODE_FAIL", "NodeDown", 0, "0:0"), "node node1 of job 7 failed"),
        (("PREEMPTED", "Preempted", 0, "0:15"), "Slurm preempted job 7"),
        (("PENDING", "BeginTime", 1, "0:0"), "it waits to be started again"),
        (("RUNNING", "None", 0, "0:0"), None),
        (("PENDING", "Resources", 0, "0:0"), None),
        (("FAILED", "NonZeroExitCode", 0, "1:0"), "job 7 ended (FAILED, exit 1:0)"),
    ],
)
def test_the_end_of_a_job_is_told_in_words(slurm: Path, state: tuple[object, ...], said: str | None) -> None:
    says(slurm, "scontrol", JOB.format(*state))
    told = end_of("7")
    assert (told is None) if said is None else (told is not None and said in told)


def test_a_kill_near_the_memory_that_was_asked_for_was_for_the_memory(slurm: Path) -> None:
    """jobacct_gather kills the step: Slurm itself says no more than an exit by signal 9."""
    says(slurm, "scontrol", JOB.format("FAILED", "NonZeroExitCode", 0, "137:0"))
    assert end_of("7", 190 << 20) == "Slurm's memory limit of 200M ended job 7"
    assert end_of("7", 20 << 20) == "job 7 was killed (Slurm says NonZeroExitCode, exit 137:0)"


ACCOUNTED = {
    "time limit": "Slurm's time limit of 00:01:00 ended job 7",
    "memory": "Slurm's memory limit of 300M ended job 7",
    "scancel": "job 7 was cancelled (scancel by root)",
    "failed": "job 7 ended (FAILED, exit 3:0)",
    "node failure": "node node3 of job 7 failed",
    "preemption": "Slurm preempted job 7; it waits to be started again",
    "requeue": "job 7 was requeued (scontrol requeue); it waits to be started again",
}
"""What is said of the events of tests/slurm_accounting.py."""


@pytest.mark.parametrize("event", ACCOUNTED)
def test_a_job_that_the_controller_has_forgotten_is_asked_of_accounting(slurm: Path, event: str) -> None:
    recorded = json.loads((DATA / "slurm/accounting.json").read_text())
    says(slurm, "sacct", recorded[event])
    assert end_of("7", 280 << 20) == ACCOUNTED[event]
    says(slurm, "sacct", "")
    assert end_of("7") is None


@pytest.mark.parametrize(
    ("event", "why"),
    [
        ("preemption", "Slurm preempted job 7"),
        ("requeue", "job 7 was requeued (scontrol requeue)"),
        ("node failure, started again", "node node3 of job 7 failed"),
    ],
)
def test_accounting_tells_why_slurm_took_a_job_back(slurm: Path, event: str, why: str) -> None:
    """While its grace lasts, while it waits, and to the job that goes on with it."""
    recorded = json.loads((DATA / "slurm/accounting.json").read_text())
    says(slurm, "sacct", recorded[event])
    says(slurm, "scontrol", JOB.format("COMPLETING", "None", 1, "0:0"))
    assert Placement("7", "node1").stopped_by() == f"{why}: it will be started again"
    says(slurm, "scontrol", JOB.format("PENDING", "BeginTime", 1, "0:0"))
    assert end_of("7") == f"{why}; it waits to be started again"
    assert Placement("7", "node1", restarts=1).taken_back() == why


def test_where_accounting_does_not_answer_all_reasons_are_named(slurm: Path) -> None:
    """Nor where it has not yet heard of the end: it still shows the start as running."""
    for said in (None, "RUNNING|0:0|node1|00:05:00|300M\n"):
        says(slurm, "sacct", said)
        all_reasons = "Slurm had taken job 7 back (preemption, requeue or a node that failed)"
        assert Placement("7", "node1", restarts=1).taken_back() == all_reasons
        says(slurm, "scontrol", JOB.format("COMPLETING", "None", 1, "0:0"))
        stopped = Placement("7", "node1").stopped_by()
        assert stopped == "Slurm preempted or requeued job 7: it will be started again"


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (("COMPLETING", "TimeLimit", 0, "0:0"), "Slurm's time limit of 00:01:00 ended job 7"),
        (("COMPLETING", "None", 0, "0:0"), "job 7 was cancelled (scancel)"),
        (("COMPLETING", "None", 1, "0:0"), "Slurm preempted or requeued job 7: it will be started again"),
        (("RUNNING", "None", 0, "0:0"), None),
    ],
)
def test_who_stops_a_job_is_known_while_its_grace_lasts(
    slurm: Path, state: tuple[object, ...], said: str | None
) -> None:
    says(slurm, "scontrol", JOB.format(*state))
    assert Placement("7", "node1").stopped_by() == said


def test_where_there_is_no_scheduler_nothing_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Placement.here({}) == Placement()
    assert Placement().stopped_by() is None
    assert end_of("7") is None and end_of("") is None
    assert living_jobs() is None


def test_a_jobs_place_is_in_its_environment(slurm: Path) -> None:
    given = {"SLURM_JOB_ID": "7", "SLURMD_NODENAME": "node1", "SLURM_RESTART_COUNT": "2"}
    assert Placement.here(given) == Placement("7", "node1", 2)
    says(slurm, "squeue", "7\n8\n")
    assert living_jobs() == frozenset({"7", "8"})
