"""One place, a machine or a sweep, beside measured times: what is compared, what is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from apuflow.configure.base import did_you_mean, listing
from apuflow.configure.loading import machine_names, sweep_names
from apuflow.configure.point import Point
from apuflow.core.engines import EngineName
from apuflow.core.errors import ConfigError
from apuflow.correlate.measured import Measurement
from apuflow.correlate.modelled import LeftOut, Modelled, shape_of, works_of
from apuflow.correlate.previewed import by_preview, points_on
from apuflow.correlate.summary import Overhead, overhead, table
from apuflow.correlate.tables import by_tables


@dataclass(frozen=True)
class Compared:
    """A machine or sweep beside measured times.

    Attributes:
        place: its name. engine: that modelled.
        table: a row a measurement (``summary.table``).
        left_out: the others. launching: overhead of launches.
        point: a point on the machine. first: whether launches are a process' first ones.
    """

    place: str
    engine: str
    table: pd.DataFrame
    left_out: tuple[LeftOut, ...]
    launching: Overhead
    point: Point
    first: bool


def compare(
    place: str,
    measured: Sequence[Measurement],
    *,
    engine: EngineName | None,
    release: str,
    budget: int,
    root: Path = Path(),
) -> Compared:
    """Model what was measured on a machine by the preview, or take it from the tables of a sweep.

    Args:
        place: a file of ``configs/machines`` or ``configs/sweeps``.
        engine: whose rows of a sweep.
        release, budget: as ``by_preview`` has them.

    Raises:
        ConfigError: no such machine or sweep, or nothing can be compared.
    """
    machines, sweeps = machine_names(root), sweep_names(root)
    if place not in (*machines, *sweeps):
        remedy = f"{did_you_mean(place, [*machines, *sweeps])}machines: {listing(machines)}"
        raise ConfigError("neither a machine nor a sweep", key="PLACE", value=place, remedy=remedy)
    works = works_of(measured, root)
    launches = [
        (one.seconds, shape_of(work).launches) for one, work in zip(measured, works, strict=True) if work
    ]
    if not launches:
        remedy = "measure kernels that a workload computes"
        raise ConfigError("no measured kernel has a workload", key="--measured", value=place, remedy=remedy)
    if place in machines:
        _refuse_other(place, engine)
        point = next(iter(points_on(place, release, measured, works, root).values()))
        entries: list[Modelled | LeftOut] = list(by_preview(measured, place, release, budget, root))
    else:
        entries, point = by_tables(measured, place, engine, root)
    modelled = [entry for entry in entries if isinstance(entry, Modelled)]
    if not modelled:
        remedy = "measure sizes of workloads that are here, or raise --budget"
        raise ConfigError("no measurement is modelled", key="PLACE", value=place, remedy=remedy)
    order = {(one.kernel, one.size): number for number, one in enumerate(measured)}
    modelled.sort(key=lambda one: order[one.measured.kernel, one.measured.size])
    left_out = tuple(entry for entry in entries if isinstance(entry, LeftOut))
    first, launching = modelled[0], overhead(launches)
    return Compared(place, first.engine, table(modelled, launching), left_out, launching, point, first.first)


def _refuse_other(machine: str, engine: EngineName | None) -> None:
    if engine not in (None, "preview"):
        remedy = f"run a sweep with machine: {machine}, then apuflow correlate SWEEP --engine {engine}"
        message = "this engine runs points of a sweep, not here"
        raise ConfigError(message, key="--engine", value=engine, remedy=remedy)
