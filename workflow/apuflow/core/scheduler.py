"""The scheduler that a job of ours runs under, and what it says of a job that was stopped or has ended.

Slurm alone: ``scontrol`` (jobs that its controller remembers), ``squeue``, and ``sacct`` where there is
accounting. Seen on Slurm 22.05 (``tests/faults/test_fault_slurm.py``, ``tests/slurm_accounting.py``).
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

_ANSWER_SECONDS = 10.0
_FACT = re.compile(r"(\w+)=(\S*)")
_KILLED = ("137:0", "0:9")
_NEAR_LIMIT = 0.7
_TAKEN_BACK = "Slurm had taken job {job} back (preemption, requeue or a node that failed)"
_ACCOUNTED = {
    "State": "JobState",
    "ExitCode": "ExitCode",
    "NodeList": "NodeList",
    "Timelimit": "TimeLimit",
    "ReqMem": "MinMemoryNode",
}
"""Fields of accounting, with the controller's names of them."""
_WAITING = ("PENDING", "REQUEUED", "REQUEUE_HOLD", "SUSPENDED")
_GOING = ("RUNNING", "COMPLETING", "CONFIGURING", "STOPPED", "SIGNALING")


@dataclass(frozen=True)
class Placement:
    """The job that this process belongs to; "" outside of Slurm. ``restarts``: starts before this one."""

    job: str = ""
    node: str = ""
    restarts: int = 0

    @classmethod
    def here(cls, environment: Mapping[str, str] = os.environ) -> Placement:
        """Of this process."""
        job = environment.get("SLURM_JOB_ID", "")
        if not job.isdigit():
            return cls()
        restarts = environment.get("SLURM_RESTART_COUNT", "0")
        node = environment.get("SLURMD_NODENAME", "")
        return cls(job, node, int(restarts) if restarts.isdigit() else 0)

    def stopped_by(self) -> str | None:
        """Who has just told this job to stop; None: no scheduler, or it does not say.

        While a job's grace lasts, the controller has no final state of it. A job that is to be queued again
        already counts one more start; one at its time limit has that as its reason.
        """
        facts = _controller(self.job)
        if facts is None or facts.get("JobState") == "RUNNING":
            return None
        if facts.get("Reason") == "TimeLimit" or facts.get("JobState") == "TIMEOUT":
            return _time_limit(self.job, facts)
        if facts.get("JobState") == "PREEMPTED" or facts.get("PreemptTime", "None") not in ("None", ""):
            return f"Slurm preempted job {self.job}"
        if int(facts.get("Restarts", "0")) > self.restarts:
            why = self._taken_back(self.restarts) or f"Slurm preempted or requeued job {self.job}"
            return f"{why}: it will be started again"
        return f"job {self.job} was cancelled (scancel)"

    def taken_back(self) -> str:
        """Why Slurm had taken this job back before it was started again."""
        return self._taken_back(self.restarts - 1) or _TAKEN_BACK.format(job=self.job)

    def _taken_back(self, start: int) -> str | None:
        """Why a start of this job was taken back; None: accounting does not say (yet)."""
        starts = _starts(self.job)
        return _why_taken_back(self.job, starts[start]) if 0 <= start < len(starts) else None


def end_of(job: str, memory_bytes: int | None = None) -> str | None:
    """Why a job is gone, in words; None: it is not gone, or nothing is known of it.

    ``memory_bytes`` are those of its run when it was last seen.
    """
    facts = _controller(job) or next(reversed(_starts(job)), None)
    if facts is None:
        return None
    state = facts.get("JobState", "")
    asked = _bytes(facts.get("MinMemoryNode", ""))
    near = memory_bytes is not None and asked is not None and memory_bytes > _NEAR_LIMIT * asked
    if state == "TIMEOUT":
        return _time_limit(job, facts)
    if state == "OUT_OF_MEMORY" or (state == "FAILED" and facts.get("ExitCode") in _KILLED and near):
        return f"Slurm's memory limit of {facts.get('MinMemoryNode') or 'unknown size'} ended job {job}"
    if state == "CANCELLED":
        by = next((start["By"] for start in _starts(job)[-1:]), "")  # the controller does not tell
        return f"job {job} was cancelled (scancel{by})"
    if state in _WAITING:
        known = filter(None, (_why_taken_back(job, start) for start in reversed(_starts(job))))
        why = next(known, _TAKEN_BACK.format(job=job) if int(facts.get("Restarts", "0")) else None)
        return why and f"{why}; it waits to be started again"
    if (why := _why_taken_back(job, facts)) is not None:
        return why
    if state == "FAILED" and facts.get("ExitCode") in _KILLED:
        return f"job {job} was killed (Slurm says {facts.get('Reason', 'FAILED')}, exit {facts['ExitCode']})"
    if state in _GOING:
        return None
    return f"job {job} ended ({state}, exit {facts.get('ExitCode', '?')})"


def living_jobs() -> frozenset[str] | None:
    """Numbers of the jobs that wait or run; None where nobody can be asked."""
    said = ask("squeue", "--noheader", "--format=%A")
    return None if said is None else frozenset(said.split())


def _time_limit(job: str, facts: Mapping[str, str]) -> str:
    return f"Slurm's time limit of {facts.get('TimeLimit', 'unknown length')} ended job {job}"


def _controller(job: str) -> dict[str, str] | None:
    """What the controller remembers of a job."""
    said = ask("scontrol", "--oneliner", "show", "job", job) if job.isdigit() else None
    return dict(_FACT.findall(said)) if said and "JobState=" in said else None


def _starts(job: str) -> list[dict[str, str]]:
    """What accounting says of each start of a job, the first one first, under the controller's names.

    A job that waits for its next start may have an entry for that, too.
    """
    question = ("sacct", "-X", "-D", "-n", "-P", "-j", job, "-o", ",".join(_ACCOUNTED))
    said = ask(*question) if job.isdigit() else None
    answers = [line.split("|") for line in (said or "").splitlines()]
    starts = [dict(zip(_ACCOUNTED.values(), a, strict=True)) for a in answers if len(a) == len(_ACCOUNTED)]
    for start in starts:
        start["JobState"], _, by = start["JobState"].partition(" by ")
        start["By"] = f" by {user_name(by)}" if by else ""
    return starts


def user_name(number: str | int) -> str:
    """A user's name; the number where it has none here."""
    try:
        return pwd.getpwuid(int(number)).pw_name
    except (KeyError, ValueError):
        return str(number)


def _why_taken_back(job: str, facts: Mapping[str, str]) -> str | None:
    """Why a start of a job ended that may have others after it; None: it ended otherwise, or has not."""
    state = facts.get("JobState", "")
    if state in ("NODE_FAIL", "BOOT_FAIL"):
        return f"node {facts.get('NodeList') or '?'} of job {job} failed"
    return {
        "PREEMPTED": f"Slurm preempted job {job}",
        "REQUEUED": f"job {job} was requeued (scontrol requeue)",
    }.get(state)


def ask(*command: str) -> str | None:
    """What a command of the scheduler prints; None: it is not here, fails, or does not answer."""
    if shutil.which(command[0]) is None:
        return None
    no = subprocess.DEVNULL
    try:
        return subprocess.check_output(command, stdin=no, stderr=no, text=True, timeout=_ANSWER_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return None


def _bytes(text: str) -> int | None:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)n?", text)
    return int(float(match[1]) * 1024 ** ("KMGT".index(match[2]) + 1 if match[2] else 2)) if match else None
