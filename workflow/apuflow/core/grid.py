"""The workgroups of a launch: of its grid, and those that a compute unit holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product


def workgroups(grid: Sequence[int], workgroup: Sequence[int]) -> tuple[int, ...]:
    """Workgroups along each axis of a grid of work-items, partial ones included."""
    return tuple([-(-items // size) for items, size in zip(grid, workgroup, strict=True)])


def wavefronts(grid: Sequence[int], workgroup: Sequence[int], lanes: int = 64) -> int:
    """Wavefronts of a grid of work-items; a partial workgroup has those of its own work-items."""
    sizes = [_sizes(items, size) for items, size in zip(grid, workgroup, strict=True)]
    return sum(
        math.prod(many for _, many in parts) * -(-math.prod(size for size, _ in parts) // lanes)
        for parts in product(*sizes)
    )


def _sizes(items: int, size: int) -> list[tuple[int, int]]:
    """Work-items of a workgroup along an axis, and how many have so many."""
    whole, rest = divmod(items, size)
    return [(size, whole), (rest, 1)] if rest else [(size, whole)]


def last_axis(groups: Sequence[int]) -> int:
    """The last axis with several workgroups: gem5 dispatches along x, then y, then z."""
    return max((axis for axis, count in enumerate(groups) if count > 1), default=0)


def layer(groups: Sequence[int]) -> int:
    """Workgroups that have the same place along the last axis, and so are dispatched together."""
    return math.prod(groups[: last_axis(groups)])


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
    """Workgroups that a compute unit holds at a time; at least 1. Source: ``ComputeUnit::hasDispResources``.

    Args:
        waves, lds_bytes: of a workgroup.
        registers: vector registers of a wavefront.
        slots: wavefront slots of the compute unit.
        barrier_slots: workgroups of several wavefronts that it holds.
        simd_registers: vector registers of a SIMD unit, allocated in blocks of ``register_block``.
    """
    limit = slots // waves
    if waves > 1:
        limit = min(limit, barrier_slots)
    if lds_bytes:
        limit = min(limit, unit_lds_bytes // lds_bytes)
    allocated = -(-max(1, registers) // register_block) * register_block
    return max(1, min(limit, simd_registers // allocated * simds // waves))
