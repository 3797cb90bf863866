"""Networks as tables: one row per layer, one image, in forward order; each row names its inputs.

An iteration of ``n`` images runs each row forward and backward, and updates its weights. A multiply-add
counts as two floating-point operations; only convolutions and fully connected layers count. Backward is twice
forward, except for layers that read the images, which need no gradient of their input.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from apuflow.core.errors import ConfigError
from apuflow.suites.spec import workspace_bytes
from apuflow.suites.step import PHASES_OF, Choice, Phase, Step, with_algorithm
from apuflow.suites.table import Row, read_rows

COLUMNS: Final = (
    *("name", "op", "inputs", "in_n", "in_c", "in_h", "in_w", "out_c", "out_h", "out_w"),
    *("kernel_h", "kernel_w", "stride_h", "stride_w", "pad_h", "pad_w", "dilation", "groups", "ceil_mode"),
    *("bias", "params", "macs"),
)
SHARES: Final = "shares"
"""Optional column: the earlier layer whose weights a layer shares."""
IMAGES: Final = "input"
"""Name of the images among a layer's inputs."""
FLOAT_BYTES: Final = 4
_POINTWISE: Final = ("relu", "relu6", "sigmoid", "tanh", "gelu", "clipped_relu")


@dataclass(frozen=True)
class Layer:
    """One row of a network's table.

    Attributes:
        images: inputs of this layer per image: 1, except for heads of a detection network.
        params, macs: of the table, for one image; macs of all its inputs together.
        shares: the earlier layer with its weights; "": its own.
    """

    number: int
    name: str
    op: str
    inputs: tuple[str, ...]
    images: int
    c: int
    h: int
    w: int
    out_c: int
    out_h: int
    out_w: int
    kernel: tuple[int, int]
    stride: tuple[int, int]
    pad: tuple[int, int]
    dilation: int
    groups: int
    bias: bool
    params: int
    macs: int
    shares: str = ""

    @property
    def reads_images(self) -> bool:
        """Whether its inputs are the images, which have no gradient."""
        return IMAGES in self.inputs

    @property
    def out_elements(self) -> int:
        """Values of the output for one image."""
        return self.images * self.out_c * self.out_h * self.out_w

    @property
    def weights(self) -> int:
        """Learnt values from the shape, and 0 for a layer that shares weights.

        Batch normalisation may have scale and shift or not.
        """
        if self.shares:
            return 0
        taps = self.kernel[0] * self.kernel[1]
        if self.op == "conv":
            return self.out_c * (self.c // self.groups) * taps + self.out_c * self.bias
        if self.op == "deconv":
            return self.c * self.out_c * taps + self.out_c * self.bias
        if self.op == "fc":
            return self.out_c * (self.c * self.h * self.w) + self.out_c * self.bias
        return self.params if self.op == "batchnorm" else 0

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds of one image from the shape."""
        taps = self.kernel[0] * self.kernel[1]
        plane = self.out_h * self.out_w
        if self.op == "conv":
            return self.images * self.out_c * plane * (self.c // self.groups) * taps
        if self.op == "deconv":
            return self.images * self.c * self.h * self.w * self.out_c * taps
        return self.images * self.out_c * self.c * self.h * self.w if self.op == "fc" else 0


@dataclass(frozen=True)
class Memory:
    """Bytes that an iteration of a network needs, by part.

    Attributes:
        weights: learnt values.
        activations: the images and the output of every layer; layers in place share their input's.
        gradients: of weights and of activations; 0 without a backward pass.
        workspace: the largest of a convolution in MIOpen.
        momentum: of the weight update; 0 without one.
    """

    weights: int
    activations: int
    gradients: int
    workspace: int
    momentum: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.weights + self.activations + self.gradients + self.workspace + self.momentum


@dataclass(frozen=True)
class Network:
    """A network: its layers in forward order."""

    layers: tuple[Layer, ...]

    @cached_property
    def params(self) -> int:
        """Learnt values from the shapes."""
        return sum(layer.weights for layer in self.layers)

    @cached_property
    def macs(self) -> int:
        """Multiply-adds of one image."""
        return sum(layer.multiply_adds for layer in self.layers)

    @cached_property
    def _channels(self) -> dict[str, int]:
        """Output channels of each layer."""
        return {layer.name: layer.out_c for layer in self.layers}

    def steps(self, choice: Choice, n: int) -> Iterator[Step]:
        """An iteration of ``n`` images: forward in order, backward in reverse, then the update.

        A bias is a separate step, after its layer forward and before it backward.
        """
        for phase in PHASES_OF[choice.direction]:
            for layer in reversed(self.layers) if phase == "backward" else self.layers:
                if phase == "update":
                    yield from _update(layer)
                    continue
                step = _step(layer, phase, n)
                if layer.op == "concat":
                    channels = ",".join(str(self._channels.get(name, 0)) for name in layer.inputs)
                    step = replace(step, shape={**step.shape, "channels": channels})
                both = (step, _bias(layer, phase, n)) if choice.bias and layer.bias else (step,)
                yield from reversed(both) if phase == "backward" else both

    def memory(self, choice: Choice, n: int) -> Memory:
        """Bytes of an iteration of ``n`` images, in fp32."""
        backward, update = choice.direction != "fwd", choice.direction == "both"
        first = self.layers[0]
        held = first.images * first.c * first.h * first.w
        held += sum(layer.out_elements for layer in self.layers if layer.op not in (*_POINTWISE, "dropout"))
        activations = FLOAT_BYTES * n * held
        weights = FLOAT_BYTES * self.params
        filtering = (step for step in self.steps(choice, n) if step.op in ("conv", "deconv"))
        return Memory(
            weights,
            activations,
            (weights + activations) if backward else 0,
            max((workspace_bytes(with_algorithm(step, choice)) for step in filtering), default=0),
            weights if update else 0,
        )


def read_network(file: Path) -> Network:
    """The network of a table.

    Raises:
        ConfigError: not a table of layers, or a layer reads a later one.
    """
    rows = read_rows(file, COLUMNS)
    layers = tuple(_layer(number, row) for number, row in enumerate(rows, 1))
    _check_shared(layers, rows)
    return Network(layers)


def _check_shared(layers: Sequence[Layer], rows: Sequence[Row]) -> None:
    """Refuse a layer that shares weights of no earlier layer."""
    before: dict[str, Layer] = {}
    for layer, row in zip(layers, rows, strict=True):
        owner = before.get(layer.shares)
        if layer.shares and (owner is None or owner.shares or _of_weights(owner) != _of_weights(layer)):
            raise ConfigError(
                "no layer before this one has weights of this shape under this name",
                file=f"{row.file}:{row.line}",
                key=SHARES,
                value=layer.shares,
                remedy="name the first layer that uses these weights, or leave the cell empty",
            )
        before[layer.name] = layer


def _of_weights(layer: Layer) -> tuple[object, ...]:
    """The values that determine the shape of a layer's weights."""
    features = layer.c * layer.h * layer.w if layer.op == "fc" else layer.c
    return layer.op, features, layer.out_c, layer.kernel, layer.groups, layer.bias


def _layer(number: int, row: Row) -> Layer:
    op = row.text("op")
    groups = row.whole("groups", 1, 1)
    layer = Layer(
        number=number,
        name=row.text("name"),
        op=op,
        inputs=tuple(row.text("inputs").replace("+", " ").replace(";", " ").split()),
        images=row.whole("in_n", minimum=1),
        c=row.whole("in_c", minimum=1),
        h=row.whole("in_h", minimum=1),
        w=row.whole("in_w", minimum=1),
        out_c=row.whole("out_c", minimum=1),
        out_h=row.whole("out_h", minimum=1),
        out_w=row.whole("out_w", minimum=1),
        kernel=(row.whole("kernel_h", 1, 1), row.whole("kernel_w", row.whole("kernel_h", 1, 1), 1)),
        stride=(row.whole("stride_h", 1, 1), row.whole("stride_w", 1, 1)),
        pad=(row.whole("pad_h", 0), row.whole("pad_w", 0)),
        dilation=row.whole("dilation", 1, 1),
        groups=groups,
        bias=bool(row.whole("bias", 0)),
        params=row.whole("params", 0),
        macs=row.whole("macs", 0),
        shares=row.cells.get(SHARES, "").strip(),
    )
    if layer.c % groups or layer.out_c % groups:
        raise ConfigError(
            "channels are no multiple of the groups",
            file=f"{row.file}:{row.line}",
            key="groups",
            value=groups,
            remedy=f"a divisor of {layer.c} and {layer.out_c}",
        )
    return layer


def _step(layer: Layer, phase: Phase, n: int) -> Step:
    macs = layer.multiply_adds * n
    gradients = 1 if phase == "forward" or layer.reads_images else 2
    shape: dict[str, int | str] = {"n": n * layer.images, "c": layer.c, "h": layer.h, "w": layer.w}
    if layer.op in ("conv", "deconv"):
        shape |= {
            "k": layer.out_c,
            **_window(layer),
            "dilation": layer.dilation,
            "groups": layer.groups,
            "data": int(not layer.reads_images),
            "out_h": layer.out_h,
            "out_w": layer.out_w,
        }
    elif layer.op == "fc":
        shape |= {"k": layer.out_c, "data": int(not layer.reads_images)}
    elif layer.op in ("maxpool", "avgpool"):
        shape |= {**_window(layer), "out_h": layer.out_h, "out_w": layer.out_w}
    elif layer.op == "lrn":
        shape |= {"size": layer.kernel[0]}
    elif layer.op in ("add", "concat", "upsample_nearest"):
        shape |= {"inputs": len(layer.inputs), "k": layer.out_c, "out_h": layer.out_h, "out_w": layer.out_w}
    return Step(layer.number, layer.name, layer.op, phase, shape, flop=2 * macs * gradients)


def _bias(layer: Layer, phase: Phase, n: int) -> Step:
    """The bias of a layer, without flop, because suites count the layer's multiply-adds only."""
    shape: dict[str, int | str] = {"n": n * layer.images, "c": layer.out_c}
    shape |= {"h": layer.out_h, "w": layer.out_w}
    return Step(layer.number, layer.name, "bias", phase, shape)


def _window(layer: Layer) -> dict[str, int | str]:
    return {
        "kernel_h": layer.kernel[0],
        "kernel_w": layer.kernel[1],
        "stride_h": layer.stride[0],
        "stride_w": layer.stride[1],
        "pad_h": layer.pad[0],
        "pad_w": layer.pad[1],
    }


def _update(layer: Layer) -> Iterator[Step]:
    if layer.weights:
        yield Step(layer.number, layer.name, "sgd", "update", {"elements": layer.weights})


def check_names(layers: Sequence[Layer], file: Path) -> None:
    """Refuse a table with a repeated name.

    Raises:
        ConfigError: with the name.
    """
    seen: set[str] = set()
    for layer in layers:
        if layer.name in seen:
            raise ConfigError(
                "two layers have this name", file=file, key="name", value=layer.name, remedy="rename one"
            )
        seen.add(layer.name)
