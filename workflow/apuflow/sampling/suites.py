"""The suites of a sweep from some of their points: what gem5 has run, what it should run next."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from apuflow import preview
from apuflow.configure import Sweep, option_rules
from apuflow.configure.point import Point
from apuflow.configure.sweep_keys import Sampling
from apuflow.configure.work import label_of, value_part
from apuflow.core import paths
from apuflow.core.engines import is_batch
from apuflow.core.errors import ConfigError
from apuflow.core.scalar import Scalar
from apuflow.engines.fewer_workgroups import expected_share
from apuflow.miopen.launch import Launch
from apuflow.plan.campaign import Campaign
from apuflow.plan.points import AXIS, Member
from apuflow.rocblas.objects import is_library_kernel
from apuflow.sampling.estimate import Estimate, Sample
from apuflow.sampling.runs import Ran, read_ran
from apuflow_analysis.counters.extrapolate import FLOOR
from apuflow_analysis.tables.columns import axis_column

MEASURED, ESTIMATED, AUDIT = "measured", "estimated", "audit"


@dataclass(frozen=True)
class Sampled:
    """One suite at one combination of a sweep's values.

    Attributes:
        axes: the combination, by column name.
        members: a row per distinct operation, by its point: ``operation``, ``kernels``,
            ``repeats`` (of an iteration), ``predicted`` (the preview's cycles), ``origin`` (measured,
            estimated or audit), ``measured`` (gem5's cycles; NaN: not run), ``cycles`` (that count in the
            total), their ``low`` and ``high``; ``cost`` (predicted cycles of the workgroups that are
            launched, once) and ``measured_doubt`` (relative half width of ``measured``; 0: no launch was
            extrapolated); ``unmeasured`` (whether a launch is outside of what the preview was measured on);
            of the audit ``error`` (estimate from the other runs over measurement, less 1) and ``inside``
            (whether the measurement is in the interval of that estimate).
        out_of_reach: operations that alone cost more than the budget, so that the audit cannot draw them.
        following: run records to make next, if nothing were learnt on the way; empty when the aim is met or
            the budget is spent. ``round``: those of them to make before the next estimate.
        made: run records that are there; ``failed``: operations whose runs failed.
        left_out: items that no engine runs; they are no part of the total.
    """

    suite: str
    engine: str
    label: str
    axes: Mapping[str, Scalar]
    aim: Sampling
    estimate: Estimate
    members: pd.DataFrame
    out_of_reach: frozenset[str]
    following: tuple[str, ...]
    round: tuple[str, ...]
    made: tuple[str, ...]
    failed: int
    left_out: int

    @property
    def is_met(self) -> bool:
        """Whether the interval is as narrow as requested."""
        return self.estimate.relative <= self.aim.bound

    @property
    def ended(self) -> str:
        """``met``; else ``contradicted``, where the audit found operations that are off, or ``budget``."""
        if self.is_met:
            return "met"
        return "budget" if self.audit["inside"].astype(bool).all() else "contradicted"

    @property
    def more_runs(self) -> list[str]:
        """Points whose runs narrow the interval most, the largest first, where it is wider than the bound.

        With all of them run, what is left may be twice what is estimated, and the bound holds.
        """
        if self.is_met:
            return []
        left = self.members[self.members["measured"].isna()]
        size = (left["repeats"] * left["high"]).sort_values(ascending=False)
        keep = size.sum() - size.cumsum() > self.aim.bound * self.estimate.total / 2
        return [str(name) for name in size.index[: int(keep.sum()) + 1]]

    @property
    def audit(self) -> pd.DataFrame:
        """The members of the random sample that gem5 has run."""
        return self.members[self.members["origin"] == AUDIT]

    @property
    def spent(self) -> float:
        """Predicted cycles that were simulated, as a share of those of all members, each once."""
        ran = self.members["measured"].notna()
        return float(self.members.loc[ran, "cost"].sum() / self.members["predicted"].sum())


def sample_suites(
    campaign: Campaign, sweep: Sweep, aim: Sampling, known: dict[str, Ran] | None = None
) -> list[Sampled]:
    """Every suite of a sweep on every engine that simulates, from the runs that the project has.

    Args:
        known: cycles of runs by point, kernel by kernel; what is read is added.

    Raises:
        ConfigError: the sweep has no suites, or no engine that simulates.
        NotModelled: the preview, whose cycles are the profile, lacks an option or a kernel of the sweep.
        AnalysisError: a run's record or statistics are damaged.
    """
    file = paths.sweep_file(sweep.name)
    if not campaign.suites(sweep):
        remedy = "name suites in it, as in suites: [resnet50]; `apuflow list workloads` lists them"
        raise ConfigError(
            "the sweep has no suites to take a sample of", file=file, key="suites", remedy=remedy
        )
    if all(is_batch(engine) for engine in sweep.engines):
        problem = "the sweep has no engine that simulates, so there is nothing to estimate"
        raise ConfigError(problem, file=file, key="engines", remedy="engines: [gem5-kernels, preview]")
    ran = {} if known is None else known
    simulated = [member for member in campaign.members(sweep) if not is_batch(member.engine)]
    return [_sampled(member, aim, ran, campaign.root) for member in simulated]


def _sampled(member: Member, aim: Sampling, known: dict[str, Ran], root: Path) -> Sampled:
    items = [(step.repeats, point) for step, point in member.items if isinstance(point, Point)]
    points = {point.id: point for _, point in items}
    repeats = Counter[str]()
    for count, point in items:
        repeats[point.id] += count
    parts = _parts(points)
    suite = member.suite.name
    if parts.empty:
        raise ConfigError(f"no engine runs any item of suite {suite}", key="suites", value=suite)
    kernels = {str(name): rows["kernel"].tolist() for name, rows in parts.groupby(level=0, sort=False)}
    for name, launched in kernels.items():
        if name not in known and (run := read_ran(points[name], launched, root)) is not None:
            known[name] = run
    ran = {name: known[name] for name in kernels if name in known}
    audit = Sample(parts, repeats, {}).audit(aim, f"{suite}/{aim.seed}" if aim.seed else suite)
    _add_cost(parts, points, ran)
    measured = {name: run.cycles for name, run in ran.items() if run.cycles}
    doubts = {name: run.doubts for name, run in ran.items() if run.doubts}
    failed = [name for name in ran if name not in measured]
    sample = Sample(parts, repeats, measured, failed, doubts, audit)
    following = sample.next(aim)
    varied = [value_part(name.removeprefix("layer."), value) for name, value in member.assignment]

    def records(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(paths.run_record(points[name].engine, points[name].workload, name) for name in names)

    return Sampled(
        suite=suite,
        engine=member.engine,
        label=label_of(*varied),
        axes={axis_column(name): value for name, value in member.assignment},
        aim=aim,
        estimate=sample.estimate(aim),
        members=_rows(sample, aim, points, kernels, ran, audit.names),
        out_of_reach=audit.out_of_reach,
        following=records(following),
        round=records(sample.first(following, aim)),
        made=records(ran),
        failed=len(failed),
        left_out=len(member.items) - len(items),
    )


def _parts(points: Mapping[str, Point]) -> pd.DataFrame:
    """Kernels of the distinct operations with the preview's cycles, as ``Sample`` has them."""
    known = option_rules.defaults(preview.RELEASE)
    launches = preview.kernels_frame(list(points.values()), known, with_coverage=True)
    if launches.empty:
        return pd.DataFrame(columns=["family", "kernel", "predicted", "away"])
    launches["predicted"] = launches["gpu_cycles"] * launches["count"]
    families = {
        launch.kernel: _family(launch) for point in points.values() for launch in point.previewed()[0]
    }
    launches["family"] = launches["kernel"].map(families)
    parts = launches.groupby(["point", "kernel"], sort=False, as_index=False)
    found = parts.agg({"family": "first", "predicted": "sum", "away": "max"}).set_index("point")
    return found[found["predicted"] > 0].copy()


