"""What a metric is, and the named quantities that several formulas share.

A formula is a Python expression over counter columns (``counters.table``), machine columns (options
of apu_se.py with ``-`` written ``_``), the quantities below and ``maximum(a, b)`` and ``where(condition, a,
b)``, element by element. It is both what is computed and what the documentation shows.
"""

from __future__ import annotations

from dataclasses import dataclass

INF = float("inf")
CPU_PART = "with the CPU's part"
"""The caveat of whatever counts the whole simulated machine."""


@dataclass(frozen=True)
class Quantity:
    """A named intermediate of formulas."""

    name: str
    formula: str
    meaning: str


@dataclass(frozen=True)
class Metric:
    """One metric.

    Attributes:
        name: column name.
        unit: of the value; ``1`` for a ratio.
        formula: Python expression over counter and machine columns.
        low, high: the range that values must lie in; ``high`` may be an expression over machine columns.
        meaning: what it says.
        caveat: what it does not say.
        source: where the formula comes from.
    """

    name: str
    unit: str
    formula: str
    low: float
    high: float | str
    meaning: str
    caveat: str = ""
    source: str = "compute_unit.cc"


def share(name: str, formula: str, meaning: str, source: str, caveat: str = "") -> Metric:
    """A metric between 0 and 1."""
    return Metric(name, "1", formula, 0, 1, meaning, caveat, source)


def rate(name: str, unit: str, formula: str, meaning: str, source: str, caveat: str = "") -> Metric:
    """A metric without an upper bound."""
    return Metric(name, unit, formula, 0, INF, meaning, caveat, source)


QUANTITIES: tuple[Quantity, ...] = (
    Quantity("slots", "slot_cycles / cu_cycles", "wavefront slots of a compute unit"),
    Quantity(
        "stalled_cycles",
        "slot_cycles - stall_wfstop - instructions",
        "slot cycles with a resident wavefront that did not issue",
    ),
    Quantity(
        "tcp_requests",
        "tcp_load_events + tcp_bypass_events + tcp_store_events + tcp_atomic_events",
        "cache lines requested from the TCPs",
    ),
    Quantity(
        "lds_busy_cycles",
        "(lds_bank_conflicts + lds_accesses) * ldsBankConflictPenalty"
        " + group_reads * (256 // glbmem_rd_bus_width) + group_writes * -(-256 // glbmem_wr_bus_width)",
        "cycles in which the LDS serves accesses and moves their data; one after the other",
    ),
    Quantity(
        "link_bytes",
        "where(bw_scalor == 0, 8, 16 * num_compute_units * bw_scalor)",
        "bytes per network cycle of a router's output",
    ),
    Quantity("ruby_cycles", "gpu_active_ticks / ruby_clock_ticks", "network cycles of the GPU's active time"),
    Quantity(
        "gpu_memory_lines",
        "tcc_read_misses + tcc_reads_in_flight + tcc_writes + tcc_atomics",
        "cache lines that the GPU moved beyond its TCC",
    ),
    Quantity(
        "dram_bytes", "dram_bytes_read + dram_bytes_written", "bytes requested from the memory controllers"
    ),
)
