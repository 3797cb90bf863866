"""Where all runs of a project stand: read from their directories alone, while they run and after."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TypeAlias

from apuflow.core import paths
from apuflow.core.engines import SIMULATING
from apuflow.core.errors import AnalysisError
from apuflow.core.owner import Owner
from apuflow.core.record import RunRecord, Status, read_run
from apuflow.core.scheduler import living_jobs
from apuflow.run.progress import Progress, read_progress, why_lost
from apuflow.run.publish import unpublished

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
    state: RunState
    outcome: str
    started: str
    seconds: float
    ticks: int | None
    ticks_per_second: float | None
    memory_bytes: int | None
    detail: str
    log: Path
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
    progress = read_progress(directory / "progress.json")
    if progress is not None and _lives(progress, directory, jobs):
        return _live(engine, directory, progress, RunState.RUNNING)
    published = directory / "run.json"
    recorded = _recorded(engine, directory, published) if published.exists() else None
    if recorded is not None and recorded.state is RunState.COMPLETED:
        return recorded
    proven = unpublished(directory)
    if proven is not None:
        return _run_of(engine, directory, proven[1].record, RunState.PROVEN, _NOT_PUBLISHED)
    if recorded is not None:
        return recorded
    failures = sorted(directory.glob("attempts/*/failure.json"), key=lambda path: int(path.parent.name))
    if progress is not None and not (failures and failures[-1].parent.name == str(progress.attempt)):
        return _live(engine, directory, progress, RunState.LOST)
    return _recorded(engine, directory, failures[-1]) if failures else None


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


def _place(progress: Progress) -> str:
    owner = Owner.parse(progress.owner)
    host = progress.node or ("" if owner is None or owner.is_here() else owner.host)
    return " on ".join(filter(None, (f"job {progress.job}" if progress.job else "", host)))


def _lost_detail(progress: Progress) -> str:
    """Why a run is lost, where its scheduler knows; else the last thing that it said."""
    return why_lost(progress) or progress.line


def _live(engine: str, directory: Path, progress: Progress, state: RunState) -> Run:
    return Run(
        engine=engine,
        workload=directory.parent.name,
        point=directory.name,
        state=state,
        outcome="",
        started=progress.started,
        seconds=progress.seconds,
        ticks=progress.ticks,
        ticks_per_second=progress.ticks_per_second,
        memory_bytes=progress.memory_bytes,
        detail=progress.line if state is RunState.RUNNING else _lost_detail(progress),
        log=Path(progress.log),
        place=_place(progress),
    )


def _recorded(engine: str, directory: Path, file: Path) -> Run:
    try:
        record = read_run(file)
    except AnalysisError as error:
        return Run(
            engine=engine,
            workload=directory.parent.name,
            point=directory.name,
            state=RunState.FAILED,
            outcome="unreadable record",
            started="",
            seconds=0.0,
            ticks=None,
            ticks_per_second=None,
            memory_bytes=None,
            detail=error.message,
            log=file,
        )
    if record.status is Status.COMPLETED:
        return _run_of(engine, directory, record, RunState.COMPLETED, "")
    return _run_of(engine, directory, record, RunState.FAILED, record.evidence)


def _run_of(engine: str, directory: Path, record: RunRecord, state: RunState, detail: str) -> Run:
    rate = None
    with contextlib.suppress(TypeError, ZeroDivisionError):
        rate = record.ticks / record.wall_seconds if record.ticks is not None else None
    return Run(
        engine=engine,
        workload=directory.parent.name,
        point=directory.name,
        state=state,
        outcome=RunState.PROVEN if state is RunState.PROVEN else record.status,
        started=record.started,
        seconds=record.wall_seconds,
        ticks=record.ticks,
        ticks_per_second=rate,
        memory_bytes=record.peak_memory_bytes,
        detail=detail,
        log=directory / "attempts" / str(record.attempt),
    )
