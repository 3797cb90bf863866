"""The first workgroups of large launches in place of all of them (a sweep's key ``workgroups``).

A launch of fewer workgroups begins cold and ends with the machine running empty as the whole one does. What
lies between is the machine full of workgroups, each that ends making room for the next: how fast they follow
one another is read from gem5's trace, and the workgroups left out are taken to go on at that rate
(``apuflow_analysis.counters.extrapolate``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

from apuflow.configure.fit import Demand, demand_of, held_at_once
from apuflow.configure.point import Point
from apuflow.configure.sweep_keys import WORKGROUPS, FewerWorkgroups
from apuflow.configure.work import Software, Work
from apuflow.core.engines import EngineName, engine_facts
from apuflow.core.errors import ApuflowError, ConfigError
from apuflow.core.gpus import gpu
from apuflow.core.grid import last_axis, layer, workgroups
from apuflow.core.record import LaunchRecord
from apuflow.core.scalar import Scalar
from apuflow.kernels.metadata import Kernel, find_kernel, read_kernels
from apuflow.launcher.disassembly import needs_whole_grid
from apuflow.launcher.dispatch_list import Dispatch, DispatchList
from apuflow.miopen.launch import Launch
from apuflow.prepare.builds import Gem5Record

LARGEST_SHARE = 0.7
"""Of the workgroups: a launch of more of them saves too little to be worth an error."""


@dataclass(frozen=True)
class Cut:
    """What became of one launch: its fields as in LaunchRecord."""

    ran: int | None = None
    kept_whole: str | None = None


@dataclass(frozen=True)
class Fewer:
    """What a point asks for.

    Attributes:
        fills: how many times the launched workgroups fill the machine.
        options: all of the machine's.
        barrier_slots: of a compute unit.
    """

    fills: int
    options: Mapping[str, Scalar]
    barrier_slots: int

    @classmethod
    def of(cls, point: Point, gem5: Gem5Record | None = None) -> Fewer | None:
        """What a point asks for; None: whole launches.

        Raises:
            ConfigError: this gem5 cannot trace workgroups.
        """
        if point.workgroups is None:
            return None
        if gem5 is not None and gem5.binary.endswith(".fast"):
            raise ConfigError(
                "gem5.fast cannot trace when workgroups begin, from which the whole launch is extrapolated",
                key=WORKGROUPS,
                value=gem5.binary,
                remedy="use gem5.opt, or take the key out of the sweep",
            )
        return cls(point.workgroups.fills, point.options, point.release_facts.barrier_slots)


def shortened(
    contents: DispatchList, objects: Mapping[str, Path], asked: Fewer | None
) -> tuple[DispatchList, tuple[Cut, ...]]:
    """The list with the grids that are launched, and what became of each of its dispatches.

    Args:
        objects: code objects by the names that the list gives them.
    """
    if asked is None:
        return contents, (Cut(),) * len(contents.dispatches)
    kernels = {name: read_kernels(path) for name, path in objects.items()}
    made: dict[Dispatch, tuple[Dispatch, Cut]] = {}
    for dispatch in dict.fromkeys(contents.dispatches):
        name = str(dispatch.object)
        made[dispatch] = _shortened(dispatch, kernels[name], objects[name], contents.device, asked)
    steps = tuple(made[step][0] if isinstance(step, Dispatch) else step for step in contents.steps)
    return replace(contents, steps=steps), tuple(made[dispatch][1] for dispatch in contents.dispatches)


def _shortened(
    dispatch: Dispatch, kernels: tuple[Kernel, ...], path: Path, gfx: str, asked: Fewer
) -> tuple[Dispatch, Cut]:
    kernel = find_kernel(kernels, dispatch.kernel, path)
    whole = workgroups(dispatch.grid, dispatch.workgroup)
    demand = Demand(
        kernel.name,
        -(-prod(dispatch.workgroup) // gpu(gfx).isa.wave_size),
        kernel.lds_bytes + dispatch.lds,
        kernel.vector_registers,
        kernel.scalar_registers,
    )
    groups = _first_of(whole, demand, asked)
    if groups is None:
        return dispatch, Cut()
    axis = last_axis(whole)
    others = frozenset(each.name for each in kernels) - {kernel.name}
    if why := needs_whole_grid(path, kernel.name, others, gfx, axis):
        return dispatch, Cut(kept_whole=why)
    grid = list(dispatch.grid)
    grid[axis] = groups[axis] * dispatch.workgroup[axis]
    return replace(dispatch, grid=(grid[0], grid[1], grid[2])), Cut(ran=prod(groups))


def expected_share(launch: Launch, point: Point) -> float:
    """Share of a launch's workgroups that a point will launch, as far as that is known before it is compiled.

    The preview knows what most kernels take; whether one needs its whole grid is read from the compiled
    kernel alone.
    """
    if (asked := Fewer.of(point)) is None:
        return 1.0
    whole = workgroups(launch.grid, launch.workgroup)
    groups = _first_of(whole, demand_of(launch, gpu(point.gfx).isa), asked)
    return 1.0 if groups is None else prod(groups) / prod(whole)


def _first_of(whole: Sequence[int], demand: Demand, asked: Fewer) -> tuple[int, ...] | None:
    """How many workgroups of a kernel to launch along each axis; None: all of them."""
    held = held_at_once(demand, asked.options, asked.barrier_slots)
    two = replace(demand, waves=min(demand.waves, 2))  # what has several takes a barrier slot
    most = held_at_once(two, asked.options, asked.barrier_slots)
    return first_workgroups(whole, held, asked.fills, most)


def first_workgroups(groups: Sequence[int], held: int, fills: int, most: int = 0) -> tuple[int, ...] | None:
    """How many workgroups to launch along each axis; None: all of them.

    They fill the machine at least ``fills`` times. Of a grid of several axes the first layer counts as the
    first filling: it reads what the others find in the caches. Where the grid allows it, as many workgroups
    are left over of the last filling as of the whole grid's, so that both end alike.

    Args:
        groups: of the whole grid.
        held: workgroups that the machine holds at once.
        most: that it may hold where other wavefronts of each have ended; of these fillings there are
            three after the first, too, without which no interval is known.
    """
    axis = last_axis(groups)
    each, whole = layer(groups), prod(groups)
    largest = max(most, held)
    enough = (-(-max(largest, each) // largest) + 3) * largest
    least = -(-max(max(held, each) + (fills - 1) * held, enough) // each)
    layers = min(
        range(least, least + max(1, held // each)),
        key=lambda number: min((number * each - whole) % held, (whole - number * each) % held),
    )
    if layers * each > LARGEST_SHARE * whole:
        return None
    return (*groups[:axis], layers, *groups[axis + 1 :])


def where_large(
    asked: FewerWorkgroups | None, engine: EngineName, software: Software, work: Work, compute_units: int
) -> FewerWorkgroups | None:
    """A sweep's key for a point: None where every launch surely runs whole."""
    if asked is None or not engine_facts(engine).own_kernels_only:
        return None
    if software.products is not None:
        return asked
    try:
        launches = work.launches(compute_units)
    except ApuflowError:  # kernels of the user's own
        return asked
    least = asked.fills * compute_units  # workgroups, whatever the kernels' registers
    return asked if any(least <= LARGEST_SHARE * launch.workgroups for launch in launches) else None


def noted(records: Sequence[LaunchRecord], cuts: Sequence[Cut]) -> tuple[LaunchRecord, ...]:
    """The records of launches, with what became of each."""
    return tuple(
        record.model_copy(update={"ran": cut.ran, "kept_whole": cut.kept_whole})
        for record, cut in zip(records, cuts, strict=True)
    )


def shares(launched: DispatchList, whole: DispatchList) -> tuple[float, ...]:
    """The share of its grid that each dispatch of a list launches."""
    pairs = zip(launched.dispatches, whole.dispatches, strict=True)
    return tuple(prod(fewer.grid) / prod(every.grid) for fewer, every in pairs)
