"""Result tables for tests of figures and reports: real gem5 runs, and grids of points with plain numbers."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from places import STATS

from apuflow.score.errors import recorded
from apuflow_analysis.counters.counters import counters
from apuflow_analysis.counters.table import NAMES as COUNTERS
from apuflow_analysis.metrics import compute
from apuflow_analysis.tables.columns import layout

MACHINE: Mapping[str, Any] = {
    "release": "v23.0",
    "gfx": "gfx801",
    "simds_per_cu": 4,
    "wfs_per_simd": 10,
    "wf_size": 64,
    "issue_period": 4,
    "gpu_clock": "1GHz",
    "ruby_clock": "2GHz",
    "num_tccs": 1,
    "tcp_size": "16kB",
    "tcc_size": "256kB",
    "TCP_latency": 4,
    "bw_scalor": 0,
    "glbmem_rd_bus_width": 32,
    "glbmem_wr_bus_width": 32,
    "ldsBankConflictPenalty": 1,
}
HOSTILE = "</script><script>alert('x')</script><img src=x onerror=alert(1)>\"'&\u2028{{ 7*7 }}"
"""Text of a run that would be markup if a page took it as it is."""


def table(rows: Sequence[Mapping[Any, Any]], axes: Sequence[str]) -> pd.DataFrame:
    """A result table with all its columns and metrics from rows of what is known."""
    names = [column.name for column in layout(tuple(axes))]
    full = [{"status": "completed", "sim_freq": 10**12, **MACHINE, **row} for row in rows]
    frame = compute.compute(pd.DataFrame(full).reindex(columns=names)).reindex(columns=names)
    frame["flags"] = frame["flags"].fillna("")
    failed = frame["status"] != "completed"
    frame.loc[failed, [*COUNTERS, *compute.NAMES]] = np.nan
    frame.attrs["axes"] = tuple(axes)
    return frame


def softmax_runs() -> pd.DataFrame:
    """Seven real gem5 runs of softmax_fwd, 100 x 1000, on 1 to 64 compute units."""
    runs = pd.read_csv(recorded()[0])
    runs = runs[runs["id"].str.fullmatch(r"softmax_fwd-100x1000x1x1-u\d+")]
    known = [name for name in COUNTERS if name in runs.columns]
    rows = [
        {
            "engine": "gem5-kernels",
            "workload": "softmax_fwd",
            "direction": "fwd",
            "point": run["id"],
            "num_compute_units": run["num_compute_units"],
            **{name: run[name] for name in known},
        }
        for run in runs.to_dict("records")
    ]
    return table(rows, ["num_compute_units"])


def statistics_runs() -> pd.DataFrame:
    """Three of them from their complete statistics: all counters."""
    rows = []
    for units in (1, 4, 16):
        found = counters([STATS / f"softmax_fwd-100x1000x1x1-u{units}.txt.xz"])
        rows.append(
            {
                "engine": "gem5-kernels",
                "workload": "softmax_fwd",
                "direction": "fwd",
                "point": f"u{units}",
                "num_compute_units": units,
                **found,
            }
        )
    return table(rows, ["num_compute_units"])


def grid(
    axes: Mapping[str, Sequence[Any]],
    workloads: Sequence[str] = ("softmax_fwd", "softmax_bwd"),
    engine: str = "preview",
    cycles: float = 64000.0,
    **values: Any,
) -> pd.DataFrame:
    """Every combination of the axes; the time is ``cycles`` shared by the compute units."""
    rows = []
    for workload in workloads:
        for combination in itertools.product(*axes.values()):
            varied = dict(zip(axes, combination, strict=True))
            time = cycles / float(varied.get("num_compute_units", 1))
            label = "-".join(f"{name}{value}" for name, value in varied.items())
            rows.append(
                {
                    "engine": engine,
                    "workload": workload,
                    "direction": workload.rsplit("_", 1)[-1],
                    "point": f"{label}-00000000",
                    "gpu_active_ticks": time * 1000,
                    "gpu_clock_ticks": 1000,
                    "gpu_cycles": time,
                    "num_compute_units": 4,
                    **values,
                    **varied,
                }
            )
    return table(rows, list(axes))


def engine_table(engine: str, cycles: dict[int, float], **changes: float | str) -> pd.DataFrame:
    """A table of one engine with so many cycles at each number of compute units."""
    rows = [
        {
            "engine": engine,
            "workload": "w",
            "direction": "fwd",
            "point": f"{engine}-{units}",
            "num_compute_units": units,
            "gpu_cycles": value,
            "instructions": 100,
            "cu_cycles": value,
            "status": "completed",
            "release": "v23.0",
            **changes,
        }
        for units, value in cycles.items()
    ]
    return table(rows, ["num_compute_units"])
