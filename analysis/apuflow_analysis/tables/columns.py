"""The columns of a result table (``columns.csv``): order, units, meanings, and the words in some of them."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from apuflow_analysis.counters.table import COUNTERS
from apuflow_analysis.metrics.compute import INF, METRICS

PRODUCTS = "products"
"""Column that says whose kernels the matrix products of a row are."""


@dataclass(frozen=True)
class Column:
    """What a reader must know about a column of a table."""

    name: str
    kind: str
    unit: str
    meaning: str
    formula: str = ""
    range: tuple[float | str | None, float | str | None] | None = None
    caveat: str = ""
    source: str = ""


with Path(__file__).with_name("columns.csv").open(newline="", encoding="utf-8") as _file:
    _COLUMNS = tuple(
        Column(row["name"], row["kind"], row["unit"], row["meaning"], caveat=row["caveat"])
        for row in csv.DictReader(_file)
    )
IDENTITY = tuple(column for column in _COLUMNS if column.kind == "identity")
MACHINE = tuple(column for column in _COLUMNS if column.kind == "machine")
RUN = tuple(column for column in _COLUMNS if column.kind not in ("identity", "machine"))
NOT_OPTIONS = ("release", "gfx", "inputs")
"""Of MACHINE, those that no option of ``apu_se.py`` sets."""

AXIS = "axis"
INTERVAL = ("gpu_cycles_low", "gpu_cycles_high")
UNMEASURED = "unmeasured"
"""How the flag of a preview row begins that lies outside what the preview was measured on."""
WRONG = "wrong results"
"""How the flag of a row begins whose outputs are not what NumPy says."""


def flagged(rows: pd.DataFrame, text: str) -> pd.Series[bool]:
    """Of each row whether its flags have a text; none where there are no flags."""
    if "flags" not in rows.columns:
        return pd.Series(False, index=rows.index)
    return rows["flags"].fillna("").astype(str).str.contains(text, regex=False)


@dataclass(frozen=True)
class Bound:
    """What can limit a point, as the column ``bound`` names it.

    Attributes:
        label: as short as a cell of a table.
        meaning: for a legend.
        metrics: how busy that unit is: of these metrics the first that a row has.
    """

    label: str
    meaning: str
    metrics: tuple[str, ...] = ()


BOUNDS: Mapping[str, Bound] = {
    "valu": Bound("VALU", "vector ALUs", ("valu_utilization",)),
    "salu": Bound("SALU", "scalar ALU: scalar instructions, branches, waits", ("salu_utilization",)),
    "lds": Bound("LDS", "LDS: bank conflicts and its bus", ("lds_utilization", "lds_issue_utilization")),
    "vmem": Bound("memory issue", "issue of vector memory instructions", ("vmem_utilization",)),
    "tokens": Bound(
        "tokens", "coalescer tokens: vector memory instructions in flight", ("token_utilization",)
    ),
    "tlb": Bound("TLB walks", "page walks, one after the other", ("walk_utilization",)),
    "tcp_link": Bound(
        "TCC to TCP", "links that carry lines from the TCC to the TCPs", ("l2_return_utilization",)
    ),
    "tcc_link": Bound(
        "TCC link",
        "links into the TCC banks, from TCPs and directories",
        ("tcc_link_utilization", "l2_utilization", "l2_link_utilization"),
    ),
    "directory_link": Bound(
        "memory link", "link between the GPU and the directory", ("memory_link_utilization",)
    ),
    "dram": Bound(
        "DRAM",
        "DRAM: its bus and the rows that it opens",
        ("dram_busy_utilization", "dram_utilization", "gpu_dram_utilization"),
    ),
    "line": Bound("one line", "stores of many workgroups to the same line, one after the other"),
    "latency": Bound("latency", "latency: no unit is busy for 60 % of the time"),
}
"""By the name in the column, the parts of a compute unit first. Units are those of the preview's model."""


def busy(row: pd.Series[Any]) -> dict[str, float]:
    """Share of the time that each unit of ``BOUNDS`` is busy, of those with a metric in the row."""
    found = {}
    for name, bound in BOUNDS.items():
        known = [float(row[metric]) for metric in bound.metrics if metric in row and not pd.isna(row[metric])]
        if known:
            found[name] = known[0]
    return found


def layout(axes: Sequence[str]) -> tuple[Column, ...]:
    """All columns of a table in order: identity, axes, machine, counters, metrics, checks, provenance.

    Args:
        axes: column names of what varies in the sweep; one that is a machine parameter keeps its meaning
            and is among the axes.
    """
    return _layout(tuple(axes))


@lru_cache(maxsize=1024)
def _layout(axes: tuple[str, ...]) -> tuple[Column, ...]:
    machine = {column.name: column for column in MACHINE}
    unknown = {name: Column(name, AXIS, "", f"varied by the sweep: {name}") for name in axes}
    leading = (machine.get(name, unknown[name]) for name in axes)
    return (
        *IDENTITY,
        *(Column(column.name, AXIS, column.unit, column.meaning) for column in leading),
        *(column for column in MACHINE if column.name not in axes),
        *(Column(one.name, "counter", one.unit, one.meaning, source=one.stats) for one in COUNTERS),
        *_METRICS,
        *RUN,
    )


_RANGES = {one.name: (one.low, None if one.high == INF else one.high) for one in METRICS}
_METRICS = tuple(
    Column(m.name, "metric", m.unit, m.meaning, m.formula, _RANGES[m.name], m.caveat, m.source)
    for m in METRICS
)


def axis_column(axis: str) -> str:
    """Column name of a sweep axis: ``num_compute_units`` of ``num-compute-units``."""
    return axis.replace("-", "_")
