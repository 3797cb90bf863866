"""Page walks of compute units that hold each other back in the coalescers of the TLBs.

Source: gem5 v23.0.1.0 ``TLBCoalescer::processProbeTLBEvent``.
"""

from __future__ import annotations

from math import log2

from apuflow.preview.machine import GpuModel
from apuflow.preview.profile import Profile, Stream

PROBES = 2
"""``--L2ProbesPerCycle``: requests that the coalescer of the L2 TLB sends at a time."""
FEW_SHARERS = 8.0
"""Compute units up to which those that share a page wait for its walk together."""
TURN = 9.0
"""GPU cycles by which each unit of a convoy, but for the first few, delays the next walk."""
CONVOY, FOUR = 0.195, 4.0
"""Walks in flight beyond the first, for each doubling of the pages wanted, where four compute units or fewer
share each of them."""
DECODED = 13
"""Instructions that a wavefront decodes ahead (``max_ib_size`` in ``GPU.py``)."""
MIXED_BATCHES = 3.0
"""Batches of workgroups after which loads and stores of half of them no longer mix."""
LATER = 0.75
"""Of the walks of workgroups that were not dispatched first, those that others wait for."""
IN_FLIGHT = 0.55
"""Page walks in flight over the root of the pages that a step of a workgroup needs: 1.0 for up to three (11 x
185 x 833, 57 x 7 x 1265), 2.2 for fourteen (446 x 1 x 1870), gem5."""


def in_step(stream: Stream, profile: Profile, machine: GpuModel, resident: int) -> bool:
    """Whether the compute units that share a page ask for it in one cycle.

    So do units with one wavefront each that share an instruction cache, and pairs of units whose workgroups
    load no more than once: the coalescer of the L2 TLB makes one request of theirs, none is blocked, and all
    pages that are wanted are walked at once. Four units ask as two pairs, of which the second is blocked.
    """
    if profile.waves_per_group > 1 and profile.rounds <= 1.0 and stream.sharing <= 2.0:
        return True
    alone = resident * profile.waves_per_group == 1
    return (
        alone
        and stream.sharing <= machine.compute_units_per_sqc
        and machine.compute_units_per_sqc % stream.sharing == 0
    )


def pages_at_once(profile: Profile) -> float:
    """Pages that a compute unit walks at a time.

    A second request for a page that is being walked blocks those behind it, in the coalescer of each unit as
    in that of the L2 TLB (``TLBCoalescer::processProbeTLBEvent``). So the wavefronts that want one page walk
    it alone, but for the pages that one of them asks for before it waits.
    """
    asked = sum(stream.pages * max(1.0, stream.sharing) for stream in profile.streams) / profile.workgroups
    both = profile.counts.loads and profile.counts.stores
    waits = max(1.0, profile.rounds) + (1.0 if both else 0.0)
    return max(1.0, asked / waits)


def followed(profile: Profile, machine: GpuModel, used: int) -> float:
    """Part of the walks that have not ended when the next workgroup comes: others find the page translated.

    After the first workgroups, one follows another no sooner than the busier of scalar ALU and LDS allows.
    """
    counts = profile.counts
    busy = max(
        counts.scalar_issues * machine.issue_period, counts.lds * machine.lds_cycles(profile.lds_conflicts)
    )
    apart = busy / profile.workgroups / used
    return min(1.0, machine.page_walk_cycles / apart)


def parallel_walks(pages: float, slope: float = 0.12) -> float:
    """Page walks in flight where compute units want the same ``pages`` pages at the same time.

    The coalescer of the L2 TLB serves its queue in order and stops at the first request for a page that is
    being walked already (``TLBCoalescer::processProbeTLBEvent``), so that walks run nearly one at a time:
    runs show 1.0 to 1.4, a little more when many pages are wanted.
    """
    return 1.0 + slope * log2(max(1.0, pages))


