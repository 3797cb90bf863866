"""From points to counters: distinct launches are modelled once, then added up per point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from random import Random
from typing import Any, Protocol, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from apuflow.core import collection, forked
from apuflow.core.record import ReleaseFacts
from apuflow.core.scalar import Scalar
from apuflow.miopen import Launch
from apuflow.preview.columns import Numbered, Rows, by_identity, by_value, spread, together
from apuflow.preview.counters import counter_columns
from apuflow.preview.coverage import Coverage, coverage, decades
from apuflow.preview.kept import each_kept
from apuflow.preview.machine import Machines, machines
from apuflow.preview.process import steps
from apuflow.preview.profile import Profile
from apuflow.preview.step import Step
from apuflow.preview.tables import Gpus, Launches, Table
from apuflow.preview.timing import Times, times_of

Array: TypeAlias = NDArray[np.float64]


class PointLike(Protocol):
    """What the engine reads of a point."""

    @property
    def id(self) -> str:
        """Its name in tables."""
        ...

    @property
    def options(self) -> Mapping[str, Any]:
        """``apu_se.py`` options, resolved."""
        ...

    @property
    def release_facts(self) -> ReleaseFacts:
        """What its gem5 release does differently from others."""
        ...

    @property
    def release(self) -> str:
        """Its gem5 release."""
        ...

    @property
    def in_memory(self) -> bool:
        """Whether the CPU's caches do not hold its inputs."""
        ...

    def previewed(self, compute_units: int) -> tuple[tuple[Launch, ...], tuple[Profile, ...] | None]:
        """The kernels that it launches on a GPU with so many compute units, in order, and what each does.

        None: ``preview.kernels`` knows what they do.
        """
        ...


@dataclass(frozen=True)
class Batch:
    """Launches of many points. Those that are alike, on the same GPU, are modelled once: a pair.

    Attributes:
        points: ids of the points.
        owner: for each step of a point (``process.steps``): the point's index in ``points``.
        row: for each step: the index of its launch, among those of all points.
        pair: for each step: the index of its pair.
        times: for each step: how often it runs.
        launched: the launch of each pair (``Launch``).
        pairs: what each does, and the GPU it runs on.
    """

    points: list[str]
    owner: Rows
    row: Rows
    pair: Rows
    times: Array
    launched: Table[Launch]
    pairs: Launches


def _machines(
    points: Sequence[PointLike], defaults: Mapping[str, Scalar | None]
) -> tuple[Machines, list[int]]:
    """The machines of the points, and the compute units of each."""
    built = machines(
        [point.options for point in points],
        [point.release_facts.barrier_slots for point in points],
        [point.release for point in points],
        defaults,
        [point.release_facts.without_matrix_time is None for point in points],
    )
    return built, built.numbers["compute_units"][built.rows].tolist()


def collect(points: Sequence[PointLike], defaults: Mapping[str, Scalar | None]) -> Batch:
    """Launches and machines of the points.

    Raises:
        NotModelled: the model refuses a kernel or an option of a point.
        NotDerivable: MIOpen refuses a layer.
    """
    built, units = _machines(points, defaults)
    of_machine = each_kept(built)
    keeps = of_machine.rows[built.rows].tolist()
    # What an id stands for is kept beside it: an id means an object only as long as that lives.
    processes: dict[tuple[int, bool, int], tuple[int, tuple[Launch, ...], list[Step]]] = {}
    order: list[int] = []
    for point, unit, keep in zip(points, units, keeps, strict=True):
        launches, profiles = point.previewed(unit)
        found_by = id(launches), point.in_memory, keep
        known = processes.get(found_by)
        if known is None:
            made = steps(launches, of_machine.different[keep], point.in_memory, profiles)
            known = processes[found_by] = len(processes), launches, made
        order.append(known[0])
    _, launches_of, steps_of = zip(*processes.values(), strict=True) if processes else ((), (), ())
    process = np.array(order, dtype=np.intp)
    owner, place = spread(np.array(list(map(len, steps_of)), dtype=np.intp), process)
    lengths = np.array(list(map(len, launches_of)), dtype=np.intp)[process]
    flat = [step for made in steps_of for step in made]
    numbers, times, profiles, finds = zip(*flat, strict=True) if flat else ((), (), (), ())
    profile, found = by_identity(profiles), by_value(finds)
    launch = by_identity(
        [launches[step.number] for launches, made in zip(launches_of, steps_of, strict=True) for step in made]
    )
    of_launch, of_profile, of_found = launch.rows[place], profile.rows[place], found.rows[place]
    first, pair = together([of_launch, of_profile, of_found, built.rows[owner]], len(owner))
    return Batch(
        points=[point.id for point in points],
        owner=owner,
        row=(np.cumsum(lengths) - lengths)[owner] + np.array(numbers, dtype=np.intp)[place],
        pair=pair,
        times=np.array(times, dtype=np.float64)[place],
        launched=Table.numbered(Numbered(launch.different, of_launch[first])),
        pairs=Launches(
            Table.numbered(Numbered(profile.different, of_profile[first])),
            Table.numbered(Numbered(found.different, of_found[first])),
            Gpus.built(built)[owner[first]],
        ),
    )


