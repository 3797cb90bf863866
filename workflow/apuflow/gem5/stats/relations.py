"""Relations between rows of gem5's statistics that its sources make exact.

Each is a formula of gem5 over its own rows, or compares counters that the same statements count. It holds in
all releases that have the rows (v21.1 to v24.1 were read; a comment names the source of each group).

A formula is ``left = right`` or ``left <= right``. The right side may end in `` / divisor``: gem5 prints the
rounded quotient, and nothing is compared while the divisor is 0. It may also end in `` within error``. A side
is a sum of terms with `` + `` and `` - ``, a term is a product with `` * `` of numbers and rows:

* ``x`` is a row of the object that the relation is about;
* ``/x`` is a row of the whole block as ``View.find`` has it, the sum where it is an array's; ``/SECONDS``
  is the simulated time, which gem5 prints with six digits only;
* ``::*`` stands for all elements of a vector, ``::@`` for each in turn, ``wavefronts*`` for all of them;
  ``#`` before such a name is the number of these rows;
* ``a|b`` are the names of one row in different releases; with ``?`` at its end an absent row counts as 0.

A relation is passed over where one of its rows is missing: required rows are another check.
``apuflow.gem5.stats.contradictions`` finds the relations that a block breaks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_RESIDENCY = "power_state.pwrStateResidencyTicks::UNDEFINED"
_GPU_RESIDENCY = f"/.{_RESIDENCY}"


@dataclass(frozen=True)
class Relation:
    """A formula that holds for every object of a kind.

    Attributes:
        of: the objects: ``CUs`` (compute units), an array behind ``system.``, or ``""`` for the whole block.
        digits: digits behind the point that gem5 prints of a quotient; None: as many as the number shows.
        since_start: the block must count from tick 0: some releases do not reset every row.
        idle: no wavefront may be on the GPU when the block begins or ends: requests could be on their way.
        unless: events that must not have happened: releases count them differently.
        quick: only few rows are needed: also checked where a file is read by its counters alone.
    """

    of: str
    formula: str
    digits: int | None = 6
    since_start: bool = False
    idle: bool = False
    unless: tuple[str, ...] = ()
    quick: bool = False

    def __str__(self) -> str:
        text = self.formula.partition(" within ")[0] + (f" (of {self.of})" if self.of else "")
        text = text.replace("/.", "the GPU's ").replace("/SECONDS", "simSeconds")
        return re.sub(r"\?|(?<![^ (])/(?! )", "", text.replace("#", "number of "))


def _block() -> Iterator[Relation]:
    # src/sim/root.cc: simTicks = curTick - startTick, finalTick = curTick, simSeconds = simTicks / simFreq
    yield Relation("", "/simTicks <= /finalTick", quick=True)
    yield Relation("", "/simSeconds = /simTicks / /simFreq", None, quick=True)
    # src/sim/power_state.cc: residencies are brought up to date at a dump, and begin again there
    yield Relation("", f"/simTicks <= {_GPU_RESIDENCY}", quick=True)
    yield Relation("", f"/simTicks = {_GPU_RESIDENCY}", since_start=True, quick=True)
    # src/gpu-compute/shader.cc: sampleLoad, sampleStore; a part's ticks are those of all without the other's
    every, load, store = (f"/.{which}LatencyDist" for which in ("all", "load", "store"))
    yield Relation("", f"{load}::samples + {store}::samples = {every}::samples")
    for part, other in ((load, store), (store, load)):
        ticks = [f"{one}::samples * {one}::mean" for one in (part, every, other)]
        error = f"2e-06 * {every}::samples"  # of means with six digits
        yield Relation("", f"{ticks[0]} = {ticks[1]} - {ticks[2]} within {error}")
    # src/arch/amdgpu/*/tlb_coalescer.cc, tlb.cc: a coalesced request is looked up once
    yield Relation("", "/l1_coalescer*.coalescedAccesses = /l1_tlb*.localNumTLBAccesses", idle=True)
    # src/mem/ruby/protocol/GPU_VIPER-{TCP,TCC,SQC}.sm: transitions with a profiled hit or miss
    yield _profiled("tcp_cntrl*.L1cache.m_demand_hits", "TCP", "V.Load V.StoreThrough")
    missed = "I.Load I.StoreThrough I.LoadBypassEvict V.LoadBypassEvict"
    yield _profiled("tcp_cntrl*.L1cache.m_demand_misses", "TCP", missed)
    hit = "M.RdBlk V.RdBlk V.WrVicBlk V.WrVicBlkBack M.WrVicBlkBack W.WrVicBlkBack"
    missed = (
        "I.RdBlk IV.RdBlk I.WrVicBlk I.WrVicBlkBack I.WrVicBlkEvict V.WrVicBlkEvict W.WrVicBlkEvict "
        "I.RdBypassEvict W.RdBypassEvict M.RdBypassEvict V.RdBypassEvict"
    )
    for row, events in (("hits", hit), ("misses", missed)):
        unless = "W.RdBlk Atomic AtomicPassOn"
        yield _profiled(f"tcc_cntrl*.L2cache.m_demand_{row}", "TCC", events, unless)
    for row, state in (("hits", "V"), ("misses", "I")):
        caches = (f"/ruby.{one}_cntrl*.L1cache.m_demand_{row}" for one in ("sqc", "scalar"))
        formula = f"{' + '.join(caches)} = /ruby.SQC_Controller.{state}.Fetch?"
        yield Relation("", formula, since_start=True)


def _profiled(row: str, controller: str, events: str, unless: str = "") -> Relation:
    counted, not_counted = (
        [f"/ruby.{controller}_Controller.{event}?" for event in some.split()] for some in (events, unless)
    )
    formula = f"/ruby.{row} = {' + '.join(counted)}"
    return Relation("", formula, since_start=True, unless=tuple(not_counted))


def _unit() -> Iterator[Relation]:
    """Of each compute unit: src/gpu-compute/compute_unit.cc and the files named below."""
    quick = (
        # exec_stage.cc: each cycle counts once
        "ExecStage.numCyclesWithInstrIssued + ExecStage.numCyclesWithNoIssue = totalCycles",
        # updateInstStats
        "instCyclesVALU = vALUInsts",
    )
    for formula in quick:
        yield Relation("CUs", formula, quick=True)
    fused = (f"numVecOpsExecuted{kind}{bits}" for kind in ("FMA", "MAC", "MAD") for bits in (16, 32, 64))
    memory = ("vectorMemWrites", "vectorMemReads", "scalarMemWrites", "scalarMemReads")
    others = ("vALUInsts", "sALUInsts", "ldsNoFlatInsts", "flatVMemInsts", "flatLDSInsts")
    formulas = (
        # exec_stage.cc, schedule_stage.cc: each cycle counts once
        "ExecStage.spc::samples = totalCycles",
        "ExecStage.spc::0 = ExecStage.numCyclesWithNoIssue",
        "ExecStage.numCyclesWithInstrTypeIssued::@ + ExecStage.numCyclesWithNoInstrTypeIssued::@"
        " = totalCycles",
        "ScheduleStage.rdyListEmpty::@ + ScheduleStage.rdyListNotEmpty::@ = totalCycles",
        # scoreboard_check_stage.cc: each wavefront slot counts once a cycle; sleeping ones print no row
        "ScoreboardCheckStage.stallCycles::* <= totalCycles * #wavefronts*.numInstrExecuted",
        # updateInstStats
        "instCyclesSALU = sALUInsts",
        # wavefront.cc
        "wavefronts*.numInstrExecuted = numInstrExecuted",
        "execRateDist::samples = numInstrExecuted",
        f"numVecOpsExecutedTwoOpFP = {' + '.join(fused)}",
        # formulas
        *(
            f"{segment}MemInsts = {segment}Reads + {segment}Writes"
            for segment in ("global", "arg", "spill", "group", "priv", "readonly", "kernarg")
        ),
        "numALUInstsExecuted = numInstrExecuted - dynamicGMemInstrCnt - dynamicLMemInstrCnt",
        *(f"{row}PerWF = {row} / completedWfs" for row in (*others, *memory)),
        *(f"{row}PerKiloInst = 1000 * {row} / numInstrExecuted" for row in memory),
        f"vALUUtilization = {100 / 64} * threadCyclesVALU / instCyclesVALU",
        "tlbLatency = tlbCycles / tlbRequests",
        "ipc = numInstrExecuted / totalCycles",
        "vpc = numVecOpsExecuted / totalCycles",
        *(f"vpc_{kind.lower()} = numVecOpsExecuted{kind} / totalCycles" for kind in ("F16", "F32", "F64")),
    )
    yield from (Relation("CUs", formula) for formula in formulas)


def _translation() -> Iterator[Relation]:
    """src/gpu-compute/gpu_tlb.cc and tlb_coalescer.cc, later src/arch/amdgpu/*/."""
    for level in ("l1", "l2", "l3", "sqc", "scalar"):
        tlb, coalescer = f"{level}_tlb", f"{level}_coalescer"
        for scope in ("local", "global"):
            hits, misses, total = (f"{scope}NumTLB{row}" for row in ("Hits", "Misses", "Accesses"))
            quick = level in ("l1", "l3") and scope == "local"
            yield Relation(tlb, f"{hits} + {misses} = {total}", quick=quick)
            yield Relation(tlb, f"{scope}TLBMissRate = 100 * {misses} / {total}")
        yield Relation(tlb, "localLatency = localCycles / localNumTLBAccesses")
        yield Relation(coalescer, "localLatency = localqueuingCycles / uncoalescedAccesses")
        yield Relation(coalescer, "coalescedAccesses <= uncoalescedAccesses")


def _caches() -> Iterator[Relation]:
    """src/mem/ruby/structures/CacheMemory.cc: the accesses are a formula from v21.1 on."""
    l1 = dict.fromkeys(("tcp", "sqc", "scalar"), "L1cache")
    l3 = dict.fromkeys(("dir", "gpu_dir"), "L3CacheMemory")
    for array, name in {**l1, "tcc": "L2cache", **l3}.items():
        hits, misses, total = (f"{name}.m_demand_{row}" for row in ("hits", "misses", "accesses"))
        yield Relation(f"ruby.{array}_cntrl", f"{hits} + {misses} = {total}", quick=True)


def _memory() -> Iterator[Relation]:
    """src/mem/mem_ctrl.cc, mem_interface.cc (dram_interface.cc from v22.1) and abstract_mem.cc."""
    read, written = (f"dram.bytes{way}|dram.dramBytes{way}" for way in ("Read", "Written"))
    shown = (
        f"dram.avgRdBW = 1e-06 * {read} / /SECONDS",
        f"dram.avgWrBW = 1e-06 * {written} / /SECONDS",
        "avgRdBWSys = bytesReadSys / /SECONDS",
        "avgWrBWSys = bytesWrittenSys / /SECONDS",
        "dram.readRowHitRate = 100 * dram.readRowHits / dram.readBursts",
        "dram.writeRowHitRate = 100 * dram.writeRowHits / dram.writeBursts",
        *(f"dram.avg{wait} = dram.tot{wait} / dram.readBursts" for wait in ("QLat", "BusLat", "MemAccLat")),
        "avgGap = totGap / (readReqs + writeReqs)",
        "dram.busUtilRead = 100 * dram.avgRdBW / dram.peakBW",
        "dram.busUtilWrite = 100 * dram.avgWrBW / dram.peakBW",
    )
    for array in ("mem_ctrls", "gpu_mem_ctrls"):
        yield from (Relation(array, formula, None) for formula in shown)
        for rate, moved in (("bwRead", "bytesRead"), ("bwWrite", "bytesWritten")):
            yield Relation(array, f"dram.{rate}::total = dram.{moved}::total / /SECONDS", 0)
        # every burst moves the same number of bytes
        yield Relation(array, f"{read} * dram.writeBursts = {written} * dram.readBursts")


def _time_of_objects() -> Iterator[Relation]:
    """Every clocked object was there for the time that the GPU was: src/sim/power_state.cc."""
    caches = ("tcp_cntrl", "tcc_cntrl", "sqc_cntrl", "scalar_cntrl", "dir_cntrl", "gpu_dir_cntrl")
    levels = ("l1", "l2", "l3", "sqc", "scalar")
    translation = (f"{level}_{part}" for level in levels for part in ("tlb", "coalescer"))
    for array in ("CUs", *(f"ruby.{name}" for name in caches), *translation, "mem_ctrls", "gpu_mem_ctrls"):
        # a reset passes by the controllers' own (AbstractController::resetStats)
        ruby = array.startswith("ruby.")
        yield Relation(array, f"{_RESIDENCY} = {_GPU_RESIDENCY}", since_start=ruby)
    # configs/common/GPUTLBConfig.py: they have the clock of the GPU
    for array in ("l1_tlb", "l1_coalescer"):
        yield Relation(array, "clk_domain.clock = /.clk_domain.clock")


RELATIONS: tuple[Relation, ...] = (
    *_block(),
    *_unit(),
    *_translation(),
    *_caches(),
    *_memory(),
    *_time_of_objects(),
)
