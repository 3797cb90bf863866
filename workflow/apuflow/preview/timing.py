"""From profiles and machines to the demands of the queueing network and the time of each launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from apuflow.preview.machine import Machine
from apuflow.preview.model import STATIONS, solve
from apuflow.preview.profile import Profile
from apuflow.preview.traffic import Traffic, resident_groups, traffic

Array = NDArray[np.float64]

FETCH_CYCLES = 330.0
"""A cold instruction line: SQC miss to memory and back (idle gaps of 1301 cycles in runs = 330 + a page
walk)."""
STEP_CYCLES = 0.4
"""Cycles beyond the issue period between two instructions of one wavefront (scoreboard, schedule,
execute)."""
TCP_HIT_CYCLES = 5.0
"""Translation and TCP beyond the request and response latencies: 105-cycle shortest loads in runs."""
TCC_CYCLES = 70.0
MEMORY_CYCLES = 134.0
"""TCC miss beyond ``--gpu-to-dir-latency``: 359-cycle shortest loads from memory in runs."""
STORE_CYCLES = 150.0
"""Write-through acknowledgement: 250-cycle shortest stores in runs."""
BURST_FACTOR = 1.25
"""DRAM time per burst over the pure transfer: turnarounds, row misses, refresh."""


HEAD = 7
"""Columns of a row before the stations' demands."""


@dataclass(frozen=True)
class Times:
    """Results per launch, arrays of equal length."""

    ns: Array
    start_ns: Array
    fetch_ns: Array
    residence_ns: Array
    ready_share: Array
    utilisation: Array
    bound: list[str]
    traffic: list[Traffic]
    resident: Array
    used: Array


def _row(profile: Profile, machine: Machine, flow: Traffic) -> list[float]:
    waves = float(profile.wavefronts)
    counts = profile.counts
    used = float(min(machine.compute_units, profile.workgroups))
    groups = float(-(-profile.workgroups // int(used)))
    resident = min(float(resident_groups(profile, machine)), groups)
    g, r = machine.gpu_ns, machine.ruby_ns
    period = machine.issue_period * g
    walk = (
        machine.l1_tlb_cycles + machine.l2_tlb_cycles + machine.l3_tlb_cycles + machine.walk_cycles + 3
    ) * g
    second = (machine.l1_tlb_cycles + machine.l2_tlb_cycles + 2) * g
    hold = (machine.request_cycles + TCP_HIT_CYCLES) * g
    memory_instructions = max(counts.vector_memory, 1e-9)
    warm = max(0.0, flow.l1_tlb_misses - flow.cold_pages)
    token_time = counts.vector_memory * hold + flow.walk_tokens * walk + warm * second
    translation = (flow.walk_tokens * walk + warm * second) / memory_instructions
    bytes_per_ns = machine.link_bytes / r
    misses = flow.tcc_reads - flow.tcc_hits
    line = 72.0 / bytes_per_ns
    control = 8.0 / bytes_per_ns
    dram = (flow.dram_reads + flow.dram_writes) * machine.dram.burst_ns * BURST_FACTOR / machine.directories
    load_share = (flow.tcc_reads / flow.tcp_loads) if flow.tcp_loads else 0.0
    miss_share = (misses / flow.tcp_loads) if flow.tcp_loads else 0.0
    load_ns = (
        (machine.request_cycles + machine.response_cycles + TCP_HIT_CYCLES) * g
        + load_share * TCC_CYCLES * g
        + miss_share * (machine.to_directory * g + (MEMORY_CYCLES - TCC_CYCLES) * g)
    )
    store_ns = (machine.request_cycles + machine.response_cycles + STORE_CYCLES) * g
    delay = (
        profile.rounds * (load_ns + translation * 0.25)
        + counts.instructions / waves * STEP_CYCLES * g
        + (store_ns if counts.stores else 0.0)
        + counts.barriers / waves * 10 * g
    )
    lines = profile.code_bytes / 64.0
    fetch = FETCH_CYCLES * g
    scalar = (machine.scalar_request_cycles + machine.scalar_response_cycles + 280.0) * g
    start = walk + fetch * max(1.0, lines - 2.0) + profile.scalar_rounds * (walk + scalar)
    valu = counts.valu / waves * period
    token = token_time / waves
    return [
        waves,
        used,
        resident * profile.waves_per_group,
        groups * profile.waves_per_group,
        start,
        delay + valu * (1 - 1 / machine.simds) + token * (1 - 1 / machine.tokens),
        walk + fetch * max(1.0, lines - 2.0),
        counts.scalar_issues / waves * period,
        valu / machine.simds,
        counts.lds / waves * (4.0 + profile.lds_conflicts * machine.lds_penalty) * g,
        counts.vector_memory / waves * period,
        token / machine.tokens,
        flow.tcc_reads / waves * line + flow.tcp_stores / waves * control,
        (flow.tcc_writes * line + flow.tcc_reads * control) / waves / machine.tccs,
        max(misses * line + flow.tcc_writes * control, flow.tcc_writes * line + misses * control) / waves,
        dram / waves,
        flow.cold_pages * walk * 0.1 / waves,
    ]


def times(profiles: Sequence[Profile], machines: Sequence[Machine]) -> Times:
    """Time of each launch on its machine."""
    flows = [traffic(p, m) for p, m in zip(profiles, machines, strict=True)]
    table = np.array(
        [_row(p, m, f) for p, m, f in zip(profiles, machines, flows, strict=True)], dtype=np.float64
    ).reshape(len(profiles), HEAD + len(STATIONS))
    _, used, resident, per_cu, start, delay = (table[:, k] for k in range(6))
    demands, fetch = table[:, HEAD:], table[:, 6]
    customers = np.minimum(resident, per_cu)
    rate, utilisation, spent = solve(demands, delay, customers, used)
    # The busiest compute unit holds the last workgroup: it has per_cu wavefronts, the mean has waves / used.
    ns = start + per_cu * used / np.maximum(rate, 1e-12)
    names = np.array(STATIONS)
    top = utilisation.max(axis=1)
    bound = [
        str(name) if best > 0.6 else "latency"
        for name, best in zip(names[utilisation.argmax(axis=1)], top, strict=True)
    ]
    residence = customers * used / np.maximum(rate, 1e-12)
    ready = np.minimum(spent[:, :5].sum(axis=1) / np.maximum(residence, 1e-12), 1.0)
    return Times(ns, start, fetch, residence, ready, utilisation, bound, flows, resident, used)
