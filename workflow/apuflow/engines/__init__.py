"""The engines, behind the interface of ``engines.base``."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from apuflow.configure.workload import Runs, Workload
from apuflow.core.engines import SIMULATING, EngineName

if TYPE_CHECKING:
    from apuflow.engines.base import Engine
    from apuflow.engines.gem5 import SimulatingEngine

__all__ = ["get_engine", "runs_on", "simulating_engine"]


@cache
def get_engine(name: EngineName) -> Engine:
    """The engine of that name; its module is loaded when it is first used."""
    if name in SIMULATING:
        return simulating_engine(name)
    from apuflow.engines.preview import Preview

    return Preview()


@cache
def simulating_engine(name: EngineName) -> SimulatingEngine:
    """The engine of that name, one whose points are runs of gem5."""
    from apuflow.engines.gem5 import Gem5, Gem5Kernels

    engines = {engine.name: engine for engine in (Gem5(), Gem5Kernels())}
    return engines[name]


def runs_on(workload: Workload, engine: EngineName) -> Runs:
    """Whether an engine can run a workload, and how that is known."""
    return workload.runs.get(engine) or get_engine(engine).runs(workload)