def _add_cost(parts: pd.DataFrame, points: Mapping[str, Point], ran: Mapping[str, Ran]) -> None:
    """Add ``cost`` and ``doubt`` to the kernels, as ``Sample`` has them.

    Runs have their own share. Of other large launches only the first workgroups are expected to run, but for
    kernels that a run has shown to need their whole grid.
    """
    whole = frozenset(kernel for run in ran.values() for kernel in run.kept_whole)

    def share(name: str, kernel: str) -> float:
        if name in ran:
            return ran[name].shares.get(kernel, 1.0)
        if kernel in whole:
            return 1.0
        launches = [launch for launch in points[name].previewed()[0] if launch.kernel == kernel]
        every = [launch.workgroups * launch.count for launch in launches]
        return float(np.average([expected_share(one, points[name]) for one in launches], weights=every))

    shares = np.array(list(map(share, parts.index, parts["kernel"])))
    parts["cost"] = parts["predicted"] * shares
    parts["doubt"] = FLOOR * (1.0 - shares)


def _family(launch: Launch) -> str:
    """What similar kernels have in common: MIOpen's source file, the layout of rocBLAS' matrices."""
    if launch.program is None or not is_library_kernel(launch.program):
        return launch.program or launch.kernel
    return launch.kernel.split("_SB_")[0]


