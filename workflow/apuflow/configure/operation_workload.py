"""Workloads that are operations of DNNs: DNNMark's benchmarks, one operation, those of all suites."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from apuflow import dnnmark, operations
from apuflow.configure import yaml_source
from apuflow.configure.base import ListOf, Model, Name, Text
from apuflow.configure.meant import meant_key
from apuflow.configure.work import OperationWork, Work, value_part
from apuflow.configure.workload import Need, Note, Runs, Workload
from apuflow.core import paths
from apuflow.core.engines import EngineName
from apuflow.core.errors import ConfigError
from apuflow.core.scalar import Scalar
from apuflow.dnnmark import Direction
from apuflow.operations import Layers
from apuflow.operations.layer_keys import LayerKey, layer_keys
from apuflow.suites.spec import Spec, parse
from apuflow.suites.step import OPERATION


def _at_layer(error: ConfigError, key: str, known: Iterable[LayerKey]) -> ConfigError:
    """The same error, of a layer key of a sweep; what is meant by one that is not known."""
    names = {each.key.rpartition(".")[2] for each in known}
    hint = "" if key in names or "did you mean" in (error.remedy or "") else meant_key(key, names)
    return ConfigError(error.message, key=f"layer.{key}", value=error.value, remedy=f"{hint}{error.remedy}")


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
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "not a UTF-8 text file"
            message, remedy = f"cannot read the network: {why}", f"put it at {file}"
            where = document.where(("config",))
            raise ConfigError(message, file=where, key="config", value=spec.config, remedy=remedy) from error
        return {"file": file, "text": text, "program": f"dnnmark_{spec.benchmark}"}

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
                error = _at_layer(error, key, self.layer_keys())
            note(error)
            return None
        problems = dnnmark.check(parsed, self.direction, self.handles)
        errors = [problem for problem in problems if problem.level == "error"]
        for problem in errors:
            message, value = f"layer {problem.layer}: {problem.message}", layer or "as shipped"
            note(ConfigError(message, key="layer", value=value, remedy=problem.remedy))
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
                self._parts[key] = "" if alone == self._lean else value_part(name, layer[name])
            found.append(self._parts[key])
        return tuple(part for part in found if part)

    @override
    def layer_keys(self) -> Iterator[LayerKey]:
        network = self.network
        for layer in network.layers:
            inputs = layer.input._asdict()
            known = dnnmark.LAYER_KEYS[layer.kind]
            for fact in layer_keys(layer.kind):
                if fact.key in inputs and not network.owns_input(layer):
                    continue
                value = inputs.get(fact.key, known[fact.key].stated(layer.params))
                name = fact.key if len(network.layers) == 1 else f"{layer.name}.{fact.key}"
                yield fact.of_workload(name, value)

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
    """An operation beyond DNNMark's primitives: its kernels alone, on engines gem5-kernels and preview."""

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
        return {"program": f"operation {spec.operation}"}

    @override
    def refusal(self, engine: EngineName) -> str:
        return (
            f"operation {self.operation} is none of DNNMark's layers, and {engine} runs whole programs: use "
            "gem5-kernels or preview"
        )

    @override
    def work(self, layer: Mapping[str, Scalar], note: Note) -> Work | None:
        try:
            made = operations.make(self.operation, {**self.shape, **layer})
            made.passes(self.direction)
        except ConfigError as error:
            key = error.key or ""
            note(_at_layer(error, key, self.layer_keys()) if key in layer else error)
            return None
        changed = (name for name in sorted(layer) if layer[name] != self.shape.get(name))
        label = tuple(value_part(name, layer[name]) for name in changed)
        return OperationWork(made, self.direction, label=label)

    @override
    def layer_keys(self) -> Iterator[LayerKey]:
        for fact in layer_keys(self.operation):
            yield fact.of_workload(fact.key, self.shape.get(fact.key, fact.default))

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


LABEL = 60
"""Longest part of a label that names an operation; the identity behind the label tells points apart."""


@dataclass(frozen=True)
class SuiteOperations(Workload):
    """Single operations of networks and suites, on engines gem5-kernels and preview.

    ``direction`` is that of its points; there are two such workloads with one name.
    """

    kind: ClassVar[str] = "suites"
    works: ClassVar[tuple[type[Work], ...]] = (OperationWork,)
    derives_kernels: ClassVar[bool] = True
    programs: ClassVar[Mapping[EngineName, str]] = {"gem5-kernels": "derived_kernels"}

    name: str = paths.OPERATIONS
    description: str = "operations of networks and suites"
    program: str = "operations of suites"

    @override
    def refusal(self, engine: EngineName) -> str:
        return f"suites are single operations, and {engine} runs whole programs: use gem5-kernels or preview"

    @override
    def work(self, layer: Mapping[str, Scalar], note: Note) -> Work | None:
        try:
            return _work(str(layer[OPERATION]))
        except ConfigError as error:
            note(ConfigError(f"{layer[OPERATION]}: {error.message}", key=error.key, remedy=error.remedy))
            return None


@lru_cache(maxsize=65536)
def _work(text: str) -> Work:
    """What runs for the text of a specification; raises ConfigError where it cannot run."""
    wanted = parse(text)
    label = (wanted.kind.lower(), wanted.direction, _label(wanted)[:LABEL])
    operation = wanted.operation()
    for problem in operation.traps(wanted.direction):
        if problem.level == "error":
            raise ConfigError(problem.message, key="operation", value=text, remedy=problem.remedy)
    return OperationWork(operation, wanted.direction, label=label)


def _label(wanted: Spec) -> str:
    """Sizes of an operation, shortened: ``n1c3h224w224``."""
    short = {"num_output": "k", "kernel_size": "r", "stride": "s", "pad": "p"}
    return "".join(
        value_part(short.get(name, name), value) for name, value in wanted.keys if name != "conv_mode"
    )
