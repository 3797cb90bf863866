"""The columns of a result table: their order, units and meanings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from apuflow.core.products import ROCBLAS, STAND_IN
from apuflow_analysis.counters.table import BY_NAME as COUNTERS
from apuflow_analysis.metrics import compute
from apuflow_analysis.metrics.metric import Metric

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


IDENTITY: tuple[Column, ...] = (
    Column("engine", "identity", "", "what produced the row: gem5, gem5-kernels or preview"),
    Column("workload", "identity", "", "workload of the sweep"),
    Column("direction", "identity", "", "fwd, bwd or both"),
    Column("point", "identity", "", "label of the point and hash of everything that determines its result"),
    Column("status", "identity", "", "completed, or how the run failed; only completed rows hold numbers"),
)

MACHINE: tuple[Column, ...] = tuple(
    Column(name, "machine", unit, meaning)
    for name, unit, meaning in (
        ("release", "", "gem5 release"),
        ("gfx", "", "GPU version"),
        ("inputs", "", "where they lie at first: in the CPU's caches as far as these go, or in memory alone"),
        ("num_compute_units", "1", "compute units"),
        ("simds_per_cu", "1", "SIMD units of a compute unit"),
        ("wfs_per_simd", "1", "wavefront slots of a SIMD unit"),
        ("wf_size", "lane", "lanes of a wavefront"),
        ("issue_period", "cycle", "cycles that a vector instruction holds its unit"),
        ("gpu_clock", "", "frequency of the GPU"),
        ("ruby_clock", "", "frequency of the network"),
        ("num_tccs", "1", "TCC banks"),
        ("tcp_size", "", "size of a TCP"),
        ("tcc_size", "", "size of all TCC banks together"),
        ("TCP_latency", "cycle", "access latency of a TCP"),
        ("TCC_latency", "cycle", "access latency of a TCC bank"),
        ("bw_scalor", "1", "bandwidth factor of the network; 0 leaves 8 bytes a cycle and link"),
        ("num_dirs", "1", "directories, and so DRAM channels"),
        ("mem_type", "", "DRAM type"),
        ("mem_req_latency", "cycle", "latency from a compute unit to its TCP"),
        ("mem_resp_latency", "cycle", "latency from a TCP to its compute unit"),
        ("glbmem_rd_bus_width", "B", "width of the bus from the coalescer to the registers"),
        ("glbmem_wr_bus_width", "B", "width of the bus from the registers to the coalescer"),
        ("numLdsBanks", "1", "banks of the LDS"),
        ("ldsBankConflictPenalty", "cycle", "cycles of a serialised LDS access"),
        ("reg_alloc_policy", "", "register allocation: simple keeps one workgroup per compute unit"),
    )
)

NOT_OPTIONS = ("release", "gfx", "inputs")
"""Of MACHINE, those that no option of ``apu_se.py`` sets."""

RUN: tuple[Column, ...] = (
    Column(
        "flags",
        "check",
        "",
        "metrics outside their range, broken identities, what the preview was not measured on; with numbers",
    ),
    Column(
        "gpu_cycles_low", "run", "cycle", "lower end of the interval of gpu_cycles, where the row has one"
    ),
    Column(
        "gpu_cycles_high", "run", "cycle", "upper end of the interval of gpu_cycles, where the row has one"
    ),
    Column(
        "extrapolated",
        "check",
        "",
        "workgroups that gem5 ran, where it did not run all of a launch, and how far gpu_cycles may be off",
        caveat="counters of work are scaled to all workgroups, those of stalls, caches and DRAM are empty",
    ),
    Column("evidence", "check", "", "what shows how the run ended"),
    Column(
        PRODUCTS,
        "check",
        "",
        f"whose kernels the matrix products are: {ROCBLAS} (its own), {STAND_IN} (this project's), or both; "
        "empty: there is none",
    ),
    Column("stand_in", "check", "", "kernels of ours in the row's cycles, and what they stand in for"),
    Column("library", "check", "", "whose kernels the matrix products are, where they are not stand-ins"),
    Column("changed", "check", "", "what in those kernels is not as their library has them, and why"),
    Column(
        "max_relative_error",
        "check",
        "1",
        "largest difference of the kernels' outputs from NumPy over the output's largest element",
        caveat="gem5-kernels only; empty where nothing was compared, then flags says why",
    ),
    Column("bound", "check", "", "what limits the kernel, where the engine knows it"),
    Column("wall_seconds", "run", "s", "wall time of the run"),
    Column("peak_memory_bytes", "run", "B", "peak memory of the run on the host"),
    *(
        Column(name, "provenance", "", meaning)
        for name, meaning in (
            ("gem5_commit", "commit of the gem5 sources"),
            ("gem5_patches", "patches on the gem5 sources, each with the start of its hash"),
            ("gem5_binary_sha256", "hash of the gem5 binary"),
            ("image_digest", "container image"),
            ("dnnmark_commit", "commit of the DNNMark sources"),
            ("config_sha256", "hash of the workload's configuration"),
            ("kernel_db_sha256", "hash of the kernel database"),
        )
    ),
    Column("mmap_bytes", "run", "B", "size of DNNMark's input file"),
)

AXIS = "axis"
INTERVAL = ("gpu_cycles_low", "gpu_cycles_high")
UNMEASURED = "unmeasured"
"""How the flag of a preview row begins that lies outside what the preview was measured on."""
WRONG = "wrong results"
"""How the flag of a row begins whose outputs are not what NumPy says."""


def layout(axes: Sequence[str]) -> tuple[Column, ...]:
    """All columns of a table in order: identity, axes, machine, counters, metrics, checks, provenance.

    Args:
        axes: column names of what varies in the sweep; one that is a machine parameter keeps its meaning
            and stands with the axes.
    """
    return _layout(tuple(axes))


@lru_cache(maxsize=1024)
def _layout(axes: tuple[str, ...]) -> tuple[Column, ...]:
    machine = {column.name: column for column in MACHINE}
    leading = tuple(
        Column(
            name,
            AXIS,
            machine[name].unit if name in machine else "",
            machine[name].meaning if name in machine else f"varied by the sweep: {name}",
        )
        for name in axes
    )
    rest = tuple(column for column in MACHINE if column.name not in axes)
    counters = tuple(
        Column(counter.name, "counter", counter.unit, counter.meaning, source=counter.stats)
        for counter in COUNTERS.values()
    )
    return IDENTITY + leading + rest + counters + tuple(_metric(metric) for metric in compute.METRICS) + RUN


def axis_column(axis: str) -> str:
    """Column name of a sweep axis: ``num-compute-units`` stands in ``num_compute_units``."""
    return axis.replace("-", "_")


def _metric(metric: Metric) -> Column:
    high = metric.high if metric.high != float("inf") else None
    return Column(
        metric.name,
        "metric",
        metric.unit,
        metric.meaning,
        metric.formula,
        (metric.low, high),
        metric.caveat,
        metric.source,
    )
