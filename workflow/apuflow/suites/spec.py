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
from apuflow.dnnmark.layers import KINDS as LAYERS
from apuflow.dnnmark.shape import NoOutput, started_windows
from apuflow.operations import Layers, direct_weights
from apuflow.operations.convolution import Convolution
from apuflow.operations.deconvolution import Deconvolution
from apuflow.suites.step import OPERATION, Step

Direction: TypeAlias = Literal["fwd", "bwd"]
Shape: TypeAlias = Mapping[str, Scalar]


@dataclass(frozen=True)
class Spec:
    """An operation in one direction.

    Attributes:
        kind: section of a ``.dnnmark`` file, or kind of ``apuflow.operations``.
        keys: by name, in the order of the text.
    """

    kind: str
    direction: Direction
    keys: tuple[tuple[str, Scalar], ...]

    @property
    def text(self) -> str:
        """The text, such as ``Convolution fwd n=1 c=3 ...``."""
        return " ".join([self.kind, self.direction, *(f"{name}={_text(value)}" for name, value in self.keys)])

    @property
    def is_layer(self) -> bool:
        """Whether it is one of DNNMark's layers."""
        return self.kind in LAYERS

    def operation(self) -> operations.Operation:
        """The operation, of DNNMark's layers or beyond them.

        Raises:
            ConfigError: no such kind, or unknown keys.
        """
        keys = dict(self.keys)
        return Layers.single(self.kind, keys) if self.is_layer else operations.make(self.kind, keys)


@dataclass(frozen=True)
class Refused:
    """Why no engine runs a step."""

    why: str


@lru_cache(maxsize=65536)
def parse(text: str) -> Spec:
    """Parse ``Spec.text``. Raises ConfigError for another text."""
    kind, _, rest = text.partition(" ")
    direction, _, keys = rest.partition(" ")
    pairs = [pair.partition("=") for pair in keys.split()]
    if direction not in ("fwd", "bwd") or not all(equals for _, equals, _ in pairs):
        raise ConfigError(
            "not an operation",
            key="layer.operation",
            value=text,
            remedy="kind, fwd or bwd, then key=value: Softmax fwd n=100 c=1000",
        )
    return Spec(
        kind, "fwd" if direction == "fwd" else "bwd", tuple((name, value) for name, _, value in pairs)
    )


def spec_of(step: Step) -> Spec | Refused:
    """The specification of a step, or why no engine runs it."""
    if step.why:
        return Refused(step.why)
    if OPERATION in step.shape:
        return parse(str(step.shape[OPERATION]))
    if step.op in _NOTHING:
        return Refused(_NOTHING[step.op])
    if step.op not in _TRANSLATED:
        return Refused(f"no engine has kernels for {step.op}")
    translated = _TRANSLATED[step.op](step)
    if isinstance(translated, Refused):
        return translated
    kind, shape = translated
    own_backward = step.phase == "backward" and kind != "gemm"  # gradients of a product are products
    spec = Spec(kind, "bwd" if own_backward else "fwd", tuple(shape.items()))
    if spec.is_layer:
        return spec
    if kind not in operations.KINDS:
        return Refused(f"no engine has kernels for {step.op}")
    if spec.direction not in operations.KINDS[kind].directions:
        return Refused(f"{kind} has no kernel backward")
    return spec


def workspace_bytes(step: Step) -> int:
    """Workspace bytes of a convolution: column matrix, transposes, sums of images."""
    spec = spec_of(step)
    if isinstance(spec, Refused):
        return 0
    # An operation launches what DNNMark's layer of the same shape launches.
    made = operations.make("convolution", _grouped(step)) if spec.is_layer else spec.operation()
    sizes = made.buffer_bytes(spec.direction).items()
    return max((size for name, size in sizes if name.endswith(".workspace")), default=0)


_NOTHING: Final[Mapping[str, str]] = {
    "dropout": "DNNMark has no kernel for it on HIP",
    "sparse_gemm": "MIOpen and rocBLAS of ROCm 4.0 have no sparse product",
}


def _data(step: Step) -> dict[str, Scalar]:
    return {name: step.shape[name] for name in ("n", "c", "h", "w")}


def _convolution(step: Step) -> tuple[str, Shape] | Refused:
    """DNNMark's convolution, or MIOpen's for groups and dilation, both without bias and by MIOpen's GEMM."""
    get = step.shape
    if get.get("algorithm") == "direct" and (found := _direct(step)) is not None:
        return "convolution", found
    if int(get["groups"]) != 1 or int(get["dilation"]) != 1:
        return "convolution", _grouped(step)
    shape: dict[str, Scalar] = {
        **_data(step),
        "conv_mode": "cross_correlation",
        "num_output": get["k"],
        **_pair("kernel_size", get["kernel_h"], get["kernel_w"]),
        **_pair("pad", get["pad_h"], get["pad_w"]),
        **_pair("stride", get["stride_h"], get["stride_w"]),
    }
    if step.phase == "backward" and not int(get["data"]):
        shape["propagation"] = False
    return "Convolution", shape