def _rows(
    sample: Sample,
    aim: Sampling,
    points: Mapping[str, Point],
    kernels: Mapping[str, Sequence[str]],
    ran: Mapping[str, Ran],
    audited: Sequence[str],
) -> pd.DataFrame:
    """``Sampled.members``."""
    members = sample.estimate(aim).members
    measured = {name: sum(run.cycles) for name, run in ran.items() if run.cycles}
    names = list(map(str, members.index))
    audit = members.index.isin([name for name in audited if name in measured])
    frame = pd.DataFrame(
        {
            "operation": [str(points[name].axes[AXIS]) for name in names],
            "kernels": ["+".join(kernels[name]) for name in names],
            "repeats": members["weight"].astype(int),
            "predicted": members["predicted"],
            "origin": members["is_measured"].map({True: MEASURED, False: ESTIMATED}).where(~audit, AUDIT),
            "measured": [measured.get(name, math.nan) for name in names],
            "measured_doubt": [ran[name].doubt if name in measured else math.nan for name in names],
            **{name: members[name] for name in ("cycles", "low", "high", "cost", "unmeasured")},
        }
    )
    held_out = sample.held_out.reindex(frame.index[audit])
    frame["error"] = held_out["cycles"] / frame["measured"][audit] - 1
    frame["inside"] = pd.Series(~frame.index.isin(sample.contradicted(aim)), index=frame.index).where(audit)
    return frame


def member_table(sampled: Iterable[Sampled]) -> pd.DataFrame:
    """Every distinct operation of every iteration: ``Sampled.members`` with suite, engine, combination."""
    frames = []
    for one in sampled:
        frame = one.members.rename_axis("point").reset_index()
        for name, value in (("at", one.label), ("engine", one.engine), ("suite", one.suite)):
            frame.insert(0, name, value)
        frames.append(frame)
    return _rounded(pd.concat(frames, ignore_index=True))


def total_table(sampled: Iterable[Sampled]) -> pd.DataFrame:
    """A row per iteration: its cycles, their interval, and what they rest on."""
    return _rounded(pd.DataFrame([_total(one) for one in sampled]))


def _rounded(frame: pd.DataFrame) -> pd.DataFrame:
    """Cycles with one digit behind the point, shares with six: what an estimate has no more of."""
    cycles = ("predicted", "measured", "cycles", "low", "high", "cost")
    shares = ("error", "measured_doubt", "half_width", "missed", "spent", "simulated", "covered")
    return frame.round({**dict.fromkeys(cycles, 1), **dict.fromkeys(shares, 6)})


def _total(one: Sampled) -> dict[str, Scalar]:
    estimate, aim = one.estimate, one.aim
    origin, audit = one.members["origin"], one.audit
    return {
        "suite": one.suite,
        "engine": one.engine,
        "at": one.label,
        **one.axes,
        "cycles": estimate.total,
        "low": estimate.low,
        "high": estimate.high,
        "half_width": estimate.relative,
        "missed": estimate.missed / estimate.total,
        "bound": aim.bound,
        "confidence": aim.confidence,
        "ended": one.ended,
        "operations": len(origin),
        "measured": int((origin == MEASURED).sum()),
        "audited": len(audit),
        "audit_inside": int(audit["inside"].astype(bool).sum()),
        "out_of_reach": len(one.out_of_reach),
        "unmeasured": int(one.members["unmeasured"].sum()),
        "more_runs": "; ".join(one.members["operation"][one.more_runs]),
        "failed": one.failed,
        "left_out": one.left_out,
        "budget": aim.budget,
        "spent": one.spent,
        "simulated": estimate.cost,
        "covered": estimate.simulated,
    }
