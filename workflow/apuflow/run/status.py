"""Where all runs of a project stand: read from their directories alone, while they run and after.

A run that goes on says how far it is in ``progress.json`` of its directory.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError

from apuflow.core import paths
from apuflow.core.engines import SIMULATING
from apuflow.core.errors import AnalysisError
from apuflow.core.files import write_text
from apuflow.core.owner import Owner
from apuflow.core.record import RunRecord, Status, read_run
from apuflow.core.scheduler import Placement, end_of, living_jobs
from apuflow.run.publish import unpublished

_GLOG = re.compile(rb"^[IWEF](\d\d)(\d\d) (\d\d):(\d\d):(\d\d)\.(\d{6}) ", re.M)
_GUEST_EPOCH = 1_000_000_000
"""gem5's guests start at this second of the Unix clock (src/sim/syscall_emul.hh, seconds_since_epoch)."""
_TAIL = 1 << 16

LOST = "lost.txt"
"""In the directory of a try that left no outcome: why, as far as anybody knows."""


class Progress(BaseModel):
    """A running (or lost) run.

    Attributes:
        owner: the process that runs it; when that is dead and the file still there, the run was lost.
        seconds: wall time so far.
        ticks: simulated ticks reached at the guest's last log line (a lower bound), or None.
        memory_bytes: memory in use.
        line: the last thing that the guest said.
        job, node: where a scheduler has placed it; "" without one.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    point: str
    attempt: int
    owner: str
    started: str
    seconds: float
    ticks: int | None = None
    memory_bytes: int | None = None
    line: str = ""
    log: str = ""
    job: str = ""
    node: str = ""

    @property
    def ticks_per_second(self) -> float | None:
        """Simulated ticks per second of the host's time (a lower bound)."""
        return self.ticks / self.seconds if self.ticks is not None and self.seconds > 0 else None

    def write(self, path: Path) -> None:
        """Replace the progress file."""
        write_text(path, self.model_dump_json())


def read_progress(path: Path) -> Progress | None:
    """The progress file, or None when there is none or it is unreadable."""
    try:
        return Progress.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def why_lost(progress: Progress) -> str | None:
    """What the scheduler says of a run that is gone without an outcome; None where none says anything."""
    here = Placement.here()
    if progress.job and progress.job == here.job:
        return here.taken_back()
    return end_of(progress.job, progress.memory_bytes)


def guest_ticks(text: bytes) -> int | None:
    """Simulated ticks (picoseconds) at the last glog line, or None.

    glog prints the guest's clock: local time, which without a time zone file is UTC, without the year.
    """
    lines = _GLOG.findall(text)
    if not lines:
        return None
    month, day, hour, minute, second, micro = (int(group) for group in lines[-1])
    start = datetime.fromtimestamp(_GUEST_EPOCH, UTC)
    try:
        then = datetime(start.year, month, day, hour, minute, second, micro, UTC)
    except ValueError:
        return None
    micros = (then - start) // timedelta(microseconds=1)
    return micros * 1_000_000 if micros >= 0 else None


def tail(path: Path, limit: int = _TAIL) -> bytes:
    """The last bytes of a file that may still be growing; empty when there is none."""
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - limit))
            return stream.read(limit)
    except OSError:
        return b""


Jobs: TypeAlias = Callable[[], frozenset[str] | None]
"""Asks which jobs of a scheduler wait or run."""


class RunState(StrEnum):
    """What a run directory shows."""

    COMPLETED = "completed"
    PROVEN = "proven"
    """It completed, and its record is not published: the next start publishes it and repeats nothing."""
    RUNNING = "running"
    FAILED = "failed"
    LOST = "lost"
    """Its process is gone and left no result: killed, or the machine went down. A rerun repeats it."""


@dataclass(frozen=True)
class Run:
    """One run directory.

    Attributes:
        detail: evidence of a failed run, the guest's last line of a running one.
        ticks: simulated ticks (of a running one: at least).
        ticks_per_second: of host time; the host rate.
        log: where to read on.
        place: where it runs, if not on this machine: the scheduler's job and node, or the host.
    """

    engine: str
    workload: str
    point: str
    state: RunState = RunState.FAILED
    outcome: str = ""
    started: str = ""
    seconds: float = 0.0
    ticks: int | None = None
    ticks_per_second: float | None = None
    memory_bytes: int | None = None
    detail: str = ""
    log: Path = Path()
    place: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """Engine, workload and point."""
        return self.engine, self.workload, self.point


