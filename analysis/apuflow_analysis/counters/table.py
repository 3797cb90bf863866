"""The counters: what every engine reports about a run, and where gem5 keeps each of them.

gem5's statistic names stand here. ``stats`` says how a counter is read:

* terms separated by `` + `` or `` - `` are added or subtracted, each summed over all objects it matches;
* ``CUs*`` stands for every compute unit (``CUs`` when there is one, ``CUs0`` ... otherwise), likewise
  ``tcc_cntrl*`` and the other arrays; ``::Name*`` for every element of a vector that begins so;
* names that begin with ``CUs`` or a dot belong to the shader (``system.cpuN``); the others are complete
  from ``system.`` on (left out);
* ``a | b`` are the names of one statistic in different releases, the first that is present counts;
* ``samples*mean(X)`` is the sum of a distribution's samples, rebuilt from its printed mean; with ``mod N``
  the remainder of each object's sum: gem5 counts an LDS access without an active lane as -1, which it keeps
  as 4294967295 (src/gpu-compute/lds_state.cc, ``ldsBankConflictDist.sample(bankConflicts-1)``).

Source of the names and meanings: gem5 v21.0.1.0 to v24.0.0.1, src/gpu-compute/*.cc,
src/mem/ruby/structures/CacheMemory.cc, src/mem/dram_interface.cc, src/base/stats/text.cc.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from apuflow.gem5.stats.checks import ACTIVE, LAUNCHED, WAVEFRONTS

Aggregate = Literal["sum", "last", "max"]


@dataclass(frozen=True)
class Counter:
    """One counter.

    Attributes:
        name: column name in every table.
        unit: of the value; ``1`` for pure counts of the thing in ``meaning``.
        meaning: what is counted.
        stats: where gem5 keeps it (see the module's text); empty when it is computed by ``counters``.
        aggregate: how the dumps of one run are put together.
        integer: whether it counts whole things.
        optional: gem5 leaves the statistic out while it is zero, so absent means 0.
        scale: factor from the printed number to the unit (gem5 prints hostMemory in KiB and peakBW in MB/s,
            whatever the descriptions in the file say: base/hostinfo.cc, dram_interface.cc).
    """

    name: str
    unit: str
    meaning: str
    stats: str = ""
    aggregate: Aggregate = "sum"
    integer: bool = True
    optional: bool = False
    scale: float = 1


def _c(name: str, unit: str, meaning: str, stats: str = "") -> Counter:
    return Counter(name, unit, meaning, stats)


def _event(name: str, meaning: str, stats: str, unit: str = "1") -> Counter:
    return Counter(name, unit, meaning, stats, optional=True)


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

_STALL = "CUs*.ScoreboardCheckStage.stallCycles::"
_ISSUED = "CUs*.ExecStage.numCyclesWithInstrTypeIssued::"

COUNTERS: tuple[Counter, ...] = (
    # time
    _c("gpu_active_ticks", "tick", "time in which at least one compute unit was awake", ACTIVE),
    Counter("gpu_clock_ticks", "tick", "period of the GPU clock", ".clk_domain.clock", "last"),
    _c("gpu_cycles", "cycle", "gpu_active_ticks in GPU clock periods, rounded"),
    _c("sim_ticks", "tick", "simulated time, CPU part included", "simTicks"),
    Counter("sim_freq", "tick/s", "ticks per simulated second", "simFreq", "last"),
    Counter("ruby_clock_ticks", "tick", "period of the network's clock", "ruby.clk_domain.clock", "last"),
    # work
    _c("kernels_launched", "1", "kernel dispatches", f"cpu*{LAUNCHED}"),
    _c("workgroups", "1", "workgroups completed", f"CUs*.{WORKGROUPS}"),
    _c("wavefronts", "1", "wavefronts completed", f"CUs*.{WAVEFRONTS}"),
    Counter("compute_units", "1", "compute units in the statistics", aggregate="last"),
    Counter("tcc_banks", "1", "TCC banks in the statistics", aggregate="last"),
    _c("workgroups_max", "1", "workgroups completed by the busiest compute unit, added over dumps"),
    _c("cu_cycles_max", "cycle", "awake cycles of the compute unit that was awake longest, added over dumps"),
    _c("cu_cycles", "cycle", "awake cycles, summed over compute units", f"CUs*.{CYCLES}"),
    _c("slot_cycles", "cycle", "wavefront-slot cycles: awake cycles times the slots of the compute unit"),
    # instructions (of wavefronts)
    _c("instructions", "1", "wavefront instructions of all kinds executed", "CUs*.numInstrExecuted"),
    _c("valu_insts", "1", "vector ALU instructions", "CUs*.vALUInsts"),
    _c("salu_insts", "1", "scalar ALU instructions, without s_waitcnt", "CUs*.sALUInsts"),
    _c("smem_insts", "1", "scalar memory instructions", "CUs*.scalarMemReads + CUs*.scalarMemWrites"),
    _c(
        "vmem_insts",
        "1",
        "vector memory instructions of the buffer encodings (FLAT not included)",
        "CUs*.vectorMemReads + CUs*.vectorMemWrites",
    ),
    _c("flat_insts", "1", "FLAT instructions that went to global memory", "CUs*.flatVMemInsts"),
    _c(
        "lds_insts",
        "1",
        "LDS instructions: DS and FLAT ones that went to the LDS",
        "CUs*.ldsNoFlatInsts + CUs*.flatLDSInsts",
    ),
    _c("other_insts", "1", "branch, s_waitcnt, barrier, nop, endpgm and what else is in none of the classes"),
    _c(
        "vector_memory_insts",
        "1",
        "vector memory instructions of all encodings, atomics included",
        "CUs*.activeLanesPerGMemInstrDist::samples - CUs*.scalarMemReads - CUs*.scalarMemWrites",
    ),
    _c("global_reads", "1", "vector loads from global memory, atomics not included", "CUs*.globalReads"),
    _c("global_writes", "1", "vector stores to global memory, atomics not included", "CUs*.globalWrites"),
    _c("group_reads", "1", "vector loads from the LDS", "CUs*.groupReads"),
    _c("group_writes", "1", "vector stores to the LDS", "CUs*.groupWrites"),
    _c(
        "valu_thread_cycles", "lane", "active lanes over all vector ALU instructions", "CUs*.threadCyclesVALU"
    ),
    _c(
        "flops",
        "flop",
        "lane operations of vector instructions flagged F16, F32 or F64; compares count, fused ones twice",
        "CUs*.numVecOpsExecutedF16 + CUs*.numVecOpsExecutedF32 + CUs*.numVecOpsExecutedF64"
        " + CUs*.numVecOpsExecutedTwoOpFP",
    ),
    # where the wavefront slots' cycles went
    _c("stall_wfstop", "cycle", "slot cycles without a resident wavefront", _STALL + "WFStop"),
    _c("stall_ibempty", "cycle", "slot cycles with an empty instruction buffer", _STALL + "IBEmpty"),
    _c(
        "stall_waitcnt",
        "cycle",
        "slot cycles in s_waitcnt (vector, scalar and LDS memory)",
        _STALL + "WaitCnt",
    ),
    _c("stall_barrier", "cycle", "slot cycles at a barrier", _STALL + "BarrierWait"),
    _c("stall_vgpr", "cycle", "slot cycles waiting for a vector register", _STALL + "VgprBusy"),
    _c("stall_sgpr", "cycle", "slot cycles waiting for a scalar register", _STALL + "SgprBusy"),
    _c("stall_ready", "cycle", "slot cycles with an instruction ready", _STALL + "InstrReady"),
    _c(
        "ready_unit_cycles",
        "cycle",
        "execution-unit cycles with at least one candidate wavefront",
        "CUs*.ScheduleStage.rdyListNotEmpty::*",
    ),
    _c(
        "idle_unit_cycles",
        "cycle",
        "execution-unit cycles without a candidate wavefront",
        "CUs*.ScheduleStage.rdyListEmpty::*",
    ),
    _c(
        "issue_cycles",
        "cycle",
        "cycles that issued an instruction",
        "CUs*.ExecStage.numCyclesWithInstrIssued",
    ),
    _c("no_issue_cycles", "cycle", "cycles that issued none", "CUs*.ExecStage.numCyclesWithNoIssue"),
    _c(
        "valu_issue_cycles",
        "cycle",
        "SIMD cycles with a vector ALU instruction issued",
        _ISSUED + "VectorALU*",
    ),
    _c("salu_issue_cycles", "cycle", "cycles with a scalar ALU instruction issued", _ISSUED + "ScalarALU*"),
    _c(
        "vmem_issue_cycles",
        "cycle",
        "cycles with an instruction to the memory pipe",
        _ISSUED + "VectorMemPipe",
    ),
    # caches and translation
    _event("tcp_load_events", "loads that reached a TCP, in cache lines", "ruby.TCP_Controller.Load"),
    _event(
        "tcp_store_events",
        "write-throughs that reached a TCP, in cache lines",
        "ruby.TCP_Controller.StoreThrough",
    ),
    _event("tcp_bypass_events", "loads that bypass the TCP", "ruby.TCP_Controller.LoadBypassEvict"),
    _event("tcp_atomic_events", "atomics that reached a TCP", "ruby.TCP_Controller.Atomic"),
    _event("tcp_load_hits", "TCP loads that found a valid line", "ruby.TCP_Controller.V.Load"),
    _event("tcp_load_misses", "TCP loads that did not", "ruby.TCP_Controller.I.Load"),
    _c("tcp_hits", "1", "TCP demand hits, stores included", "ruby.tcp_cntrl*.L1cache.m_demand_hits"),
    _c("tcp_misses", "1", "TCP demand misses, stores included", "ruby.tcp_cntrl*.L1cache.m_demand_misses"),
    _event(
        "tcp_array_accesses",
        "TCP data array reads and writes",
        "ruby.tcp_cntrl*.L1cache.numDataArrayReads + ruby.tcp_cntrl*.L1cache.numDataArrayWrites",
    ),
    _c("tcc_demand_hits", "1", "TCC demand hits", "ruby.tcc_cntrl*.L2cache.m_demand_hits"),
    _c("tcc_demand_misses", "1", "TCC demand misses", "ruby.tcc_cntrl*.L2cache.m_demand_misses"),
    _event("tcc_reads", "block reads that reached a TCC", "ruby.TCC_Controller.RdBlk"),
    _event("tcc_read_misses", "block reads whose line a TCC had to fetch", "ruby.TCC_Controller.I.RdBlk"),
    _event(
        "tcc_reads_in_flight",
        "block reads of lines that are on their way: a TCC asks the directory for each of them again",
        "ruby.TCC_Controller.IV.RdBlk",
    ),
    _event(
        "tcc_writes",
        "block writes that reached a TCC",
        "ruby.TCC_Controller.WrVicBlk + ruby.TCC_Controller.WrVicBlkBack + ruby.TCC_Controller.WrVicBlkEvict",
    ),
    _event("tcc_atomics", "atomics that reached a TCC", "ruby.TCC_Controller.Atomic"),
    _event(
        "tcc_array_accesses",
        "TCC data array reads and writes",
        "ruby.tcc_cntrl*.L2cache.numDataArrayReads + ruby.tcc_cntrl*.L2cache.numDataArrayWrites",
    ),
    _c("sqc_hits", "1", "instruction cache demand hits", "ruby.sqc_cntrl*.L1cache.m_demand_hits"),
    _c("sqc_misses", "1", "instruction cache demand misses", "ruby.sqc_cntrl*.L1cache.m_demand_misses"),
    _c("scalar_hits", "1", "scalar cache demand hits", "ruby.scalar_cntrl*.L1cache.m_demand_hits"),
    _c("scalar_misses", "1", "scalar cache demand misses", "ruby.scalar_cntrl*.L1cache.m_demand_misses"),
    _c("l3_hits", "1", "hits of the directory's L3", "ruby.dir_cntrl*.L3CacheMemory.m_demand_hits"),
    _c("l3_misses", "1", "misses of the directory's L3", "ruby.dir_cntrl*.L3CacheMemory.m_demand_misses"),
    _c("l1_tlb_hits", "1", "L1 TLB hits of coalesced lookups", "l1_tlb*.localNumTLBHits"),
    _c("l1_tlb_misses", "1", "L1 TLB misses of coalesced lookups", "l1_tlb*.localNumTLBMisses"),
    _c("page_walks", "1", "lookups that missed the last TLB", "l3_tlb*.localNumTLBMisses"),
    _c("tlb_lane_requests", "1", "lane translations before coalescing", "l1_coalescer*.uncoalescedAccesses"),
    _c("tlb_lookups", "1", "translations after coalescing", "l1_coalescer*.coalescedAccesses"),
    _c(
        "token_cycles",
        "cycle",
        "cycles of a compute unit times the share of its coalescer tokens in use; preview",
    ),
    _c("walk_cycles", "cycle", "cycles of page walks that follow one another; preview"),
    _c("dram_busy_cycles", "cycle", "cycles that the DRAM is busy, opening rows included; preview"),
    # memory
    _event(
        "dram_bytes_read",
        "bytes of the read requests that reached the memory controllers, the CPUs' too",
        "mem_ctrls*.dram.bytesRead::total",
        "B",
    ),
    _event(
        "dram_bytes_written",
        "bytes of the write requests that reached the memory controllers, the CPUs' too",
        "mem_ctrls*.dram.bytesWritten::total",
        "B",
    ),
    _c(
        "dram_bus_bytes_read",
        "B",
        "bytes read over the DRAM bus; requests served by the write queue are not among them",
        "mem_ctrls*.dram.bytesRead | mem_ctrls*.dram.dramBytesRead",
    ),
    _c(
        "dram_bus_bytes_written",
        "B",
        "bytes written over the DRAM bus; merged writes count once",
        "mem_ctrls*.dram.bytesWritten | mem_ctrls*.dram.dramBytesWritten",
    ),
    _c(
        "dram_row_hits",
        "1",
        "DRAM bursts that found their row open",
        "mem_ctrls*.dram.readRowHits + mem_ctrls*.dram.writeRowHits",
    ),
    _c("dram_bursts", "1", "DRAM bursts", "mem_ctrls*.dram.readBursts + mem_ctrls*.dram.writeBursts"),
    Counter(
        "dram_peak_bandwidth",
        "B/s",
        "peak bandwidth of all channels",
        "mem_ctrls*.dram.peakBW",
        "last",
        integer=False,
        scale=1e6,
    ),
    _c("load_latency_samples", "1", "vector loads with a measured latency", ".loadLatencyDist::samples"),
    _c(
        "load_latency_ticks",
        "tick",
        "issue to completion, summed over them",
        "samples*mean(.loadLatencyDist)",
    ),
    _c("lds_accesses", "1", "LDS instructions' accesses", "CUs*.ldsBankConflictDist::samples"),
    _c(
        "lds_bank_conflicts",
        "cycle",
        "serialised LDS accesses beyond the first of each instruction",
        "samples*mean(CUs*.ldsBankConflictDist) mod 4294967295",
    ),
    # host
    _c("cpu_instructions", "1", "instructions of the simulated CPUs", "simInsts"),
    Counter("host_seconds", "s", "host time inside the simulation", "hostSeconds", integer=False),
    Counter("host_memory_bytes", "B", "address space of the gem5 process", "hostMemory", "max", scale=1024),
)

BY_NAME: dict[str, Counter] = {counter.name: counter for counter in COUNTERS}
NAMES: tuple[str, ...] = tuple(BY_NAME)
