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
from apuflow.core.products import joined, stands_in, title
from apuflow_analysis.counters.table import BY_NAME as COUNTERS
from apuflow_analysis.tables.columns import INTERVAL, MACHINE, RUN, UNMEASURED, WRONG, axis_column
from apuflow_analysis.tables.records import COMPLETED, Batch, by_name
from apuflow_analysis.tables.tables import assemble

PHASES = ("forward", "backward", "update", "communication")
RECKONED = "reckoned"
"""Status of an item whose time a formula gives."""
_TEXTS = tuple(column.name for column in RUN if column.kind == "provenance")
_LONGEST = 500
"""Characters of flags that one row repeats; the table of operations has all."""
_MOST_NAMED = 6
"""Reasons that one row names."""
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
        reckoned_ms: its time by a formula, where nothing is run for it.
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
    reckoned_ms: float | None = None


@dataclass(frozen=True)
class Iteration:
    """A suite at one combination of a sweep's values, on one engine.

    Attributes:
        label: names the row.
        axes: what the sweep varies, by axis name.
        images: inputs of an iteration on one device; None where the suite is a list.
        devices: that run it together.
        params: learnt values.
        memory: bytes by part.
        left_out: what the suite's source runs and the suite does not.
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


class Folder:
    """Folds the table of operations.

    Args:
        operations: rows of the workload ``operations``: one per distinct operation and machine.
    """

    def __init__(self, operations: pd.DataFrame) -> None:
        keys = zip(operations["engine"], operations["point"], strict=True)
        self._place = {(str(engine), str(point)): row for row, (engine, point) in enumerate(keys)}
        self._frame = operations
        numbers = [name for name in COUNTERS if name in operations.columns]
        self._names = numbers
        self._values = operations[numbers].to_numpy(dtype=np.float64)
        self._seconds = operations["gpu_time"].to_numpy(dtype=np.float64)
        per_cycle = self._seconds / operations["gpu_cycles"].to_numpy(dtype=np.float64)
        ends = [operations[name].to_numpy(dtype=np.float64) for name in INTERVAL]
        self._ends = [np.where(np.isnan(end), self._seconds, end * per_cycle) for end in ends]
        self._unmeasured = [isinstance(text, str) and UNMEASURED in text for text in operations["flags"]]
        self._versions = [_version(row) for row in operations[[*_VERSION]].to_dict("records")]

    def rows(self, iteration: Iteration) -> list[int]:
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
            places = np.array(self.rows(iteration), dtype=np.int64)
            frame = pd.DataFrame([_cells(iteration, item) for item in iteration.items])
            seconds = np.where(places < 0, np.nan, self._seconds[places])
            reckoned = np.array([item.reckoned_ms for item in iteration.items], dtype=np.float64)
            frame["ms"] = np.where(np.isnan(reckoned), seconds * 1e3, reckoned)
            frame["total_ms"] = frame["ms"] * frame["repeats"]
            flop = frame["flop"].to_numpy(dtype=np.float64)
            counted = np.where(flop > 0, flop, np.nan)
            frame["tflops"] = counted / (seconds * frame["repeats"].to_numpy(dtype=np.float64)) / 1e12
            lows, highs = self._ends
            for name, ends in (("low_ms", lows), ("high_ms", highs)):
                frame[name] = np.where(places < 0, np.nan, ends[places]) * 1e3
            frame["engine_version"] = [None if place < 0 else self._versions[place] for place in places]
            frame[UNMEASURED] = [place >= 0 and self._unmeasured[place] for place in places]
            for name in ("bound", "status", "products", "stand_in"):
                known = self._frame[name].tolist()
                frame[name] = [None if place < 0 else known[place] for place in places]
            frame.loc[places < 0, "status"] = "not run"
            frame.loc[~np.isnan(reckoned), "status"] = RECKONED
            frames.append(frame)
        return pd.concat(frames, ignore_index=True)

    def table(self, iterations: Sequence[Iteration]) -> pd.DataFrame:
        """A row per iteration, as any workload's table: counters are sums over items, metrics follow."""
        axes = tuple(dict.fromkeys(axis_column(name) for one in iterations for name in one.axes))
        rows = [self._row(one) for one in iterations]
        return assemble([Batch(by_name(pd.DataFrame(rows, dtype="object")), axes)])

    def _row(self, iteration: Iteration) -> dict[str, Any]:
        places = self.rows(iteration)
        weights = Counts[int]()
        for place, item in zip(places, iteration.items, strict=True):
            if place >= 0:
                weights[place] += item.repeats
        used = self._frame.iloc[list(weights)]
        failed = used[used["status"] != COMPLETED]
        row: dict[str, Any] = {
            "engine": iteration.engine,
            "workload": iteration.suite,
            "direction": iteration.direction,
            "point": iteration.label,
            "status": str(failed.iloc[0]["status"]) if len(failed) else COMPLETED,
            **{axis_column(name): value for name, value in iteration.axes.items()},
            **{column.name: _only(used[column.name]) for column in MACHINE},
            **{name: _only(used[name]) for name in _TEXTS},
            "evidence": said(iteration, len(weights), failed),
            "flags": _flags(used["flags"])[:_LONGEST],
            "products": joined(used["products"]) or None,
            "stand_in": _said_by_any(used["stand_in"], "; ") or None,
            "extrapolated": _extrapolated(used),
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


_VERSION = ("engine", "release", "gem5_commit")


def _version(row: Mapping[Any, Any]) -> str:
    """The version of the engine that made a row: the preview's, or gem5's release and commit."""
    if row["engine"] == "preview":
        return f"preview {PREVIEW_VERSION}"
    commit = row["gem5_commit"]
    return " ".join(["gem5", str(row["release"]), *([commit[:8]] if isinstance(commit, str) else [])])


def coverage(items: pd.DataFrame) -> dict[str, Any]:
    """What the time of items rests on.

    Args:
        items: rows of ``Folder.items``.

    Returns:
        ``low_ms``, ``high_ms`` (sums of the ends of all intervals), ``operations`` (distinct ones that ran),
        ``unmeasured`` (those outside of what the preview was measured on), ``stand_ins`` (those with stand-in
        kernels, but for the one that scales C for rocBLAS'), ``unmeasured_share`` and ``stand_in_share``
        (their share of the time), ``products`` (whose kernels the matrix products are; None: there is none),
        ``engine_version``.
    """
    run = items[items["point"].astype(str).str.len() > 0]
    once = run.drop_duplicates("point")
    time, total = run["total_ms"].to_numpy(dtype=float), items["total_ms"].sum(min_count=1)
    outside = run[UNMEASURED].to_numpy(bool)
    stand_in = np.array([stands_in(text) for text in run["stand_in"]], dtype=bool)
    formula = items.loc[items["status"] == RECKONED, "total_ms"].sum()
    ends = [(run[name] * run["repeats"]).sum(min_count=1) + formula for name in ("low_ms", "high_ms")]
    return {
        "low_ms": ends[0],
        "high_ms": ends[1],
        "operations": len(once),
        UNMEASURED: int(once[UNMEASURED].sum()),
        "unmeasured_share": np.nansum(time[outside]) / total,
        "stand_ins": sum(map(stands_in, once["stand_in"])),
        "stand_in_share": np.nansum(time[stand_in]) / total,
        "products": joined(run["products"]) or None,
        "engine_version": "; ".join(dict.fromkeys(run["engine_version"])),
    }


def coverage_text(items: pd.DataFrame) -> str:
    """``coverage`` as one sentence for a figure or a message."""
    of = coverage(items)
    text = of["engine_version"] + (f"; products by {title(of['products'])}" if of["products"] else "")
    text += f"; {of[UNMEASURED]} of {of['operations']} operations"
    text += f" ({of['unmeasured_share']:.0%} of the time) are outside of what the preview was measured on"
    if of["stand_ins"]:
        text += f"; {of['stand_ins']} have stand-in kernels ({of['stand_in_share']:.0%} of the time)"
    return f"{text}; interval {of['low_ms']:,.4g} to {of['high_ms']:,.4g} ms"


def _extrapolated(used: pd.DataFrame) -> str | None:
    """How many of the operations are not measured to their end."""
    count = int(used["extrapolated"].notna().sum())
    return (
        f"{count} of {len(used)} distinct operations, from the first workgroups of launches"
        if count
        else None
    )


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


def said(iteration: Iteration, operations: int, failed: pd.DataFrame) -> str:
    """What a row of an iteration says of what it is made from."""
    run = [item for item in iteration.items if item.point]
    steps = [item for item in iteration.items if item.reckoned_ms is None]
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
    return _said_by_any(pd.Series(said, dtype=object), ";")


def _said_by_any(values: pd.Series[Any], between: str) -> str:
    """Every text of a column, once."""
    return between.join(dict.fromkeys(text for text in values if isinstance(text, str) and text))


def _only(values: pd.Series[Any]) -> Any:
    """The value that all rows have; None where they differ."""
    known = list(dict.fromkeys(None if value != value else value for value in values))
    return known[0] if len(known) == 1 else None


def times(items: pd.DataFrame, iterations: Sequence[Iteration]) -> pd.DataFrame:
    """Time of an iteration by phase and kind of layer: a row each, with its share of the iteration.

    Args:
        items: from ``Folder.items``.
        iterations: the same.
    """
    by = [*_axes(iterations), "phase", "op"]
    grouped = items.groupby(["suite", "engine", *by], sort=False, dropna=False)
    frame = grouped.agg(
        steps=("item", "size"),
        run=("ms", "count"),
        total_ms=("total_ms", lambda values: values.sum(min_count=1)),
        flop=("flop", "sum"),
        left_out=("left_out", "first"),
    ).reset_index()
    parts = [coverage(part) for _, part in grouped]
    for name in parts[0] if parts else ():
        frame[name] = [part[name] for part in parts]
    whole = frame.groupby(["suite", "engine", *_axes(iterations)], sort=False, dropna=False)["total_ms"]
    frame["share"] = frame["total_ms"] / whole.transform("sum")
    return frame


def summary(items: pd.DataFrame, table: pd.DataFrame, iterations: Sequence[Iteration]) -> pd.DataFrame:
    """A row per iteration: time by phase, rate, throughput, memory by part, what the hardware counters say.

    Args:
        items: from ``Folder.items``.
        table: from ``Folder.table``.
        iterations: the same.
    """
    keys = ["suite", "engine", *_axes(iterations)]
    rows = []
    by_point = {(row["engine"], row["point"]): row for row in table.to_dict("records")}
    start = 0
    for one in iterations:
        part = items.iloc[start : start + len(one.items)]
        start += len(one.items)
        spent = {phase: part.loc[part["phase"] == phase, "total_ms"].sum(min_count=1) for phase in PHASES}
        total = part["total_ms"].sum(min_count=1)
        hidden = np.minimum(spent["backward"], spent["communication"])  # NaN without either, unlike fmin
        overlapped = total if math.isnan(hidden) else total - hidden
        flop = int(part.loc[part["ms"].notna(), "flop"].sum())
        counted = by_point[one.engine, one.label]
        rows.append(
            {
                **{key: part.iloc[0][key] for key in keys},
                "direction": one.direction,
                "status": counted["status"],
                "images": one.images,
                **{f"{phase}_ms": milliseconds for phase, milliseconds in spent.items()},
                "total_ms": total,
                **coverage(part),
                "overlapped_ms": overlapped,
                "images_per_s": one.images * one.devices / total * 1e3 if one.images and total else math.nan,
                "flop": flop,
                "tflops": flop / total / 1e9 if total else math.nan,
                "params": one.params,
                **{f"{name}_bytes": size for name, size in one.memory.items()},
                **{name: counted.get(name) for name in _HARDWARE},
                "steps": len(part),
                "not_run": int((part["status"] == "not run").sum()),
                "evidence": counted["evidence"],
                "left_out": one.left_out,
            }
        )
    return pd.DataFrame(rows)


_HARDWARE = (
    "occupancy",
    "lane_efficiency",
    "valu_utilization",
    "ipc",
    "dram_read_bandwidth",
    "dram_write_bandwidth",
    "dram_utilization",
    "flops",
    "flop_rate",
    "bound",
)
"""Metrics of the standard table that the summary repeats."""


def _axes(iterations: Iterable[Iteration]) -> list[str]:
    return list(dict.fromkeys(axis_column(name) for one in iterations for name in one.axes))