def shared_walks(profile: Profile, machine: GpuModel, sharers: float, pages: float, starting: float) -> float:
    """Page walks in flight where each of ``pages`` pages is wanted by ``sharers`` compute units.

    Units that go on to further pages become a convoy: who shared a page asks for the next one together, while
    the others wait for theirs. Where 20 and more share, walks run one at a time, where four do, 1.6 to 2.0
    (batch normalisation per activation on gem5).

    Units that share an instruction cache start in step. Where each needs one page, walks of the part of the
    workgroups that are ``starting`` are as many as the coalescer sends at a time.
    """
    if profile.walk_rounds > 1.0:
        return parallel_walks(pages, CONVOY * min(1.0, FOUR / sharers))
    walks = parallel_walks(pages)
    once = profile.rounds <= 1.0 and profile.waves_per_group > 1
    if machine.flat and once and sharers <= machine.compute_units_per_sqc:
        walks += max(0.0, min(PROBES, pages) - walks) * starting**2
    return walks


def looked_up(profile: Profile, machine: GpuModel, sharers: float) -> float:
    """Time from one walk of a convoy to the next, in walks.

    Units look into the L2 TLB one after the other when a page that they share has been walked, and then ask
    for the next one: batch normalisation of planes of 25 to 49 elements takes 1.2 to 2.2 walks a page where
    24 to 41 units share it (gem5 v24.0.0.1).
    """
    if profile.walk_rounds <= 1.0:
        return 1.0
    return 1.0 + TURN * max(0.0, sharers - FEW_SHARERS) / machine.page_walk_cycles


def few_sharers(
    profile: Profile, machine: GpuModel, sharers: float, batches: float, starting: float
) -> float:
    """Pages whose walks run at a time where three to eight compute units share each of them.

    A unit delivers what its wavefronts load in the order in which the instructions were decoded
    (``GlobalMemPipeline``, ``gmOrderedRespBuffer``), and a wavefront decodes ahead as much as its buffer
    holds. A store with few instructions between its load and itself is older than loads of workgroups that
    came later, and holds these up: loads and stores mix, and their walks overlap. With more between them all
    workgroups load, then all store, batch after batch, and walks run one at a time (traced): on 5 and 9 units
    sigmoid takes 1.01 to 1.11 us a page, ReLU, with half the instructions, 0.59 to 0.72 (gem5 v23.0.1.0).
    """
    more = 1.0 / (sharers - 2.0)
    if machine.flat:
        if profile.counts.valu > DECODED * profile.wavefronts:
            more /= 1.0 + (batches / MIXED_BATCHES) ** 2
        if profile.rounds <= 1.0:
            more *= 1.0 + starting**2
    return 1.0 + more


def held_alone(profile: Profile, stream: Stream, resident: int) -> float:
    """Part of the tokens that page walks hold where one compute unit is at work.

    Workgroups that load once and all want the same page wait for its walk with or without a token: on gem5
    ReLU of 61 planes of 37x37 takes 2.9 us for two pages, its backward pass 3.2 us for three.
    """
    once = 0.0 < profile.rounds <= 1.0 and not profile.counts.lds
    return 0.0 if once and 1 < resident <= stream.sharing else 1.0


def lockstep_walks(profile: Profile, machine: GpuModel, used: float) -> float:
    """Page walks by which compute units that start together delay each other, in walk times.

    Those that share an instruction cache run in step, so that their first requests reach the coalescer of
    the L2 TLB in one cycle. It sends two (``probesPerCycle``), and looks at the others only when something
    else arrives or returns (``TLBCoalescer::processProbeTLBEvent`` does not schedule itself). Those that load
    once from a page that they share are still in step when they store. Who loads late from a page of its own,
    and then stores to one that others share, finds that one walked.
    """
    if not profile.streams:
        return 0.0
    first, last = profile.streams[0], profile.streams[-1]
    asking = last if profile.rounds <= 1.0 and last.kind == "store" else first
    if asking.sharing >= 1.5 or asking.walked:
        return 0.0
    return -(-min(machine.compute_units_per_sqc, used) // PROBES) - 1.0
