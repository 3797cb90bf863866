"""Memory traffic of a launch on a machine: what the TCP, the TCC, the directory and the DRAM see.

Source: gem5 v23.0.1.0 ``GPU_VIPER-TCP.sm`` (write-through, no allocation on stores), ``GPU_VIPER-TCC.sm``,
``MOESI_AMD_Base-dir.sm``: every GPU request probes the CPU; a load whose data comes clean (memory or L3) is
written back to memory (``wd_writeBackData``), a store reads and writes memory, an L3 hit frees the L3 line.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from apuflow.core.occupancy import resident_workgroups
from apuflow.preview.machine import GpuModel
from apuflow.preview.profile import LINE, Adders, Profile, Stream
from apuflow.preview.reuse import (
    asked_at_once,
    found_in_tcc,
    kept_from_begin,
    of_a_tile,
    reused_in_tcp,
    survives,
)
from apuflow.preview.walks import (
    FEW_SHARERS,
    IN_FLIGHT,
    LATER,
    few_sharers,
    followed,
    held_alone,
    in_step,
    looked_up,
    pages_at_once,
    parallel_walks,
    shared_walks,
)


class Traffic(NamedTuple):
    """Totals over a launch.

    Attributes:
        tcp_loads, tcp_hits, tcp_stores, tcc_reads, tcc_hits, tcc_writes, l3_hits: lines.
        passed_on: reads of lines that are on their way to the TCC, which asks the directory for each of them
            again, and counts no miss (``GPU_VIPER-TCC.sm``, state IV).
        dram_reads, dram_writes: bursts. written_back: of the writes, those of loads.
        queued_reads, queued_writes: requests without a burst of their own, since their line is in the memory
            controller's write queue.
        cold_pages: page walks. serial_walks: those that others wait for, in walk times.
        late: mean number of compute units that wait for the same walk and then look into the L2 TLB, one
            after the other (``TLBCoalescer::processProbeTLBEvent``).
        walk_tokens: coalescer tokens held during walks, in walks.
        l1_tlb_misses: of coalesced lookups.
        waiting: instructions that wait for the L2 TLB: their pages are looked up beside each other.
        tries: of an addition to an element that other workgroups add to as well.
        in_line: additions to a line, of all workgroups that run, each of which waits for the one before.
        serial_store_walks: of ``serial_walks``, those of stores.
        in_turn: page walks that follow one another whatever else the launch does: the least that it takes.
        line_turns: stores of workgroups to a line that they share, one after the other.
        code_reads, code_misses: lines of code and scalars that the instruction and scalar caches ask the TCC
            for, and those that it does not have.
    """

    tcp_loads: float
    tcp_hits: float
    tcp_stores: float
    tcc_reads: float
    tcc_hits: float
    tcc_writes: float
    l3_hits: float
    passed_on: float
    dram_reads: float
    dram_writes: float
    written_back: float
    queued_reads: float
    queued_writes: float
    cold_pages: float
    serial_walks: float
    late: float
    walk_tokens: float
    l1_tlb_misses: float
    waiting: float
    tries: float = 1.0
    in_line: float = 1.0
    serial_store_walks: float = 0.0
    in_turn: float = 0.0
    line_turns: float = 0.0
    code_reads: float = 0.0
    code_misses: float = 0.0

    @property
    def tcc_misses(self) -> float:
        """Reads whose line the TCC has to fetch."""
        return self.tcc_reads - self.tcc_hits

    @property
    def requested(self) -> float:
        """Lines that the TCC asks the directory for."""
        return self.tcc_misses + self.passed_on


WRITES_APART = {"beside": 395.0, "later": 50.0}
"""Lines that the running wavefronts store to at a time, at which half of the stores to a line that was stored
to before find it still in the memory controller's write queue of 64 entries. Those that store to a line one
right after the other are in it together, however many run."""
WRITERS_READ = 0.73
"""Of stores that come in turn (``Stream.writers``), the reads that the write queue serves; it takes none of
their writes, as far as the time of such runs shows."""
STILL_QUEUED, STILL_MERGED = 0.47, 0.35
"""Of stores to lines that the wavefront has just loaded: those whose read the write queue serves, since the
line's way back to memory still waits there, and those that merge with it. (0.46 and 0.31, 0.48 and 0.38 in
two products that are added to C.)"""
SCALAR_LINES = 2.0
"""Of the kernel's arguments and what comes before them; those of more than 64 bytes have one more."""
ADDING_TURNS = 3.0
"""A workgroup's time between its load of a sum and its last swap, in waits for memory."""
ALL_SHARE = 0.5
"""Power of the pages that a workgroup asks for at once, where all compute units share each of them: they are
walked 0.9 to 1.4 at a time (copies on four units), be it one load or two; no rule is known."""
TWO_UNITS = (1.11, 0.97)
"""Pages that two compute units walk at a time, where two workgroups share each, and where four do. gem5 has
two states: a page takes 0.79 or 1.02 us (copies and four activations, both directions; the same copy is once
in the one, once in the other), with four workgroups mostly 1.08. The first is the middle of both. Runs of
gfx902 (develop) take 1.04 and 1.1."""
UNEVEN = 1.5
"""Pages that are walked at a time where the few workgroups of a page do not come to the same compute units as
those of the next: 1.4 to 1.6 (copies on three and five units, four workgroups to a page)."""
SPREAD = 0.75
"""Of the coalescer tokens that are held for a page's walk, where not all ask for it at once."""
LOST = 0.51
"""Of the instructions of single wavefronts that touch twice the pages of the L1 TLB in turn, those that miss
it (0.4 at 1.6 times its entries, 0.7 at twice, 0.9 at 2.5 times, all at 2.6)."""
CROWD = 2.0
"""Compute units at which half of the time is waiting for memory, so that an addition takes so much of it."""


