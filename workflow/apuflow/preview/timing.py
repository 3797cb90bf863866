"""The time of each launch: what its wavefronts wait and queue for, page walks, and a learned correction.

A closed queueing network (``queueing``) gives the time of a wavefront beside all others of its compute unit.
Workgroups that start together load together and store together: both follow one another at the directory and
the DRAM (phases). Page walks follow one another where compute units want the same pages. All of it is
``Terms.core``, which ``residual`` corrects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from apuflow.core.ruby import CONTROL_BYTES, DATA_BYTES
from apuflow.preview.columns import Numbered
from apuflow.preview.instructions import block
from apuflow.preview.latencies import Latencies, latencies
from apuflow.preview.lines import LINE
from apuflow.preview.machine import GpuModel
from apuflow.preview.queueing import LOCAL, STATIONS, SYNCHRONOUS, solve
from apuflow.preview.residual import correction
from apuflow.preview.step import Step
from apuflow.preview.tables import Launches
from apuflow.preview.traffic import Traffic, traffic

Array = NDArray[np.float64]

TBES = 256.0
"""``--num-tbes``: stores that the directory has acknowledged and not yet finished."""
SEVERAL = 0.6
"""Part of the shorter phase over the longer that does not overlap, with several TCCs and directories."""
HIDDEN = 0.6
"""Of the latencies of the only batch of a compute unit, what passes while others load or store."""
BESIDE, WALKS_BESIDE = 2.8, 5.0
"""Powers of the p-norm of times that overlap partly (1: one after the other, infinite: at the same time): of
computing and phases of several batches, and of page walks and all else."""
AHEAD = 0.5
"""Power of the loads that a wavefront issues before it waits that is the pages walked at a time for it."""
WALKS_WAITED = 0.5
"""Of the page walks of its own instructions, what a wavefront waits for itself."""
AGAIN = block("s6 v3 st1 wt1 br1")
"""To try an addition again: the loop after the first compare-and-swap in Tensile's kernels."""
BUSY = 0.6
"""Of a launch, for how long a resource has to be busy to be what bounds it."""
HELD_LINES = 2.0
"""Lines of code that a wavefront holds (``FetchUnit::FetchBufDesc``)."""


@dataclass(frozen=True)
class Terms:
    """What the time of each launch is made of, in ns.

    Attributes:
        start: until the first wavefront computes. fetch: of it, for code.
        latency: that a wavefront waits for loads, stores and page walks, were it alone.
        residence: of a wavefront, from its begin to its end, with all others that are there at a time.
        computed: of all batches of the busiest compute unit, without links and DRAM.
        loading, storing: of the directory's link or the DRAM. phases: of both, as far as they overlap.
        walks: page walks and lookups in the L2 TLB that follow one another.
        line: stores to the same line, one after the other.
        core: all of them together.
    """

    start: Array
    fetch: Array
    latency: Array
    residence: Array
    computed: Array
    loading: Array
    storing: Array
    phases: Array
    walks: Array
    line: Array
    core: Array


@dataclass(frozen=True)
class Times:
    """Results per launch, arrays of equal length, and the launches themselves.

    Attributes:
        ns: time. factor: of it, the learned correction of ``terms.core``.
        stations: (launches, stations) ns that each is busy, the busiest of those that every compute unit has.
        ready_share: part of a wavefront's time in which it is served or queues in its compute unit.
        bounds: what is busy for most of the launch (``bound``: of each).
        quantities: what the correction looks at.
    """

    launches: Launches
    ns: Array
    factor: Array
    terms: Terms
    stations: Array
    ready_share: Array
    bounds: Numbered[str]
    traffic: Traffic
    quantities: dict[str, Array]

    @property
    def bound(self) -> list[str]:
        """What bounds each launch."""
        return self.bounds.list()

    def busy_ns(self, station: str) -> Array:
        """ns that a station is busy."""
        busy: Array = self.stations[:, STATIONS.index(station)]
        return busy


class _Phases(NamedTuple):
    """ns of loading and storing, of both as they overlap, and whether they are apart; links and DRAM."""

    loading: Array
    storing: Array
    both: Array
    apart: NDArray[np.bool_]
    directory: Array
    dram: Array


def times(
    steps: Sequence[Step], machines: Sequence[GpuModel], folds: NDArray[np.int64] | None = None
) -> Times:
    """Time of each step's launch on its machine; ``folds`` as of ``residual.Forest.values``."""
    return times_of(Launches.of(steps, machines), folds=folds)


