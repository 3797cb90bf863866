"""What a launch asks of the stations of the queueing network, and the latencies that it waits for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from apuflow.core.ruby import CONTROL_BYTES, DATA_BYTES
from apuflow.preview.latencies import Latencies
from apuflow.preview.machine import GpuModel
from apuflow.preview.profile import INSTRUCTION_BYTES, LINE, Profile, Stream, block
from apuflow.preview.queueing import STATIONS
from apuflow.preview.traffic import Traffic, distribution, resident_groups
from apuflow.preview.walks import lockstep_walks

TBES = 256.0
"""``--num-tbes``: stores that the directory has acknowledged and not yet finished."""
MIXED = 3.0
"""Waits for a store and for loads after it, of a wavefront, from which on both are mixed all the time."""
HELD = 0.89
"""Of a page walk, for how long an instruction that waits for it keeps its coalescer token."""
AGAIN = block("s6 v3 st1 wt1 br1")
"""To try an addition again: the loop after the first compare-and-swap in Tensile's kernels."""
PACED = 0.82
"""Walks in turn, over the time that loads and then stores take of links and DRAM, where half of that order is
left."""
SEVERAL, TURNS_OF_TWO = 0.435, 0.7
"""Of the order of loads and stores, what is left where several TCCs ask several directories; and, on gfx902,
where two of them ask each directory."""
SPACED = 0.55
"""Of what messages take of a link that is not the slowest of their way: there they come one by one, spaced by
that one, and seldom wait."""
IN_ORDER = 0.12
"""Of the wavefronts of a compute unit, those with an older load under way when a load comes back."""


class Demands(NamedTuple):
    """Of one launch; times in ns.

    Attributes:
        used: compute units with work.
        resident: wavefronts that a compute unit has at a time; per_unit: of the busiest one, in all.
        start: until the first wavefront begins; fetch: of it, for code; behind: of that, for code behind the
            first loads.
        delay: latencies that a wavefront waits for.
        wavefronts: of the launch.
        stations: that a wavefront takes of each, in their order.
    """

    used: float
    resident: float
    per_unit: float
    start: float
    fetch: float
    behind: float
    delay: float
    wavefronts: float
    stations: tuple[float, ...]


def demands(profile: Profile, machine: GpuModel, flow: Traffic, lat: Latencies, phases: float) -> Demands:
    """What a launch asks of each station (``phases``: of ``load_and_store_phases``).

    With a partial last workgroup, the work is that of somewhat smaller wavefronts in all places; one alone
    has no other wavefronts.
    """
    waves = float(profile.workgroups * profile.group_waves)
    counts = profile.counts
    used, groups = (float(number) for number in distribution(profile, machine))
    resident = min(float(resident_groups(profile, machine)), groups)
    period = machine.issue_period * machine.gpu_ns
    line, control = machine.link_ns(DATA_BYTES), machine.link_ns(CONTROL_BYTES)
    again = (flow.tries - 1.0) * counts.stores
    directory = directory_ns(flow, machine)
    dram = dram_ns(flow, machine, profile.joined_rounds > MIXED)
    if directory > dram:
        directory = max(directory, phases)
    else:
        dram = max(dram, phases)
    tcc_link = tcc_link_ns(flow, machine)
    slowest = max(tcc_link, directory, dram)
    tcc_link, directory = (ns if ns == slowest else SPACED * ns for ns in (tcc_link, directory))
    delay = _waits(profile, machine, flow, lat, (used, resident)) + _walks(
        profile, flow, lat, used * resident, resident / groups
    )
    start, fetch, behind = _start(profile, machine, lat, used, delay)
    stations = (
        (counts.scalar_issues + again * AGAIN.scalar_issues) / waves * period,
        (counts.valu + again * AGAIN.valu) / waves * period / machine.simds,
        counts.lds / waves * machine.lds_cycles(profile.lds_conflicts) * machine.gpu_ns,
        (counts.vector_memory + again) / waves * period,
        _tokens(profile, flow, lat, again) / waves / machine.tokens,
        (flow.tcc_reads * line + flow.tcp_stores * control) / waves,
        tcc_link / waves,
        directory / waves,
        dram / waves,
        flow.serial_walks * lat.walk / waves,
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
        stations=stations,
    )


