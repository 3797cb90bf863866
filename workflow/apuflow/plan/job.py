"""The job of one point, or of a batch: rows of a manifest, run one after the other."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from apuflow.configure.work import Software
from apuflow.containers.job import Limits
from apuflow.core import paths
from apuflow.core.errors import ConfigError, DescribedError, EngineError
from apuflow.core.files import wait_for_files, write_text
from apuflow.core.record import RunRecord
from apuflow.core.units import size_bytes
from apuflow.engines import simulating_engine
from apuflow.engines.base import Place, software_of
from apuflow.engines.simulated import gem5_of, mounts, point_facts
from apuflow.plan.manifest import Manifest, Settings, Task
from apuflow.prepare import stages
from apuflow.prepare.builds import Gem5Record, unchanged_gem5
from apuflow.prepare.records import read_record
from apuflow.prepare.tools import Toolset
from apuflow.run.attempt import Busy, simulate
from apuflow.run.process import RunFailed, Simulation

Run = Callable[[Task, bool], str]
"""Runs a point and returns how it ended; the flag: whether to wait for another process that runs it."""


def run_one(plan: str, engine: str, identifier: str, root: Path = Path()) -> None:
    """Run one point of a manifest.

    Raises:
        EngineError: the manifest cannot be used, or does not have the point.
        ConfigError: what the point is made from has changed since it was planned.
        RunFailed: the run proved nothing.
    """
    wait_for_files([root / plan])
    manifest = Manifest(plan, root)
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
    wait_for_files([root / plan])
    manifest = Manifest(plan, root)
    settings, tasks = manifest.settings, manifest.batch(name)
    tools = cache(lambda release: Toolset(release, root))

    def run(task: Task, wait: bool) -> str:
        record = _run(task, settings, tools(task.point.release), wait=wait)
        file = root / task.record
        file.chmod(file.stat().st_mode & ~0o222)  # as Snakemake does for the record of a job of its own
        return f"{record.status}: {record.evidence}"

    problems = each_task(tasks, run)
    if problems:
        listed = "\n".join(f"{file}: {problem}" for file, problem in problems.items())
        said = f"{len(problems)} of {len(tasks)} points of this batch have no record\n{listed}"
        remedy = "start the workflow again: what has a record stays, what has none is tried again"
        raise EngineError(said, remedy=remedy)
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
                    left = (task.record for task in tasks if not Path(task.record).exists())
                    return dict.fromkeys(left, "not begun: the batch was stopped") | problems
            except DescribedError as error:
                problems[task.record] = error.message
                print(error)
    return problems


def _run(task: Task, settings: Settings, tools: Toolset, *, wait: bool) -> RunRecord:
    """Run a point to its proven end.

    Raises:
        Busy: another process is running it, and ``wait`` is false.
        EngineError: gem5 or DNNMark are not what their records say.
    """
    refuse_what_changed(task, settings, tools)
    point, inputs, site, root = task.point, task.inputs, tools.site, tools.root.resolve()
    # All that must be there; what another machine made just now is waited for.
    wait_for_files(tools.root / file for files in task.rule_inputs.values() for file in files)
    run_dir = root / paths.run_dir(point.engine, point.workload, point.id)
    recorded = root / inputs.gem5
    installed = unchanged_gem5(read_record(recorded, Gem5Record), recorded)
    prepared = simulating_engine(point.engine).prepare(tools, point, inputs, installed, run_dir)
    memory = size_bytes(site.memory) if site.memory else task.memory_mb << 20
    return simulate(
        Simulation(
            project=root,
            run_dir=run_dir,
            point=point_facts(point),
            gem5=gem5_of(installed, tools.release, quick_statistics=site.quick_statistics),
            process=prepared.process,
            container=stages.container(tools),
            image=tools.image.reference,
            mounts=mounts(installed, prepared.reads),
            limits=Limits(memory_bytes=memory or None, wall_seconds=settings.wall_seconds),
            compress=site.compress,
            on_failure=settings.on_failure,
            provenance=prepared.provenance,
            launches=prepared.launches,
            shared_start=root / paths.started_dir() if site.shared_start else None,
        ),
        wait=wait,
    )


def refuse_what_changed(task: Task, settings: Settings, tools: Toolset) -> None:
    """Refuse a run whose record would have the name of other software, or other files, than it ran.

    Raises:
        ConfigError: gem5, image, program, sources or kernels are others than when the point was planned.
    """

    def text(software: Software) -> str:
        return json.dumps(software.content(), sort_keys=True)

    point, workload = task.point, tools.workload(task.point.described_by)
    site = tools.site.with_products(settings.products)
    place = Place(tools.release, point.gfx, site, tools.root)
    found = software_of(simulating_engine(point.engine).software(workload, place), workload, point.work)
    if text(found) != text(point.software) or not workload.holds(point.work):
        said = "the point is not what it was when the workflow started"
        remedy = "the configuration, image or sources changed meanwhile: start the workflow again"
        raise ConfigError(said, file=tools.root / task.record, value=point.id, remedy=remedy)
