"""From the points of single operations back to suites: a row per iteration, a row per item, sums by part.

Every distinct operation was simulated once. An item's time is that of its operation; an iteration is the sum
over all its items, each as often as it is repeated, one after the other. What no engine runs is left out of
the sums and named.
"""

from __future__ import annotations

import math
import re
from collections import Counter as Counts
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from apuflow.core.engines import PREVIEW_VERSION
from apuflow.core.products import joined
from apuflow_analysis.counters.table import BY_NAME as COUNTERS
from apuflow_analysis.tables.columns import INTERVAL, MACHINE, RUN, UNMEASURED, WRONG, axis_column, flagged
from apuflow_analysis.tables.records import COMPLETED, Batch, by_name
from apuflow_analysis.tables.tables import assemble

BY_FORMULA = "by formula"
"""Status of an item whose time a formula gives."""
_TEXTS = tuple(column.name for column in RUN if column.kind == "provenance")
_LONGEST = 500
"""Characters of flags that one row repeats; the table of operations has all."""
_MOST_NAMED = 6
"""Reasons that one row names."""
_CUT = "from the first workgroups of launches"
_BETWEEN = re.compile(";(?! )")
"""Between two flags; within one a blank follows."""


@dataclass(frozen=True)
class Item:
    """One row of a suite's table in one phase.

    Attributes:
        number: of the row, from 1.
        repeats: how often an iteration runs it.
        flop: of all repeats, by the suite's rule; 0: it counts none.
        point: of the operations' table; "": it is not run.
        why: why it is not run.
        formula_ms: its time by a formula, where nothing is run for it.
        reduced_bytes: of the values that devices add up: of an all-reduce, or of the gradients of an update.
    """

    number: int
    name: str
    op: str
    phase: str
    repeats: int
    flop: int
    group: str = ""
    point: str = ""
    why: str = ""
    formula_ms: float | None = None
    reduced_bytes: int = 0


@dataclass(frozen=True)
class Iteration:
    """A suite at one combination of a sweep's values, on one engine.

    Attributes:
        label: names the row.
        axes: what the sweep varies, by axis name.
        images: inputs of an iteration on one device; None where the suite is a list.
        devices: that run it together, each on inputs of its own.
        shards: devices that share each layer of one of those.
        params: learnt values.
        memory: bytes by part.
        left_out: what the suite's source runs and the suite does not.
        tokens: new ones of an iteration; None: it has none.
    """

    suite: str
    engine: str
    direction: str
    label: str
    axes: Mapping[str, Any]
    items: tuple[Item, ...]
    images: int | None = None
    devices: int = 1
    params: int = 0
    memory: Mapping[str, int] = field(default_factory=dict)
    left_out: str = ""
    tokens: int | None = None
    shards: int = 1


