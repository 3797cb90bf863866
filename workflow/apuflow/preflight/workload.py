"""One workload of a sweep on one engine: what is left to run, its cost, warnings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from apuflow import preview
from apuflow.ask.question import steep_steps
from apuflow.configure import load_release, load_site, load_workload, option_rules
from apuflow.configure.point import Point
from apuflow.configure.structure_rules import OptionProblem, too_many
from apuflow.core import paths
from apuflow.core.engines import EngineName, is_batch
from apuflow.core.errors import AnalysisError, ApuflowError
from apuflow.core.record import read_run
from apuflow.engines import estimate, get_engine, runs_on
from apuflow.plan.schedule import batch_sizes

PREVIEWED_PER_MINUTE = 100_000
"""Points of one layer that the preview computes and writes in a minute; ``benchmarks/bench_preview.py``."""

ESTIMATED_POINTS = 2000
"""Points per workload and engine whose cost the preview estimates; of more, a sample of this size."""


@dataclass(frozen=True)
class PlannedPoint:
    """One point and what is known of its run: ``status`` is empty while there is none."""

    id: str
    engine: str
    axes: dict[str, Any]
    status: str
    memory_bytes: int


@dataclass(frozen=True)
class PlannedWorkload:
    """One workload on one engine.

    Attributes:
        seconds: host time of one point, smallest and largest estimate; None when nothing is known.
        total_seconds: host time of all points that have no completed run.
        basis: where the estimate comes from.
        at_least: the estimate leaves the simulated CPUs out.
        batches: points of each job, where several share one on a cluster; all others have a job of their own.
    """

    workload: str
    engine: str
    points: tuple[PlannedPoint, ...]
    seconds: tuple[float, float] | None
    total_seconds: float | None
    basis: str
    at_least: bool
    warnings: tuple[str, ...]
    batches: tuple[int, ...] = ()
    unmeasured: int | None = None
    """How many points lie outside what the preview was measured on; None: not the preview's."""

    @property
    def done(self) -> int:
        """Points with a proven run."""
        return sum(point.status == "completed" for point in self.points)

    @property
    def failed(self) -> int:
        """Points whose last run failed."""
        return sum(point.status not in ("", "completed") for point in self.points)

    @property
    def memory_bytes(self) -> int:
        """Host memory of the largest point."""
        return max((point.memory_bytes for point in self.points), default=0)

    def row(self) -> dict[str, Any]:
        """Counts and estimates by name; host times in seconds, None where nothing is known."""
        low, high = self.seconds or (None, None)
        return {
            "workload": self.workload,
            "engine": self.engine,
            "points": len(self.points),
            "done": self.done,
            "failed": self.failed,
            "point_seconds_low": low,
            "point_seconds_high": high,
            "seconds_left": self.total_seconds,
            "is_lower_bound": self.at_least,
            "memory_bytes": self.memory_bytes,
            "unmeasured": self.unmeasured,
            "jobs": len(self.batches),
            "basis": self.basis,
            "warnings": "; ".join(self.warnings),
        }


def planned_workload(
    sweep: str, workload: str, engine: EngineName, chosen: Sequence[Point], root: Path
) -> PlannedWorkload:
    """Plan the ``chosen`` points of a workload on an engine."""
    made = get_engine(engine)
    with_status = list(zip(chosen, _statuses(sweep, workload, engine, chosen, root), strict=True))
    planned = tuple(
        PlannedPoint(point.id, engine, dict(point.axes), status, made.host_memory(point))
        for point, status in with_status
    )
    left = [point for point, status in with_status if status != "completed"]
    done = [point for point, status in with_status if status == "completed"]
    lower_bound = made.cost_is_a_lower_bound
    seconds, total, basis = _cost(engine, left, done, root)
    at_least = lower_bound and basis.endswith(made.cost_basis)
    warnings = _warnings(workload, chosen, root)
    if len(chosen) <= ESTIMATED_POINTS:
        texts = (text.removeprefix(f"{workload}: ") for text in steep_steps(chosen))
        warnings += tuple(f"steep step, by the preview: {text}" for text in texts)
    batches = () if is_batch(engine) else _batches(chosen, left, at_least=lower_bound, root=root)
    unmeasured = _unmeasured(chosen) if is_batch(engine) else None
    estimated = seconds, total, basis, at_least
    return PlannedWorkload(workload, engine, planned, *estimated, warnings, batches, unmeasured)


def _batches(
    chosen: Sequence[Point], left: Sequence[Point], *, at_least: bool, root: Path
) -> tuple[int, ...]:
    """Points of each batch, as a workflow on a cluster would plan them now."""
    wanted = {point.id for point in left}
    try:
        seconds = estimate.each_point(chosen, lower_bound=at_least, root=root)
    except ApuflowError:
        return ()
    expected = [each for point, each in zip(chosen, seconds, strict=True) if point.id in wanted and each]
    return tuple(batch_sizes(expected, load_site(root).batch_seconds))