def kernels_frame(
    points: Sequence[PointLike],
    defaults: Mapping[str, Scalar | None],
    *,
    with_coverage: bool = False,
    with_interval: bool = False,
) -> pd.DataFrame:
    """Counters of each launch of each point. Arguments and errors are those of ``run``.

    Args:
        with_coverage: add ``away``, the half width of the interval of the cycles, as a logarithm, where the
            launch is outside of what the preview was measured on; else 0.
        with_interval: add ``gpu_cycles_low`` and ``gpu_cycles_high`` of one of them.

    Returns:
        one row per point and launch, in launch order: point, layer and its kind, direction, kernel,
        geometry, count, counters of one of them, bound.
    """
    batch, found, modelled = _modelled(points, defaults)
    size = int(batch.row[-1]) + 1 if len(batch.row) else 0
    pair, owner = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    pair[batch.row] = batch.pair  # the last step of a launch is most of its passes
    owner[batch.row] = batch.owner
    count = np.bincount(batch.row, weights=batch.times, minlength=size)
    counters = {
        column: np.bincount(batch.row, weights=values[batch.pair] * batch.times, minlength=size) / count
        for column, values in modelled.items()
    }
    launched = batch.launched[pair]
    away = {"away": _away(batch, found, modelled)[pair]} if with_coverage else {}
    if with_interval:
        kernels = batch.launched.map(attrgetter("kernel"))
        covered = coverage(kernels, found.bounds, found.launches.machines, modelled)
        away |= {"gpu_cycles_low": counters["gpu_cycles"] * covered.low[pair]}
        away |= {"gpu_cycles_high": counters["gpu_cycles"] * covered.high[pair]}
    return pd.DataFrame(
        {
            "point": [batch.points[k] for k in owner],
            "layer": launched.map(attrgetter("layer")).list(),
            "layer_kind": launched.map(attrgetter("layer_kind")).list(),
            "direction": launched.map(attrgetter("direction")).list(),
            "kernel": launched.map(attrgetter("kernel")).list(),
            "grid": launched.map(lambda launch: "x".join(map(str, launch.grid))).list(),
            "workgroup": launched.map(lambda launch: "x".join(map(str, launch.workgroup))).list(),
            "count": count.astype(np.int64),
            "note": launched.map(attrgetter("note")).list(),
            **counters,
            "bound": found.bounds._replace(rows=found.bounds.rows[pair]).list(),
            **away,
        }
    )


def _away(batch: Batch, found: Times, modelled: Mapping[str, Array]) -> Array:
    """Half width of the interval of each pair that is outside of what was measured, as a logarithm."""
    kernels = batch.launched.map(attrgetter("kernel"))
    covered = coverage(kernels, found.bounds, found.launches.machines, modelled)
    away = np.zeros(len(covered.low))
    rows = np.unique(covered.launch)
    away[rows] = np.maximum(np.log(covered.high[rows]), -np.log(covered.low[rows]))
    return away


def _modelled(
    points: Sequence[PointLike], defaults: Mapping[str, Scalar | None]
) -> tuple[Batch, Times, dict[str, Array]]:
    """Pairs of the points, with their times and counters."""
    with collection.paused():
        batch = collect(points, defaults)
        found = times_of(batch.pairs)
        return batch, found, counter_columns(found)


RATES = (
    "gpu_clock_ticks",
    "sim_freq",
    "ruby_clock_ticks",
    "compute_units",
    "tcc_banks",
    "dram_peak_bandwidth",
)
"""Counters that describe the machine: not added up over launches."""


FEWEST, SAMPLED, MANY = 1000, 200, 20_000
"""Points that may deserve another process; points sampled to decide it; points that always deserve one.

A different layer takes 60 us, any point 10, a process 40 ms to start."""


def run(
    points: Sequence[PointLike], defaults: Mapping[str, Scalar | None], processes: int = 1
) -> pd.DataFrame:
    """``columns`` as a frame."""
    found = columns(points, defaults, processes)
    numbers = {name: column for name, column in found.items() if isinstance(column, np.ndarray)}
    frame = pd.DataFrame(np.array([*numbers.values()]).T, columns=list(numbers), copy=False)
    for place, (name, column) in enumerate(found.items()):
        if name not in numbers:
            frame.insert(place, name, column)
    return frame


