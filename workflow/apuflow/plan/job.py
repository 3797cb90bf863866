"""The job of one point, or of a batch: rows of a manifest, run one after the other.

Each run has its own proof, lock, limits and record.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from apuflow.configure.work import Software
from apuflow.core.errors import ConfigError, DescribedError, EngineError
from apuflow.core.files import wait_for_files, write_text
from apuflow.core.record import RunRecord
from apuflow.engines import get_engine
from apuflow.engines.run_point import run_point
from apuflow.engines.software import of_work
from apuflow.plan.manifest import Manifest, Settings, Task
from apuflow.prepare.tools import Toolset
from apuflow.run.attempt import Busy
from apuflow.run.process import RunFailed

Run = Callable[[Task, bool], str]
"""Runs a point and returns how it ended; the flag: whether to wait for another process that runs it."""


def run_one(plan: str, engine: str, identifier: str, root: Path = Path()) -> None:
    """Run one point of a manifest.

    Raises:
        EngineError: the manifest cannot be used, or does not have the point.
        ConfigError: what the point is made from has changed since it was planned.
        RunFailed: the run proved nothing.
    """
    manifest = _manifest(plan, root)
    task = manifest.task(engine, identifier)
    if task is None:
        raise EngineError("the plan does not have this point", file=manifest.file, value=identifier)
    record = _run(task, manifest.settings, Toolset(task.point.release, root), wait=True)
    print(f"{record.status}: {record.evidence}")


def run_batch(plan: str, name: str, mark: Path, root: Path = Path()) -> None:
    """Run the points of a batch, and write the mark when each has its record.

    A point that fails does not stop the others. One that another process is running comes last, when it may
    be done. A signal ends the batch: only the point that was running is lost.

    Raises:
        EngineError: points failed in a strict sweep, or the batch was stopped; what is missing is named.
    """
    manifest = _manifest(plan, root)
    settings, tasks = manifest.settings, manifest.batch(name)
    tools = cache(lambda release: Toolset(release, root))

    def run(task: Task, wait: bool) -> str:
        record = _run(task, settings, tools(task.point.release), wait=wait)
        _protect(root / task.record)
        return f"{record.status}: {record.evidence}"

    problems = each_task(tasks, run)
    if problems:
        listed = "\n".join(f"{file}: {problem}" for file, problem in problems.items())
        raise EngineError(
            f"{len(problems)} of {len(tasks)} points of this batch have no record\n{listed}",
            remedy="start the workflow again: what has a record stays, what has none is tried again",
        )
    write_text(mark, json.dumps({"points": len(tasks)}) + "\n")


def each_task(tasks: Sequence[Task], run: Run) -> dict[str, str]:
    """Run all points; the record of each that has none, and why."""
    problems: dict[str, str] = {}
    waiting: list[Task] = []
    for last_round in (False, True):
        for task in waiting if last_round else tasks:
            try:
                print(f"{task.record}: {run(task, last_round)}")
            except Busy:
                waiting.append(task)
            except RunFailed as error:
                problems[task.record] = f"{error.record.status}: {error.record.evidence}"
                print(error)
                if error.stopped:
                    return problems | _not_begun(tasks, problems)
            except DescribedError as error:
                problems[task.record] = error.message
                print(error)
    return problems


def _manifest(plan: str, root: Path) -> Manifest:
    wait_for_files([root / plan])
    return Manifest(plan, root)


def _run(task: Task, settings: Settings, tools: Toolset, *, wait: bool) -> RunRecord:
    refuse_what_changed(task, settings, tools)
    files = [file for named in task.rule_inputs.values() for file in named]
    return run_point(
        tools,
        task.point,
        task.inputs,
        files,
        memory_mb=task.memory_mb,
        wall_seconds=settings.wall_seconds,
        on_failure=settings.on_failure,
        wait=wait,
    )


def refuse_what_changed(task: Task, settings: Settings, tools: Toolset) -> None:
    """Refuse a run whose record would have the name of other software, or other files, than it ran.

    Raises:
        ConfigError: gem5, image, program, sources or kernels are others than when the point was planned.
    """
    point, workload = task.point, tools.workload(task.point.workload)
    site = tools.site.with_products(settings.products)
    found = get_engine(point.engine).software(tools.release, point.gfx, workload, site, tools.root)
    same = _text(of_work(found, workload, point.work)) == _text(point.software)
    if not same or not workload.holds(point.work):
        raise ConfigError(
            "the point is not what it was when the workflow started",
            file=tools.root / task.record,
            value=point.id,
            remedy="the configuration, image or sources changed meanwhile: start the workflow again",
        )


def _text(software: Software) -> str:
    return json.dumps(software.content(), sort_keys=True)


def _not_begun(tasks: Sequence[Task], problems: dict[str, str]) -> dict[str, str]:
    left = (task.record for task in tasks if not Path(task.record).exists())
    return {record: "not begun: the batch was stopped" for record in left if record not in problems}


def _protect(record: Path) -> None:
    """Take the right to write away, as Snakemake does for the record of a job of its own."""
    record.chmod(record.stat().st_mode & ~0o222)
