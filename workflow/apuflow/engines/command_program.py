"""Any GPU program on engine gem5, with the arguments and environment of its workload file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from typing_extensions import override

from apuflow.configure import Release
from apuflow.configure.command_workload import CommandFile, CommandWork, CommandWorkload
from apuflow.configure.point import Point
from apuflow.configure.work import Software
from apuflow.core.errors import ConfigError
from apuflow.engines.base import Inputs, Needs, Place, Prepared, Program, needed_tools
from apuflow.engines.dnnmark_program import HOME
from apuflow.engines.simulated import provenance, required_rows
from apuflow.prepare import requests
from apuflow.prepare.builds import Gem5Record
from apuflow.prepare.doctor import Use
from apuflow.prepare.tools import Toolset
from apuflow.run.command import Guest
from apuflow.run.outcome import EndFile, Expectation
from apuflow.run.process import Process


class CommandProgram(Program[CommandWorkload]):
    """A GPU program of the user's."""

    use: ClassVar[Use] = Use.PROGRAM

    @override
    def software(self, workload: CommandWorkload, place: Place) -> Software:
        command, root = workload.command, place.root
        content: dict[str, Any] = {
            "binary": requests.supplied_hash(root, command.binary),
            "arguments": list(command.arguments),
            "environment": dict(sorted(command.environment.items())),
        }
        inputs = {Path(file).name: requests.supplied_hash(root, file) for file in command.inputs}
        return Software(command={**content, "inputs": inputs} if inputs else content)

    @override
    def needs(self, tools: Toolset, point: Point) -> Needs:
        return Needs(needed_tools(tools, point))

    @override
    def prepare(
        self, tools: Toolset, point: Point, inputs: Inputs, gem5: Gem5Record, run_dir: Path
    ) -> Prepared:
        assert isinstance(point.work, CommandWork)
        process = command_process(point, tools.release, point.work.command, project=tools.root.resolve())
        reads = (process.guest.directory, *process.links.values())
        return Prepared(process, (), reads, provenance(point, gem5, tools.image))


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


PROGRAM = CommandProgram()
