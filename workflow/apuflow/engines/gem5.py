"""Engine gem5: whole programs on gem5, DNNMark's and others, with the ROCm runtime."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from typing_extensions import override

from apuflow.configure import CommandFile, Release
from apuflow.configure.point import Point
from apuflow.configure.site import Site
from apuflow.configure.suite_workload import SuiteOperations
from apuflow.configure.work import NetworkWork
from apuflow.configure.workload import Runs
from apuflow.configure.workloads import (
    CommandWorkload,
    DnnmarkWorkload,
    KernelsWorkload,
    OperationWorkload,
    Workload,
)
from apuflow.core.engines import EngineName
from apuflow.core.errors import ApuflowError, ConfigError, EngineError
from apuflow.core.gpus import gpu
from apuflow.core.record import LaunchRecord
from apuflow.engines import estimate
from apuflow.engines.base import Inputs, Needs, Prepared, SimulatingEngine
from apuflow.engines.simulated import launch_records, provenance, required_rows
from apuflow.miopen import network_rows
from apuflow.miopen.database import DatabaseLocation
from apuflow.miopen.row_file import project_rows
from apuflow.prepare import DnnmarkRecord, Gem5Record, check_dnnmark, read_record, requests
from apuflow.prepare.doctor import Use
from apuflow.prepare.tools import Toolset, data_file
from apuflow.run.command import Guest, refuse_redirected
from apuflow.run.outcome import Expectation
from apuflow.run.process import Process

END_MARKER = "DNNMark suites: Tear down..."
"""The last thing every DNNMark benchmark logs (benchmarks/*/test_*.cc)."""

CONFIG = "workload.dnnmark"
DATA = "mmap.bin"
HOME = "home"


class Gem5(SimulatingEngine):
    """The workload's own program under ``apu_se.py``, in the container image: everything is real."""

    name: ClassVar[EngineName] = "gem5"
    image_in_identity: ClassVar[bool] = True
    cost_basis: ClassVar[str] = (
        f"GPU part alone, from {estimate.FROM_COUNTS}; the simulated CPUs come on top: "
        "150 to 300 s for each of the small layers seen"
    )
    cost_is_a_lower_bound: ClassVar[bool] = True

    @override
    def runs(self, workload: Workload) -> Runs:
        if isinstance(workload, OperationWorkload):
            return Runs(
                state="no",
                reason=f"operation {workload.operation} is none of DNNMark's layers, and gem5 runs whole "
                "programs: use gem5-kernels or preview",
            )
        if isinstance(workload, KernelsWorkload):
            return Runs(state="no", reason="kernels without a host program: engine gem5-kernels starts them")
        if isinstance(workload, SuiteOperations):
            return Runs(
                state="no",
                reason="suites are single operations, and gem5 runs whole programs: use gem5-kernels or "
                "preview",
            )
        return Runs(state="yes", reason="no known obstacle")

    @override
    def content(
        self, release: Release, gfx: str, workload: Workload, site: Site, root: Path
    ) -> dict[str, Any]:
        return {
            "engine": self.name,
            "direction": workload.direction,
            "gem5": requests.gem5_content(release, gfx, site, root),
            "image": requests.image_content(release, site, root),
            **_program(workload).content(release, site, root),
        }

    @override
    def use(self, workload: Workload) -> Use:
        return _program(workload).use

    @override
    def host_memory(self, point: Point) -> int:
        return estimate.host_memory(point, runtime_bytes=estimate.RUNTIME_BYTES)

    @override
    def needs(self, tools: Toolset, point: Point) -> Needs:
        return _program(tools.workload(point.workload)).needs(tools, point)

    @override
    def inputs(self, tools: Toolset, point: Point, given: Mapping[str, Sequence[str]]) -> Inputs:
        if not given:
            return super().inputs(tools, point, given)
        database, data = (next(iter(given[name]), None) for name in ("database", "data"))
        return Inputs(given["tools"][0], database, data)

    @override
    def prepare(
        self, tools: Toolset, point: Point, inputs: Inputs, gem5: Gem5Record, run_dir: Path
    ) -> Prepared:
        program = _program(tools.workload(point.workload))
        return program.prepare(tools, point, inputs, gem5, run_dir)


class Program(ABC):
    """What engine gem5 does with one kind of workload."""

    use: ClassVar[Use]

    @abstractmethod
    def content(self, release: Release, site: Site, root: Path) -> dict[str, Any]:
        """The program's part of a point's identity."""

    @abstractmethod
    def needs(self, tools: Toolset, point: Point) -> Needs:
        """See SimulatingEngine.needs."""

    @abstractmethod
    def prepare(
        self, tools: Toolset, point: Point, inputs: Inputs, gem5: Gem5Record, run_dir: Path
    ) -> Prepared:
        """See SimulatingEngine.prepare."""


@dataclass(frozen=True)
class DnnmarkProgram(Program):
    """A benchmark of DNNMark."""

    workload: DnnmarkWorkload
    use: ClassVar[Use] = Use.DNNMARK

    @override
    def content(self, release: Release, site: Site, root: Path) -> dict[str, Any]:
        return {
            "benchmark": self.workload.benchmark,
            "miopen": release.miopen.source.commit,
            "dnnmark": requests.dnnmark_content(release, site, root),
        }

    @override
    def needs(self, tools: Toolset, point: Point) -> Needs:
        work = point.work
        assert isinstance(work, NetworkWork)
        units = runtime_units(point)
        rows = network_rows(work.network, work.direction, units, tools.release.miopen.formulas)
        database = tools.database(point.gfx, units, [*rows, *project_rows(tools.root)]) if rows else None
        return Needs(
            (*_tools(tools, point), tools.record("dnnmark")),
            database.objects if database else (),
            database,
            data_file(work.data_bytes),
        )

    @override
    def prepare(
        self, tools: Toolset, point: Point, inputs: Inputs, gem5: Gem5Record, run_dir: Path
    ) -> Prepared:
        root, benchmark = tools.root.resolve(), self.workload.benchmark
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
        reads = (Path(built.build), data, *([database] if database else []))
        return Prepared(process, kernel_launches(point), reads, made_from)


@dataclass(frozen=True)
class CommandProgram(Program):
    """Any other GPU program."""

    workload: CommandWorkload
    use: ClassVar[Use] = Use.PROGRAM

    @override
    def content(self, release: Release, site: Site, root: Path) -> dict[str, Any]:
        command = self.workload.command
        content: dict[str, Any] = {
            "binary": requests.supplied_hash(root, command.binary),
            "arguments": list(command.arguments),
            "environment": dict(sorted(command.environment.items())),
        }
        if command.inputs:
            content["inputs"] = {
                Path(file).name: requests.supplied_hash(root, file) for file in command.inputs
            }
        return {"command": content}

    @override
    def needs(self, tools: Toolset, point: Point) -> Needs:
        return Needs(_tools(tools, point))

    @override
    def prepare(
        self, tools: Toolset, point: Point, inputs: Inputs, gem5: Gem5Record, run_dir: Path
    ) -> Prepared:
        process = command_process(point, tools.release, self.workload.command, project=tools.root.resolve())
        reads = (process.guest.directory, *process.links.values())
        return Prepared(process, (), reads, provenance(point, gem5, tools.image))


def _program(workload: Workload) -> Program:
    match workload:
        case DnnmarkWorkload():
            return DnnmarkProgram(workload)
        case CommandWorkload():
            return CommandProgram(workload)
    raise ConfigError(
        f"engine gem5 runs whole programs, and has none for workloads of kind {workload.kind}",
        key="engines",
        value=workload.name,
        remedy="use gem5-kernels or preview, which run its kernels alone",
    )


def _tools(tools: Toolset, point: Point) -> tuple[str, str]:
    return tools.record(tools.gem5_tool(point.gfx)), tools.record("image")


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
        where = DatabaseLocation(release.miopen.version_directory, release.miopen.cache_directory)
        copies[str(where.directory(HOME) / database.name)] = database
    blocks = None if release.capabilities.per_kernel_statistics else 1
    return Process(
        guest=Guest(
            directory=Path(build.build) / "benchmarks" / benchmark,
            program=f"dnnmark_{benchmark}",
            arguments=("-config", CONFIG, "-mmap", DATA, "-debuginfo", "1"),
            end_marker=END_MARKER,
        ),
        options=dict(point.options),
        expectation=Expectation(end_marker=END_MARKER, blocks=blocks, required=required_rows()),
        files={CONFIG: point.work.text or ""},
        copies=copies,
        links={DATA: data},
        home=HOME,
        rocm=True,
    )


def command_process(point: Point, release: Release, command: CommandFile, *, project: Path) -> Process:
    """Any GPU program for apu_se.py, with the arguments and environment of its workload file.

    Raises:
        ConfigError: there is no such program.
    """
    binary = (project / command.binary).resolve()
    inputs = {Path(file).name: (project / file).resolve() for file in command.inputs}
    for key, what, path in (("binary", "program", binary), *(("inputs", "file", p) for p in inputs.values())):
        if not path.is_file():
            raise ConfigError(
                f"no such {what}",
                file=f"configs/workloads/{point.workload}.yaml",
                key=key,
                value=str(path),
                remedy="put it there, or correct the path (from the project's directory, or absolute)",
            )
    return Process(
        guest=Guest(
            directory=binary.parent,
            program=binary.name,
            arguments=command.arguments,
            environment=command.environment,
            end_marker=command.end_marker,
            error_texts=command.error_texts,
        ),
        options=dict(point.options),
        expectation=Expectation(
            end_marker=command.end_marker,
            error_texts=command.error_texts,
            blocks=None if release.capabilities.per_kernel_statistics else 1,
            required=required_rows(),
        ),
        links=inputs,
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
        return launch_records(point.launches(runtime_units(point)), "rocBLAS of the image")
    except ApuflowError:
        return ()


ENGINE = Gem5()
