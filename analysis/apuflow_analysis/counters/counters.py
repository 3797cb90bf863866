"""Turn gem5's statistics into counters: sums over compute units, caches and channels."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from apuflow.core.errors import AnalysisError
from apuflow.core.record import ReleaseFacts
from apuflow.gem5.stats.blocks import Blocks
from apuflow.gem5.stats.checks import ACTIVE, LAUNCHED, UNITS, arrays
from apuflow.gem5.stats.contradictions import Broken, overlapping
from apuflow.gem5.stats.rows import Rows, parse_block
from apuflow_analysis.counters.identities import check
from apuflow_analysis.counters.located import locate
from apuflow_analysis.counters.matrix import operations
from apuflow_analysis.counters.table import COUNTERS, CYCLES, NAMES, SLOT, WORKGROUPS, Counter
from apuflow_analysis.counters.terms import NAN, Snapshot, elements, evaluate

PAIRS = (("sqc_hits", "sqc_misses"), ("scalar_hits", "scalar_misses"))
"""Counters that some releases print and never count: without the release's facts, two zeros say nothing."""

_CACHE = re.compile(r"\bruby\.\w+_cntrl\*\.\w*[cC]ache\w*\.")
_NETWORK = "ruby.network.msg_"
CACHES = tuple(counter.name for counter in COUNTERS if _CACHE.search(counter.stats))
"""Counters of cache accesses, which some releases do not reset with the other statistics."""
NETWORK = tuple(counter.name for counter in COUNTERS if counter.stats.startswith(_NETWORK))
"""Counters of the simple network. ``Switch::resetStats`` (src/mem/ruby/network/simple/Switch.cc) leaves them
as they are in every release from v21.1 to v24.1."""
OF_SIMPLE_NETWORK = "system.ruby.network.ext_links0.int_node.percent_links_utilized"
"""A row that the simple network always prints, and garnet never."""
DRAM_ENERGY = ("dram_command_energy", "dram_background_energy")
"""gem5 prints zeros for a memory whose currents it does not know (src/mem/DRAMInterface.py, ``IDD0``)."""


@dataclass(frozen=True)
class Counters(Mapping[str, float]):
    """Counters of one run or one dump, NaN where the release does not yield one.

    Attributes:
        broken: identities of the statistics that do not hold, with numbers.
        cut: what is missing at the end of a statistics file, ``None`` if nothing is.
        dumps: how many dumps they are from.
        began, ended: of one dump: the ticks between which it counts; NaN where the file does not say.
    """

    numbers: Mapping[str, float]
    broken: tuple[Broken, ...] = ()
    cut: str | None = None
    dumps: int = field(default=1, compare=False)
    began: float = field(default=NAN, compare=False)
    ended: float = field(default=NAN, compare=False)

    def __getitem__(self, name: str) -> float:
        return self.numbers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.numbers)

    def __len__(self) -> int:
        return len(self.numbers)


