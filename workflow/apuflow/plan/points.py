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
from apuflow.configure.kernel_workload import KernelsWorkload
from apuflow.configure.loading import workload_names
from apuflow.configure.operation_workload import SuiteOperations
from apuflow.configure.point import Point
from apuflow.configure.suite import choice_of, load_suite, sweep_suites
from apuflow.configure.sweep import Sweep
from apuflow.configure.work import label_of
from apuflow.configure.workloads import load_workload
from apuflow.core import collection, paths
from apuflow.core.engines import EngineName
from apuflow.core.errors import ConfigError
from apuflow.core.scalar import Scalar
from apuflow.engines import runs_on
from apuflow.engines.resolve import Resolver
from apuflow.operations import KINDS
from apuflow.suites.spec import Refused, Spec
from apuflow.suites.step import OPERATION, Choice, Passes, Step
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
        remedy="name another suite; `apuflow list suites` counts what each of them runs",
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
def members(
    sweep: Sweep,
    root: Path = Path(),
    chosen: Mapping[str, Sequence[Assignment]] | None = None,
    *,
    partly: bool = False,
) -> list[Member]:
    """Every suite of a sweep at every combination of its values, engine by engine.

    Args:
        chosen: by suite, combinations of the axes; of suites without an entry: all.
        partly: an operation that the engine does not model is ``Refused``, not an error.

    Raises:
        ConfigError: a suite or choice that does not exist, or an operation that cannot run.
    """
    found: list[Member] = []
    for name in sweep_suites(sweep, root):
        suite = load_suite(name, root)
        planned = plan(sweep, name, root)
        resolvers = _Resolvers(sweep, planned, root, partly=partly)
        for engine in sweep.engines:
            for assignment in (chosen or {}).get(name) or planned.combinations():
                layer = {name: value for name, value in assignment if name.startswith(_LAYER)}
                machine = tuple(pair for pair in assignment if pair[0] not in layer)
                varied = {name.removeprefix(_LAYER): value for name, value in layer.items()}
                try:
                    choice = _choice(suite, {**planned.layer, **varied}, resolvers.gfx(machine))
                    items = tuple(_items(_specified(suite, choice), engine, machine, resolvers))
                except ConfigError as error:
                    key = (error.key or "").removeprefix(_LAYER)
                    error.file = error.file or line_of(sweep, root, [key, "layer", "suites"])
                    raise error from None
                found.append(Member(suite, choice, engine, assignment, items))
        resolvers.raise_problems()
    return found


def distinct(found: Iterable[Member]) -> list[Point]:
    """Each point of these members once, engine by engine."""
    unique: dict[EngineName, dict[str, Point]] = {}
    for point in (point for member in found for point in member.points):
        unique.setdefault(point.engine, {}).setdefault(point.id, point)
    return [point for of_engine in unique.values() for point in of_engine.values()]


class _Resolvers:
    """Resolves what a suite's steps run as, on the machines of a sweep."""

    def __init__(self, sweep: Sweep, planned: Plan, root: Path, *, partly: bool = False) -> None:
        self._sweep, self._root, self._partly = sweep, root, partly
        self._planned = replace(planned, layer={})
        self._made: dict[str, Resolver] = {}
        self._workload = cache(lambda name: load_workload(name, root))

    def of(self, spec: Spec) -> Resolver:
        """That of its direction, since an engine's part of a point's identity has it; or of its workload."""
        name = spec.kind if spec.of_workload else spec.direction
        if name not in self._made:
            workload = self._kernels(name) if spec.of_workload else SuiteOperations(direction=spec.direction)
            made = self._made[name] = Resolver(self._sweep, workload, self._planned, self._root)
            for engine in self._sweep.engines:
                made.check_engine(engine)
            made.raise_problems()
        return self._made[name]

    def point(self, spec: Spec, engine: EngineName, machine: Assignment) -> Point | Refused | None:
        """The point of an operation or of an operator's kernels; None: what is wrong is noted."""
        resolver, text = self.of(spec), (AXIS, spec.text)
        if not spec.of_workload:
            why = resolver.not_modelled(engine, (*machine, text)) if self._partly else ""
            if why:
                return Refused(why)
            return resolver.resolve(engine, (*machine, text))
        known = self._kernels(spec.kind).spec.parameters
        untyped = "type" not in known and dict(spec.keys)["type"] == "float"
        wanted = {name: value for name, value in spec.keys if name != "type" or not untyped}
        if missing := [name for name in wanted if name not in known]:
            what = f"a workload that runs an operator has its sizes as parameters; {spec.kind} lacks some"
            remedy = f"parameters: {', '.join(wanted)} beside those of its own"
            file = self._root / paths.workload_file(spec.kind)
            raise ConfigError(what, file=file, key="parameters", value=", ".join(missing), remedy=remedy)
        keys = ((f"{_LAYER}{name}", value) for name, value in wanted.items())
        point = resolver.resolve(engine, (*machine, *keys))
        if point is None:
            return None
        label = label_of(spec.kind, *point.work.label, point.label)
        return replace(point, workload=paths.OPERATIONS, axes=dict((*machine, text)), label=label)

    def gfx(self, machine: Assignment) -> str:
        """The GPU of a machine."""
        return self.of(Spec("", "fwd", ())).gfx(machine)

    def raise_problems(self) -> None:
        """Raise one ConfigError that lists everything found, if anything was."""
        for resolver in self._made.values():
            resolver.raise_problems()

    def _kernels(self, name: str) -> KernelsWorkload:
        if name not in (known := workload_names(self._root)):
            what = "no operation and no workload of kernels has this name"
            remedy = f"{did_you_mean(name, [*known, *KINDS])}`apuflow list workloads` has all"
            raise ConfigError(what, value=name, remedy=remedy)
        found = self._workload(name)
        if isinstance(found, KernelsWorkload):
            return found
        what, remedy = "the workload has no kernels of its own", "a workload of kind: kernels"
        raise ConfigError(what, key="layer.kernels", value=name, remedy=remedy)


def _choice(suite: Suite, values: Mapping[str, Scalar], gfx: str) -> Choice:
    choice = choice_of(values)
    if suite.operators is None:
        return choice
    forward: Passes = "fwd" if choice.direction == "both" else choice.direction
    return replace(choice, direction=forward, gfx=gfx)


@lru_cache(maxsize=512)
def _specified(suite: Suite, choice: Choice) -> tuple[tuple[Step, Spec | Refused], ...]:
    return suite.specified(choice)


def _items(
    specified: Iterable[tuple[Step, Spec | Refused]],
    engine: EngineName,
    machine: Assignment,
    resolvers: _Resolvers,
) -> Iterator[tuple[Step, Point | Refused]]:
    resolved = cache(lambda spec: resolvers.point(spec, engine, machine))
    for step, spec in specified:
        point = spec if isinstance(spec, Refused) else resolved(spec)
        if point is not None:
            yield step, point
