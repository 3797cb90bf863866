"""A sweep's suites, folded from the Parquet table of its operations."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from apuflow.configure import Sweep, sweep_names
from apuflow.configure.point import Point
from apuflow.configure.work import label_of, value_part
from apuflow.core import paths
from apuflow.core.errors import ApuflowError, ConfigError
from apuflow.core.files import write_files
from apuflow.dnnmark.shape import FLOAT_BYTES
from apuflow.plan.campaign import Campaign
from apuflow.plan.points import Member
from apuflow.suites.epoch import Ring
from apuflow.suites.spec import Refused
from apuflow.suites.step import ALL_REDUCE, COMMUNICATION, UPDATE, Step
from apuflow.suites.suite import Suite
from apuflow_analysis.tables import store
from apuflow_analysis.tables.columns import axis_column
from apuflow_analysis.tables.suite_sums import summary, times
from apuflow_analysis.tables.suites import Folder, Item, Iteration
from apuflow_analysis.tables.tables import require_completed


def iterations(campaign: Campaign, sweep: Sweep, suite: str) -> list[Iteration]:
    """Every combination of a suite in a sweep, as tables need it.

    Raises:
        ConfigError: a choice that the suite does not have, or an operation that cannot run.
    """
    return [_iteration(member) for member in campaign.members(sweep) if member.suite.name == suite]


def _iteration(member: Member) -> Iteration:
    shards = member.choice.tensor_parallel
    ring = ring_of(member, shards if member.suite.operators is not None else member.choice.devices)
    items = (*(_item(step, point, ring) for step, point in member.items), *_communication(member))
    parts = [value_part(name.removeprefix("layer."), value) for name, value in member.assignment]
    told = "\n".join(f"{item.point} {item.repeats} {item.why}" for item in items)
    digest = hashlib.sha256(told.encode()).hexdigest()[:8]
    suite = member.suite
    memory = suite.memory(member.choice)
    return Iteration(
        suite=suite.name,
        engine=member.engine,
        direction=member.choice.direction,
        label=f"{label_of(suite.name, *parts)}-{digest}",
        axes=dict(member.assignment),
        items=items,
        images=(member.choice.n or suite.n or 1) if suite.is_network else None,
        devices=member.choice.devices,
        params=_params(suite),
        memory={} if memory is None else asdict(memory),
        left_out=suite.left_out,
        tokens=suite.tokens(member.choice),
        shards=shards,
    )


def ring_of(member: Member, devices: int) -> Ring:
    """A ring of so many devices with the links of a sweep."""
    return Ring(devices, member.choice.bandwidth * 1e9, member.choice.latency * 1e-6)


def _item(step: Step, point: Point | Refused, ring: Ring) -> Item:
    phase: str = step.phase
    spent: float | None = None
    reduced = FLOAT_BYTES * int(step.shape.get("elements", 0)) if step.op in (ALL_REDUCE, UPDATE) else 0
    if step.op == ALL_REDUCE and ring.devices > 1:
        phase, spent = COMMUNICATION, ring.seconds(reduced) * 1e3
    name, why = (point.id, "") if isinstance(point, Point) else ("", point.why)
    about = step.item, step.name, step.op, phase, step.repeats, step.flop, step.group
    return Item(*about, name, why, spent, reduced)


def _communication(member: Member) -> Iterator[Item]:
    """What several devices add to an iteration with gradients: the all-reduce of those of all weights."""
    size = FLOAT_BYTES * _params(member.suite)
    ring = ring_of(member, member.choice.devices)
    if ring.devices > 1 and size and member.choice.direction != "fwd":
        why = "computed by the ring formula"
        last = max(step.item for step, _ in member.items)
        about = last + 1, ALL_REDUCE, ALL_REDUCE, COMMUNICATION, 1, 0, "", "", why
        yield Item(*about, ring.seconds(size) * 1e3, size)


def points_of_suite(name: str, root: Path) -> frozenset[str]:
    """Identifiers of a suite's points in all sweeps that name it; a sweep with a mistake is passed over."""
    campaign = Campaign(root)
    found: set[str] = set()
    for sweep_name in sweep_names(root):
        with contextlib.suppress(ApuflowError):
            sweep = campaign.load(sweep_name)
            if name in campaign.suites(sweep):
                mine = (member for member in campaign.members(sweep) if member.suite.name == name)
                found |= {point.id for member in mine for point in member.points}
    return frozenset(found)


def _params(suite: Suite) -> int:
    network = suite.whole
    return network.params if network is not None else 0


def write_suite_table(
    campaign: Campaign, under: str, suite: str, operations: str | Path, files: Sequence[str]
) -> None:
    """Write a suite's table, a row per iteration, as CSV, Parquet and columns.

    Raises:
        AnalysisError: the table cannot be read, or an operation failed and the sweep is strict.
    """
    sweep = campaign.sweep(under)
    frame = Folder(store.read(operations, whole=True)).table(iterations(campaign, sweep, suite))
    if sweep.on_failure == "strict":
        require_completed(frame)
    store.write(frame, *(campaign.root / file for file in files))


def suite_items(campaign: Campaign, sweep: Sweep, operations: str | Path) -> pd.DataFrame:
    """Items of all suites of a sweep, with the label of their iteration and its memory by part.

    Raises:
        ConfigError: the sweep has no suites.
    """
    names = campaign.suites(sweep)
    if not names:
        file = paths.sweep_file(sweep.name)
        raise ConfigError("the sweep has no suites", file=file, key="suites", remedy="name one")
    folder = Folder(store.read(operations, whole=True))
    every = [iteration for name in names for iteration in iterations(campaign, sweep, name)]
    frame = folder.items(every)
    of_items = [iteration for iteration in every for _ in iteration.items]
    frame["iteration"] = [f"{one.label} {one.engine}" for one in of_items]
    for part in dict.fromkeys(part for one in every for part in one.memory):
        frame[f"{part}_bytes"] = [one.memory.get(part) for one in of_items]
    frame.attrs["axes"] = tuple(dict.fromkeys(axis_column(name) for one in every for name in one.axes))
    return frame


def write_items(campaign: Campaign, under: str, suites: Sequence[str], operations: str | Path) -> None:
    """Write suites' items, their sums by phase and kind, and their summaries (``paths.suite_files``)."""
    sweep = campaign.sweep(under)
    folder = Folder(store.read(operations, whole=True))
    texts: dict[str | Path, bytes] = {}
    for suite in suites:
        all_of_it = iterations(campaign, sweep, suite)
        items = folder.items(all_of_it)
        frames = (items, times(items, all_of_it), summary(items, folder.table(all_of_it), all_of_it))
        for file, frame in zip(paths.suite_files(under, suite), frames, strict=True):
            texts[campaign.root / file] = frame.to_csv(index=False, lineterminator="\n").encode()
    write_files(texts)
