"""Repairs of what a killed workflow or a wrong clock left: Snakemake's lock, its marks, and files' times.

Snakemake's lock names files, not processes, so it outlives a killed workflow, and a rerun would be refused.
Every workflow therefore registers beside it; the next one removes the lock only when each registered workflow
is certainly dead and none of its jobs runs. In any less certain case (another host, a cluster's jobs, a file
system without locks) it stays, with Snakemake's own message that names ``--unlock``.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from apuflow.core import paths, proc, project
from apuflow.core.engines import SIMULATING
from apuflow.core.files import file_lock, write_text
from apuflow.core.owner import Owner
from apuflow.plan.storage import Storage

TOLERANCE_SECONDS = 60.0
"""Clocks of a file server may differ by this much; that is Snakemake's to judge."""

WAIT_SECONDS = 60.0
"""How long to wait for jobs that a killed workflow left: they notice its death and end by themselves."""

_KEPT = (
    f"{paths.CONFIGS}/**/*",
    paths.tool_record("*", "*", "*"),
    paths.mmap_file("*"),
    paths.launcher("*"),
    f"{paths.CACHE}/**/*",
    *(paths.run_record(engine, "*", "*") for engine in SIMULATING),
)
_MADE_AGAIN = (f"{paths.RESULTS}/**/*", f"{paths.preview_dir('*', '*', '*')}/*")
_RUN_RECORD = paths.matcher(paths.run_record(), engine="|".join(SIMULATING))
_ELSEWHERE = "jobs elsewhere"


# times ---------------------------------------------------------------------------------------------------
def repair_times(root: Path = Path()) -> int:
    """Give files from the future another time, or jobs after them would count as failed; how many there were.

    What is expensive or the user's own counts as made now. Tables, figures and preview batches count as old,
    so that they are made again: whether they or a later edit came first cannot be told any more.
    """
    now = time.time()
    repaired = 0
    for patterns, new in ((_KEPT, now), (_MADE_AGAIN, 1.0)):
        files = [path for pattern in patterns for path in root.glob(pattern) if path.is_file()]
        for path in (*files, *map(Path, project.VERSIONS if patterns is _KEPT else ())):
            with contextlib.suppress(OSError):
                if path.stat().st_mtime > now + TOLERANCE_SECONDS:
                    os.utime(path, (new, new))
                    repaired += 1
    if repaired:
        _say(f"the clock has gone back: {repaired} files dated in the future got another time")
    return repaired


def _say(text: str) -> None:
    print(f"apuflow: {text}", file=sys.stderr)


# lock ----------------------------------------------------------------------------------------------------
class Registration:
    """This workflow's entry, which goes when the process ends in an orderly way.

    Args:
        others: entries of workflows that may live. If their lock is still there at the end, the user is told.
    """

    def __init__(self, entry: Path, root: Path, others: Sequence[Path]) -> None:
        self._entry, self._root, self._others, self._pid = entry, root, others, os.getpid()
        atexit.register(self.end)

    def jobs_elsewhere(self) -> None:
        """Jobs run on other machines: they may live on without this process, so its death proves nothing."""
        write_text(self._entry, f"{Owner.current()}\n{_ELSEWHERE}\n")

    def end(self) -> None:
        """Remove the entry; in a process forked off from this one, nothing."""
        if os.getpid() == self._pid:
            with contextlib.suppress(OSError):
                self._entry.unlink(missing_ok=True)
            if self._others and _locks(self._root):  # --unlock has removed it
                _explain(self._others)


def _locks(root: Path) -> list[Path]:
    return list((root / paths.snakemake("locks")).glob("*.lock"))


