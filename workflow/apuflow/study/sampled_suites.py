"""The suites of a sweep from some of their points: what gem5 has run, what it should run next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from analysis.tables.records import COMPLETED, Row, read_record
from apuflow import preview
from apuflow.campaign.campaign import Campaign
from apuflow.campaign.members import Member
from apuflow.configure import Sweep, labels, option_rules
from apuflow.configure.point import Point
from apuflow.core import paths
from apuflow.core.engines import is_batch
from apuflow.core.errors import ConfigError
from apuflow.core.files import atomic_write
from apuflow.study.sampling import Aim, Estimate, Sample


@dataclass(frozen=True)
class Sampled:
    """One suite at one combination of a sweep's values.

    Attributes:
        suite, engine, label: what it is.
        estimate: the iteration's cycles.
        following: run records to make next, relative to the project; empty when the aim is met or the budget
            is spent.
        made: run records that are there.
        is_met: whether the interval is as narrow as was asked.
        audit: the members held apart that gem5 has run: ``cycles`` measured, ``estimated``, ``low``,
            ``high``, ``error``.
        left_out: items that no engine runs; they are no part of the total.
    """

    suite: str
    engine: str
    label: str
    estimate: Estimate
    following: tuple[str, ...]
    made: tuple[str, ...]
    is_met: bool
    audit: pd.DataFrame
    left_out: int


def sample_suites(name: str, aim: Aim, root: Path = Path()) -> list[Sampled]:
    """Every suite of a sweep on every engine that simulates, from the runs that the project has.

    Args:
        name: the sweep. aim: what is asked of each iteration. root: the project's directory.

    Raises:
        ConfigError: the sweep has no suites, or no engine that simulates.
        NotModelled: the preview, whose cycles are the profile, lacks an option or a kernel of the sweep.
        AnalysisError: a run's record or statistics are damaged.
    """
    campaign = Campaign(root)
    sweep = campaign.load(name)
    _check(campaign, sweep)
    known: dict[str, float | None] = {}
    return [
        _sampled(member, aim, known, root)
        for member in campaign.members(sweep)
        if not is_batch(member.engine)
    ]


def _check(campaign: Campaign, sweep: Sweep) -> None:
    if not campaign.suites(sweep):
        raise ConfigError(
            "the sweep has no suites to take a sample of",
            file=paths.sweep_file(sweep.name),
            key="suites",
            remedy="name suites in it, as in suites: [resnet50]; `apuflow workloads` lists them",
        )
    if all(is_batch(engine) for engine in sweep.engines):
        raise ConfigError(
            "the sweep has no engine that simulates, so there is nothing to estimate",
            file=paths.sweep_file(sweep.name),
            key="engines",
            remedy="engines: [gem5-kernels, preview]",
        )


def _sampled(member: Member, aim: Aim, known: dict[str, float | None], root: Path) -> Sampled:
    points, repeats, left_out = _distinct(member)
    members = _members(points, repeats)
    if members.empty:
        raise ConfigError(
            f"no engine runs any item of suite {member.suite.name}", key="suites", value=member.suite.name
        )
    for point in points.values():
        if point.id not in known:
            known[point.id] = _measured(point, root)
    measured = {name: value for name in points if (value := known[name]) is not None}
    aside = Sample(members, {}).audit(aim, member.suite.name)
    sample = Sample(members, measured, aside)
    estimate = sample.estimate(aim)
    following = [*sample.next(aim), *(name for name in aside if name not in measured)]

    def records(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(paths.run_record(points[name].engine, points[name].workload, name) for name in names)

    return Sampled(
        suite=member.suite.name,
        engine=member.engine,
        label=labels.join(
            *(labels.value_part(name.removeprefix("layer."), value) for name, value in member.assignment)
        ),
        estimate=estimate,
        following=records(following),
        made=records(measured),
        is_met=estimate.relative <= aim.bound,
        audit=_audit(estimate, measured, aside),
        left_out=left_out,
    )


def _distinct(member: Member) -> tuple[dict[str, Point], dict[str, int], int]:
    """Points by identifier, how often an iteration runs each, and how many items have none."""
    points: dict[str, Point] = {}
    repeats: dict[str, int] = {}
    left_out = 0
    for step, point in member.items:
        if isinstance(point, Point):
            points[point.id] = point
            repeats[point.id] = repeats.get(point.id, 0) + step.repeats
        else:
            left_out += 1
    return points, repeats, left_out


def _members(points: Mapping[str, Point], repeats: Mapping[str, int]) -> pd.DataFrame:
    """Distinct operations with the preview's cycles, but for those that launch no kernel."""
    if not points:
        return pd.DataFrame(columns=["kernels", "weight", "predicted"])
    counters = preview.run(list(points.values()), option_rules.defaults(preview.RELEASE))
    frame = pd.DataFrame(
        {
            "kernels": [_kernels(point) for point in points.values()],
            "weight": [float(repeats[name]) for name in points],
            "predicted": counters["gpu_cycles"].to_numpy(float),
        },
        index=list(points),
    )
    return frame[frame["predicted"] > 0]


def _kernels(point: Point) -> str:
    """What a point launches: programs and kernels, each once."""
    return "+".join(dict.fromkeys(f"{launch.program}:{launch.kernel}" for launch in point.launches()))


def _measured(point: Point, root: Path) -> float | None:
    """gem5's cycles of a point; None where no proven run is there."""
    file = root / paths.run_record(point.engine, point.workload, point.id)
    if not file.exists():
        return None
    row = read_record(file)
    if not isinstance(row, Row) or row.values["status"] != COMPLETED:
        return None
    return float(row.counters["gpu_cycles"])


def _audit(estimate: Estimate, measured: Mapping[str, float], aside: Sequence[str]) -> pd.DataFrame:
    names = [name for name in aside if name in measured]
    frame = estimate.members.loc[names, ["cycles", "low", "high"]].rename(columns={"cycles": "estimated"})
    frame.insert(0, "cycles", [measured[name] for name in names])
    frame["error"] = frame["estimated"] / frame["cycles"] - 1
    return frame


def write_members(sampled: Sequence[Sampled], file: Path) -> None:
    """Write every member of every iteration as CSV, with its interval and whether it was measured."""
    frames = []
    for one in sampled:
        members = one.estimate.members.rename_axis("point").reset_index()
        members.insert(0, "suite", one.suite)
        members.insert(1, "engine", one.engine)
        members.insert(2, "at", one.label)
        origin = members.pop("is_measured").map({True: "measured", False: "estimated"})
        members.insert(list(members.columns).index("cycles"), "origin", origin)
        members["audited"] = members["point"].isin(one.audit.index)
        frames.append(members)
    text = pd.concat(frames, ignore_index=True).to_csv(index=False, lineterminator="\n")
    file.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(file) as part:
        part.write_text(text, encoding="utf-8")