def counters(
    source: str | Path | Rows | Iterable[Rows] | Sequence[str | Path],
    facts: ReleaseFacts | None = None,
    *,
    kernels_only: bool = False,
    wholly: Sequence[Callable[[Counters], Counters] | None] = (),
) -> Counters:
    """The counters of a run.

    Args:
        source: what ``read_stats`` gave, one dump, or one or several statistics files (read by their counters
            only, which is much faster). Several dumps or files are one run: times and counts are added.
        facts: of the gem5 release: what it prints but never counts is unknown, and what it never resets is
            counted once. None: they are not known, and neither is what depends on them (NaN): the cache
            accesses of a file with several dumps, and those of ``PAIRS`` where gem5 printed zeros.
        kernels_only: leave out dumps of a file in which no kernel was launched, but for the host's time.
        wholly: with ``kernels_only``: what makes the counters of each launch from its dump; None: they are.

    Raises:
        AnalysisError: no complete dump, no GPU in the statistics, or a file that cannot be read.
    """
    dumps: list[Counters] = []
    parts: list[Counters] = []
    cut: str | None = None
    for item in [source] if isinstance(source, str | Path | Rows) else source:
        if isinstance(item, Rows):
            dumps.append(from_snapshot(_snapshot(item, None)))
            continue
        file_dumps, torn = file_counters(item)
        parts += since_reset(file_dumps, facts, item)
        cut = cut or torn
    parts = since_reset(dumps, facts) + parts
    if not parts:
        raise AnalysisError("the statistics hold no complete dump")
    if not kernels_only:
        return counted(combine(parts, cut), facts)
    launching = [part for part in parts if part["kernels_launched"] > 0] or parts
    if wholly:
        pairs = zip(launching, wholly, strict=True)
        launching = [part if whole is None else whole(part) for part, whole in pairs]
    found_all, run = combine(parts), counted(combine(launching, cut), facts)
    return replace(run, numbers={**run.numbers, "host_seconds": found_all["host_seconds"]})


def since_reset(
    dumps: Sequence[Counters], facts: ReleaseFacts | None, file: str | Path | None = None
) -> list[Counters]:
    """The dumps of one file, each with the cache accesses and messages since the dump before.

    Where a release keeps its cache statistics over a reset, the numbers of the dump before are taken off;
    where nobody knows its facts, cache accesses are NaN after the first dump. The simple network's numbers
    are kept over every reset.

    Raises:
        AnalysisError: a dump counts what the dump before it counted: gem5 was not told to reset between them.
    """
    for number, (before, dump) in enumerate(pairwise(dumps), 2):
        if overlapping(dump.ended - dump.began, before.ended, dump.ended):
            raise AnalysisError(
                f"dump {number} counts again what dump {number - 1} counted: their statistics were not reset",
                file=file,
                key="simTicks",
                value=f"{dump.ended - dump.began:.0f}, {dump.ended - before.ended:.0f} since that dump",
                remedy="dump with m5_dump_reset_stats, or give a file with the last dump alone",
            )
    kept = () if facts is not None and not facts.keeps_cache_statistics else CACHES
    result = list(dumps[:1])
    for before, dump in pairwise(dumps):
        since = {name: NAN if facts is None else dump[name] - before[name] for name in kept}
        since |= {name: dump[name] - before[name] for name in NETWORK}
        result.append(replace(dump, numbers={**dump.numbers, **since}))
    return result


def counted(dump: Counters, facts: ReleaseFacts | None) -> Counters:
    """The counters without those that gem5 prints and never counts: they are unknown, not 0."""
    if facts is None:
        never = [name for pair in PAIRS if not any(dump[name] for name in pair) for name in pair]
    else:
        never = [name for name in facts.never_counted if name in dump]
    return replace(dump, numbers={**dump.numbers, **dict.fromkeys(never, NAN)}) if never else dump


def file_counters(file: str | Path) -> tuple[list[Counters], str | None]:
    """Counters of each dump of a file, and what is missing at its end; reads only what they need.

    Raises:
        AnalysisError: no complete dump, or no GPU in one.
    """
    blocks = Blocks(file)
    dumps = []
    for block in blocks:
        dumps.append(from_snapshot(locate(block) or _snapshot(parse_block(block.lines), file)))
    if not dumps:
        why = f": {blocks.cut}" if blocks.cut else ", it is empty"
        remedy = "gem5 writes statistics when it ends by itself: the run's log says how it ended"
        raise AnalysisError(f"no complete statistics in this file{why}", file=file, remedy=remedy)
    return dumps, f"{file}: {blocks.cut}" if blocks.cut else None


def with_matrix(dump: Counters, code: Mapping[str, tuple[float, float]] | None) -> Counters:
    """The counters of a launch with its :func:`apuflow_analysis.counters.matrix.operations`."""
    return replace(dump, numbers={**dump.numbers, **operations(dump, code or {})})


