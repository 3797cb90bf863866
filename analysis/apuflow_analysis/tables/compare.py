"""Join two tables, or two engines of one table, point by point: ratio and difference of every number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from apuflow.core.errors import AnalysisError
from apuflow_analysis.counters.table import NAMES as COUNTER_NAMES
from apuflow_analysis.metrics import compute
from apuflow_analysis.tables.columns import MACHINE, PRODUCTS, WRONG
from apuflow_analysis.tables.records import COMPLETED
from apuflow_analysis.tables.tables import columns

SHOWN: tuple[str, ...] = (
    "gpu_cycles",
    "instructions",
    "ipc",
    "occupancy",
    "valu_utilization",
    "stall_share_memory",
    "tcp_load_hit_rate",
    "tcc_hit_rate",
    "dram_bytes_read",
    "dram_bytes_written",
)
"""What is compared when no column is named."""

_COMPARED = ("release", "gfx")


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
        a, b: tables from ``apuflow_analysis.tables.tables``; only completed rows take part.
        names: counter and metric columns to compare.
        without: columns that do not tell points apart.

    Raises:
        AnalysisError: an unknown column, no point in common, or several rows of one point on a side.
    """
    for name in names:
        if name not in COUNTER_NAMES and name not in compute.BY_NAME:
            raise AnalysisError(
                "no such counter or metric", key="column", value=name, remedy="docs/metrics.md lists them all"
            )
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
        raise AnalysisError(
            "the tables have no completed point in common",
            key=", ".join(keys),
            remedy="compare tables of the same workloads and axes",
        )
    parts = [_column(left.loc[common], right.loc[common], name) for name in names]
    return Comparison(
        pd.concat(parts, ignore_index=True),
        pd.DataFrame([_summary(name, part) for name, part in zip(names, parts, strict=True)]),
        keys,
        (*_differences(sides[0], sides[1]), *_other_products(left.loc[common], right.loc[common])),
        len(left) - len(common),
        len(right) - len(common),
        *_wrong_alone(left.loc[common], right.loc[common]),
    )


def compare_engines(frame: pd.DataFrame, a: str, b: str, names: Sequence[str] = SHOWN) -> Comparison:
    """Compare two engines' rows of one table (see ``compare``).

    Raises:
        AnalysisError: the table has no row of one of the engines.
    """
    for engine in (a, b):
        if engine not in set(frame["engine"]):
            raise AnalysisError(
                "no row of this engine in the table",
                key="engine",
                value=engine,
                remedy="the table has " + ", ".join(sorted(set(frame["engine"]))),
            )
    sides = []
    for engine in (a, b):
        side = frame[frame["engine"] == engine]
        side.attrs = dict(frame.attrs)
        sides.append(side)
    return compare(sides[0], sides[1], names)


def compare_releases(frame: pd.DataFrame, a: str, b: str, names: Sequence[str] = SHOWN) -> Comparison:
    """Compare two gem5 releases' rows of one table, engine by engine (see ``compare``).

    Raises:
        AnalysisError: the table has no row of one of the releases.
    """
    sides = []
    for release in (a, b):
        side = frame[frame["release"] == release]
        if side.empty:
            raise AnalysisError(
                "no row of this release in the table",
                key="release",
                value=release,
                remedy="the table has " + ", ".join(sorted(set(map(str, frame["release"])))),
            )
        side = side.assign(workload=side["workload"] + " on " + side["engine"])
        side.attrs = dict(frame.attrs)
        sides.append(side)
    return compare(sides[0], sides[1], names, without=set_together(*sides))


def compare_values(
    frame: pd.DataFrame, axis: str, a: str, b: str, names: Sequence[str] = SHOWN
) -> Comparison:
    """Compare two values of one axis of a table (see ``compare``).

    Args:
        axis: the column, or the option: ``num-compute-units``.

    Raises:
        AnalysisError: the table has no such axis, or no row with one of the values.
    """
    axes = [column.name for column in columns(frame) if column.kind == "axis"]
    name = axis if axis in axes else axis.replace("-", "_")
    if name not in axes:
        raise AnalysisError(
            "no such axis in the table", key="axis", value=axis, remedy=f"it has {', '.join(axes) or 'none'}"
        )
    sides = []
    for value in (a, b):
        side = frame[frame[name].astype(str) == value]
        if side.empty:
            known = dict.fromkeys(map(str, frame[name]))
            raise AnalysisError(
                "no row of this value in the table",
                key=name,
                value=value,
                remedy=f"it has {', '.join(known)}",
            )
        side.attrs = dict(frame.attrs)
        sides.append(side)
    return compare(sides[0], sides[1], names, without={name, *set_together(*sides)})


def set_together(a: pd.DataFrame, b: pd.DataFrame) -> tuple[str, ...]:
    """Axes that differ between two parts of a table as a whole: each part has one value of its own.

    A sweep sets them together with what the parts are told apart by, as the machine with the release.
    """
    together = []
    for column in columns(a):
        if column.kind == "axis" and column.name in b.columns:
            values, others = ({*map(str, side[column.name])} for side in (a, b))
            if len(values) == len(others) == 1 and values != others:
                together.append(column.name)
    return tuple(together)


def _differences(a: pd.DataFrame, b: pd.DataFrame) -> Iterator[tuple[str, str, str]]:
    """What is the same in all rows of a side, and not the same on both."""
    axes = [column.name for side in (a, b) for column in columns(side) if column.kind == "axis"]
    machine = [column.name for column in MACHINE]
    for name in dict.fromkeys(["engine", "workload", "direction", *machine, *axes]):
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


def _wrong_alone(left: pd.DataFrame, right: pd.DataFrame) -> tuple[tuple[str, ...], tuple[str, ...]]:
    wrong = [side["flags"].astype(str).str.contains(WRONG, regex=False).to_numpy() for side in (left, right)]
    named = left["workload"].to_numpy()
    return tuple(dict.fromkeys(named[wrong[0] & ~wrong[1]])), tuple(
        dict.fromkeys(named[wrong[1] & ~wrong[0]])
    )


def _keys(a: pd.DataFrame, b: pd.DataFrame) -> tuple[str, ...]:
    """Workload and direction (not where each side has one of its own), axes, machine parameters that vary."""
    workloads = [{*side["workload"]} for side in (a, b)]
    other_work = workloads[0] != workloads[1] and all(len(names) == 1 for names in workloads)
    keys = [] if other_work else ["workload", "direction"]
    axes = [[column.name for column in columns(side) if column.kind == "axis"] for side in (a, b)]
    keys += [name for name in axes[0] if name in b.columns]
    keys += [name for name in axes[1] if name in a.columns and name not in keys]
    if len({*a["release"]}) == len({*b["release"]}) == 1:
        keys = [name for name in keys if name != "release"]
    for column in MACHINE:
        name = column.name
        if name in keys or name in _COMPARED or name not in a.columns or name not in b.columns:
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
