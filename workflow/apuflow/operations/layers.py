"""DNNMark's layers as an operation: a network, or the one layer of a suite's item."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Self

from typing_extensions import override

from apuflow import dnnmark, miopen
from apuflow.core.scalar import Scalar
from apuflow.dnnmark import Direction
from apuflow.dnnmark.key import format_value
from apuflow.miopen.launch import Launch
from apuflow.operations.operation import Operation, Pass


@dataclass(frozen=True, kw_only=True)
class Layers(Operation):
    """Layers of DNNMark, checked. Two with equal texts are equal."""

    kind: ClassVar[str] = "DNNMark"
    title: ClassVar[str] = "layers of DNNMark"
    source: ClassVar[str] = "MIOpen and rocBLAS"

    network: dnnmark.Network = field(compare=False)
    canonical: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "canonical", dnnmark.write(self.network))

    @classmethod
    def of_text(cls, text: str) -> Self:
        """The layers of a ``.dnnmark`` text; raises ConfigError as ``dnnmark.parse``."""
        return cls(network=dnnmark.parse(text))

    @classmethod
    def single(cls, section: str, keys: Mapping[str, Scalar], name: str = "") -> Self:
        """One layer with these keys, named as its section in small letters unless ``name`` is given."""
        lines = ["[DNNMark]", "run_mode=standalone", f"[{section}]", f"name={name or section.lower()}"]
        lines += [f"{key}={format_value(value)}" for key, value in keys.items()]
        return cls.of_text("\n".join([*lines, ""]))

    @property
    @override
    def text(self) -> str:
        return self.canonical

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        return miopen.launches(self.network, direction, compute_units)

    @override
    def device_bytes(self, direction: Direction) -> int:
        return dnnmark.device_bytes(self.network)

    @override
    def data_bytes(self, direction: Direction) -> int:
        return dnnmark.mmap_bytes(self.network, direction)

    @override
    def traps(
        self, direction: Direction, handles: int | None = None, gfx: str | None = None
    ) -> Iterator[dnnmark.Problem]:
        return iter(dnnmark.check(self.network, direction, handles, gfx))
