"""Inputs of the rules of the expensive stages: what a tool, a point, a database or an object is made from."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any

from apuflow.campaign import schedule
from apuflow.campaign.campaign import Campaign
from apuflow.campaign.kernel_orders import KernelOrders
from apuflow.campaign.orders import OWN_MEMORY_MB, BatchOrder, Orders, PointOrder, asked_minutes, divide
from apuflow.campaign.storage import Storage
from apuflow.configure.combinations import releases
from apuflow.configure.point import Point
from apuflow.configure.sweep import Sweep
from apuflow.core import paths
from apuflow.core.engines import SIMULATING, EngineName, is_batch
from apuflow.core.errors import ConfigError
from apuflow.engines import estimate, get_engine, simulating_engine
from apuflow.prepare.doctor import Use
from apuflow.prepare.tools import Toolset

Wildcards = Mapping[str, str]

_RUN = paths.matcher(paths.run_record(), engine="|".join(SIMULATING))
LEAST_MEMORY_MB = 4000
MEMORY_MARGIN = 2
"""A run is ended above this many times its estimated memory: room for a wrong estimate, none for a leak."""


class RuleInputs:
    """Knows what every file of the expensive stages is for; filled as Snakemake walks from runs to inputs.

    Attributes:
        to_run: wildcards of the points that have no record here.
        kernels: what kernels are made from.
        memory_mb: memory that runs may take together; None in the process of a single job.

    Args:
        campaign: the project.
        elsewhere: whether jobs run on other machines; asked when the first job is planned.
        is_job: whether this process is such a job: it finds its order written.
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
        self.orders = Orders(campaign.root, storage)
        self._storage = storage
        self._elsewhere = elsewhere
        self._is_job = is_job
        self.to_run: list[dict[str, str]] = []
        self._batches: dict[str, BatchOrder] = {}
        self._batch_of: dict[str, str] = {}
        self._planned: set[str] = set()
        self._expected: dict[str, float | None] = {}
        self.root = campaign.root
        self.tools = cache(lambda release: Toolset(release, campaign.root))
        self._lengths = cache(self._expected_lengths)
        self.memory_mb: int | None = None
        self.kernels = KernelOrders(self.tools, self._walk)
        self._pending: set[tuple[str, Use]] = set()
        self._priorities: dict[str, float] = {}

    # toolchain -------------------------------------------------------------------------------------------
    def source_checked(self, wildcards: Wildcards) -> list[str]:
        """No file: sources are made from nothing."""
        self._requested(f"source-{wildcards['repository']}", wildcards)
        return []

    def image_sources(self, wildcards: Wildcards) -> list[str]:
        """gem5's checkout, where the image may be built from its Dockerfile."""
        tools = self._requested("image", wildcards)
        return [tools.record("source-gem5")] if tools.image_sources_in_gem5 else []

    def gem5_sources(self, wildcards: Wildcards) -> list[str]:
        """gem5's checkout and the image that it is compiled in; of the site's own gem5, its checkout."""
        target = wildcards.get("target")
        tools = self._requested(f"gem5-{target}" if target else "gem5", wildcards)
        return [tools.record("source-gem5"), *([tools.record("image")] if target else [])]

    def dnnmark_sources(self, wildcards: Wildcards) -> list[str]:
        """The checkout of DNNMark (not of the site's own build) and the image that it is compiled in."""
        tools = self._requested("dnnmark", wildcards)
        own = tools.site.dnnmark.build is not None
        return [*([] if own else [tools.record("source-resources")]), tools.record("image")]

    def _requested(self, tool: str, wildcards: Wildcards) -> Toolset:
        """The release's tools, if the record to be made is of what the configuration asks for."""
        tools = self.tools(wildcards["release"])
        if tools.request(tool) != wildcards["request"]:
            raise ConfigError(
                "the configuration asks for another version of this tool than the target names",
                value=paths.tool_record(tools.release.name, tool, wildcards["request"]),
                remedy=f"name {tools.record(tool)} instead, or a file of results/ that needs it",
            )
        return tools

    # runs ------------------------------------------------------------------------------------------------
    def table_records(self, wildcards: Wildcards, checkpoints: Any) -> list[str]:
        """Records behind a table: gem5's points are known once the image is, whose digest is part of them."""
        sweep = self.campaign.sweep(wildcards["under"])
        workload = wildcards["workload"]
        for engine in filter(lambda engine: engine.image_in_identity, map(get_engine, sweep.engines)):
            for release in releases(sweep, workload, self.root):
                tools = self.tools(release)
                use = engine.use(tools.workload(workload))
                if not (self.root / tools.record("image")).exists():
                    self._pending.add((release, use))
                checkpoints.image.get(release=release, request=tools.request("image"))
        return self.campaign.records(sweep, workload)

    def table_inputs(self, wildcards: Wildcards, checkpoints: Any) -> dict[str, list[str]]:
        """Records behind a table."""
        sweep = self.campaign.sweep(wildcards["under"])
        if sweep.sampling is not None:
            return {"records": self._sample_records(sweep), "batches": []}
        records = self.table_records(wildcards, checkpoints)
        if wildcards["workload"] in self.campaign.suites(sweep):
            return {"records": records, "batches": []}
        return self.in_batches(sweep, wildcards["workload"], records)

    def in_batches(self, sweep: Sweep, workload: str, records: Sequence[str]) -> dict[str, list[str]]:
        """Run records as inputs of a rule. Where jobs run elsewhere, points of seconds come in batches."""
        if self._storage or not self._elsewhere():
            return {"records": self._carried(records), "batches": []}
        self._plan_batches(sweep, workload, frozenset(records))
        batches = dict.fromkeys(
            paths.batch(self._batch_of[file]) for file in records if file in self._batch_of
        )
        return {"records": [file for file in records if file not in self._batch_of], "batches": list(batches)}

    def _carried(self, records: Iterable[str]) -> list[str]:
        """Records of runs, with the bundles in which storage carries what else the runs left."""
        runs = map(_RUN.fullmatch, records) if self._storage else ()
        return [*records, *(paths.run_bundle(**run.groupdict()) for run in runs if run)]

    @staticmethod
    def _sample_records(sweep: Sweep) -> list[str]:
        """What the operations of a sample are known from: its table names those that ran."""
        records = [paths.sampled(paths.under(sweep.name))]
        if any(map(is_batch, sweep.engines)):
            records.append(paths.preview_record(sweep.name, paths.OPERATIONS))
        return records

    def _plan_batches(self, sweep: Sweep, workload: str, records: Collection[str]) -> None:
        """Divide those points that are to run, once: a batch keeps its points while the workflow runs."""
        tools = self.tools(sweep.release)
        for engine in sweep.engines:
            if is_batch(engine):
                continue
            points = self.campaign.points(sweep.name, workload, engine)
            seconds = self._seconds(engine, points)
            new = [
                (point, expected)
                for point, expected in zip(points, seconds, strict=True)
                if self._record(point) in records
                and self._record(point) not in self._planned
                and not self._begun(point)
            ]
            self._planned.update(self._record(point) for point, _ in new)
            orders = [
                self._order(point, sweep.name, expected) for point, expected in new if expected is not None
            ]
            for batch in divide(orders, tools.site.batch_seconds):
                self._batches[batch.name] = batch
                self._batch_of.update(dict.fromkeys((order.record for order in batch.points), batch.name))
                self.orders.write(batch)

    def _seconds(self, engine: EngineName, points: Sequence[Point]) -> list[float | None]:
        """What each point is expected to take; reckoned once."""
        known = self._expected
        if any(self._record(point) not in known for point in points):
            lower_bound = get_engine(engine).cost_is_a_lower_bound
            expected = estimate.each_point(points, lower_bound=lower_bound, root=self.root)
            for point, each in zip(points, expected, strict=True):
                known.setdefault(self._record(point), each)
        return [known[self._record(point)] for point in points]

    def _begun(self, point: Point) -> bool:
        """Whether it has run before. What did not end as expected gets all the time there is."""
        directory = self.root / paths.run_dir(point.engine, point.workload, point.id)
        return (directory / "run.json").exists() or (directory / "attempts").exists()

    @staticmethod
    def _record(point: Point) -> str:
        return paths.run_record(point.engine, point.workload, point.id)

    def batch_inputs(self, wildcards: Wildcards) -> list[str]:
        """What the points of a batch need (see simulation_inputs)."""
        return self._batch(wildcards).inputs()

    def batch_memory(self, wildcards: Wildcards) -> int:
        """Megabytes to ask of the scheduler: for the largest run, and for us."""
        return self._batch(wildcards).memory_mb + OWN_MEMORY_MB

    def batch_minutes(self, wildcards: Wildcards) -> int:
        """Minutes to ask of the scheduler."""
        return self._batch(wildcards).minutes

    def _batch(self, wildcards: Wildcards) -> BatchOrder:
        return self._batches.get(wildcards["batch"]) or self.orders.batch(wildcards["batch"])

    def simulation_inputs(self, wildcards: Wildcards) -> Mapping[str, list[str]]:
        """What a point needs; nothing when its record is there, so that a proven run needs no toolchain."""
        record = paths.run_record(wildcards["engine"], wildcards["workload"], wildcards["point"])
        written = self.orders.point(wildcards) if self._is_job else None
        if written is not None:
            return written.inputs
        point = self._point(wildcards)
        if (self.root / record).exists():
            return {}
        self.to_run.append(dict(wildcards))
        if self._elsewhere():
            self.orders.write(self._order(point, self.point_sweep(wildcards), self._expected_of(point)))
        return self._needs(point)

    def _needs(self, point: Point) -> dict[str, list[str]]:
        """What a point needs, as inputs of its rule; what they are made from is remembered."""
        engine = simulating_engine(point.engine)
        tools = self.tools(point.release)
        self._pending.add((point.release, engine.use(tools.workload(point.workload))))
        needs = engine.needs(tools, point)
        self.kernels.remember(needs, point.release, for_launcher=engine.for_launcher)
        priority = self._priority(point)
        for file in needs.made_for_runs():
            self._priorities[file] = max(priority, self._priorities.get(file, priority))
        return needs.rule_inputs()

    def _order(self, point: Point, sweep: str, seconds: float | None) -> PointOrder:
        limits = self.campaign.load(sweep).limits
        return PointOrder(
            point.engine,
            point.workload,
            point.id,
            sweep,
            dict(point.axes),
            self._needs(point),
            self._memory(point),
            asked_minutes(seconds, limits.wall_seconds),
            seconds,
        )

    def _expected_of(self, point: Point) -> float | None:
        """Seconds that a job of its own may count on; None: the sweep's wall limit."""
        return None if self._begun(point) else self._expected.get(self._record(point))

    def simulation_order(self, wildcards: Wildcards) -> dict[str, Any]:
        """What the job of a point is told: sweep, values of what varies, memory that the run may take.

        Also its inputs, where they are not the rule's.
        """
        written = self.orders.point(wildcards) if self._is_job else None
        if written is not None:
            return asdict(written)
        point = self._point(wildcards)
        return {
            "inputs": None,
            "sweep": self.point_sweep(wildcards),
            "axes": dict(point.axes),
            "memory_mb": self._memory(point),
        }

    def point_sweep(self, wildcards: Wildcards) -> str:
        """The sweep whose limits and settings the run takes."""
        return self.campaign.sweep_of(wildcards["engine"], wildcards["workload"], wildcards["point"])

    def simulation_memory(self, wildcards: Wildcards) -> int:
        """Megabytes to ask of the scheduler: what the run may take, and room for our own processes."""
        written = self.orders.point(wildcards) if self._is_job else None
        return (written.memory_mb if written else self._memory(self._point(wildcards))) + OWN_MEMORY_MB

    def expected_memory(self, wildcards: Wildcards) -> int:
        """Megabytes that a run is expected to take: so many run at a time on this machine as fit."""
        point = self._point(wildcards)
        expected = get_engine(point.engine).host_memory(point) >> 20
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
        sweep = self.campaign.sweep_of(point.engine, point.workload, point.id)
        seconds = self._lengths(sweep, point.workload, point.engine).get(point.id)
        shares = self.tools(point.release).site.shared_start
        machine = json.dumps([point.release, dict(point.options.changed)], sort_keys=True) if shares else None
        return schedule.priority(seconds, machine)

    def _expected_lengths(self, sweep: str, workload: str, engine: EngineName) -> dict[str, float | None]:
        """Seconds that the points of a workload are expected to take, by their names."""
        points = self.campaign.points(sweep, workload, engine)
        lower_bound = get_engine(engine).cost_is_a_lower_bound
        seconds = estimate.each_point(points, lower_bound=lower_bound, root=self.root)
        return {point.id: each for point, each in zip(points, seconds, strict=True)}

    def simulation_minutes(self, wildcards: Wildcards) -> int:
        """Minutes to ask of the scheduler: from the estimate, with the sweep's wall limit as cap."""
        written = self.orders.point(wildcards) if self._is_job else None
        if written is not None:
            return written.minutes
        sweep = self.campaign.load(self.point_sweep(wildcards))
        return asked_minutes(self._expected_of(self._point(wildcards)), sweep.limits.wall_seconds)

    def _memory(self, point: Point) -> int:
        """Megabytes that a run may take."""
        expected = get_engine(point.engine).host_memory(point) >> 20
        return max(LEAST_MEMORY_MB, MEMORY_MARGIN * expected)

    def _point(self, wildcards: Wildcards) -> Point:
        return self.campaign.point(wildcards["engine"], wildcards["workload"], wildcards["point"])

    def _walk(self) -> None:
        """Go through every sweep: a job on another machine starts from a file, not from a table."""
        for point in self.campaign.simulated_points():
            self.simulation_inputs({"engine": point.engine, "workload": point.workload, "point": point.id})

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
                _refuse_tools_made_here(tools, use)
            check_gem5_ready(tools.site, tools.release, self.root, use=use)


def _refuse_tools_made_here(tools: Toolset, use: Use) -> None:
    """Storage carries what rules make, and no builds: the tools have to be where the jobs run.

    Raises:
        ConfigError: the site does not name them.
    """
    named = {"gem5.binary": tools.site.gem5.binary}
    if use is Use.DNNMARK:
        named["dnnmark.build"] = tools.site.dnnmark.build
    for key in (key for key, value in named.items() if value is None):
        raise ConfigError(
            "jobs that share no file system with this machine cannot use what is built here",
            file="configs/site.yaml",
            key=key,
            remedy="name one that is in the jobs' image, and start the workflow in that image",
        )
