"""Networks as tables: one row per layer, one image, in forward order; each row names its inputs.

An iteration of ``n`` images runs each row forward and backward, and updates its weights. A multiply-add
counts as two floating-point operations; only convolutions and fully connected layers count. Backward is twice
forward, except for layers that read the images, which need no gradient of their input.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Self

from apuflow.core.scalar import Scalar
from apuflow.dnnmark.shape import FLOAT_BYTES
from apuflow.suites.spec import workspace_bytes
from apuflow.suites.step import PHASES_OF, Choice, Passes, Phase, Step
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
    def window(self) -> dict[str, int]:
        """Filter, padding and stride, under the keys of an operation."""
        names = (f"{name}_{side}" for name in ("kernel", "pad", "stride") for side in ("h", "w"))
        return dict(zip(names, (*self.kernel, *self.pad, *self.stride), strict=True))

    @property
    def out_elements(self) -> int:
        """Values of the output for one image."""
        return self.images * self.out_c * self.out_h * self.out_w

    @property
    def _filters(self) -> int:
        """Weights without the bias, also of a layer that shares them."""
        taps = self.kernel[0] * self.kernel[1]
        inputs = {
            "conv": self.c // self.groups * taps,
            "deconv": self.c * taps,
            "fc": self.c * self.h * self.w,
        }
        return self.out_c * inputs.get(self.op, 0)

    @property
    def weights(self) -> int:
        """Learnt values from the shape (normalisations: the table's); 0 for a layer that shares weights."""
        if self.shares:
            return 0
        learnt = self._filters + self.out_c * self.bias if self._filters else 0
        return self.params if self.op == "batchnorm" else learnt

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds of one image from the shape."""
        pixels = {"conv": self.out_h * self.out_w, "deconv": self.h * self.w}.get(self.op, 1)
        return self.images * pixels * self._filters


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

    @classmethod
    def of(cls, params: int, values: int, direction: Passes, workspace: int = 0) -> Self:
        """Memory of so many learnt values and values between layers, in fp32."""
        weights, activations = FLOAT_BYTES * params, FLOAT_BYTES * values
        gradients = 0 if direction == "fwd" else weights + activations
        return cls(weights, activations, gradients, workspace, weights if direction == "both" else 0)


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

    def steps(self, choice: Choice, n: int) -> Iterator[Step]:
        """An iteration of ``n`` images: forward in order, backward in reverse, then the update.

        A bias is a separate step, after its layer forward and before it backward. It has no flop, because
        suites count the layer's multiply-adds only.
        """
        for phase in PHASES_OF[choice.direction]:
            for layer in reversed(self.layers) if phase == "backward" else self.layers:
                if phase == "update":
                    if layer.weights:
                        yield Step(layer.number, layer.name, "sgd", phase, {"elements": layer.weights})
                    continue
                gradients = 1 if phase == "forward" or layer.reads_images else 2
                flop = 2 * layer.multiply_adds * n * gradients
                shape = self._shape(layer, phase, n, choice)
                both = [Step(layer.number, layer.name, layer.op, phase, shape, flop=flop)]
                if choice.bias and layer.bias:
                    shape = {"n": n * layer.images, "c": layer.out_c, "h": layer.out_h, "w": layer.out_w}
                    both.append(Step(layer.number, layer.name, "bias", phase, shape))
                yield from reversed(both) if phase == "backward" else both

    def _shape(self, layer: Layer, phase: Phase, n: int, choice: Choice) -> dict[str, Scalar]:
        shape: dict[str, Scalar] = {"n": n * layer.images, "c": layer.c, "h": layer.h, "w": layer.w}
        out = {"out_h": layer.out_h, "out_w": layer.out_w}
        if layer.op in ("conv", "deconv"):
            shape |= {"num_output": layer.out_c, **layer.window}
            if layer.dilation != 1:
                shape |= {"dilation_h": layer.dilation, "dilation_w": layer.dilation}
            if layer.groups != 1:
                shape |= {"groups": layer.groups}
            if layer.op == "deconv":
                return shape | out
            if phase == "backward" and layer.reads_images:
                shape |= {"propagation": False}
            return shape | {"algorithm": choice.algorithm}
        if layer.op == "fc":
            return shape | {"num_output": layer.out_c}
        if layer.op in ("maxpool", "avgpool"):
            return shape | layer.window | out
        if layer.op == "lrn":
            return shape | {"local_size": layer.kernel[0]}
        if layer.op == "concat":
            return shape | {"channels": ",".join(str(self._channels.get(name, 0)) for name in layer.inputs)}
        if layer.op in ("add", "upsample_nearest"):
            return shape | {"inputs": len(layer.inputs)} | out
        return shape

    @cached_property
    def _channels(self) -> dict[str, int]:
        return {layer.name: layer.out_c for layer in self.layers}

    def memory(self, choice: Choice, n: int) -> Memory:
        """Bytes of an iteration of ``n`` images, in fp32."""
        first = self.layers[0]
        held = first.images * first.c * first.h * first.w
        held += sum(layer.out_elements for layer in self.layers if layer.op not in (*_POINTWISE, "dropout"))
        filtering = (step for step in self.steps(choice, n) if step.op in ("conv", "deconv"))
        workspace = max(map(workspace_bytes, filtering), default=0)
        return Memory.of(self.params, n * held, choice.direction, workspace)


def read_network(file: Path) -> Network:
    """The network of a table. Raises ConfigError: not a table of layers, or two layers have one name."""
    rows = read_rows(file, COLUMNS)
    layers = tuple(_layer(number, row) for number, row in enumerate(rows, 1))
    _check(layers, rows)
    return Network(layers)


def _check(layers: Sequence[Layer], rows: Sequence[Row]) -> None:
    """Refuse a repeated name, and a layer that shares weights of no earlier layer."""
    before: dict[str, Layer] = {}
    for layer, row in zip(layers, rows, strict=True):
        if layer.name in before:
            raise row.wrong("name", "two layers have this name", "rename one")
        owner = before.get(layer.shares)
        if layer.shares and (owner is None or owner.shares or _of_weights(owner) != _of_weights(layer)):
            remedy = "name the first layer that uses these weights, or leave the cell empty"
            what = "no layer before this one has weights of this shape under this name"
            raise row.wrong(SHARES, what, remedy)
        before[layer.name] = layer


def _of_weights(layer: Layer) -> tuple[object, ...]:
    """The values that determine the shape of a layer's weights."""
    features = layer.c * layer.h * layer.w if layer.op == "fc" else layer.c
    return layer.op, features, layer.out_c, layer.kernel, layer.groups, layer.bias


def _layer(number: int, row: Row) -> Layer:
    groups = row.whole("groups", 1, 1)
    kernel_h = row.whole("kernel_h", 1, 1)
    sizes = row.sizes("out_c", "out_h", "out_w") | {side: row.size(f"in_{side}") for side in ("c", "h", "w")}
    layer = Layer(
        number=number,
        name=row.text("name"),
        op=row.text("op"),
        inputs=tuple(row.text("inputs").replace("+", " ").replace(";", " ").split()),
        images=row.size("in_n"),
        **sizes,
        kernel=(kernel_h, row.whole("kernel_w", kernel_h, 1)),
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
        remedy = f"a divisor of {layer.c} and {layer.out_c}"
        raise row.wrong("groups", "channels are no multiple of the groups", remedy)
    return layer
