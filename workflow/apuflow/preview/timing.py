"""The time of each launch: the longest of what the queueing network takes and of what goes on in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from apuflow.preview.columns import Numbered, Rows
from apuflow.preview.demands import Demands, demands, in_turn_ns, load_and_store_phases, output
from apuflow.preview.latencies import latencies
from apuflow.preview.machine import GpuModel
from apuflow.preview.profile import DRIFT, Profile
from apuflow.preview.queueing import LOCAL, STATIONS, SYNCHRONOUS, solve
from apuflow.preview.step import Step
from apuflow.preview.tables import Launches, Table
from apuflow.preview.traffic import Traffic, traffic
from apuflow.preview.walks import coming_back, rereading

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

BURSTS = np.array([name.endswith("link") or name == "dram" for name in STATIONS])
"""Stations at which the loads of workgroups in step wait behind each other."""
AHEAD = 0.77
"""Of the computation of a step, what stands between the loads for the next one and their first use (12 of 16
parts in Tensile's loops)."""
EVEN = 0.78
"""Of the wait at a station, what is left where customers come evenly: between half, as in a queue with equal
service times, and all of it (Pollaczek and Khinchine)."""
BEHIND = 0.2
"""Of the time that the wavefronts of a workgroup take of a station, what they wait there for each other where
no barrier brings them back in step: behind one another once, they stay so."""
BUSY = 0.6
"""Of a launch, for how long a resource has to be busy to be what bounds it."""
OUTLAST = 0.25
"""Of the time by which page walks outlast what is loaded or stored, what nothing else goes on beside, where
all workgroups run at once."""
LAST = 1.05
"""Time of a unit's last workgroups, which begin one by one, over that of as many which begin together."""
MEANWHILE = 0.4
"""Of the fetch of code that stands behind the first loads, or of all that a wavefront computes and waits for
if that is less, what goes on beside it."""
HIDDEN, GATHERED = 1.5, 0.6
"""Of the waits of a loop, in which loads come that are its bound, what these hide; and of those of workgroups
that gather in LDS what they load."""
WALKED = 0.87
"""Of page walks in turn, what wavefronts that load more than once wait for before they compute: 0.65 to 1.0
in runs of average pooling backward on 8 to 60 units."""
BESIDE, IN_BATCHES, IN_STEPS = 3.7, 2.8, 3.0
"""Page walks in turn and all else that windows take: together the root of the sum of their powers. That of
windows where workgroups of several units follow one another and of all that computes beside links and
DRAM, and of products that load in many steps and rows of pages of their own."""
TOGETHER, OTHERS = 0.3, 3.0
"""How far wavefronts of a unit that load in each of many steps stay in step, since it delivers their loads
in the order in which they were decoded; and behind how many of them one waits, for tokens and the TCP's link.
LRN backward of 7x7 and 8x8 takes 10 % longer with two on each of four units, 34 and 41 % with four, 67 and
80 % with six (gem5 v24.0.0.1, four TCCs and directories)."""
TWO_BUFFERS = 1.5
"""The same of softmax backward of 300 to 1000 channels, whose wavefronts load from two buffers before they
wait: nearly the sum of both (2 to 20 units, gem5 v24.0.0.1)."""
STAYING = 1.3
"""The same of all that computes and of links and DRAM where batches stay in step: of max pooling backward of
13x13 on four units each batch takes what one takes (gem5 v24.0.0.1, four TCCs and directories)."""
SMALL, FILLED = 4.0, 0.28
"""Wavefronts up to which a workgroup queues as one customer; the power of the rest that lessens its waits."""
APART = 0.38
"""Of the wait at a station, what is left where workgroups alternate whose lines no other one reads."""
ALTERNATING = 0.6
"""As far workgroups come to take turns evenly that alternate between loads and LDS, on one compute unit. On
several, what they wait for in common brings them back in step."""


@dataclass(frozen=True)
class Times:
    """Results per launch, arrays of equal length, and the launches themselves.

    ``token_ns``: that the tokens of all compute units are in use, over the tokens of one. ``walk_ns``: of
    page walks that follow one another: the longer of their queue and their turns (``in_turn_ns``).
    ``dram_ns``: that the DRAM is busy before the launch ends.
    """

    launches: Launches
    ns: Array
    start_ns: Array
    fetch_ns: Array
    residence_ns: Array
    ready_share: Array
    bounds: Numbered[str]
    traffic: Traffic
    resident: Array
    used: Array
    token_ns: Array
    walk_ns: Array
    dram_ns: Array

    @property
    def bound(self) -> list[str]:
        """What bounds each launch: what is busy for most of its time."""
        return self.bounds.list()


def pipelined(
    asked: Array, wide: Array, behind: Array, alternating: Flags, scheduled: Flags, hidden: Array
) -> Array:
    """Time that a customer of ``wide`` wavefronts is held up at each station by its own wavefronts.

    They start together and go through scalar ALU, SIMD and LDS one behind the other, each at another
    station: a flow shop, whose time is one pass through all stations and the rest at the busiest; ``behind``
    is the part of the rest that is left. Where they load, wait for each other and compute in turns
    (``alternating``), loads come one after the other, and the pass goes on beside the busiest station. Where
    LDS accesses are issued ahead of what needs them (``scheduled``), the vector ALU works meanwhile:
    ``hidden`` of its time, all of it where the LDS is busy for longer.
    """
    own = np.where(SYNCHRONOUS, asked, 0.0)
    busiest = np.zeros_like(own)
    if len(own):
        rows = np.arange(len(own))
        top = own.argmax(axis=1)
        busiest[rows, top] = own[rows, top]
    extra = busiest * (behind * (wide - 1.0))[:, None]
    own = np.where(alternating[:, None], busiest, own)
    lds = STATIONS.index("lds")
    total = own[:, lds] + extra[:, lds]
    own[:, lds] -= np.where(scheduled, np.minimum(total, hidden), 0.0)
    return own + extra


@dataclass(frozen=True)
class _Network:
    """Launches as customers of the network, each of ``wide`` wavefronts.

    Attributes:
        delay: ns, as in ``Demands``; waves: wavefronts.
        asked: (launches, stations) ns that a wavefront takes of each; own: that a customer is held up there.
        used: compute units with work; resident, per_unit: wavefronts of the busiest, at a time and in all;
            batches: of them.
        crowd: the customers of ``solve``, of a compute unit and of all, and what is left of their waits.
        own_pages: each workgroup has pages that no more than one other touches.
        rereading: as ``walks.rereading``.
        scheduled, alternating, in_step, local_memory, windows, rounds, apart, met: of the profiles.
    """

    delay: Array
    waves: Array
    asked: Array
    own: Array
    wide: Array
    used: Array
    resident: Array
    per_unit: Array
    batches: Array
    crowd: tuple[Array, Array, Array]
    own_pages: Flags
    rereading: Array
    scheduled: Flags
    alternating: Flags
    in_step: Flags
    local_memory: Flags
    windows: Flags
    rounds: Array
    apart: Array
    met: Array

    def solved(self, rows: Rows, asked: Array) -> Array:
        """Residence times of some of the launches, where ``asked`` is what all take of each station."""
        customers = (asked * self.wide[:, None])[rows]
        residence, _, _ = solve(customers, self.own[rows], self.delay[rows], *(c[rows] for c in self.crowd))
        return residence

    def computed(self, rows: Rows) -> Array:
        """Residence times without what wavefronts do not stay at themselves: links, DRAM, walks, tokens."""
        return self._computed[rows] if len(rows) else np.zeros(0)

    @cached_property
    def _computed(self) -> Array:
        return self.solved(np.arange(len(self.waves)), np.where(SYNCHRONOUS, self.asked, 0.0))


def _network(launches: Launches, asked: Demands) -> _Network:
    profiles, machines = launches.profiles, launches.machines
    stations, waves, used, per_unit = asked.stations, asked.wavefronts, asked.used, asked.per_unit
    # A wavefront stays on its own SIMD: the station is a quarter of the work, the rest is its latency.
    alternating, simds = profiles.alternating, machines.simds
    vector = stations[:, STATIONS.index("valu")]
    delay = asked.delay + np.where(alternating, 0.0, vector * (simds - 1.0))
    # The busiest compute unit has its wavefronts in batches of at most what it can hold.
    resident = np.minimum(asked.resident, per_unit)
    batches = per_unit / resident
    # Wavefronts that start together wait for the same pages and tokens and so stay together: those of a
    # workgroup queue as one customer, and so do single ones as many at a time as there are tokens.
    per_group = profiles.group_waves
    wide = np.maximum(per_group, resident / machines.tokens)
    stepping = coming_back(launches) & (per_group <= 2.0)
    wide = np.where(stepping, wide * (resident / wide) ** TOGETHER, wide)
    queued = stations[:, STATIONS.index("tokens")] + stations[:, STATIONS.index("tcp_link")]
    delay = delay + np.where(stepping, TOGETHER * np.minimum(OTHERS, resident - 1.0) * queued, 0.0)
    scheduled = profiles.scheduled
    # Other compute units disturb workgroups that have no loads ahead.
    turns = np.where(scheduled, 1.0, np.where(alternating, ALTERNATING / np.maximum(used, 1.0), 0.0))
    # What they wait for in common keeps them in step; those that read lines of their own come to take turns.
    apart = profiles.apart
    turns = turns * (1.0 - apart)
    # Barriers bring wavefronts back in step, as far as they come as often as what is waited for.
    met = profiles.barriers_per_wait
    behind = BEHIND + (1.0 - BEHIND) * np.where(scheduled, 1.0, met)
    # The wavefronts of a large workgroup are at several stations at a time, and fill each other's gaps.
    gaps = np.minimum(1.0, (SMALL / per_group) ** FILLED)
    waits = (1.0 - (1.0 - EVEN) * turns - (1.0 - APART) * apart) * gaps
    crowd = (
        resident / wide,
        np.maximum(waves / batches / wide, 1.0),
        np.where(SYNCHRONOUS, waits[:, None], 1.0),
    )
    return _Network(
        delay=delay,
        waves=waves,
        asked=stations,
        own=pipelined(stations, wide, behind, alternating, scheduled, vector * simds),
        wide=wide,
        used=used,
        resident=resident,
        per_unit=per_unit,
        batches=batches,
        crowd=crowd,
        own_pages=launches.sharing < 2.0,
        rereading=rereading(launches),
        scheduled=scheduled,
        alternating=alternating,
        in_step=profiles.in_step,
        local_memory=launches.counts.lds > 0.0,
        windows=profiles.windows,
        rounds=profiles.rounds,
        apart=apart,
        met=met,
    )


def _start(net: _Network, start: Array, behind: Array) -> Array:
    """ns until launches start, where those of one batch fetch code that stands ``behind`` their first loads.

    The first wavefront of a unit waits for its next line while it waits for its loads, and others compute.
    """
    rows, found = np.flatnonzero((behind > 0.0) & (net.batches <= 1.0)), start.copy()
    found[rows] -= MEANWHILE * np.minimum(behind[rows], net.computed(rows))
    return found


def _last_batch(net: _Network) -> Array:
    """ns of workgroups that are no whole batch: they have the machine for themselves, and their latencies."""
    rest = np.zeros_like(net.batches)
    left = np.flatnonzero(net.batches > np.floor(net.batches))
    few = (net.batches - np.floor(net.batches))[left]
    local, overall, waits = (column[left] for column in net.crowd)
    fewer = (np.maximum(local * few, 1.0), np.maximum(overall * few, 1.0), waits)
    rest[left], _, _ = solve((net.asked * net.wide[:, None])[left], net.own[left], net.delay[left], *fewer)
    return LAST * rest


def _stored_at_the_end(net: _Network, output: Array, adding: Flags) -> tuple[Rows, Array]:
    """Launches that have loaded and computed all before they store, and their ns.

    They have one workgroup on each unit, or one batch that waits for its additions.
    """
    last = net.per_unit <= np.where(adding, net.resident, net.wide)
    rows = np.flatnonzero(last & output.any(axis=1))
    loaded = net.solved(rows, np.maximum(net.asked - output / net.waves[:, None], 0.0))
    return rows, loaded + output[rows].max(axis=1)


def _in_phases(net: _Network, phases: Array, outlast: Array) -> tuple[Rows, Array]:
    """Launches whose workgroups load, compute and store one after the other, and their ns.

    The first batch comes at once: links and DRAM wait until it has computed. In a long loop some of a unit
    load while others compute. What a single batch waits for hides a part of its loads and stores.
    """
    one = net.per_unit <= net.resident
    rows = np.flatnonzero((phases > 0.0) & ~(one & net.scheduled))
    loops = np.where(net.alternating, net.rounds, 0.0)[rows]
    others = net.crowd[0] + net.apart * np.maximum(net.crowd[1] - net.crowd[0], 0.0)
    beside = others[rows] ** (loops / (loops + DRIFT))
    gathered = np.where(net.local_memory, GATHERED, 1.0)
    hidden = np.where(net.alternating, net.rounds / (net.rounds + HIDDEN), gathered) * net.delay
    outlasting, hidden = np.where(one, OUTLAST, 1.0) * outlast, np.where(one, hidden, 0.0)
    shown = np.maximum((phases + outlasting - hidden)[rows], 0.0)
    computed = net.computed(rows)
    ns = np.maximum(computed, shown) + np.minimum(computed, shown) / beside
    # Later batches compute while others load and store, but for what stays in step.
    all_computed = computed * np.maximum(1.0, net.batches[rows])
    later = np.maximum(ns, _beside(all_computed, shown, np.where(net.in_step[rows], STAYING, IN_BATCHES)))
    return rows, np.where(net.alternating[rows], ns, later)


def _walked_first(net: _Network, phases: Array, in_turn: Array) -> tuple[Rows, Array]:
    """Launches whose first batch has walked its pages before it computes, and their ns.

    Their wavefronts load more than once and meet nobody: second loads are delivered behind the first of all
    others.
    """
    alone = net.local_memory & (net.rounds > 1.0) & (net.met == 0.0)
    rows = np.flatnonzero(alone & ~net.scheduled & ~net.alternating)
    walked = np.maximum(phases, WALKED * in_turn) / net.batches
    return rows, net.computed(rows) * net.batches[rows] + np.maximum(walked - net.delay, 0.0)[rows]


def _beside(first: Array, second: Array, power: Array | float) -> Array:
    """p-norm of two times that overlap partly (1: serial, infinite: in parallel)."""
    both: Array = (first**power + second**power) ** (1.0 / power)
    return both


def _with_walks(net: _Network, ns: Array, in_turn: Array) -> Array:
    """ns of launches without their start, of which page walks in turn take ``in_turn``.

    Windows of an image hold their pages one after the other while others compute, and so do workgroups that
    load in many steps, and batches of those that have pages of their own. Both overlap but
    for what each waits for the other by chance.
    """
    others = np.maximum(ns, 0.0)
    followed = (net.batches > 1.0) & (net.used > 2.0)
    power = np.where(net.windows, np.where(followed, IN_BATCHES, BESIDE), IN_STEPS)
    rows = net.rereading == 1.0
    power = np.where(rows, IN_BATCHES, power)
    both = _beside(others, in_turn, power)
    long_rows = net.own_pages & net.local_memory & ~net.scheduled & (net.batches > 1.0)
    steps = (net.alternating | long_rows) & (net.rounds > 2.0)
    return np.where(net.windows | rows | steps, both, np.maximum(others, in_turn))


def _two_buffers(net: _Network, vega: Flags, walked: Array) -> tuple[Rows, Array]:
    """Launches whose workgroups read rows of two buffers alternately, twice, and their ns.

    They compute and walk pages (``walked``) nearly one after the other, but not on gfx8.
    """
    two = (net.rereading > 0.0) & (net.rereading < 1.0) & vega & (net.per_unit > net.wide)
    rows = np.flatnonzero(two)
    return rows, _beside(net.computed(rows) * net.batches[rows], walked[rows], TWO_BUFFERS)


def _first_batch(net: _Network, profiles: Table[Profile], output: Array) -> tuple[Rows, Array]:
    """Launches whose workgroups start and load together, and the ns of their first batch."""
    rows = np.flatnonzero((profiles.bursts_waited + profiles.bursts_ahead > 0.0) & net.scheduled)
    computed = net.computed(rows)
    loads = net.asked * np.where(LOCAL, net.per_unit[:, None], net.waves[:, None]) - output
    burst = np.where(BURSTS, loads, 0.0).max(axis=1, initial=0.0) / np.maximum(net.batches, 1.0)
    ns = computed + _bursts(profiles[rows], burst[rows], computed)
    stored = np.where(net.per_unit <= net.wide, output.max(axis=1, initial=0.0), 0.0)
    return rows, ns + stored[rows]


def _bursts(profiles: Table[Profile], burst: Array, computed: Array) -> Array:
    """ns that workgroups which start together wait for their loads, which come in bursts.

    Instructions come through the same links and from the same DRAM: code that is not yet fetched waits behind
    the loads as well, and hides nothing of them.

    Args:
        profiles: with ``bursts_waited`` or ``bursts_ahead``.
        burst: ns that the loads of one batch of workgroups take.
        computed: ns of a workgroup without them.
    """
    waited, ahead = profiles.bursts_waited, profiles.bursts_ahead
    shown: Array = waited * burst + ahead * np.maximum(0.0, burst - AHEAD * computed)
    share: Array = shown / (waited + ahead)
    return share


def times(steps: Sequence[Step], machines: Sequence[GpuModel]) -> Times:
    """Time of each step's launch on its machine."""
    return times_of(Launches.of(steps, machines))


def times_of(launches: Launches) -> Times:
    """The same, of launches that are columns already."""
    flow, lat = traffic(launches), latencies(launches.machines)
    phases, outlast = load_and_store_phases(launches, flow, lat)
    asked = demands(launches, flow, lat, phases)
    net = _network(launches, asked)
    start = _start(net, asked.start, asked.behind)
    residence, utilisation, spent = solve(net.asked * net.wide[:, None], net.own, net.delay, *net.crowd)
    ns = start + residence * np.floor(net.batches) + np.minimum(_last_batch(net), residence)
    in_turn = in_turn_ns(launches, flow, lat)
    # The directory takes one store to a line after the other, each from its probe to its end in memory.
    line_turns = flow.line_turns * lat.memory
    stored = output(launches, flow)
    adding = launches.profiles.swaps > 0.0
    for rows, longer in (
        _stored_at_the_end(net, stored, adding),
        _in_phases(net, phases, outlast),
    ):
        ns[rows] = np.maximum(ns[rows], start[rows] + longer)
    ns = start + np.maximum(_with_walks(net, ns - start, in_turn), line_turns)
    for rows, longer in (
        _walked_first(net, phases, in_turn),
        _two_buffers(net, launches.machines.vega, flow.walks.serial_walks * lat.walk),
    ):
        ns[rows] = np.maximum(ns[rows], start[rows] + longer)
    rows, batch = _first_batch(net, launches.profiles, stored)
    later = np.where(net.batches > 1.0, ns - start - residence, 0.0)[rows]
    ns[rows] = np.maximum(ns[rows], start[rows] + batch + later)
    ready = np.minimum(spent[:, :5].sum(axis=1) / np.maximum(residence, 1e-12), 1.0)
    token, walk, dram = (net.asked[:, STATIONS.index(name)] * net.waves for name in ("tokens", "tlb", "dram"))
    walk = np.maximum(walk, in_turn)
    return Times(
        launches=launches,
        ns=ns,
        start_ns=start,
        fetch_ns=asked.fetch,
        residence_ns=residence,
        ready_share=ready,
        bounds=_bounds(ns, utilisation, in_turn, line_turns),
        traffic=flow,
        resident=asked.resident,
        used=asked.used,
        token_ns=token,
        walk_ns=walk,
        dram_ns=dram,
    )


def _bounds(ns: Array, utilisation: Array, in_turn: Array, line_turns: Array) -> Numbered[str]:
    """What is busy for most of each launch; "latency" where nothing is for as long as ``BUSY``."""
    names = [*STATIONS, "line", "latency"]
    shares = [one_by_one / np.maximum(ns, 1e-12) for one_by_one in (in_turn, line_turns)]
    busy = np.vstack([utilisation.T, *shares])
    busiest = [*STATIONS, "tlb", "line"]
    top = np.array([names.index(name) for name in busiest])[busy.argmax(axis=0)]
    return Numbered(names, np.where(busy.max(axis=0) > BUSY, top, names.index("latency")))
