"""Unloaded latencies of a machine.

They are sums of configured latencies (GPU cycles, ruby cycles, DRAM ns) and of pipeline steps that no option
sets (``core.preview_constants``).
"""

from __future__ import annotations

from typing import NamedTuple

from apuflow.preview.tables import Array, Gpus

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
        fetch, refetch: of a line of code from memory, and from the TCC.
        arguments: of a scalar load of kernel arguments whose page a TLB has.
    """

    tcp: Array
    tcc: Array
    memory: Array
    store: Array
    token: Array
    walk: Array
    second_tlb: Array
    step: Array
    fetch: Array
    refetch: Array
    first_fetch: Array
    first_scalar: Array
    scalar: Array
    arguments: Array


def latencies(machine: Gpus) -> Latencies:
    """Latencies of each machine."""
    g, r, steps = machine.gpu_ns, machine.ruby_ns, machine.calibration.inner("constants")
    beyond = (steps.tcc_steps + machine.tcc_latency) * g
    directory = machine.to_directory * g + steps.directory_ruby * r
    dram = machine.dram.closed_access_ns + DRAM_STEPS
    tcp = (machine.request_cycles + machine.response_cycles + steps.tcp_steps) * g
    walk = machine.page_walk_cycles * g
    fetch = beyond + directory + dram
    scalar = (machine.scalar_request_cycles + machine.scalar_response_cycles) * g + fetch
    return Latencies(
        tcp=tcp,
        tcc=tcp + beyond,
        memory=tcp + fetch,
        store=tcp + machine.to_directory * g + steps.acknowledge_ruby * r,
        token=(machine.request_cycles + steps.tcp_steps) * g,
        walk=walk,
        second_tlb=(machine.l1_tlb_cycles + machine.l2_tlb_cycles + 2) * g,
        step=STEP * g,
        fetch=fetch + steps.fetch_steps * g,
        refetch=REFETCHED * (beyond + steps.fetch_steps * g),
        first_fetch=walk + fetch + steps.dispatch * g,
        first_scalar=walk + scalar,
        scalar=scalar,
        arguments=scalar + ARGUMENTS,
    )
