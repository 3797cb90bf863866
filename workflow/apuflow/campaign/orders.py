"""Orders: all that a job on another machine needs to know of its runs, so that it looks at nothing else.

Each job starts Snakemake anew and reads the Snakefile again. A job that went through the project's sweeps to
find its point would fail when any other sweep has a mistake by then, and would take longer than a short run.
So the workflow writes an order for each job before it is submitted; what a finished one left is removed by
the next start.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from apuflow.campaign.storage import Storage
from apuflow.core import paths
from apuflow.core.engines import EngineName
from apuflow.core.errors import EngineError
from apuflow.core.files import write_text
from apuflow.core.scalar import Scalar

MARGIN = 4
"""A scheduler is asked for this many times the expected time: nine of ten estimates are less than 85 %
off."""

START_MINUTES = 10
"""Asked for besides: to start on a slow file system, to stop at the wall limit, and to publish."""

OVERHEAD_SECONDS = 0.3
"""What a run in a batch takes besides its own time: gem5's start, the proof, the record."""

OWN_MEMORY_MB = 1000
"""Asked of a scheduler above a run's own limit, for Snakemake (twice) and the job's script, 150 MB each: the
run's limit strikes first, and its record says so."""


@dataclass(frozen=True)
class PointOrder:
    """One point to run.

    Attributes:
        sweep: the sweep whose limits and settings the run takes.
        axes: the point's values of what varies.
        inputs: the rule's inputs by name (``Needs.rule_inputs``).
        memory_mb: the run is ended above this.
        minutes: of the scheduler's time that are asked for a job with this point alone.
        seconds: what it is expected to take; None: not known.
    """

    engine: EngineName
    workload: str
    point: str
    sweep: str
    axes: Mapping[str, Scalar]
    inputs: Mapping[str, list[str]]
    memory_mb: int
    minutes: int
    seconds: float | None = None

    @property
    def record(self) -> str:
        """Path of the record that it leaves."""
        return paths.run_record(self.engine, self.workload, self.point)


@dataclass(frozen=True)
class BatchOrder:
    """Points to run one after the other in one job."""

    points: tuple[PointOrder, ...]
    minutes: int

    @property
    def name(self) -> str:
        """Sixteen hex digits that name just these points."""
        text = "\n".join(order.record for order in self.points)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def memory_mb(self) -> int:
        """The most that one of its runs may take."""
        return max(order.memory_mb for order in self.points)

    def inputs(self) -> list[str]:
        """Files that must be there before it starts, each once."""
        files = (file for order in self.points for names in order.inputs.values() for file in names)
        return list(dict.fromkeys(files))


class Orders:
    """The orders of a project directory.

    Args:
        storage: what carries them to jobs; None: they share the directory.
    """

    def __init__(self, root: Path = Path(), storage: Storage | None = None) -> None:
        self._root = root
        self._storage = storage

    def write(self, order: PointOrder | BatchOrder) -> None:
        """Write an order where its job looks for it."""
        if isinstance(order, BatchOrder):
            place = paths.batch_order(order.name)
        else:
            place = paths.point_order(order.engine, order.workload, order.point)
        path, text = self._root / place, json.dumps(asdict(order))
        with contextlib.suppress(OSError):
            if path.read_text(encoding="utf-8") == text:
                return
        write_text(path, text)
        if self._storage:
            self._storage.store(place)

    def point(self, wildcards: Mapping[str, str]) -> PointOrder | None:
        """The order of a point's job; None: nobody wrote one."""
        path = paths.point_order(wildcards["engine"], wildcards["workload"], wildcards["point"])
        if self._storage and not (self._root / path).exists():
            self._storage.fetch(path)
        content = self._read(self._root / path)
        return None if content is None else _point(content)

    def batch(self, name: str) -> BatchOrder:
        """The order of a batch.

        Raises:
            EngineError: it is not there: its workflow has ended, and another one has its points.
        """
        path = self._root / paths.batch_order(name)
        content = self._read(path)
        if content is None:
            raise EngineError(
                "this batch has no order (any more)",
                file=path,
                remedy="start the workflow again: it plans batches of what is missing",
            )
        return BatchOrder(tuple(map(_point, content["points"])), content["minutes"])

    def clean(self) -> None:
        """Remove orders, and marks of batches, whose points all have a record."""
        for path in self._root.glob(paths.point_order("*", "*", "*")):
            engine, workload = path.parts[-3:-1]
            if (self._root / paths.run_record(engine, workload, path.stem)).exists():
                path.unlink(missing_ok=True)
        for path in self._root.glob(paths.batch_order("*")):
            with contextlib.suppress(EngineError, KeyError, TypeError):
                order = self.batch(path.name.partition(".")[0])
                if all((self._root / point.record).exists() for point in order.points):
                    path.unlink(missing_ok=True)
                    (self._root / paths.batch(order.name)).unlink(missing_ok=True)

    def _read(self, path: Path) -> dict[str, Any] | None:
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return content if isinstance(content, dict) else None


def _point(content: Mapping[str, Any]) -> PointOrder:
    return PointOrder(**content)


def asked_minutes(seconds: float | None, wall_seconds: float) -> int:
    """Minutes to ask a scheduler for, for one run.

    Args:
        seconds: what it is expected to take; None: not known, so it may take its wall limit.
        wall_seconds: the sweep's wall limit, which ends the run.
    """
    expected = wall_seconds if seconds is None else min(wall_seconds, MARGIN * (seconds + OVERHEAD_SECONDS))
    return math.ceil(expected / 60) + START_MINUTES


def divide(orders: Iterable[PointOrder], seconds: float) -> Iterator[BatchOrder]:
    """Divide points into batches that take about ``seconds`` each.

    A point whose time is not known, or that takes more than half of a batch, is left out: it has a job of
        its own.
    So is what would be the only one of a batch. Points that need more than twice the memory of others have
    batches of their own, because a batch asks for the memory of its largest run.
    """
    groups: dict[tuple[str, str, int], list[PointOrder]] = {}
    for order in orders:
        if order.seconds is not None and order.seconds + OVERHEAD_SECONDS <= seconds / 2:
            key = (order.engine, order.workload, int(math.log2(max(1, order.memory_mb))))
            groups.setdefault(key, []).append(order)
    for group in groups.values():
        start = 0
        for size in _sizes([order.seconds or 0.0 for order in group], seconds):
            points = tuple(group[start : start + size])
            start += size
            if size > 1:
                taken = sum((order.seconds or 0.0) + OVERHEAD_SECONDS for order in points)
                yield BatchOrder(points, math.ceil(MARGIN * taken / 60) + START_MINUTES)


def batch_sizes(expected: Iterable[float], seconds: float) -> Iterator[int]:
    """Points of each batch into which points that take so many seconds would be divided."""
    short = [each for each in expected if each + OVERHEAD_SECONDS <= seconds / 2]
    return (size for size in _sizes(short, seconds) if size > 1)


def _sizes(expected: Iterable[float], seconds: float) -> Iterator[int]:
    """How many to take each time, in their order, for about ``seconds``."""
    count, taken = 0, 0.0
    for each in expected:
        if count and taken + each + OVERHEAD_SECONDS > seconds:
            yield count
            count, taken = 0, 0.0
        count += 1
        taken += each + OVERHEAD_SECONDS
    if count:
        yield count
