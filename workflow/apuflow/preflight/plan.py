"""What a sweep will do: its points, which runs are already there, time and memory for the rest, warnings."""

from __future__ import annotations

import fnmatch
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from apuflow.configure import Site, Sweep, load_site, load_sweep
from apuflow.configure.base import did_you_mean
from apuflow.configure.combinations import machines, plan, releases
from apuflow.configure.point import Point
from apuflow.configure.products import in_preview, refuse_missing_checkouts
from apuflow.configure.suite import sweep_suites
from apuflow.core import paths
from apuflow.core.engines import is_batch
from apuflow.core.errors import ApuflowError, ConfigError
from apuflow.core.products import STAND_IN, STAND_IN_NOTE, joined, title
from apuflow.core.units import format_duration
from apuflow.engines import get_engine
from apuflow.plan.points import points, sweep_workloads
from apuflow.preflight.workload import PlannedWorkload, planned_workload, sample_of
from apuflow.prepare.tools import Toolset
from apuflow.run.command import refuse_redirected
from apuflow_analysis.tables.columns import PRODUCTS

LARGE = 100_000
RESOLVED_PER_SECOND = 15_000
"""Points of a sweep that ``plan`` looks at in a second; those of a ``LARGE`` sweep are counted first."""


@dataclass(frozen=True)
class SweepPlan:
    """What a sweep will do, and what of it is done.

    Attributes:
        preparations: long work before the first point.
        obstacle: why no point can run in this directory, with the fix; empty: they can.
        sampling: how many of the points will run where the sweep takes a sample; empty: all.
        workgroups: of which launches not all workgroups will run; empty: all run whole.
        unused: patterns of ``per_workload`` that none of the sweep's workloads and suites matches.
        products: whose kernels compute matrix products, a line for each kind and reason; empty: none do.
    """

    sweep: str
    description: str
    machine: str
    release: str
    workloads: tuple[PlannedWorkload, ...]
    preparations: tuple[str, ...] = ()
    obstacle: str = ""
    sampling: str = ""
    workgroups: str = ""
    unused: tuple[str, ...] = ()
    products: tuple[str, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """A row per workload and engine."""
        about = {"sweep": self.sweep, "machine": self.machine, "release": self.release}
        return [about | each.row() | {"obstacle": self.obstacle} for each in self.workloads]

    def point_rows(self) -> list[dict[str, Any]]:
        """A row per point, with its axes."""
        return [
            {"workload": each.workload, "engine": each.engine, "point": point.id, **point.axes}
            | {"status": point.status or "to run", "memory_bytes": point.memory_bytes}
            for each in self.workloads
            for point in each.points
        ]


def plan_sweep(name: str, workload: str | None = None, root: Path = Path()) -> SweepPlan:
    """Plan a sweep, or one of its workloads.

    Raises:
        ConfigError: unknown names, or points that cannot run.
    """
    sweep = load_sweep(name, root)
    names = sweep_workloads(sweep, root)
    if workload is not None:
        if workload not in names:
            remedy = f"{did_you_mean(workload, names)}one of {', '.join(names)}"
            raise ConfigError(f"sweep {name} has no workload of this name", value=workload, remedy=remedy)
        names = [workload]
    sizes = [plan(sweep, each, root).size for each in names if each != paths.OPERATIONS]
    combined = sum(sizes) * len(sweep.engines)
    if combined >= LARGE:
        seconds = combined / RESOLVED_PER_SECOND
        print(f"{combined:,} points: to look at each takes {format_duration(seconds)}", file=sys.stderr)
    planned: list[PlannedWorkload] = []
    sample: list[Point] = []
    for workload_name in names:
        expanded = points(sweep, workload_name, root)
        for engine in sweep.engines:
            chosen = [point for point in expanded if point.engine == engine]
            planned.append(planned_workload(name, workload_name, engine, chosen, root))
            sample += sample_of(chosen)
    matched = [*sweep_workloads(sweep, root), *sweep_suites(sweep, root)]
    unused = tuple(pattern for pattern in sweep.per_workload if not fnmatch.filter(matched, pattern))
    return SweepPlan(
        name,
        sweep.description,
        _listed(machines, sweep, names, root),
        _listed(releases, sweep, names, root),
        tuple(planned),
        _preparations(sweep, names, root),
        _obstacle(sweep, sample, root),
        *_fewer(sweep),
        unused,
        of_points(sample, load_site(root).with_products(sweep.products)),
    )


def _fewer(sweep: Sweep) -> tuple[str, str]:
    """Of what only a part will run: points, and workgroups; empty: all."""
    sampled = workgroups = ""
    if sweep.sampling is not None:
        bound, budget = sweep.sampling.bound * 100, sweep.sampling.budget * 100
        sampled = (
            f"runs go on until a suite's total is known within {bound:g} %, or operations with {budget:g} % "
            "of the cycles of all of them have run; the table counts all"
        )
    if sweep.workgroups is not None:
        workgroups = (
            f"gem5-kernels launches as many workgroups as fill the GPU {sweep.workgroups.fills} times and "
            "extrapolates the rest (column extrapolated); smaller launches, and kernels that see their whole "
            "grid, run whole. Times are those of whole runs: the real ones are shorter"
        )
    return sampled, workgroups


def _listed(
    places: Callable[[Sweep, str, Path], tuple[str, ...]], sweep: Sweep, workloads: Sequence[str], root: Path
) -> str:
    """The machines (or the releases) of all workloads, once each."""
    return ", ".join(dict.fromkeys(name for workload in workloads for name in places(sweep, workload, root)))


def _obstacle(sweep: Sweep, chosen: Sequence[Point], root: Path) -> str:
    """Why points cannot run here."""
    if all(is_batch(engine) for engine in sweep.engines):
        return ""
    found = []
    try:
        refuse_redirected((root / paths.RUNS).resolve())
    except ConfigError as error:
        found.append(f"{error.message}; {error.remedy}")
    if any(point.software.products is not None and not is_batch(point.engine) for point in chosen):
        try:
            refuse_missing_checkouts(load_site(root), root)
        except ConfigError as error:
            found.append(f"{error.message} ({error.key}: {error.value}); {error.remedy}")
    return "; ".join(found)


def _preparations(sweep: Sweep, workloads: Sequence[str], root: Path) -> tuple[str, ...]:
    """What has to be made before the first point and takes long: images from a recipe."""
    if all(is_batch(engine) for engine in sweep.engines):
        return ()
    used = {release for workload in workloads for release in releases(sweep, workload, root)}
    costs = (Toolset(release, root).image_cost() for release in sorted(used))
    return tuple(dict.fromkeys(cost for cost in costs if cost is not None))


def of_points(points: Iterable[Point], site: Site) -> tuple[str, ...]:
    """A line for each kind of kernels and each reason, with the engines that run it."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for point in points:
        if point.products:
            for reason in _reasons(point, site):
                found.setdefault((point.products, reason), {})[point.engine] = None
    return tuple(
        f"{title(kind)} ({', '.join(engines)})" + (f": {reason}" if reason else "")
        for (kind, reason), engines in found.items()
    )


def _reasons(point: Point, site: Site) -> Iterator[str]:
    """Why the stand-in runs, each reason once; "" where it does not."""
    decision = get_engine(point.engine).products(site)
    if decision is None or STAND_IN not in point.products:
        yield ""
    elif (reason := decision.on(point.gfx).reason) or decision.products == "stand-in":
        yield reason
    else:
        try:
            notes = (one.note for one in point.launches() if one.note.startswith(STAND_IN_NOTE))
            yield from dict.fromkeys(note.partition("; ")[2] for note in notes)
        except ApuflowError:
            yield ""


def of_preview(frame: pd.DataFrame, sweep: Sweep, root: Path) -> str:
    """One line on the preview's rows of a sweep; "" where none has a matrix product."""
    kinds = joined(frame[PRODUCTS])
    if not kinds:
        return ""
    if frame[PRODUCTS].nunique() > 1:
        return f"{title(kinds)}: see column {PRODUCTS}"
    decision = in_preview(load_site(root).with_products(sweep.products))
    reasons = dict.fromkeys(decision.on(str(gfx)).reason for gfx in frame["gfx"].dropna().unique())
    told = "; ".join(filter(None, reasons)) if STAND_IN in kinds else ""
    return title(kinds) + (f": {told}" if told else "")
