"""What the preview was measured on, and how far its cycles may be off: per launch, from ``measured.json``.

``measured.json`` holds, of the recorded gem5 runs, the range of each quantity, and the errors of each kernel
and of what bounds it (``apuflow.score.measured`` writes it). Inside these ranges the interval of the cycles
is the 5th to 95th percentile of the kernel's errors, or of its bound's, whichever goes farther. Outside,
nothing was measured: the interval then goes to the 1st and 99th percentile of all errors, once more for each
factor of ten beyond the range. That is a guess, which the row's flags name.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from apuflow.preview.columns import Numbered, Rows, by_value, together
from apuflow.preview.machine import NUMBERS, memory_name
from apuflow.preview.tables import Gpus

FILE = Path(__file__).with_name("measured.json")
FEWEST_RUNS = 20
"""Runs from which a kernel's own errors, or a bound's, make the interval; of rarer ones all runs' errors."""
ROCBLAS: Final = "Cijk_"
"""How rocBLAS' kernels begin. Their products were drawn on their own: no other kernels' errors are theirs."""
ANY: Final = (-math.inf, math.inf)
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
    "l3_tlb_entries": "L3TLBentries",
    "l1_tlb_cycles": "L1AccessLatency",
    "l2_tlb_cycles": "L2AccessLatency",
    "l3_tlb_cycles": "L3AccessLatency",
    "walk_cycles": "L3MissLatency",
}
"""Fields of ``GpuModel`` with what they are called in messages."""

Range: TypeAlias = tuple[float, float]
Array: TypeAlias = NDArray[np.float64]


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
        outside: what lies outside of its range, that of one launch after the other; launch: whose it is.
    """

    low: Array
    high: Array
    outside: Numbered[Away]
    launch: Rows


def coverage(
    kernels: Numbered[str],
    bounds: Numbered[str],
    machines: Gpus,
    found: Mapping[str, Array],
) -> Coverage:
    """How far launches lie inside what was measured.

    Args:
        kernels: their names.
        bounds: what bounds each of them.
        machines: the GPU that each runs on.
        found: their counters: ``wavefronts``, ``gpu_cycles``, bytes of DRAM.
    """
    families = by_value(list(map(family, kernels.different)))
    families = families._replace(rows=families.rows[kernels.rows])
    outside, launch = _joined([*_of_kernels(families, found), *_of_machines(machines)])

    limits = [_inside(name, bound) for name in families.different for bound in bounds.different]
    of_limit = families.rows * len(bounds.different) + bounds.rows
    low, high = np.array(limits, dtype=np.float64).reshape(-1, 2)[of_limit].T.copy()
    farthest = np.zeros(len(low))
    np.maximum.at(farthest, launch, decades(outside))
    rows = np.unique(launch)
    below, above = _guess(farthest[rows])
    low[rows], high[rows] = np.minimum(low[rows], below), np.maximum(high[rows], above)
    return Coverage(low, high, outside, launch)


def decades(outside: Numbered[Away]) -> Array:
    """How far each is outside of its range."""
    return np.array([away.decades for away in outside.different], dtype=np.float64)[outside.rows]


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


def _guess(far: Array) -> tuple[Array, Array]:
    """The same, ``far`` factors of ten outside."""
    low, high = measured().far
    away = max(math.log1p(high), -math.log1p(low)) * (1.0 + far)
    return np.exp(-away), np.exp(away)


def _joined(parts: Sequence[tuple[Numbered[Away], Rows]]) -> tuple[Numbered[Away], Rows]:
    """What lies outside of each launch, in the order of the parts."""
    starts = np.cumsum([0, *(len(away.different) for away, _ in parts)])
    numbers = np.concatenate([away.rows + start for (away, _), start in zip(parts, starts[:-1], strict=True)])
    launch = np.concatenate([rows for _, rows in parts])
    order = np.argsort(launch, kind="stable")
    different = [one for away, _ in parts for one in away.different]
    return Numbered(different, numbers[order]), launch[order]


def _of_kernels(families: Numbered[str], found: Mapping[str, Array]) -> Iterator[tuple[Numbered[Away], Rows]]:
    """What lies outside of what was measured of their kernels, and whose it is."""
    known, rows = measured().kernels, families.rows
    yield _unknown(families, known, lambda name: Away(name, "a kernel", "never", 1.0))
    of_dram = found["dram_bytes_read"] + found["dram_bytes_written"]
    for quantity in QUANTITIES:
        column = of_dram if quantity == "dram_bytes" else found[quantity]
        ranges = [known[name][quantity] if name in known else ANY for name in families.different]
        least, most = np.array(ranges, dtype=np.float64).reshape(-1, 2)[rows].T
        launch = np.flatnonzero((column < least) | (column > most))
        first, like = together([rows[launch], column[launch]], len(launch))
        names = families._replace(rows=rows[launch[first]]).list()
        values = column[launch[first]].tolist()
        aways = [_of_kernel(name, quantity, value) for name, value in zip(names, values, strict=True)]
        yield Numbered(aways, like), launch


def _of_kernel(kernel: str, quantity: str, value: float) -> Away:
    low, high = measured().kernels[kernel][quantity]
    what = f"{QUANTITIES[quantity]} of {kernel}"
    return Away(what, f"{value:.3g}", f"{low:.3g} to {high:.3g}", _decades(value, low, high))


def _of_machines(machines: Gpus) -> Iterator[tuple[Numbered[Away], Rows]]:
    """What of each GPU lies outside, and whose it is."""
    for field in NUMBERS:
        column = getattr(machines, field)
        low, high = measured().machine[field]
        launch = np.flatnonzero((column < low) | (column > high))
        if len(launch):
            values, rows = np.unique(column[launch], return_inverse=True)
            yield Numbered([_of_option(field, float(value)) for value in values], rows), launch
    memories, releases = measured().memories, measured().releases
    memory = machines.dram.map(memory_name)
    yield _unknown(memory, memories, lambda name: Away("mem-type", name, ", ".join(memories), 1.0))
    release = by_value(machines.release.tolist())
    told = ", ".join(releases)
    yield _unknown(release, releases, lambda name: Away("as release of gem5", name, told, 1.0))


def _unknown(
    names: Numbered[str], known: Container[str], away: Callable[[str], Away]
) -> tuple[Numbered[Away], Rows]:
    """Names that are not among those that are known, and whose they are."""
    launch = np.flatnonzero(np.array([name not in known for name in names.different], dtype=bool)[names.rows])
    return Numbered(list(map(away, names.different)), names.rows[launch]), launch


@lru_cache(maxsize=65536)
def _of_option(field: str, value: float) -> Away:
    low, high = measured().machine[field]
    spanned = f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
    return Away(OPTIONS[field], f"{value:.4g}", spanned, _decades(value, low, high))


def _decades(value: float, low: float, high: float) -> float:
    """Factors of ten outside the range."""
    if value > 0 and low > 0:
        return abs(math.log10(value / (high if value > high else low)))
    return 1.0
