"""Join two tables, or two engines of one table, point by point: ratio and difference of every number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from apuflow.core.errors import AnalysisError
from apuflow_analysis.counters.table import NAMES as COUNTER_NAMES
from apuflow_analysis.metrics.compute import METRICS
from apuflow_analysis.tables.columns import MACHINE, PRODUCTS, WRONG, flagged
from apuflow_analysis.tables.records import COMPLETED
from apuflow_analysis.tables.tables import columns

SHOWN: tuple[str, ...] = (
    *("gpu_cycles", "instructions", "ipc", "occupancy", "valu_utilization", "stall_share_memory"),
    *("tcp_load_hit_rate", "tcc_hit_rate", "dram_bytes_read", "dram_bytes_written"),
)
"""What is compared when no column is named."""

APART = 0.10
"""Cycles this far apart (relative to the fewer) are told apart by gem5: twice its usual scatter."""


@dataclass(frozen=True)
class Comparison:
    """Two tables side by side.

    Attributes:
        table: one row per point and column: the keys, ``column``, ``a``, ``b``, ``ratio`` (b / a) and
            ``difference`` (b - a); a ratio over zero is NaN unless both are zero (then 1).
        summary: per column: ``points``, geometric mean, smallest and largest ``ratio``, largest absolute
            ``difference``.
        keys: columns that identify a point.
        differ: what else is one value on each side and not the same: column, value in A, value in B; also
            whose kernels compute matrix products, with the number of points where these differ.
        only_a, only_b: points that only one side has completed.
        wrong_a, wrong_b: workloads with outputs that are wrong on one side alone.
    """

    table: pd.DataFrame
    summary: pd.DataFrame
    keys: tuple[str, ...]
    differ: tuple[tuple[str, str, str], ...]
    only_a: int
    only_b: int
    wrong_a: tuple[str, ...] = ()
    wrong_b: tuple[str, ...] = ()


def compare(
    a: pd.DataFrame, b: pd.DataFrame, names: Sequence[str] = SHOWN, without: Collection[str] = ()
) -> Comparison:
    """Join two result tables on workload, direction and everything that varies between points.

    Of sides with one workload each, workload and direction need not agree: forward is compared with backward.

    Args:
        a, b: result tables; only completed rows take part.
        names: counter and metric columns to compare.
        without: columns that do not tell points apart.

    Raises:
        AnalysisError: an unknown column, no point in common, or several rows of one point on a side.
    """
    known = {*COUNTER_NAMES, *(metric.name for metric in METRICS)}
    for name in names:
        if name not in known:
            remedy = "`apuflow list metrics` shows all"
            raise AnalysisError("no such counter or metric", key="column", value=name, remedy=remedy)
    sides = [side[side["status"] == COMPLETED] for side in (a, b)]
    keys = tuple(name for name in _keys(a, b) if name not in without) or ("status",)
    for label, side in zip("AB", sides, strict=True):
        doubled = side[side.duplicated(list(keys), keep=False)]
        if len(doubled):
            raise AnalysisError(
                f"table {label} has several rows of one point",
                key=", ".join(keys),
                value=", ".join(f"{key}: {doubled.iloc[0][key]}" for key in keys),
                remedy="keep one engine and one release per side (--engines, or filter the table)",
            )
    left, right = (side.set_index([*keys], drop=False) for side in sides)
    common = left.index.intersection(right.index, sort=False)
    if len(common) == 0:
        remedy = "compare tables of the same workloads and axes"
        message = "the tables have no completed point in common"
        raise AnalysisError(message, key=", ".join(keys), remedy=remedy)
    only_a, only_b = len(left) - len(common), len(right) - len(common)
    left, right = left.loc[common], right.loc[common]
    parts = [_column(left, right, name) for name in names]
    wrong_a, wrong_b = (flagged(side, WRONG).to_numpy() for side in (left, right))
    named = left["workload"].to_numpy()
    return Comparison(
        pd.concat(parts, ignore_index=True),
        pd.DataFrame([_summary(name, part) for name, part in zip(names, parts, strict=True)]),
        keys,
        (*_differences(sides[0], sides[1]), *_other_products(left, right)),
        only_a,
        only_b,
        tuple(dict.fromkeys(named[wrong_a & ~wrong_b])),
        tuple(dict.fromkeys(named[wrong_b & ~wrong_a])),
    )


def compare_engines(frame: pd.DataFrame, a: str, b: str, names: Sequence[str] = SHOWN) -> Comparison:
    """Compare two engines' rows of one table (see ``compare``).

    Raises:
        AnalysisError: the table has no row of one of the engines.
    """
    left, right = _sides(frame, "engine", (a, b), "engine")
    return compare(left, right, names)


def compare_releases(frame: pd.DataFrame, a: str, b: str, names: Sequence[str] = SHOWN) -> Comparison:
    """Compare two gem5 releases' rows of one table, engine by engine (see ``compare``).

    Raises:
        AnalysisError: the table has no row of one of the releases.
    """
    told_apart = frame.assign(workload=frame["workload"] + " on " + frame["engine"])
    left, right = _sides(told_apart, "release", (a, b), "release")
    return compare(left, right, names, without=set_together(left, right))


def compare_values(
    frame: pd.DataFrame, axis: str, a: str, b: str, names: Sequence[str] = SHOWN
) -> Comparison:
    """Compare two values of one axis of a table (see ``compare``).

    Args:
        axis: the column, or the option: ``num-compute-units``.

    Raises:
        AnalysisError: the table has no such axis, or no row with one of the values.
    """
    axes = _axes(frame)
    name = axis if axis in axes else axis.replace("-", "_")
    if name not in axes:
        remedy = f"it has {', '.join(axes) or 'none'}"
        raise AnalysisError("no such axis in the table", key="axis", value=axis, remedy=remedy)
    left, right = _sides(frame, name, (a, b), "value")
    return compare(left, right, names, without={name, *set_together(left, right)})


def _sides(frame: pd.DataFrame, column: str, values: Sequence[str], what: str) -> list[pd.DataFrame]:
    """The rows with each value of a column."""
    texts = frame[column].astype(str)
    for value in values:
        if not (texts == value).any():
            remedy = f"the table has {', '.join(dict.fromkeys(texts))}"
            raise AnalysisError(f"no row of this {what} in the table", key=column, value=value, remedy=remedy)
    return [frame[texts == value] for value in values]


def _axes(frame: pd.DataFrame) -> list[str]:
    return [column.name for column in columns(frame) if column.kind == "axis"]


def set_together(a: pd.DataFrame, b: pd.DataFrame) -> tuple[str, ...]:
    """Axes that differ between two parts of a table as a whole: each part has one value of its own.

    A sweep sets them together with what the parts are told apart by, as the machine with the release.
    """
    together = []
    for name in _axes(a):
        if name in b.columns:
            values, others = ({*map(str, side[name])} for side in (a, b))
            if len(values) == len(others) == 1 and values != others:
                together.append(name)
    return tuple(together)


def _differences(a: pd.DataFrame, b: pd.DataFrame) -> Iterator[tuple[str, str, str]]:
    """What is the same in all rows of a side, and not the same on both."""
    machine = [column.name for column in MACHINE]
    for name in dict.fromkeys(["engine", "workload", "direction", *machine, *_axes(a), *_axes(b)]):
        if name in a.columns and name in b.columns:
            values = [tuple(dict.fromkeys(map(str, side[name]))) for side in (a, b)]
            if len(values[0]) == len(values[1]) == 1 and values[0] != values[1]:
                yield name, values[0][0], values[1][0]


def _other_products(left: pd.DataFrame, right: pd.DataFrame) -> Iterator[tuple[str, str, str]]:
    """Points whose matrix products are other kernels in A than in B, by what they are."""
    if PRODUCTS not in left.columns or PRODUCTS not in right.columns:
        return
    pairs = Counter(zip(left[PRODUCTS].tolist(), right[PRODUCTS].tolist(), strict=True))
    for (a, b), points in pairs.items():
        if isinstance(a, str) and isinstance(b, str) and a != b:
            yield f"{PRODUCTS} of {points} of {len(left)} points", a, b


def _keys(a: pd.DataFrame, b: pd.DataFrame) -> tuple[str, ...]:
    """Workload and direction (not where each side has one of its own), axes, machine parameters that vary."""
    workloads = [{*side["workload"]} for side in (a, b)]
    other_work = workloads[0] != workloads[1] and all(len(names) == 1 for names in workloads)
    keys = [] if other_work else ["workload", "direction"]
    keys += [name for name in _axes(a) if name in b.columns]
    keys += [name for name in _axes(b) if name in a.columns and name not in keys]
    if len({*a["release"]}) == len({*b["release"]}) == 1:
        keys = [name for name in keys if name != "release"]
    for name in (column.name for column in MACHINE):
        if name in keys or name in ("release", "gfx") or name not in a.columns or name not in b.columns:
            continue
        if a[name].nunique(dropna=False) > 1 or b[name].nunique(dropna=False) > 1:
            keys.append(name)
    return tuple(keys)


def _column(left: pd.DataFrame, right: pd.DataFrame, name: str) -> pd.DataFrame:
    a, b = (
        side[name].to_numpy(dtype=np.float64) if name in side else np.full(len(side), np.nan)
        for side in (left, right)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(a == b, 1.0, b / a)
    ratio[(a == 0) & (b != 0)] = np.nan
    keys = left.index.to_frame(index=False).rename_axis(columns=None)
    return keys.assign(column=name, a=a, b=b, ratio=ratio, difference=b - a)


def _summary(name: str, part: pd.DataFrame) -> dict[str, object]:
    known = part[part["ratio"].notna() & (part["ratio"] > 0)]["ratio"]
    return {
        "column": name,
        "points": int((part["a"].notna() & part["b"].notna()).sum()),
        "geometric_mean_ratio": float(np.exp(np.log(known).mean())) if len(known) else np.nan,
        "smallest_ratio": part["ratio"].min(),
        "largest_ratio": part["ratio"].max(),
        "largest_difference": part["difference"].abs().max(),
    }


def ordered_pairs(runs: Iterable[tuple[float, float]]) -> tuple[int, int]:
    """Pairs in the measured order, and all pairs whose measured values are ``APART``.

    Args:
        runs: measured and predicted value of each; equal predictions are not in order.
    """
    right = pairs = 0
    for (a, model_a), (b, model_b) in combinations(runs, 2):
        if max(a, b) > min(a, b) * (1.0 + APART):
            pairs += 1
            right += (a - b) * (model_a - model_b) > 0
    return right, pairs
