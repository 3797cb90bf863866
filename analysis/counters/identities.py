"""Relations that must hold in every statistics file; a broken one means a misread file or a changed model.

Source: how gem5 v21.0.1.0 to v24.0.0.1 count (src/gpu-compute/compute_unit.cc, scoreboard_check_stage.cc,
exec_stage.cc, schedule_stage.cc, wavefront.cc; src/mem/ruby/structures/CacheMemory.cc).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from analysis.counters.terms import Snapshot, elements

_SLOT = re.compile(r"wavefronts\d*\.numInstrExecuted")
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Broken:
    """An identity that does not hold.

    Attributes:
        identity: what should hold.
        left, right: the numbers on its two sides.
    """

    identity: str
    left: float
    right: float

    def __str__(self) -> str:
        return f"broken: {self.identity} ({self.left:.17g} against {self.right:.17g})"


def check(values: Mapping[str, float], dump: Snapshot) -> tuple[Broken, ...]:
    """The identities that a dump breaks; those whose numbers it lacks are passed over.

    Args:
        values: the dump's counters.
        dump: the dump.
    """
    v = values
    stalls = sum(v[name] for name in v if name.startswith("stall_"))
    equal = {
        "cycles with and without issue add up to totalCycles": (
            v["issue_cycles"] + v["no_issue_cycles"],
            v["cu_cycles"],
        ),
        "TCP events split into states": (v["tcp_load_hits"] + v["tcp_load_misses"], v["tcp_load_events"]),
    }
    if dump.units:
        units = dump.units
        equal["ready and idle cycles of the execution units add up to totalCycles"] = (
            v["ready_unit_cycles"] + v["idle_unit_cycles"],
            _execution_units(units[0]) * v["cu_cycles"],
        )
        equal["instCyclesVALU equals vALUInsts"] = (
            sum(unit.get("instCyclesVALU", math.nan) for unit in units),
            v["valu_insts"],
        )
        if any(_SLOT.fullmatch(name) for name in units[0]):
            equal["instructions of the wavefront slots add up to the compute units'"] = (
                sum(value for unit in units for name, value in unit.items() if _SLOT.fullmatch(name)),
                v["instructions"],
            )
    for array, cache in (("tcp", "L1cache"), ("tcc", "L2cache"), ("sqc", "L1cache"), ("scalar", "L1cache")):
        names = [f"{name}.{cache}.m_demand_" for name in elements(f"ruby.{array}_cntrl", dump.row)]
        equal[f"{array} accesses are hits and misses"] = (
            sum(_number(dump.row(name + part)) for name in names for part in ("hits", "misses")),
            sum(_number(dump.row(name + "accesses")) for name in names),
        )
    at_most = {
        "slot cycles hold the stall buckets": (stalls, v["slot_cycles"]),
        "GPU active time lies within the simulated time": (v["gpu_active_ticks"], v["sim_ticks"]),
        "a compute unit is awake at most for the active time": (v["cu_cycles_max"], v["gpu_cycles"] + 1),
        "lanes of vector instructions fit the wavefront": (v["valu_thread_cycles"], 64 * v["valu_insts"]),
    }
    broken = [Broken(name, a, b) for name, (a, b) in equal.items() if abs(a - b) > _ROUNDING * max(1, abs(b))]
    broken += [Broken(name, a, b) for name, (a, b) in at_most.items() if a > b]
    return tuple(broken)


def _execution_units(unit: Mapping[str, float]) -> int:
    return sum(name.startswith("ScheduleStage.rdyListEmpty::") for name in unit)


def _number(value: float | None) -> float:
    return math.nan if value is None else value
