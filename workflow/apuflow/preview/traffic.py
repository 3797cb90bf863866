"""Memory traffic of a launch on a machine: what the TCP, the TCC, the directory and the DRAM see.

Source: gem5 v23.0.1.0 ``GPU_VIPER-TCP.sm`` (write-through, no allocation on stores), ``GPU_VIPER-TCC.sm``,
``MOESI_AMD_Base-dir.sm``: every GPU request probes the CPU; a load whose data comes clean (memory or L3)
is written
back to memory (``wd_writeBackData``), a store reads and writes memory, an L3 hit frees the L3 line.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from apuflow.preview.machine import Machine
from apuflow.preview.profile import LINE, Profile


@dataclass(frozen=True, slots=True)
class Traffic:
    """Totals over a launch, in lines (64 bytes), wavefront instructions and pages."""

    tcp_loads: float
    tcp_hits: float
    tcp_stores: float
    tcc_reads: float
    tcc_hits: float
    tcc_writes: float
    l3_hits: float
    dram_reads: float
    dram_writes: float
    cold_pages: float
    walk_tokens: float
    l1_tlb_misses: float
    shared_pages: float


def resident_groups(profile: Profile, machine: Machine) -> int:
    """Workgroups that a compute unit holds at once.

    Limits: wavefront slots per SIMD, barrier slots (workgroups of several wavefronts), LDS, vector registers.
    Source: ``ComputeUnit::hasDispResources``.
    """
    waves = profile.waves_per_group
    limit = machine.slots // waves
    if waves > 1:
        limit = min(limit, machine.barrier_slots)
    if profile.lds_bytes:
        limit = min(limit, machine.lds_bytes // profile.lds_bytes)
    block = machine.register_block
    registers = -(-profile.vgprs // block) * block
    per_simd = machine.vgprs // registers if registers else machine.slots_per_simd
    limit = min(limit, per_simd * machine.simds // waves)
    return max(1, limit)


@lru_cache(maxsize=262144)
def traffic(profile: Profile, machine: Machine) -> Traffic:
    """Closed-form reuse: a line is found again when what the workgroups touch in between fits the cache."""
    used = min(machine.compute_units, profile.workgroups)
    groups_per_cu = -(-profile.workgroups // used)
    resident = min(resident_groups(profile, machine), groups_per_cu)
    tcp_loads = tcp_hits = tcp_stores = reads = hits = writes = misses = 0.0
    pages = walk_tokens = l1_misses = shared = 0.0
    fresh = 0.0
    input_lines = sum(s.lines for s in profile.streams if s.kind == "load" and s.resident)
    for stream in profile.streams:
        pages += stream.pages
        walk_tokens += stream.pages * min(stream.page_group, machine.tokens)
        visits = stream.pages
        if stream.reuse == "device" or stream.page_group < 2:
            visits = max(stream.pages, stream.instructions / max(1.0, stream.page_group * 8))
        l1_misses += max(stream.pages, min(stream.instructions, visits, stream.pages * used))
        if stream.kind == "store":
            tcp_stores += stream.accesses
            writes += stream.accesses
            continue
        repeats = max(0.0, stream.accesses - stream.lines)
        found = 0.0
        if stream.reuse == "group":
            need = resident * stream.window_bytes
            found = repeats * _share(machine.tcp_bytes, need)
        elif stream.reuse == "device":
            found = repeats * _share(machine.tcp_bytes, resident * stream.window_bytes) * 0.5
        reach = stream.accesses - found
        tcp_loads += stream.accesses
        tcp_hits += found
        reads += reach
        left = max(0.0, reach - stream.lines)
        again = left * _share(machine.tcc_bytes, used * resident * max(stream.window_bytes, 64.0) * 2)
        hits += again
        misses += reach - again
        fresh += min(stream.lines, reach - again) if stream.resident else 0.0
    cpu_l2 = machine.cpu_l2_bytes / LINE
    l3 = machine.l3_bytes / LINE
    in_l2 = min(1.0, cpu_l2 / input_lines) if input_lines else 0.0
    in_l3 = min(1.0 - in_l2, l3 / input_lines) if input_lines else 0.0
    dirty = fresh * in_l2
    l3_hits = fresh * in_l3
    clean = misses - dirty - l3_hits
    dram_reads = dirty + clean + writes
    dram_writes = l3_hits + clean + writes
    return Traffic(
        tcp_loads=tcp_loads,
        tcp_hits=tcp_hits,
        tcp_stores=tcp_stores,
        tcc_reads=reads,
        tcc_hits=hits,
        tcc_writes=writes,
        l3_hits=l3_hits,
        dram_reads=dram_reads,
        dram_writes=dram_writes,
        cold_pages=pages,
        walk_tokens=walk_tokens,
        l1_tlb_misses=l1_misses,
        shared_pages=shared,
    )


def _share(capacity: float, need: float) -> float:
    """Part of the reuse that survives in a cache: all while it fits, none from twice the capacity on."""
    if need <= capacity:
        return 1.0
    return max(0.0, 2.0 - need / capacity)
