"""From points to counters: distinct launches are modelled once, then added up per point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from apuflow.core import collection, forked
from apuflow.core.preview_constants import Calibration
from apuflow.core.record import ReleaseFacts
from apuflow.core.scalar import Scalar
from apuflow.miopen import Launch
from apuflow.preview.counters import counter_columns
from apuflow.preview.coverage import Away, coverage
from apuflow.preview.machine import Asked, GpuModel, machines
from apuflow.preview.process import Kept, Step, kept, steps
from apuflow.preview.profile import Profile
from apuflow.preview.timing import Times, times

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
    def calibration(self) -> Calibration:
        """The constants of its release."""
        ...

    @property
    def in_memory(self) -> bool:
        """Whether the CPU's caches do not hold its inputs."""
        ...

    def launches(self, compute_units: int) -> tuple[Launch, ...]:
        """The kernels that it launches on a GPU with so many compute units, in order."""
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
        launches, profiles, machines: of each pair: the launch, what it does, the GPU it runs on.
    """

    points: list[str]
    owner: np.ndarray[Any, np.dtype[np.int64]]
    row: np.ndarray[Any, np.dtype[np.int64]]
    pair: np.ndarray[Any, np.dtype[np.int64]]
    times: np.ndarray[Any, np.dtype[np.float64]]
    launches: list[Launch]
    profiles: list[Profile]
    machines: list[GpuModel]


def _machines(points: Sequence[PointLike], defaults: Mapping[str, Scalar | None]) -> list[GpuModel]:
    """The machine of each point; points often share their options."""
    asked = [Asked(point.options, point.release_facts.barrier_slots, point.calibration) for point in points]
    keys = [(id(options), slots, id(calibration)) for options, slots, calibration in asked]
    different = dict(zip(keys, asked, strict=True))
    found = dict(zip(different, machines(list(different.values()), defaults), strict=True))
    return [found[key] for key in keys]


def collect(points: Sequence[PointLike], defaults: Mapping[str, Scalar | None]) -> Batch:
    """Launches and machines of the points.

    Raises:
        NotModelled: a point is no DNNMark workload, or the model refuses a kernel or an option of it.
        NotDerivable: MIOpen refuses a layer.
    """
    owner: list[int] = []
    row: list[int] = []
    pair: list[int] = []
    counts: list[int] = []
    rows = 0
    known: dict[tuple[int, int, int], int] = {}
    flat: list[Launch] = []
    profiles: list[Profile] = []
    gpus: list[GpuModel] = []
    boxes = _machines(points, defaults)
    found_in = {key: kept(box) for key, box in {id(box): box for box in boxes}.items()}
    # What an id stands for is kept beside it: an id means an object only as long as that lives.
    steps_seen: dict[tuple[int, bool, Kept], tuple[tuple[Launch, ...], list[Step]]] = {}
    for number, (point, built) in enumerate(zip(points, boxes, strict=True)):
        launches = point.launches(built.compute_units)
        found_by = id(launches), point.in_memory, found_in[id(built)]
        made = steps_seen.get(found_by)
        if made is None:
            made = steps_seen[found_by] = launches, steps(launches, built, point.in_memory)
        for step in made[1]:
            launch = launches[step.number]
            key = (id(launch), id(step.profile), id(built))
            index = known.get(key)
            if index is None:
                index = known[key] = len(flat)
                flat.append(launch)
                profiles.append(step.profile)
                gpus.append(built)
            owner.append(number)
            row.append(rows + step.number)
            pair.append(index)
            counts.append(step.times)
        rows += len(launches)
    return Batch(
        [point.id for point in points],
        np.array(owner, dtype=np.int64),
        np.array(row, dtype=np.int64),
        np.array(pair, dtype=np.int64),
        np.array(counts, dtype=np.float64),
        flat,
        profiles,
        gpus,
    )


def kernels_frame(points: Sequence[PointLike], defaults: Mapping[str, Scalar | None]) -> pd.DataFrame:
    """Counters of each launch of each point. Arguments and errors are those of ``run``.

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
    chosen = [batch.launches[k] for k in pair]
    return pd.DataFrame(
        {
            "point": [batch.points[k] for k in owner],
            "layer": [launch.layer for launch in chosen],
            "layer_kind": [launch.layer_kind for launch in chosen],
            "direction": [launch.direction for launch in chosen],
            "kernel": [launch.kernel for launch in chosen],
            "grid": ["x".join(map(str, launch.grid)) for launch in chosen],
            "workgroup": ["x".join(map(str, launch.workgroup)) for launch in chosen],
            "count": count.astype(np.int64),
            "note": [launch.note for launch in chosen],
            **counters,
            "bound": [found.bound[k] for k in pair],
        }
    )


def _modelled(
    points: Sequence[PointLike], defaults: Mapping[str, Scalar | None]
) -> tuple[Batch, Times, dict[str, Array]]:
    """Pairs of the points, with their times and counters."""
    with collection.paused():
        batch = collect(points, defaults)
        found = times(batch.profiles, batch.machines)
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


FEWEST = 1000
"""Points for which a process of its own is worth while: a tenth of a second."""


def run(
    points: Sequence[PointLike], defaults: Mapping[str, Scalar | None], processes: int = 1
) -> pd.DataFrame:
    """``columns`` as a frame."""
    return pd.DataFrame(columns(points, defaults, processes))


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
    count = max(1, min(processes, len(points) // FEWEST))
    size = max(1, -(-len(points) // count))
    parts = [points[start : start + size] for start in range(0, len(points), size)] or [points]
    found = forked.each(lambda part: _columns(part, defaults), parts)
    return {name: _joined([part[name] for part in found]) for name in found[0]}


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
    out["bound"] = _main_bound(batch, modelled["gpu_cycles"], found.bound)
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
    kernels = [launch.kernel for launch in batch.launches]
    covered = coverage(kernels, found.bound, found.launches.machines, modelled)
    reasons: list[dict[str, Away]] = [{} for _ in batch.points]
    for owner, pair in zip(batch.owner.tolist(), batch.pair.tolist(), strict=True):
        for away in covered.outside[pair]:
            known = reasons[owner].get(away.what)
            if known is None or known.decades < away.decades:
                reasons[owner][away.what] = away
    cycles = modelled["gpu_cycles"]
    return {
        "gpu_cycles_low": _per_point(batch, (cycles * covered.low)[batch.pair]),
        "gpu_cycles_high": _per_point(batch, (cycles * covered.high)[batch.pair]),
        "unmeasured": [_listed(list(found.values())) for found in reasons],
    }


def _listed(reasons: list[Away]) -> str:
    """The farthest first."""
    reasons.sort(key=lambda away: -away.decades)
    more = f", and {len(reasons) - SHOWN_REASONS} more" if len(reasons) > SHOWN_REASONS else ""
    return ", ".join(map(str, reasons[:SHOWN_REASONS])) + more


def _main_bound(batch: Batch, cycles: Array, bounds: Sequence[str]) -> list[str]:
    """The bound under which a point spends most of its time."""
    if not bounds:
        return ["no kernel"] * len(batch.points)
    names, code = np.unique(np.array(bounds), return_inverse=True)
    spent = np.zeros((len(batch.points), len(names)))
    np.add.at(spent, (batch.owner, code[batch.pair]), cycles[batch.pair] * batch.times)
    launched = np.bincount(batch.owner, weights=batch.times, minlength=len(batch.points))
    main = names[spent.argmax(axis=1)].tolist()
    return [name if count else "no kernel" for name, count in zip(main, launched, strict=True)]