def _direct(step: Step) -> Shape | None:
    """MIOpen's direct convolution; None if it has no kernel, so that the GEMM runs.

    Backward one direct gradient is enough; the other is GEMM's. A convolution that the preview refuses also
    takes the GEMM, so that all engines run the same.
    """
    backward = step.phase == "backward"
    shape: dict[str, Scalar] = {**_grouped(step), "algorithm": "direct"}
    try:
        made = operations.make("convolution", shape)
        made.passes("bwd" if backward else "fwd")
    except ConfigError:
        return None
    assert isinstance(made, Convolution)
    return None if backward and direct_weights.spills(made) else shape


def _grouped(step: Step) -> Shape:
    get = step.shape
    shape: dict[str, Scalar] = {**_data(step), "num_output": get["k"]}
    shape |= {name: get[name] for name in ("kernel_h", "kernel_w", "pad_h", "pad_w", "stride_h", "stride_w")}
    if int(get["dilation"]) != 1:
        shape |= {"dilation_h": get["dilation"], "dilation_w": get["dilation"]}
    if int(get["groups"]) != 1:
        shape["groups"] = get["groups"]
    if step.phase == "backward" and not int(get["data"]):
        shape["propagation"] = False
    return shape


def _deconvolution(step: Step) -> tuple[str, Shape] | Refused:
    """MIOpen's transposed convolution: DNNMark's keeps the channels and computes a plain one's output."""
    shape = {name: value for name, value in _grouped(step).items() if name != "propagation"}
    made = operations.make("deconvolution", shape)
    assert isinstance(made, Deconvolution)
    if made.out != (int(step.shape["out_h"]), int(step.shape["out_w"])):
        return Refused("a transposed convolution with another output than its filters reach")
    return "deconvolution", shape


def _pool(mode: str) -> Callable[[Step], tuple[str, Shape] | Refused]:
    def translate(step: Step) -> tuple[str, Shape] | Refused:
        get = {name: int(value) for name, value in step.shape.items()}
        sides = {
            side: _pooled(
                get[side],
                get[f"out_{side}"],
                get[f"kernel_{side}"],
                get[f"pad_{side}"],
                get[f"stride_{side}"],
                get["pad_h"] > 0 and get["pad_w"] > 0,
            )
            for side in ("h", "w")
        }
        if None in sides.values():
            return Refused("DNNMark's pooling cannot have this output size")
        return "Pooling", {
            "n": get["n"],
            "c": get["c"],
            "h": sides["h"] or 0,
            "w": sides["w"] or 0,
            "pool_mode": mode,
            **_pair("kernel_size", get["kernel_h"], get["kernel_w"]),
            **_pair("pad", get["pad_h"], get["pad_w"]),
            **_pair("stride", get["stride_h"], get["stride_w"]),
        }

    return translate


def _pooled(size: int, out: int, kernel: int, pad: int, stride: int, padded: bool) -> int | None:
    """The input size from which DNNMark, which counts started windows, makes ``out`` outputs.

    If the table counts whole windows, pixels that no window reads are left out.
    """
    read = (out - 1) * stride + kernel - 2 * pad
    for candidate in (size, min(size, read)):
        try:
            if candidate > 0 and started_windows(candidate, kernel, pad, stride, padded) == out:
                return candidate
        except NoOutput:
            continue
    return None


def _pair(name: str, along_h: Scalar, along_w: Scalar) -> dict[str, Scalar]:
    if along_h == along_w:
        return {name: along_h}
    return {f"{name}_h": along_h, f"{name}_w": along_w}


def _activation(mode: str) -> Callable[[Step], tuple[str, Shape] | Refused]:
    def translate(step: Step) -> tuple[str, Shape] | Refused:
        if "elements" in step.shape:
            return "Activation", {**_flat(step), "activation_mode": mode}
        return "Activation", {**_data(step), "activation_mode": mode}

    return translate


def _flat(step: Step) -> dict[str, Scalar]:
    return {"n": 1, "c": step.shape["elements"], "h": 1, "w": 1}


def _fully_connected(step: Step) -> tuple[str, Shape] | Refused:
    return "FullyConnected", {**_data(step), "num_output": step.shape["k"]}


def _batchnorm(step: Step) -> tuple[str, Shape] | Refused:
    if "elements" not in step.shape:
        return "BatchNorm", {**_data(step), "batchnorm_mode": "spatial"}
    channels = int(step.shape["params"]) // 2
    n = int(step.shape["elements"]) // max(1, channels)
    return "BatchNorm", {"n": n, "c": channels, "h": 1, "w": 1, "batchnorm_mode": "spatial"}


