"""What a launch asks of the stations of the queueing network, and the latencies that it waits for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from apuflow.core.ruby import CONTROL_BYTES, DATA_BYTES
from apuflow.preview.instructions import INSTRUCTION_BYTES, block
from apuflow.preview.latencies import Latencies
from apuflow.preview.lines import LINE
from apuflow.preview.queueing import STATIONS
from apuflow.preview.tables import Accesses, Array, Gpus, Launches
from apuflow.preview.traffic import Traffic
from apuflow.preview.walks import lockstep_walks

TBES = 256.0
"""``--num-tbes``: stores that the directory has acknowledged and not yet finished."""
HELD = 0.85
"""Of a page walk, for how long an instruction that waits for it keeps its coalescer token."""
AGAIN = block("s6 v3 st1 wt1 br1")
"""To try an addition again: the loop after the first compare-and-swap in Tensile's kernels."""
SEVERAL = 0.25
"""Of the order of loads and stores, what is left where several TCCs ask several directories, and a wavefront
stores what it has loaded soon."""
LONG = 52.0
"""Instructions of a wavefront from which on it does not: a load and a store take 5.9 ns a line in a copy (27
instructions), 7.4 in ReLU (39), 9.6 to 9.9 in sigmoid, tanh and soft ReLU (126 to 208), 16 and 51 units with
four TCCs and directories, gem5 v24.0.0.1."""


class Demands(NamedTuple):
    """Of each launch; times in ns.

    Attributes:
        used: compute units with work.
        resident: wavefronts that a compute unit has at a time; per_unit: of the busiest one, in all.
        start: until the first wavefront begins; fetch: of it, for code; behind: of that, for code behind the
            first loads.
        delay: latencies that a wavefront waits for.
        wavefronts: of the launch.
        stations: (launches, stations): that a wavefront takes of each, in their order.
    """

    used: Array
    resident: Array
    per_unit: Array
    start: Array
    fetch: Array
    behind: Array
    delay: Array
    wavefronts: Array
    stations: Array


@np.errstate(divide="ignore", invalid="ignore")
def demands(launches: Launches, flow: Traffic, lat: Latencies, phases: Array) -> Demands:
    """What launches ask of each station (``phases``: of ``load_and_store_phases``).

    With a partial last workgroup, the work is that of somewhat smaller wavefronts in all places; one alone
    has no other wavefronts.
    """
    profile, counts, machine = launches.profiles, launches.counts, launches.machines
    waves = profile.workgroups * profile.group_waves
    used, groups, resident = launches.used, launches.busiest, launches.resident
    period = machine.issue_period * machine.gpu_ns
    line, control = machine.link_ns(DATA_BYTES), machine.link_ns(CONTROL_BYTES)
    again = (flow.tries - 1.0) * counts.stores
    directory = directory_ns(flow, machine)
    dram = dram_ns(flow, machine, profile.joined_rounds > 0.0)
    busier = directory > dram
    directory = np.where(busier, np.maximum(directory, phases), directory)
    dram = np.where(busier, dram, np.maximum(dram, phases))
    tcc_link = tcc_link_ns(flow, machine)
    slowest = np.maximum(np.maximum(tcc_link, directory), dram)
    tcc_link, directory = (np.where(ns == slowest, ns, 0.0) for ns in (tcc_link, directory))
    delay = _waits(launches, flow, lat) + _walks(launches, flow, lat)
    start, fetch, behind = _start(launches, lat, delay)
    stations = (
        (counts.scalar_issues + again * AGAIN.scalar_issues) / waves * period,
        (counts.valu + again * AGAIN.valu) / waves * period / machine.simds,
        counts.lds / waves * machine.lds_cycles(profile.lds_conflicts) * machine.gpu_ns,
        (counts.vector_memory + again) / waves * period,
        _tokens(launches, flow, lat, again) / waves / machine.tokens,
        (flow.tcc_reads * line + flow.tcp_stores * control) / waves,
        tcc_link / waves,
        directory / waves,
        dram / waves,
        flow.walks.serial_walks * lat.walk / waves,
    )
    return Demands(
        used=used,
        resident=resident * profile.group_waves,
        per_unit=groups * profile.group_waves,
        start=start,
        fetch=fetch,
        behind=behind,
        delay=delay,
        wavefronts=waves,
        stations=np.stack(stations, axis=1),
    )