class Folder:
    """Folds the table of operations.

    Args:
        operations: rows of the workload ``operations``: one per distinct operation and machine.
    """

    def __init__(self, operations: pd.DataFrame) -> None:
        keys = zip(operations["engine"], operations["point"], strict=True)
        self._place = {(str(engine), str(point)): row for row, (engine, point) in enumerate(keys)}
        self._frame = operations
        self._names = [name for name in COUNTERS if name in operations.columns]
        self._values = operations[self._names].to_numpy(dtype=np.float64)
        self._seconds = operations["gpu_time"].to_numpy(dtype=np.float64)
        per_cycle = self._seconds / operations["gpu_cycles"].to_numpy(dtype=np.float64)
        low, high = (operations[name].to_numpy(dtype=np.float64) * per_cycle for name in INTERVAL)
        versions = operations[["engine", "release", "gem5_commit"]].to_dict("records")
        told = {
            "seconds": self._seconds,
            "low_ms": np.where(np.isnan(low), self._seconds, low) * 1e3,
            "high_ms": np.where(np.isnan(high), self._seconds, high) * 1e3,
            "engine_version": [_version(row) for row in versions],
            UNMEASURED: flagged(operations, UNMEASURED),
        }
        texts = operations[["bound", "status", "products", "stand_in"]]
        self._told = pd.DataFrame(told, operations.index).join(texts).reset_index(drop=True)

    def _places(self, iteration: Iteration) -> list[int]:
        """Places of an iteration's items in the table of operations; -1: the item is not run."""
        return [self._place[iteration.engine, item.point] if item.point else -1 for item in iteration.items]

    def items(self, iterations: Sequence[Iteration]) -> pd.DataFrame:
        """A row per item: time, throughput by the suite's rule, what bounds it.

        Columns ``ms`` (once) with its interval ``low_ms`` to ``high_ms`` (``ms`` where simulated whole),
        ``total_ms`` (all repeats), ``tflops``, ``unmeasured`` (outside of what the preview was measured on),
        ``products``, ``stand_in``, ``engine_version``; empty where the operation failed or is
        not run (``why``).
        """
        frames = []
        for iteration in iterations:
            told = self._told.reindex(self._places(iteration)).reset_index(drop=True)
            seconds = told.pop("seconds")
            frame = pd.DataFrame([_cells(iteration, item) for item in iteration.items])
            formula = pd.Series([item.formula_ms for item in iteration.items], dtype=float)
            frame["ms"] = formula.fillna(seconds * 1e3)
            frame["total_ms"] = frame["ms"] * frame["repeats"]
            flop = frame["flop"].astype(float)
            frame["tflops"] = flop.where(flop > 0) / (seconds * frame["repeats"].astype(float)) / 1e12
            told[UNMEASURED] = told[UNMEASURED].eq(True)
            told.loc[told["status"].isna(), "status"] = "not run"
            told.loc[formula.notna(), "status"] = BY_FORMULA
            frames.append(frame.join(told))
        return pd.concat(frames, ignore_index=True)

    def table(self, iterations: Sequence[Iteration]) -> pd.DataFrame:
        """A row per iteration, as any workload's table: counters are sums over items, metrics follow."""
        axes = tuple(dict.fromkeys(axis_column(name) for one in iterations for name in one.axes))
        rows = [self._row(one) for one in iterations]
        return assemble([Batch(by_name(pd.DataFrame(rows, dtype="object")), axes)])

    def _row(self, iteration: Iteration) -> dict[str, Any]:
        weights = Counts[int]()
        for place, item in zip(self._places(iteration), iteration.items, strict=True):
            if place >= 0:
                weights[place] += item.repeats
        used = self._frame.iloc[list(weights)]
        failed = used[used["status"] != COMPLETED]
        cut = int(used["extrapolated"].notna().sum())
        row: dict[str, Any] = {
            "engine": iteration.engine,
            "workload": iteration.suite,
            "direction": iteration.direction,
            "point": iteration.label,
            "status": str(failed.iloc[0]["status"]) if len(failed) else COMPLETED,
            **{axis_column(name): value for name, value in iteration.axes.items()},
            **{column.name: _only(used[column.name]) for column in MACHINE},
            **{name: _only(used[name]) for name in _TEXTS},
            "evidence": _said(iteration, len(weights), failed),
            "flags": _flags(used["flags"])[:_LONGEST],
            "products": joined(used["products"]) or None,
            "stand_in": _each(used["stand_in"], "; ") or None,
            "extrapolated": f"{cut} of {len(used)} distinct operations, {_CUT}" if cut else None,
            "max_relative_error": used["max_relative_error"].astype(float).max(),
            "bound": None,
            "wall_seconds": used["wall_seconds"].astype(float).sum(min_count=1),
            "peak_memory_bytes": used["peak_memory_bytes"].astype(float).max(),
        }
        if not len(failed) and weights:
            row |= self._sums(weights)
            row["bound"] = self._bound(weights)
        return row

    def _sums(self, weights: Mapping[int, int]) -> dict[str, float]:
        values = self._values[list(weights)]
        times = np.array(list(weights.values()), dtype=np.float64)[:, None]
        sums = (values * times).sum(axis=0)
        counted = {
            name: float(sums[place]) if COUNTERS[name].aggregate == "sum" else float(values[:, place].max())
            for place, name in enumerate(self._names)
        }
        rows = self._frame.iloc[list(weights)]
        ends = rows[list(INTERVAL)].astype(float)
        if rows["extrapolated"].notna().any():  # what ran whole has no interval beside those that have one
            ends = ends.apply(lambda end: end.fillna(rows["gpu_cycles"].where(rows["extrapolated"].isna())))
        return counted | {name: float((ends[name] * times[:, 0]).sum(skipna=False)) for name in INTERVAL}

    def _bound(self, weights: Mapping[int, int]) -> str | None:
        spent: Counts[str] = Counts()
        for place, times in weights.items():
            bound = self._frame["bound"].iloc[place]
            seconds = self._seconds[place]
            if bound and math.isfinite(seconds):
                spent[str(bound)] += times * seconds
        return spent.most_common(1)[0][0] if spent else None


