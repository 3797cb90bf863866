"""Time of a launch: a closed queueing network of what gem5's GPU shares, solved by mean value analysis.

A wavefront visits, in proportion to its instructions: the scalar ALU of its compute unit (one issue per
issue period
for SALU, branch, s_waitcnt, s_barrier alike), the vector ALU of its SIMD, the LDS, the vector memory unit,
the coalescer tokens (``--max-cu-tokens`` instructions between issue and coalescing, address translation
included), the
links (8 bytes a ruby cycle and router output), the DRAM; and it waits for fixed latencies. With few
wavefronts the latencies dominate, with many the busiest station: its demand is the bound that held.

Solution: Schweitzer's approximation of mean value analysis; a station with several servers is a fast queue
and a delay (Seidmann). Everything is vectorised over launches.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

STATIONS = ("salu", "valu", "lds", "vmem", "tokens", "tcp_link", "tcc_link", "directory_link", "dram", "tlb")
"""Order of the columns of ``demands``; the first six exist once per compute unit, the rest once."""
LOCAL = 6
ITERATIONS = 60


def solve(demands: Array, delay: Array, customers: Array, copies: Array) -> tuple[Array, Array, Array]:
    """Throughput of the network.

    Args:
        demands: (launches, stations) ns of service per wavefront, of one server.
        delay: ns of pure latency per wavefront.
        customers: wavefronts resident in one compute unit.
        copies: compute units at work.

    Returns:
        wavefronts per ns over all compute units; utilisation per station; ns a wavefront spends at each.
    """
    stations = demands.shape[1]
    local = np.arange(stations) < LOCAL
    population = np.where(local[None, :], customers[:, None], (customers * copies)[:, None])
    population = np.maximum(population, 1.0)
    scale = (population - 1.0) / population
    queue = population / (stations + 1.0)
    total = customers * copies
    rate, time = np.zeros_like(delay), demands
    for _ in range(ITERATIONS):
        time = demands * (1.0 + scale * queue)
        cycle = delay + time.sum(axis=1)
        rate = total / np.maximum(cycle, 1e-9)
        seen = np.where(local[None, :], (rate / copies)[:, None], rate[:, None])
        queue = 0.5 * queue + 0.5 * seen * time
    seen = np.where(local[None, :], (rate / copies)[:, None], rate[:, None])
    utilisation = seen * demands
    # Schweitzer may overshoot a saturated station: no station is more than busy all the time.
    excess = np.maximum(utilisation.max(axis=1), 1.0)
    return rate / excess, utilisation / excess[:, None], time
