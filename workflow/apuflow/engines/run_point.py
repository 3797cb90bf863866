"""Stage ``simulate``: one point, from what its rule was given to its proven end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from apuflow.configure.point import Point
from apuflow.containers.job import Limits
from apuflow.core import paths
from apuflow.core.files import wait_for_files
from apuflow.core.record import RunRecord
from apuflow.core.units import size_bytes
from apuflow.engines import simulating_engine
from apuflow.engines.base import Inputs
from apuflow.engines.simulated import gem5_of, mounts, point_facts
from apuflow.prepare import stages
from apuflow.prepare.builds import Gem5Record, unchanged_gem5
from apuflow.prepare.records import read_record
from apuflow.prepare.tools import Toolset
from apuflow.run.attempt import simulate
from apuflow.run.process import Simulation


def run_point(
    tools: Toolset,
    point: Point,
    inputs: Inputs,
    files: Iterable[str],
    *,
    memory_mb: int | None,
    wall_seconds: float,
    on_failure: Literal["strict", "record"],
    wait: bool = True,
) -> RunRecord:
    """Stage ``simulate``: one point, to its proven end.

    Args:
        inputs: what it reads.
        files: all that must be there; those that another machine made just now are waited for.
        memory_mb: the run is ended above this; None: no limit.
        wall_seconds: the run is ended after so long.
        on_failure: whether a run that proves nothing leaves a record.
        wait: for another process that is running the point.

    Raises:
        RunFailed: the run proved nothing (strict sweeps), or was interrupted.
        Busy: another process is running it, and ``wait`` is false.
        EngineError: gem5 or DNNMark are not what their records say.
    """
    engine = simulating_engine(point.engine)
    wait_for_files(tools.root / file for file in files)
    root = tools.root.resolve()
    run_dir = root / paths.run_dir(point.engine, point.workload, point.id)
    recorded = root / inputs.gem5
    installed = unchanged_gem5(read_record(recorded, Gem5Record), recorded)
    prepared = engine.prepare(tools, point, inputs, installed, run_dir)
    memory = size_bytes(tools.site.memory) if tools.site.memory else (memory_mb or 0) << 20
    container = stages.container(tools)
    return simulate(
        Simulation(
            project=root,
            run_dir=run_dir,
            point=point_facts(point),
            gem5=gem5_of(installed, tools.release, quick_statistics=tools.site.quick_statistics),
            processes=(prepared.process,),
            container=container,
            image=tools.image.reference,
            mounts=mounts(installed, prepared.reads),
            limits=Limits(memory_bytes=memory or None, wall_seconds=wall_seconds),
            compress=tools.site.compress,
            on_failure=on_failure,
            provenance=prepared.provenance,
            launches=prepared.launches,
            shared_start=root / paths.started_dir() if tools.site.shared_start else None,
        ),
        wait=wait,
    )
