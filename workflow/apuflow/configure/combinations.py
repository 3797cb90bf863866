"""What a sweep asks for: combinations of values, before they are resolved into points, and their files."""

from __future__ import annotations

import fnmatch
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from apuflow.configure import yaml_source
from apuflow.configure.base import did_you_mean, listing
from apuflow.configure.catalogue import catalogue
from apuflow.configure.option_rules import quantity
from apuflow.configure.suite import load_suite, sweep_suites
from apuflow.configure.sweep import Sweep, Variation
from apuflow.configure.workloads import load_workload
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.core.scalar import Scalar

Assignment: TypeAlias = tuple[tuple[str, Scalar], ...]
"""Values of some axes, by option name or ``layer.<key>``."""
PLACES = ("release", "machine")
"""Axes that choose a file instead of an option: ``release: [v22.1, v23.0]``."""


@dataclass(frozen=True)
class Plan:
    """A sweep's values for one workload: ``options`` and ``layer`` are fixed.

    Attributes:
        dimensions: per axis (or zip group) its assignments in the order of the file; the last varies fastest.
        exclude: combinations that are left out, all conditions of an entry holding.
    """

    options: Mapping[str, Scalar]
    layer: Mapping[str, Scalar]
    dimensions: tuple[tuple[Assignment, ...], ...]
    exclude: tuple[Mapping[str, tuple[Scalar, ...]], ...]

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of what varies."""
        return tuple(name for dimension in self.dimensions for name, _ in dimension[0])

    @property
    def size(self) -> int:
        """Combinations before exclusion."""
        return math.prod(len(dimension) for dimension in self.dimensions)

    def combinations(self) -> Iterator[Assignment]:
        """Every combination that is not excluded."""
        for parts in itertools.product(*self.dimensions):
            assignment = tuple(itertools.chain.from_iterable(parts))
            if not self.exclude or not self.excluded(dict(assignment)):
                yield assignment

    def excluded(self, values: Mapping[str, Scalar]) -> bool:
        """Whether an entry of ``exclude`` names this combination."""
        return any(
            all(_among(values[name], wanted) for name, wanted in entry.items()) for entry in self.exclude
        )


def plan(sweep: Sweep, workload: str, root: Path = Path()) -> Plan:
    """The sweep's values for one workload, its ``per_workload`` additions laid over the general ones.

    Raises:
        ConfigError: an exclusion of something that does not vary, or more points than ``limits.max_points``.
    """
    parts: list[Variation] = [sweep]
    parts += [part for pattern, part in sweep.per_workload.items() if fnmatch.fnmatchcase(workload, pattern)]
    options: dict[str, Scalar] = {}
    layer: dict[str, Scalar] = {}
    dimensions: list[tuple[Assignment, ...]] = []
    exclude: list[Mapping[str, tuple[Scalar, ...]]] = []
    for part in parts:
        new = {*part.options, *part.axes, *(name for group in part.zip for name in group)}
        new |= {f"layer.{name}" for line in (part.layer, *part.layers) for name in line}
        options = {name: value for name, value in options.items() if name not in new}
        layer = {name: value for name, value in layer.items() if f"layer.{name}" not in new}
        dimensions = [kept for dimension in dimensions if (kept := _without(dimension, new))]
        options |= part.options
        layer |= part.layer
        dimensions += [tuple(((name, value),) for value in values) for name, values in part.axes.items()]
        if part.layers:
            names = list(part.layers[0])
            rows = (tuple((f"layer.{name}", line[name]) for name in names) for line in part.layers)
            dimensions.append(tuple(rows))
        for group in part.zip:
            values = zip(*group.values(), strict=True)
            dimensions.append(tuple(tuple(zip(group, row, strict=True)) for row in values))
        exclude += part.exclude
    result = Plan(options, layer, tuple(dimensions), tuple(exclude))
    _check_exclusions(sweep, result, root)
    _check_spellings(sweep, result, root)
    points, most = result.size * len(sweep.engines), sweep.limits.max_points
    if points > most:
        file = line_of(sweep, root, ["max_points"])
        message = f"the sweep has {points:,} points for {workload}, more than its limit"
        remedy = "shorten an axis, or raise limits.max_points in the sweep"
        raise ConfigError(message, file=file, key="limits.max_points", value=most, remedy=remedy)
    if result.exclude and next(result.combinations(), None) is None:
        file, remedy = line_of(sweep, root, ["exclude"]), "leave fewer combinations out, or the workload"
        message = f"the exclusions leave no point for {workload}"
        raise ConfigError(message, file=file, key="exclude", remedy=remedy)
    return result


def releases(sweep: Sweep, workload: str, root: Path = Path()) -> tuple[str, ...]:
    """Names of the gem5 releases that a sweep's workload runs on."""
    return _places(sweep, "release", sweep.release, workload, root)