def columns(
    points: Sequence[PointLike], defaults: Mapping[str, Scalar | None], processes: int = 1
) -> dict[str, list[str] | Array]:
    """Counters of each point: sums over its launches, the launches one after the other.

    Args:
        points: objects with id, launches, options (resolved ``apu_se.py`` options) and
            release_facts.
        defaults: options of the release that the model was made after (``preview.RELEASE``), for what a
            point's own release has no option for.
        processes: that may share the work. Each keeps what it has modelled for itself.

    Returns:
        an element per point: point, counters, bound (of the launches that take the most time), launches, the
        interval of ``gpu_cycles``, and ``unmeasured`` (``preview.coverage``).

    Raises:
        NotModelled: by name, what the model does not have.
    """
    parts = forked.parts(points, FEWEST, processes)
    if len(parts) > 1 and len(points) < MANY and not _different_layers(points, defaults):
        parts = [points]
    found = forked.each(lambda part: _columns(part, defaults), parts)
    return {name: _joined([part[name] for part in found]) for name in found[0]}


def _different_layers(points: Sequence[PointLike], defaults: Mapping[str, Scalar | None]) -> bool:
    """Whether nearly all points have layers of their own, by a sample, the same one each time."""
    sample = Random(0).sample(points, min(SAMPLED, len(points)))
    units = _machines(sample, defaults)[1]
    layers = [point.previewed(unit)[0] for point, unit in zip(sample, units, strict=True)]
    return len(by_identity(layers).different) > 0.9 * len(sample)


def _joined(parts: Sequence[list[str] | Array]) -> list[str] | Array:
    if len(parts) == 1:
        return parts[0]
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    return np.concatenate(arrays) if arrays else [text for part in parts for text in part]


def _columns(
    points: Sequence[PointLike], defaults: Mapping[str, Scalar | None]
) -> dict[str, list[str] | Array]:
    batch, found, modelled = _modelled(points, defaults)
    size = len(batch.points)
    out: dict[str, list[str] | Array] = {"point": batch.points}
    for column, values in modelled.items():
        if column in RATES:
            total = np.full(size, np.nan)
            np.fmax.at(total, batch.owner, values[batch.pair])
            out[column] = total
        else:
            out[column] = _per_point(batch, values[batch.pair])
    out["kernels_launched"] = _per_point(batch, np.ones(len(batch.owner)))
    out["bound"] = _main_bound(batch, modelled["gpu_cycles"], found.bounds)
    return out | _covered(batch, found, modelled)


def _per_point(batch: Batch, values: Array) -> Array:
    """The sums over the steps of each point."""
    sums: Array = np.bincount(batch.owner, weights=values * batch.times, minlength=len(batch.points)).astype(
        np.float64, copy=False
    )
    return sums


SHOWN_REASONS = 3
"""Ways in which a point lies outside what was measured that its row lists."""


def _covered(batch: Batch, found: Times, modelled: Mapping[str, Array]) -> dict[str, list[str] | Array]:
    """``gpu_cycles_low``, ``gpu_cycles_high`` and ``unmeasured``, why the interval is a guess, or ""."""
    kernels = batch.launched.map(attrgetter("kernel"))
    covered = coverage(kernels, found.bounds, found.launches.machines, modelled)
    cycles = modelled["gpu_cycles"]
    return {
        "gpu_cycles_low": _per_point(batch, (cycles * covered.low)[batch.pair]),
        "gpu_cycles_high": _per_point(batch, (cycles * covered.high)[batch.pair]),
        "unmeasured": _reasons(batch, covered),
    }


def _reasons(batch: Batch, covered: Coverage) -> list[str]:
    """What of each point lies outside, the farthest first; of what does in several launches, the farthest."""
    step, place = spread(np.bincount(covered.launch, minlength=len(batch.launched)), batch.pair)
    outside = covered.outside._replace(rows=covered.outside.rows[place])
    owner, far = batch.owner[step], decades(outside)
    what = by_value([away.what for away in outside.different]).rows[outside.rows]
    first, like = together([owner, what], len(owner))
    farthest = np.lexsort((-far, like))
    farthest = farthest[np.searchsorted(like[farthest], np.arange(len(first)))]
    shown = farthest[np.lexsort((first, -far[farthest], owner[farthest]))]
    texts = list(map(str, outside.different))
    of_point = [texts[row] for row in outside.rows[shown].tolist()]
    found = [""] * len(batch.points)
    points, starts = np.unique(owner[shown], return_index=True)
    ends = np.append(starts, len(shown))[1:]
    for point, start, end in zip(points.tolist(), starts.tolist(), ends.tolist(), strict=True):
        found[point] = ", ".join(of_point[start : min(end, start + SHOWN_REASONS)])
        if end - start > SHOWN_REASONS:
            found[point] += f", and {end - start - SHOWN_REASONS} more"
    return found


def _main_bound(batch: Batch, cycles: Array, bounds: Numbered[str]) -> list[str]:
    """The bound under which a point spends most of its time."""
    kinds = len(bounds.different)
    spent = np.bincount(
        batch.owner * kinds + bounds.rows[batch.pair],
        weights=cycles[batch.pair] * batch.times,
        minlength=len(batch.points) * kinds,
    )
    launched = np.bincount(batch.owner, weights=batch.times, minlength=len(batch.points))
    main = np.where(launched > 0.0, spent.reshape(-1, kinds).argmax(axis=1), kinds)
    return Numbered([*bounds.different, "no kernel"], main).list()
