"""What every container engine takes and gives: a job, its exit, and nothing engine-specific.

When a running job has to stop: our own signals, its wall limit, or the death of the workflow.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, TracebackType
from typing import Protocol

from apuflow.containers.shared_start import SharedStart
from apuflow.core.owner import Labels, workflow_owner


@dataclass(frozen=True)
class Mount:
    """A directory or file of the host, visible at the same absolute path inside."""

    path: Path
    writable: bool = False


@dataclass(frozen=True)
class Limits:
    """How much a job may take and how it is told to stop.

    Attributes:
        memory_bytes: the job is killed above this and its exit says ``oom_killed``; None: no limit.
        cpus: CPU share in cores; None: no limit. Only Docker and Podman enforce it.
        wall_seconds: after this the job is told to stop, then killed; None: no limit.
        stop_signal: the signal that tells it (gem5 ends cleanly and writes its statistics on SIGINT).
        grace_seconds: from asking to killing.
    """

    memory_bytes: int | None = None
    cpus: float | None = None
    wall_seconds: float | None = None
    stop_signal: signal.Signals = signal.SIGINT
    grace_seconds: float = 30.0


@dataclass(frozen=True)
class Sample:
    """What can be seen of a running job."""

    seconds: float
    memory_bytes: int | None


@dataclass(frozen=True)
class Job:
    """One command in one container (or on the host).

    Attributes:
        command: argument vector; never passed through a shell.
        image: what the engine runs: an image name, digest or ``.sif`` path; None for the host engine.
        cwd: working directory, the same inside and outside; must lie in a mount.
        home: HOME inside; made when missing.
        env: added to the image's environment (the host engine starts from a small fixed one).
        log: standard output and error of the job are appended here while it runs.
        labels: whose job it is; what a later start uses to find leftovers.
        network: False: no network at all.
        on_sample: called about every ``sample_seconds`` while the job runs.
        shared: what it has in common with other jobs, of which one process can do it for all; engines that
            cannot do that run ``command``.
    """

    command: tuple[str, ...]
    cwd: Path
    home: Path
    log: Path
    labels: Labels
    image: str | None = None
    mounts: tuple[Mount, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    network: bool = False
    on_sample: Callable[[Sample], None] | None = None
    sample_seconds: float = 2.0
    shared: SharedStart | None = None

    def environment(self) -> dict[str, str]:
        """The variables set inside: the job's own, HOME, and a user name for uids without a passwd entry."""
        return {
            "USER": "apuflow",
            "LOGNAME": "apuflow",
            "LC_ALL": "C.UTF-8",
            **self.env,
            "HOME": str(self.home),
        }


@dataclass(frozen=True)
class Exit:
    """How a job ended.

    Attributes:
        code: exit status as a shell shows it: 0..255, 128 + n when signal n ended it.
        signal: the signal that ended the process, where known.
        oom_killed: the memory limit, or the host's lack of memory, ended it.
        peak_memory_bytes: highest memory seen, or None.
        seconds: wall time from start to end.
        stopped: why *we* told it to stop: "wall", "interrupt" (SIGINT or SIGTERM reached us),
            "abandoned" (the workflow that owns us is gone), "engine" (the engine went away); None: it ended
            by itself.
    """

    code: int
    signal: int | None = None
    oom_killed: bool = False
    peak_memory_bytes: int | None = None
    seconds: float = 0.0
    stopped: str | None = None


class ContainerEngine(Protocol):
    """A way to run jobs."""

    name: str

    def check(self) -> None:
        """Raise EngineError, with the fix, when jobs cannot run here now."""

    def run(self, job: Job) -> Exit:
        """Run a job to its end, whatever that is. EngineError only when it could not be started."""

    def remove_leftovers(self, project: Path) -> list[str]:
        """End jobs of this project directory whose owner process is dead; return what was removed."""


def caller() -> tuple[int, int]:
    """User and group (uid, gid) that files of a job shall have."""
    return os.getuid(), os.getgid()


def shell_code(returncode: int) -> tuple[int, int | None]:
    """Exit status and signal from a ``subprocess`` return code (negative: ended by that signal)."""
    return (128 - returncode, -returncode) if returncode < 0 else (returncode, None)


class StopWatch:
    """Collects the reasons to stop one job. Use as a context manager around its run.

    SIGINT and SIGTERM are taken over while it is active (in the main thread only), so that the caller can end
    the job before it ends itself; the old handlers come back afterwards.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.started = time.monotonic()
        self.reason: str | None = None
        self._stop_time: float | None = None
        self._impatient = False
        self._previous: dict[signal.Signals, signal._HANDLER] = {}
        self._workflow = workflow_owner()
        self._workflow_checked = self.started

    def __enter__(self) -> StopWatch:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._previous[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self.reason is not None and self._stop_time is not None:
            self._impatient = True
        self.reason = self.reason or "interrupt"

    @property
    def seconds(self) -> float:
        """Wall time since the start."""
        return time.monotonic() - self.started

    def should_ask(self) -> bool:
        """True once: the job has to be told to stop now (the reason is in ``reason``)."""
        if self.reason is None:
            if self.limits.wall_seconds is not None and self.seconds >= self.limits.wall_seconds:
                self.reason = "wall"
            elif self._workflow_is_gone():
                self.reason = "abandoned"
        if self.reason is None or self._stop_time is not None:
            return False
        self._stop_time = time.monotonic()
        return True

    def should_kill(self) -> bool:
        """The job was told to stop and its grace is over (a second signal to us ends the grace)."""
        if self._stop_time is None:
            return False
        return self._impatient or time.monotonic() - self._stop_time >= self.limits.grace_seconds

    def _workflow_is_gone(self) -> bool:
        now = time.monotonic()
        if self._workflow is None or now - self._workflow_checked < 1.0:
            return False
        self._workflow_checked = now
        return self._workflow.is_dead()


def intervals(first: float = 0.01, last: float = 0.25, growth: float = 1.3) -> list[float]:
    """Waiting times between looks at a job: short jobs are noticed at once, long ones cost nothing."""
    steps = [first]
    while steps[-1] < last:
        steps.append(min(last, steps[-1] * growth))
    return steps
