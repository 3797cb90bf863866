"""Points of the preview on machines drawn at random, and what any row of it has to satisfy."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from apuflow.configure import option_rules
from apuflow.core.record import ReleaseFacts
from apuflow.dnnmark import Direction, parse
from apuflow.miopen import Launch, launches

FACTS = tuple(ReleaseFacts(slots, keeps_cache_statistics=False) for slots in (4, 16))
"""A compute unit's barrier slots before and since v23.1."""

DEFAULTS = option_rules.defaults("v23.0")


@dataclass(frozen=True)
class Point:
    """A DNNMark text in one direction on a machine."""

    id: str
    text: str
    direction: Direction
    options: dict[str, Any]
    release_facts: ReleaseFacts = FACTS[0]
    release: str = "v23.0"
    in_memory: bool = False

    def launches(self, compute_units: int) -> tuple[Launch, ...]:
        return launches(parse(self.text), self.direction, compute_units)

    def previewed(self, compute_units: int) -> tuple[tuple[Launch, ...], None]:
        return self.launches(compute_units), None


def size(draw: random.Random, most: int) -> int:
    """1 to ``most``, small sizes as often as large ones."""
    return min(most, int(2 ** (draw.randrange(1000) / 1000 * np.log2(most + 1))))


def any_machine(draw: random.Random) -> dict[str, Any]:
    """Compute units, and each other option with a third of the chance."""
    options: dict[str, Any] = {"num-compute-units": draw.randrange(1, 129)}
    choices: dict[str, Sequence[Any]] = {
        "wfs-per-simd": range(1, 41),
        "simds-per-cu": range(1, 9),
        "lds-size": (1024, 16384, 65536, 262144),
        "vreg-file-size": (256, 1000, 2048, 8192),
        "tcp-size": ("1kB", "16kB", "48kB", "1MB"),
        "tcc-size": ("1kB", "100kB", "256kB", "64MB"),
        "l2_size": ("1kB", "2MB"),
        "l3_size": ("1kB", "16MB", "1GB"),
        "gpu-clock": ("50MHz", "1GHz", "1.5GHz", "5GHz"),
        "ruby-clock": ("100MHz", "2GHz", "7GHz"),
        "num-tccs": range(1, 33),
        "num-dirs": (1, 2, 8),
        "bw-scalor": range(5),
        "max-cu-tokens": range(1, 65),
        "cu-per-sqc": range(1, 17),
        "issue-period": range(1, 17),
        "mem-req-latency": (0, 1, 50, 1000),
        "mem-resp-latency": (0, 1, 50, 1000),
        "TCC_latency": (1, 16, 1000),
        "L1TLBentries": (1, 32, 1024),
        "L3MissLatency": (1, 750, 10000),
        "ldsBankConflictPenalty": (1, 32),
        "mem-type": ("DDR3_1600_8x8", "DDR3_2133_8x8"),
    }
    options |= {name: draw.choice(values) for name, values in choices.items() if draw.randrange(3) == 0}
    return options


@contextmanager
def strict_numbers() -> Iterator[None]:
    """A division by zero, an overflow, an invalid operation, any warning is an error."""
    with warnings.catch_warnings(), np.errstate(divide="raise", over="raise", invalid="raise"):
        warnings.simplefilter("error")
        yield


ROUNDING = 1e-9


AT_MOST = (
    ("tcp_load_hits", "tcp_load_events"),
    ("tcc_read_misses", "tcc_reads"),
    ("l3_hits", "tcc_read_misses"),
    ("page_walks", "l1_tlb_misses"),
    ("wavefronts", "instructions"),
    ("dram_bus_bytes_read", "dram_bytes_read"),
    ("dram_bus_bytes_written", "dram_bytes_written"),
    ("workgroups", "wavefronts"),
    ("workgroups_max", "workgroups"),
    ("gpu_active_ticks", "sim_ticks"),
    ("stall_ready", "slot_cycles"),
)
"""What is part of something else: no more than it."""


def broken(frame: pd.DataFrame) -> dict[str, list[str]]:
    """What does not hold of modelled points, with the points' names."""
    f = frame[frame["kernels_launched"] > 0]
    known = f[[name for name in f.select_dtypes("number") if f[name].notna().any()]]
    stalls = f[[name for name in known if str(name).startswith("stall_")]].sum(axis=1)
    classes = f["valu_insts"] + f["salu_insts"] + f["smem_insts"] + f["flat_insts"] + f["lds_insts"]
    lines_moved = (f["dram_bus_bytes_read"] + f["dram_bus_bytes_written"]) / 64
    launches = f["kernels_launched"]
    wrong = {
        "a finite number": ~np.isfinite(known).all(axis=1),
        "no negative number": (known < 0).any(axis=1),
        "time passes": f["gpu_cycles"] < launches,
        "lanes fit the wavefront": f["valu_thread_cycles"] > 64 * f["valu_insts"] * (1 + ROUNDING),
        "loads hit or miss": ~np.isclose(f["tcp_load_hits"] + f["tcp_load_misses"], f["tcp_load_events"]),
        "instructions are of one class": ~np.isclose(classes + f["other_insts"], f["instructions"]),
        "DRAM moves lines": ~np.isclose(lines_moved, f["dram_bursts"]),
        "slots hold the stalls": stalls > f["slot_cycles"] * (1 + ROUNDING) + launches,
        "a unit is awake while the GPU is": f["cu_cycles_max"] > f["gpu_cycles"] + launches,
        **{f"{a} <= {b}": f[a] > f[b] * (1 + ROUNDING) + ROUNDING for a, b in AT_MOST},
    }
    return {name: list(f.loc[np.asarray(rows), "point"]) for name, rows in wrong.items() if np.any(rows)}