def combine(parts: Sequence[Counters], cut: str | None = None) -> Counters:
    """The counters of a run from those of its dumps."""
    values = {one.name: _together(one, [part[one.name] for part in parts]) for one in COUNTERS}
    values["gpu_cycles"] = _cycles(values)
    return Counters(values, tuple(b for part in parts for b in part.broken), cut, len(parts))


def from_snapshot(dump: Snapshot) -> Counters:
    """The counters of a dump, however it was read."""
    values = {
        one.name: evaluate(one.stats, dump, one.optional) * one.scale if one.stats else NAN
        for one in COUNTERS
    }
    cycles = [unit[CYCLES] for unit in dump.units if CYCLES in unit]
    groups = [unit[WORKGROUPS] for unit in dump.units if WORKGROUPS in unit]
    values["gpu_cycles"] = _cycles(values)
    values["compute_units"] = float(len(dump.units))
    values["tcc_banks"] = float(len(elements("ruby.tcc_cntrl", dump.row))) or NAN
    values["cu_cycles_max"] = max(cycles, default=NAN)
    values["workgroups_max"] = max(groups, default=NAN)
    values["slot_cycles"] = values["cu_cycles"] * dump.slots
    classes = ("valu_insts", "salu_insts", "smem_insts", "vmem_insts", "flat_insts", "lds_insts")
    values |= operations(values, {})
    if dump.row(OF_SIMPLE_NETWORK) is None:
        values |= dict.fromkeys(NETWORK, NAN)
    if values["dram_background_energy"] == 0:
        values |= dict.fromkeys(DRAM_ENERGY, NAN)
    values["other_insts"] = values["instructions"] - sum(values[name] for name in classes)
    ordered = {name: values[name] for name in NAMES}
    row = dump.row("finalTick")
    ended = NAN if row is None else row
    return Counters(ordered, check(ordered, dump), began=ended - ordered["sim_ticks"], ended=ended)


def _cycles(values: Mapping[str, float]) -> float:
    ticks, period = values["gpu_active_ticks"], values["gpu_clock_ticks"]
    return float(round(ticks / period)) if period > 0 and math.isfinite(ticks) else NAN


def _together(counter: Counter, values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return NAN
    if counter.aggregate == "sum":
        return math.fsum(values)
    return known[-1] if counter.aggregate == "last" else max(known)


def _snapshot(dump: Rows, file: str | Path | None) -> Snapshot:
    rows = dump.numbers
    shader = _gpu_name(rows, file)
    units = list(arrays(rows, shader).get(UNITS, {}).values())
    slots = sum(1 for name in units[0] if re.fullmatch(SLOT, name)) if units else 0
    launched = next((value for name, value in rows.items() if name.endswith(LAUNCHED)), None)
    return Snapshot(shader, units, rows.get, launched, slots or NAN, whole=True)


def _gpu_name(rows: Iterable[str], file: str | Path | None) -> str:
    """The name of the one GPU whose rows these are, such as ``system.cpu3``.

    On a board of gem5's standard library, its caches and memory have names of their own.
    """
    key = f"*{ACTIVE}"
    names = [name.removesuffix(ACTIVE) for name in rows if name.endswith(ACTIVE)]
    if not names:
        remedy = "give the stats.txt of a run of apu_se.py"
        raise AnalysisError("no GPU in these statistics", file=file, key=key, remedy=remedy)
    if len(names) > 1:
        message = f"these statistics hold {len(names)} GPUs: counters are read of one"
        remedy = "simulate one GPU"
    elif not names[0].startswith("system."):
        message = "the GPU's caches and memory have names that are not known"
        remedy = "give the statistics of apu_se.py or of configs/example/gpufs: their GPU is system.cpuN"
    else:
        return names[0]
    raise AnalysisError(message, file=file, key=key, value=", ".join(names), remedy=remedy)
