"""The table of traced launches: which launches it has, and its rows."""

from __future__ import annotations

import csv
import io
import lzma
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from apuflow.miopen import Launch
from apuflow.miopen.compiler import digest
from apuflow.preview.kernels.facts import Facts, facts_of
from apuflow.preview.kernels.numbers import numbers
from apuflow.preview.kernels.totals import TOTALS
from apuflow.preview.kernels.traced import GIVEN, facts_of_row, logarithms

SHARE = {"gfx902": 2, "gfx801": 1}
"""Rows of a GPU, of three."""
ROWS = 450
"""Of a kernel."""
LONG = 300_000
"""Instructions of a launch that is traced in the turn of one of twice its place."""
TABLE_BYTES = 400_000
APART, FEW = 2.0, 4
"""Distance of two launches in a number that has at most so many values; others' are of their logarithms."""
RESOURCES = "lds_bytes", "vgprs", "sgprs"
"""Bytes of a workgroup, registers of a wavefront."""
COLUMNS = (*GIVEN, *RESOURCES, *TOTALS)
Records = dict[str, dict[str, Any]]
"""By ``Traceable.key``: resources and totals of a launch, or why it is ``refused``."""


class Traceable(NamedTuple):
    """A launch that can be traced, its GPU, and what the preview sees of it."""

    launch: Launch
    gfx: str
    facts: Facts

    @classmethod
    def of(cls, launch: Launch, gfx: str) -> Traceable:
        """The launch on a GPU; of a loop the first pass."""
        return cls(launch, gfx, facts_of(launch, vega=gfx != "gfx801"))

    @property
    def key(self) -> str:
        """What tells it from others in the cache."""
        return key_of(self.facts)

    @property
    def size(self) -> int:
        """Bytes of its buffers."""
        return sum(arg.elements * arg.element_bytes for arg in self.launch.args if arg.kind == "buffer")


def key_of(facts: Facts) -> str:
    """What tells a launch from others in the cache."""
    return digest(repr(tuple(facts)))


def read_table(file: Path) -> Records:
    """Records of the launches of a table that is there."""
    if not file.exists():
        return {}
    found: Records = {}
    for _, row in pd.read_csv(
        file, keep_default_na=False, dtype={"arguments": str, "values": str}
    ).iterrows():
        facts = facts_of_row(row)
        key, counted = key_of(facts), {name: row[name] for name in (*RESOURCES, *TOTALS)}
        found[key] = {"key": key, "kernel": facts.kernel, "waves": facts.wavefronts, **counted}
    return found


def places(rows: Sequence[Mapping[str, float]]) -> NDArray[np.float64]:
    """Launches of a kernel as points: logarithms of their numbers; those with few values are names."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns = []
    for name in names:
        values = np.array([row.get(name, 0.0) for row in rows])
        different = np.unique(values)
        if 1 < len(different) <= FEW:
            columns += [APART / 2.0**0.5 * (values == each) for each in different]
        elif len(different) > FEW:
            columns.append(logarithms(values))
    return np.array(columns or [np.zeros(len(rows))], dtype=np.float64).T


def spread(points: NDArray[np.float64], most: int) -> list[int]:
    """Numbers of points, the first in the middle, each other one as far as can be from those before."""
    if not len(points):
        return []
    chosen = [int(((points - points.mean(axis=0)) ** 2).sum(axis=1).argmin())]
    away = np.full(len(points), np.inf)
    while len(chosen) < min(most, len(points)):
        away = np.minimum(away, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
        away[chosen] = -1.0
        chosen.append(int(away.argmax()))
    return chosen


def chosen_of(group: Sequence[Traceable], most: int) -> list[Traceable]:
    """Launches of a kernel that are far from each other, in that order, those of each GPU by its share."""
    queues = []
    for gfx, share in SHARE.items():
        one = [each for each in group if each.gfx == gfx]
        parts = most * share // sum(SHARE.values())
        queues += [[one[place] for place in spread(places([numbers(each.facts) for each in one]), parts)]]
    return list(in_turn(queues))


def by_kernel(every: Iterable[Traceable]) -> dict[str, list[Traceable]]:
    """Launches of each kernel."""
    found: dict[str, list[Traceable]] = defaultdict(list)
    for each in every:
        found[each.launch.kernel].append(each)
    return dict(sorted(found.items()))


def in_turn(queues: Sequence[Sequence[Traceable]]) -> Iterator[Traceable]:
    """The first of each queue, then the second of each."""
    for place in range(max(map(len, queues), default=0)):
        yield from (queue[place] for queue in queues if place < len(queue))


def in_order(
    every: Mapping[Facts, Traceable], cost: Mapping[Facts, float], runs: set[Facts]
) -> list[Traceable]:
    """The launches to trace: spread ones of each kernel and those of runs, long ones later.

    Args:
        cost: wavefront instructions of each. runs: launches that were recorded.
    """
    places: dict[Facts, float] = {}
    for group in by_kernel(every.values()).values():
        for queue in (chosen_of(group, ROWS), [each for each in group if each.facts in runs]):
            for place, each in enumerate(queue):
                turn = (1.0 + place) * (1.0 + cost[each.facts] / LONG)
                places[each.facts] = min(turn, places.get(each.facts, turn))
    return [every[facts] for facts in sorted(places, key=lambda facts: places[facts])]


def cells(facts: Facts, one: Mapping[str, Any]) -> list[str]:
    """A row of the table."""
    given = {
        "kernel": facts.kernel,
        "arguments": facts.arguments,
        "values": " ".join(f"{name}={value:.10g}" for name, value in facts.values),
        "grid": "x".join(map(str, facts.grid)),
        "workgroup": "x".join(map(str, facts.workgroup)),
        "vega": str(int(facts.vega)),
    }
    counted = (f"{one[name]:.5g}" for name in TOTALS)
    return [*(given[name] for name in GIVEN), *(str(one[name]) for name in RESOURCES), *counted]


def table(every: Sequence[Traceable], kept: Records, most: int) -> bytes:
    """The compressed table: of each kernel at most so many launches that are far from each other."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for group in by_kernel(each for each in every if "waves" in kept.get(each.key, ())).values():
        chosen = chosen_of(group, most)
        writer.writerows(sorted(cells(each.facts, kept[each.key]) for each in chosen))
    return lzma.compress(out.getvalue().encode(), preset=9)


def fitting(every: Sequence[Traceable], kept: Records) -> tuple[bytes, int]:
    """The largest table that is small enough, and the most launches of a kernel in it."""
    few, many = 3, ROWS
    best = table(every, kept, many)
    if len(best) <= TABLE_BYTES:
        return best, many
    while many - few > 3:
        most = (few + many) // 2
        data = table(every, kept, most)
        few, many, best = (most, many, data) if len(data) <= TABLE_BYTES else (few, most, best)
    return table(every, kept, few), few