def _waits(
    profile: Profile, machine: GpuModel, flow: Traffic, lat: Latencies, groups: tuple[float, float]
) -> float:
    """ns that a wavefront waits for loads, stores and additions; ``groups``: units, workgroups on each."""
    counts, waves = profile.counts, float(profile.workgroups * profile.group_waves)
    load = _load(profile, machine, flow, lat, groups)
    joined, for_stores = profile.joined_rounds, profile.store_rounds
    if not machine.flat:  # what waits for LDS or scalar loads no longer waits for stores, but loads still do
        joined, for_stores = max(joined, min(for_stores, profile.rounds)), 0.0
    waits = profile.rounds * load + joined * max(0.0, lat.store - load)
    waits += counts.instructions / waves * lat.step
    # s_endpgm waits for the acknowledgement of the wavefront's last stores, mostly to a page of their own.
    last = 0.0 if profile.swaps else 1.0
    waits += lat.store * (for_stores + last) if counts.stores else 0.0
    # An addition that another one disturbed: a swap more, behind those of all others to its line, one by one.
    waits += profile.swaps * lat.memory
    tried = (flow.tries - 1.0) * max(1.0, counts.stores / waves)  # of the wavefronts that have any
    return waits + tried * (lat.memory + (flow.in_line - 1.0) * (lat.memory - lat.tcc))


def _load(
    profile: Profile, machine: GpuModel, flow: Traffic, lat: Latencies, groups: tuple[float, float]
) -> float:
    """ns from a load to its last line, which come one after the other; from memory they queue at the DRAM."""
    counts, (used, resident) = profile.counts, groups
    lines_per_load = flow.tcp_loads / counts.loads if counts.loads else 0.0
    deciding = flow.tcp_loads - profile.trailing
    from_tcc = min(1.0, flow.tcc_reads / deciding) if deciding > 0.0 else 0.0
    from_memory = min(1.0, flow.requested / deciding) if deciding > 0.0 else 0.0
    if profile.alternating:  # who starts together wants the same lines, and waits until the first has them
        together = min(1.0, used * resident / profile.workgroups)
        from_memory += together * max(0.0, from_tcc * _not_cached(profile) - from_memory)
    # Loads are delivered in order: a hit waits for misses of other wavefronts that are older.
    older = 1.0 + IN_ORDER * (resident * profile.group_waves - 1.0)
    waits_tcc, waits_memory = (1.0 - max(0.0, 1.0 - part) ** older for part in (from_tcc, from_memory))
    load: float = lat.tcp + waits_tcc * (lat.tcc - lat.tcp) + waits_memory * (lat.memory - lat.tcc)
    link = from_tcc * machine.link_ns(DATA_BYTES) + from_memory * machine.dram.burst_ns
    return load + max(0.0, lines_per_load - 1.0) * link


def _not_cached(profile: Profile) -> float:
    """Part of the lines to be loaded that the TCC does not have from earlier launches."""
    loaded = [stream for stream in profile.streams if stream.kind == "load"]
    lines = sum(stream.lines for stream in loaded)
    return 1.0 - sum(stream.lines * stream.cached for stream in loaded) / lines if lines else 1.0


def _walks(profile: Profile, flow: Traffic, lat: Latencies, running: float, batch: float) -> float:
    """ns that a wavefront waits for page walks.

    Args:
        running: workgroups that run at a time.
        batch: of the workgroups of a compute unit, those that it has at a time.
    """
    # Once, since who comes late to one page comes late to the next, and finds it: the last in the queue.
    late = flow.late * lat.second_tlb * batch
    # No more walks than a workgroup has pages; and a page is walked once: later workgroups find it.
    streams = profile.streams
    loaded, stored = ([s for s in streams if s.kind == kind and s.pages] for kind in ("load", "store"))
    # One wavefront alone asks for the pages of all that it loads at once.
    alone = profile.workgroups * profile.group_waves == 1 and profile.rounds <= 1.0
    rounds = min(1.0, profile.walk_rounds) if alone else profile.walk_rounds
    walks = rounds * _walked_for(loaded, profile.workgroups, running)
    walks += _walked_for(stored, profile.workgroups, running)
    own = sum(stream.cold_pages * stream.sharing for stream in streams) / profile.workgroups
    return late + min(walks, max(1.0, own), flow.cold_pages * batch) * lat.walk


