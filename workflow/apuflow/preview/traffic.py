"""Memory traffic of a launch on a machine: what the TCP, the TCC, the directory and the DRAM see.

Source: gem5 v23.0.1.0 ``GPU_VIPER-TCP.sm`` (write-through, no allocation on stores), ``GPU_VIPER-TCC.sm``,
``MOESI_AMD_Base-dir.sm``: every GPU request probes the CPU; a load whose data comes clean (memory or L3) is
written back to memory (``wd_writeBackData``), a store reads and writes memory, an L3 hit frees the L3 line.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from apuflow.preview.lines import LINE
from apuflow.preview.profile import Adders, Stream
from apuflow.preview.reuse import (
    asked_at_once,
    found_again,
    found_in_tcc,
    of_a_tile,
    reused_in_tcp,
)
from apuflow.preview.tables import NO_ADDERS, Accesses, Array, Launches, Table


class Traffic(NamedTuple):
    """Totals over each launch.

    Attributes:
        tcp_loads, tcp_hits, tcp_stores, tcc_reads, tcc_hits, tcc_writes, l3_hits: lines.
        passed_on: reads of lines that are on their way to the TCC, which asks the directory for each of them
            again, and counts no miss (``GPU_VIPER-TCC.sm``, state IV).
        dram_reads, dram_writes: bursts. written_back: of the writes, those of loads.
        queued_reads, queued_writes: requests without a burst of their own, since their line is in the memory
            controller's write queue.
        tries: of an addition to an element that other workgroups add to as well.
        in_line: additions to a line, of all workgroups that run, each of which waits for the one before.
        line_turns: stores of workgroups to a line that they share, one after the other.
        code_reads, code_misses: lines of code and scalars that the instruction and scalar caches ask the TCC
            for, and those that it does not have.
        cold_pages: page walks. l1_tlb_misses: of coalesced lookups. pages_again: of them, of pages that a
            workgroup touches again.
    """

    tcp_loads: Array
    tcp_hits: Array
    tcp_stores: Array
    tcc_reads: Array
    tcc_hits: Array
    tcc_writes: Array
    l3_hits: Array
    passed_on: Array
    dram_reads: Array
    dram_writes: Array
    written_back: Array
    queued_reads: Array
    queued_writes: Array
    tries: Array
    in_line: Array
    line_turns: Array
    code_reads: Array
    code_misses: Array
    cold_pages: Array
    l1_tlb_misses: Array
    pages_again: Array

    @property
    def tcc_misses(self) -> Array:
        """Reads whose line the TCC has to fetch."""
        return self.tcc_reads - self.tcc_hits

    @property
    def requested(self) -> Array:
        """Lines that the TCC asks the directory for."""
        return self.tcc_misses + self.passed_on


WRITES_APART = {"beside": 395.0, "next": 6000.0, "later": 50.0}
"""Lines that the running wavefronts store to at a time, at which half of the stores to a line that was stored
to before find it still in the memory controller's write queue of 64 entries; where workgroups that follow one
another store to it ("next"), accesses to lines. Those that store to a line one right after the other are in
it together, however many run."""
WRITERS_READ = 0.73
"""Of stores that come in turn (``Stream.writers``), the reads that the write queue serves; it takes none of
their writes, as far as the time of such runs shows."""
SCALAR_LINES = 2.0
"""Of the kernel's arguments and what comes before them; those of more than 64 bytes have one more."""
ADDING_TURNS = 3.0
"""A workgroup's time between its load of a sum and its last swap, in waits for memory."""
CROWD = 2.0
"""Compute units at which half of the time is waiting for memory, so that an addition takes so much of it."""
L1_TLB_ENTRIES = 32.0
"""``--L1TLBentries``, which the model does not read."""


class _Stored(NamedTuple):
    """Of each launch; what ``Traffic`` has, too, as there.

    Attributes:
        merged, merged_writes: reads and writes that the memory controller's write queue serves.
    """

    stores: Array
    writes: Array
    tries: Array
    in_line: Array
    line_turns: Array
    merged: Array
    merged_writes: Array


