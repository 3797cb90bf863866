"""What the preview was measured on, and how far its cycles may be off: per launch, from ``measured.json``.

``measured.json`` holds, of the recorded gem5 runs, the range of each quantity, and the errors of each kernel
and of what bounds it (``apuflow.study.measured`` writes it). Inside these ranges the interval of the cycles
is the 5th to 95th percentile of the kernel's errors, or of its bound's, whichever goes farther. Outside,
nothing was measured: the interval then goes to the 1st and 99th percentile of all errors, once more for each
factor of ten beyond the range. That is a guess, and the row says so.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from apuflow.core.preview_constants import Calibration
from apuflow.preview.machine import NUMBERS, Dram, memory_name
from apuflow.preview.tables import Gpus

FILE = Path(__file__).with_name("measured.json")
FEWEST_RUNS = 20
"""Runs from which a kernel's own errors, or a bound's, make the interval; of rarer ones all runs' errors."""
ROCBLAS: Final = "Cijk_"
"""How rocBLAS' kernels begin. Their products were drawn on their own: no other kernels' errors are theirs."""
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
        bounds: by what bounds a launch (``Times.bound``): the 5th and 95th percentile of errors.
        machine: by field of ``GpuModel``: the smallest and the largest value.
        memories: types of DRAM. releases: of gem5.
        errors: 5th and 95th percentile of all errors; far: 1st and 99th.
        layers: of layers drawn at random: their number, median and 90th percentile of their errors.
    """

    kernels: Mapping[str, Mapping[str, Any]]
    bounds: Mapping[str, Range]
    machine: Mapping[str, Range]
    memories: tuple[str, ...]
    releases: tuple[str, ...]
    errors: Range
    far: Range
    layers: Mapping[str, float]


@cache
def measured() -> Measured:
    """The content of ``measured.json``."""
    content = json.loads(FILE.read_text(encoding="utf-8"))
    return Measured(
        kernels=content["kernels"],
        bounds={name: (low, high) for name, (low, high) in content["bounds"].items()},
        machine={name: (low, high) for name, (low, high) in content["machine"].items()},
        memories=tuple(content["memories"]),
        releases=tuple(content["releases"]),
        errors=tuple(content["errors"]),
        far=tuple(content["far"]),
        layers=content["layers"],
    )


class Away(NamedTuple):
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
    kernels: Sequence[str],
    bounds: Sequence[str],
    machines: Gpus,
    found: Mapping[str, NDArray[np.float64]],
) -> Coverage:
    """How far launches lie inside what was measured.

    Args:
        kernels: their names.
        bounds: what bounds each of them.
        machines: the GPU that each runs on.
        found: their counters: ``wavefronts``, ``gpu_cycles``, bytes of DRAM.
    """
    values = {
        "wavefronts": found["wavefronts"],
        "gpu_cycles": found["gpu_cycles"],
        "dram_bytes": found["dram_bytes_read"] + found["dram_bytes_written"],
    }
    families = [family(kernel) for kernel in kernels]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(families))}
    which = np.array([numbers[name] for name in families], dtype=np.int64)
    outside = _of_machines(machines)
    any_value = dict.fromkeys(values, (-math.inf, math.inf))
    for quantity, column in reversed(values.items()):
        ranges = [measured().kernels.get(name, any_value)[quantity] for name in numbers]
        least, most = np.array(ranges, dtype=np.float64).reshape(-1, 2)[which].T
        for k in np.flatnonzero((column < least) | (column > most)).tolist():
            outside[k] = (_of_kernel(families[k], quantity, float(column[k])), *outside[k])
    for name in numbers.keys() - measured().kernels.keys():
        for k in np.flatnonzero(which == numbers[name]).tolist():
            outside[k] = (Away(name, "a kernel", "never", 1.0), *outside[k])

    kinds = {name: number for number, name in enumerate(dict.fromkeys(bounds))}
    limits = [_inside(name, kind) for name in numbers for kind in kinds]
    of_bound = np.array([kinds[bound] for bound in bounds], dtype=np.int64)
    low, high = np.array(limits, dtype=np.float64).reshape(-1, 2)[which * len(kinds) + of_bound].T.copy()
    rows = [k for k, away in enumerate(outside) if away]
    farther = _guess(np.array([max(one.decades for one in outside[k]) for k in rows]))
    low[rows], high[rows] = np.minimum(low[rows], farther[0]), np.maximum(high[rows], farther[1])
    return Coverage(low, high, outside)


def family(kernel: str) -> str:
    """What a kernel is measured as: rocBLAS' tuned kernels by their problem, for one model has them all."""
    problem, tile, _ = kernel.partition("_SB_MT")
    return problem + "_SB" if tile else kernel


def _inside(kernel: str, bound: str) -> Range:
    """What the cycles are multiplied with for both ends of their interval, inside what was measured.

    An error is predicted / measured - 1, so that measured = predicted / (1 + error).
    """
    known = measured()
    facts = known.kernels.get(kernel)
    if facts is None:
        return 1.0, 1.0
    own = facts["errors"] if facts["runs"] >= FEWEST_RUNS else known.errors
    other = own if kernel.startswith(ROCBLAS) else known.bounds.get(bound, known.errors)
    below, above = zip(own, other, strict=True)
    return min(1.0, 1.0 / (1.0 + max(above))), max(1.0, 1.0 / (1.0 + min(below)))


def _guess(decades: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The same, ``decades`` factors of ten outside."""
    low, high = measured().far
    away = max(math.log1p(high), -math.log1p(low)) * (1.0 + decades)
    return np.exp(-away), np.exp(away)


def _of_kernel(kernel: str, quantity: str, value: float) -> Away:
    low, high = measured().kernels[kernel][quantity]
    what = f"{QUANTITIES[quantity]} of {kernel}"
    return Away(what, f"{value:.3g}", f"{low:.3g} to {high:.3g}", _decades(value, low, high))


def _of_machines(machines: Gpus) -> list[tuple[Away, ...]]:
    """What of each GPU lies outside."""
    outside: list[tuple[Away, ...]] = [()] * len(machines)
    least, most = np.array([measured().machine[field] for field in NUMBERS], dtype=np.float64).T[:, :, None]
    values = np.array([getattr(machines, field) for field in NUMBERS], dtype=np.float64)
    for field, row in np.argwhere((values < least) | (values > most)).tolist():
        outside[row] += (_of_option(NUMBERS[field], float(values[field, row])),)
    of_kind = zip(machines.dram.map(_of_memory), machines.calibration.map(_of_release), strict=True)
    return [away + memory + release for away, (memory, release) in zip(outside, of_kind, strict=True)]


@lru_cache(maxsize=65536)
def _of_option(field: str, value: float) -> Away:
    low, high = measured().machine[field]
    spanned = f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
    return Away(OPTIONS[field], f"{value:.4g}", spanned, _decades(value, low, high))


def _of_memory(channel: Dram) -> tuple[Away, ...]:
    name, known = memory_name(channel), measured().memories
    return () if name in known else (Away("mem-type", name, ", ".join(known), 1.0),)


def _of_release(calibration: Calibration) -> tuple[Away, ...]:
    release, known = calibration.release, measured().releases
    if calibration.own or release in known:
        return ()
    return (Away("as release of gem5", release, ", ".join(known), 1.0),)


def _decades(value: float, low: float, high: float) -> float:
    """Factors of ten outside the range."""
    if value > 0 and low > 0:
        return abs(math.log10(value / (high if value > high else low)))
    return 1.0
