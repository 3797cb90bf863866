"""Engine gem5: whole programs on gem5, DNNMark's and others, with the ROCm runtime."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from typing_extensions import override

from apuflow.configure import CommandFile, Release
from apuflow.configure.point import Point
from apuflow.configure.site import Site
from apuflow.configure.software import Software
from apuflow.configure.suite_workload import SuiteOperations
from apuflow.configure.workload import Runs
from apuflow.configure.workloads import (
    CommandWorkload,
    DnnmarkWorkload,
    KernelsWorkload,
    OperationWorkload,
    Workload,
)
from apuflow.core.engines import EngineName
from apuflow.core.errors import ConfigError
from apuflow.engines import estimate
from apuflow.engines.base import Inputs, Needs, Prepared, Program, SimulatingEngine, needed_tools
from apuflow.engines.dnnmark_program import HOME, DnnmarkProgram
from apuflow.engines.simulated import provenance, required_rows
from apuflow.prepare import Gem5Record, requests
from apuflow.prepare.doctor import Use
from apuflow.prepare.tools import Toolset
from apuflow.run.command import Guest
from apuflow.run.outcome import EndFile, Expectation
from apuflow.run.process import Process


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
    def software(self, release: Release, gfx: str, workload: Workload, site: Site, root: Path) -> Software:
        return replace(
            _program(workload).software(release, gfx, site, root),
            gem5=requests.gem5_content(release, gfx, site, root),
            image=requests.image_content(release, site, root),
        )

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
    def prepare(
        self, tools: Toolset, point: Point, inputs: Inputs, gem5: Gem5Record, run_dir: Path
    ) -> Prepared:
        program = _program(tools.workload(point.workload))
        return program.prepare(tools, point, inputs, gem5, run_dir)


@dataclass(frozen=True)
class CommandProgram(Program):
    """Any other GPU program."""

    workload: CommandWorkload
    use: ClassVar[Use] = Use.PROGRAM

    @override
    def software(self, release: Release, gfx: str, site: Site, root: Path) -> Software:
        del release, gfx, site
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
        return Software(command=content)

    @override
    def needs(self, tools: Toolset, point: Point) -> Needs:
        return Needs(needed_tools(tools, point))

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
    file = command.end_file
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
            end_file=None if file is None else EndFile(file.name, file.lines),
            error_texts=command.error_texts,
            blocks=None if release.capabilities.per_kernel_statistics else 1,
            required=required_rows(),
        ),
        links=inputs,
        home=HOME,
        rocm=True,
    )


ENGINE = Gem5()
