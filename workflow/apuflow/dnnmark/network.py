"""A DNNMark network as values: its layers with the shapes that flow through them.

Source: DNNMark ``core/include/dnn_layer.h``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from apuflow.dnnmark.kind import Kind
from apuflow.dnnmark.shape import Shape

RunMode: TypeAlias = Literal["none", "standalone", "composed"]
RUN_MODES: Final[tuple[RunMode, ...]] = get_args(RunMode)
FIRST: Final = "null"
"""The ``previous_layer`` of a layer that owns its input."""


@dataclass(frozen=True)
class Problem:
    """A trap in a network: ``error`` when the program cannot run it, ``warning`` when the result misleads."""

    level: Literal["error", "warning"]
    layer: str
    message: str
    remedy: str


@dataclass(frozen=True)
class Layer:
    """One layer with the shapes that flow through it.

    Attributes:
        name: "" when the key is absent.
        previous: the name as written; "" when the key is absent.
        params: the kind of the layer, with the values of its keys.
        remarks: what the parser saw and DNNMark passes over in silence, such as a key given twice.
    """

    name: str
    previous: str
    input: Shape
    output: Shape
    params: Kind
    remarks: tuple[Problem, ...] = field(default=(), compare=False, repr=False)

    @property
    def kind(self) -> str:
        """Name of the layer's section in the file."""
        return type(self.params).__name__

    @property
    def label(self) -> str:
        """The layer's name, or its kind where it has none."""
        return self.name or self.kind


@dataclass(frozen=True)
class Network:
    """A parsed ``.dnnmark`` file; layers in the order of the file."""

    run_mode: RunMode
    layers: tuple[Layer, ...]

    def owns_input(self, layer: Layer) -> bool:
        """Whether the layer allocates its own input (else it shares the previous layer's output)."""
        return self.run_mode != "composed" or layer.previous == FIRST

    def fills(self, layer: Layer) -> bool:
        """Whether the layer fills its data before it runs (``ForwardPropagation`` of each layer)."""
        return self.run_mode == "standalone" or layer.previous == FIRST
