"""From profiles and machines to the demands of the queueing network and the time of each launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from apuflow.core.ruby import CONTROL_BYTES, DATA_BYTES
from apuflow.preview.latencies import Latencies, latencies
from apuflow.preview.machine import GpuModel
from apuflow.preview.profile import DRIFT, INSTRUCTION_BYTES, LINE, Profile, block
from apuflow.preview.queueing import LOCAL, STATIONS, SYNCHRONOUS, solve
from apuflow.preview.traffic import Traffic, distribution, resident_groups, traffic
from apuflow.preview.walks import lockstep_walks

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

TBES = 256.0
"""``--num-tbes``: stores that the directory has acknowledged and not yet finished."""
HEAD = 7
"""Columns of a row before the stations' demands."""

BURSTS = np.array([name.endswith("link") or name == "dram" for name in STATIONS])
"""Stations at which the loads of workgroups in step wait behind each other."""
AHEAD = 0.77
"""Of the computation of a step, what stands between the loads for the next one and their first use (12 of 16
parts in Tensile's loops)."""
MIXED = 3.0
"""Waits for a store and for loads after it, of a wavefront, from which on both are mixed all the time."""
EVEN = 0.78
"""Of the wait at a station, what is left where customers come evenly: between half, as in a queue with equal
service times, and all of it (Pollaczek and Khinchine)."""
HELD = 0.89
"""Of a page walk, for how long an instruction that waits for it keeps its coalescer token."""
BEHIND = 0.2
"""Of the time that the wavefronts of a workgroup take of a station, what they wait there for each other where
no barrier brings them back in step: behind one another once, they stay so."""
AGAIN = block("s6 v3 st1 wt1 br1")
"""To try an addition again: the loop after the first compare-and-swap in Tensile's kernels."""
BUSY = 0.6
"""Of a launch, for how long a resource has to be busy to be what bounds it."""
PACED = 0.82
"""Walks in turn, over the time that loads and then stores take of links and DRAM, where half of that order is
left."""
SEVERAL = 0.435
"""Of the order of loads and stores, what is left where several TCCs ask several directories."""
OUTLAST = 0.43
"""Of the time by which page walks outlast what is loaded or stored, what nothing else goes on beside."""
HIDDEN = 2.0
"""Of the waits of a loop, in which loads come that are its bound, what these hide."""
WALKED = 0.87
"""Of page walks in turn, what wavefronts that load more than once wait for before they compute: 0.65 to 1.0
in runs of average pooling backward on 8 to 60 units."""
IN_ORDER = 0.104
"""Of the wavefronts of a compute unit, those with an older load under way when a load comes back."""
SMALL, FILLED = 4.0, 0.31
"""Wavefronts up to which a workgroup queues as one customer; the power of the rest that lessens its waits."""
APART = 0.38
"""Of the wait at a station, what is left where workgroups alternate whose lines no other one reads."""
ALTERNATING = 0.49
"""As far workgroups come to take turns evenly that alternate between loads and LDS, on one compute unit. On
several, what they wait for in common brings them back in step."""


@dataclass(frozen=True)
class Times:
    """Results per launch, arrays of equal length.

    ``token_ns``: that the tokens of all compute units are in use, over the tokens of one. ``walk_ns``: of
    page walks that follow one another. ``dram_ns``: that the DRAM is busy before the launch ends.
    """

    ns: Array
    start_ns: Array
    fetch_ns: Array
    residence_ns: Array
    ready_share: Array
    bound: list[str]
    traffic: list[Traffic]
    resident: Array
    used: Array
    token_ns: Array
    walk_ns: Array
    dram_ns: Array


def _dram_ns(flow: Traffic, machine: GpuModel, mixed: bool = False) -> float:
    """DRAM time that the launch waits for: what stores leave in the directory's TBEs drains after its end."""
    ways = machine.directories
    left = min(flow.tcc_writes, TBES * ways)
    reads, writes = max(0.0, flow.dram_reads - left), max(0.0, flow.dram_writes - left)
    return machine.dram.busy_ns(reads, writes, mixed, _again(flow)) / ways


