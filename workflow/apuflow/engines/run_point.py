"""Stage ``simulate``: one point, from what its rule was given to its proven end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from apuflow.configure import Sweep, load_workload
from apuflow.configure.points import Point
from apuflow.containers import Limits, get_engine
from apuflow.core import paths
from apuflow.core.errors import EngineError
from apuflow.core.record import LaunchRecord, Provenance, RunRecord
from apuflow.core.units import size_bytes
from apuflow.engines import gem5 as workloads
from apuflow.prepare import DnnmarkRecord, Gem5Record, check_dnnmark, read_record, unchanged_gem5
from apuflow.prepare.tools import Toolset
from apuflow.run.attempt import simulate
from apuflow.run.command import refuse_redirected
from apuflow.run.process import Process, Simulation


@dataclass(frozen=True)
class Inputs:
    """Files that a run reads, relative to the project's directory; all of them exist.

    Attributes:
        gem5: record of the gem5 that runs.
        database: MIOpen's kernel database; None where the runtime has no part.
        data: the file of floats that tensors are filled from.
        launcher: the program that dispatches kernels without a runtime.
        objects: for the launcher: kernel objects by program and arguments.
    """

    gem5: str
    database: str | None = None
    data: str | None = None
    launcher: str | None = None
    objects: Mapping[tuple[str, str], str] = field(default_factory=dict)

    @classmethod
    def of(cls, tools: Toolset, point: Point, given: Mapping[str, Sequence[str]]) -> Inputs:
        """What the rule was given for this point; worked out anew where that does not say it all.

        Args:
            given: the rule's named inputs, as Needs.inputs() names them; none where the record was there.
        """
        if given and point.engine == "gem5":
            database, data = (next(iter(given[name]), None) for name in ("database", "data"))
            return cls(given["tools"][0], database, data)
        needs = tools.needs(point)
        database = needs.database.path if needs.database else None
        objects = {
            (o.row.program, o.row.arguments): paths.kernel_object(o.gfx, o.name) for o in needs.objects
        }
        return cls(needs.tools[0], database, needs.data, needs.launcher, objects)


def run_point(
    tools: Toolset, sweep: Sweep, point: Point, inputs: Inputs, *, memory_mb: int | None
) -> RunRecord:
    """Stage ``simulate``: one point, to its proven end.

    Args:
        memory_mb: the run is ended above this; None: no limit.

    Raises:
        RunFailed: the run proved nothing (strict sweeps), or was interrupted.
        EngineError: gem5 or DNNMark are not what their records say.
    """
    root = tools.root.resolve()
    run_dir = root / paths.run_dir(point.engine, point.workload, point.id)
    recorded = root / inputs.gem5
    installed = unchanged_gem5(read_record(recorded, Gem5Record), recorded)
    data = root / inputs.data if inputs.data else None
    process, launches, seen, provenance = _guest(tools, point, inputs, run_dir, installed, data)
    memory = size_bytes(tools.site.memory) if tools.site.memory else (memory_mb or 0) << 20
    engine = get_engine(tools.site.engine, tools.site.socket)
    engine.check()
    return simulate(
        Simulation(
            project=root,
            run_dir=run_dir,
            asked=workloads.asked(point),
            gem5=workloads.installed(installed, tools.release),
            processes=(process,),
            container=engine,
            image=tools.image.reference,
            mounts=workloads.mounts(installed, seen),
            limits=Limits(memory_bytes=memory or None, wall_seconds=sweep.limits.wall_seconds),
            compress=tools.site.compress,
            on_failure=sweep.on_failure,
            provenance=provenance,
            launches=launches,
        )
    )


def _guest(
    tools: Toolset, point: Point, inputs: Inputs, run_dir: Path, installed: Gem5Record, data: Path | None
) -> tuple[Process, tuple[LaunchRecord, ...], tuple[Path, ...], Provenance]:
    root = tools.root.resolve()
    if point.engine == "gem5-kernels":
        from apuflow.engines import gem5_kernels as kernels_engine
        from apuflow.launcher.plan import kernel_source

        refuse_redirected(run_dir)
        found = kernels_engine.point_launches(point.config_text, point.direction, point.options)
        rows = dict.fromkeys(kernel_source(launch) for launch in found)
        run = kernels_engine.kernel_run(
            found,
            gfx=point.gfx,
            options=dict(point.options),
            launcher=root / (inputs.launcher or ""),
            objects={row: root / inputs.objects[row.program, row.arguments] for row in rows},
            data=data,
            defects=tools.release.instruction_defects(point.gfx),
            release_dumps=tools.release.capabilities.per_kernel_statistics,
        )
        provenance = workloads.provenance(point, installed, tools.image, data=data)
        return run.processes[0], run.launches, run.inputs, provenance
    loaded = load_workload(point.workload, tools.root)
    if loaded.command is not None:
        process = workloads.command_process(point, tools.release, loaded.command, project=root)
        return process, (), (process.guest.directory,), workloads.provenance(point, installed, tools.image)
    built = read_record(root / tools.record("dnnmark"), DnnmarkRecord)
    check_dnnmark(built, point.program.removeprefix("dnnmark_"), root / tools.record("dnnmark"))
    database = root / inputs.database if inputs.database else None
    if data is None:
        raise EngineError("a DNNMark run needs its data file", value=point.id)
    process = workloads.dnnmark_process(
        point, tools.release, built, run_dir=run_dir, database=database, data=data
    )
    provenance = workloads.provenance(
        point, installed, tools.image, build=built, database=database, data=data
    )
    seen = (Path(built.build), data, *([database] if database else []))
    return process, tuple(workloads.kernel_launches(point)), seen, provenance
