"""The engines: one module each, behind the interface of ``engines.base``."""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING

from apuflow.configure.workload import Runs, Workload
from apuflow.core.engines import ENGINES, SIMULATING, EngineName

if TYPE_CHECKING:
    from apuflow.engines.base import Engine, SimulatingEngine

__all__ = ["get_engine", "runs_on", "simulating_engine"]


@cache
def get_engine(name: EngineName) -> Engine:
    """The engine of that name; its module is loaded when it is first used."""
    assert name in ENGINES
    module = importlib.import_module(f"apuflow.engines.{name.replace('-', '_')}")
    engine: Engine = module.ENGINE
    return engine


def simulating_engine(name: EngineName) -> SimulatingEngine:
    """The engine of that name, one whose points are runs of gem5."""
    assert name in SIMULATING
    engine: SimulatingEngine = get_engine(name)  # type: ignore[assignment]
    return engine


def runs_on(workload: Workload, engine: EngineName) -> Runs:
    """Whether an engine can run a workload, and how that is known."""
    return workload.runs.get(engine) or get_engine(engine).runs(workload)
