"""When a running job has to stop: our own signals, its wall limit, or the death of the workflow."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType, TracebackType

from apuflow.containers.base import Limits
from apuflow.containers.identity import workflow_owner


class StopWatch:
    """Collects the reasons to stop one job. Use as a context manager around its run.

    SIGINT and SIGTERM are taken over while it is active (in the main thread only), so that the caller can end
    the job before it ends itself; the old handlers come back afterwards.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.started = time.monotonic()
        self.reason: str | None = None
        self._asked: float | None = None
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

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.reason is not None and self._asked is not None:
            self._impatient = True
        self.reason = self.reason or "interrupt"

    @property
    def seconds(self) -> float:
        """Wall time since the start."""
        return time.monotonic() - self.started

    def should_ask(self) -> bool:
        """True once: the job has to be asked to stop now (the reason is in ``reason``)."""
        if self.reason is None:
            if self.limits.wall_seconds is not None and self.seconds >= self.limits.wall_seconds:
                self.reason = "wall"
            elif self._workflow_is_gone():
                self.reason = "abandoned"
        if self.reason is None or self._asked is not None:
            return False
        self._asked = time.monotonic()
        return True

    def should_kill(self) -> bool:
        """The job was asked and its grace is over (a second signal to us ends the grace)."""
        if self._asked is None:
            return False
        return self._impatient or time.monotonic() - self._asked >= self.limits.grace_seconds

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
