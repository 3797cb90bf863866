"""The kind of workload that is one operation, and how it is read from its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from apuflow import dnnmark, operations
from apuflow.configure import labels, yaml_source
from apuflow.configure.base import Model, Name, Text
from apuflow.configure.work import OperationWork, Work
from apuflow.configure.workload import Note, Runs, Workload
from apuflow.core.engines import EngineName
from apuflow.core.errors import ConfigError
from apuflow.core.scalar import Scalar
from apuflow.dnnmark import Direction


class OperationFile(Model):
    """``kind: operation``: one operation beyond DNNMark's primitives: its kernels alone."""

    kind: Literal["operation"]
    description: Text
    operation: Name = Field(description="which one (docs/operations.md)")
    shape: dict[Name, Scalar] = Field(description="its keys; a sweep's `layer` changes them, also as axes")
    direction: Direction = Field("fwd", description="fwd, bwd, or both: first forward, then backward")
    runs_on: dict[EngineName, Runs] = Field(
        default_factory=dict, description="by engine; left out: yes, and no for gem5, which has no program"
    )
    notes: Text | None = None


@dataclass(frozen=True)
class OperationWorkload(Workload):
    """An operation beyond DNNMark's primitives: its kernels alone, on engines gem5-kernels and preview.

    Attributes:
        operation: its kind.
        shape: its keys as the file, or a suite, gives them.
    """

    kind: ClassVar[str] = "operation"
    title: ClassVar[str] = "an operation beyond its primitives"
    schema: ClassVar[type[Model] | None] = OperationFile
    works: ClassVar[tuple[type[Work], ...]] = (OperationWork,)
    derives_kernels: ClassVar[bool] = True
    programs: ClassVar[Mapping[EngineName, str]] = {"gem5-kernels": "derived_kernels"}

    direction: dnnmark.Direction = "fwd"
    operation: str = ""
    shape: Mapping[str, Scalar] = field(default_factory=dict)

    @classmethod
    @override
    def beside(cls, spec: Any, path: Path, document: yaml_source.Document) -> dict[str, Any]:
        try:
            operations.make(spec.operation, spec.shape).passes(spec.direction)
        except ConfigError as error:
            place = ("shape", str(error.key)) if error.key in spec.shape else (error.key or "shape",)
            error.file = error.file or document.where(place)
            raise
        return {}

    @override
    def refusal(self, engine: EngineName) -> str:
        return (
            f"operation {self.operation} is none of DNNMark's layers, and {engine} runs whole programs: use "
            "gem5-kernels or preview"
        )

    @property
    @override
    def program(self) -> str:
        return f"operation {self.operation}"

    @override
    def work(self, layer: Mapping[str, Scalar], note: Note) -> Work | None:
        try:
            made = operations.make(self.operation, {**self.shape, **layer})
            made.passes(self.direction)
        except ConfigError as error:
            if error.key in layer:
                error = ConfigError(
                    error.message, key=f"layer.{error.key}", value=error.value, remedy=error.remedy
                )
            note(error)
            return None
        changed = (name for name in sorted(layer) if layer[name] != self.shape.get(name))
        label = tuple(labels.value_part(name, layer[name]) for name in changed)
        return OperationWork(made, self.direction, label=label)

    @override
    def about(self) -> list[str]:
        made = operations.make(self.operation, self.shape)
        lines = [f"{made.title}; kernels: {made.source}", f"shape: {made.label}"]
        for one in made.passes(self.direction):
            cost = made.cost(one)
            lines.append(
                f"{one}: {cost.macs / 1e6:,.1f} million multiply-adds, reads {cost.read_bytes / 1e6:,.1f} "
                f"and writes {cost.written_bytes / 1e6:,.1f} MB"
            )
        return lines