def _again(flow: Traffic) -> float:
    """Part of the writes that the memory controller's queue takes without a burst."""
    return flow.queued_writes / max(1.0, flow.queued_writes + flow.dram_writes)


def _directory_ns(flow: Traffic, machine: GpuModel) -> float:
    """Of the link between TCC and directory, in the direction that takes longer."""
    line, control = machine.link_ns(DATA_BYTES), machine.link_ns(CONTROL_BYTES)
    reads, writes = flow.requested, flow.tcc_writes
    return max(reads * line + writes * control, writes * line + reads * control)


def _in_turn(profile: Profile, machine: GpuModel, flow: Traffic, lat: Latencies) -> float:
    """ns of page walks that follow one another.

    Where one workgroup has all tokens of its compute unit, the next asks for its page when these come back: a
    page then takes 1,027 ns on one unit, of which 976 are the walk; with twice the tokens 980.
    """
    once = profile.rounds <= 1.0 and machine.tokens < 2 * profile.group_waves
    waits = once and all(stream.sharing < 1.5 for stream in profile.streams)
    return flow.in_turn * (lat.walk + (lat.token if waits else 0.0))


def _phases(profile: Profile, machine: GpuModel, flow: Traffic, lat: Latencies) -> tuple[float, float]:
    """ns of the link to the directory and of the DRAM where workgroups load together, then store together.

    Requests wait in order: a load behind the stores that came before it, on the way to the directory, while
    the way back is idle. So workgroups that load and then store stay together, batch after batch: on gem5, of
    a copy on 13 units, all lines come at one in 5.0 ns, then all go at one in 5.0 ns. A line and its last
    message take 80 bytes. Those whose page walks follow one another come one by one, and do not meet.

    Several TCCs and directories have a queue for each pair: loads of one pass while stores of another wait,
    the more, the longer one of the two takes (on gem5, with four directories, of a load and a store from 10.0
    to 6.9 ns, of two loads and a store from 15.1 to 9.7). The recorded runs of gfx902 keep their order.

    Returns:
        ns, 0 where loads follow stores; and ns by which page walks outlast what is loaded, and those of
        stores what is stored. A compute unit delivers loads in the order of their instructions
        (``GlobalMemPipeline``, ``gmOrderedRespBuffer``): what has come waits for older loads, whose pages are
        still walked.
    """
    between = (profile.store_rounds or profile.joined_rounds) and not profile.stores_last
    if not profile.counts.stores or between or profile.swaps:
        return 0.0, 0.0
    message, ways = machine.link_ns(DATA_BYTES + CONTROL_BYTES), machine.directories
    from_memory = flow.requested - flow.l3_hits
    left = min(flow.tcc_writes, TBES * ways)
    reads = max(0.0, flow.dram_reads - from_memory - left)
    writes = max(0.0, flow.dram_writes - flow.written_back - left)
    loading = max(flow.requested * message, machine.dram.busy_ns(from_memory, flow.written_back) / ways)
    storing_ns = machine.dram.busy_ns(reads, writes, again=_again(flow))
    storing = max(flow.tcc_writes * message, storing_ns / ways)
    overlapped = max(_directory_ns(flow, machine), _dram_ns(flow, machine))
    apart = max(overlapped, loading + storing)
    if machine.flat and min(machine.tccs, ways) > 1:
        balance = min(loading, storing) / max(loading, storing)
        apart = overlapped + SEVERAL * balance * (apart - overlapped)
    paced = flow.in_turn * lat.walk / apart if apart else 0.0
    stores = flow.serial_store_walks
    outlast = max(0.0, (flow.serial_walks - stores) * lat.walk - loading)
    outlast += max(0.0, stores * lat.walk - storing)
    return overlapped + (apart - overlapped) / (1.0 + (paced / PACED) ** 4), outlast


