"""Can a compute unit hold the largest workgroup that a network launches? Else gem5 never ends, or panics.

Sources: gem5 ``src/gpu-compute/compute_unit.cc`` (hasDispResources: a workgroup that never fits waits for
ever; too many registers is a panic, where the scalar registers of a whole workgroup are held against those of
one SIMD unit), ``src/gpu-compute/lds_state.hh`` (canReserve); kernels as the preview knows them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from apuflow.configure.work import Work
from apuflow.core.gpus import Isa, gpu
from apuflow.core.grid import resident_workgroups
from apuflow.core.scalar import Scalar
from apuflow.miopen.launch import Launch
from apuflow.rocblas.call import library_launches

LARGEST_WAVES = 16
"""Wavefronts of the largest workgroup that OpenCL kernels of MIOpen use (1024 work-items)."""
LARGEST_LDS = 65536


@dataclass(frozen=True)
class Demand:
    """What one workgroup of a kernel takes."""

    kernel: str
    waves: int
    lds_bytes: int
    vector_registers: int
    scalar_registers: int


@dataclass(frozen=True)
class Capacity:
    """What a compute unit has: SIMD units, wavefront slots and registers of each, LDS bytes."""

    isa: Isa
    simds: int
    slots_per_simd: int
    registers_per_simd: int
    scalars_per_simd: int
    register_block: int
    lds_bytes: int

    @property
    def ample(self) -> bool:
        """Whether every possible workgroup fits, so that none needs a check."""
        per_simd = -(-LARGEST_WAVES // self.simds)
        return (
            self.slots_per_simd >= per_simd
            and self.registers_per_simd >= per_simd * self.isa.vector_registers
            and self.scalars_per_simd >= LARGEST_WAVES * self.isa.scalar_registers
            and self.lds_bytes >= LARGEST_LDS
        )


def capacity(options: Mapping[str, Scalar]) -> Capacity:
    """What a compute unit of a machine has. ``options``: all of ``apu_se.py``'s."""
    return Capacity(
        isa=gpu(str(options["gfx-version"])).isa,
        simds=int(options["simds-per-cu"]),
        slots_per_simd=int(options["wfs-per-simd"]),
        registers_per_simd=int(options["vreg-file-size"]),
        scalars_per_simd=int(options["sreg-file-size"]),
        register_block=int(options["vreg-min-alloc"]),
        lds_bytes=int(options["lds-size"]),
    )


def held_at_once(demand: Demand, options: Mapping[str, Scalar], barrier_slots: int) -> int:
    """Workgroups of a kernel that the machine holds; ``barrier_slots``: see ReleaseFacts."""
    unit = capacity(options)
    of_unit = resident_workgroups(
        demand.waves,
        demand.lds_bytes,
        demand.vector_registers,
        simds=unit.simds,
        slots=unit.simds * unit.slots_per_simd,
        barrier_slots=barrier_slots,
        unit_lds_bytes=unit.lds_bytes,
        simd_registers=unit.registers_per_simd,
        register_block=unit.register_block,
    )
    alone = options.get("reg-alloc-policy") == "simple"  # it keeps one workgroup per compute unit
    return int(options["num-compute-units"]) * (1 if alone else of_unit)


@dataclass(frozen=True)
class Overflow:
    """A workgroup that does not fit, and the option that is too small for it."""

    option: str
    message: str
    needed: int


def overflows(
    work: Work, compute_units: int, capacity: Capacity, library_gfx: str | None = None
) -> tuple[Overflow, ...]:
    """The workgroups of its kernels that the compute unit can never hold, one per option.

    ``library_gfx``: the GPU, where rocBLAS' own kernels run its products.
    """
    largest: dict[str, Overflow] = {}
    for demand in _demands(work, compute_units, capacity.isa, library_gfx):
        for overflow in demand_overflows(demand, capacity):
            known = largest.get(overflow.option)
            if known is None or overflow.needed > known.needed:
                largest[overflow.option] = overflow
    return tuple(largest.values())


def demand_overflows(demand: Demand, capacity: Capacity) -> Iterator[Overflow]:
    """The options that are too small for one workgroup of a kernel."""
    waves, block = demand.waves, capacity.register_block
    per_simd = -(-waves // capacity.simds)
    vectors, scalars = (
        -(-each // block) * block for each in (demand.vector_registers, demand.scalar_registers)
    )
    never = "can never be placed: gem5 would run for ever without a message"
    panic = "does not fit: gem5 would panic"
    of_vectors = f"({waves} wavefronts of {demand.vector_registers} registers) {panic}, or never start it"
    of_scalars = f"({waves} wavefronts of {demand.scalar_registers} scalar registers) {panic}"
    of_lds = f"uses {demand.lds_bytes} bytes of LDS and {never}"
    for option, needed, held, granule, why in (
        ("wfs-per-simd", per_simd, capacity.slots_per_simd, 1, f"has {waves} wavefronts and {never}"),
        ("vreg-file-size", per_simd * vectors, capacity.registers_per_simd, block, of_vectors),
        (
            "sreg-file-size",
            max(waves * demand.scalar_registers, per_simd * scalars),
            *(capacity.scalars_per_simd, block, of_scalars),
        ),
        ("lds-size", demand.lds_bytes, capacity.lds_bytes, 1024, of_lds),
    ):
        if needed > held:
            message = f"a workgroup of {demand.kernel} {why}"
            yield Overflow(option, message, -(-needed // granule) * granule)


def demand_of(launch: Launch, isa: Isa) -> Demand:
    """What a workgroup of a launch takes, as far as the preview knows its kernel; else its geometry alone."""
    from apuflow.core.errors import ApuflowError
    from apuflow.preview.kernels.facts import facts_of, is_vega
    from apuflow.preview.kernels.registry import taken

    waves = -(-math.prod(launch.workgroup) // isa.wave_size)
    try:
        return Demand(launch.kernel, waves, *taken(facts_of(launch, is_vega(isa))))
    except ApuflowError:
        return Demand(launch.kernel, waves, 0, 0, 0)


@lru_cache(maxsize=4096)
def _demands(work: Work, compute_units: int, isa: Isa, library_gfx: str | None) -> tuple[Demand, ...]:
    launches = work.launches(compute_units)
    if library_gfx:
        launches = library_launches(launches, library_gfx)
    return tuple(dict.fromkeys(demand_of(launch, isa) for launch in launches))
