"""What a kind of layer says about itself beside its keys; ``layers.py`` has the kinds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, TypeAlias

from apuflow.dnnmark.shape import Shape

Direction: TypeAlias = Literal["fwd", "bwd", "both"]
Trap: TypeAlias = tuple[Literal["error", "warning"], str, str]
"""Level, what happens, what to do."""


class Parameters(NamedTuple):
    """Tensors that a layer learns or keeps, which ``Setup`` fills whatever the direction.

    Attributes:
        elements: of each tensor.
        tensors: how many there are, gradients included.
    """

    what: str
    elements: int
    tensors: int


@dataclass(frozen=True)
class Kind:
    """What a kind of layer is, beside its keys. ``bottom`` and ``top`` are its input and its output."""

    title: ClassVar[str]
    """What it computes, in a few words."""
    fills_backward: ClassVar[tuple[str, ...]] = ("top", "top_diff", "bottom")
    """Data that ``BackwardPropagation`` fills, in order."""

    def output(self, bottom: Shape) -> Shape:
        """Shape of the output. Raises NoOutput: no output element is left."""
        return bottom

    def parameters(self, bottom: Shape) -> tuple[Parameters, ...]:
        """Tensors beside the data and its gradients."""
        return ()

    def workspaces(self, bottom: Shape, top: Shape) -> tuple[int, ...]:
        """Workspaces that MIOpen asks for, in bytes."""
        return ()

    def traps(self, bottom: Shape, top: Shape, direction: Direction, gfx: str | None) -> Iterator[Trap]:
        """What the file's text does not show: what aborts, what crashes, what runs and misleads.

        ``gfx``: GPU architecture; None when it is not known.
        """
        yield from ()