def _softmax(step: Step) -> tuple[str, Shape] | Refused:
    if "width" in step.shape:
        width = int(step.shape["width"])
        return "Softmax", {"n": int(step.shape["elements"]) // width, "c": width, "h": 1, "w": 1}
    return "Softmax", _data(step)


def _lrn(step: Step) -> tuple[str, Shape] | Refused:
    return "LRN", {**_data(step), "local_size": step.shape["size"]}


def _gemm(step: Step) -> tuple[str, Shape] | Refused:
    shape: dict[str, Scalar] = {name: step.shape[name] for name in ("m", "n", "k")}
    shape |= {name: True for name in ("transpose_a", "transpose_b") if int(step.shape[name])}
    if int(step.shape["batch"]) != 1:
        shape["batch"] = step.shape["batch"]
    if int(step.shape.get("beta", 0)):
        shape["beta"] = step.shape["beta"]
    return "gemm", shape


def _add(step: Step) -> tuple[str, Shape] | Refused:
    if step.phase == "backward":
        return Refused("both gradients are the one that comes in: nothing is launched")
    if int(step.shape["inputs"]) != 2:
        return Refused("a sum of more than two tensors")
    data = _data(step)
    if data["n"] == data["h"] == data["w"] == 1:  # one pixel: MIOpen would treat its channels as a bias
        data |= {"c": 1, "w": data["c"]}
    return "elementwise", {**data, "operator": "add"}


def _by_channel(step: Step) -> tuple[str, Shape] | Refused:
    return step.op, _data(step)


def _moved(step: Step) -> tuple[str, Shape] | Refused:
    if step.op == "transpose":
        return "transpose", _data(step)
    n, c, h, w = (int(step.shape[name]) for name in ("n", "c", "h", "w"))
    return step.op, {"elements": n * c * h * w}


def _columns(step: Step) -> tuple[str, Shape] | Refused:
    sides = {f"{key}_{side}": step.shape[key] for key in ("kernel", "pad", "stride") for side in ("h", "w")}
    return step.op, {**_data(step), **sides}


def _update(step: Step) -> tuple[str, Shape] | Refused:
    return "sgd", {"elements": step.shape["elements"]}


def _concat(step: Step) -> tuple[str, Shape] | Refused:
    channels = str(step.shape.get("channels", ""))
    if not channels or "0" in channels.split(","):
        return Refused("the table does not say what is put together")
    if "," not in channels:
        return Refused("one tensor alone: nothing is put together")
    return "concat", {"n": step.shape["n"], "channels": channels, "h": step.shape["h"], "w": step.shape["w"]}


def _gelu(step: Step) -> tuple[str, Shape] | Refused:
    return "gelu", {"elements": step.shape["elements"]}


def _layer_norm(step: Step) -> tuple[str, Shape] | Refused:
    """Without its own width, params are scale, shift and the product's bias, three values per element."""
    width = int(step.shape.get("width") or int(step.shape["params"]) // 3)
    if not width or int(step.shape["elements"]) % width:
        return Refused("the table does not tell the width of a row")
    return "layernorm", {"rows": int(step.shape["elements"]) // width, "width": width}


def _upsample(step: Step) -> tuple[str, Shape] | Refused:
    get = {name: int(value) for name, value in step.shape.items()}
    factor = get["out_h"] // get["h"]
    if factor not in (2, 4) or (get["out_h"], get["out_w"]) != (factor * get["h"], factor * get["w"]):
        return Refused("images are enlarged by 2 or 4 alone")
    return "upsample", {**_data(step), "factor": factor}


def _embedding(step: Step) -> tuple[str, Shape] | Refused:
    """Rows of one table with words, positions and kinds of sentences."""
    width, elements, params = (int(step.shape[name]) for name in ("width", "elements", "params"))
    if not width or elements % width or params % width:
        return Refused("the table does not tell the width of a row")
    return "embedding", {"rows": params // width, "width": width, "tokens": elements // width}


def _recurrent(step: Step) -> tuple[str, Shape] | Refused:
    """DeepBench's vanilla cell has a ReLU, TensorFlow's a hyperbolic tangent."""
    cell = step.shape["cell"]
    shape: dict[str, Scalar] = {"cell": {"vanilla": "relu", "vanilla_tanh": "tanh"}.get(str(cell), cell)}
    sizes = ("hidden", "batch", "steps", "input")
    return "recurrent", shape | {name: step.shape[name] for name in sizes if name in step.shape}


_TRANSLATED: Final[Mapping[str, Callable[[Step], tuple[str, Shape] | Refused]]] = {
    "conv": _convolution,
    "deconv": _deconvolution,
    "fc": _fully_connected,
    "batchnorm": _batchnorm,
    **dict.fromkeys(("relu", "relu6", "clipped_relu"), _activation("relu")),
    "sigmoid": _activation("sigmoid"),
    "tanh": _activation("tanh"),
    "maxpool": _pool("max"),
    "avgpool": _pool("avg"),
    "softmax": _softmax,
    "lrn": _lrn,
    "gemm": _gemm,
    "add": _add,
    "scale_shift": _by_channel,
    "bias": _by_channel,
    "copy": _moved,
    "fill": _moved,
    "transpose": _moved,
    "im2col": _columns,
    "col2im": _columns,
    "sgd": _update,
    "concat": _concat,
    **dict.fromkeys(("vanilla", "vanilla_tanh", "lstm", "gru"), _recurrent),
    "gelu": _gelu,
    "layernorm": _layer_norm,
    "embedding": _embedding,
    "upsample_nearest": _upsample,
}


def _text(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