@np.errstate(divide="ignore", invalid="ignore")
def times_of(launches: Launches, *, folds: NDArray[np.int64] | None = None, corrected: bool = True) -> Times:
    """The same, of launches that are columns already; ``corrected`` by what is learned."""
    profile, machine, waves = launches.profiles, launches.machines, _waves(launches)
    flow, lat = traffic(launches), latencies(launches.machines)
    phases = _phases(launches, flow)
    asked = _stations(launches, flow, lat, phases)
    start, fetch = _start(launches, lat)
    latency = _latency(launches, flow, lat) + asked[:, STATIONS.index("valu")] * (machine.simds - 1.0)
    per_unit = launches.busiest * profile.group_waves
    resident = np.minimum(launches.resident * profile.group_waves, per_unit)
    batches = per_unit / resident
    # Wavefronts of a workgroup stay together; so do as many single ones as there are tokens.
    wide = np.maximum(profile.group_waves, resident / machine.tokens)[:, None]
    own = np.where(SYNCHRONOUS, asked, 0.0)
    behind = np.where(own == own.max(axis=1, initial=0.0)[:, None], own, 0.0)
    own = own + behind * profile.barriers_per_wait[:, None] * (wide - 1.0)
    crowd = resident / wide[:, 0], np.maximum(waves / batches / wide[:, 0], 1.0)
    residence, spent = solve(asked * wide, own, latency, *crowd)
    computed, _ = solve(np.where(SYNCHRONOUS, asked, 0.0) * wide, own, latency, *crowd)
    computed = computed * batches
    shown = np.maximum(phases.both - np.where(batches <= 1.0, HIDDEN * latency, 0.0), 0.0)
    together = np.where(batches <= 1.0, computed + shown, _beside(computed, shown, BESIDE))
    ns = np.maximum(residence * batches, np.where(phases.apart, together, 0.0))
    walks = (flow.cold_pages * lat.walk + flow.pages_again * lat.l2_tlb) / _walks_at_a_time(launches)
    atomics = profile.line_atomics * (lat.memory - lat.tcp)
    line = np.maximum(flow.line_turns * lat.memory, atomics)
    core = start + np.maximum(_beside(ns, walks, WALKS_BESIDE), line)
    terms = Terms(
        start=start,
        fetch=fetch,
        latency=latency,
        residence=residence,
        computed=computed,
        loading=phases.loading,
        storing=phases.storing,
        phases=phases.both,
        walks=walks,
        line=line,
        core=core,
    )
    busy = asked * np.where(LOCAL, per_unit[:, None], waves[:, None])
    busy[:, STATIONS.index("tlb")] = walks
    found = _quantities(launches, flow, terms, busy, batches)
    factor = correction(found, folds) if corrected else np.ones(len(launches))
    return Times(
        launches=launches,
        ns=core * factor,
        factor=factor,
        terms=terms,
        stations=busy,
        ready_share=np.minimum(spent[:, :5].sum(axis=1) / np.maximum(residence, 1e-12), 1.0),
        bounds=_bounds(core, busy, line),
        traffic=flow,
        quantities=found,
    )


def _beside(first: Array, second: Array, power: float) -> Array:
    both: Array = (first**power + second**power) ** (1.0 / power)
    return both


def _waves(launches: Launches) -> Array:
    """Wavefronts of the launch, as if the last workgroup were whole."""
    waves: Array = launches.profiles.workgroups * launches.profiles.group_waves
    return waves


def _phases(launches: Launches, flow: Traffic) -> _Phases:
    """Loads and stores at the directory and the DRAM.

    Requests wait in order: a load waits behind earlier stores on the way to the directory, while the way back
    is idle. So workgroups that load and then store stay together, batch after batch. Several TCCs and
    directories have a queue for each pair: some requests pass. Where loads follow stores, they mix.
    """
    profile, machine = launches.profiles, launches.machines
    message, ways = machine.link_ns(DATA_BYTES + CONTROL_BYTES), machine.directories
    from_memory = flow.requested - flow.l3_hits
    left = np.minimum(flow.tcc_writes, TBES * ways)  # drains after the launch has ended
    reads, writes = np.maximum(0.0, flow.dram_reads - left), np.maximum(0.0, flow.dram_writes - left)
    dram = machine.busy_ns(reads, writes, profile.joined_rounds > 0.0) / ways
    line, control = machine.link_ns(DATA_BYTES), machine.link_ns(CONTROL_BYTES)
    directory = np.maximum(
        flow.requested * line + flow.tcc_writes * control, flow.tcc_writes * line + flow.requested * control
    )
    stored_reads = np.maximum(0.0, flow.dram_reads - from_memory - left)
    stored_writes = np.maximum(0.0, flow.dram_writes - flow.written_back - left)
    loading = np.maximum(flow.requested * message, machine.busy_ns(from_memory, flow.written_back) / ways)
    storing = np.maximum(flow.tcc_writes * message, machine.busy_ns(stored_reads, stored_writes) / ways)
    overlapped = np.maximum(directory, dram)
    apart = np.maximum(overlapped, loading + storing)
    order = SEVERAL * np.minimum(loading, storing) / np.maximum(loading, storing)
    several = np.minimum(machine.tccs, ways) > 1
    apart = np.where(several, overlapped + order * (apart - overlapped), apart)
    mixing = ((profile.store_rounds > 0.0) | (profile.joined_rounds > 0.0)) & ~profile.stores_last
    separate = (launches.counts.stores > 0.0) & ~mixing
    return _Phases(loading, storing, np.where(separate, apart, overlapped), separate, directory, dram)


