"""A preview batch: the timing model's counters for all points of a sweep's workload, with their record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from apuflow import preview
from apuflow.configure import option_rules
from apuflow.configure.point import Point
from apuflow.core import forked
from apuflow.core.errors import ApuflowError, ConfigError
from apuflow.core.files import atomic_write
from apuflow.core.host import host_facts
from apuflow.core.options import column
from apuflow.core.record import BatchRecord, PreviewProvenance, Status, now
from apuflow.core.words import many
from apuflow.rocblas.call import changed, library_of
from apuflow_analysis.counters.matrix import COLUMNS as TYPES
from apuflow_analysis.counters.program import COLUMNS as PROGRAM
from apuflow_analysis.counters.program import Counted, program_time
from apuflow_analysis.tables.columns import INTERVAL, MACHINE, NOT_OPTIONS, UNMEASURED

_OPTIONS = tuple(column.name for column in MACHINE if column.name not in NOT_OPTIONS)


def write_batch(
    points: Sequence[Point], counters: str | Path, record: str | Path, processes: int = 1
) -> None:
    """Run the timing model and write its counters, then the record that vouches for them.

    Args:
        points: points of one workload whose engine is preview.
        counters: Parquet file, one row per point: point, status, axes, machine options, counters, bound.
        record: its ``run.json``.
        processes: that may share the work.

    Raises:
        ConfigError: there is no point.
        NotModelled: the model refuses a layer or an option.
    """
    if not points:
        remedy = "add preview to its engines, or exclude fewer combinations"
        raise ConfigError("the sweep has no point for the engine preview", remedy=remedy)
    first, started = points[0], now()
    batch = pd.DataFrame(batch_columns(points, processes))
    with atomic_write(counters) as part:
        batch.to_parquet(part, index=False, write_page_checksum=True)
    BatchRecord(
        workload=first.workload,
        direction=first.direction,
        status=Status.COMPLETED,
        evidence=f"preview {preview.VERSION}: closed form, {many(len(points), 'point')}",
        # operations of suites need not have all axes
        axes={
            axis: tuple(dict.fromkeys(point.axes[axis] for point in points if axis in point.axes))
            for axis in axes_of(points)
        },
        points=len(points),
        started=started,
        ended=now(),
        host=host_facts(),
        provenance=PreviewProvenance(preview_version=preview.VERSION),
    ).write(Path(record))


def axes_of(points: Sequence[Point]) -> list[str]:
    """Names of what varies in any of these points."""
    return list(dict.fromkeys(axis for point in points for axis in point.axes))


def batch_columns(points: Sequence[Point], processes: int = 1) -> dict[str, Sequence[Any] | NDArray[Any]]:
    """The timing model's counters of points of one workload, with axes and machine options.

    Args:
        points: of one workload.
        processes: that may share the work.

    Raises:
        NotModelled: the model refuses a layer or an option.
    """
    first, axes = points[0], axes_of(points)
    _execute(points, processes)
    found = preview.columns(points, option_rules.defaults(preview.RELEASE), processes)
    reasons = found.pop("unmeasured")
    found |= _programs(points)
    options = [point.options for point in points]
    given: dict[str, Sequence[Any] | NDArray[Any]] = {
        "point": [point.id for point in points],
        "status": [Status.COMPLETED.value] * len(points),
        **{axis: [point.axes.get(axis) for point in points] for axis in axes},
        "release": [point.release for point in points],
        "gfx": [point.gfx for point in points],
        "inputs": [point.inputs for point in points],
        "products": [point.products or None for point in points],
        "stand_in": [
            _once(f"{one.kernel}: {one.note}" for one in p.previewed()[0] if one.note) for p in points
        ],
        "library": [_once(library_of(one, p.gfx) for one in p.previewed()[0]) for p in points],
        "changed": [
            _once(c for one in p.previewed()[0] for c in changed(one, p.gfx).split("; ")) for p in points
        ],
        **{
            name: column(options, option)
            for name, option in _machine_options(first).items()
            if option not in axes
        },
    }
    matrix = sum(np.asarray(found[f"matrix_lanes_{kind}"]) for kind in TYPES)
    each = zip(points, reasons, np.greater(matrix, 0).tolist(), strict=True)
    flags = [_flags(point, reason, has) for point, reason, has in each]
    return {**given, **{name: values for name, values in found.items() if name not in given}, "flags": flags}


def _execute(points: Sequence[Point], processes: int) -> None:
    """Have several processes compile and execute the kernels that no earlier preview has.

    Those of a workload, which share code objects, go to the same one. Errors are raised later, in order.
    """
    if processes < 2:
        return
    waiting: dict[str | None, list[Point]] = {}
    executed = [each for each in points if each.work.executed]
    for point in {(each.work, each.compute_units, each.gfx): each for each in executed}.values():
        if not point.work.kept(point.compute_units, point.gfx):
            waiting.setdefault(point.work.of_workload, []).append(point)
    parts: list[list[Point]] = [[] for _ in range(min(processes, len(waiting)))]
    for some in sorted(waiting.values(), key=len, reverse=True):
        min(parts, key=len).extend(some)
    if len(parts) > 1:
        forked.each(_preview_each, parts)


def _preview_each(points: Sequence[Point]) -> None:
    for point in points:
        with suppress(ApuflowError):
            point.previewed()


def _programs(points: Sequence[Point]) -> dict[str, NDArray[Any]]:
    """Cycles of the programs of which these points have some launches; no column where there are none."""
    weights = {point.id: point.work.weights(point.compute_units, point.gfx) for point in points}
    some = [point for point in points if weights[point.id]]
    if not some:
        return {}
    defaults = option_rules.defaults(preview.RELEASE)
    frame = preview.kernels_frame(some, defaults, with_interval=True)
    found = {}
    for place, rows in frame.groupby("point", sort=False):
        named = zip(rows["kernel"], weights[str(place)], strict=True)
        numbers = rows[["gpu_cycles", *INTERVAL, "instructions"]].to_numpy()
        launches = (Counted(*each, *row) for each, row in zip(named, numbers.tolist(), strict=True))
        found[place] = program_time(launches)
    nothing = (np.nan,) * len(PROGRAM)
    table = np.array([found.get(point.id, nothing) for point in points])
    return dict(zip(PROGRAM, table.T, strict=True))


def _flags(point: Point, reason: str, matrix: bool) -> str:
    told = [f"{UNMEASURED}: {reason}"] if reason else []
    return ";".join([*told, *point.release_facts.doubts(point.release, matrix)])


def _once(said: Iterable[str]) -> str | None:
    """What is said of a point's kernels, each once, as tables of engine gem5-kernels have it."""
    return "; ".join(dict.fromkeys(filter(None, said))) or None


def _machine_options(point: Point) -> dict[str, str]:
    """Table column to option name, for the options that a table shows."""
    by_column = {option.replace("-", "_"): option for option in point.options}
    return {column: by_column[column] for column in _OPTIONS if column in by_column}
