"""Counters of modelled launches, under the names of ``apuflow_analysis.counters.table``."""

from __future__ import annotations

import numpy as np

from apuflow.preview.profile import MatrixWork
from apuflow.preview.timing import Times
from apuflow_analysis.counters.table import NAMES

TICKS_PER_NS = 1000.0


def counter_columns(result: Times) -> dict[str, np.ndarray]:
    """The counters of launches, as gem5 would count them, from how long each takes.

    Returns:
        an element per launch: all counters of that table, NaN where the model has none.
    """
    profiles, n, m = result.launches.profiles, result.launches.counts, result.launches.machines
    t, terms = result.traffic, result.terms
    groups, waves = profiles.workgroups.astype(np.float64), profiles.wavefronts.astype(np.float64)
    peak = m.dram.peak_bytes_per_ns * 1e9
    used = result.launches.used
    cycles = np.rint(result.ns / m.gpu_ns)
    busiest = np.ceil(groups / np.maximum(used, 1.0))
    start = np.minimum(terms.start, result.ns)
    awake = start + (result.ns - start) * groups / np.maximum(used * busiest, 1.0)
    cu_cycles = np.rint(awake / m.gpu_ns * used)
    slot_cycles = cu_cycles * m.slots
    resident = np.minimum(waves * terms.residence / m.gpu_ns + used * terms.start / m.gpu_ns, slot_cycles)
    ready, waiting = result.ready_share * resident, (1.0 - result.ready_share) * resident
    fetch = np.minimum(waiting, used * terms.fetch / m.gpu_ns)
    lds = n.lds_reads + n.lds_writes
    vector_memory = n.loads + n.stores
    issued = n.instructions
    conflicts, matrix = profiles.lds_conflicts * lds, profiles.inner("matrix")
    values: dict[str, np.ndarray] = {
        "gpu_active_ticks": result.ns * TICKS_PER_NS,
        "gpu_clock_ticks": m.gpu_ns * TICKS_PER_NS,
        "gpu_cycles": cycles,
        "sim_ticks": result.ns * TICKS_PER_NS,
        "sim_freq": np.full(len(waves), 1e12),
        "ruby_clock_ticks": m.ruby_ns * TICKS_PER_NS,
        "kernels_launched": np.ones(len(waves)),
        "workgroups": groups,
        "wavefronts": waves,
        "compute_units": m.compute_units,
        "tcc_banks": m.tccs,
        "workgroups_max": busiest,
        "cu_cycles_max": np.maximum(cycles, np.ceil(cu_cycles / m.compute_units)),
        "cu_cycles": cu_cycles,
        "slot_cycles": slot_cycles,
        "instructions": issued,
        "valu_insts": n.valu,
        "salu_insts": n.salu,
        "smem_insts": n.smem,
        "vmem_insts": np.zeros(len(waves)),
        "flat_insts": vector_memory,
        "lds_insts": lds,
        "other_insts": n.scalar_issues - n.salu + n.idle,
        "vector_memory_insts": vector_memory,
        "global_reads": n.loads,
        "global_writes": n.stores,
        "group_reads": n.lds_reads,
        "group_writes": n.lds_writes,
        "valu_thread_cycles": n.lanes,
        "flops": profiles.flops + matrix.flops,
        **{f"matrix_{name}": getattr(matrix, name) for name in MatrixWork._fields},
        "stall_wfstop": slot_cycles - resident,
        "stall_ibempty": fetch,
        "stall_waitcnt": waiting - fetch,
        "stall_barrier": np.zeros(len(waves)),
        "stall_ready": ready,
        "valu_issue_cycles": n.valu,
        "salu_issue_cycles": n.scalar_issues,
        "vmem_issue_cycles": vector_memory,
        "tcp_load_events": t.tcp_loads,
        "tcp_store_events": t.tcp_stores,
        "tcp_bypass_events": np.zeros(len(waves)),
        "tcp_atomic_events": np.zeros(len(waves)),
        "tcp_load_hits": t.tcp_hits,
        "tcp_load_misses": t.tcp_loads - t.tcp_hits,
        "tcc_demand_hits": t.tcc_hits - t.passed_on + t.code_reads - t.code_misses,
        "tcc_demand_misses": t.requested + t.tcc_writes + t.code_misses,
        "tcc_reads": t.tcc_reads + t.code_reads,
        "tcc_read_misses": t.tcc_misses + t.code_misses,
        "tcc_reads_in_flight": t.passed_on,
        "tcc_writes": t.tcc_writes,
        "tcc_atomics": np.zeros(len(waves)),
        "l3_hits": t.l3_hits,
        "l1_tlb_misses": t.l1_tlb_misses,
        "page_walks": t.cold_pages,
        "token_cycles": result.busy_ns("tokens") * groups / busiest / m.gpu_ns,
        "walk_cycles": terms.walks / m.gpu_ns,
        "dram_busy_cycles": result.busy_ns("dram") / m.gpu_ns,
        "dram_bytes_read": (t.dram_reads + t.queued_reads + t.code_misses) * 64,
        "dram_bytes_written": (t.dram_writes + t.queued_writes) * 64,
        "dram_bus_bytes_read": (t.dram_reads + t.code_misses) * 64,
        "dram_bus_bytes_written": t.dram_writes * 64,
        "dram_bursts": t.dram_reads + t.dram_writes + t.code_misses,
        "dram_peak_bandwidth": peak * m.directories,
        "lds_accesses": lds,
        "lds_bank_conflicts": conflicts,
    }
    unknown = np.full(len(waves), np.nan)
    return {name: values.get(name, unknown) for name in NAMES}