def still_queued(stream: Stream, machine: GpuModel, running: float) -> float:
    """Part of the repeated stores that find their line in the memory controller's write queue.

    It serves their read and takes their write (``MemCtrl::addToReadQueue``, ``MemCtrl::addToWriteQueue``).

    Args:
        running: wavefronts that run at a time.
    """
    between = running * stream.lines / max(1.0, stream.instructions) / machine.directories
    part: float = 1.0 / (1.0 + (between / WRITES_APART[stream.repeated]) ** 0.6)
    return part


def tries(adders: Adders, used: int, running: float, groups: int) -> float:
    """Compare-and-swaps that an addition takes, on average.

    Of ``n`` workgroups in step the first needs one, the last ``n``. Those that were dispatched at once are
    in step as far as they have equally much to do; later ones have drifted apart, and meet the more, the more
    of their time goes to the addition.
    """
    at_once = min(adders.adding, max(1.0, running / adders.apart))
    first = min(1.0, running / groups)
    later = used / (used + CROWD) * ADDING_TURNS / (adders.turns + ADDING_TURNS)
    meet = adders.even * first + (1.0 - first) * later
    return 1.0 + meet * adders.share * (at_once - 1.0) / 2.0


def in_line(stream: Stream, adders: Adders, running: float) -> float:
    """Additions to a line at a time: what each of the workgroups that share its tile and run has of the line.

    A line with an addition on its way to memory takes no other (``GPU_VIPER-TCC.sm``, state A).
    """
    parts = adders.adding / adders.share
    beside = min(parts, max(1.0, running / adders.apart))
    return max(1.0, beside * stream.accesses / stream.lines / parts)


def resident_groups(profile: Profile, machine: GpuModel) -> int:
    """Workgroups that a compute unit holds at once."""
    return resident_workgroups(
        profile.waves_per_group,
        profile.lds_bytes,
        profile.vgprs,
        simds=machine.simds,
        slots=machine.slots,
        barrier_slots=machine.barrier_slots,
        unit_lds_bytes=machine.lds_bytes,
        simd_registers=machine.vgprs,
        register_block=machine.register_block,
    )


