"""Points of suites: one for each distinct operation, whichever suites have it and however often.

A member is one suite at one combination of a sweep's values. Its steps are what it runs; each step that an
engine can run has a point. Points of all members together, each once, are the points of the sweep's workload
``operations``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from apuflow.configure.combinations import Assignment, Plan, line_of, plan
from apuflow.configure.operation_workload import SuiteOperations
from apuflow.configure.point import Point
from apuflow.configure.suite import choice_of, load_suite, sweep_suites
from apuflow.configure.sweep import Sweep
from apuflow.core import collection
from apuflow.core.engines import EngineName
from apuflow.core.errors import ConfigError
from apuflow.engines.resolve import Resolver
from apuflow.suites.spec import Direction, Refused, Spec
from apuflow.suites.step import OPERATION, Choice, Step
from apuflow.suites.suite import Suite

AXIS = f"layer.{OPERATION}"
_LAYER = "layer."


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
                choice = _choice(sweep, planned, assignment, root)
                machine = tuple(pair for pair in assignment if not pair[0].startswith(_LAYER))
                items = tuple(_items(suite, choice, engine, machine, resolvers, sweep, root))
                found.append(Member(suite, choice, engine, assignment, items))
        for resolver in resolvers.values():
            resolver.raise_problems()
    return found


def distinct(found: Iterable[Member]) -> Iterator[Point]:
    """Each point of these members once, engine by engine."""
    points: dict[tuple[str, str], Point] = {}
    for member in found:
        for point in member.points:
            points.setdefault((point.engine, point.id), point)
    engines = dict.fromkeys(engine for engine, _ in points)
    yield from (point for engine in engines for (of, _), point in points.items() if of == engine)


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


def _choice(sweep: Sweep, planned: Plan, assignment: Assignment, root: Path) -> Choice:
    varied = {name.removeprefix(_LAYER): value for name, value in assignment if name.startswith(_LAYER)}
    try:
        return choice_of({**planned.layer, **varied})
    except ConfigError as error:
        raise _placed(error, sweep, root) from None


def _placed(error: ConfigError, sweep: Sweep, root: Path) -> ConfigError:
    key = error.key or ""
    if error.file is None:
        error.file = line_of(sweep, root, [key.removeprefix(_LAYER), "layer", "suites"])
    return error


def _items(
    suite: Suite,
    choice: Choice,
    engine: EngineName,
    machine: Assignment,
    resolvers: Mapping[Direction, Resolver],
    sweep: Sweep,
    root: Path,
) -> Iterator[tuple[Step, Point | Refused]]:
    try:
        specified = _specified(suite, choice)
    except ConfigError as error:
        raise _placed(error, sweep, root) from None
    made: dict[Spec, Point | None] = {}
    for step, spec in specified:
        if isinstance(spec, Refused):
            yield step, spec
            continue
        if spec not in made:
            made[spec] = resolvers[spec.direction].resolve(engine, (*machine, (AXIS, spec.text)))
        point = made[spec]
        if point is not None:
            yield step, point


@lru_cache(maxsize=512)
def _specified(suite: Suite, choice: Choice) -> tuple[tuple[Step, Spec | Refused], ...]:
    return suite.specified(choice)
