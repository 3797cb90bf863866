"""A DNNMark network: its layers with the shapes that flow through them, its memory and its traps.

Traps are what the text does not show; those of one kind of layer stand in its class (``layers.py``).

Source: DNNMark ``core/include/dnn_layer.h``, ``data_png.h`` (``GenerateUniformData``), ``data_manager.h`` and
``layers/*_layer.h``, HIP branches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from apuflow.dnnmark.key import INT_MAX
from apuflow.dnnmark.kind import Direction, Kind
from apuflow.dnnmark.shape import FLOAT_BYTES, Shape

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
        name, previous: as written; "" when the key is absent.
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


def _filled_chunks(network: Network, direction: Direction) -> Iterator[tuple[Layer, str, int]]:
    """Every chunk that DNNMark fills, as (layer, what, elements)."""
    for layer in network.layers:
        for what, elements, _ in layer.params.parameters(layer.input):
            yield layer, what, elements
        if not network.fills(layer):
            continue
        if direction in ("fwd", "both"):
            yield layer, "bottom", layer.input.elements
        if direction in ("bwd", "both"):
            for what in layer.params.fills_backward:
                yield layer, what, (layer.input if what == "bottom" else layer.output).elements


def mmap_bytes(network: Network, direction: Direction) -> int:
    """Smallest size of the ``-mmap`` file in bytes: that of the largest chunk, since the file is reused."""
    return FLOAT_BYTES * max((elements for _, _, elements in _filled_chunks(network, direction)), default=0)


def device_bytes(network: Network) -> int:
    """Bytes that DNNMark allocates with ``hipHostMalloc`` before the first kernel (a lower bound).

    Data, gradients and weights of every layer are allocated whatever the direction. A workspace is sized
    in bytes and allocated as that many floats, four times too much. MIOpen returns the largest workspace of
    all convolution algorithms; only that of the one DNNMark runs (GEMM) is counted here.
    """
    elements = 0
    for layer in network.layers:
        if network.owns_input(layer):
            elements += 2 * layer.input.elements
        elements += 2 * layer.output.elements
        elements += sum(part.elements * part.tensors for part in layer.params.parameters(layer.input))
        elements += sum(layer.params.workspaces(layer.input, layer.output))
    return FLOAT_BYTES * elements


def check(
    network: Network, direction: Direction, handles: int | None = None, gfx: str | None = None
) -> tuple[Problem, ...]:
    """What is wrong with running ``network`` on HIP, in the order of its layers.

    Args:
        handles: MIOpen handles that the program makes (1 for the standalone tests, 3 for the composed ones,
            21 for alexnet, 58 for VGG); None, as for ``gfx``: not known.
    """
    problems = list(_of_network(network, direction, handles))
    for layer in network.layers:
        problems += layer.remarks
        traps = layer.params.traps(layer.input, layer.output, direction, gfx)
        problems += (Problem(level, layer.label, text, fix) for level, text, fix in traps)
    return tuple(problems)


def _of_network(network: Network, direction: Direction, handles: int | None) -> Iterator[Problem]:
    count, composed = len(network.layers), network.run_mode == "composed"
    if network.run_mode == "none":
        yield Problem(
            "warning",
            "",
            "run_mode is not set: layers run one by one, and only those with previous_layer=null are filled",
            "set run_mode=standalone or composed in [DNNMark]",
        )
    if composed and handles is not None and count > handles:
        yield Problem(
            "error",
            network.layers[handles].label,
            f"{count} layers, but the program makes {handles} handles: layer {handles + 1} reads past them",
            "use a program with more handles (composed 3, alexnet 21, vgg 58) or run_mode=standalone",
        )
    for layer, what, elements in _filled_chunks(network, direction):
        if elements > INT_MAX:
            why = f"{elements} elements: DNNMark counts in a C int and overflows at {INT_MAX + 1}"
            fix = "make the batch or the layer smaller"
            yield Problem("error", layer.label, f"{what} of {why}", fix)
