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
"""Order of the columns of ``solve``'s ``demands``."""
LOCAL = np.array([True] * 6 + [False] * 4)
"""Stations that exist once per compute unit."""
SYNCHRONOUS = np.array([True] * 3 + [False] * 7)
"""Stations at which the wavefront itself stays while it is served."""
ITERATIONS = 60


def solve(demands: Array, own: Array, delay: Array, local: Array, overall: Array) -> tuple[Array, Array]:
    """Residence time of a wavefront in the network.

    Args:
        demands: (launches, stations) ns of service per customer, of one server.
        own: (launches, stations) ns of it that the customer itself is held up, without others.
        delay: ns of pure latency per wavefront.
        local: wavefronts resident in the busiest compute unit.
        overall: wavefronts resident in all of them.

    Returns:
        ns from a wavefront's start to its end; ns it spends at each station.
    """
    if not len(demands):
        return delay, demands
    population = np.maximum(np.where(LOCAL, local[:, None], overall[:, None]), 1.0)
    # A row per station: NumPy adds up rows several times as fast as columns.
    behind = np.ascontiguousarray((demands * (population - 1.0) / population).T)
    served = np.ascontiguousarray((demands * population).T)
    most, alone = np.ascontiguousarray(population.T), np.ascontiguousarray(own.T)
    joined = 0.5 * behind * most
    queue = most / (len(most) + 1.0)
    for _ in range(ITERATIONS):
        by_station = behind * queue
        by_station += alone
        residence = np.maximum(delay + by_station.sum(axis=0), 1e-9)
        rate = 1.0 / residence
        queue *= 0.5 + joined * rate
        queue += (0.5 * rate) * served
        np.minimum(queue, most, out=queue)
    # No station is busy for more than all of the time.
    return np.maximum(residence, served.max(axis=0, initial=0.0)), by_station.T
