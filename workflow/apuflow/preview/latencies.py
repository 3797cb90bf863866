"""Unloaded latencies of a machine.

They are sums of configured latencies (GPU cycles, ruby cycles, DRAM ns) and of pipeline steps that no option
sets. The steps are those of gem5 v23.0.1.0; 30 runs each of v24.0.0.1 and develop c91af552 gave no others.
Source: the shortest accesses at the default options (1 GHz GPU, 2 GHz ruby): TCP hit 105 cycles, store
acknowledged 250, load from memory 359, first instruction fetch 1301.
"""

from __future__ import annotations

from typing import NamedTuple

from apuflow.preview.tables import Array, Gpus

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
FETCH_STEPS = 30.0
"""GPU cycles between a wavefront's last buffered instruction and the next, beyond the way to memory and back:
its two buffered lines (``FetchUnit::FetchBufDesc``) are released one at a time, and none is fetched while a
branch waits in the buffer (``Wavefront::stopFetch``)."""
DRAM_STEPS = 20.0
"""ns: static front-end and back-end latency of the memory controller (10 each)."""
ARGUMENTS = 485.0
"""ns that a load of kernel arguments takes beyond one from memory: the CPU has just written them, and its
caches have them (835 to 850 in runs). What a kernel that is new to the process needs to start was fitted as a
whole."""
REFETCHED = 0.67
"""Of a fetch of code from the TCC, what a wavefront waits for while it executes the line before."""
STEP = 0.28
"""GPU cycles beyond the issue period between two instructions of one wavefront."""


class Latencies(NamedTuple):
    """All in ns.

    Attributes:
        token: of a coalescer token per instruction whose page is in the L1 TLB.
        l2_tlb: of a lookup that the L1 TLB misses and the L2 TLB has.
        fetch, refetch: of a line of code from memory, and from the TCC.
        arguments: of a scalar load of kernel arguments whose page a TLB has.
    """

    tcp: Array
    tcc: Array
    memory: Array
    store: Array
    token: Array
    walk: Array
    l2_tlb: Array
    step: Array
    fetch: Array
    refetch: Array
    first_fetch: Array
    first_scalar: Array
    scalar: Array
    arguments: Array


def latencies(machine: Gpus) -> Latencies:
    """Latencies of each machine."""
    g, r = machine.gpu_ns, machine.ruby_ns
    beyond = (TCC_STEPS + machine.tcc_latency) * g
    directory = machine.to_directory * g + DIRECTORY_RUBY * r
    dram = machine.dram.closed_access_ns + DRAM_STEPS
    tcp = (machine.request_cycles + machine.response_cycles + TCP_STEPS) * g
    walk = machine.page_walk_cycles * g
    fetch = beyond + directory + dram
    scalar = (machine.scalar_request_cycles + machine.scalar_response_cycles) * g + fetch
    return Latencies(
        tcp=tcp,
        tcc=tcp + beyond,
        memory=tcp + fetch,
        store=tcp + machine.to_directory * g + ACKNOWLEDGE_RUBY * r,
        token=(machine.request_cycles + TCP_STEPS) * g,
        walk=walk,
        l2_tlb=(machine.l1_tlb_cycles + machine.l2_tlb_cycles) * g,
        step=STEP * g,
        fetch=fetch + FETCH_STEPS * g,
        refetch=REFETCHED * (beyond + FETCH_STEPS * g),
        first_fetch=walk + fetch + DISPATCH * g,
        first_scalar=walk + scalar,
        scalar=scalar,
        arguments=scalar + ARGUMENTS,
    )
