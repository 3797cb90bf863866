"""The metrics of the DNNMark paper, on this GPU model.

Source of the metrics: Dong and Kaeli, "DNNMark: A Deep Neural Network Benchmark Suite for GPUs" (GPGPU-10,
2017), measured there by nvprof. The formulas follow the increments in gem5 v23.0.1.0: src/gpu-compute
(scoreboard_check_stage.cc, exec_stage.cc, compute_unit.cc, shader.cc, lds_state.cc), src/mem/ruby,
src/mem/dram_interface.cc.
"""

from __future__ import annotations

from apuflow_analysis.metrics.metric import CPU_PART, INF, Metric, share

_STALL_CAVEAT = "the six shares add up to 1"
_SCOREBOARD = "scoreboard_check_stage.cc: each slot adds one count per cycle"

PAPER: tuple[Metric, ...] = (
    # paper: IPC, occupancy, eligible wavefronts
    Metric(
        "ipc",
        "1/cycle",
        "instructions / cu_cycles",
        0,
        "simds_per_cu + 4",
        "wavefront instructions per awake cycle of a compute unit (paper: ipc)",
        "s_waitcnt and branches included: not comparable with nvprof",
    ),
    Metric(
        "ipc_gpu",
        "1/cycle",
        "instructions / gpu_cycles",
        0,
        "num_compute_units * (simds_per_cu + 4)",
        "wavefront instructions per GPU cycle, all compute units together",
    ),
    Metric(
        "ipc_kernel",
        "1/cycle",
        "instructions / (gpu_cycles * num_compute_units)",
        0,
        "simds_per_cu + 4",
        "the same with sleeping compute units",
    ),
    Metric(
        "valu_ipc",
        "1/cycle",
        "valu_insts / cu_cycles",
        0,
        "simds_per_cu",
        "vector ALU instructions per awake cycle of a compute unit",
    ),
    share(
        "occupancy",
        "1 - stall_wfstop / slot_cycles",
        "wavefront slots that hold a wavefront, over awake cycles (paper: achieved_occupancy)",
        _SCOREBOARD,
    ),
    share(
        "occupancy_kernel",
        "(slot_cycles - stall_wfstop) / (slots * num_compute_units * gpu_cycles)",
        "the same with sleeping compute units",
        _SCOREBOARD,
    ),
    Metric(
        "eligible_wavefronts",
        "1/cycle",
        "stall_ready / cu_cycles",
        0,
        "slots",
        "wavefronts with an instruction ready, per cycle and compute unit (paper: eligible_warps_per_cycle)",
        "an upper bound",
        _SCOREBOARD,
    ),
    Metric(
        "eligible_units",
        "1/cycle",
        "ready_unit_cycles / cu_cycles",
        0,
        "simds_per_cu + 4",
        "execution units with at least one candidate wavefront, per cycle and compute unit",
        source="schedule_stage.cc",
    ),
    # paper: utilisation of the units
    share(
        "valu_utilization",
        "issue_period * valu_issue_cycles / (simds_per_cu * cu_cycles)",
        "SIMD cycles that a vector instruction holds (paper: alu_fu_utilization)",
        "wavefront.cc:1105: the unit is held for the issue period",
        "vector nop and branch included",
    ),
    share(
        "valu_lane_utilization",
        "issue_period * valu_issue_cycles / (simds_per_cu * cu_cycles)"
        " * valu_thread_cycles / (wf_size * valu_insts)",
        "valu_utilization weighted with the lanes that were active",
        "wavefront.cc:1105, compute_unit.cc:1882",
    ),
    share(
        "salu_utilization",
        "issue_period * salu_issue_cycles / cu_cycles",
        "cycles that the scalar ALU is held",
        "exec_stage.cc",
    ),
    share(
        "vmem_utilization",
        "issue_period * vmem_issue_cycles / cu_cycles",
        "cycles that the global memory pipe is held by issue",
        "exec_stage.cc:150",
        "issue side only",
    ),
    share(
        "lds_issue_utilization",
        "issue_period * lds_insts / cu_cycles",
        "cycles that the LDS pipe is held by issue",
        "compute_unit.cc:1882",
        "issue side only",
    ),
    share(
        "smem_utilization",
        "issue_period * smem_insts / cu_cycles",
        "cycles that the scalar memory pipe is held by issue",
        "compute_unit.cc:1882",
        "issue side only",
    ),
    share(
        "ldst_utilization",
        "maximum(issue_period * vmem_issue_cycles, issue_period * lds_insts) / cu_cycles",
        "the busier of the global memory and the LDS pipe (paper: ldst_fu_utilization)",
        "exec_stage.cc:150",
        "issue side only",
    ),
    share(
        "l1_utilization",
        "tcp_requests / (num_compute_units * gpu_cycles)",
        "cache lines requested from the TCPs, relative to one line per cycle and compute unit",
        "GPU_VIPER-TCP.sm",
        "the peak of one line per cycle is a choice",
    ),
    share(
        "l1_array_utilization",
        "TCP_latency * tcp_array_accesses / (16 * num_compute_units * gpu_cycles)",
        "share of the cycles that a TCP data bank is busy (16 banks)",
        "GPU_VIPER.py TCPCache, BankedArray.cc",
        "up to v23.0; later releases have --tcp-num-banks",
    ),
    share(
        "lds_utilization",
        "lds_busy_cycles / cu_cycles",
        "cycles that the LDS serves accesses and moves their data",
        "lds_state.cc:106-208, compute_unit.cc:141",
        "gem5 counts a unit stride as a conflict",
    ),
    share(
        "l1_shared_utilization",
        "maximum(tcp_requests / (num_compute_units * gpu_cycles), lds_busy_cycles / cu_cycles)",
        "the larger of l1_utilization and lds_utilization (paper: l1_shared_utilization)",
        "as those two",
    ),
    share(
        "l2_array_utilization",
        "8 * tcc_array_accesses / (256 * gpu_cycles)",
        "share of the cycles that a TCC data bank is busy (256 banks in all, 8 cycles an access)",
        "GPU_VIPER.py TCC, BankedArray.cc",
        "v22.1 to v23.0, where the TCC runs at the GPU clock",
    ),
    share(
        "l2_link_utilization",
        "(72 * (tcc_writes + tcc_atomics) + 8 * tcc_reads) / (link_bytes * num_tccs * ruby_cycles)",
        "share of the request links into the TCC banks that is used",
        "SimpleNetwork.cc, Throttle.cc:61-144, Network.cc:62: 72 B data, 8 B control messages",
    ),
    share(
        "l2_utilization",
        "maximum((72 * (tcc_writes + tcc_atomics) + 8 * tcc_reads) / (link_bytes * num_tccs * ruby_cycles),"
        " 8 * tcc_array_accesses / (256 * gpu_cycles))",
        "the larger of the two (paper: l2_utilization)",
        "as those two",
    ),
    share(
        "l2_return_utilization",
        "72 * tcc_reads / (link_bytes * num_compute_units * ruby_cycles)",
        "share of the links that carry lines back to the TCPs",
        "SimpleNetwork.cc, Throttle.cc",
        "lines for the instruction and scalar caches are counted as if they went to a TCP",
    ),
    Metric(
        "l2_accesses_per_cycle",
        "1/cycle",
        "(tcc_demand_hits + tcc_demand_misses) / (num_tccs * gpu_cycles)",
        0,
        INF,
        "TCC accesses per bank and cycle",
        "atomics count again on every retry",
        "GPU_VIPER-TCC.sm",
    ),
    share(
        "dram_utilization",
        "(dram_bus_bytes_read + dram_bus_bytes_written)"
        " / (dram_peak_bandwidth * gpu_active_ticks / sim_freq)",
        "DRAM traffic relative to the peak over the GPU's active time (paper: dram_utilization)",
        "dram_interface.cc:582",
        "CPU traffic is in the numerator, so a short kernel after much set-up exceeds 1; " + CPU_PART,
    ),
    share(
        "gpu_dram_utilization",
        "64 * gpu_memory_lines * sim_freq / (dram_peak_bandwidth * gpu_active_ticks)",
        "lines that the GPU moved beyond its TCC, relative to the DRAM's peak over the GPU's active time",
        "GPU_VIPER-TCC.sm",
        "an upper bound of the GPU's DRAM traffic: the L3 is in between",
    ),
    share(
        "memory_link_utilization",
        "maximum(72 * (tcc_read_misses + tcc_reads_in_flight),"
        " 72 * (tcc_writes + tcc_atomics) + 8 * (tcc_read_misses + tcc_reads_in_flight))"
        " / (link_bytes * ruby_cycles)",
        "share of the link between the GPU's cluster and the directory that is used, in its busier direction",
        "SimpleNetwork.cc, Throttle.cc:61-144, GPU_VIPER.py:930-941",
        "lines only; probes and acknowledgements are left out",
    ),
    # paper: stall reasons
    share(
        "stall_share_memory",
        "stall_waitcnt / stalled_cycles",
        "stalled in s_waitcnt: vector, scalar or LDS memory (paper: stall_memory_dependency)",
        _SCOREBOARD,
        _STALL_CAVEAT,
    ),
    share(
        "stall_share_execution",
        "(stall_vgpr + stall_sgpr) / stalled_cycles",
        "stalled on a register of an earlier instruction (paper: stall_exec_dependency)",
        _SCOREBOARD,
        _STALL_CAVEAT,
    ),
    share(
        "stall_share_fetch",
        "stall_ibempty / stalled_cycles",
        "stalled on instruction fetch (paper: stall_inst_fetch)",
        _SCOREBOARD,
        _STALL_CAVEAT,
    ),
    share(
        "stall_share_sync",
        "stall_barrier / stalled_cycles",
        "stalled at a barrier (paper: stall_sync)",
        _SCOREBOARD,
        _STALL_CAVEAT,
    ),
    share(
        "stall_share_not_selected",
        "(stall_ready - instructions) / stalled_cycles",
        "ready but not issued: not selected or pipe busy (paper: stall_not_selected, stall_pipe_busy)",
        _SCOREBOARD,
        _STALL_CAVEAT,
    ),
    share(
        "stall_share_sleep",
        "(slot_cycles - stall_wfstop - stall_ibempty - stall_waitcnt - stall_barrier"
        " - stall_vgpr - stall_sgpr - stall_ready) / stalled_cycles",
        "in s_sleep, which gem5 does not print: the rest",
        _SCOREBOARD,
        _STALL_CAVEAT,
    ),
)
