"""Number of workgroups of a kernel that a compute unit holds."""

from __future__ import annotations


def resident_workgroups(
    waves: int,
    lds_bytes: int,
    registers: int,
    *,
    simds: int,
    slots: int,
    barrier_slots: int,
    unit_lds_bytes: int,
    simd_registers: int,
    register_block: int,
) -> int:
    """Workgroups that a compute unit holds at a time; at least 1.

    Limits: wavefront slots, barrier slots (workgroups of several wavefronts), LDS, vector registers.
    Source: ``ComputeUnit::hasDispResources``.

    Args:
        waves, lds_bytes: of a workgroup.
        registers: vector registers of a wavefront.
        slots: wavefront slots of the compute unit.
        simd_registers: vector registers of a SIMD unit, allocated in blocks of ``register_block``.
    """
    limit = slots // waves
    if waves > 1:
        limit = min(limit, barrier_slots)
    if lds_bytes:
        limit = min(limit, unit_lds_bytes // lds_bytes)
    allocated = -(-max(1, registers) // register_block) * register_block
    return max(1, min(limit, simd_registers // allocated * simds // waves))
