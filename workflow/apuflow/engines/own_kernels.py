"""Engine gem5-kernels on kernels of the user's own: what a point needs, and the process that runs it."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from pathlib import Path
from typing import ClassVar

from typing_extensions import override

from apuflow.configure.fit import Demand, capacity, demand_overflows
from apuflow.configure.kernel_workload import KernelsWork, KernelsWorkload
from apuflow.configure.point import Point
from apuflow.configure.work import Software
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.core.gpus import Isa, gpu
from apuflow.core.record import LaunchRecord
from apuflow.engines.base import Inputs, Needs, Place, Prepared, Program, needed_tools
from apuflow.engines.fewer_workgroups import Fewer, noted, shortened
from apuflow.engines.simulated import launched, provenance, statistics_of
from apuflow.kernels.launches import dynamic_lds, geometry_problems
from apuflow.kernels.metadata import Kernel, find_kernel
from apuflow.kernels.program import OwnLaunch, OwnProgram
from apuflow.kernels.sources import own_object
from apuflow.launcher.corrections import CORRECTIONS_VERSION
from apuflow.launcher.program import sources_identity as launcher_identity
from apuflow.prepare.builds import Gem5Record
from apuflow.prepare.doctor import Use
from apuflow.prepare.tools import Toolset
from apuflow.run.command import refuse_redirected

KIND = "kernels"
"""What tables call the kind of layer of such a kernel."""


def own_program(point: Point) -> OwnProgram:
    """What a point runs."""
    work = point.work
    assert isinstance(work, KernelsWork)
    return work.program(point.compute_units, point.gfx)


class OwnKernels(Program[KernelsWorkload]):
    """Kernels of the user's own, started by the launcher: no source of MIOpen's, no data file."""

    use: ClassVar[Use] = Use.KERNELS
    reason: ClassVar[str] = "kernels of your own, started without ROCm"

    @override
    def software(self, workload: KernelsWorkload, place: Place) -> Software:
        return Software(corrections=CORRECTIONS_VERSION if workload.compiled_here else None)

    @override
    def needs(self, tools: Toolset, point: Point) -> Needs:
        program, defects = own_program(point), tools.release.instruction_defects(point.gfx)
        items = (
            own_object(str(code.source), code.arguments, program.name, point.gfx, tools.root, defects)
            for code in program.codes
        )
        launcher = paths.launcher(launcher_identity())
        return Needs(needed_tools(tools, point), tuple(items), launcher=launcher)

    @override
    def prepare(
        self, tools: Toolset, point: Point, inputs: Inputs, gem5: Gem5Record, run_dir: Path
    ) -> Prepared:
        from apuflow.kernels.guest import DATA, object_file, own_guest
        from apuflow.kernels.metadata import read_kernels
        from apuflow.kernels.reference import OwnJudge
        from apuflow.kernels.refused import check_refused, refused
        from apuflow.launcher.judge import LARGEST
        from apuflow.launcher.matrix_code import matrix_code
        from apuflow.launcher.object_changes import as_told, changes_of
        from apuflow.launcher.plan import LIST, output_file

        refuse_redirected(run_dir)
        root, program, release = tools.root.resolve(), own_program(point), tools.release
        codes = {each: root / inputs.objects[str(each.source), each.arguments] for each in program.codes}
        kernels = {each: read_kernels(path) for each, path in codes.items()}
        for launch in dict.fromkeys(program.launches):
            check_launch(find_kernel(kernels[launch.code], launch.kernel, launch.code.source), launch, point)
        known = tools.known(point.gfx)
        block = int(point.options["vreg-min-alloc"])
        found = refused(program, kernels, codes, point.gfx, release.options_of, known.tables, block)
        check_refused(found, program, point.gfx, paths.workload_file(point.described_by))
        names = [launch.kernel for launch in program.launches]
        matrix = {each: matrix_code(path, point.gfx, names) for each, path in codes.items()}
        if release.capabilities.matrix_cycles != "none" and any(matrix.values()):
            raise ConfigError(
                f"gem5 {release.name} has no times of matrix instructions for {gpu(point.gfx).told}, which "
                "it is told, and ends at the first",
                file=paths.workload_file(point.described_by),
                key="release",
                remedy="a release without times of them, such as v24.1; or engine preview",
            )
        outputs = sum(program.output(name).elements for name in program.outputs) <= LARGEST
        guest = own_guest(
            program,
            kernels,
            gfx=point.gfx,
            statistics=statistics_of(release),
            outputs=outputs,
            in_memory=point.in_memory,
        )
        objects = {str(object_file(number)): path for number, path in enumerate(codes.values())}
        contents, cuts = shortened(guest.contents, objects, Fewer.of(point, gem5))
        cut = any(each.ran for each in cuts)
        files = tuple(output_file(number) for number in range(len(program.outputs))) if outputs else ()
        machine = gpu(point.gfx)
        told = (
            {name: as_told(path.read_bytes(), point.gfx) for name, path in objects.items()}
            if machine.runs_as
            else {}
        )
        launcher = root / (inputs.launcher or "")
        process = launched(
            replace(contents, device=machine.told),
            options=dict(point.options),
            launcher=launcher,
            list_file=LIST,
            links={} if told else objects,
            judge=OwnJudge(program, files, tuple(codes.values()), known, cut),
            data=told | ({DATA: guest.data} if guest.data is not None else {}),
            trace_workgroups=cut,
        )
        changes = {each: ", ".join(changes_of(path.read_bytes())) or None for each, path in codes.items()}
        records = tuple(
            LaunchRecord(
                layer=program.name,
                layer_kind=KIND,
                kernel=launch.kernel,
                grid=launch.grid,
                workgroup=launch.workgroup,
                changed=changes[launch.code],
                matrix=matrix[launch.code].get(launch.kernel),
                weight=None if launch.weight == 1 else launch.weight,
            )
            for launch in program.launches
        )
        reads = (process.guest.directory / process.guest.program, *codes.values())
        return Prepared(
            process, noted(records, cuts), reads, provenance(point, gem5, tools.image, launcher=launcher)
        )


def demand(kernel: Kernel, launch: OwnLaunch, isa: Isa) -> Demand:
    """What one workgroup of a launch takes of a compute unit."""
    scalars = -(-kernel.scalar_registers // isa.scalar_granule) * isa.scalar_granule
    waves = -(-prod(launch.workgroup) // isa.wave_size)
    lds = kernel.lds_bytes + dynamic_lds(kernel, launch).size
    vectors = -(-kernel.vector_registers // isa.vector_granule) * isa.vector_granule
    return Demand(launch.kernel, waves, lds, vectors, scalars)


def check_launch(kernel: Kernel, launch: OwnLaunch, point: Point) -> None:
    """Raise ConfigError where the point's machine can never run the launch."""
    isa = gpu(point.gfx).isa
    wrong = list(geometry_problems(kernel, launch, isa))
    overflows = list(demand_overflows(demand(kernel, launch, isa), capacity(point.options)))
    if not wrong and not overflows:
        return
    raise ConfigError(
        f"{point.described_by} cannot run at {point.id}: "
        + "; ".join([*wrong, *(f"{each.message} ({each.option})" for each in overflows)]),
        file=paths.workload_file(point.described_by),
        key=overflows[0].option if overflows else "launches",
        remedy=f"at least {overflows[0].needed}" if overflows else "change the launch or the kernel",
    )


PROGRAM = OwnKernels()
