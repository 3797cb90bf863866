"""A workload's network with the layer values of each point, checked once per distinct set of values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from apuflow import dnnmark
from apuflow.configure import identity
from apuflow.configure.catalogue import Value
from apuflow.configure.combinations import Assignment
from apuflow.configure.loading import Workload
from apuflow.core import units
from apuflow.core.errors import ConfigError


@dataclass(frozen=True)
class Network:
    """A network as it runs; for a command only ``device_bytes``, the memory that it says it needs.

    Attributes:
        text: canonical form, comments and blank lines gone.
        label: what differs from the shipped network, as ``n10``.
    """

    text: str | None
    parsed: dnnmark.Network | None
    device_bytes: int
    mmap_bytes: int
    label: tuple[str, ...]


class Networks:
    """The networks of one workload in one sweep.

    Args:
        workload: whose network it is.
        fixed: layer values that every point has.
        note: is told what is wrong.
    """

    def __init__(
        self, workload: Workload, fixed: Mapping[str, Value], note: Callable[[ConfigError], None]
    ) -> None:
        self._workload = workload
        self._fixed = fixed
        self._note = note
        self._lean = _without_comments(workload.config_text or "")
        self._known: dict[Assignment, Network | None] = {}
        self._parts: dict[tuple[str, Value], str] = {}

    def get(self, assignment: Assignment) -> Network | None:
        """The network with these values (``layer.<key>``); None when something is wrong with it (noted)."""
        if assignment not in self._known:
            values = {name.removeprefix("layer."): value for name, value in assignment}
            self._known[assignment] = self._resolve({**self._fixed, **values})
        return self._known[assignment]

    def _resolve(self, layer: dict[str, Value]) -> Network | None:
        workload = self._workload
        if workload.config_text is None or workload.direction is None:
            return self._command(layer)
        try:
            dnnmark.parse(workload.config_text, workload.config_file)
            text = self._text(layer)
            parsed = dnnmark.parse(text, workload.config_file)
        except ConfigError as error:
            key = (error.key or "").partition(" ")[0].removeprefix("layer.")
            if key in {name.rpartition(".")[2] for name in layer} | set(layer):
                error = ConfigError(error.message, key=f"layer.{key}", value=error.value, remedy=error.remedy)
            self._note(error)
            return None
        problems = dnnmark.check(parsed, workload.direction, workload.handles)
        errors = [problem for problem in problems if problem.level == "error"]
        for problem in errors:
            self._note(
                ConfigError(
                    f"layer {problem.layer}: {problem.message}",
                    key="layer",
                    value=layer or "as shipped",
                    remedy=problem.remedy,
                )
            )
        if errors:
            return None
        return Network(
            dnnmark.write(parsed),
            parsed,
            dnnmark.device_bytes(parsed, workload.direction),
            dnnmark.mmap_bytes(parsed, workload.direction),
            self._label(layer, text),
        )

    def _command(self, layer: Mapping[str, Value]) -> Network | None:
        for name, value in layer.items():
            self._note(
                ConfigError(
                    "a command has no layers",
                    key=f"layer.{name}",
                    value=value,
                    remedy="leave layer out for it",
                )
            )
            return None
        command = self._workload.command
        memory = 0 if command is None else units.size_bytes(command.memory) or 0
        return Network(None, None, memory, 0, ())

    def _text(self, layer: Mapping[str, Value]) -> str:
        text = self._lean
        return dnnmark.with_layer_values(text, layer, self._workload.config_file) if layer else text

    def _label(self, layer: Mapping[str, Value], text: str) -> tuple[str, ...]:
        """``n10``, for each key whose value is not the workload's as shipped."""
        parts = []
        for name in sorted(layer):
            key = (name, layer[name])
            if key not in self._parts:
                alone = text if len(layer) == 1 else self._text({name: layer[name]})
                same = alone == self._lean
                self._parts[key] = "" if same else identity.value_part(name, layer[name])
            parts.append(self._parts[key])
        return tuple(part for part in parts if part)


def _without_comments(text: str) -> str:
    """The lines that DNNMark reads (utility.cc: blank ones and those that start with # are skipped)."""
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("#"))
