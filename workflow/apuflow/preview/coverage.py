"""What the preview was measured on, and how far its cycles may be off: per launch, from ``measured.json``.

``measured.json`` holds, of the recorded gem5 runs, the range of each quantity and the errors of each kernel
(``apuflow.study.measured`` writes it). Inside these ranges the interval of the cycles is the 5th to 95th
percentile of the kernel's own errors. Outside, nothing was measured: the interval is then the largest error
ever recorded, once more for each factor of ten beyond the range. That is a guess, and the row says so.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from apuflow.preview.machine import NUMBERS, GpuModel, memory_name

FILE = Path(__file__).with_name("measured.json")
FEWEST_RUNS = 10
"""Runs of a kernel from which its own errors make the interval; of rarer kernels, all runs' errors do."""
QUANTITIES = {"wavefronts": "wavefronts", "gpu_cycles": "cycles", "dram_bytes": "bytes of DRAM"}
OPTIONS = {
    "compute_units": "num-compute-units",
    "simds": "simds-per-cu",
    "slots_per_simd": "wfs-per-simd",
    "issue_period": "issue-period",
    "vgprs": "vreg-file-size",
    "sgprs": "sreg-file-size",
    "register_block": "vreg-min-alloc",
    "lds_bytes": "lds-size",
    "lds_penalty": "ldsBankConflictPenalty",
    "barrier_slots": "barrier slots of the release",
    "tokens": "max-cu-tokens",
    "request_cycles": "mem-req-latency",
    "response_cycles": "mem-resp-latency",
    "scalar_request_cycles": "scalar-mem-req-latency",
    "scalar_response_cycles": "scalar-mem-resp-latency",
    "gpu_ns": "ns of gpu-clock",
    "ruby_ns": "ns of ruby-clock",
    "tccs": "num-tccs",
    "tcc_bytes": "bytes of tcc-size",
    "tcp_bytes": "bytes of tcp-size",
    "l3_bytes": "bytes of l3_size",
    "cpu_l2_bytes": "bytes of l2_size",
    "link_bytes": "bytes of a link per cycle",
    "tcc_latency": "TCC_latency",
    "to_directory": "gpu-to-dir-latency",
    "directories": "num-dirs",
    "compute_units_per_sqc": "cu-per-sqc",
    "sqc_bytes": "bytes of sqc-size",
    "l1_tlb_entries": "L1TLBentries",
    "l3_tlb_entries": "L3TLBentries",
    "l1_tlb_cycles": "L1AccessLatency",
    "l2_tlb_cycles": "L2AccessLatency",
    "l3_tlb_cycles": "L3AccessLatency",
    "walk_cycles": "L3MissLatency",
}
"""Fields of ``GpuModel`` with what they are called in messages."""

Range: TypeAlias = tuple[float, float]


@dataclass(frozen=True)
class Measured:
    """What the recorded runs span.

    Attributes:
        kernels: by kernel (``family``): its runs, the range of each quantity, the 5th and 95th percentile of
        its errors.
        machine: by field of ``GpuModel``: the smallest and the largest value.
        memories: types of DRAM.
        errors: 5th and 95th percentile of all errors.
        largest: the smallest and the largest error.
    """

    kernels: Mapping[str, Mapping[str, Any]]
    machine: Mapping[str, Range]
    memories: tuple[str, ...]
    errors: Range
    largest: Range


@cache
def measured() -> Measured:
    """The content of ``measured.json``."""
    content = json.loads(FILE.read_text(encoding="utf-8"))
    ranges = {name: (low, high) for name, (low, high) in content["machine"].items()}
    return Measured(
        content["kernels"],
        ranges,
        tuple(content["memories"]),
        tuple(content["errors"]),
        tuple(content["largest"]),
    )


@dataclass(frozen=True)
class Away:
    """A quantity outside the range that it was measured in, by ``decades`` factors of ten."""

    what: str
    value: str
    measured: str
    decades: float

    def __str__(self) -> str:
        return f"{self.value} {self.what} (measured {self.measured})"


@dataclass(frozen=True)
class Coverage:
    """How far launches lie inside what was measured.

    Attributes:
        low, high: of each launch: the factors from its cycles to both ends of their interval.
        outside: of each launch: what lies outside, and in which range it should; empty: nothing.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    outside: list[tuple[Away, ...]]


def coverage(
    kernels: Sequence[str], machines: Sequence[GpuModel], found: Mapping[str, NDArray[np.float64]]
) -> Coverage:
    """How far launches lie inside what was measured.

    Args:
        kernels: their names.
        found: their counters: ``wavefronts``, ``gpu_cycles``, bytes of DRAM.
    """
    values = {
        "wavefronts": found["wavefronts"].tolist(),
        "gpu_cycles": found["gpu_cycles"].tolist(),
        "dram_bytes": (found["dram_bytes_read"] + found["dram_bytes_written"]).tolist(),
    }
    size = len(kernels)
    low, high = np.ones(size), np.ones(size)
    outside: list[tuple[Away, ...]] = []
    for k, (kernel, machine) in enumerate(zip(map(family, kernels), machines, strict=True)):
        away = [*_of_kernel(kernel, {name: column[k] for name, column in values.items()})]
        away += _of_machine(machine)
        low[k], high[k] = _factors(kernel, max((one.decades for one in away), default=0.0))
        outside.append(tuple(away))
    return Coverage(low, high, outside)


def family(kernel: str) -> str:
    """What a kernel is measured as: rocBLAS' tuned kernels by their problem, for one model has them all."""
    problem, tile, _ = kernel.partition("_SB_MT")
    return problem + "_SB" if tile else kernel


def _factors(kernel: str, decades: float) -> Range:
    """What the cycles are multiplied with for both ends of their interval.

    An error is predicted / measured - 1, so that measured = predicted / (1 + error).
    """
    known = measured()
    if decades:
        far = max(math.log1p(known.largest[1]), -math.log1p(known.largest[0])) * (1.0 + decades)
        return math.exp(-far), math.exp(far)
    facts = known.kernels[kernel]
    below, above = facts["errors"] if facts["runs"] >= FEWEST_RUNS else known.errors
    return min(1.0, 1.0 / (1.0 + above)), max(1.0, 1.0 / (1.0 + below))


def _of_kernel(kernel: str, values: Mapping[str, float]) -> Iterator[Away]:
    facts = measured().kernels.get(kernel)
    if facts is None:
        yield Away(kernel, "a kernel", "never", 1.0)
        return
    for name, value in values.items():
        low, high = facts[name]
        if not low <= value <= high:
            what = f"{QUANTITIES[name]} of {kernel}"
            yield Away(what, f"{value:.3g}", f"{low:.3g} to {high:.3g}", _decades(value, low, high))


@lru_cache(maxsize=65536)
def _of_machine(machine: GpuModel) -> tuple[Away, ...]:
    known = measured()
    away: list[Away] = []
    for field in NUMBERS:
        value = float(getattr(machine, field))
        low, high = known.machine[field]
        if not low <= value <= high:
            spanned = f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
            away.append(Away(OPTIONS[field], f"{value:.4g}", spanned, _decades(value, low, high)))
    name = memory_name(machine.dram)
    if name not in known.memories:
        away.append(Away("mem-type", name, ", ".join(known.memories), 1.0))
    if not machine.calibration.own:
        away.append(
            Away("as release of gem5", machine.calibration.release, machine.calibration.fitted_to, 1.0)
        )
    return tuple(away)


def _decades(value: float, low: float, high: float) -> float:
    """Factors of ten outside the range."""
    if value > 0 and low > 0:
        return abs(math.log10(value / (high if value > high else low)))
    return 1.0
