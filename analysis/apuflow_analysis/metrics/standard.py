"""Metrics beyond the paper's: times, efficiency, hit rates, bandwidths, instruction mix, balance, host.

Source of the formulas: the increments in gem5 v23.0.1.0, file by file in each row.
"""

from __future__ import annotations

from apuflow_analysis.metrics.metric import CPU_PART, INF, Metric, rate, share

TIME: tuple[Metric, ...] = (
    rate("gpu_time", "s", "gpu_active_ticks / sim_freq", "time with a compute unit awake", "shader.cc:515"),
    rate("sim_time", "s", "sim_ticks / sim_freq", "simulated time", "root.cc", CPU_PART),
    share(
        "gpu_share", "gpu_active_ticks / sim_ticks", "share of the time with the GPU at work", "shader.cc:515"
    ),
    share("host_share", "1 - gpu_active_ticks / sim_ticks", "share of the time without", "shader.cc:515"),
)


def _mix(kind: str, formula: str, meaning: str) -> Metric:
    return share(f"mix_{kind}", f"{formula} / instructions", meaning, "compute_unit.cc:1882")


def _hit_rate(cache: str, hits: str, misses: str, meaning: str, source: str, caveat: str = "") -> Metric:
    return share(f"{cache}_hit_rate", f"{hits} / ({hits} + {misses})", meaning, source, caveat)


def _dram_bandwidth(name: str, counted: str, meaning: str) -> Metric:
    return Metric(
        f"dram_{name}_bandwidth",
        "B/s",
        f"dram_bytes_{counted} * sim_freq / gpu_active_ticks",
        0,
        "dram_peak_bandwidth",
        f"bytes {meaning} the memory controllers per second of GPU time",
        CPU_PART,
        "abstract_mem.cc:451",
    )


