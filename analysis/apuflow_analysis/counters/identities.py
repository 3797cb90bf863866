"""Relations that must hold in every statistics file; a broken one means a misread file or a changed model.

Source: how gem5 v21.0.1.0 to v24.0.0.1 count (src/gpu-compute/compute_unit.cc, scoreboard_check_stage.cc,
exec_stage.cc, schedule_stage.cc, wavefront.cc; src/mem/ruby/structures/CacheMemory.cc).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apuflow.gem5.stats.contradictions import Broken, Lookup, View, find_contradictions
from apuflow_analysis.counters.terms import Snapshot, elements

_ROUNDING = 1e-6

_ARRAY_ACCESSES = (("m_demand_hits", "numDataArrayReads"), ("m_demand_accesses", "numDataArrayWrites"))


def check(values: Mapping[str, float], dump: Snapshot) -> tuple[Broken, ...]:
    """The identities that a dump with these counters breaks; those whose numbers it lacks are passed over."""
    v = values
    equal = {
        "TCP events split into states": (v["tcp_load_hits"] + v["tcp_load_misses"], v["tcp_load_events"])
    }
    if dump.units:
        execution_units = sum(name.startswith("ScheduleStage.rdyListEmpty::") for name in dump.units[0])
        equal["ready and idle cycles of the execution units add up to totalCycles"] = (
            v["ready_unit_cycles"] + v["idle_unit_cycles"],
            execution_units * v["cu_cycles"],
        )
    broken = [Broken(name, a, b) for name, (a, b) in equal.items() if abs(a - b) > _ROUNDING * max(1, abs(b))]
    stalls = sum(v[name] for name in v if name.startswith("stall_"))
    at_most = {
        "slot cycles hold the stall buckets": (stalls, v["slot_cycles"]),
        "GPU active time lies within the simulated time": (v["gpu_active_ticks"], v["sim_ticks"]),
        "a compute unit is awake at most for the active time": (v["cu_cycles_max"], v["gpu_cycles"] + 1),
        "lanes of vector instructions fit the wavefront": (v["valu_thread_cycles"], 64 * v["valu_insts"]),
    }
    broken += [Broken(name, a, b) for name, (a, b) in at_most.items() if a > b]
    broken += [Broken(name, a, b) for name, a, b in _not_without(v, dump) if a > 0 and b == 0]
    broken += find_contradictions(_view(dump), quick=not dump.whole)
    return tuple(broken)


def _view(dump: Snapshot) -> View:
    """The dump as relations see it."""

    def of(array: str) -> Sequence[tuple[str, Lookup]]:
        if array == "CUs":
            return units
        return [(name, _row_of(name, dump)) for name in elements(array, dump.row)]

    units = [(f"compute unit {number}", unit.get) for number, unit in enumerate(dump.units)]
    return View(dump.shader, dump.row, of, dump.unit_rows)


def _row_of(name: str, dump: Snapshot) -> Lookup:
    return lambda row: dump.row(f"{name}.{row}")


def _not_without(v: Mapping[str, float], dump: Snapshot) -> Iterator[tuple[str, float, float]]:
    """What cannot have happened without the other; gem5 leaves out rows of 0, so lost rows look so."""
    events = v["tcp_load_events"] + v["tcp_store_events"] + v["tcp_bypass_events"] + v["tcp_atomic_events"]
    yield "accesses of the compute units reach the TCPs", v["global_reads"] + v["global_writes"], events
    passed_on = v["tcp_load_misses"] + v["tcp_store_events"] + v["tcp_bypass_events"]
    yield "what a TCP passes on reaches a TCC", passed_on, v["tcc_reads"] + v["tcc_writes"] + v["tcc_atomics"]
    for name in elements("mem_ctrls", dump.row):
        bus = dump.row(f"{name}.dram.bytesRead") or dump.row(f"{name}.dram.dramBytesRead") or 0.0
        requested = dump.row(f"{name}.dram.bytesRead::total") or 0.0
        yield "bytes read over the DRAM bus were requested", bus, requested
    for name in elements("ruby.tcp_cntrl", dump.row):
        for event, access in _ARRAY_ACCESSES:
            used, array = (dump.row(f"{name}.L1cache.{row}") or 0.0 for row in (event, access))
            yield f"TCPs with {event} have {access}", used, array
