"""Chakra execution traces of a sweep's networks, one file for each device, for ASTRA-sim and its like.

A device runs an iteration's operations one after the other, so each depends on the one before it. Tensor
parallelism has its all-reduces among them. Those of gradients come between backward pass and update: one for
all weights, or, with ``overlap``, one for each layer as soon as its backward pass ends.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from apuflow.configure import Sweep
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.plan.campaign import Campaign
from apuflow.results.chakra_file import Node, Value, trace
from apuflow.results.chakra_schedule import UPDATE, Schedule, Timed
from apuflow.results.suites import iterations, ring_of
from apuflow.suites import step as steps
from apuflow.suites.epoch import Ring
from apuflow_analysis.tables import store
from apuflow_analysis.tables.records import COMPLETED
from apuflow_analysis.tables.suites import Folder, Item, Iteration

_TRAFFIC = ("dram_bytes_read", "dram_bytes_written")


@dataclass(frozen=True)
class Trace:
    """The trace of one iteration.

    Attributes:
        name: of its files, ``NAME.RANK.et``.
        devices: the nodes of each.
        left_out: how many items of each kind no engine runs; they are no part of it.
    """

    name: str
    devices: tuple[tuple[Node, ...], ...]
    microseconds: int
    left_out: Mapping[str, int]
    files: Mapping[str, bytes]


def traces(campaign: Campaign, sweep: Sweep, suite: str, *, overlap: bool = False) -> list[Trace]:
    """A network of a sweep at each combination of its values, by the sweep's table of operations.

    Args:
        overlap: an all-reduce for each layer's gradients, beside the rest of the backward pass.

    Raises:
        ConfigError: no network of the sweep, no table yet, an operation without a time, or
            nothing to overlap.
        AnalysisError: the sweep's table of operations is damaged.
    """
    members = [one for one in campaign.members(sweep) if one.suite.name == suite]
    if not members or not members[0].suite.is_network or sweep.sampling is not None:
        raise _no_network(campaign, sweep, suite)
    table = _operations(campaign, sweep)
    traffic = _traffic(table)
    found = []
    every = iterations(campaign, sweep, suite)
    _check_points(every, traffic, sweep)
    rows: Iterator[Mapping[Any, Any]] = iter(Folder(table).items(every).to_dict("records"))
    for member, one in zip(members, every, strict=True):
        timed = [_timed(item, next(rows), traffic.get((one.engine, item.point)), sweep) for item in one.items]
        ring = ring_of(member, one.devices) if overlap else None
        name = suite if len(every) == 1 else one.label
        found.append(_trace(name, one, timed, ring))
    return found


def network_names(campaign: Campaign, sweep: Sweep) -> list[str]:
    """Names of the networks among a sweep's suites. Raises ConfigError: there is none."""
    names = dict.fromkeys(one.suite.name for one in campaign.members(sweep) if one.suite.is_network)
    if not names:
        raise _no_network(campaign, sweep, ", ".join(sweep.suites))
    return list(names)


def _no_network(campaign: Campaign, sweep: Sweep, suite: str) -> ConfigError:
    file = paths.sweep_file(sweep.name)
    if sweep.sampling is not None:
        what, remedy = "a sample has no time of each operation", "a sweep without it, or by the preview"
        return ConfigError(what, file=file, key="sampling", remedy=remedy)
    names = {one.suite.name: None for one in campaign.members(sweep) if one.suite.is_network}
    remedy = f"one of {', '.join(names)}" if names else "a sweep with suites: [resnet50]"
    return ConfigError("the sweep has no network of this name", file=file, value=suite, remedy=remedy)


def _operations(campaign: Campaign, sweep: Sweep) -> pd.DataFrame:
    csv, parquet, _ = paths.table_files(paths.under(sweep.name), paths.OPERATIONS)
    if not (campaign.root / parquet).exists():
        remedy = f"snakemake --cores all {csv}"
        raise ConfigError("the sweep has no table of operations yet", file=csv, remedy=remedy)
    return store.read(campaign.root / parquet, whole=True)


