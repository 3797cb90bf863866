"""DNNMark's benchmarks as programs of engine gem5."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from typing_extensions import override

from apuflow.configure import Release
from apuflow.configure.operation_workload import DnnmarkWorkload
from apuflow.configure.point import Point
from apuflow.configure.work import OperationWork, Software
from apuflow.core.errors import ApuflowError, ConfigError, EngineError
from apuflow.core.files import sha256_file
from apuflow.core.gpus import gpu
from apuflow.core.record import LaunchRecord
from apuflow.engines.base import Inputs, Needs, Place, Prepared, Program, needed_tools
from apuflow.engines.simulated import launch_records, provenance, required_rows
from apuflow.launcher.judge import ProgramJudge
from apuflow.miopen import Row, network_rows
from apuflow.miopen.database import database_directory
from apuflow.miopen.objects import KernelObject
from apuflow.miopen.row_file import project_rows
from apuflow.operations import Layers
from apuflow.prepare import requests
from apuflow.prepare.builds import DnnmarkRecord, Gem5Record, check_dnnmark
from apuflow.prepare.doctor import Use
from apuflow.prepare.records import read_record
from apuflow.prepare.tools import Toolset, data_file
from apuflow.rocblas.call import library_versions
from apuflow.rocblas.objects import ProductLibrary
from apuflow.run.command import Guest, refuse_redirected
from apuflow.run.outcome import Expectation
from apuflow.run.process import Process

END_MARKER = "DNNMark suites: Tear down..."
"""The last thing every DNNMark benchmark logs (benchmarks/*/test_*.cc)."""

CONFIG = "workload.dnnmark"
DATA = "mmap.bin"
HOME = "home"
ROCBLAS = "rocblas"


class DnnmarkProgram(Program[DnnmarkWorkload]):
    """A benchmark of DNNMark."""

    use: ClassVar[Use] = Use.DNNMARK

    @override
    def software(self, workload: DnnmarkWorkload, place: Place) -> Software:
        changed_kernels = place.site.image.rocblas_kernels == "changed"
        return Software(
            benchmark=workload.benchmark,
            miopen=place.release.miopen.source.commit,
            dnnmark=requests.dnnmark_content(place.release, place.site, place.root),
            products=library_versions("rocblas", place.gfx) if changed_kernels else None,
        )

    @override
    def needs(self, tools: Toolset, point: Point) -> Needs:
        assert isinstance(point.work, OperationWork)
        units, rows = runtime_units(point), _rows(tools, point)
        database = tools.database(point.gfx, units, [*rows, *project_rows(tools.root)]) if rows else None
        return Needs(
            (*needed_tools(tools, point), tools.record("dnnmark")),
            database.objects if database else (),
            database,
            data_file(point.work.data_bytes),
            library=_library(tools, point),
        )

    @override
    def prepare(
        self, tools: Toolset, point: Point, inputs: Inputs, gem5: Gem5Record, run_dir: Path
    ) -> Prepared:
        root, benchmark = tools.root.resolve(), point.software.benchmark or ""
        record = root / tools.record("dnnmark")
        built = read_record(record, DnnmarkRecord)
        check_dnnmark(built, benchmark, record)
        if inputs.data is None:
            raise EngineError("a DNNMark run needs its data file", value=point.id)
        data, database = root / inputs.data, root / inputs.database if inputs.database else None
        process = dnnmark_process(
            point, benchmark, tools.release, built, run_dir=run_dir, database=database, data=data
        )
        made_from = provenance(
            point, gem5, tools.image, build=built, benchmark=benchmark, database=database, data=data
        )
        objects: tuple[KernelObject, ...] = ()
        if rows := _rows(tools, point):
            objects = tools.database(point.gfx, runtime_units(point), rows).objects
        if (library := _library(tools, point)) is not None:
            objects += library.objects
            given = library.files(root)
            copies = {f"{ROCBLAS}/{name}": file for name, file in given.items()}
            guest = replace(process.guest, environment={"ROCBLAS_TENSILE_LIBPATH": ROCBLAS})
            process = replace(process, copies={**process.copies, **copies}, guest=guest)
            told = ", ".join(f"{name} ({sha256_file(file)[:16]})" for name, file in given.items())
            notes = (*made_from.notes, f"rocBLAS was given {told}")
            made_from = made_from.model_copy(update={"notes": notes})
        if objects:
            made = tuple(each.path(root) for each in objects)
            judge = ProgramJudge(made, tools.known(point.gfx))
            process = replace(process, judge=judge)
        reads = (Path(built.build), data, *([database] if database else []))
        return Prepared(process, kernel_launches(point), reads, made_from)


def _rows(tools: Toolset, point: Point) -> tuple[Row, ...]:
    """The kernels that MIOpen will ask for."""
    assert isinstance(point.work, OperationWork) and isinstance(point.work.operation, Layers)
    return network_rows(
        point.work.operation.network,
        point.work.direction,
        runtime_units(point),
        tools.release.miopen.formulas,
    )


def _library(tools: Toolset, point: Point) -> ProductLibrary | None:
    """What the image's rocBLAS is given; None: it runs its own kernels, or the point has no product."""
    if point.software.products is None:
        return None
    return tools.product_library(point.launches(runtime_units(point)), point.gfx)


def dnnmark_process(
    point: Point,
    benchmark: str,
    release: Release,
    build: DnnmarkRecord,
    *,
    run_dir: Path,
    database: Path | None,
    data: Path,
) -> Process:
    """A DNNMark benchmark on the point's network.

    Args:
        run_dir: where the process will run; MIOpen finds its database through HOME below it.
        database: kernel database, named as MIOpen looks for it; None for workloads that need none.
        data: the file for ``-mmap``.

    ``-debuginfo 1`` sends DNNMark's log to standard error, where its last line proves that it ended; without
    it the log goes to files inside gem5's fake /tmp.

    Raises:
        ConfigError: the build has no such program, or the guest could not read its files where they are.
    """
    if benchmark not in build.programs:
        raise ConfigError(
            "the DNNMark build has no such benchmark",
            file=build.build,
            value=benchmark,
            remedy=f"it has {', '.join(name for name in build.programs if not name.endswith('.so'))}",
        )
    for directory in (run_dir, Path(build.build)):
        refuse_redirected(directory.resolve())
    copies = {}
    if database is not None:
        where = database_directory(release.miopen.version_directory, release.miopen.cache_directory, HOME)
        copies[str(where / database.name)] = database
    blocks = None if release.capabilities.per_kernel_statistics else 1
    return Process(
        guest=Guest(
            directory=Path(build.build) / "benchmarks" / benchmark,
            program=f"dnnmark_{benchmark}",
            arguments=("-config", CONFIG, "-mmap", DATA, "-debuginfo", "1"),
        ),
        options=dict(point.options),
        expectation=Expectation(end_marker=END_MARKER, blocks=blocks, required=required_rows()),
        files={CONFIG: point.work.text or ""},
        copies=copies,
        links={DATA: data},
        home=HOME,
        rocm=True,
    )


def runtime_units(point: Point) -> int:
    """Compute units that ROCm, and so MIOpen, takes the machine to have (``configs/example/hsaTopology.py``).

    What MIOpen launches and what its database is called follow them; of some GPUs gem5 tells a fixed number.
    """
    return gpu(point.gfx).told_compute_units or point.compute_units


def kernel_launches(point: Point) -> tuple[LaunchRecord, ...]:
    """The GPU kernels that a point launches, in order; none where they cannot be derived."""
    try:
        launches = point.launches(runtime_units(point))
    except ApuflowError:
        return ()
    return launch_records(launches, point.gfx, "rocBLAS of the image")


PROGRAM = DnnmarkProgram()
