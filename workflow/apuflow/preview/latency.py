"""Unloaded latencies of the machine, in ns.

Each is a sum of configured latencies (GPU cycles, ruby cycles, DRAM ns) and of pipeline steps that no option
sets; the steps come from the shortest accesses in real runs at the default options (1 GHz GPU, 2 GHz ruby):
TCP hit 105 cycles, store acknowledged 250, load from memory 359, first instruction fetch 1301.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from apuflow.preview.machine import Machine

TCP_STEPS = 5.0
"""GPU cycles: TLB coalescer, L1 TLB, coalescer, mandatory queue, return bus."""
TCC_STEPS = 26.0
"""GPU cycles beyond ``--TCC_latency`` from the TCP to the TCC and back."""
DIRECTORY_RUBY = 80.0
"""Ruby cycles in and around the directory: probe and response latency of 30 each, links, routers."""
ACKNOWLEDGE_RUBY = 50.0
"""Ruby cycles of a write-through's acknowledgement, which the directory sends on arrival."""
DISPATCH = 75.0
"""GPU cycles from the first awake compute unit to its first instruction fetch."""
DRAM_STEPS = 20.0
"""ns: static front-end and back-end latency of the memory controller (10 each)."""
STEP = 0.4
"""GPU cycles beyond the issue period between two instructions of one wavefront."""
FETCH_STEPS = 30.0
"""GPU cycles between a wavefront's last buffered instruction and the next, beyond the way to memory and back:
its two buffered lines (``FetchUnit::FetchBufDesc``) are released one at a time, and no line is asked for
while a branch waits in the buffer (``Wavefront::stopFetch``)."""


@dataclass(frozen=True, slots=True)
class Latencies:
    """ns. ``token``: of a coalescer token per instruction whose page is in the L1 TLB."""

    tcp: float
    tcc: float
    memory: float
    store: float
    token: float
    walk: float
    second_tlb: float
    step: float
    fetch: float
    first_fetch: float
    first_scalar: float
    scalar: float


@lru_cache(maxsize=65536)
def latencies(machine: Machine) -> Latencies:
    """Latencies of a machine."""
    g, r = machine.gpu_ns, machine.ruby_ns
    beyond = (TCC_STEPS + machine.tcc_latency) * g
    directory = machine.to_directory * g + DIRECTORY_RUBY * r
    dram = machine.dram.closed_access_ns + DRAM_STEPS
    tcp = (machine.request_cycles + machine.response_cycles + TCP_STEPS) * g
    walk = (
        machine.l1_tlb_cycles + machine.l2_tlb_cycles + machine.l3_tlb_cycles + machine.walk_cycles + 3
    ) * g
    fetch = beyond + directory + dram
    scalar = (machine.scalar_request_cycles + machine.scalar_response_cycles) * g + fetch
    return Latencies(
        tcp=tcp,
        tcc=tcp + beyond,
        memory=tcp + fetch,
        store=tcp + machine.to_directory * g + ACKNOWLEDGE_RUBY * r,
        token=(machine.request_cycles + TCP_STEPS) * g,
        walk=walk,
        second_tlb=(machine.l1_tlb_cycles + machine.l2_tlb_cycles + 2) * g,
        step=STEP * g,
        fetch=fetch + FETCH_STEPS * g,
        first_fetch=walk + fetch + DISPATCH * g,
        first_scalar=walk + scalar,
        scalar=scalar,
    )
