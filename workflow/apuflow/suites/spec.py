"""The specification of a step: an operation in one direction, as a line of text.

Kinds with a capital are sections of a ``.dnnmark`` file, others are of ``apuflow.operations``. Steps with
equal specifications are one point, so keys without effect in a direction are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from apuflow import operations
from apuflow.core.errors import ConfigError
from apuflow.core.scalar import Scalar
from apuflow.dnnmark.key import format_value
from apuflow.dnnmark.layers import KINDS as LAYERS
from apuflow.dnnmark.shape import windows
from apuflow.operations import Layers, direct_weights
from apuflow.operations.convolution import Convolution
from apuflow.operations.filter import Deconvolution
from apuflow.suites.step import OPERATION, Step

Direction: TypeAlias = Literal["fwd", "bwd"]
Shape: TypeAlias = Mapping[str, Scalar]


@dataclass(frozen=True)
class Spec:
    """An operation in one direction: its kind and keys, in the order of the text.

    ``of_workload``: the kind is a workload of kernels, the keys its parameters.
    """

    kind: str
    direction: Direction
    keys: tuple[tuple[str, Scalar], ...]
    of_workload: bool = False

    @property
    def text(self) -> str:
        """The text, such as ``Convolution fwd n=1 c=3 ...``."""
        keys = (f"{name}={format_value(value)}" for name, value in self.keys)
        return " ".join([self.kind, self.direction, *keys])

    @property
    def is_layer(self) -> bool:
        """Whether it is one of DNNMark's layers."""
        return self.kind in LAYERS and not self.of_workload

    def operation(self) -> operations.Operation:
        """The operation. Raises ConfigError: no such kind, or unknown keys."""
        keys = dict(self.keys)
        return Layers.single(self.kind, keys) if self.is_layer else operations.make(self.kind, keys)


@dataclass(frozen=True)
class Refused:
    """Why no engine runs a step."""

    why: str


@lru_cache(maxsize=65536)
def parse(text: str) -> Spec:
    """Parse ``Spec.text``; a kind that is no operation is a workload. Raises ConfigError for another text."""
    kind, _, rest = text.partition(" ")
    direction, _, keys = rest.partition(" ")
    pairs = [pair.partition("=") for pair in keys.split()]
    if direction not in ("fwd", "bwd") or not all(equals for _, equals, _ in pairs):
        remedy = "kind, fwd or bwd, then key=value: Softmax fwd n=100 c=1000"
        raise ConfigError("not an operation", key="layer.operation", value=text, remedy=remedy)
    of_workload = kind not in LAYERS and kind not in operations.KINDS
    named = tuple((name, _number(value) if of_workload else value) for name, _, value in pairs)
    return Spec(kind, "fwd" if direction == "fwd" else "bwd", named, of_workload)


def _number(text: str) -> Scalar:
    """A parameter of kernels: a whole number or a word."""
    return int(text) if text.isdecimal() else text


def spec_of(step: Step) -> Spec | Refused:
    """The specification of a step, or why no engine runs it."""
    if step.why:
        return Refused(step.why)
    if step.workload:
        return Spec(step.workload, "fwd", tuple(step.shape.items()), of_workload=True)
    if OPERATION in step.shape:
        return parse(str(step.shape[OPERATION]))
    translated: _Found = Refused(f"no engine has kernels for {step.op}")
    if step.op in _AS_GIVEN:
        translated = _AS_GIVEN[step.op], step.shape
    elif step.op in _TRANSLATED:
        translated = _TRANSLATED[step.op](step)
    if isinstance(translated, Refused):
        return translated
    kind, shape = translated
    own_backward = step.phase == "backward" and kind != "gemm"  # gradients of a product are products
    direction: Direction = "bwd" if own_backward else "fwd"
    if kind in operations.KINDS and direction not in operations.KINDS[kind].directions:
        return Refused(f"{kind} has no kernel backward")
    return Spec(kind, direction, tuple(shape.items()))


