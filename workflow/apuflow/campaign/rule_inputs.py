"""Inputs of the rules of the expensive stages: what a tool, a point, a database or an object is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

from apuflow.campaign.campaign import Campaign
from apuflow.configure.combinations import releases
from apuflow.configure.point import Point
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.engines import get_engine, simulating_engine
from apuflow.miopen.database import key
from apuflow.miopen.prepare import DatabasePlan
from apuflow.prepare.doctor import Use
from apuflow.prepare.tools import ObjectOrder, Toolset

Wildcards = Mapping[str, str]

LEAST_MEMORY_MB = 4000
MEMORY_MARGIN = 2
"""A run is ended above this many times its estimated memory: room for a wrong estimate, none for a leak."""


class RuleInputs:
    """Knows what every file of the expensive stages is for; filled as Snakemake walks from runs to inputs."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self.root = campaign.root
        self.tools = cache(lambda release: Toolset(release, campaign.root))
        self._objects: dict[str, ObjectOrder] = {}
        self._databases: dict[str, DatabasePlan] = {}
        self._pending: set[tuple[str, Use]] = set()

    # toolchain -------------------------------------------------------------------------------------------
    def source_checked(self, wildcards: Wildcards) -> list[str]:
        """No file: sources are made from nothing."""
        self._requested(f"source-{wildcards['repository']}", wildcards)
        return []

    def image_sources(self, wildcards: Wildcards) -> list[str]:
        """gem5's checkout, where the image is built from its Dockerfile."""
        tools = self._requested("image", wildcards)
        builds = tools.site.container != "host" and tools.image_mode == "build"
        return [tools.record("source-gem5")] if builds else []

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

    def simulation_inputs(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """What a point needs; nothing when its record is there, so that a proven run needs no toolchain."""
        point = self._point(wildcards)
        record = paths.run_record(point.engine, point.workload, point.id)
        if (self.root / record).exists():
            return {}
        engine = simulating_engine(point.engine)
        tools = self.tools(point.release)
        self._pending.add((point.release, engine.use(tools.workload(point.workload))))
        needs = engine.needs(tools, point)
        for item in needs.objects:
            order = ObjectOrder.of(item, point.release, for_launcher=engine.for_launcher)
            self._objects[paths.kernel_object(item.gfx, item.name)] = order
        if needs.database is not None:
            self._databases[needs.database.path] = needs.database
        return needs.rule_inputs()

    def point_sweep(self, wildcards: Wildcards) -> str:
        """The sweep whose limits and settings the run takes."""
        return self.campaign.sweep_of(wildcards["engine"], wildcards["workload"], wildcards["point"])

    def point_axes(self, wildcards: Wildcards) -> dict[str, Any]:
        """The point's values of what varies: its job need not resolve the whole sweep to find it."""
        return dict(self._point(wildcards).axes)

    def simulation_memory(self, wildcards: Wildcards) -> int:
        """Megabytes that a run may take."""
        point = self._point(wildcards)
        expected = get_engine(point.engine).host_memory(point) >> 20
        return max(LEAST_MEMORY_MB, MEMORY_MARGIN * expected)

    def simulation_minutes(self, wildcards: Wildcards) -> int:
        """The sweep's wall limit, with time to stop and to publish."""
        sweep = self.campaign.load(self.point_sweep(wildcards))
        return int(sweep.limits.wall_seconds // 60) + 5

    def _point(self, wildcards: Wildcards) -> Point:
        return self.campaign.point(wildcards["engine"], wildcards["workload"], wildcards["point"])

    # kernels ---------------------------------------------------------------------------------------------
    def object_order(self, wildcards: Wildcards) -> dict[str, Any]:
        """What to compile, as plain values for the job."""
        return asdict(self._object(paths.kernel_object(wildcards["gfx"], wildcards["object"])))

    def object_sources(self, wildcards: Wildcards) -> list[str]:
        """The checkout of MIOpen, where it is not the site's own."""
        order = self._object(paths.kernel_object(wildcards["gfx"], wildcards["object"]))
        return self.tools(order.release).kernel_sources()

    def database_objects(self, wildcards: Wildcards) -> list[str]:
        """The compiled kernels of a database, in its order."""
        plan = self._database(wildcards)
        return [paths.kernel_object(item.gfx, item.name) for item in plan.objects]

    def database_order(self, wildcards: Wildcards) -> list[tuple[str, str]]:
        """MIOpen's keys, in the order of the objects."""
        plan = self._database(wildcards)
        return [key(item.row, plan.gfx) for item in plan.objects]

    def _object(self, path: str) -> ObjectOrder:
        if path not in self._objects:
            self._walk()
        if path not in self._objects:
            raise _not_planned(path)
        return self._objects[path]

    def _database(self, wildcards: Wildcards) -> DatabasePlan:
        path = paths.kernel_database(wildcards["release"], wildcards["rows"], wildcards["database"])
        if path not in self._databases:
            self._walk()
        if path not in self._databases:
            raise _not_planned(path)
        return self._databases[path]

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
            check_gem5_ready(tools.site, tools.release, self.root, use=use)


def _not_planned(path: str) -> ConfigError:
    return ConfigError(
        "no sweep needs this file",
        value=path,
        remedy="name a file of results/ as the target: what it needs is made on the way",
    )