def _version(row: Mapping[Any, Any]) -> str:
    """The version of the engine that made a row: the preview's, or gem5's release and commit."""
    if row["engine"] == "preview":
        return f"preview {PREVIEW_VERSION}"
    commit = row["gem5_commit"]
    return " ".join(["gem5", str(row["release"]), *([commit[:8]] if isinstance(commit, str) else [])])


def _cells(iteration: Iteration, item: Item) -> dict[str, Any]:
    return {
        "suite": iteration.suite,
        "engine": iteration.engine,
        **{axis_column(name): value for name, value in iteration.axes.items()},
        "item": item.number,
        "name": item.name,
        "op": item.op,
        "phase": item.phase,
        "set": item.group,
        "repeats": item.repeats,
        "flop": item.flop,
        "point": item.point,
        "why": item.why,
        "left_out": iteration.left_out,
    }


def _said(iteration: Iteration, operations: int, failed: pd.DataFrame) -> str:
    """What a row of an iteration says of what it is made from."""
    run = [item for item in iteration.items if item.point]
    steps = [item for item in iteration.items if item.formula_ms is None]
    text = f"{operations} operations stand for {len(run)} of {len(steps)} steps"
    if len(failed):
        text += f"; {len(failed)} operations failed, the first: {failed.iloc[0]['evidence']}"
    left = Counts(f"{item.op} {item.phase}: {item.why}" for item in steps if not item.point)
    if left:
        named = [f"{count} x {why}" for why, count in left.most_common(_MOST_NAMED)]
        text += f"; not run: {'; '.join(named)}" + ("; ..." if len(left) > _MOST_NAMED else "")
    return text + (f"; left out: {iteration.left_out}" if iteration.left_out else "")


def _flags(values: pd.Series[Any]) -> str:
    """Flags of the operations, each once; of wrong results and of what was not measured also how many."""
    single = [flag for text in values if isinstance(text, str) for flag in _BETWEEN.split(text)]
    away = sum(flag.startswith(UNMEASURED) for flag in single)
    wrong = [flag for flag in single if flag.startswith(WRONG)]
    said = [f"{UNMEASURED}: {away} of {len(values)} operations, which their table names"] if away else []
    if wrong:
        first = wrong[0].removeprefix(f"{WRONG}: ")
        said.append(f"{WRONG}: {len(wrong)} of {len(values)} operations, the first: {first}")
    said += [flag for flag in single if not flag.startswith((UNMEASURED, WRONG))]
    return _each(said, ";")


def _each(values: Iterable[Any], between: str) -> str:
    """Every text of a column, once."""
    return between.join(dict.fromkeys(text for text in values if isinstance(text, str) and text))


def _only(values: pd.Series[Any]) -> Any:
    """The value that all rows have; None where they differ."""
    known = list(dict.fromkeys(None if value != value else value for value in values))
    return known[0] if len(known) == 1 else None
