"""What all container engines share: a job, its exit, and when a running job must stop."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Protocol

from apuflow.containers.shared_start import SharedStart
from apuflow.core.errors import EngineError
from apuflow.core.owner import Labels, workflow_owner


@dataclass(frozen=True)
class Mount:
    """A directory or file of the host, visible at the same absolute path inside."""

    path: Path
    writable: bool = False


@dataclass(frozen=True)
class Limits:
    """Limits of a job and how it is stopped; None: no limit.

    Attributes:
        memory_bytes: the job is killed above this (``Exit.oom_killed``).
        wall_seconds: after this the job is stopped, then killed.
        stop_signal: the signal to stop (on SIGINT gem5 ends cleanly and writes its statistics).
        grace_seconds: from ``stop_signal`` to SIGKILL.
    """

    memory_bytes: int | None = None
    wall_seconds: float | None = None
    stop_signal: signal.Signals = signal.SIGINT
    grace_seconds: float = 30.0


@dataclass(frozen=True)
class Sample:
    """Measurements of a running job."""

    seconds: float
    memory_bytes: int | None


@dataclass(frozen=True)
class Job:
    """One command in one container without network (or on the host).

    Attributes:
        command: argument vector; never passed through a shell.
        image: image name, digest or ``.sif`` path; None for the host engine.
        cwd: working directory, equal inside and outside; must lie in a mount.
        env: added to the image's environment (the host engine starts from a small fixed one).
        log: file to which standard output and error are appended.
        labels: owner of the job, by which a later start finds leftovers.
        on_sample: called about every ``sample_seconds`` while the job runs.
        shared: a start shared with other jobs, which one process does for all, if the engine can.
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
    on_sample: Callable[[Sample], None] | None = None
    sample_seconds: float = 2.0
    shared: SharedStart | None = None

    def environment(self) -> dict[str, str]:
        """Variables set inside: the job's, HOME, and a user name for uids without a passwd entry."""
        names = {"USER": "apuflow", "LOGNAME": "apuflow", "LC_ALL": "C.UTF-8"}
        return {**names, **self.env, "HOME": str(self.home)}


@dataclass(frozen=True)
class Exit:
    """How a job ended.

    Attributes:
        code: exit status as in a shell: 0..255, 128 + n if signal n ended it.
        signal: the signal that ended the process, if known.
        oom_killed: the memory limit, or lack of memory on the host, ended it.
        stopped: why apuflow stopped it: "wall", "interrupt" (SIGINT or SIGTERM), "abandoned" (the workflow is
        gone), "engine" (the engine is gone); None: it ended by itself.
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
        """Raise EngineError, with the fix, if jobs cannot run here."""

    def run(self, job: Job) -> Exit:
        """Run a job to its end. Raises EngineError only if it cannot start."""

    def remove_leftovers(self, project: Path) -> list[str]:
        """End jobs of this project directory's dead owners; return a line for each."""


def needs_image(engine: str) -> EngineError:
    """The error of a job without an image."""
    remedy = "name one under image in configs/site.yaml"
    return EngineError(f"the {engine} engine needs an image", key="image", remedy=remedy)


class StopWatch:
    """Context manager around a job's run that collects reasons to stop it.

    They are signals to this process, the wall limit and the death of the workflow. In the main thread it
    handles SIGINT and SIGTERM meanwhile, so that the job ends before the caller.
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

    def __exit__(self, *_: object) -> None:
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

    def should_stop(self) -> bool:
        """True once, when the job must be stopped (for ``reason``)."""
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
        """Whether the grace after the stop is over; a second signal to this process ends it."""
        if self._stop_time is None:
            return False
        return self._impatient or time.monotonic() - self._stop_time >= self.limits.grace_seconds

    def _workflow_is_gone(self) -> bool:
        now = time.monotonic()
        if self._workflow is None or now - self._workflow_checked < 1.0:
            return False
        self._workflow_checked = now
        return self._workflow.is_dead()


def intervals() -> Iterator[float]:
    """Waiting times between checks of a job in seconds, which grow with its length, without end."""
    wait = 0.01
    while True:
        yield wait
        wait = min(0.25, wait * 1.3)
