"""Sums over the items of suites: by phase and kind, by iteration, and what they rest on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from apuflow.core.products import joined, stands_in, title
from apuflow_analysis.tables.columns import UNMEASURED, axis_column
from apuflow_analysis.tables.suites import BY_FORMULA, Iteration

PHASES = ("forward", "backward", "update", "communication")


def coverage(items: pd.DataFrame) -> dict[str, Any]:
    """What the time of rows of ``Folder.items`` rests on.

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
    formula = items.loc[items["status"] == BY_FORMULA, "total_ms"].sum()
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


def times(items: pd.DataFrame, iterations: Sequence[Iteration]) -> pd.DataFrame:
    """Time of an iteration by phase and kind of layer: a row each, with its share of the iteration.

    ``items`` are those of the iterations, from ``Folder.items``.
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
        items, table: those of the iterations, from ``Folder.items`` and ``Folder.table``.
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
                **({"tokens_per_s": one.tokens / total * 1e3 if total else math.nan} if one.tokens else {}),
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
    *("occupancy", "lane_efficiency", "valu_utilization", "ipc", "dram_read_bandwidth"),
    *("dram_write_bandwidth", "dram_utilization", "flops", "flop_rate", "bound"),
)
"""Metrics of the standard table that the summary repeats."""


def _axes(iterations: Iterable[Iteration]) -> list[str]:
    return list(dict.fromkeys(axis_column(name) for one in iterations for name in one.axes))
