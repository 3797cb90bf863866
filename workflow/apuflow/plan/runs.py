"""Inputs, priorities and resources of the rules that run points, and the manifests that their jobs read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from apuflow.configure.combinations import releases
from apuflow.configure.point import Point
from apuflow.configure.sweep import Sweep
from apuflow.core import paths
from apuflow.core.engines import SIMULATING, is_batch
from apuflow.core.errors import EngineError
from apuflow.engines import estimate, get_engine, simulating_engine
from apuflow.engines.kernel_files import KernelFiles
from apuflow.plan import manifest, schedule
from apuflow.plan.campaign import Campaign
from apuflow.plan.manifest import Manifest, Task, record_of
from apuflow.plan.storage import Storage, refuse_tools_made_here
from apuflow.prepare.doctor import Use
from apuflow.prepare.tools import Toolset

Wildcards = Mapping[str, str]

_RUN = paths.matcher(paths.run_record(), engine="|".join(SIMULATING))
SHARED_POINTS = 500
"""Points of the preview from which on another process shortens the work."""


class Runs:
    """The runs of one call of Snakemake. Each is planned once, when Snakemake first asks for its table.

    Attributes:
        kernels: what kernel files are made from.
        memory_mb: memory that runs may take together; None: no limit.

    Args:
        campaign: the project.
        elsewhere: whether jobs run on other machines.
        is_job: whether this process is such a job: it reads the manifest that its workflow wrote.
        storage: what carries files to jobs; None: they share the project's directory.
    """

    def __init__(
        self,
        campaign: Campaign,
        elsewhere: Callable[[], bool] = lambda: False,
        *,
        is_job: bool = False,
        storage: Storage | None = None,
    ) -> None:
        self.campaign = campaign
        self._storage = storage
        self.root = campaign.root
        self.tools = cache(lambda release: Toolset(release, campaign.root))
        self.kernels = KernelFiles(self.tools, self._plan_all)
        self.memory_mb: int | None = None
        self._elsewhere = elsewhere
        self._is_job = is_job
        self._planned: dict[str, tuple[Manifest, Task]] = {}
        self._written: dict[tuple[Any, ...], Manifest] = {}
        self._batch = cache(self._find_batch)
        self._expected: dict[str, float | None] = {}
        self._pending: set[tuple[str, Use]] = set()
        self._priorities: dict[str, float] = {}

    def tool_inputs(self, tool: str) -> Callable[[Wildcards], list[str]]:
        """Input function of the rule that makes a tool, whose name has wildcards."""

        def inputs(wildcards: Wildcards) -> list[str]:
            return self.tools(wildcards["release"]).inputs(tool.format_map(wildcards), wildcards["request"])

        return inputs

    # tables and previews ---------------------------------------------------------------------------------
    def table_inputs(self, wildcards: Wildcards, checkpoints: Any) -> dict[str, list[str]]:
        """Plan and records behind a table. gem5's points are known once the image is, whose digest they have.

        A suite's table is made from that of the operations.
        """
        sweep, workload = self.campaign.sweep(wildcards["under"]), wildcards["workload"]
        if workload in self.campaign.suites(sweep):
            return {"records": self.campaign.records(sweep, workload)}
        if sweep.sampling is None:
            self._await_images(sweep, workload, checkpoints)
            return self.in_batches(sweep, workload, self.campaign.records(sweep, workload))
        plan = self._write(sweep, workload, self.campaign.points(sweep.name, workload))
        records = [paths.preview_record(sweep.name, workload)] if any(map(is_batch, sweep.engines)) else []
        return {"plan": [plan.path], "records": records, "sampled": [paths.sampled(wildcards["under"])]}

    def in_batches(self, sweep: Sweep, workload: str, records: Iterable[str]) -> dict[str, list[str]]:
        """Plan and records as inputs of a rule. Jobs on other machines run points of seconds in batches."""
        records = list(records)
        plan = self.plan(sweep, workload, records)
        batch = {record: self._planned[record][1].batch for record in records if record in self._planned}
        alone = [record for record in records if not batch.get(record)]
        runs = map(_RUN.fullmatch, alone) if self._storage else ()
        return {
            "plan": [plan.path],
            # storage carries what else a run left in a bundle
            "records": [*alone, *(paths.run_bundle(**run.groupdict()) for run in runs if run)],
            "batches": [paths.batch(name) for name in dict.fromkeys(batch.values()) if name],
        }

    def preview_plan(self, wildcards: Wildcards) -> list[str]:
        """The manifest of the points that are computed together."""
        sweep = self.campaign.load(wildcards["sweep"])
        return [self._write(sweep, wildcards["workload"], self._previewed(wildcards)).path]

    def preview_threads(self, wildcards: Wildcards) -> int:
        """Processes that share the points that are computed together."""
        return max(1, min(4, len(self._previewed(wildcards)) // SHARED_POINTS))

    def _previewed(self, wildcards: Wildcards) -> list[Point]:
        points = self.campaign.points(wildcards["sweep"], wildcards["workload"])
        return [point for point in points if is_batch(point.engine)]

    def _await_images(self, sweep: Sweep, workload: str, checkpoints: Any) -> None:
        for engine in filter(lambda engine: engine.image_in_identity, map(get_engine, sweep.engines)):
            for release in releases(sweep, workload, self.root):
                tools = self.tools(release)
                if not (self.root / tools.record("image")).exists():
                    self._pending.add((release, engine.use(tools.workload(workload))))
                checkpoints.image.get(release=release, request=tools.request("image"))

    # planning --------------------------------------------------------------------------------------------
    def plan(self, sweep: Sweep, workload: str, records: Iterable[str]) -> Manifest:
        """Plan those runs that are missing, each once: a batch keeps its points while the workflow runs."""
        wanted = set(records) - self._planned.keys()
        points = self.campaign.points(sweep.name, workload)
        runs = [point for point in points if not is_batch(point.engine)]
        missing = [point for point in runs if record_of(point) in wanted and not self._is_done(point)]
        if missing:
            self._estimate(runs)
        new = {record_of(point): self._task(sweep, point) for point in missing}
        if new and self._elsewhere() and not self._storage:
            fresh = [task for task in new.values() if not self._has_begun(task.point)]
            for batch in schedule.divide(fresh, self.tools(sweep.release).site.batch_seconds):
                name = schedule.batch_name(batch)
                new |= {task.record: replace(task, batch=name) for task in batch}
        written = self._write(sweep, workload, points, new)
        self._planned |= {record: (written, task) for record, task in new.items()}
        manifest.publish((plan for plan, _ in self._planned.values()), self.root, self._storage)
        return written

    def _write(
        self, sweep: Sweep, workload: str, points: Sequence[Point], new: Mapping[str, Task] | None = None
    ) -> Manifest:
        tasks = {**{record: task for record, (_, task) in self._planned.items()}, **(new or {})}
        key = (sweep.name, workload, len(tasks), *map(id, points))
        if key not in self._written:
            written = manifest.write(sweep, workload, points, tasks, self.root)
            if self._storage and not self._storage.holds(written.path):
                self._storage.store(written.path)
            self._written[key] = written
        return self._written[key]

    def planned(self) -> list[Point]:
        """Points whose record was missing when this call planned them."""
        return [task.point for _, task in self._planned.values()]

    def _task(self, sweep: Sweep, point: Point) -> Task:
        engine, tools = simulating_engine(point.engine), self.tools(point.release)
        needs = engine.needs(tools, point)
        self._pending.add((point.release, engine.use(tools.workload(point.described_by))))
        self.kernels.add(needs, point.release, for_launcher=engine.for_launcher)
        priority = self._priority(point)
        for file in needs.made_for_runs():
            self._priorities[file] = max(priority, self._priorities.get(file, priority))
        seconds = None if self._has_begun(point) else self._expected[record_of(point)]
        return Task(
            point,
            needs.rule_inputs(),
            needs.objects_by_row(),
            schedule.memory_limit(point),
            schedule.minutes(seconds, sweep.limits.wall_seconds),
            seconds,
        )

    def _estimate(self, points: Sequence[Point]) -> None:
        """What each point is expected to take, once for all points of an engine."""
        for name in {point.engine for point in points}:
            mine = [point for point in points if point.engine == name]
            if any(record_of(point) not in self._expected for point in mine):
                lower_bound = get_engine(name).cost_is_a_lower_bound
                seconds = estimate.each_point(mine, lower_bound=lower_bound, root=self.root)
                self._expected = {**dict(zip(map(record_of, mine), seconds, strict=True)), **self._expected}

    def _is_done(self, point: Point) -> bool:
        return (self.root / record_of(point)).exists()

    def _has_begun(self, point: Point) -> bool:
        """Whether it has run before. What did not end as expected gets all the time there is."""
        return (self.root / paths.run_dir(point.engine, point.workload, point.id) / "attempts").exists()

    def _plan_all(self) -> None:
        """Plan every run of every sweep, for a target that is none of a sweep's results."""
        for point in self.campaign.simulated_points():
            if not self._is_done(point):
                self._found({"engine": point.engine, "workload": point.workload, "point": point.id})

    # rule simulate ---------------------------------------------------------------------------------------
    def simulation_inputs(self, wildcards: Wildcards) -> Mapping[str, list[str]]:
        """The plan and what a run needs; nothing when its record is there, so that it needs no toolchain."""
        if not self._is_job and self._is_done(self._point(wildcards)):
            return {}
        plan, task = self._found(wildcards)
        return {"plan": [plan.path], **task.rule_inputs}

    def simulation_memory(self, wildcards: Wildcards) -> int:
        """Megabytes to ask of the scheduler: what the run may take, and room for our own processes."""
        return self._found(wildcards)[1].memory_mb + schedule.OWN_MEMORY_MB

    def simulation_minutes(self, wildcards: Wildcards) -> int:
        """Minutes to ask of the scheduler: from the estimate, with the sweep's wall limit as cap."""
        return self._found(wildcards)[1].minutes

    def expected_memory(self, wildcards: Wildcards) -> int:
        """Megabytes that a run is expected to take: so many run at a time on this machine as fit."""
        point = self._point(wildcards)
        expected = schedule.expected_memory(point)
        if self.tools(point.release).site.shared_start:
            expected *= 2  # the gem5 that is forked
        return expected if self.memory_mb is None else min(expected, self.memory_mb)

    def simulation_priority(self, wildcards: Wildcards) -> float:
        """The longest runs first; short ones by machine, where they share gem5's start (``schedule``)."""
        return self._priority(self._point(wildcards))

    def input_priority(self, pattern: str) -> Callable[[Wildcards], float]:
        """What runs read is made in their order: the first starts before the last kernel is compiled.

        Args:
            pattern: path of what the rule makes, with its wildcards in braces.
        """
        return lambda wildcards: self._priorities.get(pattern.format(**wildcards), 0.0)

    def _priority(self, point: Point) -> float:
        if self.memory_mb is None or self._elsewhere():
            return 0.0
        if record_of(point) not in self._expected:
            sweep, _ = self.campaign.of_point(point.engine, point.workload, point.id)
            self._estimate(self.campaign.points(sweep, point.workload, point.engine))
        shares = self.tools(point.release).site.shared_start
        machine = json.dumps([point.release, dict(point.changed)], sort_keys=True) if shares else None
        return schedule.priority(self._expected.get(record_of(point)), machine)

    def _point(self, wildcards: Wildcards) -> Point:
        if self._is_job:
            return self._found(wildcards)[1].point
        return self.campaign.of_point(wildcards["engine"], wildcards["workload"], wildcards["point"])[1]

    def _found(self, wildcards: Wildcards) -> tuple[Manifest, Task]:
        """The manifest that has a point, and its row: a job's point, or one whose record is missing.

        Raises:
            EngineError: a job's point is in no manifest.
        """
        run = (wildcards["engine"], wildcards["workload"], wildcards["point"])
        record = paths.run_record(*run)
        if record not in self._planned:
            if self._is_job:
                self._planned[record] = self._row_of(*run)
            else:
                sweep, _ = self.campaign.of_point(*run)
                self.plan(self.campaign.load(sweep), run[1], [record])
        return self._planned[record]

    def _row_of(self, engine: str, workload: str, point: str) -> tuple[Manifest, Task]:
        for plan in self._published():
            if plan.workload == workload and (task := plan.task(engine, point)) is not None:
                return plan, task
        raise _unplanned(paths.run_dir(engine, workload, point))

    def _published(self) -> Iterator[Manifest]:
        """The manifests that jobs look into, fetched where they are not here."""
        if self._storage:
            self._storage.fetch(paths.current_plan())
        for plan in manifest.published(self.root):
            if self._storage:
                self._storage.fetch_missing([plan.path])
            yield plan

    # rule batch ------------------------------------------------------------------------------------------
    def batch_inputs(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """The plan of a batch, and what its points need (see simulation_inputs)."""
        plan, tasks = self._batch(wildcards["batch"])
        needed = (file for task in tasks for files in task.rule_inputs.values() for file in files)
        return {"plan": [plan.path], "needs": list(dict.fromkeys(needed))}

    def batch_memory(self, wildcards: Wildcards) -> int:
        """Megabytes to ask of the scheduler: for the largest run, and for us."""
        return max(task.memory_mb for task in self._batch(wildcards["batch"])[1]) + schedule.OWN_MEMORY_MB

    def batch_minutes(self, wildcards: Wildcards) -> int:
        """Minutes to ask of the scheduler."""
        return schedule.batch_minutes(self._batch(wildcards["batch"])[1])

    def _find_batch(self, name: str) -> tuple[Manifest, list[Task]]:
        for plan in manifest.published(self.root):
            if tasks := plan.batch(name):
                return plan, tasks
        raise _unplanned(paths.batch(name))

    # readiness -------------------------------------------------------------------------------------------
    def check_ready(self) -> None:
        """Before the first job: can this machine do what is pending? Nothing is checked when nothing is.

        Raises:
            EngineError: one message with all that is missing, how to get it, and what runs here without it.
        """
        from apuflow.prepare.doctor import check_gem5_ready

        for release, use in sorted(self._pending):
            tools = self.tools(release)
            if self._storage and self._elsewhere():
                refuse_tools_made_here(tools, use)
            check_gem5_ready(tools.site, tools.release, self.root, use=use)

    def clean(self) -> None:
        """Remove manifests, and marks of batches, of earlier calls whose runs have all left their records."""
        mine = {plan.path for plan in self._written.values()}
        for file in self.root.glob(paths.manifest("*", "*", "*")):
            plan = Manifest(file.relative_to(self.root).as_posix(), self.root)
            if plan.path not in mine and plan.is_done():
                plan.remove()


def _unplanned(what: str) -> EngineError:
    return EngineError(
        "no plan has this job (any more)",
        file=paths.current_plan(),
        value=what,
        remedy="start the workflow again, which plans what is missing: snakemake --cores all TARGET",
    )