def register(
    root: Path = Path(), wait: float = WAIT_SECONDS, storage: Storage | None = None
) -> Registration | None:
    """Register this process as a workflow of the project, and remove the lock of dead ones.

    Args:
        wait: seconds for the dead ones' jobs to end; after that the lock stays.
        storage: where run records are; None: in the project.

    Returns:
        None if nothing can be written (Snakemake reports it).
    """
    state = root / paths.snakemake("apuflow")
    try:
        me = Owner.current()
        entry = state / "workflows" / f"{me.pid}-{me.started}"
        entry.parent.mkdir(parents=True, exist_ok=True)
        with file_lock(state / "lock") as sure:
            others = [path for path in entry.parent.iterdir() if path != entry and path.suffix != ".part"]
            write_text(entry, f"{me}\n")
            locks, alive = _locks(root), []
            if not sure or not all(_is_dead(path, with_jobs=bool(locks)) for path in others):
                alive = others if locks else []
            elif not locks or (others and _without_jobs(root, wait)):
                for path in (*locks, *others, *(_marks_of_run_records(root, storage) if others else ())):
                    path.unlink(missing_ok=True)
                if locks:
                    _say("removed the lock of a workflow that was killed")
    except OSError:
        return None
    return Registration(entry, root, alive)


def _marks_of_run_records(root: Path, storage: Storage | None) -> Iterator[Path]:
    """Snakemake's marks that a job was cut short, of runs whose record is there.

    Records appear whole, after all else of a run, and Snakemake would delete them to make them again.
    """
    marks = root / paths.snakemake("incomplete")
    for mark in marks.rglob("*"):
        with contextlib.suppress(ValueError):
            name = "".join(part.removeprefix("@") for part in mark.relative_to(marks).parts)
            file = base64.urlsafe_b64decode(name).decode()
            file = storage.project(file) if storage else file
            if not _RUN_RECORD.fullmatch(file) or not mark.is_file():
                continue
            if storage.holds(file) if storage else (root / file).is_file():
                yield mark


def _is_dead(entry: Path, *, with_jobs: bool) -> bool:
    """Whether it is certain that this workflow is gone; ``with_jobs``: and that it had none elsewhere."""
    owner, elsewhere = _read(entry)
    return owner is not None and not (with_jobs and elsewhere) and owner.is_dead()


def _read(entry: Path) -> tuple[Owner | None, bool]:
    """The process of an entry, and whether its jobs run on other machines."""
    with contextlib.suppress(OSError):
        lines = entry.read_text(encoding="utf-8", errors="replace").splitlines()
        return Owner.parse(lines[0]) if lines else None, _ELSEWHERE in lines
    return None, False


def _explain(entries: Iterable[Path]) -> None:
    """Say whose lock stays, and the command that removes it, where no workflow of this machine holds it."""
    for owner in filter(None, (_read(entry)[0] for entry in entries)):
        if not owner.is_here():
            was = f"process {owner.pid} on {owner.host} holds this directory's lock, or was killed there"
        elif owner.is_dead():
            was = f"a workflow (process {owner.pid}) was killed while its jobs ran on other machines"
        else:
            continue
        _say(
            f"{was}; its lock stays.\n"
            "  `apuflow status` shows which runs go on. When no other snakemake works in this directory:\n"
            "    snakemake --unlock\n"
            "  and start again: runs that still go on are waited for, not repeated."
        )


def _without_jobs(root: Path, wait: float) -> bool:
    """Wait for the jobs of this project that still run; whether none is left."""
    deadline = time.monotonic() + wait
    told = False
    while left := list(_jobs(root)):
        if time.monotonic() > deadline:
            _say(f"a killed workflow's jobs still run: process {', '.join(map(str, left))}")
            return False
        if not told:
            _say("waiting for the jobs of a killed workflow to end")
            told = True
        time.sleep(0.1)
    return True


def _jobs(root: Path) -> Iterator[int]:
    """Processes that run a rule's script of this project: Snakemake puts it below its own directory."""
    mark = os.fsencode(f"{root.resolve()}/{paths.snakemake('scripts')}/")
    for pid in proc.pids():
        with contextlib.suppress(OSError):
            if any(mark in word for word in proc.command_line(pid)):
                yield pid