def distribution(profile: Profile, machine: GpuModel) -> tuple[int, int]:
    """Compute units at work, and workgroups of the busiest one.

    Workgroups go round robin over the compute units (``Shader::dispatchWorkgroups``).
    """
    used = min(machine.compute_units, profile.workgroups)
    return used, -(-profile.workgroups // used)


@lru_cache(maxsize=262144)
def traffic(profile: Profile, machine: GpuModel) -> Traffic:
    """Closed-form reuse: a line is found again when what the workgroups touch in between fits the cache."""
    used, busiest = distribution(profile, machine)
    group_waves = profile.group_waves
    resident = min(resident_groups(profile, machine), busiest)
    tcp_loads = tcp_hits = tcp_stores = reads = hits = writes = l3_hits = 0.0
    merged = merged_writes = in_l2 = in_turn = passed_on = 0.0
    pages = serial = serial_stores = late = walk_tokens = l1_misses = waiting = 0.0
    attempts = queued = 1.0
    line_turns = 0.0
    gathering = profile.counts.lds and not profile.alternating
    follow = followed(profile, machine, used)
    beside = pages_at_once(profile) / follow
    loaded_together: list[float] = []  # walks of buffers
    window = min(float(machine.tokens), float(resident * group_waves))
    total_pages = sum(stream.pages for stream in profile.streams)
    open_pages = sum(_open_at_once(stream, resident, used) for stream in profile.streams)
    single = profile.waves_per_group == 1
    between = sum(_between(stream, resident, used) for stream in profile.streams) if single else 0.0
    first_run = min(1.0, used * resident / profile.workgroups)
    # Walks of what they load keep the first in step; without them they go on when their data has come.
    loads_walked = any(stream.walked for stream in profile.streams if stream.kind == "load")
    # Workgroups start together; where barriers come seldom, those of later batches drift apart.
    meeting = profile.barriers_per_wait
    together = meeting + (1.0 - meeting) * first_run
    for stream in profile.streams:
        cold_pages = stream.cold_pages
        sharers = max(1.0, min(stream.sharing, float(used)))
        waves = max(1.0, min(window, stream.page_group * stream.sharing / sharers))
        touching = stream.page_group * stream.sharing
        if (stream.page_group > 1.0 and profile.wavefronts > 1) or sharers >= 1.5:
            # Wavefronts of a workgroup ask for one page, then for another: the first holds back the rest.
            ahead = 1.0 / follow if stream.page_group > 1.0 and sharers < 1.5 else beside
            if profile.rounds <= 1.0 and sharers == used and stream.sharing <= 4.0:
                pair = machine.flat and used == 2
                ahead = TWO_UNITS[stream.sharing > 2.0] if pair else ahead**ALL_SHARE
            sets = used / sharers
            if profile.rounds <= 1.0 and _uneven(stream, used):
                sets = max(sets, UNEVEN / max(ahead, stream.asked_with))
            if 2.0 < sharers <= FEW_SHARERS and profile.rounds <= 2.0:
                few = (
                    1.0
                    if loads_walked
                    else few_sharers(profile, machine, sharers, busiest / resident, first_run)
                )
                sets = min(sets, few)
            in_turn += cold_pages / max(ahead, stream.step_pages, stream.asked_with) / sets
        pages += cold_pages
        lockstep = stream.lockstep * together
        # Workgroups of one wavefront drift apart: their tokens wait for different pages, whose walks overlap.
        apart = min(window, resident / (touching if profile.waves_per_group == 1 else stream.sharing))
        tokens = waves
        if sharers < 1.5:
            # A second request for a page that is being walked blocks the unit's coalescer for all pages.
            tokens += (machine.tokens - waves) * min(1.0, waves - 1.0) * together
        held = cold_pages * tokens / parallel_walks(apart)
        if used == 1:
            held *= held_alone(profile, stream, resident)
        # Those that gather in LDS what they load come to a page of several units one after the other.
        spread = SPREAD if gathering and sharers > 2.0 else 1.0
        walk_tokens += spread * held * (1.0 + lockstep * (sharers - 1.0))
        waited = 0.0
        if sharers >= 1.5 and in_step(stream, profile, machine, resident):
            waited = cold_pages * lockstep * sharers / used
        elif sharers >= 1.5:
            wanted = min(window / waves, resident * profile.waves_per_group / touching)
            if stream.step_pages:
                in_order = (first_run + (1.0 - first_run) * LATER) * together
                in_flight = max(1.0, IN_FLIGHT * stream.step_pages**0.5)
                loaded_together.append(cold_pages * in_order / in_flight)
            else:
                met = stream.lockstep * first_run + (1.0 - first_run) * follow if stream.paced else lockstep
                in_flight = shared_walks(
                    profile, machine, sharers, used * wanted, 0.0 if loads_walked else first_run
                )
                in_flight *= stream.pages_touched
                # Where less than two share a page on average, some pages are not shared.
                waited = cold_pages * met / in_flight * min(1.0, sharers - 1.0)
                waited *= looked_up(profile, machine, sharers)
            late += cold_pages * lockstep * (sharers - 1.0)
        serial += waited
        serial_stores += waited if stream.kind == "store" else 0.0
        first = stream.pages * sharers
        if stream.sharing >= 16 and total_pages > machine.l1_tlb_entries:
            # Every wavefront walks all pages: each window of tokens brings its own back.
            first = max(first, stream.instructions / (1.5 * machine.tokens))
        if stream.pages_open and open_pages > machine.l1_tlb_entries:
            lost = min(1.0, open_pages / machine.l1_tlb_entries - 1.0)
            first = max(first, stream.instructions * stream.pages_touched * lost)
        if between > machine.l1_tlb_entries:
            lost = min(1.0, LOST * (between / machine.l1_tlb_entries - 1.0))
            first = max(first, stream.instructions * stream.pages_touched * lost)
        # An instruction may touch several pages; each walk begins with a miss.
        missed = max(stream.pages, min(stream.instructions * stream.pages_touched, first))
        missed *= 1.0 - stream.near
        l1_misses += missed
        waiting += missed / stream.pages_touched
        if stream.kind == "store":
            tcp_stores += stream.accesses
            again = max(0.0, stream.accesses - stream.lines)
            if stream.adders:
                attempts = tries(stream.adders, used, float(used * resident), profile.workgroups)
                queued = in_line(stream, stream.adders, float(used * resident))
                merged += stream.accesses * (attempts - 1.0)  # the line has just been written
            writes += stream.accesses * attempts
            if stream.writers:
                open_lines = stream.at_a_time * max(1.0, used * resident / stream.writers)
                line_turns = max(line_turns, stream.accesses / min(stream.lines, open_lines))
            if stream.just_loaded:
                merged += STILL_QUEUED * stream.lines
                merged_writes += STILL_MERGED * stream.lines
            # The directory reads memory for each store, and writes it.
            found = again * still_queued(stream, machine, float(used * resident * group_waves))
            merged += WRITERS_READ * again if stream.writers else found
            merged_writes += 0.0 if stream.writers else found
            continue
        reused = reused_in_tcp(stream, machine, used, resident, busiest)
        reach = stream.accesses - reused
        again = max(0.0, reach - stream.lines)
        running = used * resident
        apart = min(again, stream.lines * (stream.readers_apart - 1.0))
        later = min(-(-profile.workgroups // running), of_a_tile(stream)) - 1.0 if stream.far_bytes else 0.0
        far = min(again - apart, stream.lines * max(0.0, later))
        again = (again - apart - far) * found_in_tcc(stream, machine, used, running, profile.workgroups)
        if not machine.flat and stream.tiles is None:
            passed_on += again * stream.at_once * (1.0 - 1.0 / used)
        again += apart * survives(machine.tcc_bytes, running * stream.apart_bytes)
        kept = kept_from_begin if stream.cyclic else survives
        again += far * kept(machine.tcc_bytes, stream.far_bytes)
        tcp_loads += stream.accesses
        tcp_hits += reused
        reads += reach
        again += min(stream.lines, reach - again) * stream.cached
        hits += again
        first_missed = min(stream.lines, reach - again)
        if not machine.flat and stream.tiles is not None:
            asked = asked_at_once(stream, machine, used, resident, profile.workgroups)
            passed_on += min(again, first_missed * asked)
        l3_hits += 0.0 if stream.loaded else first_missed * stream.in_l3
        in_l2 += (reach - again) * stream.in_l2
    # A workgroup alone in its unit asks for pages of A, then of B, as all others do; several mix them.
    serial += sum(loaded_together) if resident == 1 else max(loaded_together, default=0.0)
    misses = reads - hits
    code = 0.0 if profile.code_cached else float(-(-profile.code_bytes // LINE))
    written_back = misses - in_l2  # a dirty line of the CPU's L2 stays there
    return Traffic(
        tcp_loads=tcp_loads,
        tcp_hits=tcp_hits,
        tcp_stores=tcp_stores,
        tcc_reads=reads,
        tcc_hits=hits,
        tcc_writes=writes,
        l3_hits=l3_hits,
        passed_on=passed_on,
        dram_reads=misses + passed_on - l3_hits + writes - merged,
        dram_writes=written_back + writes - merged_writes,
        written_back=written_back,
        queued_reads=merged,
        queued_writes=merged_writes,
        cold_pages=pages,
        serial_walks=serial,
        late=late / pages if pages else 0.0,
        walk_tokens=walk_tokens,
        l1_tlb_misses=l1_misses,
        waiting=waiting,
        tries=attempts,
        in_line=queued,
        serial_store_walks=serial_stores,
        in_turn=in_turn,
        line_turns=line_turns,
        code_reads=-(-used // machine.compute_units_per_sqc) * (code + SCALAR_LINES),
        code_misses=(0.0 if profile.code_kept else code) + SCALAR_LINES,
    )


def _uneven(stream: Stream, used: int) -> bool:
    """Whether the workgroups of a page, two to four, come to other compute units than those of the next."""
    return 2.0 < stream.sharing <= 4.0 and bool(used % stream.sharing and stream.sharing % used)


def _between(stream: Stream, resident: int, used: int) -> float:
    """Pages of a buffer that single wavefronts of a compute unit touch between two instructions of one."""
    if not stream.pages:
        return 0.0
    return resident * stream.pages_touched / max(1.0, min(float(resident), stream.sharing / used))


def _open_at_once(stream: Stream, resident: int, used: int) -> float:
    """Pages that the workgroups of a compute unit go through in turn; those of a product share tiles."""
    if stream.tiles is None:
        return resident * stream.pages_open
    return stream.tiles.different(resident, used)[stream.operand] * stream.pages_open
