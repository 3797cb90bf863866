"""The file of a workload: a DNNMark benchmark, or any GPU program (``configs/workloads/<name>.yaml``)."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Field, StringConstraints, field_validator, model_validator

from apuflow.configure.base import WORD, ListOf, Model, Name, Size, Text, ValueProblem
from apuflow.core.engines import EngineName
from apuflow.core.scalar import Scalar
from apuflow.dnnmark import Direction

Word: TypeAlias = Annotated[str, StringConstraints(pattern=WORD)]

_TAKEN = ("", "home", "m5out", "guest.env", "command.sh", "quick_statistics.py")
"""Names of a run's own files."""

Need = Literal["miopen", "rocblas"]


def _state(value: object) -> object:
    """YAML reads a bare yes or no as true or false."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value


class Runs(Model):
    """Whether an engine can run a workload."""

    state: Annotated[Literal["yes", "unproven", "no"], BeforeValidator(_state)] = Field(
        description="yes: seen or tested upstream; unproven: nothing known against it; no: it fails"
    )
    reason: Text = Field(description="where that is known from, or why not")


class DnnmarkFile(Model):
    """``kind: dnnmark``: a benchmark program and its network."""

    kind: Literal["dnnmark"]
    description: Text
    benchmark: Name = Field(description="directory below build/benchmarks, such as test_fwd_softmax")
    direction: Direction = Field(description="fwd, bwd, or both: which passes the program runs")
    config: Name = Field(description="the network: a .dnnmark file beside this one")
    handles: int = Field(ge=1, description="MIOpen handles that the program makes (most layers it can run)")
    needs: ListOf[Need] = Field(description="libraries whose kernels it launches")
    runs_on: dict[EngineName, Runs] = Field(default_factory=dict, description="by engine; left out: yes")
    notes: Text | None = None


class EndFile(Model):
    """A file that shows that a program got to its end."""

    name: Text = Field(description="its name in the program's working directory")
    lines: int = Field(ge=1, description="its lines when it is whole")

    @field_validator("name")
    @classmethod
    def _plain(cls, value: str) -> str:
        if PurePosixPath(value).name != value or value in _TAKEN:
            raise ValueProblem(
                "not a file that the program itself writes into its working directory",
                value=value,
                remedy="a name without a directory, such as result.out",
            )
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
        None,
        description="text that it prints only when it ended well; needed, unless it has an `end_file`",
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
                raise ValueProblem(
                    "the working directory cannot hold this name beside the others",
                    value=name,
                    remedy="give the file another name",
                )
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
            raise ValueProblem(
                "the program is given this text and may print it before its end",
                key="end_marker",
                value=self.end_marker,
                remedy="more of the line that it prints at its end",
            )
        inputs = [PurePosixPath(file).name for file in self.inputs]
        if self.end_file is not None and self.end_file.name in inputs:
            raise ValueProblem(
                "the program is given this file",
                key="end_file",
                value=self.end_file.name,
                remedy="a file that only the program writes",
            )
        return self


class OperationFile(Model):
    """``kind: operation``: one operation beyond DNNMark's primitives: its kernels alone."""

    kind: Literal["operation"]
    description: Text
    operation: Name = Field(description="which one (docs/operations.md)")
    shape: dict[Name, Scalar] = Field(description="its keys; a sweep's `layer` changes them, also as axes")
    direction: Direction = Field("fwd", description="fwd, bwd, or both: first forward, then backward")
    runs_on: dict[EngineName, Runs] = Field(
        default_factory=dict,
        description="by engine; left out: yes, and no for gem5, which has no program",
    )
    notes: Text | None = None
