"""The kind of workload that is a DNNMark benchmark program with its network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from apuflow import dnnmark
from apuflow.configure import labels, yaml_source
from apuflow.configure.base import ListOf, Model, Name, Text
from apuflow.configure.work import OperationWork, Work
from apuflow.configure.workload import Need, Note, Runs, Workload
from apuflow.core.engines import EngineName
from apuflow.core.errors import ConfigError
from apuflow.core.scalar import Scalar
from apuflow.dnnmark import Direction
from apuflow.operations import Layers


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


@dataclass(frozen=True)
class DnnmarkWorkload(Workload):
    """A DNNMark benchmark program and its network.

    Attributes:
        benchmark: directory of the program below DNNMark's ``build/benchmarks``.
        file, text: the network as the user wrote it.
        handles: MIOpen handles that the program makes.
    """

    kind: ClassVar[str] = "dnnmark"
    title: ClassVar[str] = "a DNNMark benchmark"
    schema: ClassVar[type[Model] | None] = DnnmarkFile
    works: ClassVar[tuple[type[Work], ...]] = (OperationWork,)
    derives_kernels: ClassVar[bool] = True
    programs: ClassVar[Mapping[EngineName, str]] = {
        "gem5": "dnnmark_program",
        "gem5-kernels": "derived_kernels",
    }

    direction: dnnmark.Direction = "both"
    benchmark: str = ""
    file: Path = Path()
    text: str = ""
    handles: int | None = None

    @classmethod
    @override
    def beside(cls, spec: Any, path: Path, document: yaml_source.Document) -> dict[str, Any]:
        file = path.parent / spec.config
        try:
            return {"file": file, "text": file.read_text(encoding="utf-8")}
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "not a UTF-8 text file"
            raise ConfigError(
                f"cannot read the network: {why}",
                file=document.where(("config",)),
                key="config",
                value=spec.config,
                remedy=f"put it at {file}",
            ) from error

    @property
    @override
    def program(self) -> str:
        return f"dnnmark_{self.benchmark}"

    @property
    @override
    def files(self) -> tuple[Path, ...]:
        return (self.file,)

    @cached_property
    def network(self) -> dnnmark.Network:
        """The network as shipped."""
        return dnnmark.parse(self.text, self.file)

    @cached_property
    def _lean(self) -> str:
        """The lines that DNNMark reads (utility.cc: blank ones and those that start with # are skipped)."""
        lines = (line.strip() for line in self.text.splitlines())
        return "\n".join(line for line in lines if line and not line.startswith("#"))

    @cached_property
    def _parts(self) -> dict[tuple[str, Scalar], str]:
        return {}

    @override
    def work(self, layer: Mapping[str, Scalar], note: Note) -> Work | None:
        try:
            _ = self.network
            text = self._with(layer)
            parsed = dnnmark.parse(text, self.file)
        except ConfigError as error:
            key = (error.key or "").partition(" ")[0].removeprefix("layer.")
            if key in {name.rpartition(".")[2] for name in layer} | set(layer):
                error = ConfigError(error.message, key=f"layer.{key}", value=error.value, remedy=error.remedy)
            note(error)
            return None
        problems = dnnmark.check(parsed, self.direction, self.handles)
        errors = [problem for problem in problems if problem.level == "error"]
        for problem in errors:
            note(
                ConfigError(
                    f"layer {problem.layer}: {problem.message}",
                    key="layer",
                    value=layer or "as shipped",
                    remedy=problem.remedy,
                )
            )
        if errors:
            return None
        label = self._label(layer, text)
        return OperationWork(Layers(network=parsed), self.direction, self.handles, label)

    def _with(self, layer: Mapping[str, Scalar]) -> str:
        return dnnmark.with_layer_values(self._lean, layer, self.file) if layer else self._lean

    def _label(self, layer: Mapping[str, Scalar], text: str) -> tuple[str, ...]:
        """``n10``, for each key whose value is not the workload's as shipped."""
        found = []
        for name in sorted(layer):
            key = (name, layer[name])
            if key not in self._parts:
                alone = text if len(layer) == 1 else self._with({name: layer[name]})
                self._parts[key] = "" if alone == self._lean else labels.value_part(name, layer[name])
            found.append(self._parts[key])
        return tuple(part for part in found if part)

    @override
    def about(self) -> list[str]:
        network = self.network
        return [
            f"needs: {', '.join(self.needs) or 'nothing'}",
            f"device memory: {dnnmark.device_bytes(network) / 1e6:,.1f} MB",
            f"mmap file: {dnnmark.mmap_bytes(network, self.direction) / 1e6:,.1f} MB",
            f"network ({self.file}):",
            *(f"  {layer.kind} {layer.name}: {layer.input} -> {layer.output}" for layer in network.layers),
            *(
                f"{problem.level}: {problem.layer}: {problem.message}"
                for problem in dnnmark.check(network, self.direction, self.handles)
            ),
        ]
