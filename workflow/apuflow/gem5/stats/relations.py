"""Relations between rows of gem5's statistics that its sources make exact.

Each is a formula of gem5 over its own rows, or compares counters that the same statements count. It holds in
all releases that have the rows (v21.1 to v24.1 were read; a comment names the source of each group).
``apuflow.gem5.stats.contradictions`` checks them.

An expression is a sum of rows with `` + `` and `` - ``, or a product with `` * ``:

* ``x`` is a row of the object that the relation is about;
* ``/x`` is a row of the whole block: a name with a dot begins behind ``system.``, ``SHADER`` is the
  name of the GPU there, and ``SECONDS`` is the simulated time, which gem5 prints with six digits only;
* ``/array*.x`` is the sum over an array of objects;
* ``::*`` stands for all elements of a vector, ``::@`` for each in turn, ``wavefronts*`` for all of them;
* ``a|b`` are the names of one row in different releases; with ``?`` at its end an absent row counts as 0.

A relation is passed over where one of its rows is missing: required rows are another check.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

SHADER = "SHADER"
"""Stands for the name of the GPU behind ``system.``."""
SECONDS = "SECONDS"
_RESIDENCY = "power_state.pwrStateResidencyTicks::UNDEFINED"


@dataclass(frozen=True)
class Relation:
    """``left`` equals ``right``, or ``factor * right / over`` as printed.

    Attributes:
        of: the objects: ``CUs`` (compute units), an array behind ``system.``, or ``""`` for the whole block.
        left, right: expressions.
        over: an expression that ``right`` is divided by: gem5 prints the rounded quotient. Nothing is
            compared while the divisor is 0.
        factor: of the quotient, or of the right side.
        digits: digits behind the point that gem5 prints of the quotient; None: as many as the number shows.
        at_most: ``left`` may be less.
        times: rows of the object; ``right`` is multiplied by their number.
        rounding: an expression: its value times 1e-6 is the error that printed means bring in.
        since_start: the block must count from tick 0: some releases do not reset every row.
        idle: no wavefront may be on the GPU when the block begins or ends: requests could be on their way.
        unless: events that must not have happened: releases count them differently.
        quick: only few rows are needed: also checked where a file is read by its counters alone.
    """

    of: str
    left: str
    right: str
    over: str = ""
    factor: float = 1.0
    digits: int | None = 6
    at_most: bool = False
    times: str = ""
    rounding: str = ""
    since_start: bool = False
    idle: bool = False
    unless: tuple[str, ...] = ()
    quick: bool = False

    def __str__(self) -> str:
        right = self.right if self.factor == 1 else f"{self.factor:g} * {self.right}"
        right += f" * number of {self.times}" if self.times else ""
        over = f"({self.over})" if " " in self.over else self.over
        right += f" / {over}" if over else ""
        about = f" (of {self.of})" if self.of else ""
        text = f"{self.left} {'<=' if self.at_most else '='} {right}{about}"
        text = text.replace(f"/{SHADER}.", "the GPU's ").replace(f"/{SECONDS}", "simSeconds")
        return re.sub(r"\?|(?<![^ (])/(?! )", "", text)


def _block() -> Iterator[Relation]:
    # src/sim/root.cc: simTicks = curTick - startTick, finalTick = curTick, simSeconds = simTicks / simFreq
    yield Relation("", "/simTicks", "/finalTick", at_most=True, quick=True)
    yield Relation("", "/simSeconds", "/simTicks", "/simFreq", digits=None, quick=True)
    # src/sim/power_state.cc: residencies are brought up to date at a dump, and begin again there
    yield Relation("", "/simTicks", f"/{SHADER}.{_RESIDENCY}", at_most=True, quick=True)
    yield Relation("", "/simTicks", f"/{SHADER}.{_RESIDENCY}", since_start=True, quick=True)
    # src/gpu-compute/shader.cc: sampleLoad, sampleStore
    parts = ("loadLatencyDist", "storeLatencyDist")
    whole = f"/{SHADER}.allLatencyDist::samples"
    yield Relation("", " + ".join(f"/{SHADER}.{part}::samples" for part in parts), whole)
    for part, other in (parts, parts[::-1]):
        # the ticks of one part are those of all without the other's
        yield Relation(
            "",
            f"/{SHADER}.{part}::samples * /{SHADER}.{part}::mean",
            f"{whole} * /{SHADER}.allLatencyDist::mean"
            f" - /{SHADER}.{other}::samples * /{SHADER}.{other}::mean",
            rounding=f"{whole} + {whole}",
        )
    # src/arch/amdgpu/*/tlb_coalescer.cc, tlb.cc: a coalesced request is looked up once
    yield Relation("", "/l1_coalescer*.coalescedAccesses", "/l1_tlb*.localNumTLBAccesses", idle=True)
    # src/mem/ruby/protocol/GPU_VIPER-{TCP,TCC,SQC}.sm: transitions with a profiled hit or miss
    tcp = {
        "hits": ("V.Load", "V.StoreThrough"),
        "misses": ("I.Load", "I.StoreThrough", "I.LoadBypassEvict", "V.LoadBypassEvict"),
    }
    tcc = {
        "hits": ("M.RdBlk", "V.RdBlk", "V.WrVicBlk", *(f"{state}.WrVicBlkBack" for state in "VMW")),
        "misses": (
            *("I.RdBlk", "IV.RdBlk", "I.WrVicBlk", "I.WrVicBlkBack"),
            *(f"{state}.WrVicBlkEvict" for state in "IVW"),
            *(f"{state}.RdBypassEvict" for state in "IWMV"),
        ),
    }
    for row in ("hits", "misses"):
        yield _profiled("tcp_cntrl", "L1cache", "TCP", row, tcp[row])
        yield _profiled("tcc_cntrl", "L2cache", "TCC", row, tcc[row], ("W.RdBlk", "Atomic", "AtomicPassOn"))
    caches = "/ruby.sqc_cntrl*.L1cache.m_demand_{0} + /ruby.scalar_cntrl*.L1cache.m_demand_{0}"
    for row, state in (("hits", "V"), ("misses", "I")):
        yield Relation("", caches.format(row), f"/ruby.SQC_Controller.{state}.Fetch?", since_start=True)


def _profiled(
    array: str, cache: str, controller: str, row: str, events: tuple[str, ...], unless: tuple[str, ...] = ()
) -> Relation:
    name = f"/ruby.{controller}_Controller."
    return Relation(
        "",
        f"/ruby.{array}*.{cache}.m_demand_{row}",
        " + ".join(f"{name}{event}?" for event in events),
        since_start=True,
        unless=tuple(f"{name}{event}?" for event in unless),
    )


def _unit() -> Iterator[Relation]:
    """Of each compute unit: src/gpu-compute/compute_unit.cc and the files named below."""
    # exec_stage.cc, schedule_stage.cc: each cycle counts once
    issued, none = "ExecStage.numCyclesWithInstrIssued", "ExecStage.numCyclesWithNoIssue"
    yield Relation("CUs", f"{issued} + {none}", "totalCycles", quick=True)
    yield Relation("CUs", "ExecStage.spc::samples", "totalCycles")
    yield Relation("CUs", "ExecStage.spc::0", none)
    yield Relation(
        "CUs",
        "ExecStage.numCyclesWithInstrTypeIssued::@ + ExecStage.numCyclesWithNoInstrTypeIssued::@",
        "totalCycles",
    )
    yield Relation("CUs", "ScheduleStage.rdyListEmpty::@ + ScheduleStage.rdyListNotEmpty::@", "totalCycles")
    # scoreboard_check_stage.cc: each wavefront slot counts once a cycle; sleeping ones have no printed row
    yield Relation(
        "CUs",
        "ScoreboardCheckStage.stallCycles::*",
        "totalCycles",
        at_most=True,
        times="wavefronts*.numInstrExecuted",
    )
    # updateInstStats
    yield Relation("CUs", "instCyclesVALU", "vALUInsts", quick=True)
    yield Relation("CUs", "instCyclesSALU", "sALUInsts")
    # wavefront.cc
    yield Relation("CUs", "wavefronts*.numInstrExecuted", "numInstrExecuted")
    yield Relation("CUs", "execRateDist::samples", "numInstrExecuted")
    fused = " + ".join(
        f"numVecOpsExecuted{kind}{bits}" for kind in ("FMA", "MAC", "MAD") for bits in (16, 32, 64)
    )
    yield Relation("CUs", "numVecOpsExecutedTwoOpFP", fused)
    # formulas
    for segment in ("global", "arg", "spill", "group", "priv", "readonly", "kernarg"):
        yield Relation("CUs", f"{segment}MemInsts", f"{segment}Reads + {segment}Writes")
    others = "dynamicGMemInstrCnt - dynamicLMemInstrCnt"
    yield Relation("CUs", "numALUInstsExecuted", f"numInstrExecuted - {others}")
    per_wavefront = ("vALUInsts", "sALUInsts", "ldsNoFlatInsts", "flatVMemInsts", "flatLDSInsts")
    memory = ("vectorMemWrites", "vectorMemReads", "scalarMemWrites", "scalarMemReads")
    for row in (*per_wavefront, *memory):
        yield Relation("CUs", f"{row}PerWF", row, "completedWfs")
    for row in memory:
        yield Relation("CUs", f"{row}PerKiloInst", row, "numInstrExecuted", 1000)
    yield Relation("CUs", "vALUUtilization", "threadCyclesVALU", "instCyclesVALU", 100 / 64)
    yield Relation("CUs", "tlbLatency", "tlbCycles", "tlbRequests")
    yield Relation("CUs", "ipc", "numInstrExecuted", "totalCycles")
    for rate, row in (("vpc", ""), ("vpc_f16", "F16"), ("vpc_f32", "F32"), ("vpc_f64", "F64")):
        yield Relation("CUs", rate, f"numVecOpsExecuted{row}", "totalCycles")


def _translation() -> Iterator[Relation]:
    """src/gpu-compute/gpu_tlb.cc and tlb_coalescer.cc, later src/arch/amdgpu/*/."""
    for level in ("l1", "l2", "l3", "sqc", "scalar"):
        tlb, coalescer = f"{level}_tlb", f"{level}_coalescer"
        quick = level in ("l1", "l3")
        for scope in ("local", "global"):
            hits, misses, total = (f"{scope}NumTLB{row}" for row in ("Hits", "Misses", "Accesses"))
            yield Relation(tlb, f"{hits} + {misses}", total, quick=quick and scope == "local")
            yield Relation(tlb, f"{scope}TLBMissRate", misses, total, 100)
        yield Relation(tlb, "localLatency", "localCycles", "localNumTLBAccesses")
        yield Relation(coalescer, "localLatency", "localqueuingCycles", "uncoalescedAccesses")
        coalesced = "coalescedAccesses"
        yield Relation(coalescer, coalesced, f"un{coalesced}", at_most=True)


def _caches() -> Iterator[Relation]:
    """src/mem/ruby/structures/CacheMemory.cc: the accesses are a formula from v21.1 on."""
    for array, cache in (
        ("tcp", "L1cache"),
        ("tcc", "L2cache"),
        ("sqc", "L1cache"),
        ("scalar", "L1cache"),
        ("dir", "L3CacheMemory"),
        ("gpu_dir", "L3CacheMemory"),
    ):
        rows = [f"{cache}.m_demand_{row}" for row in ("hits", "misses", "accesses")]
        yield Relation(f"ruby.{array}_cntrl", f"{rows[0]} + {rows[1]}", rows[2], quick=True)


def _memory() -> Iterator[Relation]:
    """src/mem/mem_ctrl.cc, mem_interface.cc (dram_interface.cc from v22.1) and abstract_mem.cc."""
    for array in ("mem_ctrls", "gpu_mem_ctrls"):
        for kind, bus, bursts in (("Rd", "Read", "read"), ("Wr", "Written", "write")):
            moved = f"dram.bytes{bus}|dram.dramBytes{bus}"
            yield Relation(array, f"dram.avg{kind}BW", moved, f"/{SECONDS}", 1e-6, digits=None)
            yield Relation(array, f"avg{kind}BWSys", f"bytes{bus}Sys", f"/{SECONDS}", digits=None)
            rate = bus.removesuffix("ten") if bus == "Read" else "Write"
            yield Relation(array, f"dram.bw{rate}::total", f"dram.bytes{bus}::total", f"/{SECONDS}", digits=0)
            hits = f"dram.{bursts}RowHits"
            yield Relation(array, f"{hits[:-1]}Rate", hits, f"dram.{bursts}Bursts", 100, digits=None)
        for latency in ("QLat", "BusLat", "MemAccLat"):
            yield Relation(array, f"dram.avg{latency}", f"dram.tot{latency}", "dram.readBursts", digits=None)
        # every burst moves the same number of bytes
        read, written = (f"dram.bytes{bus}|dram.dramBytes{bus}" for bus in ("Read", "Written"))
        yield Relation(array, f"{read} * dram.writeBursts", f"{written} * dram.readBursts")
        yield Relation(array, "avgGap", "totGap", "readReqs + writeReqs", digits=None)
        for row in ("busUtilRead", "busUtilWrite"):
            moved = "dram.avgRdBW" if row == "busUtilRead" else "dram.avgWrBW"
            yield Relation(array, f"dram.{row}", moved, "dram.peakBW", 100, digits=None)


def _time_of_objects() -> Iterator[Relation]:
    """Every clocked object was there for the time that the GPU was: src/sim/power_state.cc."""
    arrays = ("tcp_cntrl", "tcc_cntrl", "sqc_cntrl", "scalar_cntrl", "dir_cntrl", "gpu_dir_cntrl")
    levels = ("l1", "l2", "l3", "sqc", "scalar")
    translation = (f"{level}_{part}" for level in levels for part in ("tlb", "coalescer"))
    for array in ("CUs", *(f"ruby.{name}" for name in arrays), *translation, "mem_ctrls", "gpu_mem_ctrls"):
        # a reset passes by the controllers' own (AbstractController::resetStats)
        ruby = array.startswith("ruby.")
        yield Relation(array, _RESIDENCY, f"/{SHADER}.{_RESIDENCY}", since_start=ruby)
    # configs/common/GPUTLBConfig.py: they have the clock of the GPU
    for array in ("l1_tlb", "l1_coalescer"):
        yield Relation(array, "clk_domain.clock", f"/{SHADER}.clk_domain.clock")


RELATIONS: tuple[Relation, ...] = (
    *_block(),
    *_unit(),
    *_translation(),
    *_caches(),
    *_memory(),
    *_time_of_objects(),
)
