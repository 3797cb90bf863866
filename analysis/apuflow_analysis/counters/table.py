"""The counters: what every engine reports about a run, and where gem5 keeps each of them (``counters.csv``).

Its column ``stats`` says how a counter is read:

* terms separated by `` + `` or `` - `` are added or subtracted, each summed over all objects it matches;
* ``CUs*`` stands for every compute unit (``CUs`` when there is one, ``CUs0`` ... otherwise), likewise
  ``tcc_cntrl*`` and the other arrays and ``rank*``; another ``*`` for anything within the row of a unit;
* names that begin with ``CUs`` or a dot belong to the shader (``system.cpuN``); the others are complete
  from ``system.`` on (left out);
* ``a?`` counts as 0 where it is absent;
* ``a | b`` are the names of one statistic in different releases, the first that is present counts;
* ``samples*mean(X)`` is the sum of a distribution's samples, rebuilt from its printed mean; with ``mod N``
  the remainder of each object's sum: gem5 counts an LDS access without an active lane as -1, which it keeps
  as 4294967295 (src/gpu-compute/lds_state.cc, ``ldsBankConflictDist.sample(bankConflicts-1)``).

Source of the names and meanings: gem5 v21.0.1.0 to v24.0.0.1, src/gpu-compute/*.cc,
src/mem/ruby/structures/CacheMemory.cc, src/mem/dram_interface.cc, src/base/stats/text.cc.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Counter:
    """One counter.

    Attributes:
        unit: of the value; ``1`` for pure counts of the thing in ``meaning``.
        aggregate: how the dumps of one run are put together: sum, last or max.
        integer: whether it counts whole things.
        optional: gem5 leaves the statistic out while it is zero, so absent means 0.
        needed: statistics without it are damaged; else absent means unknown, or 0 where it is ``optional``.
        scale: factor from the printed number to the unit (gem5 prints hostMemory in KiB and peakBW in MB/s,
            whatever the descriptions in the file say: base/hostinfo.cc, dram_interface.cc).
        grows: with what it grows from the first workgroups of a launch to all (``counters.extrapolate``):
            work, time or ticks; no: it does not; empty: that is not known.
        stats: where gem5 keeps it (see the module's text); empty when it is computed by ``counters``.
    """

    name: str
    unit: str
    aggregate: str
    integer: bool
    optional: bool
    needed: bool
    scale: float
    grows: str
    stats: str
    meaning: str


def _counter(row: list[str]) -> Counter:
    name, unit, aggregate, integer, optional, scale, grows, stats, meaning = row
    whole, absent, needed = integer == "yes", optional == "yes", optional == "no"
    return Counter(name, unit, aggregate, whole, absent, needed, float(scale), grows, stats, meaning)


with Path(__file__).with_name("counters.csv").open(newline="", encoding="utf-8") as _file:
    COUNTERS = tuple(_counter(row) for row in [*csv.reader(_file)][1:])
BY_NAME: dict[str, Counter] = {counter.name: counter for counter in COUNTERS}
NAMES: tuple[str, ...] = tuple(BY_NAME)

CYCLES = "totalCycles"
WORKGROUPS = "completedWGs"
SLOT = r"wavefronts\d*\.numInstrExecuted"
"""Of a compute unit: one row for each of its wavefront slots."""
VALU_CYCLES = "instCyclesVALU"
"""Of a compute unit; only an identity needs it."""

ARRAYS: dict[str, str] = {
    "ruby.tcp_cntrl": ".L1cache.m_demand_accesses",
    "ruby.tcc_cntrl": ".L2cache.m_demand_accesses",
    "ruby.sqc_cntrl": ".L1cache.m_demand_accesses",
    "ruby.scalar_cntrl": ".L1cache.m_demand_accesses",
    "ruby.dir_cntrl": ".L3CacheMemory.m_demand_accesses",
    "l1_tlb": ".localNumTLBAccesses",
    "l3_tlb": ".localNumTLBAccesses",
    "l1_coalescer": ".coalescedAccesses",
    "mem_ctrls": ".dram.peakBW",
}
"""Arrays of objects, and a statistic that every element prints even when it is zero."""

RELATED_ARRAYS: dict[str, str] = {
    "ruby.gpu_dir_cntrl": ".L3CacheMemory.m_demand_accesses",
    "gpu_mem_ctrls": ".dram.peakBW",
    **{f"{level}_tlb": ".localNumTLBAccesses" for level in ("l2", "sqc", "scalar")},
    **{f"{level}_coalescer": ".coalescedAccesses" for level in ("l2", "l3", "sqc", "scalar")},
}
"""Further arrays, which no run must have, as ``ARRAYS``."""

GPU_MEMORY: dict[str, str] = {"mem_ctrls": "gpu_mem_ctrls", "ruby.dir_cntrl": "ruby.gpu_dir_cntrl"}
"""Arrays of a full system that belong to the host, and those that belong to the GPU's own memory
(configs/ruby/GPU_VIPER.py, ``construct_gpudirs``, from v22.0 on): where a file has the latter, counters are
read from them."""
