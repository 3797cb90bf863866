"""Page walks of compute units that hold each other back in the coalescers of the TLBs.

Source: gem5 v23.0.1.0 ``TLBCoalescer::processProbeTLBEvent``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from apuflow.preview.tables import Accesses, Array, Launches
from apuflow.preview.tiles import different

PROBES = 2
"""``--L2ProbesPerCycle``: requests that the coalescer of the L2 TLB sends at a time."""
FEW_SHARERS = 8.0
"""Compute units up to which those that share a page wait for its walk together."""
TURN = 11.0
"""GPU cycles by which each unit of a convoy, but for the first few, delays the next walk."""
CONVOY, FEW = 0.21, 3.5
"""Walks in flight beyond the first, for each doubling of the pages wanted, where so few compute units share
each of them."""
AHEAD = 0.47
"""The same of those that ask for several pages before they wait, for each doubling of the pages of which
workgroups run."""
DECODED = 13
"""Instructions that a wavefront decodes ahead (``max_ib_size`` in ``GPU.py``)."""
MIXED_BATCHES = 3.0
"""Batches of workgroups after which loads and stores of half of them no longer mix."""
LATER = 0.65
"""Of the walks of workgroups that were not dispatched first, those that others wait for."""
IN_FLIGHT = 0.55
"""Page walks in flight over the root of the pages that a step of a workgroup needs: 1.0 for up to three (11 x
185 x 833, 57 x 7 x 1265), 2.2 for fourteen (446 x 1 x 1870), gem5."""
ALL_SHARE = 0.5
"""Power of the pages that a workgroup asks for at once, where all compute units share each of them: they are
walked 0.9 to 1.4 at a time (copies on four units), be it one load or two; no rule is known."""
TWO_UNITS = (1.11, 0.97)
"""Pages that two compute units walk at a time, where two workgroups share each, and where four do. gem5 has
two states: a page takes 0.79 or 1.02 us (copies and four activations, both directions; the same copy is once
in the one, once in the other), with four workgroups mostly 1.08. The first is the middle of both. Runs of
gfx902 (develop) take 1.04 and 1.1."""
PAIRED, PAIRED_TOKENS, ALL_AT_ONCE = 1.2, 8.0, 2.5
"""Of ``paired_walks``: at a time, tokens for one more, and more where all workgroups run at once."""
UNITS, IMAGES = 0.34, 6.0
"""Pages that are walked at a time for each compute unit, and the pages for which a wavefront asks at once
from which on it is more: batch normalisation per activation of four to six images walks 1.0 on two and three
units and 1.3 on four, where workgroups follow others that have ended (gem5 v24.0.0.1, four directories)."""
ROWS = 0.6
"""Power of the compute units that is the pages walked at a time where workgroups read rows from begin to end
again: softmax forward of 500 to 3600 channels on 2 to 20 units (gem5 v24.0.0.1, four directories)."""
UNEVEN = 1.5
"""Pages that are walked at a time where the few workgroups of a page do not come to the same compute units as
those of the next: 1.4 to 1.6 (copies on three and five units, four workgroups to a page)."""
MANY_WAITS = 10.0
"""Waits of a wavefront from which on it comes back to what it has touched before."""
COMES_BACK = 1.5
"""How soon instructions of wavefronts that come back to their pages after each of many waits miss the L1 TLB
when it is too small for those of all: of LRN, 0.6 at 1.25 times its entries and nearly all at 1.9."""
LOST = 0.51
"""Of the instructions of single wavefronts that touch twice the pages of the L1 TLB in turn, those that miss
it (0.4 at 1.6 times its entries, 0.7 at twice, 0.9 at 2.5 times, all at 2.6)."""


class Walks(NamedTuple):
    """Of each launch.

    Attributes:
        cold_pages: page walks. serial_walks: those that others wait for, in walk times.
        serial_store_walks: of ``serial_walks``, those of stores.
        late: mean number of compute units that wait for the same walk and then look into the L2 TLB, one
            after the other (``TLBCoalescer::processProbeTLBEvent``).
        walk_tokens: coalescer tokens held during walks, in walks.
        l1_tlb_misses: of coalesced lookups.
        waiting: instructions that wait for the L2 TLB: their pages are looked up in parallel.
        in_turn: page walks that follow one another whatever else the launch does: the least that it takes.
    """

    cold_pages: Array
    serial_walks: Array
    serial_store_walks: Array
    late: Array
    walk_tokens: Array
    l1_tlb_misses: Array
    waiting: Array
    in_turn: Array


class _Sharing:
    """What says how compute units share the pages of each stream.

    Attributes:
        sharers: compute units that share a page. waves: wavefronts of a unit that wait for it, as far as it
            has tokens (``window``) for them. touching: wavefronts of all that touch it.
        follow: part of the walks that have not ended when the next workgroup comes.
        first_run: part of the workgroups that run first. together: how far they are in step.
        loads_walked: the launch walks pages of what it loads.
        once: a wavefront waits for loads once, at most. single: workgroups have one wavefront.
        asked: pages that a compute unit walks at a time, as far as its own wavefronts let it. ahead: its
            wavefronts ask for several before they wait, and gather nothing in LDS.
        returning: as ``coming_back``.
    """

    def __init__(self, accesses: Accesses) -> None:
        launches, stream, profile = accesses.launches, accesses.streams, accesses.profiles
        used, resident = accesses.used, accesses.resident
        self.window = np.minimum(accesses.machines.tokens, resident * profile.group_waves)
        self.sharers = np.maximum(1.0, np.minimum(stream.sharing, used))
        self.touching = stream.page_group * stream.sharing
        self.waves = np.maximum(1.0, np.minimum(self.window, self.touching / self.sharers))
        self.once = profile.rounds <= 1.0
        self.asked = pages_at_once(launches)[accesses.owner]
        self.ahead = (self.asked >= 2.0) & (accesses.counts.lds == 0.0)
        self.returning = coming_back(launches)[accesses.owner]
        self.single = profile.waves_per_group == 1
        self.follow = followed(launches)[accesses.owner]
        self.first_run = np.minimum(1.0, used * resident / profile.workgroups)
        # Walks of what they load keep the first in step; without them they go on when their data has come.
        walked = accesses.left.walked & (stream.kind == "load")
        self.loads_walked = accesses.most(walked)[accesses.owner] > 0.0
        # Workgroups start together; where barriers come seldom, those of later batches drift apart.
        meeting = profile.barriers_per_wait
        self.together = meeting + (1.0 - meeting) * self.first_run


@np.errstate(divide="ignore", invalid="ignore")
def walks(launches: Launches) -> Walks:
    """Page walks of launches, and what waits for them."""
    accesses = launches.accesses
    stream = accesses.streams
    share = _Sharing(accesses)
    waited, loaded_together, late = _waited_for(accesses, share)
    # A workgroup alone in its unit asks for pages of A, then of B, as all others do; several mix them.
    all_of, one_of = accesses.sum(loaded_together), accesses.most(loaded_together)
    missed = _missed(accesses, share)
    pages = accesses.sum(accesses.cold_pages)
    return Walks(
        cold_pages=pages,
        serial_walks=accesses.sum(waited) + np.where(launches.resident == 1, all_of, one_of),
        serial_store_walks=accesses.sum(np.where(stream.kind == "store", waited, 0.0)),
        late=np.where(pages > 0.0, accesses.sum(late) / pages, 0.0),
        walk_tokens=accesses.sum(_tokens_held(accesses, share)),
        l1_tlb_misses=accesses.sum(missed),
        waiting=accesses.sum(missed / stream.pages_touched),
        in_turn=accesses.sum(_in_turn(accesses, share, waited)),
    )


def _in_turn(accesses: Accesses, share: _Sharing, convoy: Array) -> Array:
    """Walks of each stream that follow one another; ``convoy``: those that others wait for."""
    stream, profile, used = accesses.streams, accesses.profiles, accesses.used
    sharers, beside = share.sharers, share.asked / share.follow
    # Wavefronts of a workgroup ask for one page, then for another: the first holds back the rest.
    of_each = (accesses.sum(accesses.cold_pages) / accesses.launches.profiles.workgroups)[accesses.owner]
    next_page = np.where(stream.tiled, share.follow, np.minimum(1.0, share.follow * np.maximum(1.0, of_each)))
    ahead = np.where((stream.page_group > 1.0) & (sharers < 1.5), 1.0 / next_page, beside)
    of_units = UNITS * used * np.maximum(1.0, share.asked / IMAGES)
    ahead = np.where(_of_units(accesses, share), np.minimum(ahead, np.maximum(1.0, of_units)), ahead)
    few, shared = stream.sharing <= 2.0, ahead**ALL_SHARE
    states = np.where(few, TWO_UNITS[0], TWO_UNITS[1])
    two = np.where(accesses.machines.vega, np.where(few, 1.0, shared), states)
    shared = np.where(used == 2, two, shared)
    ahead = np.where(share.once & (sharers == used) & (stream.sharing <= 4.0), shared, ahead)
    sets = used / sharers
    uneven = np.maximum(sets, UNEVEN / np.maximum(ahead, stream.asked_with))
    sets = np.where(share.once & _uneven(accesses), uneven, sets)
    paired = share.once & ~share.single & (sharers >= 1.5) & (sharers <= 2.0)
    sets = np.where(paired, np.minimum(sets, paired_walks(accesses.machines.tokens, share.first_run)), sets)
    at_a_time = np.where(share.loads_walked, 1.0, few_sharers(accesses, sharers, share.first_run))
    some = (sharers > 2.0) & (sharers <= FEW_SHARERS) & (profile.rounds <= 2.0)
    sets = np.where(some, np.minimum(sets, at_a_time), sets)
    in_turn = accesses.cold_pages / np.maximum(np.maximum(ahead, stream.step_pages), stream.asked_with) / sets
    # Single wavefronts that go on to further pages are a convoy at most.
    looping = share.single & (profile.walk_rounds > 1.0) & (convoy > 0.0)
    in_turn = np.where(looping, np.minimum(in_turn, convoy), in_turn)
    rows = rereading(accesses.launches)[accesses.owner] == 1.0
    in_turn = np.where(rows, accesses.cold_pages / used**ROWS, in_turn)
    waiting = ((stream.page_group > 1.0) & (profile.wavefronts > 1)) | (sharers >= 1.5)
    return np.where(waiting, in_turn, 0.0)


def _of_units(accesses: Accesses, share: _Sharing) -> Array:
    """Whether ``UNITS`` holds: neighbours share pages, and follow workgroups that have ended."""
    stream = accesses.streams
    neighbours = np.where(stream.adjacent > 0.0, stream.adjacent, stream.sharing) >= 1.5
    later = share.ahead & ~share.once & (share.sharers >= 1.5) & (share.first_run < 1.0)
    return later & neighbours & accesses.machines.vega


def _tokens_held(accesses: Accesses, share: _Sharing) -> Array:
    """Coalescer tokens that the walks of each stream hold, in walks."""
    stream, sharers = accesses.streams, share.sharers
    apart = np.minimum(share.window, accesses.resident / stream.sharing)
    # A second request for a page that is being walked blocks the unit's coalescer for all pages.
    blocked = (accesses.machines.tokens - share.waves) * np.minimum(1.0, share.waves - 1.0) * share.together
    tokens = share.waves + np.where(sharers < 1.5, blocked, 0.0)
    held = accesses.cold_pages * tokens / parallel_walks(apart)
    held = held * np.where(accesses.used == 1, held_alone(accesses), 1.0)
    held = held * (1.0 + stream.lockstep * share.together * (sharers - 1.0))
    # No more than all have while pages are walked.
    wanted = np.where(accesses.cold_pages > 0.0, _wanted(accesses, share), 0.0)
    of_all = accesses.sum(wanted)[accesses.owner]
    in_flight = shared_walks(accesses, share, of_all, np.zeros_like(held)) * stream.pages_touched
    most = accesses.machines.tokens * accesses.used * accesses.cold_pages / in_flight
    # Where planes begin inside of pages, wavefronts of a plane come to a page after one another.
    held = np.where(sharers < 1.5, held, np.minimum(held, most))
    return np.where((sharers >= 1.5) & share.returning, held * stream.lockstep, held)


def _wanted(accesses: Accesses, share: _Sharing) -> Array:
    """Pages of each stream that compute units want at a time."""
    running = accesses.resident * accesses.profiles.waves_per_group / share.touching
    return accesses.used * np.minimum(share.window / share.waves, running)


def _waited_for(accesses: Accesses, share: _Sharing) -> tuple[Array, Array, Array]:
    """Of each stream: walks that others wait for; those of loads of one step; units late for a page."""
    stream, profile, machines = accesses.streams, accesses.profiles, accesses.machines
    sharers, pages = share.sharers, accesses.cold_pages
    lockstep = stream.lockstep * share.together
    several, stepping = (sharers >= 1.5) & ~in_step(accesses), stream.step_pages > 0.0
    in_order = (share.first_run + (1.0 - share.first_run) * LATER) * share.together
    loaded_together = pages * in_order / np.maximum(1.0, IN_FLIGHT * stream.step_pages**0.5)
    starting = np.where(share.loads_walked, 0.0, share.first_run)
    in_flight = shared_walks(accesses, share, _wanted(accesses, share), starting) * stream.pages_touched
    # Where less than two share a page on average, some pages are not shared.
    convoy = pages * lockstep / in_flight * np.minimum(1.0, sharers - 1.0)
    convoy = convoy * looked_up(profile.walk_rounds, sharers, machines.page_walk_cycles)
    return (
        np.where(several & ~stepping, convoy, 0.0),
        np.where(several & stepping, loaded_together, 0.0),
        np.where(several, pages * lockstep * (sharers - 1.0), 0.0),
    )


def _missed(accesses: Accesses, share: _Sharing) -> Array:
    """Coalesced lookups of each stream that miss the L1 TLB."""
    stream, profile, owner = accesses.streams, accesses.profiles, accesses.owner
    resident, entries = accesses.resident, accesses.machines.l1_tlb_entries
    touches = stream.instructions * stream.pages_touched
    first = accesses.pages * share.sharers
    # Every wavefront walks all pages: each window of tokens brings its own back.
    cyclic = (stream.sharing >= 16) & (accesses.sum(accesses.pages)[owner] > entries)
    again = stream.instructions / (1.5 * accesses.machines.tokens)
    first = np.where(cyclic, np.maximum(first, again), first)
    first_tiles, second_tiles = different(accesses.tiles, resident, accesses.used)
    own = np.where(stream.operand == 0, first_tiles, second_tiles)
    # Pages that workgroups of a unit go through in turn; those of a product share tiles.
    opened = np.where(stream.tiled, own, resident) * stream.pages_open
    opened = accesses.sum(opened)[owner]
    lost = np.minimum(1.0, opened / entries - 1.0)
    overflowing = (stream.pages_open > 0.0) & (opened > entries)
    first = np.where(overflowing, np.maximum(first, touches * lost), first)
    # Pages that few wavefronts of a unit touch between two instructions of one.
    waves = profile.waves_per_group
    few = (share.single | share.returning) & (accesses.pages > 0.0)
    beside = np.maximum(1.0, np.minimum(resident, stream.sharing / accesses.used))
    between = np.where(few, resident * stream.pages_touched / beside, 0.0)
    between = accesses.sum(between)[owner]
    lost = np.minimum(1.0, LOST * (between / entries - 1.0))
    # Of the wavefronts of a workgroup the first misses for those that follow.
    all_lost = 1.0 - np.exp(-COMES_BACK * np.maximum(0.0, between / entries - 1.0))
    lost = np.where(share.returning, all_lost / waves, lost)
    first = np.where(between > entries, np.maximum(first, touches * lost), first)
    # An instruction may touch several pages; each walk begins with a miss.
    return np.maximum(accesses.pages, np.minimum(touches, first)) * (1.0 - accesses.left.near)


def coming_back(launches: Launches) -> Array:
    """Whether wavefronts come back to what they have touched after each of many waits, as those of LRN do."""
    return (launches.profiles.rounds >= MANY_WAITS) & (launches.counts.lds == 0.0)


def _uneven(accesses: Accesses) -> Array:
    """Whether the workgroups of a page, two to four, come to other compute units than those of the next."""
    used, sharing = accesses.used, accesses.streams.sharing
    return (sharing > 2.0) & (sharing <= 4.0) & (used % sharing > 0.0) & (sharing % used > 0.0)


def in_step(accesses: Accesses) -> Array:
    """Whether the compute units that share a page ask for it in one cycle, and none is blocked.

    So do units with one wavefront each that share an instruction cache: the coalescer of the L2 TLB makes one
    request of theirs, and all pages that are wanted are walked at once.
    """
    sharing, together = accesses.streams.sharing, accesses.machines.compute_units_per_sqc
    alone = accesses.resident * accesses.profiles.waves_per_group == 1
    return alone & (sharing <= together) & (together % sharing == 0.0)


def rereading(launches: Launches) -> Array:
    """``cyclic`` of launches whose workgroups read rows of their own again from begin to end, 0 of others.

    It is 1 for one buffer (softmax forward), and a half for two alternating ones (softmax backward).
    """
    accesses, profile = launches.accesses, launches.profiles
    rows = (launches.counts.lds > 0.0) & ~profile.scheduled & ~profile.alternating
    return np.where(rows, accesses.most(accesses.streams.cyclic), 0.0)


def pages_at_once(launches: Launches) -> Array:
    """Pages that a compute unit walks at a time.

    A second request for a page that is being walked blocks those behind it, in the coalescer of each unit as
    in that of the L2 TLB (``TLBCoalescer::processProbeTLBEvent``). So the wavefronts that want one page walk
    it alone, but for the pages that one of them asks for before it waits.
    """
    profile, counts, accesses = launches.profiles, launches.counts, launches.accesses
    shared = accesses.pages * np.maximum(1.0, accesses.streams.sharing)
    asked = accesses.sum(shared) / profile.workgroups
    both = (counts.loads > 0.0) & (counts.stores > 0.0)
    waits = np.maximum(1.0, profile.rounds) + both
    return np.maximum(1.0, asked / waits)


def followed(launches: Launches) -> Array:
    """Part of the walks that have not ended when the next workgroup comes: others find the page translated.

    After the first workgroups, one follows another no sooner than the busier of scalar ALU and LDS allows.
    """
    profile, counts, machine = launches.profiles, launches.counts, launches.machines
    lds = counts.lds * machine.lds_cycles(profile.lds_conflicts)
    busy = np.maximum(counts.scalar_issues * machine.issue_period, lds)
    apart = busy / profile.workgroups / launches.used
    return np.minimum(1.0, machine.page_walk_cycles / apart)


def parallel_walks(pages: Array, slope: Array | float = 0.12) -> Array:
    """Page walks in flight where compute units want the same ``pages`` pages at the same time.

    The coalescer of the L2 TLB serves its queue in order and stops at the first request for a page that is
    being walked already (``TLBCoalescer::processProbeTLBEvent``), so that walks run nearly one at a time:
    runs show 1.0 to 1.4, a little more when many pages are wanted.
    """
    return 1.0 + slope * np.log2(np.maximum(1.0, pages))


def shared_walks(accesses: Accesses, share: _Sharing, pages: Array, starting: Array) -> Array:
    """Page walks in flight where compute units share each of the ``pages`` that they want.

    Units that go on to further pages become a convoy: who shared a page asks for the next one together, while
    the others wait for theirs. Where 20 and more share, walks run one at a time, where four do, 1.6 to 2.0.
    Those that ask for several pages before they wait walk more of them: batch normalisation per activation
    forward of planes of 29x29 and 32x32 2.1 to 3.7 at a time on 4 to 48 units, with 1 to 16 tokens alike
    (gem5 v24.0.0.1, four directories).

    Units that share an instruction cache start in step. Where each needs one page, walks of the part of the
    workgroups that are ``starting`` are as many as the coalescer sends at a time.
    """
    profile, machine, few = accesses.profiles, accesses.machines, np.minimum(1.0, FEW / share.sharers)
    begun = accesses.running / np.maximum(1.0, accesses.streams.sharing)
    several = np.minimum(share.asked, parallel_walks(begun, AHEAD * few))
    convoy = np.where(share.ahead, several, parallel_walks(pages, CONVOY * few))
    one = parallel_walks(pages)
    beside = ~machine.vega & share.once & ~share.single & (share.sharers <= machine.compute_units_per_sqc)
    more = np.maximum(0.0, np.minimum(PROBES, pages) - one) * starting**2
    return np.where(profile.walk_rounds > 1.0, convoy, one + np.where(beside, more, 0.0))


def looked_up(walk_rounds: Array, sharers: Array, walk_cycles: Array) -> Array:
    """Time from one walk of a convoy to the next, in walks.

    Units look into the L2 TLB one after the other when a page that they share has been walked, and then ask
    for the next one: batch normalisation of planes of 25 to 49 elements takes 1.2 to 2.2 walks a page where
    24 to 41 units share it (gem5 v24.0.0.1).
    """
    convoy = 1.0 + TURN * np.maximum(0.0, sharers - FEW_SHARERS) / walk_cycles
    return np.where(walk_rounds <= 1.0, 1.0, convoy)


def paired_walks(tokens: Array, starting: Array) -> Array:
    """Pages whose walks run at a time where two compute units share each of them and load from it once.

    A copy of 2x73x45x45 on 3 to 45 units with four TCCs and directories, gem5 v24.0.0.1: 1.3 to 2.8 at a
    time, by no rule, 1.7 in the mean with four coalescer tokens and 2.2 with eight; 4.2 where all its
    workgroups run at once.
    """
    return PAIRED + tokens / PAIRED_TOKENS + ALL_AT_ONCE * starting**3


def few_sharers(accesses: Accesses, sharers: Array, starting: Array) -> Array:
    """Pages whose walks run at a time where three to eight compute units share each of them.

    A unit delivers what its wavefronts load in the order in which the instructions were decoded
    (``GlobalMemPipeline``, ``gmOrderedRespBuffer``), and a wavefront decodes ahead as much as its buffer
    holds. A store with few instructions between its load and itself is older than loads of workgroups that
    came later, and holds these up: loads and stores mix, and their walks overlap. With more between them all
    workgroups load, then all store, batch after batch, and walks run one at a time (traced): on 5 and 9 units
    sigmoid takes 1.01 to 1.11 us a page, ReLU, with half the instructions, 0.59 to 0.72 (gem5 v23.0.1.0).
    """
    profile, gcn3 = accesses.profiles, ~accesses.machines.vega
    batches = accesses.busiest / accesses.resident
    long = gcn3 & (accesses.counts.valu > DECODED * profile.wavefronts)
    more = 1.0 / (sharers - 2.0) / np.where(long, 1.0 + (batches / MIXED_BATCHES) ** 2, 1.0)
    return 1.0 + more * np.where(gcn3 & (profile.rounds <= 1.0), 1.0 + starting**2, 1.0)


def held_alone(accesses: Accesses) -> Array:
    """Part of the tokens that page walks hold where one compute unit is at work.

    Workgroups that load once and all want the same page wait for its walk with or without a token: on gem5
    ReLU of 61 planes of 37x37 takes 2.9 us for two pages, its backward pass 3.2 us for three.
    """
    rounds, resident = accesses.profiles.rounds, accesses.resident
    once = (rounds > 0.0) & (rounds <= 1.0) & (accesses.counts.lds == 0.0)
    return np.where(once & (resident > 1) & (resident <= accesses.streams.sharing), 0.0, 1.0)


def lockstep_walks(launches: Launches) -> Array:
    """Page walks by which compute units that start together delay each other, in walk times.

    Those that share an instruction cache run in step, so that their first requests reach the coalescer of
    the L2 TLB in one cycle. It sends two (``probesPerCycle``), and looks at the others only when something
    else arrives or returns (``TLBCoalescer::processProbeTLBEvent`` does not schedule itself). Those that load
    once from a page that they share are still in step when they store. Who loads late from a page of its own,
    and then stores to one that others share, finds that one walked.
    """
    accesses, profile = launches.accesses, launches.profiles
    found = np.zeros(len(launches))
    many = np.bincount(accesses.owner, minlength=len(launches))
    rows, ends = np.flatnonzero(many), np.cumsum(many)
    first, last = (ends - many)[rows], ends[rows] - 1
    stored = (profile.rounds[rows] <= 1.0) & (accesses.streams.kind[last] == "store")
    asking = accesses[np.where(stored, last, first)]
    together = np.minimum(launches.machines.compute_units_per_sqc, launches.used)[rows]
    apart = (asking.streams.sharing < 1.5) & ~asking.left.walked
    found[rows] = np.where(apart, -(-together // PROBES) - 1.0, 0.0)
    return found
