"""Points of a sweep: each combination of values that every check lets through."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from pathlib import Path

from apuflow.campaign.resolve import Resolver
from apuflow.configure.base import did_you_mean, listing
from apuflow.configure.catalogue import Options
from apuflow.configure.combinations import Assignment, plan
from apuflow.configure.loading import workload_names
from apuflow.configure.point import Point
from apuflow.configure.sweep import Sweep
from apuflow.configure.workloads import Workload, load_workload
from apuflow.core import paths
from apuflow.core.engines import EngineName
from apuflow.core.errors import ConfigError
from apuflow.core.scalar import Scalar
from apuflow.engines import runs_on


def points(sweep: Sweep, workload: str, root: Path = Path()) -> list[Point]:
    """Every point of one workload of a sweep: per engine, in the order of the axes, the last one fastest.

    Raises:
        ConfigError: the workload is unknown, or a point cannot run; then every reason is listed.
    """
    loaded = load_workload(workload, root)
    planned = plan(sweep, workload, root)
    resolver = Resolver(sweep, loaded, planned, root)
    result: list[Point] = []
    for engine in sweep.engines:
        resolver.check_engine(engine)
        for assignment in planned.combinations():
            point = _point(resolver, loaded, engine, assignment)
            if point is not None:
                result.append(point)
    resolver.raise_problems()
    return result


def point_at(
    sweep: Sweep, workload: str, engine: EngineName, axes: Mapping[str, Scalar], root: Path = Path()
) -> Point:
    """One point of a sweep, by the values of what varies: without the work for all others.

    Args:
        axes: as ``Point.axes`` has them, in the same order.

    Raises:
        ConfigError: the workload is unknown, or the point cannot run.
    """
    loaded = load_workload(workload, root)
    resolver = Resolver(sweep, loaded, plan(sweep, workload, root), root)
    point = _point(resolver, loaded, engine, tuple(axes.items()))
    resolver.raise_problems()
    assert point is not None
    return point


def _point(resolver: Resolver, loaded: Workload, engine: EngineName, assignment: Assignment) -> Point | None:
    """The point of these values; None when something is wrong with it (the resolver knows what)."""
    resolved = resolver.resolve(engine, assignment)
    if resolved is None:
        return None
    options = Options(resolved.machine.defaults, resolved.options)
    return Point(
        engine=engine,
        workload=loaded.name,
        work=resolved.work,
        release=resolved.machine.release,
        release_facts=resolved.machine.release_file.facts,
        gfx=str(options["gfx-version"]),
        options=options,
        axes=dict(assignment),
        label=resolved.label,
        content=resolved.content,
    )


def sweep_workloads(sweep: Sweep, root: Path = Path()) -> list[str]:
    """Names of the sweep's workloads.

    ``all`` means every workload that each of the sweep's engines can run. A name or pattern with ``-`` before
    it leaves workloads out.

    Raises:
        ConfigError: a name or pattern that matches nothing.
    """
    known = workload_names(root)
    chosen: list[str] = []
    for entry in sweep.workloads:
        leave_out, pattern = entry.startswith("-"), entry.removeprefix("-")
        if pattern == "all":
            matches = [name for name in known if _runnable(name, sweep, root)]
        else:
            matches = fnmatch.filter(known, pattern)
        if not matches:
            raise ConfigError(
                "no workload of this name",
                file=root / paths.sweep_file(sweep.name),
                key="workloads",
                value=entry,
                remedy=f"{did_you_mean(pattern, known)}known: {listing(known)}",
            )
        if leave_out:
            chosen = [name for name in chosen if name not in matches]
        else:
            chosen += [name for name in matches if name not in chosen]
    if not chosen:
        raise ConfigError(
            "the sweep leaves out every workload",
            file=root / paths.sweep_file(sweep.name),
            key="workloads",
            value=list(sweep.workloads),
            remedy="name at least one workload",
        )
    return chosen


def _runnable(name: str, sweep: Sweep, root: Path) -> bool:
    workload = load_workload(name, root)
    return all(runs_on(workload, engine).state != "no" for engine in sweep.engines)