def _walked_for(streams: Sequence[Stream], workgroups: int, running: float) -> float:
    """Part of their pages that workgroups which run wait for: nobody has walked them before."""
    pages = sum(stream.pages for stream in streams)
    cold = sum(s.cold_pages * min(1.0, running / max(1.0, min(s.sharing, workgroups))) for s in streams)
    return cold / pages if pages else 0.0


def _start(
    profile: Profile, machine: GpuModel, lat: Latencies, used: float, delay: float
) -> tuple[float, float, float]:
    """ns until the first wavefront computes; of it, for code; of that, for code behind its first loads."""
    first_fetch = lat.first_fetch - (lat.walk if profile.code_walked else 0.0)
    fetch = 0.0 if profile.code_cached else lat.refetch if profile.code_kept else lat.fetch
    first_fetch -= lat.fetch - fetch
    if profile.arguments_walked:  # of their lines the CPU's caches have the first
        scalars = lat.arguments + (profile.scalar_rounds - 1.0) * lat.scalar
    else:
        scalars = profile.scalar_rounds * lat.first_scalar
    start = first_fetch + scalars + profile.scalar_again * lat.scalar
    # A wavefront holds two lines; a branch in the first keeps it from asking for the second.
    cold = max(0.0, -(-profile.code_bytes // LINE) - (1.0 if profile.early_branch else 2.0))
    if profile.scheduled:
        # Long straight code runs meanwhile: the first pass is not taken again.
        period = machine.issue_period * machine.gpu_ns
        start -= min(delay, cold * LINE / INSTRUCTION_BYTES * (period + lat.step))
    start += 0.0 if profile.code_walked else profile.code_pages * lat.walk
    start += cold * fetch + lockstep_walks(profile, machine, used) * lat.walk
    return start, first_fetch + cold * fetch, cold * fetch if profile.loads_first else 0.0


def _tokens(profile: Profile, flow: Traffic, lat: Latencies, again: float) -> float:
    """ns that all instructions hold coalescer tokens, ``again`` of them once more."""
    warm = max(0.0, flow.waiting - flow.cold_pages)
    held = (profile.counts.vector_memory + again) * lat.token
    return held + HELD * flow.walk_tokens * lat.walk + warm * lat.second_tlb * 2.0


def dram_ns(flow: Traffic, machine: GpuModel, mixed: bool = False) -> float:
    """DRAM time that the launch waits for: what stores leave in the directory's TBEs drains after its end."""
    ways = machine.directories
    left = min(flow.tcc_writes, TBES * ways)
    reads, writes = max(0.0, flow.dram_reads - left), max(0.0, flow.dram_writes - left)
    return machine.dram.busy_ns(reads, writes, mixed, _again(flow)) / ways


def _again(flow: Traffic) -> float:
    """Part of the writes that the memory controller's queue takes without a burst."""
    return flow.queued_writes / max(1.0, flow.queued_writes + flow.dram_writes)


def directory_ns(flow: Traffic, machine: GpuModel) -> float:
    """Of the link between TCC and directory, in the direction that takes longer."""
    line, control = machine.link_ns(DATA_BYTES), machine.link_ns(CONTROL_BYTES)
    reads, writes = flow.requested, flow.tcc_writes
    return max(reads * line + writes * control, writes * line + reads * control)


def tcc_link_ns(flow: Traffic, machine: GpuModel) -> float:
    """Of a TCC's own link, which has what comes from TCPs and what comes from directories.

    What goes out has links at its other ends alone (``SimpleNetwork::makeExtInLink`` has no throttle).
    """
    line, control = machine.link_ns(DATA_BYTES), machine.link_ns(CONTROL_BYTES)
    from_tcps = flow.tcc_writes * line + flow.tcc_reads * control
    from_directories = flow.requested * line + flow.tcc_writes * control
    return (from_tcps + from_directories) / machine.tccs


def in_turn_ns(profile: Profile, machine: GpuModel, flow: Traffic, lat: Latencies) -> float:
    """ns of page walks that follow one another.

    Where one workgroup has all tokens of its compute unit, the next asks for its page when these come back: a
    page then takes 1,027 ns on one unit, of which 976 are the walk; with twice the tokens 980.
    """
    once = profile.rounds <= 1.0 and machine.tokens < 2 * profile.group_waves
    waits = once and all(stream.sharing < 1.5 for stream in profile.streams)
    return flow.in_turn * (lat.walk + (lat.token if waits else 0.0))


def load_and_store_phases(
    profile: Profile, machine: GpuModel, flow: Traffic, lat: Latencies
) -> tuple[float, float]:
    """ns of the link to the directory and of the DRAM where workgroups load together, then store together.

    Requests wait in order: a load behind the stores that came before it, on the way to the directory, while
    the way back is idle. So workgroups that load and then store stay together, batch after batch: on gem5, of
    a copy on 13 units, all lines come at one in 5.0 ns, then all go at one in 5.0 ns. A line and its last
    message take 80 bytes. Those whose page walks follow one another come one by one, and do not meet.

    Several TCCs and directories have a queue for each pair: loads of one pass while stores of another wait,
    the more, the longer one of the two takes (on gem5, with four directories, of a load and a store from 10.0
    to 6.9 ns, of two loads and a store from 15.1 to 9.7). Both have lines in turn: with more TCCs than
    directories, each of these has several of those, whose requests wait for each other. Of five such layers
    drawn at random on gfx902, 0.44, 0.67 and 0.96 of the order is left with two, 0.55 and all with four.

    Where loads follow stores, they mix; but none are under way while workgroups gather in LDS what they have
    loaded, more than they store.

    Returns:
        ns, 0 where they are no phase; and ns by which page walks outlast what is loaded, and those of
        stores what is stored. A compute unit delivers loads in the order of their instructions
        (``GlobalMemPipeline``, ``gmOrderedRespBuffer``): what has come waits for older loads, whose pages are
        still walked.
    """
    if not profile.counts.stores or profile.swaps:
        return 0.0, 0.0
    overlapped = max(directory_ns(flow, machine), dram_ns(flow, machine))
    if (profile.store_rounds or profile.joined_rounds) and not profile.stores_last:
        in_turns = profile.scheduled or profile.alternating
        gathering = profile.counts.lds and profile.counts.loads >= profile.counts.stores and not in_turns
        return overlapped if gathering else 0.0, 0.0
    message, ways = machine.link_ns(DATA_BYTES + CONTROL_BYTES), machine.directories
    from_memory = flow.requested - flow.l3_hits
    left = min(flow.tcc_writes, TBES * ways)
    reads = max(0.0, flow.dram_reads - from_memory - left)
    writes = max(0.0, flow.dram_writes - flow.written_back - left)
    loading = max(flow.requested * message, machine.dram.busy_ns(from_memory, flow.written_back) / ways)
    storing_ns = machine.dram.busy_ns(reads, writes, again=_again(flow))
    storing = max(flow.tcc_writes * message, storing_ns / ways)
    apart = max(overlapped, loading + storing)
    if min(machine.tccs, ways) > 1:
        order = SEVERAL * min(loading, storing) / max(loading, storing)
        if machine.tccs > ways and not machine.flat:
            order = TURNS_OF_TWO if machine.tccs == 2 * ways else 1.0
        apart = overlapped + order * (apart - overlapped)
    paced = flow.in_turn * lat.walk / apart if apart else 0.0
    stores = flow.serial_store_walks
    outlast = max(0.0, (flow.serial_walks - stores) * lat.walk - loading)
    outlast += max(0.0, stores * lat.walk - storing)
    return overlapped + (apart - overlapped) / (1.0 + (paced / PACED) ** 4), outlast


def output(profile: Profile, machine: GpuModel, flow: Traffic) -> list[float]:
    """ns that stores take of each station, of all wavefronts, where they come at the end of a launch.

    So they do where each compute unit has one workgroup that loads ahead of what it computes: then nothing is
    left that could go on meanwhile.
    """
    taken = dict.fromkeys(STATIONS, 0.0)
    if profile.scheduled:
        line = machine.link_ns(DATA_BYTES)
        taken["tcc_link"] = flow.tcc_writes * line / machine.tccs
        taken["directory_link"] = flow.tcc_writes * line
        from_memory = flow.requested - flow.l3_hits
        stores = max(0.0, flow.dram_reads - from_memory)
        loads_ns = machine.dram.busy_ns(from_memory, max(0.0, flow.dram_writes - stores))
        taken["dram"] = max(0.0, dram_ns(flow, machine) - loads_ns / machine.directories)
    return list(taken.values())