_NOT_PUBLISHED = "its record is not published: the next start of the workflow publishes it"
SILENT_SECONDS = 600.0
"""A run says every few seconds how far it is: one on another machine that has not for so long is lost."""


def runs(project: Path) -> Iterator[Run]:
    """Every run below ``runs/``, sorted by engine, workload and point."""
    jobs = cache(living_jobs)
    for engine in SIMULATING:
        for directory in sorted(project.glob(paths.run_dir(engine, "*", "*"))):
            if directory.is_dir():
                run = _run(engine, directory, jobs)
                if run is not None:
                    yield run


def all_well(selected: Iterable[Run]) -> bool:
    """No run failed or was lost."""
    return not any(run.state in (RunState.FAILED, RunState.LOST) for run in selected)


def _run(engine: str, directory: Path, jobs: Jobs) -> Run | None:
    run = Run(engine, directory.parent.name, directory.name)
    progress = read_progress(directory / "progress.json")
    if progress is not None and _lives(progress, directory, jobs):
        return replace(_live(run, progress), state=RunState.RUNNING, detail=progress.line)
    published = directory / "run.json"
    recorded = _recorded(run, directory, published) if published.exists() else None
    if recorded is not None and recorded.state is RunState.COMPLETED:
        return recorded
    proven = unpublished(directory)
    if proven is not None:
        ended = _ended(run, directory, proven[1].record)
        return replace(ended, state=RunState.PROVEN, outcome=RunState.PROVEN, detail=_NOT_PUBLISHED)
    if recorded is not None:
        return recorded
    failures = sorted(directory.glob("attempts/*/failure.json"), key=lambda path: int(path.parent.name))
    if progress is not None and not (failures and failures[-1].parent.name == str(progress.attempt)):
        why = why_lost(progress) or progress.line
        return replace(_live(run, progress), state=RunState.LOST, detail=why)
    return _recorded(run, directory, failures[-1]) if failures else None


def _lives(progress: Progress, directory: Path, jobs: Jobs) -> bool:
    """Whether its process runs: certain on this machine, of others their scheduler or their silence tells."""
    owner = Owner.parse(progress.owner)
    if owner is None or owner.is_dead():
        return False
    if owner.is_here():
        return True
    living = jobs() if progress.job else None
    if living is not None:
        return progress.job in living
    try:
        return time.time() - (directory / "progress.json").stat().st_mtime < SILENT_SECONDS
    except OSError:
        return True  # it has ended just now


def _live(run: Run, progress: Progress) -> Run:
    owner = Owner.parse(progress.owner)
    host = progress.node or ("" if owner is None or owner.is_here() else owner.host)
    return replace(
        run,
        started=progress.started,
        seconds=progress.seconds,
        ticks=progress.ticks,
        ticks_per_second=progress.ticks_per_second,
        memory_bytes=progress.memory_bytes,
        log=Path(progress.log),
        place=" on ".join(filter(None, (f"job {progress.job}" if progress.job else "", host))),
    )


def _recorded(run: Run, directory: Path, file: Path) -> Run:
    try:
        record = read_run(file)
    except AnalysisError as error:
        return replace(run, outcome="unreadable record", detail=error.message, log=file)
    ended = _ended(run, directory, record)
    if record.status is Status.COMPLETED:
        return replace(ended, state=RunState.COMPLETED)
    return replace(ended, detail=record.evidence)


def _ended(run: Run, directory: Path, record: RunRecord) -> Run:
    rate = None
    with contextlib.suppress(TypeError, ZeroDivisionError):
        rate = record.ticks / record.wall_seconds if record.ticks is not None else None
    return replace(
        run,
        outcome=record.status,
        started=record.started,
        seconds=record.wall_seconds,
        ticks=record.ticks,
        ticks_per_second=rate,
        memory_bytes=record.peak_memory_bytes,
        log=directory / "attempts" / str(record.attempt),
    )