def _traffic(table: pd.DataFrame) -> dict[tuple[str, str], int | None]:
    """Bytes that each operation moves to and from DRAM, by engine and point; None: they are not known."""
    total = table[list(_TRAFFIC)].astype(float).sum(axis=1, skipna=False)
    known = (None if math.isnan(value) else round(value) for value in total)
    return dict(zip(zip(table["engine"], table["point"], strict=True), known, strict=True))


def _check_points(every: Iterable[Iteration], known: Mapping[tuple[str, str], object], sweep: Sweep) -> None:
    if any(item.point and (one.engine, item.point) not in known for one in every for item in one.items):
        remedy = f"snakemake --cores all {paths.table(paths.under(sweep.name), paths.OPERATIONS)}"
        file = paths.table(paths.under(sweep.name), paths.OPERATIONS)
        raise ConfigError("the table lacks operations of the sweep: it is old", file=file, remedy=remedy)


def _timed(item: Item, row: Mapping[Any, Any], traffic: int | None, sweep: Sweep) -> Timed | Item:
    """An item with its time, or as it is where no engine runs it."""
    if item.formula_ms is None and not item.point:
        return item
    if item.point and row["status"] != COMPLETED:
        file = paths.table(paths.under(sweep.name), paths.OPERATIONS)
        remedy = f"run it again: apuflow retry {sweep.name}; or take it out of the suite"
        what = f"operation {item.name} has no time: {row['status']}"
        raise ConfigError(what, file=file, value=item.point, remedy=remedy)
    return Timed(item, float(row["ms"]) * 1e3, traffic)


def _trace(name: str, one: Iteration, found: Sequence[Timed | Item], overlapped: Ring | None) -> Trace:
    timed = [each for each in found if isinstance(each, Timed)]
    timed.sort(key=lambda each: each.item.phase == UPDATE)  # behind the all-reduce of the gradients
    ranks = one.devices * one.shards
    if overlapped is not None and (one.direction != "both" or one.devices == 1):
        what = "nothing overlaps: no gradients of several devices"
        raise ConfigError(what, key="--overlap", remedy="layer: {devices: 8, direction: both} in the sweep")
    schedules = [Schedule(_group(one, rank)) for rank in range(ranks)]
    for schedule in schedules:
        schedule.run(timed) if overlapped is None else schedule.overlap(timed, overlapped)
    files = {
        f"{name}.{rank}.et": trace(schedule.nodes, _about(one, rank, ranks))
        for rank, schedule in enumerate(schedules)
    }
    if groups := _groups(one):
        files[f"{name}.groups.json"] = (json.dumps(groups, indent=1) + "\n").encode()
    left = Counter(item.op for item in found if isinstance(item, Item) and item.op != steps.ALL_REDUCE)
    devices = tuple(tuple(schedule.nodes) for schedule in schedules)
    return Trace(name, devices, schedules[0].end, left, files)


def _about(one: Iteration, rank: int, ranks: int) -> dict[str, Value]:
    axes = {name: str(value) for name, value in one.axes.items()}
    memory = {f"{part}_bytes": size for part, size in one.memory.items()}
    return {"suite": one.suite, "engine": one.engine, **axes, **memory, "rank": rank, "ranks": ranks}


def _groups(one: Iteration) -> dict[str, list[int]]:
    """Ranks by name of their group, where devices share layers and there are several sets of those."""
    if one.shards == 1 or one.devices == 1:
        return {}
    first = range(0, one.devices * one.shards, one.shards)
    return {str(number): [*range(rank, rank + one.shards)] for number, rank in enumerate(first, 1)}


def _group(one: Iteration, rank: int) -> str:
    return next((name for name, ranks in _groups(one).items() if rank in ranks), "")
