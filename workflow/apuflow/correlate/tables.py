"""Times of what was measured, from the tables of a sweep that ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from apuflow.ask import api
from apuflow.configure.kernel_workload import KernelsWork
from apuflow.configure.point import Point
from apuflow.core import paths
from apuflow.core.engines import EngineName
from apuflow.core.errors import ConfigError
from apuflow.correlate.measured import Measurement
from apuflow.correlate.modelled import LeftOut, Modelled, bytes_of, clock_of, shape_of, works_of
from apuflow.preview.machine import OPTIONS
from apuflow_analysis.tables import store


def by_tables(
    measured: Sequence[Measurement], sweep: str, engine: EngineName | None, root: Path
) -> tuple[list[Modelled | LeftOut], Point]:
    """What the tables of a sweep say of the measurements.

    Args:
        engine: whose rows; None: the sweep's first.

    Returns:
        an entry for each measurement, and a point, which says what the machine is.

    Raises:
        ConfigError: no such sweep, it varies the machine, or no row is of a measurement.
    """
    loaded = api.sweep(sweep, root)
    chosen = engine or loaded.engines[0]
    works = works_of(measured, root)
    wanted = {work.canonical: one for one, work in zip(measured, works, strict=True) if work}
    points = [point for point in api.points(loaded, root=root) if point.engine == chosen]
    points = [point for point in points if _canonical(point) in wanted]
    _refuse_several(points, sweep)
    rows = rows_of(sweep, {point.workload for point in points}, root)
    found: dict[str, Modelled] = {}
    for point in points:
        if isinstance(point.work, KernelsWork) and (row := rows.get(point.id)) is not None:
            found[point.work.canonical] = _of_row(wanted[point.work.canonical], point.work, point, row)
    if not found:
        remedy = f"snakemake --cores all all results/{sweep}/report.html, of sizes that were measured"
        message = f"no row of engine {chosen} is of a measured size"
        raise ConfigError(message, key="sweep", value=sweep, remedy=remedy)
    entries: list[Modelled | LeftOut] = []
    for one, own in zip(measured, works, strict=True):
        modelled = None if own is None else found.get(own.canonical)
        entries.append(modelled or LeftOut(one, one.host if own is None else f"no row of sweep {sweep}"))
    return entries, points[0]


def _canonical(point: Point) -> str:
    return point.work.canonical if isinstance(point.work, KernelsWork) else ""


def _refuse_several(points: Sequence[Point], sweep: str) -> None:
    """Refuse points that differ in more than what they run: one table is of one machine."""
    machines = {(point.release, *(str(point.options.get(name)) for name in OPTIONS)) for point in points}
    if len(machines) > 1:
        remedy = "exclude all but one machine of the sweep, or name another sweep"
        raise ConfigError("its points are of several machines", key="sweep", value=sweep, remedy=remedy)


def rows_of(sweep: str, workloads: set[str], root: Path) -> dict[str, Mapping[str, Any]]:
    """Rows of completed points by their id, of the tables that are there."""
    found: dict[str, Mapping[str, Any]] = {}
    for name in sorted(workloads):
        table = root / paths.table(paths.under(sweep), name, "parquet")
        if table.is_file():
            frame = store.read(table, whole=True)
            done = frame[frame["status"] == "completed"]
            for row in done.to_dict("records"):
                found[str(row["point"])] = {str(key): value for key, value in row.items()}
    return found


def _of_row(one: Measurement, work: KernelsWork, point: Point, row: Mapping[str, Any]) -> Modelled:
    bound = row.get("bound")
    return Modelled(
        one,
        point.engine,
        shape_of(work).launches,
        float(row["gpu_cycles"]) / clock_of(point),
        bound if isinstance(bound, str) else "",
        float(row["valu_thread_cycles"]),
        bytes_of(work, point),
        first=True,
    )