def _stations(launches: Launches, flow: Traffic, lat: Latencies, phases: _Phases) -> Array:
    """(launches, stations) ns that a wavefront takes of each; of directory and DRAM, the slower one."""
    profile, counts, machine = launches.profiles, launches.counts, launches.machines
    waves, period = _waves(launches), machine.issue_period * machine.gpu_ns
    line, control = machine.link_ns(DATA_BYTES), machine.link_ns(CONTROL_BYTES)
    again = (flow.tries - 1.0) * counts.stores
    vector_memory = counts.vector_memory + again
    at_link = phases.directory > phases.dram
    busy = np.maximum(np.maximum(phases.directory, phases.dram), phases.both)
    # A TCC's link carries what comes from TCPs and from directories (``SimpleNetwork::makeExtInLink``).
    tcc = flow.tcc_writes * (line + control) + flow.tcc_reads * control + flow.requested * line
    # Others issue while the matrix core is busy: it and the SIMD unit work side by side.
    matrix = np.where(machine.matrix_time, profile.inner("matrix").cycles * machine.gpu_ns, 0.0)
    asked = (
        (counts.scalar_issues + again * AGAIN.scalar_issues) * period,
        np.maximum((counts.valu + again * AGAIN.valu) * period, matrix) / machine.simds,
        counts.lds * machine.lds_cycles(profile.lds_conflicts) * machine.gpu_ns,
        vector_memory * period,
        vector_memory * lat.token / machine.tokens,
        flow.tcc_reads * line + flow.tcp_stores * control,
        tcc / machine.tccs,
        np.where(at_link, busy, 0.0),
        np.where(at_link, 0.0, busy),
        np.zeros(len(launches)),
    )
    return np.stack(asked, axis=1) / waves[:, None]


