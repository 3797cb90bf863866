"""What the preview says of a single launch, as numbers."""

from __future__ import annotations

from types import SimpleNamespace

from apuflow.preview.machine import GpuModel
from apuflow.preview.step import Step
from apuflow.preview.tables import Launches
from apuflow.preview.traffic import traffic


def traffic_of(step: Step, machine: GpuModel) -> SimpleNamespace:
    """Its traffic."""
    found = traffic(Launches.of([step], [machine]))
    columns = {"tcc_misses": found.tcc_misses, "requested": found.requested, **found._asdict()}
    return SimpleNamespace(**{name: float(column[0]) for name, column in columns.items()})
