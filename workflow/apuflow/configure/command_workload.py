"""The kind of workload that is any GPU program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import Field, StringConstraints, field_validator, model_validator
from typing_extensions import override

from apuflow import dnnmark, miopen
from apuflow.configure import yaml_source
from apuflow.configure.base import WORD, ListOf, Model, Name, Size, Text, ValueProblem
from apuflow.configure.work import Work
from apuflow.configure.workload import Note, Runs, Workload
from apuflow.core.engines import EngineName
from apuflow.core.errors import ConfigError, NotModelled
from apuflow.core.scalar import Scalar
from apuflow.core.units import size_bytes

Word: TypeAlias = Annotated[str, StringConstraints(pattern=WORD)]
_TAKEN = ("", "home", "m5out", "guest.env", "command.sh", "quick_statistics.py")
"""Names of a run's own files."""


class EndFile(Model):
    """A file that shows that a program got to its end."""

    name: Text = Field(description="its name in the program's working directory")
    lines: int = Field(ge=1, description="its lines when it is whole")

    @field_validator("name")
    @classmethod
    def _plain(cls, value: str) -> str:
        if PurePosixPath(value).name != value or value in _TAKEN:
            message = "not a file that the program itself writes into its working directory"
            remedy = "a name without a directory, such as result.out"
            raise ValueProblem(message, value=value, remedy=remedy)
        return value


class CommandFile(Model):
    """``kind: command``: any GPU program that apu_se.py can start."""

    kind: Literal["command"]
    description: Text
    binary: Text = Field(description="path of the program, from the project's directory or absolute")
    arguments: ListOf[Word] = Field((), description="no argument can hold white space")
    environment: dict[Name, str] = Field(
        default_factory=dict, description="added to the guest's environment (LD_LIBRARY_PATH, HOME ...)"
    )
    inputs: ListOf[Text] = Field((), description="files that it reads, by name in its working directory")
    memory: Size = Field("2GB", description="simulated memory that it needs (mem-size), as 2GB")
    cpu_cores: int = Field(
        3, ge=3, le=64, description="CPU cores that it needs (num-cpus): one for each of its threads"
    )
    end_marker: Text | None = Field(
        None, description="text that it prints only when it ended well; needed, unless it has an `end_file`"
    )
    end_file: EndFile | None = Field(None, description="a file that it writes whole before it ends")
    error_texts: ListOf[Text] = Field((), description="text that means failure anywhere")
    runs_on: dict[EngineName, Runs] = Field(
        default_factory=dict, description="by engine; left out: yes on gem5"
    )
    notes: Text | None = None

    @field_validator("inputs")
    @classmethod
    def _names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        names = [PurePosixPath(file).name for file in value]
        for name in names:
            if names.count(name) > 1 or name in _TAKEN:
                message = "the working directory cannot hold this name beside the others"
                raise ValueProblem(message, value=name, remedy="give the file another name")
        return value

    @model_validator(mode="after")
    def _shows_its_end(self) -> Self:
        """gem5 ends with status 0 when a program aborts (from v23.1), with whole statistics."""
        if self.end_marker is None and self.end_file is None:
            raise ValueProblem(
                "nothing would show that the program got to its end: gem5 ends well even if it aborts",
                key="end_marker",
                remedy="end_marker: text that it prints only when it ended well, such as a line at the end "
                "of main(); or end_file: {name: result.out, lines: 1000}, a file that it writes last",
            )
        given = [*self.arguments, *self.environment.values(), self.binary]
        if self.end_marker is not None and any(self.end_marker in word for word in given):
            message = "the program is given this text and may print it before its end"
            remedy = "more of the line that it prints at its end"
            raise ValueProblem(message, key="end_marker", value=self.end_marker, remedy=remedy)
        inputs = [PurePosixPath(file).name for file in self.inputs]
        if self.end_file is not None and self.end_file.name in inputs:
            message, remedy = "the program is given this file", "a file that only the program writes"
            raise ValueProblem(message, key="end_file", value=self.end_file.name, remedy=remedy)
        return self


@dataclass(frozen=True)
class CommandWork(Work):
    """A GPU program."""

    command: CommandFile = field(hash=False)
    direction: dnnmark.Direction | None = None
    label: tuple[str, ...] = ()

    @property
    @override
    def text(self) -> None:
        return None

    @property
    @override
    def device_bytes(self) -> int:
        return size_bytes(self.command.memory) or 0

    @override
    def touched_bytes(self, memory_bytes: int) -> int:
        return memory_bytes

    @override
    def launches(self, compute_units: int) -> tuple[miopen.Launch, ...]:
        message = "the kernels of a program are not known before it runs"
        raise NotModelled(message, key="workload", remedy="use engine gem5")


@dataclass(frozen=True)
class CommandWorkload(Workload):
    """Any GPU program that ``apu_se.py`` can start, with arguments, environment and end marker."""

    kind: ClassVar[str] = "command"
    title: ClassVar[str] = "any GPU program"
    schema: ClassVar[type[Model] | None] = CommandFile
    works: ClassVar[tuple[type[Work], ...]] = (CommandWork,)
    derives_kernels: ClassVar[bool] = False
    programs: ClassVar[Mapping[EngineName, str]] = {"gem5": "command_program"}

    command: CommandFile = field(kw_only=True)

    @classmethod
    @override
    def beside(cls, spec: Any, path: Path, document: yaml_source.Document) -> dict[str, Any]:
        return {"command": spec, "program": spec.binary}

    @property
    @override
    def supplied(self) -> tuple[str, ...]:
        return (self.command.binary, *self.command.inputs)

    @property
    @override
    def cpu_cores(self) -> int:
        return self.command.cpu_cores

    @override
    def work(self, layer: Mapping[str, Scalar], note: Note) -> Work | None:
        for name, value in layer.items():
            remedy = "leave layer out for it"
            note(ConfigError("a command has no layers", key=f"layer.{name}", value=value, remedy=remedy))
            return None
        return CommandWork(self.command)
