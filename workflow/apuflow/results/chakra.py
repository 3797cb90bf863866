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
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from apuflow.configure import Sweep
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.plan.campaign import Campaign
from apuflow.results.chakra_file import ALL_REDUCE, COLLECTIVE, COMPUTE, Node, Value, trace
from apuflow.results.suites import iterations, ring_of
from apuflow.suites import step as steps
from apuflow.suites.epoch import Ring
from apuflow_analysis.tables import store
from apuflow_analysis.tables.records import COMPLETED
from apuflow_analysis.tables.suites import Folder, Item, Iteration

_, BACKWARD, UPDATE = steps.PHASES
_TRAFFIC = ("dram_bytes_read", "dram_bytes_written")


@dataclass(frozen=True)
class Timed:
    """An item of an iteration, with what a run of it takes.

    Attributes:
        microseconds: of one run.
        traffic: bytes that one run reads and writes in DRAM; None: not known.
    """

    item: Item
    microseconds: float
    traffic: int | None = None


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
        ConfigError: no network of the sweep, an operation without a time, or nothing to overlap.
        AnalysisError: the sweep has no table of operations yet.
    """
    members = [one for one in campaign.members(sweep) if one.suite.name == suite]
    if not members or not members[0].suite.is_network or sweep.sampling is not None:
        raise _no_network(campaign, sweep, suite)
    table = store.read(
        campaign.root / paths.table(paths.under(sweep.name), paths.OPERATIONS, "parquet"), whole=True
    )
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


def _traffic(table: Any) -> dict[tuple[str, str], int | None]:
    """Bytes that each operation moves to and from DRAM, by engine and point; None: they are not known."""
    total = sum(table[name].astype(float) for name in _TRAFFIC)
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
        remedy = "run it again: apuflow retry, or take it out of the suite"
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
    schedules = [_Schedule(_group(one, rank)) for rank in range(ranks)]
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


@dataclass
class _Schedule:
    """Nodes of a device as they are added, and when each ends."""

    group: str = ""
    nodes: list[Node] = field(default_factory=list)
    _ends: list[float] = field(default_factory=list)
    _last: tuple[int, ...] = ()
    _linked: float = 0.0

    @property
    def end(self) -> int:
        """Microseconds until all have ended."""
        return round(max(self._ends, default=0.0))

    def run(self, timed: Sequence[Timed]) -> None:
        """Add all of it, one behind the other."""
        for each, turn in _unrolled(timed):
            self._last = (self._add(each, turn, self._last),)

    def overlap(self, timed: Sequence[Timed], ring: Ring) -> None:
        """Add all of it, with an all-reduce for each layer's gradients instead of one for all."""
        own = [each for each in timed if each.item.op != steps.ALL_REDUCE]
        updates = [each for each in own if each.item.phase == UPDATE]
        ends: dict[int, tuple[int, ...]] = {}
        for each, turn in _unrolled([each for each in own if each.item.phase != UPDATE]):
            self._last = (self._add(each, turn, self._last),)
            ends[each.item.number] = self._last
        reduced: dict[int, tuple[int, ...]] = {}
        for each in sorted(updates, key=lambda each: ends.get(each.item.number, self._last)):
            after = ends.get(each.item.number, self._last)
            reduced[each.item.number] = (self._add(_gradients(each.item, ring), 0, after),)
        for each in updates:
            self._last = (self._add(each, 0, (*self._last, *reduced[each.item.number])),)

    def _add(self, timed: Timed, turn: int, after: tuple[int, ...]) -> int:
        """Add a node behind others, and return its id."""
        item = timed.item
        begin = max((self._ends[node - 1] for node in after), default=0.0)
        joint = item.op == steps.ALL_REDUCE
        begin = max(begin, self._linked) if joint else begin
        end = begin + timed.microseconds
        self._linked = end if joint else self._linked
        self._ends.append(end)
        kind, told = (COLLECTIVE, self._collective(timed)) if joint else (COMPUTE, _computing(timed))
        name = f"{item.phase}/{item.name}" + (f"/{turn}" if item.repeats > 1 else "")
        start = round(begin)
        node = Node(len(self._ends), name, kind, after, start, round(end) - start, told)
        self.nodes.append(node)
        return node.id

    def _collective(self, timed: Timed) -> dict[str, Value]:
        told: dict[str, Value] = {"comm_type": ALL_REDUCE, "comm_size": timed.item.reduced_bytes}
        told |= {"pg_name": self.group} if self.group else {}
        return {**told, "microseconds": timed.microseconds}


def _gradients(update: Item, ring: Ring) -> Timed:
    """The all-reduce of the gradients of a layer, by its update."""
    spent = ring.seconds(update.reduced_bytes)
    item = replace(update, op=steps.ALL_REDUCE, phase=steps.COMMUNICATION, flop=0, formula_ms=spent * 1e3)
    return Timed(item, spent * 1e6)


def _computing(timed: Timed) -> dict[str, Value]:
    item = timed.item
    told: dict[str, Value] = {"num_ops": item.flop // item.repeats}
    told |= {} if timed.traffic is None else {"tensor_size": timed.traffic}
    return {**told, "op": item.op, "microseconds": timed.microseconds}


def _unrolled(timed: Sequence[Timed]) -> Iterator[tuple[Timed, int]]:
    """Every run in order, with its number among those of its item.

    Neighbours that are repeated are a loop with as many turns as their greatest common divisor: the layers of
    a transformer, and in each of them its experts.
    """
    turns: Counter[int] = Counter()
    phases = groupby(range(len(timed)), lambda place: timed[place].item.phase in (BACKWARD, UPDATE))
    for _, places in phases:
        for place in _loops([(place, timed[place].item.repeats) for place in places]):
            yield timed[place], turns[place]
            turns[place] += 1


def _loops(counted: Sequence[tuple[int, int]]) -> Iterator[int]:
    for repeated, group in groupby(counted, lambda pair: pair[1] > 1):
        body = list(group)
        times = math.gcd(*(count for _, count in body)) if repeated else 0
        if times < 2:
            yield from (place for place, count in body for _ in range(count))
            continue
        for _ in range(times):
            yield from _loops([(place, count // times) for place, count in body])
