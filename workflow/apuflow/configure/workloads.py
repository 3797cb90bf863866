"""The kinds of workload, behind one interface; adding one begins here (docs/development.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from typing_extensions import override

from apuflow import dnnmark
from apuflow.configure import labels, yaml_source
from apuflow.configure.base import check_name, validate
from apuflow.configure.kernel_workload import KernelsWorkload, kernels_workload
from apuflow.configure.loading import workload_names
from apuflow.configure.operation_workload import OperationWorkload, load_operation
from apuflow.configure.suite_workload import SuiteOperations
from apuflow.configure.work import NetworkWork, ProgramWork, Work
from apuflow.configure.workload import CommandFile, DnnmarkFile
from apuflow.configure.workload_kind import Note, Workload
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.core.scalar import Scalar
from apuflow.core.units import size_bytes

__all__ = [
    "CommandWorkload",
    "DnnmarkWorkload",
    "KernelsWorkload",
    "Note",
    "OperationWorkload",
    "Workload",
    "Works",
    "load_workload",
]


@dataclass(frozen=True)
class DnnmarkWorkload(Workload):
    """A DNNMark benchmark program and its network.

    Attributes:
        benchmark: directory of the program below DNNMark's ``build/benchmarks``.
        file, text: the network as the user wrote it.
        handles: MIOpen handles that the program makes.
    """

    kind: ClassVar[str] = "dnnmark"
    derives_kernels: ClassVar[bool] = True

    direction: dnnmark.Direction = "both"
    benchmark: str = ""
    file: Path = Path()
    text: str = ""
    handles: int | None = None

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
        return NetworkWork(
            parsed, dnnmark.write(parsed), self.direction, self.handles, self._label(layer, text)
        )

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


@dataclass(frozen=True)
class CommandWorkload(Workload):
    """Any GPU program that ``apu_se.py`` can start, with arguments, environment and end marker."""

    kind: ClassVar[str] = "command"
    derives_kernels: ClassVar[bool] = False

    command: CommandFile = field(kw_only=True)

    @property
    @override
    def program(self) -> str:
        return self.command.binary

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
            note(
                ConfigError(
                    "a command has no layers",
                    key=f"layer.{name}",
                    value=value,
                    remedy="leave layer out for it",
                )
            )
            return None
        return ProgramWork(size_bytes(self.command.memory) or 0)


class Works:
    """What the points of one workload in one sweep run: resolved once per distinct set of layer values.

    Args:
        fixed: layer values that every point has.
        note: is told what is wrong.
    """

    def __init__(self, workload: Workload, fixed: Mapping[str, Scalar], note: Note) -> None:
        self._workload = workload
        self._fixed = fixed
        self._note = note
        self._known: dict[tuple[tuple[str, Scalar], ...], Work | None] = {}

    def get(self, assignment: tuple[tuple[str, Scalar], ...]) -> Work | None:
        """The work with these values (``layer.<key>``); None when something is wrong with it (noted)."""
        if assignment not in self._known:
            values = {name.removeprefix("layer."): value for name, value in assignment}
            self._known[assignment] = self._workload.work({**self._fixed, **values}, self._note)
        return self._known[assignment]


def load_workload(name: str, root: Path = Path()) -> Workload:
    """The workload of that name, with its network's text; raises as load_sweep does."""
    if name == paths.OPERATIONS:
        if (root / paths.workload_file(name)).exists():
            raise ConfigError(
                "this name belongs to the points of suites",
                file=root / paths.workload_file(name),
                remedy="rename the workload",
            )
        return SuiteOperations()
    check_name(name, "workload", workload_names(root))
    path = root / paths.workload_file(name)
    document = yaml_source.load(path)
    kind = document.data.get("kind")
    if kind not in _KINDS:
        raise ConfigError(
            "a key is missing" if kind is None else "unknown kind of workload",
            file=document.where(("kind",)),
            key="kind",
            value=kind,
            remedy="kind: dnnmark (a DNNMark benchmark), kind: operation (an operation beyond its "
            "primitives), kind: kernels (kernels of your own) or kind: command (any GPU program)",
        )
    return _KINDS[kind](name, path, document)


def _dnnmark(name: str, path: Path, document: yaml_source.Document) -> Workload:
    spec = validate(document, DnnmarkFile)
    file = path.parent / spec.config
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a UTF-8 text file"
        raise ConfigError(
            f"cannot read the network: {why}",
            file=document.where(("config",)),
            key="config",
            value=spec.config,
            remedy=f"put it at {file}",
        ) from error
    return DnnmarkWorkload(
        name=name,
        description=spec.description,
        runs=spec.runs_on,
        notes=spec.notes,
        direction=spec.direction,
        needs=spec.needs,
        benchmark=spec.benchmark,
        file=file,
        text=text,
        handles=spec.handles,
    )


def _command(name: str, _path: Path, document: yaml_source.Document) -> Workload:
    command = validate(document, CommandFile)
    return CommandWorkload(
        name=name,
        description=command.description,
        runs=command.runs_on,
        notes=command.notes,
        command=command,
    )


_KINDS: Mapping[object, Callable[[str, Path, yaml_source.Document], Workload]] = {
    DnnmarkWorkload.kind: _dnnmark,
    CommandWorkload.kind: _command,
    OperationWorkload.kind: load_operation,
    KernelsWorkload.kind: kernels_workload,
}