def _waits(launches: Launches, flow: Traffic, lat: Latencies) -> Array:
    """ns that a wavefront waits for loads, stores and additions."""
    profile, counts, vega = launches.profiles, launches.counts, launches.machines.vega
    waves = profile.workgroups * profile.group_waves
    load = _load(launches, flow, lat)
    # Not on gfx9: what waits for LDS or scalar loads no longer waits for stores, but loads still do.
    both = np.maximum(profile.joined_rounds, np.minimum(profile.store_rounds, profile.rounds))
    joined = np.where(vega, both, profile.joined_rounds)
    for_stores = np.where(vega, 0.0, profile.store_rounds)
    waits = profile.rounds * load + joined * np.maximum(0.0, lat.store - load)
    waits = waits + counts.instructions / waves * lat.step
    # s_endpgm waits for the acknowledgement of the wavefront's last stores, mostly to a page of their own.
    last = np.where(profile.swaps > 0.0, 0.0, 1.0)
    waits = waits + np.where(counts.stores > 0.0, lat.store * (for_stores + last), 0.0)
    # An addition that another one disturbed: a swap more, behind those of all others to its line, one by one.
    waits = waits + profile.swaps * lat.memory
    tried = (flow.tries - 1.0) * np.maximum(1.0, counts.stores / waves)  # of the wavefronts that have any
    return waits + tried * (lat.memory + (flow.in_line - 1.0) * (lat.memory - lat.tcc))


def _load(launches: Launches, flow: Traffic, lat: Latencies) -> Array:
    """ns from a load to its last line, which come one after the other; from memory they queue at the DRAM."""
    profile, counts, machine = launches.profiles, launches.counts, launches.machines
    lines_per_load = np.where(counts.loads > 0.0, flow.tcp_loads / counts.loads, 0.0)
    deciding = flow.tcp_loads - profile.trailing
    from_tcc, from_memory = (
        np.where(deciding > 0.0, np.minimum(1.0, lines / deciding), 0.0)
        for lines in (flow.tcc_reads, flow.requested)
    )
    # Loads are delivered in order, whole: a hit waits for a miss of its own and for those that are older.
    older = launches.resident * profile.group_waves * np.maximum(1.0, lines_per_load)
    waits_tcc, waits_memory = (1.0 - np.maximum(0.0, 1.0 - part) ** older for part in (from_tcc, from_memory))
    load = lat.tcp + waits_tcc * (lat.tcc - lat.tcp) + waits_memory * (lat.memory - lat.tcc)
    link = from_tcc * machine.link_ns(DATA_BYTES) + from_memory * machine.dram.burst_ns
    return load + np.maximum(0.0, lines_per_load - 1.0) * link


def _walks(launches: Launches, flow: Traffic, lat: Latencies) -> Array:
    """ns that a wavefront waits for page walks."""
    profile, accesses = launches.profiles, launches.accesses
    # Of the workgroups of a compute unit, those that it has at a time.
    batch = launches.resident / launches.busiest
    # Once, since who comes late to one page comes late to the next, and finds it: the last in the queue.
    late = flow.walks.late * lat.second_tlb * batch
    # No more walks than a workgroup has pages; and a page is walked once: later workgroups find it.
    walks = profile.walk_rounds * _walked_for(launches.loads) + _walked_for(launches.stores)
    own = accesses.sum(accesses.cold_pages * accesses.streams.sharing) / profile.workgroups
    walks = np.minimum(np.minimum(walks, np.maximum(1.0, own)), flow.walks.cold_pages * batch)
    return late + walks * lat.walk


def _walked_for(accesses: Accesses) -> Array:
    """Part of their pages that workgroups which run wait for: nobody has walked them before."""
    stream, workgroups = accesses.streams, accesses.profiles.workgroups
    pages = accesses.sum(accesses.pages)
    sharing = np.maximum(1.0, np.minimum(stream.sharing, workgroups))
    cold = accesses.sum(accesses.cold_pages * np.minimum(1.0, accesses.running / sharing))
    return np.where(pages > 0.0, cold / pages, 0.0)