def _row(profile: Profile, machine: GpuModel, flow: Traffic, lat: Latencies, phases: float) -> list[float]:
    # With a partial last workgroup, the work is that of somewhat smaller wavefronts in all places; one alone
    # has no other wavefronts.
    waves = float(profile.workgroups * profile.group_waves)
    counts = profile.counts
    used, groups = (float(number) for number in distribution(profile, machine))
    resident = min(float(resident_groups(profile, machine)), groups)
    period = machine.issue_period * machine.gpu_ns
    line, control = machine.link_ns(DATA_BYTES), machine.link_ns(CONTROL_BYTES)
    again = (flow.tries - 1.0) * counts.stores
    warm = max(0.0, flow.waiting - flow.cold_pages)
    tokens = (
        (counts.vector_memory + again) * lat.token
        + HELD * flow.walk_tokens * lat.walk
        + warm * lat.second_tlb * 2.0
    )
    directory = _directory_ns(flow, machine)
    dram = _dram_ns(flow, machine, profile.joined_rounds > MIXED)
    if directory > dram:
        directory = max(directory, phases)
    else:
        dram = max(dram, phases)
    # A load's lines arrive one after the other over the link; from memory they also queue at the DRAM.
    lines_per_load = flow.tcp_loads / counts.loads if counts.loads else 0.0
    deciding = flow.tcp_loads - profile.trailing
    from_tcc = min(1.0, flow.tcc_reads / deciding) if deciding > 0.0 else 0.0
    from_memory = min(1.0, flow.requested / deciding) if deciding > 0.0 else 0.0
    if profile.alternating:  # who starts together wants the same lines, and waits until the first has them
        from_memory += min(1.0, used * resident / profile.workgroups) * (from_tcc - from_memory)
    # Loads are delivered in order: a hit waits for misses of other wavefronts that are older.
    older = 1.0 + IN_ORDER * (resident * profile.group_waves - 1.0)
    waits_tcc, waits_memory = (1.0 - max(0.0, 1.0 - part) ** older for part in (from_tcc, from_memory))
    load = lat.tcp + waits_tcc * (lat.tcc - lat.tcp) + waits_memory * (lat.memory - lat.tcc)
    load += max(0.0, lines_per_load - 1.0) * (from_tcc * line + from_memory * machine.dram.burst_ns)
    joined, for_stores = profile.joined_rounds, profile.store_rounds
    if not machine.flat:  # what waits for LDS or scalar loads no longer waits for stores, but loads still do
        joined, for_stores = max(joined, min(for_stores, profile.rounds)), 0.0
    delay = profile.rounds * load + joined * max(0.0, lat.store - load)
    delay += counts.instructions / waves * lat.step
    # s_endpgm waits for the acknowledgement of the wavefront's last stores, mostly to a page of their own.
    last = 0.0 if profile.swaps else 1.0
    delay += lat.store * (for_stores + last) if counts.stores else 0.0
    # An addition that another one disturbed: a swap more, behind those of all others to its line, one by one.
    delay += profile.swaps * lat.memory
    tried = (flow.tries - 1.0) * max(1.0, counts.stores / waves)  # of the wavefronts that have any
    delay += tried * (lat.memory + (flow.in_line - 1.0) * (lat.memory - lat.tcc))
    # Once, since who comes late to one page comes late to the next, and finds it: the last in the queue.
    delay += flow.late * lat.second_tlb * resident / groups
    # No more walks than a workgroup has pages; and a page is walked once: later workgroups find it.
    all_pages = sum(stream.pages for stream in profile.streams)
    stored = any(stream.kind == "store" and stream.pages for stream in profile.streams)
    # One wavefront alone asks for the pages of all that it loads at once.
    rounds = min(1.0, profile.walk_rounds) if waves == 1.0 and profile.rounds <= 1.0 else profile.walk_rounds
    walks = rounds + (1.0 if stored else 0.0)
    cold_for = sum(
        s.cold_pages * min(1.0, used * resident / max(1.0, min(s.sharing, profile.workgroups)))
        for s in profile.streams
    )
    walks *= cold_for / all_pages if all_pages else 1.0
    own = sum(stream.cold_pages * stream.sharing for stream in profile.streams) / profile.workgroups
    delay += min(walks, max(1.0, own), flow.cold_pages * resident / groups) * lat.walk
    first_fetch = lat.first_fetch - (lat.walk if profile.code_walked else 0.0)
    fetch = 0.0 if profile.code_cached else lat.refetch if profile.code_kept else lat.fetch
    first_fetch -= lat.fetch - fetch
    first_scalar = lat.arguments if profile.arguments_walked else lat.first_scalar
    start = first_fetch + profile.scalar_rounds * first_scalar + profile.scalar_again * lat.scalar
    # A wavefront holds two lines; a branch in the first keeps it from asking for the second.
    cold = max(0.0, -(-profile.code_bytes // LINE) - (1.0 if profile.early_branch else 2.0))
    if profile.scheduled:
        # Long straight code runs meanwhile: the first pass is not taken again.
        start -= min(delay, cold * LINE / INSTRUCTION_BYTES * (period + lat.step))
    start += 0.0 if profile.code_walked else profile.code_pages * lat.walk
    start += cold * fetch + lockstep_walks(profile, machine, used) * lat.walk
    return [
        used,
        resident * profile.group_waves,
        groups * profile.group_waves,
        start,
        delay,
        first_fetch + cold * fetch,
        waves,
        (counts.scalar_issues + again * AGAIN.scalar_issues) / waves * period,
        (counts.valu + again * AGAIN.valu) / waves * period / machine.simds,
        counts.lds / waves * machine.lds_cycles(profile.lds_conflicts) * machine.gpu_ns,
        (counts.vector_memory + again) / waves * period,
        tokens / waves / machine.tokens,
        (flow.tcc_reads * line + flow.tcp_stores * control) / waves,
        (flow.tcc_writes * line + flow.tcc_reads * control) / waves / machine.tccs,
        directory / waves,
        dram / waves,
        flow.serial_walks * lat.walk / waves,
    ]


def pipelined(
    demands: Array, wide: Array, behind: Array, alternating: Flags, scheduled: Flags, hidden: Array
) -> Array:
    """Time that a customer of ``wide`` wavefronts is held up at each station by its own wavefronts.

    They start together and go through scalar ALU, SIMD and LDS one behind the other, each at another
    station: a flow shop, whose time is one pass through all stations and the rest at the busiest; ``behind``
    is the part of the rest that is left. Where they load, wait for each other and compute in turns
    (``alternating``), loads come one after the other, and the pass goes on beside the busiest station. Where
    LDS accesses are issued ahead of what needs them (``scheduled``), the vector ALU works meanwhile:
    ``hidden`` of its time, all of it where the LDS is busy for longer.
    """
    own = np.where(SYNCHRONOUS, demands, 0.0)
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


def _output(profile: Profile, machine: GpuModel, flow: Traffic) -> list[float]:
    """ns that stores take of each station, of all wavefronts, where they come at the end of a launch.

    So they do where each compute unit has one workgroup that loads ahead of what it computes: then nothing is
    left that could go on meanwhile.
    """
    demands = dict.fromkeys(STATIONS, 0.0)
    if profile.scheduled:
        line = machine.link_ns(DATA_BYTES)
        demands["tcc_link"] = flow.tcc_writes * line / machine.tccs
        demands["directory_link"] = flow.tcc_writes * line
        from_memory = flow.requested - flow.l3_hits
        stores = max(0.0, flow.dram_reads - from_memory)
        loads_ns = machine.dram.busy_ns(from_memory, max(0.0, flow.dram_writes - stores))
        demands["dram"] = max(0.0, _dram_ns(flow, machine) - loads_ns / machine.directories)
    return list(demands.values())


def _bursts(profiles: Sequence[Profile], burst: Array, computed: Array) -> Array:
    """ns that workgroups which start together wait for their loads, which come in bursts.

    Instructions come through the same links and from the same DRAM: code that is not yet fetched waits behind
    the loads as well, and hides nothing of them.

    Args:
        profiles: with ``bursts_waited`` or ``bursts_ahead``.
        burst: ns that the loads of one batch of workgroups take.
        computed: ns of a workgroup without them.
    """
    waited = np.array([profile.bursts_waited for profile in profiles])
    ahead = np.array([profile.bursts_ahead for profile in profiles])
    shown: Array = waited * burst + ahead * np.maximum(0.0, burst - AHEAD * computed)
    share: Array = shown / (waited + ahead)
    return share


def times(profiles: Sequence[Profile], machines: Sequence[GpuModel]) -> Times:
    """Time of each launch on its machine."""
    flows = [traffic(p, m) for p, m in zip(profiles, machines, strict=True)]
    lats = [latencies(m) for m in machines]
    given = list(zip(profiles, machines, flows, lats, strict=True))
    phases, outlast = np.array([_phases(*one) for one in given]).reshape(len(profiles), 2).T
    rows = [_row(*one, phase) for one, phase in zip(given, phases.tolist(), strict=True)]
    table = np.array(rows, dtype=np.float64).reshape(len(profiles), HEAD + len(STATIONS))
    used, resident, per_cu, start, delay, fetch, waves = (table[:, k] for k in range(HEAD))
    demands = table[:, HEAD:].copy()
    simds = np.array([machine.simds for machine in machines], dtype=np.float64)
    # A wavefront stays on its own SIMD: the station is a quarter of the work, the rest is its latency.
    alternating = np.array([profile.alternating for profile in profiles], dtype=bool)
    vector = demands[:, STATIONS.index("valu")]
    delay = delay + np.where(alternating, 0.0, vector * (simds - 1.0))
    # The busiest compute unit has per_cu wavefronts, in batches of at most what it can hold.
    local = np.minimum(resident, per_cu)
    batches = per_cu / local
    # Wavefronts that start together wait for the same pages and tokens and so stay together: those of a
    # workgroup queue as one customer, and so do single ones as many at a time as there are tokens.
    tokens = np.array([float(machine.tokens) for machine in machines])
    per_group = np.array([float(profile.group_waves) for profile in profiles])
    wide = np.maximum(per_group, local / tokens)
    scheduled = np.array([profile.scheduled for profile in profiles], dtype=bool)
    # Other compute units disturb workgroups that have no loads ahead.
    turns = np.where(scheduled, 1.0, np.where(alternating, ALTERNATING / np.maximum(used, 1.0), 0.0))
    # What they wait for in common keeps them in step; those that read lines of their own come to take turns.
    apart = np.array([profile.apart for profile in profiles])
    turns *= 1.0 - apart
    # Barriers bring wavefronts back in step, as far as they come as often as what is waited for.
    met = np.array([profile.barriers_per_wait for profile in profiles])
    behind = BEHIND + (1.0 - BEHIND) * np.where(scheduled, 1.0, met)
    own = pipelined(demands, wide, behind, alternating, scheduled, vector * simds)
    # The wavefronts of a large workgroup are at several stations at a time, and fill each other's gaps.
    gaps = np.minimum(1.0, (SMALL / per_group) ** FILLED)
    waits = (1.0 - (1.0 - EVEN) * turns - (1.0 - APART) * apart) * gaps
    crowd = (
        local / wide,
        np.maximum(waves / batches / wide, 1.0),
        np.where(SYNCHRONOUS, waits[:, None], 1.0),
    )
    residence, utilisation, spent = solve(demands * wide[:, None], own, delay, *crowd)
    # The last workgroups are few: they have the machine for themselves, and still their latencies.
    whole = np.floor(batches)
    left = np.flatnonzero(batches > whole)
    few = (batches - whole)[left]
    rest = np.zeros_like(residence)
    fewer = (np.maximum(crowd[0][left] * few, 1.0), np.maximum(crowd[1][left] * few, 1.0), crowd[2][left])
    rest[left], _, _ = solve((demands * wide[:, None])[left], own[left], delay[left], *fewer)
    ns = start + residence * whole + np.minimum(rest, residence)
    in_turn = np.array([_in_turn(*one) for one in given])
    ns = np.maximum(ns, start + in_turn)
    # The directory takes one store to a line after the other, each from its probe to its end in memory.
    line_turns = np.array([f.line_turns * lat.memory for f, lat in zip(flows, lats, strict=True)])
    ns = np.maximum(ns, start + line_turns)
    # One workgroup on each unit, or one batch that waits for its additions: all have loaded and computed
    # before they store.
    outputs = [_output(p, m, f) for p, m, f in zip(profiles, machines, flows, strict=True)]
    output = np.array(outputs, dtype=np.float64).reshape(demands.shape)
    adding = np.array([profile.swaps > 0.0 for profile in profiles], dtype=bool)
    at_once = np.flatnonzero((per_cu <= np.where(adding, resident, wide)) & output.any(axis=1))
    before = np.maximum(demands - output / waves[:, None], 0.0)
    loaded, _, _ = solve(*(column[at_once] for column in (before * wide[:, None], own, delay, *crowd)))
    ns[at_once] = np.maximum(ns[at_once], start[at_once] + loaded + output[at_once].max(axis=1))
    # All workgroups at once, each of which waits once for all that it loads, or gathers in LDS what it
    # computes: they load, compute and store, one after the other. In a long loop some of a unit load while
    # others compute.
    local_memory = np.array([profile.counts.lds > 0.0 for profile in profiles], dtype=bool)
    rounds = np.array([profile.rounds for profile in profiles])
    gathering = local_memory | (rounds <= 1.0)
    together = np.flatnonzero((per_cu <= resident) & (phases > 0.0) & ~scheduled & gathering)
    quiet = np.where(SYNCHRONOUS, demands * wide[:, None], 0.0)
    computed, _, _ = solve(*(column[together] for column in (quiet, own, delay, *crowd)))
    loops = np.where(alternating, rounds, 0.0)[together]
    others = crowd[0] + apart * np.maximum(crowd[1] - crowd[0], 0.0)
    beside = others[together] ** (loops / (loops + DRIFT))
    hidden = np.where(alternating, rounds / (rounds + HIDDEN), 1.0) * delay
    computed += np.maximum((phases + OUTLAST * outlast - hidden)[together], 0.0) / beside
    ns[together] = np.maximum(ns[together], start[together] + computed)
    # Wavefronts that load more than once, and meet nobody: their second loads are delivered behind the first
    # of all others, so that the first batch has walked its pages before it computes.
    alone = local_memory & (rounds > 1.0) & (met == 0.0)
    behind_all = np.flatnonzero(alone & ~scheduled & ~alternating)
    computed, _, _ = solve(*(column[behind_all] for column in (quiet, own, delay, *crowd)))
    walked = np.maximum(phases, WALKED * in_turn) / batches
    computed = computed * batches[behind_all] + np.maximum(walked - delay, 0.0)[behind_all]
    ns[behind_all] = np.maximum(ns[behind_all], start[behind_all] + computed)
    # Workgroups that start together load together: the first batch.
    steps = np.array([profile.bursts_waited + profile.bursts_ahead for profile in profiles])
    first = np.flatnonzero((steps > 0.0) & scheduled)
    computed, _, _ = solve(*(column[first] for column in (quiet, own, delay, *crowd)))
    loads = demands * np.where(LOCAL, per_cu[:, None], waves[:, None]) - output
    burst = np.where(BURSTS, loads, 0.0).max(axis=1, initial=0.0) / np.maximum(batches, 1.0)
    batch = computed + _bursts([profiles[int(k)] for k in first], burst[first], computed)
    batch += np.where(per_cu <= wide, output.max(axis=1, initial=0.0), 0.0)[first]
    later = np.where(batches > 1.0, ns - start - residence, 0.0)[first]
    ns[first] = np.maximum(ns[first], start[first] + batch + later)
    names = np.array(STATIONS)
    top = utilisation.max(axis=1, initial=0.0)
    best = names[utilisation.argmax(axis=1)] if len(profiles) else names[:0]
    for name, one_by_one in (("tlb", in_turn), ("line", line_turns)):
        busy_share = one_by_one / np.maximum(ns, 1e-12)
        best, top = np.where(busy_share > top, name, best), np.maximum(top, busy_share)
    bound = [str(name) if high > BUSY else "latency" for name, high in zip(best, top, strict=True)]
    ready = np.minimum(spent[:, :5].sum(axis=1) / np.maximum(residence, 1e-12), 1.0)
    busy = (table[:, HEAD + STATIONS.index(name)] * waves for name in ("tokens", "tlb", "dram"))
    return Times(ns, start, fetch, residence, ready, bound, flows, resident, used, *busy)