def workspace_bytes(step: Step) -> int:
    """Workspace bytes of a convolution: column matrix, transposes, sums of images."""
    spec = spec_of(step)
    if isinstance(spec, Refused):
        return 0
    # An operation launches what DNNMark's layer of the same shape launches.
    by_gemm = {**step.shape, "algorithm": "gemm"}
    made = operations.make("convolution", by_gemm) if spec.is_layer else spec.operation()
    sizes = made.buffer_bytes(spec.direction).items()
    return max((size for name, size in sizes if name.endswith(".workspace")), default=0)


_Found: TypeAlias = tuple[str, Shape] | Refused
"""Kind and keys of an operation, or why there is none."""


def _data(step: Step) -> dict[str, Scalar]:
    return {name: step.shape[name] for name in ("n", "c", "h", "w")}


def _whole(step: Step, *names: str) -> tuple[int, ...]:
    return tuple(int(step.shape.get(name, 0)) for name in names)


def _window(shape: Shape) -> dict[str, Scalar]:
    """DNNMark's keys of a window: one for both sides where they are equal."""
    found: dict[str, Scalar] = {}
    for name, key in (("kernel", "kernel_size"), ("pad", "pad"), ("stride", "stride")):
        h, w = shape[f"{name}_h"], shape[f"{name}_w"]
        found |= {key: h} if h == w else {f"{key}_h": h, f"{key}_w": w}
    return found


def _convolution(step: Step) -> _Found:
    """DNNMark's convolution, or MIOpen's for groups and dilation, both without bias and by MIOpen's GEMM."""
    if step.shape["algorithm"] == "direct" and _runs_direct(step):
        return "convolution", step.shape
    shape = {name: value for name, value in step.shape.items() if name != "algorithm"}
    if "groups" in shape or "dilation_h" in shape:
        return "convolution", shape
    layer = {**_data(step), "conv_mode": "cross_correlation", "num_output": shape["num_output"]}
    propagation = {"propagation": False} if "propagation" in shape else {}
    return "Convolution", {**layer, **_window(shape), **propagation}


def _runs_direct(step: Step) -> bool:
    """Whether MIOpen has a direct kernel; if not, the GEMM runs.

    Backward one direct gradient is enough; the other is GEMM's. A convolution that the preview refuses also
    takes the GEMM, so that all engines run the same.
    """
    backward = step.phase == "backward"
    try:
        made = operations.make("convolution", step.shape)
        made.passes("bwd" if backward else "fwd")
    except ConfigError:
        return False
    assert isinstance(made, Convolution)
    return not (backward and direct_weights.spills(made))


def _deconvolution(step: Step) -> _Found:
    """MIOpen's transposed convolution: DNNMark's keeps the channels and computes a plain one's output."""
    shape = {name: value for name, value in step.shape.items() if name not in ("out_h", "out_w")}
    made = operations.make("deconvolution", shape)
    assert isinstance(made, Deconvolution)
    if made.out != _whole(step, "out_h", "out_w"):
        return Refused("a transposed convolution with another output than its filters reach")
    return "deconvolution", shape


def _pooling(step: Step) -> _Found:
    h, w = _pooled(step, "h"), _pooled(step, "w")
    if h is None or w is None:
        return Refused("DNNMark's pooling cannot have this output size")
    mode = step.op.removesuffix("pool")
    return "Pooling", {**_data(step), "h": h, "w": w, "pool_mode": mode, **_window(step.shape)}


def _pooled(step: Step, side: str) -> int | None:
    """The input size from which DNNMark, which counts started windows, makes as many outputs as the table.

    If the table counts whole windows, pixels that no window reads are left out.
    """
    names = (side, f"out_{side}", f"kernel_{side}", f"pad_{side}", f"stride_{side}")
    size, out, kernel, pad, stride = _whole(step, *names)
    padded = all(_whole(step, "pad_h", "pad_w"))
    read = (out - 1) * stride + kernel - 2 * pad
    for candidate in (size, min(size, read)):
        found = windows(candidate, kernel, pad, stride, started=True, padded=padded)
        if candidate > 0 and found == out:
            return candidate
    return None


