"""Time of a launch: a closed queueing network of what gem5's GPU shares, solved by mean value analysis.

A wavefront visits, in proportion to its instructions: the scalar ALU of its compute unit (one issue per
issue period for SALU, branch, s_waitcnt, s_barrier alike), the vector ALU of its SIMD, the LDS; and it
waits for fixed latencies. What it leaves behind without waiting (the vector memory unit, the coalescer
tokens, the links, the DRAM, the page walks) delays it only by the queue of others before it. With few
wavefronts the latencies dominate, with many the busiest station: its demand is the bound that held.

Solution: Schweitzer's approximation of mean value analysis. Everything is vectorised over launches.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

STATIONS = ("salu", "valu", "lds", "vmem", "tokens", "tcp_link", "tcc_link", "directory_link", "dram", "tlb")
"""Order of the columns of ``demands``."""
LOCAL = np.array([True] * 6 + [False] * 4)
"""Stations that exist once per compute unit."""
SYNCHRONOUS = np.array([True] * 3 + [False] * 7)
"""Stations at which the wavefront itself stays while it is served."""
ITERATIONS = 60


def solve(
    demands: Array, own: Array, delay: Array, local: Array, overall: Array, waits: Array
) -> tuple[Array, Array, Array]:
    """Residence time of a wavefront in the network.

    Args:
        demands: (launches, stations) ns of service per customer, of one server.
        own: (launches, stations) ns of it that the customer itself is held up, without others.
        delay: ns of pure latency per wavefront.
        local: wavefronts resident in the busiest compute unit.
        overall: wavefronts resident in all of them.
        waits: (launches, stations) of the wait behind others, the part that is left.

    Returns:
        ns from a wavefront's start to its end; utilisation per station; ns it spends at each.
    """
    if not len(demands):
        return delay, demands, demands
    population = np.maximum(np.where(LOCAL, local[:, None], overall[:, None]), 1.0)
    scale = (population - 1.0) / population
    queue = population / (demands.shape[1] + 1.0)
    residence, spent = np.ones_like(delay), demands
    for _ in range(ITERATIONS):
        waiting = demands * scale * queue * waits
        spent = waiting + own
        residence = np.maximum(delay + spent.sum(axis=1), 1e-9)
        queue = 0.5 * queue + 0.5 * (waiting + demands) * population / residence[:, None]
        queue = np.minimum(queue, population)
    # No station is busy for more than all of the time.
    residence = np.maximum(residence, (demands * population).max(axis=1, initial=0.0))
    return residence, demands * population / residence[:, None], spent
