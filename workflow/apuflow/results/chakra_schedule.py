"""The order of an iteration's operations on a device, as the nodes of a Chakra trace."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from apuflow.results.chakra_file import ALL_REDUCE, COLLECTIVE, COMPUTE, Node, Value
from apuflow.suites import step as steps
from apuflow.suites.epoch import Ring
from apuflow_analysis.tables.suites import Item

_, BACKWARD, UPDATE = steps.PHASES


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


@dataclass
class Schedule:
    """Nodes of a device as they are added, and when each ends.

    Attributes:
        group: of the devices that share its layers; "": all.
    """

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