def _activation(step: Step) -> _Found:
    flat = {"n": 1, "c": step.shape["elements"], "h": 1, "w": 1} if "elements" in step.shape else _data(step)
    mode = "relu" if step.op in ("relu6", "clipped_relu") else step.op
    return "Activation", {**flat, "activation_mode": mode}


def _batchnorm(step: Step) -> _Found:
    if "elements" not in step.shape:
        return "BatchNorm", {**_data(step), "batchnorm_mode": "spatial"}
    elements, params = _whole(step, "elements", "params")
    n = elements // max(1, params // 2)
    return "BatchNorm", {"n": n, "c": params // 2, "h": 1, "w": 1, "batchnorm_mode": "spatial"}


def _softmax(step: Step) -> _Found:
    if "width" not in step.shape:
        return "Softmax", _data(step)
    elements, width = _whole(step, "elements", "width")
    return "Softmax", {"n": elements // width, "c": width, "h": 1, "w": 1}


def _add(step: Step) -> _Found:
    if step.phase == "backward":
        return Refused("both gradients are the one that comes in: nothing is launched")
    if step.shape["inputs"] != 2:
        return Refused("a sum of more than two tensors")
    data = _data(step)
    if data["n"] == data["h"] == data["w"] == 1:  # one pixel: MIOpen would treat its channels as a bias
        data |= {"c": 1, "w": data["c"]}
    return "elementwise", {**data, "operator": "add"}


def _concat(step: Step) -> _Found:
    channels = str(step.shape.get("channels", ""))
    if not channels or "0" in channels.split(","):
        return Refused("the table does not say what is put together")
    if "," not in channels:
        return Refused("one tensor alone: nothing is put together")
    return "concat", {name: step.shape[name] for name in ("n", "channels", "h", "w")}


def _layer_norm(step: Step) -> _Found:
    """Without its own width, params are scale, shift and the product's bias, three values per element."""
    elements, params, given = _whole(step, "elements", "params", "width")
    width = given or params // 3
    if not width or elements % width:
        return Refused("the table does not tell the width of a row")
    return "layernorm", {"rows": elements // width, "width": width}


def _upsample(step: Step) -> _Found:
    h, w, out_h, out_w = _whole(step, "h", "w", "out_h", "out_w")
    factor = out_h // h
    if factor not in (2, 4) or (out_h, out_w) != (factor * h, factor * w):
        return Refused("images are enlarged by 2 or 4 alone")
    return "upsample", {**_data(step), "factor": factor}


def _embedding(step: Step) -> _Found:
    """Rows of one table with words, positions and kinds of sentences."""
    elements, params, width = _whole(step, "elements", "params", "width")
    if not width or elements % width or params % width:
        return Refused("the table does not tell the width of a row")
    return "embedding", {"rows": params // width, "width": width, "tokens": elements // width}


_AS_GIVEN: Final[Mapping[str, str]] = {
    "fc": "FullyConnected",
    "lrn": "LRN",
    **dict.fromkeys(("vanilla", "vanilla_tanh", "lstm", "gru"), "recurrent"),
    **{
        op: op
        for op in ("gemm", "scale_shift", "bias", "copy", "fill", "transpose", "im2col", "col2im", "sgd")
    },
}
"""The operation that a step runs as whose shape has its keys."""
_TRANSLATED: Final[Mapping[str, Callable[[Step], _Found]]] = {
    "conv": _convolution,
    "deconv": _deconvolution,
    "batchnorm": _batchnorm,
    **dict.fromkeys(("relu", "relu6", "clipped_relu", "sigmoid", "tanh"), _activation),
    **dict.fromkeys(("maxpool", "avgpool"), _pooling),
    "softmax": _softmax,
    "add": _add,
    "concat": _concat,
    "gelu": lambda step: ("gelu", {"elements": step.shape["elements"]}),
    "layernorm": _layer_norm,
    "embedding": _embedding,
    "upsample_nearest": _upsample,
    "dropout": lambda _: Refused("DNNMark has no kernel for it on HIP"),
}
