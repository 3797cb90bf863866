"""Kernels of MIOpen, rocBLAS and this project on engine gem5-kernels: their objects, and the gem5 process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from typing_extensions import override

from apuflow.configure.point import Point
from apuflow.configure.products import on_gem5
from apuflow.configure.work import Software
from apuflow.configure.workload import Workload
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.core.gpus import gpu
from apuflow.core.scalar import Scalar
from apuflow.engines.base import Inputs, Needs, Place, Prepared, Program, needed_tools
from apuflow.engines.fewer_workgroups import Fewer, noted, shares, shortened
from apuflow.engines.simulated import launch_records, launched, provenance, statistics_of
from apuflow.launcher.corrections import CORRECTIONS_VERSION
from apuflow.launcher.dispatch_list import Statistics
from apuflow.launcher.judge import LARGEST, KernelJudge
from apuflow.launcher.known import NOTHING, Known
from apuflow.launcher.plan import LIST, guest_run, kernel_source, source_directory
from apuflow.launcher.program import sources_identity as launcher_identity
from apuflow.miopen import Launch, Row
from apuflow.miopen.compiler import Compiler, assembler
from apuflow.miopen.objects import KernelObject, kernel_object, sources_identity
from apuflow.prepare.builds import Gem5Record
from apuflow.prepare.doctor import Use
from apuflow.prepare.tools import Toolset, data_file
from apuflow.rocblas.call import library_versions
from apuflow.rocblas.objects import is_library_kernel, library_object
from apuflow.run.command import refuse_redirected

DATA = "data.bin"


def kernel_objects(
    launches: Iterable[Launch], gfx: str, compiler: Compiler, kernels: Path, sources: str | None = None
) -> dict[Row, KernelObject]:
    """The code object of every program and argument string that the launches need.

    Args:
        compiler: with ``code_object=4``: gfx801 needs objects that leave xnack open.
        kernels: MIOpen's ``src/kernels``.
        sources: identity of MIOpen's sources, such as their commit; None: of the files themselves.
    """
    objects: dict[Row, KernelObject] = {}
    for launch in launches:
        row = kernel_source(launch)
        if row in objects:
            continue
        named = Row(row.program, row.arguments, launch.layer)
        if is_library_kernel(row.program):
            objects[row] = library_object(named, gfx, assembler(compiler).identity)
            continue
        place = source_directory(row.program, kernels)
        pinned = sources if place == kernels else None
        identity = pinned or sources_identity(place, row.program)
        objects[row] = kernel_object(named, gfx, compiler.identity, identity)
    return objects


def kernel_run(
    launches: tuple[Launch, ...],
    *,
    gfx: str,
    options: Mapping[str, Scalar | None],
    launcher: Path,
    objects: Mapping[Row, Path],
    data: Path | None = None,
    known: Known = NOTHING,
    statistics: Statistics = "dispatch",
    fewer: Fewer | None = None,
    in_memory: bool = False,
) -> Prepared:
    """The run of a point, but for its provenance: all launches in order, one block of statistics for each.

    The guest has gem5 reset its statistics before every dispatch and write them after it; the first block,
    before them, and the last, at its end, are without kernels. Where the release's own script writes a block
    per kernel, the guest leaves the writing to that.

    Args:
        objects: compiled code object of every row that :func:`kernel_objects` names.
        data: file of uniform floats to fill inputs from (the project's ``-mmap`` file).
        known: of the instructions of this gem5, for what is said of a wrong result.
        fewer: launch the first workgroups of large grids alone; None: all.

    Raises:
        ConfigError: a GPU that gem5 does not model, or a data file smaller than an input.
    """
    gpu(gfx)
    names = {row: f"kernel{number}.o" for number, row in enumerate(objects)}
    run = guest_run(
        launches,
        device=gfx,
        objects={row: Path(name) for row, name in names.items()},
        data=Path(DATA) if data else None,
        data_bytes=data.stat().st_size if data else 0,
        statistics=statistics,
        in_memory=in_memory,
    )
    if sum(buffer.size // 4 for buffer in run.contents.buffers) > LARGEST:
        run = run.without_outputs()
    links = {names[row]: path for row, path in objects.items()}
    contents, cuts = shortened(run.contents, links, fewer)
    judge = KernelJudge(run, dict(links), data, known, shares(contents, run.contents))
    if data is not None:
        links[DATA] = data
    process = launched(
        contents,
        options=options,
        launcher=launcher,
        list_file=LIST,
        links=links,
        judge=judge,
        trace_workgroups=any(cut.ran for cut in cuts),
    )
    return Prepared(process, noted(launch_records(launches, gfx), cuts), (launcher, *links.values()))


class DerivedKernels(Program[Workload]):
    """The kernels that a workload derives, started by the launcher without ROCm."""

    use: ClassVar[Use] = Use.KERNELS

    @override
    def software(self, workload: Workload, place: Place) -> Software:
        return Software(
            miopen=place.release.miopen.source.commit,
            corrections=CORRECTIONS_VERSION,
            products=library_versions(on_gem5(place.site).products, place.gfx),
        )

    @override
    def needs(self, tools: Toolset, point: Point) -> Needs:
        launches = _launches(point)
        sources = None if tools.site.miopen_source else tools.release.miopen.source.commit
        objects = kernel_objects(
            launches, point.gfx, tools.launcher_compiler(point.gfx), tools.kernels, sources
        )
        read = [
            arg.elements * arg.element_bytes
            for launch in launches
            for arg in launch.args
            if arg.kind == "buffer" and arg.role != "out"
        ]
        data, launcher = data_file(max(read, default=0)), paths.launcher(launcher_identity())
        return Needs(needed_tools(tools, point), tuple(objects.values()), data=data, launcher=launcher)

    @override
    def prepare(
        self, tools: Toolset, point: Point, inputs: Inputs, gem5: Gem5Record, run_dir: Path
    ) -> Prepared:
        refuse_redirected(run_dir)
        root = tools.root.resolve()
        data = root / inputs.data if inputs.data else None
        launcher = root / (inputs.launcher or "")
        launches = _launches(point)
        rows = map(kernel_source, launches)
        run = kernel_run(
            launches,
            gfx=point.gfx,
            options=dict(point.options),
            launcher=launcher,
            objects={row: root / inputs.objects[row.program, row.arguments] for row in rows},
            data=data,
            known=tools.known(point.gfx),
            statistics=statistics_of(tools.release),
            fewer=Fewer.of(point, gem5),
            in_memory=point.in_memory,
        )
        return replace(run, provenance=provenance(point, gem5, tools.image, data=data, launcher=launcher))


def _launches(point: Point) -> tuple[Launch, ...]:
    launches = point.launches()
    if not launches:
        said = "this workload launches no GPU kernel"
        remedy = "leave it out of sweeps with engine gem5-kernels (Dropout does nothing on HIP)"
        raise ConfigError(said, key="workload", value=point.workload, remedy=remedy)
    return launches


PROGRAM = DerivedKernels()
