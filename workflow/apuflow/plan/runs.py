"""Inputs, priorities and resources of the rules that run points, and the manifests that their jobs read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from apuflow.configure.combinations import releases
from apuflow.configure.point import Point
from apuflow.configure.sweep import Sweep
from apuflow.core import paths
from apuflow.core.engines import is_batch
from apuflow.core.errors import EngineError
from apuflow.engines import estimate, get_engine, simulating_engine
from apuflow.engines.kernel_files import KernelFiles
from apuflow.plan import manifest, schedule
from apuflow.plan.campaign import Campaign
from apuflow.plan.manifest import Manifest, Task
from apuflow.plan.storage import Storage, refuse_tools_made_here
from apuflow.prepare.doctor import Use, check_gem5_ready
from apuflow.prepare.tools import Toolset

Wildcards = Mapping[str, str]

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
        self.root = campaign.root
        self.tools = cache(lambda release: Toolset(release, campaign.root))
        self.kernels = KernelFiles(self.tools, self._plan_all)
        self.memory_mb: int | None = None
        self._elsewhere = elsewhere
        self._is_job = is_job
        self._storage = storage
        self._planned: dict[str, tuple[Manifest, Task]] = {}
        self._written: dict[tuple[Any, ...], Manifest] = {}
        self._published = cache(self._find_published)
        self._expected: dict[str, float | None] = {}
        self._pending: set[tuple[str, Use]] = set()
        self._priorities: dict[str, float] = {}

    def tool_inputs(self, tool: str) -> Callable[[Wildcards], list[str]]:
        """Input function of the rule that makes a tool, whose name has wildcards."""
        return lambda of: self.tools(of["release"]).inputs(tool.format_map(of), of["request"])

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

    def in_batches(self, sweep: Sweep, workload: str, records: Sequence[str]) -> dict[str, list[str]]:
        """Plan and records as inputs of a rule. Jobs on other machines run points of seconds in batches."""
        plan = self.plan(sweep, workload, records)
        batch = {record: self._planned[record][1].batch for record in records if record in self._planned}
        return {
            "plan": [plan.path],
            "records": [record for record in records if not batch.get(record)],
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
        missing = [one for one in points if one.record in wanted and not self._is_done(one.record)]
        if missing:
            self._estimate([point for point in points if not is_batch(point.engine)])
        new = {point.record: self._task(point) for point in missing}
        if new and self._elsewhere() and not self._storage:
            fresh = [task for task in new.values() if not self._has_begun(task.point)]
            for batch in schedule.divide(fresh, self.tools(sweep.release).site.batch_seconds):
                name = schedule.batch_name(batch)
                new |= {task.point.record: replace(task, batch=name) for task in batch}
        written = self._write(sweep, workload, points, new)
        self._planned |= {record: (written, task) for record, task in new.items()}
        if self._planned:
            manifest.publish((plan for plan, _ in self._planned.values()), self.root)
            if self._storage:
                self._storage.store(paths.current_plan())
        return written

    def _write(
        self, sweep: Sweep, workload: str, points: Sequence[Point], new: Mapping[str, Task] | None = None
    ) -> Manifest:
        tasks = {record: task for record, (_, task) in self._planned.items()} | dict(new or {})
        key = (sweep.name, workload, len(tasks), *map(id, points))
        if key not in self._written:
            written = self._written[key] = manifest.write(sweep, workload, points, tasks, self.root)
            if self._storage and not self._storage.holds(written.path):
                self._storage.store(written.path)
        return self._written[key]

    def planned(self) -> list[str]:
        """Run records that were missing when this call planned their points."""
        return list(self._planned)

    def _task(self, point: Point) -> Task:
        engine, tools = simulating_engine(point.engine), self.tools(point.release)
        needs = engine.needs(tools, point)
        self._pending.add((point.release, engine.use(tools.workload(point.described_by))))
        self.kernels.add(needs, point.release, for_launcher=engine.for_launcher)
        priority = self._priority(point)
        for file in needs.made_for_runs():
            self._priorities[file] = max(priority, self._priorities.get(file, priority))
        seconds = None if self._has_begun(point) else self._expected[point.record]
        return Task(point, needs.inputs(), schedule.memory_limit(point), seconds)

    def _estimate(self, points: Sequence[Point]) -> None:
        """What each point is expected to take, once for all points of an engine."""
        for name in {point.engine for point in points}:
            mine = [point for point in points if point.engine == name]
            if any(point.record not in self._expected for point in mine):
                lower_bound = get_engine(name).cost_is_a_lower_bound
                seconds = estimate.each_point(mine, lower_bound=lower_bound, root=self.root)
                for point, each in zip(mine, seconds, strict=True):
                    self._expected.setdefault(point.record, each)

    def _has_begun(self, point: Point) -> bool:
        """Whether it has run before. What did not end as expected gets all the time there is."""
        return (self.root / point.record).with_name("attempts").exists()

    def _plan_all(self) -> None:
        """Plan every run of every sweep, for a target that is none of a sweep's results."""
        for point in self.campaign.simulated_points():
            if not self._is_done(point.record):
                self._planned_job(point.record)

    def _is_done(self, record: str) -> bool:
        return (self.root / record).exists()

    # rules simulate and batch ----------------------------------------------------------------------------
    def job_inputs(self, wildcards: Wildcards) -> Mapping[str, list[str]]:
        """The plan and what the runs of a job need; a run that has its record needs nothing, no toolchain."""
        of_workflow = not self._is_job and not wildcards.get("batch")
        if of_workflow and self._is_done(paths.run_record(**wildcards)):
            return {}
        plan, tasks = self._job(wildcards)
        needs = dict.fromkeys(file for task in tasks for file in task.inputs.files)
        return {"plan": [plan.path], "needs": list(needs)}

    def job_memory(self, wildcards: Wildcards) -> int:
        """Megabytes to ask of the scheduler: what the largest run may take, and room for our processes."""
        return max(task.memory_mb for task in self._job(wildcards)[1]) + schedule.OWN_MEMORY_MB

    def job_minutes(self, wildcards: Wildcards) -> int:
        """Minutes to ask of the scheduler: from the estimates, with the sweep's wall limit as cap of each."""
        plan, tasks = self._job(wildcards)
        return schedule.minutes((task.seconds for task in tasks), plan.settings.wall_seconds)

    def expected_memory(self, wildcards: Wildcards) -> int:
        """Megabytes that a run is expected to take: so many run at a time on this machine as fit."""
        point = self._point(wildcards)
        expected = schedule.expected_memory(point)
        if self.tools(point.release).site.shared_start:
            expected *= 2  # the gem5 that is forked
        return expected if self.memory_mb is None else min(expected, self.memory_mb)

    def priority(self, wildcards: Wildcards) -> float:
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
        if point.record not in self._expected:
            sweep, _ = self.campaign.of_record(point.record)
            self._estimate(self.campaign.points(sweep, point.workload, point.engine))
        shares = self.tools(point.release).site.shared_start
        machine = json.dumps([point.release, dict(point.changed)], sort_keys=True) if shares else None
        return schedule.priority(self._expected.get(point.record), machine)

    def _point(self, wildcards: Wildcards) -> Point:
        if self._is_job:
            return self._job(wildcards)[1][0].point
        return self.campaign.of_record(paths.run_record(**wildcards))[1]

    def _job(self, wildcards: Wildcards) -> tuple[Manifest, list[Task]]:
        """The manifest that has a job's points, whose records are missing, and their rows.

        Raises:
            EngineError: no manifest has them.
        """
        if batch := wildcards.get("batch"):
            return self._published(paths.batch(batch), batch=batch)
        if self._is_job:
            where = {"engine": wildcards["engine"], "id": wildcards["point"]}
            return self._published(paths.run_dir(**wildcards), wildcards["workload"], **where)
        return self._planned_job(paths.run_record(**wildcards))

    def _planned_job(self, record: str) -> tuple[Manifest, list[Task]]:
        if record not in self._planned:
            sweep, point = self.campaign.of_record(record)
            self.plan(self.campaign.load(sweep), point.workload, [record])
        plan, task = self._planned[record]
        return plan, [task]

    def _find_published(
        self, what: str, workload: str | None = None, **where: str
    ) -> tuple[Manifest, list[Task]]:
        if self._storage:
            self._storage.fetch(paths.current_plan())
        for plan in manifest.published(self.root):
            if self._storage:
                self._storage.fetch_missing([plan.path])
            if workload in (None, plan.workload) and (tasks := plan.tasks(**where)):
                return plan, tasks
        raise EngineError(
            "no plan has this job (any more)",
            file=paths.current_plan(),
            value=what,
            remedy="start the workflow again, which plans what is missing: snakemake --cores all TARGET",
        )

    # readiness -------------------------------------------------------------------------------------------
    def check_ready(self) -> None:
        """Before the first job: can this machine do what is pending? Nothing is checked when nothing is.

        Raises:
            EngineError: one message with all that is missing, how to get it, and what runs here without it.
        """
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