class _Loaded(NamedTuple):
    """Of each launch; what ``Traffic`` has, too, as there. ``in_l2``: misses that the CPU's L2 has."""

    loads: Array
    tcp_hits: Array
    reads: Array
    tcc_hits: Array
    passed_on: Array
    l3_hits: Array
    in_l2: Array


def still_queued(stores: Accesses) -> Array:
    """Part of the repeated stores that find their line in the memory controller's write queue.

    It serves their read and takes their write (``MemCtrl::addToReadQueue``, ``MemCtrl::addToWriteQueue``).
    """
    stream = stores.streams
    running = stores.running * stores.profiles.group_waves
    beside, following = stream.repeated == "beside", stream.repeated == "next"
    stored = np.where(following, stream.accesses, stream.lines) / np.maximum(1.0, stream.instructions)
    between = running * stored / stores.machines.directories
    half = np.select(
        [beside, following], [WRITES_APART["beside"], WRITES_APART["next"]], WRITES_APART["later"]
    )
    part: Array = 1.0 / (1.0 + (between / half) ** np.where(following, 0.5, 0.6))
    return part


def tries(adders: Adders | Table[Adders], used: Array, running: Array, groups: Array) -> Array:
    """Compare-and-swaps that an addition takes, on average.

    Of ``n`` workgroups in step the first needs one, the last ``n``. Those that were dispatched at once are
    in step as far as they have equally much to do; later ones have drifted apart, and meet the more, the more
    of their time goes to the addition.
    """
    at_once = np.minimum(adders.adding, np.maximum(1.0, running / adders.apart))
    first = np.minimum(1.0, running / groups)
    later = used / (used + CROWD) * ADDING_TURNS / (adders.turns + ADDING_TURNS)
    meet = adders.even * first + (1.0 - first) * later
    return 1.0 + meet * adders.share * (at_once - 1.0) / 2.0


def in_line(stream: Table[Stream], adders: Table[Adders], running: Array) -> Array:
    """Additions to a line at a time: what each of the workgroups that share its tile and run has of the line.

    A line with an addition on its way to memory takes no other (``GPU_VIPER-TCC.sm``, state A).
    """
    parts = adders.adding / adders.share
    beside = np.minimum(parts, np.maximum(1.0, running / adders.apart))
    return np.maximum(1.0, beside * stream.accesses / stream.lines / parts)


def _stored(stores: Accesses) -> _Stored:
    stream, running = stores.streams, stores.running
    adding, adders = stream.adding, stream.inner("adders", NO_ADDERS)
    attempts = np.where(adding, tries(adders, stores.used, running, stores.profiles.workgroups), 1.0)
    queued = np.where(adding, in_line(stream, adders, running), 1.0)
    writing = stream.writers > 0.0
    open_lines = stream.at_a_time * np.maximum(1.0, running / stream.writers)
    line_turns = np.where(writing, stream.accesses / np.minimum(stream.lines, open_lines), 0.0)
    again = np.maximum(0.0, stream.accesses - stream.lines)
    found = again * still_queued(stores)
    tried_again = stream.accesses * (attempts - 1.0)  # the line has just been written
    merged = tried_again + np.where(writing, WRITERS_READ * again, found)
    return _Stored(
        stores=stores.sum(stream.accesses),
        writes=stores.sum(stream.accesses * attempts),
        tries=np.maximum(1.0, stores.most(attempts)),
        in_line=np.maximum(1.0, stores.most(queued)),
        line_turns=stores.most(line_turns),
        merged=stores.sum(merged),
        merged_writes=stores.sum(np.where(writing, 0.0, found)),
    )


