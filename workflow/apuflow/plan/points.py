"""Points of a sweep: each combination of values that every check lets through."""

from __future__ import annotations

import fnmatch
import sys
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NoReturn

from apuflow.configure.base import did_you_mean, listing
from apuflow.configure.combinations import Assignment, line_of, plan
from apuflow.configure.loading import workload_names
from apuflow.configure.point import Point
from apuflow.configure.suite import sweep_suites
from apuflow.configure.sweep import Sweep
from apuflow.configure.workloads import load_workload
from apuflow.core import collection, paths
from apuflow.core.engines import EngineName
from apuflow.core.errors import ConfigError
from apuflow.engines import runs_on
from apuflow.engines.resolve import Resolver
from apuflow.plan.members import Member, distinct, members
from apuflow.suites.spec import Refused


@collection.paused()
def points(sweep: Sweep, workload: str, root: Path = Path()) -> list[Point]:
    """Every point of one workload of a sweep: per engine, in the order of the axes, the last one fastest.

    Raises:
        ConfigError: the workload is unknown, or a point cannot run; then every reason is listed.
    """
    if workload == paths.OPERATIONS:
        every = members(sweep, root)
        return list(distinct(every)) or _refuse_empty(sweep, every, root)
    loaded = load_workload(workload, root)
    planned = plan(sweep, workload, root)
    resolver = Resolver(sweep, loaded, planned, root)
    result: list[Point] = []
    for engine in sweep.engines:
        resolver.check_engine(engine)
        for assignment in planned.combinations():
            point = resolver.resolve(engine, assignment)
            if point is not None:
                result.append(point)
    resolver.raise_problems()
    return result


def _refuse_empty(sweep: Sweep, every: Iterable[Member], root: Path) -> NoReturn:
    whys = dict.fromkeys(
        f"{step.op}: {spec.why}" for one in every for step, spec in one.items if isinstance(spec, Refused)
    )
    raise ConfigError(
        f"nothing of the sweep's suites runs on an engine: {'; '.join(whys)}",
        file=line_of(sweep, root, ["suites"]),
        key="suites",
        value=", ".join(sweep.suites),
        remedy="name another suite; `apuflow suites` counts what each of them runs",
    )


@collection.paused()
def chosen_points(
    sweep: Sweep, workload: str, engine: EngineName, chosen: Iterable[Assignment], root: Path = Path()
) -> list[Point]:
    """The points of some combinations of a workload's axes.

    Raises:
        ConfigError: the workload is unknown, or a point cannot run; then every reason is listed.
    """
    loaded = load_workload(workload, root)
    resolver = Resolver(sweep, loaded, plan(sweep, workload, root), root)
    resolver.check_engine(engine)
    found = [resolver.resolve(engine, assignment) for assignment in chosen]
    resolver.raise_problems()
    return [point for point in found if point is not None]


@lru_cache(maxsize=256)
def _say_left_out(name: str, why: str) -> None:
    print(f"apuflow: {name} is not part of 'all': {why}", file=sys.stderr)


def sweep_workloads(sweep: Sweep, root: Path = Path()) -> list[str]:
    """Names of the sweep's workloads; the points of all its suites are one more.

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
    if sweep.suites and sweep_suites(sweep, root):
        chosen.append(paths.OPERATIONS)
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
    """Whether ``all`` takes a workload. One whose file has a mistake is left out, and that is said."""
    try:
        workload = load_workload(name, root)
    except ConfigError as error:
        _say_left_out(name, str(error))
        return False
    if "preview" in sweep.engines and any(work.executed for work in workload.works):
        return False  # it needs a compiler
    return all(runs_on(workload, engine).state != "no" for engine in sweep.engines)
