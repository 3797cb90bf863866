"""Points of a sweep: each combination of values that every check lets through.

Points of suites: one for each distinct operation, whichever suites have it and however often. A member is one
suite at one combination of a sweep's values. Its steps are what it runs; each step that an engine can run has
a point. Points of all members together, each once, are the points of the sweep's workload ``operations``.
"""

from __future__ import annotations

import fnmatch
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path

from apuflow.configure.base import did_you_mean, listing
from apuflow.configure.combinations import Assignment, Plan, line_of, plan
from apuflow.configure.loading import workload_names
from apuflow.configure.operation_workload import SuiteOperations
from apuflow.configure.point import Point
from apuflow.configure.suite import choice_of, load_suite, sweep_suites
from apuflow.configure.sweep import Sweep
from apuflow.configure.workloads import load_workload
from apuflow.core import collection, paths
from apuflow.core.engines import EngineName
from apuflow.core.errors import ConfigError
from apuflow.engines import runs_on
from apuflow.engines.resolve import Resolver
from apuflow.suites.spec import Direction, Refused, Spec
from apuflow.suites.step import OPERATION, Choice, Step
from apuflow.suites.suite import Suite

AXIS = f"layer.{OPERATION}"
_LAYER = "layer."


@collection.paused()
def points(
    sweep: Sweep,
    workload: str,
    root: Path = Path(),
    engines: Sequence[EngineName] = (),
    chosen: Sequence[Assignment] | None = None,
) -> list[Point]:
    """Every point of one workload of a sweep: per engine, in the order of the axes, the last one fastest.

    Args:
        engines: in place of the sweep's.
        chosen: combinations of the axes; None: all.

    Raises:
        ConfigError: the workload is unknown, or a point cannot run; then every reason is listed.
    """
    if workload == paths.OPERATIONS:
        return operations(sweep, members(sweep, root), root)
    planned = plan(sweep, workload, root)
    resolver = Resolver(sweep, load_workload(workload, root), planned, root)
    found: list[Point | None] = []
    for engine in engines or sweep.engines:
        resolver.check_engine(engine)
        assignments = planned.combinations() if chosen is None else chosen
        found += [resolver.resolve(engine, assignment) for assignment in assignments]
    resolver.raise_problems()
    return [point for point in found if point is not None]


def operations(sweep: Sweep, every: Sequence[Member], root: Path = Path()) -> list[Point]:
    """The points of all members of a sweep, each once.

    Raises:
        ConfigError: there is none; then every reason is listed.
    """
    if found := distinct(every):
        return found
    refused = ((step, spec) for one in every for step, spec in one.items if isinstance(spec, Refused))
    whys = dict.fromkeys(f"{step.op}: {spec.why}" for step, spec in refused)
    raise ConfigError(
        f"nothing of the sweep's suites runs on an engine: {'; '.join(whys)}",
        file=line_of(sweep, root, ["suites"]),
        key="suites",
        value=", ".join(sweep.suites),
        remedy="name another suite; `apuflow suites` counts what each of them runs",
    )


# workloads of a sweep ------------------------------------------------------------------------------------
def sweep_workloads(sweep: Sweep, root: Path = Path()) -> list[str]:
    """Names of the sweep's workloads; the points of all its suites are one more.

    ``all`` means every workload that each of the sweep's engines can run. A name or pattern with ``-`` before
    it leaves workloads out.

    Raises:
        ConfigError: a name or pattern that matches nothing.
    """

    def refused(problem: str, value: object, remedy: str) -> ConfigError:
        file = root / paths.sweep_file(sweep.name)
        return ConfigError(problem, file=file, key="workloads", value=value, remedy=remedy)

    known = workload_names(root)
    chosen: list[str] = []
    for entry in sweep.workloads:
        leave_out, pattern = entry.startswith("-"), entry.removeprefix("-")
        if pattern == "all":
            matches = [name for name in known if _runnable(name, sweep, root)]
        else:
            matches = fnmatch.filter(known, pattern)
        if not matches:
            remedy = f"{did_you_mean(pattern, known)}known: {listing(known)}"
            raise refused("no workload of this name", entry, remedy)
        if leave_out:
            chosen = [name for name in chosen if name not in matches]
        else:
            chosen += [name for name in matches if name not in chosen]
    if sweep.suites and sweep_suites(sweep, root):
        chosen.append(paths.OPERATIONS)
    if not chosen:
        named = list(sweep.workloads)
        raise refused("the sweep leaves out every workload", named, "name at least one workload")
    return chosen