def _loaded(loads: Accesses) -> _Loaded:
    stream, machines, running = loads.streams, loads.machines, loads.running
    reused = reused_in_tcp(loads)
    reach = stream.accesses - reused
    again = np.maximum(0.0, reach - stream.lines)
    turns = np.minimum(-(-loads.profiles.workgroups // running), of_a_tile(stream, loads.tiles)) - 1.0
    later = np.where(stream.far_bytes > 0.0, np.maximum(0.0, turns), 0.0)
    far = np.minimum(again, stream.lines * later)
    again = (again - far) * found_in_tcc(loads)
    alone = again * stream.at_once * (1.0 - 1.0 / loads.used)
    again = again + far * found_again(machines.tcc_bytes, stream.far_bytes, stream.cyclic)
    again = again + np.minimum(stream.lines, reach - again) * loads.left.cached
    first_missed = np.minimum(stream.lines, reach - again)
    in_step = np.minimum(again, first_missed * asked_at_once(loads))
    passed_on = np.where(machines.vega, np.where(stream.tiled, in_step, alone), 0.0)
    return _Loaded(
        loads=loads.sum(stream.accesses),
        tcp_hits=loads.sum(reused),
        reads=loads.sum(reach),
        tcc_hits=loads.sum(again),
        passed_on=loads.sum(passed_on),
        l3_hits=loads.sum(np.where(loads.left.loaded, 0.0, first_missed * loads.left.in_l3)),
        in_l2=loads.sum((reach - again) * loads.left.in_l2),
    )


@np.errstate(divide="ignore", invalid="ignore")
def traffic(launches: Launches) -> Traffic:
    """Closed-form reuse: a line is found again when what the workgroups touch in between fits the cache."""
    stored, loaded, found = _stored(launches.stores), _loaded(launches.loads), launches.found
    again = _pages_again(launches)
    misses = loaded.reads - loaded.tcc_hits
    lines = -(-launches.profiles.code_bytes // LINE)
    code = np.where(found.code_cached, 0.0, lines)
    written_back = misses - loaded.in_l2  # a dirty line of the CPU's L2 stays there
    # The directory reads memory for each store, and writes it.
    return Traffic(
        tcp_loads=loaded.loads,
        tcp_hits=loaded.tcp_hits,
        tcp_stores=stored.stores,
        tcc_reads=loaded.reads,
        tcc_hits=loaded.tcc_hits,
        tcc_writes=stored.writes,
        l3_hits=loaded.l3_hits,
        passed_on=loaded.passed_on,
        dram_reads=misses + loaded.passed_on - loaded.l3_hits + stored.writes - stored.merged,
        dram_writes=written_back + stored.writes - stored.merged_writes,
        written_back=written_back,
        queued_reads=stored.merged,
        queued_writes=stored.merged_writes,
        tries=stored.tries,
        in_line=stored.in_line,
        line_turns=stored.line_turns,
        code_reads=-(-launches.used // launches.machines.compute_units_per_sqc) * (code + SCALAR_LINES),
        code_misses=np.where(found.code_kept, 0.0, code) + SCALAR_LINES,
        cold_pages=launches.accesses.sum(launches.accesses.cold_pages),
        l1_tlb_misses=_l1_tlb_misses(launches.accesses) + again,
        pages_again=again,
    )


def _l1_tlb_misses(accesses: Accesses) -> Array:
    """Each compute unit misses a page once, if it has an instruction for it; a walked page is missed."""
    units = np.maximum(1.0, np.minimum(accesses.streams.sharing, accesses.used))
    looked_up = np.minimum(accesses.pages * units, accesses.streams.instructions)
    return accesses.sum(np.maximum(looked_up, accesses.cold_pages))


def _pages_again(launches: Launches) -> Array:
    """Times that the L1 TLB has lost a page that a workgroup touches again; those of a unit share it."""
    between = np.maximum(1.0, launches.profiles.pages_between * launches.resident)
    return launches.profiles.pages_again * np.maximum(0.0, 1.0 - L1_TLB_ENTRIES / between)