def machines(sweep: Sweep, workload: str, root: Path = Path()) -> tuple[str, ...]:
    """Names of the machines that a sweep's workload runs on."""
    return _places(sweep, "machine", sweep.machine, workload, root)


def _places(sweep: Sweep, place: str, default: str, workload: str, root: Path) -> tuple[str, ...]:
    """Names of the releases or machines of a sweep's workload."""
    chosen: list[str] = []
    for name in members_of(sweep, workload, root):
        rows = (dict(row) for dimension in plan(sweep, name, root).dimensions for row in dimension)
        chosen += [str(row[place]) for row in rows if place in row] or [default]
    return tuple(dict.fromkeys(chosen))


def members_of(sweep: Sweep, workload: str, root: Path = Path()) -> list[str]:
    """Whose plans a workload's points follow: its own, or those of all suites."""
    return sweep_suites(sweep, root) if workload == paths.OPERATIONS else [workload]


def line_of(sweep: Sweep, root: Path, keys: Sequence[str]) -> str | None:
    """``file:line`` of the first of these dotted keys that the sweep's file has; None: it has no file."""
    path = root / paths.sweep_file(sweep.name)
    if not path.exists():
        return None
    try:
        document = yaml_source.load(path)
    except ConfigError:
        return str(path)
    wanted = [tuple(key.split("/")) for key in keys]
    for location, line in document.lines.items():
        names = tuple(part for part in location if isinstance(part, str))
        if any(names[-len(want) :] == want for want in wanted):
            return f"{path}:{line}"
    return str(path)


def _without(dimension: tuple[Assignment, ...], names: set[str]) -> tuple[Assignment, ...]:
    """A dimension without some of its names; its rows stay, for what else advances with them."""
    rows = [tuple(pair for pair in row if pair[0] not in names) for row in dimension]
    return tuple(dict.fromkeys(rows)) if rows[0] else ()


def _among(value: Scalar, wanted: tuple[Scalar, ...]) -> bool:
    return any(value == item and isinstance(value, bool) == isinstance(item, bool) for item in wanted)


def _check_exclusions(sweep: Sweep, plan: Plan, root: Path) -> None:
    values: dict[str, list[Scalar]] = {}
    for name, value in itertools.chain.from_iterable(itertools.chain.from_iterable(plan.dimensions)):
        values.setdefault(name, []).append(value)
    for name, wanted in (pair for entry in plan.exclude for pair in entry.items()):
        key = f"exclude: {name}"
        if name not in values:
            message = "an exclusion names something that the sweep does not vary"
            file, remedy = line_of(sweep, root, ["exclude"]), f"axes: {listing(values)}"
            raise ConfigError(message, file=file, key=key, remedy=f"{did_you_mean(name, values)}{remedy}")
        for item in wanted:
            if not _among(item, tuple(values[name])):
                message = "an exclusion names a value that the axis does not have"
                file, remedy = line_of(sweep, root, ["exclude"]), f"values: {listing(map(str, values[name]))}"
                raise ConfigError(message, file=file, key=key, value=item, remedy=remedy)


def _check_spellings(sweep: Sweep, plan: Plan, root: Path) -> None:
    """Two spellings of one value (1024kB, 1MB) would be the same point twice."""
    for dimension in plan.dimensions:
        seen: dict[tuple[tuple[type, object], ...], Assignment] = {}
        for row in dimension:
            values = [quantity(name, value) if name in catalogue() else value for name, value in row]
            plain = tuple((type(value), value) for value in values)
            if plain in seen:
                names = ", ".join(name for name, _ in row)
                first, again = (", ".join(str(value) for _, value in one) for one in (seen[plain], row))
                message = f"the axis has this value twice: {first} is the same"
                file = line_of(sweep, root, [row[0][0].removeprefix("layer.")])
                key = f"axes.{names}" if len(row) == 1 else names
                raise ConfigError(message, file=file, key=key, value=again, remedy="keep one of them")
            seen[plain] = row


SITE = "configs/site.yaml"


def configuration_files(sweep: Sweep, workload: str, root: Path = Path()) -> list[str]:
    """Every file, relative to ``root``, that decides these points: a change of one may change a row."""
    files = [paths.sweep_file(sweep.name), *sweep.layer_files]
    suites = sweep_suites(sweep, root)
    for name in members_of(sweep, workload, root):
        if name in suites:
            files += [paths.suite_file(name), load_suite(name, root).table.relative_to(root).as_posix()]
        else:
            files += [paths.workload_file(name)]
            files += [file.relative_to(root).as_posix() for file in load_workload(name, root).files]
    files += [paths.machine_file(name) for name in machines(sweep, workload, root)]
    files += [paths.release_file(name) for name in releases(sweep, workload, root)]
    if (root / SITE).exists():
        files.append(SITE)
    return files