def _runnable(name: str, sweep: Sweep, root: Path) -> bool:
    """Whether ``all`` takes a workload. One whose file has a mistake is left out, and that is said."""
    try:
        workload = load_workload(name, root)
    except ConfigError as error:
        _say_left_out(name, str(error))
        return False
    if "preview" in sweep.engines and workload.executed:
        return False  # it needs a compiler
    return all(runs_on(workload, engine).state != "no" for engine in sweep.engines)


@lru_cache(maxsize=256)
def _say_left_out(name: str, why: str) -> None:
    print(f"apuflow: {name} is not part of 'all': {why}", file=sys.stderr)


# suites --------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Member:
    """One suite at one combination of values, on one engine.

    Attributes:
        assignment: the combination, as the sweep's file gives it; ``layer.n`` and its like among it.
        items: every step, with its point or why it has none.
    """

    suite: Suite
    choice: Choice
    engine: EngineName
    assignment: Assignment
    items: tuple[tuple[Step, Point | Refused], ...]

    @property
    def points(self) -> Iterator[Point]:
        """The points of its items; one that several items share comes several times."""
        return (point for _, point in self.items if isinstance(point, Point))


@collection.paused()
def members(sweep: Sweep, root: Path = Path()) -> list[Member]:
    """Every suite of a sweep at every combination of its values, engine by engine.

    Raises:
        ConfigError: a suite or choice that does not exist, or an operation that cannot run.
    """
    found: list[Member] = []
    for name in sweep_suites(sweep, root):
        suite = load_suite(name, root)
        planned = plan(sweep, name, root)
        resolvers = _resolvers(sweep, planned, root)
        for engine in sweep.engines:
            for assignment in planned.combinations():
                layer = {name: value for name, value in assignment if name.startswith(_LAYER)}
                machine = tuple(pair for pair in assignment if pair[0] not in layer)
                varied = {name.removeprefix(_LAYER): value for name, value in layer.items()}
                try:
                    choice = choice_of({**planned.layer, **varied})
                    items = tuple(_items(_specified(suite, choice), engine, machine, resolvers))
                except ConfigError as error:
                    key = (error.key or "").removeprefix(_LAYER)
                    error.file = error.file or line_of(sweep, root, [key, "layer", "suites"])
                    raise error from None
                found.append(Member(suite, choice, engine, assignment, items))
        for resolver in resolvers.values():
            resolver.raise_problems()
    return found


def distinct(found: Iterable[Member]) -> list[Point]:
    """Each point of these members once, engine by engine."""
    unique: dict[EngineName, dict[str, Point]] = {}
    for point in (point for member in found for point in member.points):
        unique.setdefault(point.engine, {}).setdefault(point.id, point)
    return [point for of_engine in unique.values() for point in of_engine.values()]


def _resolvers(sweep: Sweep, planned: Plan, root: Path) -> Mapping[Direction, Resolver]:
    """By direction, since an engine's part of a point's identity has it."""
    of_machine = replace(planned, layer={})
    made: dict[Direction, Resolver] = {}
    for direction in ("fwd", "bwd"):
        made[direction] = Resolver(sweep, SuiteOperations(direction=direction), of_machine, root)
        for engine in sweep.engines:
            made[direction].check_engine(engine)
        made[direction].raise_problems()
    return made


@lru_cache(maxsize=512)
def _specified(suite: Suite, choice: Choice) -> tuple[tuple[Step, Spec | Refused], ...]:
    return suite.specified(choice)


def _items(
    specified: Iterable[tuple[Step, Spec | Refused]],
    engine: EngineName,
    machine: Assignment,
    resolvers: Mapping[Direction, Resolver],
) -> Iterator[tuple[Step, Point | Refused]]:
    @cache
    def resolved(spec: Spec) -> Point | None:
        return resolvers[spec.direction].resolve(engine, (*machine, (AXIS, spec.text)))

    for step, spec in specified:
        point = spec if isinstance(spec, Refused) else resolved(spec)
        if point is not None:
            yield step, point