def _start(launches: Launches, lat: Latencies, delay: Array) -> tuple[Array, Array, Array]:
    """ns until the first wavefront computes; of it, for code; of that, for code behind its first loads."""
    profile, found, machine = launches.profiles, launches.found, launches.machines
    first_fetch = lat.first_fetch - np.where(found.code_walked, lat.walk, 0.0)
    fetch = np.where(found.code_cached, 0.0, np.where(found.code_kept, lat.refetch, lat.fetch))
    first_fetch = first_fetch - (lat.fetch - fetch)
    # Of arguments whose page is walked the CPU's caches have the first lines.
    walked = lat.arguments + (profile.scalar_rounds - 1.0) * lat.scalar
    scalars = np.where(found.arguments_walked, walked, profile.scalar_rounds * lat.first_scalar)
    start = first_fetch + scalars + profile.scalar_again * lat.scalar
    # A wavefront holds two lines; a branch in the first keeps it from asking for the second.
    held = np.where(profile.early_branch, 1.0, 2.0)
    cold = np.maximum(0.0, -(-profile.code_bytes // LINE) - held)
    # Long straight code runs meanwhile: the first pass is not taken again.
    period = machine.issue_period * machine.gpu_ns
    straight = np.minimum(delay, cold * LINE / INSTRUCTION_BYTES * (period + lat.step))
    start = start - np.where(profile.scheduled, straight, 0.0)
    start = start + np.where(found.code_walked, 0.0, profile.code_pages * lat.walk)
    start = start + (cold * fetch + lockstep_walks(launches) * lat.walk)
    return start, first_fetch + cold * fetch, np.where(profile.loads_first, cold * fetch, 0.0)


def _tokens(launches: Launches, flow: Traffic, lat: Latencies, again: Array) -> Array:
    """ns that all instructions hold coalescer tokens, ``again`` of them once more."""
    walks = flow.walks
    warm = np.maximum(0.0, walks.waiting - walks.cold_pages)
    held = (launches.counts.vector_memory + again) * lat.token
    return held + HELD * walks.walk_tokens * lat.walk + warm * lat.second_tlb * 2.0


def dram_ns(flow: Traffic, machine: Gpus, mixed: Array | bool = False) -> Array:
    """DRAM time that a launch waits for: what stores leave in the directory's TBEs drains after its end."""
    ways = machine.directories
    left = np.minimum(flow.tcc_writes, TBES * ways)
    reads, writes = np.maximum(0.0, flow.dram_reads - left), np.maximum(0.0, flow.dram_writes - left)
    return machine.busy_ns(reads, writes, mixed) / ways


def directory_ns(flow: Traffic, machine: Gpus) -> Array:
    """Of the link between TCC and directory, in the direction that takes longer."""
    line, control = machine.link_ns(DATA_BYTES), machine.link_ns(CONTROL_BYTES)
    reads, writes = flow.requested, flow.tcc_writes
    return np.maximum(reads * line + writes * control, writes * line + reads * control)


def tcc_link_ns(flow: Traffic, machine: Gpus) -> Array:
    """Of a TCC's own link, which has what comes from TCPs and what comes from directories.

    What goes out has links at its other ends alone (``SimpleNetwork::makeExtInLink`` has no throttle).
    """
    line, control = machine.link_ns(DATA_BYTES), machine.link_ns(CONTROL_BYTES)
    from_tcps = flow.tcc_writes * line + flow.tcc_reads * control
    from_directories = flow.requested * line + flow.tcc_writes * control
    return (from_tcps + from_directories) / machine.tccs


def in_turn_ns(launches: Launches, flow: Traffic, lat: Latencies) -> Array:
    """ns of page walks that follow one another.

    Where one workgroup has all tokens of its compute unit, the next asks for its page when these come back: a
    page then takes 1,027 ns on one unit, of which 976 are the walk; with twice the tokens 980. On gfx902,
    further workgroups of a unit that want the page look it up in the L2 TLB, one after the other: 1,080 ns
    where two do, 1,190 where four do (activations on one unit).
    """
    profile, sharing = launches.profiles, launches.sharing
    once = profile.rounds <= 1.0
    waits = once & (launches.machines.tokens < 2 * profile.group_waves) & (sharing < 1.5)
    alike = once & (sharing <= 4.0) & launches.machines.vega
    behind = np.where(alike, np.maximum(0.0, sharing / launches.used - 1.0) * lat.second_tlb, 0.0)
    return flow.walks.in_turn * (lat.walk + np.where(waits, lat.token, 0.0) + behind)


@np.errstate(divide="ignore", invalid="ignore")
def load_and_store_phases(launches: Launches, flow: Traffic, lat: Latencies) -> tuple[Array, Array]:
    """ns of the link to the directory and of the DRAM where workgroups load together, then store together.

    Requests wait in order: a load behind the stores that came before it, on the way to the directory, while
    the way back is idle. So workgroups that load and then store stay together, batch after batch: on gem5, of
    a copy on 13 units, all lines come at one in 5.0 ns, then all go at one in 5.0 ns. A line and its last
    message take 80 bytes.

    Several TCCs and directories have a queue for each pair: loads of one pass while stores of another wait,
    the more, the longer one of the two takes. Where wavefronts compute for long between the two (``LONG``),
    the first batch loads before any of it stores; later ones mix (softmax on 3 to 48 units, gem5 v24.0.0.1).

    Where loads follow stores, they mix; but none are under way while workgroups gather in LDS what they have
    loaded, more than they store.

    Returns:
        ns, 0 where they are no phase; and ns by which page walks outlast what is loaded, and those of
        stores what is stored. A compute unit delivers loads in the order of their instructions
        (``GlobalMemPipeline``, ``gmOrderedRespBuffer``): what has come waits for older loads, whose pages are
        still walked.
    """
    profile, counts, machine, walks = launches.profiles, launches.counts, launches.machines, flow.walks
    overlapped = np.maximum(directory_ns(flow, machine), dram_ns(flow, machine))
    message, ways = machine.link_ns(DATA_BYTES + CONTROL_BYTES), machine.directories
    from_memory = flow.requested - flow.l3_hits
    left = np.minimum(flow.tcc_writes, TBES * ways)
    reads = np.maximum(0.0, flow.dram_reads - from_memory - left)
    writes = np.maximum(0.0, flow.dram_writes - flow.written_back - left)
    loading_ns = machine.busy_ns(from_memory, flow.written_back)
    loading = np.maximum(flow.requested * message, loading_ns / ways)
    storing = np.maximum(flow.tcc_writes * message, machine.busy_ns(reads, writes) / ways)
    apart = np.maximum(overlapped, loading + storing)
    order = SEVERAL * np.minimum(loading, storing) / np.maximum(loading, storing)
    long = counts.instructions > LONG * profile.wavefronts
    batches = np.maximum(1.0, launches.busiest / launches.resident)
    order = np.where(long, 1.0 / batches, order)
    several = np.minimum(machine.tccs, ways) > 1
    apart = np.where(several, overlapped + order * (apart - overlapped), apart)
    stores = walks.serial_store_walks
    outlast = np.maximum(0.0, (walks.serial_walks - stores) * lat.walk - loading)
    outlast = outlast + np.maximum(0.0, stores * lat.walk - storing)
    mixing = ((profile.store_rounds > 0.0) | (profile.joined_rounds > 0.0)) & ~profile.stores_last
    in_turns = profile.scheduled | profile.alternating
    gathering = (counts.lds > 0.0) & (counts.loads >= counts.stores) & ~in_turns
    phases = np.where(mixing, np.where(gathering, overlapped, 0.0), apart)
    none = (counts.stores == 0.0) | (profile.swaps > 0.0)
    return np.where(none, 0.0, phases), np.where(none | mixing, 0.0, outlast)


def output(launches: Launches, flow: Traffic) -> Array:
    """ns that stores take of each station, of all wavefronts, where they come at the end of a launch.

    So they do where each compute unit has one workgroup that loads ahead of what it computes: then nothing is
    left that could go on meanwhile.

    Returns:
        (launches, stations).
    """
    machine, scheduled = launches.machines, launches.profiles.scheduled
    line = machine.link_ns(DATA_BYTES)
    from_memory = flow.requested - flow.l3_hits
    stores = np.maximum(0.0, flow.dram_reads - from_memory)
    loads_ns = machine.busy_ns(from_memory, np.maximum(0.0, flow.dram_writes - stores))
    taken = {
        "tcc_link": flow.tcc_writes * line / machine.tccs,
        "directory_link": flow.tcc_writes * line,
        "dram": np.maximum(0.0, dram_ns(flow, machine) - loads_ns / machine.directories),
    }
    found = np.zeros((len(launches), len(STATIONS)))
    for name, ns in taken.items():
        found[:, STATIONS.index(name)] = np.where(scheduled, ns, 0.0)
    return found