def _start(launches: Launches, lat: Latencies) -> tuple[Array, Array]:
    """ns until the first wavefront computes; of it, for code."""
    profile, found = launches.profiles, launches.found
    fetch = np.where(found.code_cached, 0.0, np.where(found.code_kept, lat.refetch, lat.fetch))
    first = lat.first_fetch - np.where(found.code_walked, lat.walk, 0.0) - (lat.fetch - fetch)
    walked = lat.arguments + (profile.scalar_rounds - 1.0) * lat.scalar
    scalars = np.where(found.arguments_walked, walked, profile.scalar_rounds * lat.first_scalar)
    cold = np.maximum(0.0, -(-profile.code_bytes // LINE) - HELD_LINES) * fetch
    pages = np.where(found.code_walked, 0.0, profile.code_pages * lat.walk)
    return first + scalars + profile.scalar_again * lat.scalar + cold + pages, first + cold


def _latency(launches: Launches, flow: Traffic, lat: Latencies) -> Array:
    """ns that a wavefront waits for loads, stores, additions and page walks."""
    profile, counts, waves = launches.profiles, launches.counts, _waves(launches)
    load = _load(launches, flow, lat)
    waits = profile.rounds * load + counts.instructions / waves * lat.step
    # s_endpgm waits for the last stores; on gfx8, where FLAT counts in lgkmcnt, other waits do so, too.
    stores = 1.0 + np.where(launches.machines.vega, 0.0, profile.store_rounds)
    waits = waits + np.where(counts.stores > 0.0, lat.store * stores, 0.0)
    waits = waits + profile.joined_rounds * np.maximum(0.0, lat.store - load)
    # An addition that another one disturbed: a swap more, behind those of all others to its line, one by one.
    tried = (flow.tries - 1.0) * np.maximum(1.0, counts.stores / waves)
    waits = waits + profile.swaps * lat.memory
    waits = waits + tried * (lat.memory + (flow.in_line - 1.0) * (lat.memory - lat.tcc))
    own = flow.cold_pages / profile.workgroups * launches.sharing
    first = np.minimum(1.0, launches.resident * launches.used / profile.workgroups)
    return waits + WALKS_WAITED * lat.walk * np.minimum(profile.walk_rounds + 1.0, own) * first


def _load(launches: Launches, flow: Traffic, lat: Latencies) -> Array:
    """ns from a load to its last line, which come one after the other; from memory they queue at the DRAM."""
    profile, counts, machine = launches.profiles, launches.counts, launches.machines
    lines = np.where(counts.loads > 0.0, flow.tcp_loads / counts.loads, 0.0)
    from_tcc, from_memory = (
        np.where(flow.tcp_loads > 0.0, np.minimum(1.0, reads / flow.tcp_loads), 0.0)
        for reads in (flow.tcc_reads, flow.requested)
    )
    # Loads are delivered in order, whole: a hit waits for a miss of its own and for those that are older.
    older = launches.resident * profile.group_waves * np.maximum(1.0, lines)
    waits_tcc, waits_memory = (1.0 - np.maximum(0.0, 1.0 - part) ** older for part in (from_tcc, from_memory))
    load = lat.tcp + waits_tcc * (lat.tcc - lat.tcp) + waits_memory * (lat.memory - lat.tcc)
    link = from_tcc * machine.link_ns(DATA_BYTES) + from_memory * machine.dram.burst_ns
    total: Array = load + np.maximum(0.0, lines - 1.0) * link
    return total


def _walks_at_a_time(launches: Launches) -> Array:
    """Page walks under way: of sets of compute units that want other pages, of loads, and of their pages."""
    counts, waves = launches.counts, _waves(launches)
    sets = launches.used / np.maximum(1.0, np.minimum(launches.sharing, launches.used))
    loads = counts.loads / waves / np.maximum(1.0, launches.profiles.rounds)
    return np.maximum(1.0, sets * np.maximum(1.0, loads) ** AHEAD * launches.profiles.load_pages)


def _bounds(core: Array, busy: Array, line: Array) -> Numbered[str]:
    """What is busy for most of each launch; "latency" where nothing is for as long as ``BUSY``."""
    names = [*STATIONS, "line", "latency"]
    shares = np.vstack([busy.T, line]) / np.maximum(core, 1e-12)
    return Numbered(names, np.where(shares.max(axis=0) > BUSY, shares.argmax(axis=0), names.index("latency")))


def _quantities(
    launches: Launches, flow: Traffic, terms: Terms, busy: Array, batches: Array
) -> dict[str, Array]:
    """What the learned correction looks at: shares of the time, logarithms of counts, parts of lines.

    Returns:
        by name, an element per launch.
    """
    profile, counts, machine = launches.profiles, launches.counts, launches.machines
    waves, core = np.maximum(1, profile.wavefronts), terms.core
    found = {f"{field.name} share": getattr(terms, field.name) / core for field in fields(Terms)}
    del found["core share"], found["fetch share"]
    found |= {f"{name} busy": busy[:, number] / core for number, name in enumerate(STATIONS[:-1])}
    many = {
        "core ns": core,
        "workgroups": profile.workgroups,
        "wavefronts of a workgroup": profile.group_waves,
        "compute units": launches.used,
        "resident workgroups": launches.resident,
        "code bytes": profile.code_bytes,
        "load waits": profile.rounds,
        "joined waits": profile.joined_rounds,
        "store waits": profile.store_rounds,
        "scalar waits": profile.scalar_rounds,
        "LDS conflicts": profile.lds_conflicts,
        "workgroups of a page": launches.sharing,
        "pages": flow.cold_pages,
        "pages of a workgroup": flow.cold_pages / profile.workgroups,
        "pages of a compute unit": flow.cold_pages / launches.used,
        "lines of a load": flow.tcp_loads / np.maximum(1.0, counts.loads),
        **{f"{name} of a wavefront": getattr(counts, name) / waves for name in _COUNTED},
    }
    found |= {name: np.log1p(values.astype(np.float64)) for name, values in many.items()}
    return found | {
        "batches": np.log(batches),
        "part of a batch": batches - np.floor(batches),
        "TCP hits": flow.tcp_hits / np.maximum(1.0, flow.tcp_loads),
        "TCC hits": flow.tcc_hits / np.maximum(1.0, flow.tcc_reads),
        "stores": flow.tcc_writes / np.maximum(1.0, flow.tcc_writes + flow.requested),
        "later kernel": launches.found.arguments_walked.astype(np.float64),
        **{name: getattr(machine, name).astype(np.float64) for name in _OF_MACHINE},
    }


_OF_MACHINE = ("directories", "tccs", "tokens", "vega", "link_bytes", "gpu_ns", "ruby_ns")
_COUNTED = ("valu", "lds", "loads", "stores", "barriers", "instructions")
