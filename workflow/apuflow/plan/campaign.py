"""The sweeps of a project: their points, and the files behind tables, figures and reports."""

from __future__ import annotations

import contextlib
import csv
import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from apuflow.configure import Sweep, load_release, load_site, load_sweep, load_workload, sweep_names
from apuflow.configure.base import did_you_mean
from apuflow.configure.combinations import configuration_files, plan, releases
from apuflow.configure.point import Point
from apuflow.configure.suite import sweep_suites
from apuflow.core import paths, project
from apuflow.core.engines import is_batch
from apuflow.core.errors import ApuflowError, ConfigError
from apuflow.plan.points import Member, distinct, members, operations, points, sweep_workloads
from apuflow.prepare.requests import recorded_digest

Wildcards = Mapping[str, str]
_SEARCHED = ("best_points", "pareto")
"""Figures of a sweep with one objective, and with two."""


class Campaign:
    """The sweeps of one project directory, as the rules see them. Paths that come back are relative to it."""

    def __init__(self, root: Path = Path()) -> None:
        self.root = root
        self.load = cache(lambda name: load_sweep(name, root))
        self._release = cache(lambda name: load_release(name, root))
        self._site = cache(lambda: load_site(root))
        self._points: dict[tuple[str, str, tuple[str | None, ...]], list[Point]] = {}
        self._by_record: dict[str, tuple[str, Point]] = {}
        self._workloads: dict[str, list[str]] = {}
        self._members: dict[tuple[str, tuple[str | None, ...]], list[Member]] = {}

    # sweeps and points -----------------------------------------------------------------------------------
    def sweep(self, under: str) -> Sweep:
        """The sweep whose results stand below ``results/<under>``."""
        name = under.rstrip("/") or paths.DEFAULT_SWEEP
        if under and name == paths.DEFAULT_SWEEP:
            raise ConfigError(
                "the default sweep's results stand directly in results/",
                value=f"results/{under}",
                remedy="leave 'default/' out of the target, as in results/softmax_fwd.csv",
            )
        return self.load(name)

    def workloads(self, sweep: Sweep) -> list[str]:
        """Names of the workloads that a sweep runs (see ``sweep_workloads``)."""
        if sweep.name not in self._workloads:
            self._workloads[sweep.name] = sweep_workloads(sweep, self.root)
        return self._workloads[sweep.name]

    def points(self, sweep: str, workload: str, engine: str | None = None) -> list[Point]:
        """The points of a sweep's workload, in table order; of one engine when it is named.

        Raises:
            ConfigError: an unknown name, or a workload that the sweep does not run; the known ones are
                listed.
        """
        loaded = self.load(sweep)
        self._check_table(loaded, workload)
        if workload in self.suites(loaded):
            own = distinct(member for member in self.members(loaded) if member.suite.name == workload)
            return [point for point in own if engine in (None, point.engine)]
        key = (sweep, workload, self._images(loaded, workload))
        if key not in self._points:
            if workload == paths.OPERATIONS:
                self._points[key] = operations(loaded, self.members(loaded), self.root)
            else:
                self._points[key] = points(loaded, workload, self.root)
            for point in self._points[key]:
                self._by_record.setdefault(point.record, (sweep, point))
        return [point for point in self._points[key] if engine in (None, point.engine)]

    def _images(self, sweep: Sweep, workload: str) -> tuple[str | None, ...]:
        """Digests of images, as far as they are known: points of engine gem5 have them in their identity."""
        used = map(self._release, releases(sweep, workload, self.root))
        return tuple(recorded_digest(release, self._site(), self.root) for release in used)

    def suites(self, sweep: Sweep) -> list[str]:
        """Names of the suites that a sweep runs, in the order of its file."""
        return sweep_suites(sweep, self.root)

    def members(self, sweep: Sweep) -> list[Member]:
        """Every suite of a sweep at every combination of its values (see ``plan.points.members``)."""
        key = (sweep.name, self._images(sweep, paths.OPERATIONS))
        if key not in self._members:
            self._members[key] = members(sweep, self.root)
        return self._members[key]

    def shown(self, sweep: Sweep) -> list[str]:
        """Names of a sweep's tables: workloads and suites; of a sample, the operations that it simulated."""
        if sweep.sampling is not None:
            return [paths.OPERATIONS]
        workloads = [name for name in self.workloads(sweep) if name != paths.OPERATIONS]
        return workloads + self.suites(sweep)

    def _check_table(self, sweep: Sweep, name: str) -> None:
        """Refuse a workload or suite that a sweep does not run."""
        known = [*self.workloads(sweep), *self.suites(sweep)]
        if name in known:
            return
        raise ConfigError(
            f"sweep {sweep.name} has no workload{' or suite' if sweep.suites else ''} of this name",
            file=paths.sweep_file(sweep.name),
            key="workloads",
            value=name,
            remedy=f"{did_you_mean(name, known)}one of {', '.join(known)}",
        )

    def simulated_points(self) -> Iterator[Point]:
        """Points of all sweeps that run on gem5. A sweep with a mistake is passed over."""
        for name in sorted(sweep_names(self.root), key=lambda name: name != paths.DEFAULT_SWEEP):
            with contextlib.suppress(ApuflowError):
                for workload in self.workloads(self.load(name)):
                    with contextlib.suppress(ApuflowError):
                        yield from (p for p in self.points(name, workload) if not is_batch(p.engine))

    def of_record(self, record: str) -> tuple[str, Point]:
        """A sweep with the point that leaves a record, the one whose target was named if any, and the point.

        Raises:
            ConfigError: no sweep has it.
        """
        if record not in self._by_record:
            any(record in self._by_record for _ in self.simulated_points())
        if record not in self._by_record:
            raise ConfigError(
                "no sweep has this point",
                file="configs/sweeps",
                value=str(Path(record).parent),
                remedy="name a file of results/ as the target; `apuflow plan SWEEP` lists a sweep's points",
            )
        return self._by_record[record]

    # input functions -------------------------------------------------------------------------------------
    def records(self, sweep: Sweep, workload: str) -> list[str]:
        """Run records of a sweep's workload, in row order; of a suite, the table of operations.

        Of a sample, those of the points simulated, and the preview's.

        Raises:
            ConfigError: the sample is not there yet.
        """
        if workload in self.suites(sweep):
            return [paths.table(paths.under(sweep.name), paths.OPERATIONS, "parquet")]
        found = [point for point in self.points(sweep.name, workload) if not is_batch(point.engine)]
        if sweep.sampling is not None:
            simulated = simulated_points(self.root / paths.sampled(paths.under(sweep.name)))
            found = [point for point in found if (point.engine, point.id) in simulated]
        records = [point.record for point in found]
        if any(is_batch(engine) for engine in sweep.engines):
            records.append(paths.preview_record(sweep.name, workload))
        return records

    def configuration(self, sweep: Sweep, workload: str | None = None) -> list[str]:
        """Configuration files that decide which rows one table has, or all, or which items a suite."""
        names = self.workloads(sweep) if workload is None else [workload]
        return list(
            dict.fromkeys(file for name in names for file in configuration_files(sweep, name, self.root))
        )

    def table_configuration(self, wildcards: Wildcards) -> list[str]:
        """Files whose change makes other points: configuration, versions, and programs where gem5 runs."""
        sweep, workload = self.sweep(wildcards["under"]), wildcards["workload"]
        files = self.configuration(sweep, workload)
        if workload in self.suites(sweep):
            return files
        files += project.VERSIONS
        return files if all(map(is_batch, sweep.engines)) else files + self._supplied(workload)

    def _supplied(self, workload: str) -> list[str]:
        """Programs and checkouts of the user's own. Another program there makes other points."""
        site = self._site()
        files = list(load_workload(workload, self.root).supplied)
        files += [gem5.binary for gem5 in site.gem5_builds if gem5.binary is not None]
        files += [f"{site.dnnmark.build}/libdnnmark.so"] if site.dnnmark.build is not None else []
        checkouts = (*(gem5.source for gem5 in site.gem5_builds), site.dnnmark.source)
        files += [f"{place}/.git/logs/HEAD" for place in checkouts if place is not None]
        return [file for file in files if (self.root / file).is_file()]

    def sweep_configuration(self, wildcards: Wildcards) -> list[str]:
        """Configuration files behind all tables of a sweep."""
        return self.configuration(self.sweep(wildcards["under"]))

    def sources(self, sweep: Sweep) -> dict[str, str]:
        """The configuration files behind a sweep, as they are: path to text, of other files to their size."""
        return {file: _text(self.root / file) for file in self.configuration(sweep)}

    def itemised(self, sweep: Sweep) -> list[str]:
        """Suites of a sweep with a table of their items; none of a sample, whose total is an estimate."""
        return [] if sweep.sampling is not None else self.suites(sweep)

    def report_inputs(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """A sweep's tables as Parquet, its figures, three tables for each suite, and those of its sample."""
        under = wildcards["under"]
        sweep = self.sweep(under)
        return {
            "tables": [paths.table(under, name, "parquet") for name in self.shown(sweep)],
            "figures": [paths.figure(under, name) for name in self.figure_names(under)],
            "suites": [file for suite in self.itemised(sweep) for file in paths.suite_files(under, suite)],
            "sampled": [paths.sampled(under), paths.sampled_totals(under)] if sweep.sampling else [],
        }

    # figures ---------------------------------------------------------------------------------------------
    def check_figure(self, name: str) -> None:
        """Refuse a figure that does not exist, with the names of those that do."""
        from apuflow_analysis.figures import FIGURES

        if name not in FIGURES:
            raise ConfigError("there is no such figure", value=name, remedy=f"one of {', '.join(FIGURES)}")

    def figure_tables(self, wildcards: Wildcards) -> list[str]:
        """The tables behind a figure: those of workloads and suites, or that of the suites' operations."""
        from apuflow_analysis.figures import FIGURES

        self.check_figure(wildcards["figure"])
        per_item = FIGURES[wildcards["figure"]].per_item
        names = [paths.OPERATIONS] if per_item else self.shown(self.sweep(wildcards["under"]))
        return [paths.table(wildcards["under"], name, "parquet") for name in names]

    def figure_names(self, under: str) -> list[str]:
        """Names of the figures that a sweep asks for, else of all that its axes and engines allow.

        Raises:
            ConfigError: it asks for one that they do not allow.
        """
        from apuflow_analysis.figures import planned

        sweep = self.sweep(under)
        if sweep.sampling is not None:
            return []
        shown, suites, asked = self.shown(sweep), self.suites(sweep), sweep.figures.show
        axes = {
            "release" if "release" in dict(dimension[0]) else dimension[0][0][0]
            for workload in shown
            for dimension in plan(sweep, workload, self.root).dimensions
            if len(dimension) > 1
        }
        names = planned(
            axes,
            sweep.engines,
            workloads=len(shown) > len(suites),
            of_suites=bool(suites),
            named=(*asked, *_SEARCHED[: len(sweep.figures.objectives)]),
        )
        for place, name in enumerate(asked, 1):
            if name not in names:
                raise ConfigError(
                    "the sweep's axes and engines do not allow this figure",
                    file=paths.sweep_file(sweep.name),
                    key=f"figures.show.{place}",
                    value=name,
                    remedy=f"one of {', '.join(names)}",
                )
        return list(asked or names)


def simulated_points(table: Path) -> set[tuple[str, str]]:
    """Engine and name of each point that a sample has simulated, from its table (``paths.sampled``).

    Raises:
        ConfigError: the table is not there yet.
    """
    try:
        with table.open(newline="", encoding="utf-8") as stream:
            return {(row["engine"], row["point"]) for row in csv.DictReader(stream) if row["measured"]}
    except FileNotFoundError:
        remedy = f"snakemake --cores all {table}"
        raise ConfigError("the sample is not there yet", file=table, remedy=remedy) from None


def _text(file: Path) -> str:
    """A file's text; a code object or a model has none."""
    data = file.read_bytes()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return f"{len(data):,} bytes, sha256 {hashlib.sha256(data).hexdigest()}"