def _unmeasured(chosen: Sequence[Point]) -> int | None:
    """Points outside what the preview was measured on; of many, estimated from a sample."""
    sample = sample_of(chosen)
    if not sample:
        return 0
    found = preview.run(sample, option_rules.defaults(preview.RELEASE))["unmeasured"]
    return round(int((found != "").sum()) * len(chosen) / len(sample))


def sample_of(chosen: Sequence[Point]) -> list[Point]:
    """``ESTIMATED_POINTS`` at most, the same at every call. Steps would meet few values of the inner axes."""
    if len(chosen) <= ESTIMATED_POINTS:
        return list(chosen)
    return [chosen[index] for index in sorted(Random(0).sample(range(len(chosen)), ESTIMATED_POINTS))]


def _statuses(
    sweep: str, workload: str, engine: EngineName, chosen: Sequence[Point], root: Path
) -> list[str]:
    if is_batch(engine):
        known = _previewed(root / paths.preview_counters(sweep, workload))
        return ["completed" if point.id in known else "" for point in chosen]
    return [_status(root / paths.run_record(engine, workload, point.id)) for point in chosen]


def _previewed(counters: Path) -> set[str]:
    """Points in a preview batch; none when there is no batch (or it cannot be read)."""
    if not counters.is_file():
        return set()
    import pyarrow.lib
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(counters, columns=["point"])
    except (OSError, ValueError, pyarrow.lib.ArrowException):
        return set()
    return set(table.column("point").to_pylist())


def _status(record: Path) -> str:
    """What a run record says; empty when there is none (or it cannot be read)."""
    try:
        return read_run(record).status.value
    except AnalysisError:
        return ""


def _cost(
    engine: EngineName, left: Sequence[Point], done: Sequence[Point], root: Path
) -> tuple[tuple[float, float] | None, float | None, str]:
    """Seconds of one point and of all that are left, expected as the workflow expects them for its order."""
    if is_batch(engine):
        minutes = len(left) / PREVIEWED_PER_MINUTE
        took = f"some {minutes:,.0f} minutes for {len(left):,} points" if minutes >= 2 else "a minute at most"
        return None, None, f"the preview is one job per workload, {took}"
    if not left:
        return None, 0.0, "nothing is left to run"
    made = get_engine(engine)
    sample, ran = sample_of(left), sample_of(done)
    try:
        expected = estimate.each_point([*sample, *ran], lower_bound=made.cost_is_a_lower_bound, root=root)
        known = [each for each in expected[: len(sample)] if each is not None]
        completed = f", times what {len(done)} completed here took over it" if done else ""
        median = "median of completed runs here"
        unknown = " (the median of completed runs where the preview lacks a kernel)" if done else ""
        basis = median if made.cost_is_a_lower_bound else estimate.FROM_COUNTS + completed + unknown
        if not known:
            known, basis = estimate.from_preview(sample), made.cost_basis
    except ApuflowError as error:
        about = f" ({error.key})" if error.key else ""
        return None, None, f"not known: {error.message}{about}"
    sampled = f"{len(sample):,} of {len(left):,} points, and " if len(sample) < len(left) else ""
    return (min(known), max(known)), sum(known) * len(left) / len(known), f"{sampled}{basis}"


def _warnings(workload: str, chosen: Sequence[Point], root: Path) -> tuple[str, ...]:
    """Warnings of the workload's networks, each once, and what is not proven of the engine."""
    result: dict[str, None] = {}
    loaded = load_workload(workload, root)
    for engine in dict.fromkeys(point.engine for point in chosen):
        runs = runs_on(loaded, engine)
        if runs.state == "unproven":
            result[f"unproven on {engine}: {runs.reason}"] = None
    for point in chosen:
        result |= dict.fromkeys(point.release_facts.doubts(point.release))
    for work, gfx in dict.fromkeys((point.work, point.gfx) for point in chosen):
        layers: dict[tuple[str, str], list[str]] = {}
        for problem in work.warnings(gfx):
            layers.setdefault((problem.message, problem.remedy), []).append(problem.layer)
        for (message, remedy), names in layers.items():
            shown = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
            result[f"{shown}: {message}; {remedy}"] = None
    return (*result, *_not_started(chosen, root))


def _not_started(chosen: Sequence[Point], root: Path) -> list[str]:
    """Machines that the preview models and gem5 cannot start: of each release and option the largest."""
    machines_of = {(point.release, id(point.options)): point for point in chosen if is_batch(point.engine)}
    releases = {release for release, _ in machines_of}
    bits = {release: load_release(release, root).capabilities.set_bits for release in releases}
    worst: dict[tuple[str, str], OptionProblem] = {}
    for (release, _), point in machines_of.items():
        for each in too_many({}, point.options, bits[release]):
            known = worst.setdefault((release, each.option), each)
            if int(each.value) > int(known.value):
                worst[release, each.option] = each
    return [
        f"{release}: {each.message}. The preview models the machine all the same"
        for (release, _), each in worst.items()
    ]