STANDARD: tuple[Metric, ...] = (
    # vector efficiency
    share(
        "lane_efficiency",
        "valu_thread_cycles / (wf_size * valu_insts)",
        "share of the lanes that are active in vector ALU instructions",
        "wavefront.cc:940-1195",
    ),
    Metric(
        "lanes_per_valu_inst",
        "lane",
        "valu_thread_cycles / valu_insts",
        0,
        "wf_size",
        "active lanes per vector ALU instruction",
        source="wavefront.cc:940-1195",
    ),
    Metric(
        "lines_per_vector_memory_inst",
        "line",
        "tcp_requests / vector_memory_insts",
        0,
        "2 * wf_size",
        "cache lines per vector memory instruction: coalescing; 64 lanes of 4 bytes in a row need 4",
        source="GPUCoalescer.cc",
    ),
    Metric(
        "lanes_per_tlb_lookup",
        "lane",
        "tlb_lane_requests / tlb_lookups",
        1,
        INF,
        "lane translations that one lookup answers",
        source="tlb_coalescer.cc",
    ),
    rate(
        "lds_conflict_excess",
        "cycle",
        "lds_bank_conflicts / lds_accesses",
        "serialised accesses beyond the first of an LDS instruction",
        "lds_state.cc:106-196",
        "6 for an ideal unit stride of 4 bytes",
    ),
    # caches and translation
    _hit_rate(
        "tcp_load",
        "tcp_load_hits",
        "tcp_load_misses",
        "loads that hit in the TCP",
        "GPU_VIPER-TCP.sm:599-660",
    ),
    _hit_rate(
        "tcp",
        "tcp_hits",
        "tcp_misses",
        "accesses that hit in the TCP",
        "GPU_VIPER-TCP.sm:599-660",
        "a store to a valid line counts as a hit although it always writes through",
    ),
    _hit_rate(
        "tcc",
        "tcc_demand_hits",
        "tcc_demand_misses",
        "accesses that hit in the TCC",
        "GPU_VIPER-TCC.sm:713-890",
        "a read of a line in flight counts as a miss, an atomic again on every retry",
    ),
    _hit_rate(
        "sqc", "sqc_hits", "sqc_misses", "instruction fetches that hit", "GPU_VIPER-SQC.sm", "from v22.1 on"
    ),
    _hit_rate(
        "scalar", "scalar_hits", "scalar_misses", "scalar loads that hit", "GPU_VIPER-SQC.sm", "from v22.1 on"
    ),
    _hit_rate(
        "l3", "l3_hits", "l3_misses", "accesses that hit in the directory's L3", "CacheMemory.cc", CPU_PART
    ),
    share(
        "l1_tlb_miss_rate",
        "l1_tlb_misses / (l1_tlb_hits + l1_tlb_misses)",
        "coalesced lookups that miss the L1 TLB",
        "tlb.cc",
    ),
    share(
        "token_utilization",
        "token_cycles / (num_compute_units * gpu_cycles)",
        "share of the coalescer's tokens in use, each a vector memory instruction in flight",
        "the preview's model: gem5 prints no such statistic",
    ),
    share(
        "tcc_link_utilization",
        "(72 * (tcc_writes + tcc_atomics + tcc_read_misses + tcc_reads_in_flight)"
        " + 8 * (tcc_reads + tcc_writes + tcc_atomics)) / (link_bytes * num_tccs * ruby_cycles)",
        "share of the TCC banks' own links that is used, by what comes from TCPs and from directories",
        "Throttle.cc:61-144, SimpleNetwork.cc makeExtOutLink, GPU_VIPER-TCC.sm rd_requestData",
        "without the directory's probes; counts lines in flight, which only v24.0 and later fetch again",
    ),
    share(
        "walk_utilization",
        "walk_cycles / gpu_cycles",
        "share of the cycles in which a page walk holds up the others",
        "the preview's model: gem5 prints no such statistic",
    ),
    share(
        "dram_busy_utilization",
        "dram_busy_cycles / gpu_cycles",
        "share of the cycles that the DRAM is busy, opening rows included",
        "the preview's model: gem5 prints no such statistic",
    ),
    Metric(
        "mean_load_latency",
        "cycle",
        "load_latency_ticks / load_latency_samples / gpu_clock_ticks",
        0,
        INF,
        "cycles from issue to completion of a vector load",
        source="shader.cc sampleLoad",
    ),
    # memory
    _dram_bandwidth("read", "read", "requested from"),
    _dram_bandwidth("write", "written", "written to"),
    share(
        "dram_row_hit_rate",
        "dram_row_hits / dram_bursts",
        "DRAM bursts that find their row open",
        "dram_interface.cc",
    ),
    # instruction mix
    _mix("valu", "valu_insts", "vector ALU instructions"),
    _mix("salu", "salu_insts", "scalar ALU instructions"),
    _mix("smem", "smem_insts", "scalar memory instructions"),
    _mix("vmem", "(flat_insts + vmem_insts)", "vector memory instructions, FLAT included"),
    _mix("lds", "lds_insts", "LDS instructions"),
    _mix("other", "other_insts", "branch, s_waitcnt, barrier, nop, endpgm"),
    # throughput
    rate(
        "flop_rate",
        "flop/s",
        "flops * sim_freq / gpu_active_ticks",
        "floating point lane operations per second of GPU time",
        "wavefront.cc:940-1195",
        "an upper bound: comparisons and conversions count",
    ),
    rate(
        "arithmetic_intensity",
        "flop/B",
        "flops / dram_bytes",
        "floating point lane operations per byte requested from memory",
        "wavefront.cc, abstract_mem.cc",
        CPU_PART,
    ),
    rate(
        "l2_arithmetic_intensity",
        "flop/B",
        "flops / (64 * (tcc_reads + tcc_writes + tcc_atomics))",
        "floating point lane operations per byte that crosses between TCPs and TCC",
        "wavefront.cc, GPU_VIPER-TCC.sm",
    ),
    # balance
    Metric(
        "workgroup_imbalance",
        "1",
        "workgroups_max * num_compute_units / workgroups",
        1,
        "num_compute_units",
        "workgroups of the busiest compute unit over the mean",
        source="compute_unit.cc",
    ),
    Metric(
        "cycle_imbalance",
        "1",
        "cu_cycles_max * num_compute_units / cu_cycles",
        1,
        "num_compute_units",
        "awake cycles of the longest awake compute unit over the mean",
        source="compute_unit.cc:751",
    ),
    # host
    rate(
        "host_tick_rate", "tick/s", "sim_ticks / host_seconds", "simulated ticks per host second", "root.cc"
    ),
    rate(
        "host_cycle_rate",
        "cycle/s",
        "gpu_cycles / host_seconds",
        "simulated GPU cycles per host second",
        "root.cc",
    ),
    rate(
        "host_inst_rate",
        "1/s",
        "instructions / host_seconds",
        "wavefront instructions per host second",
        "root.cc",
    ),
)
