"""A DNNMark network as values: shapes, layer parameters, layers.

Source: DNNMark ``core/include/dnn_param.h`` (parameters and their defaults), ``dnn_layer.h`` (shapes).

The keys of each section of a ``.dnnmark`` file.

Source: DNNMark ``core/include/dnn_config_keywords.h`` and the ``Setup*Param`` functions of ``dnn_param.h``.

Output shapes of layers: the ``ComputeOutputDim`` functions of DNNMark's ``layers/*_layer.h``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, TypeAlias

Direction: TypeAlias = Literal["fwd", "bwd", "both"]
RunMode: TypeAlias = Literal["none", "standalone", "composed"]
Kind: TypeAlias = Literal[
    "Convolution",
    "Pooling",
    "LRN",
    "Activation",
    "FullyConnected",
    "Softmax",
    "BatchNorm",
    "Dropout",
    "Bypass",
]
FIRST = "null"
"""The ``previous_layer`` of a layer that owns its input."""


class Shape(NamedTuple):
    """Dimensions of a packed NCHW tensor of float32."""

    n: int
    c: int
    h: int
    w: int

    @property
    def elements(self) -> int:
        return self.n * self.c * self.h * self.w

    def __str__(self) -> str:
        return f"{self.n}x{self.c}x{self.h}x{self.w}"


@dataclass(frozen=True)
class Convolution:
    """Default ``conv_mode`` is what ``ConvolutionParam`` starts with: ``miopenConvolution``.

    On HIP ``conv_mode=convolution`` and ``transpose`` are both ``miopenTranspose`` (see ``transposed``).
    """

    num_output: int = 32
    kernel_h: int = 5
    kernel_w: int = 5
    pad_h: int = 2
    pad_w: int = 2
    stride_h: int = 1
    stride_w: int = 1
    conv_mode: str = "cross_correlation"
    propagation: bool = True
    algo: str = ""
    algod: str = ""
    conv_fwd_pref: str = ""
    conv_bwd_filter_pref: str = ""
    conv_bwd_data_pref: str = ""

    @property
    def transposed(self) -> bool:
        return self.conv_mode != "cross_correlation"


@dataclass(frozen=True)
class Pooling:
    pool_mode: str = "max"
    kernel_h: int = 3
    kernel_w: int = 3
    pad_h: int = 0
    pad_w: int = 0
    stride_h: int = 2
    stride_w: int = 2


@dataclass(frozen=True)
class LRN:
    lrn_mode: str = "cross_channel_dim1"
    local_size: int = 5
    alpha: float = 0.0001
    beta: float = 0.75
    k: float = 2.0

    @property
    def refused(self) -> bool:
        """k is 0 as a float: MIOpen refuses it (``lrn_ocl.cpp``: expect non-zero bias/K)."""
        return abs(self.k) < 7.1e-46


@dataclass(frozen=True)
class Activation:
    activation_mode: str = "relu"


@dataclass(frozen=True)
class FullyConnected:
    num_output: int = 4096


@dataclass(frozen=True)
class Softmax:
    """Both keys are accepted and ignored on HIP: MIOpen's softmax is always accurate, over channels."""

    softmax_algo: str = ""
    softmax_mode: str = ""


@dataclass(frozen=True)
class BatchNorm:
    batchnorm_mode: str = "per_activation"
    save_intermediates: bool = True
    exp_avg_factor: float = 1.0
    epsilon: float = 1e-5


@dataclass(frozen=True)
class Dropout:
    dropout_probability: float = 0.5
    random_seed: int = 0


@dataclass(frozen=True)
class Bypass:
    pass


Params: TypeAlias = (
    Convolution | Pooling | LRN | Activation | FullyConnected | Softmax | BatchNorm | Dropout | Bypass
)
PARAMS: dict[str, type[Params]] = {
    kind.__name__: kind
    for kind in (
        Convolution,
        Pooling,
        LRN,
        Activation,
        FullyConnected,
        Softmax,
        BatchNorm,
        Dropout,
        Bypass,
    )
}


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

    ``previous`` is the name as written ("" when the key is absent). ``remarks`` holds what the parser saw
    and DNNMark passes over in silence, such as a key given twice.
    """

    kind: Kind
    name: str
    previous: str
    input: Shape
    output: Shape
    params: Params
    remarks: tuple[Problem, ...] = field(default=(), compare=False, repr=False)


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

    def write(self) -> str:
        """The canonical text: parsing it gives this network again."""
        from apuflow.dnnmark.writer import write

        return write(self)


Value: TypeAlias = int | float | bool | str
INT_MAX: Final = 2**31 - 1


@dataclass(frozen=True)
class Key:
    """One key: its type, its default in DNNMark and what it sets.

    Args:
        name: as written in the file.
        type: Python type of the value.
        default: DNNMark's value when the key is absent; None when there is none.
        choices: the only values that DNNMark knows (empty: any).
        minimum: smallest value that makes sense.
        fields: attributes of the layer's parameters that the key sets (two for ``kernel_size``).
    """

    name: str
    type: type[int] | type[float] | type[bool] | type[str]
    default: Value | None
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    fields: tuple[str, ...] = ()

    def read(self, text: str) -> Value:
        """The value that ``text`` stands for.

        Raises:
            ValueError: with the reason, when DNNMark would abort or silently read something else.
        """
        if self.type is int:
            return self._integer(text)
        if self.type is float:
            return self._number(text)
        if self.type is bool:
            if text not in ("true", "false"):
                raise ValueError("write true or false; DNNMark keeps its default for anything else")
            return text == "true"
        if self.choices and text not in self.choices:
            raise ValueError(f"one of {', '.join(self.choices)}")
        return text

    def _integer(self, text: str) -> int:
        if not re.fullmatch(r"[+-]?[0-9]{1,20}", text):
            raise ValueError("a whole number; DNNMark reads only leading digits (atoi), else 0")
        value = int(text)
        if self.minimum is not None and value < self.minimum:
            raise ValueError(f"at least {self.minimum:.0f}")
        if abs(value) > INT_MAX:
            raise ValueError(f"at most {INT_MAX} (a C int)")
        return value

    def _number(self, text: str) -> float:
        if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", text):
            raise ValueError("a number; DNNMark reads only its leading part (atof), else 0")
        value = float(text)
        if not math.isfinite(value):
            raise ValueError("a finite number")
        if self.minimum is not None and value < self.minimum:
            raise ValueError(f"at least {self.minimum:g}")
        return value


def _text(name: str, default: str | None = "", *, choices: tuple[str, ...] = ()) -> Key:
    return Key(name, str, default, choices, fields=(name,))


def _whole(name: str, default: int | None, minimum: int, *fields: str) -> Key:
    return Key(name, int, default, minimum=minimum, fields=fields or (name,))


def _real(name: str, default: float, minimum: float | None = None) -> Key:
    return Key(name, float, default, minimum=minimum, fields=(name,))


def _window(kernel: int, pad: int, stride: int) -> tuple[Key, ...]:
    """Window keys: the plain key sets both axes, a later ``_h`` or ``_w`` one of them."""
    keys = []
    for name, stem, default, minimum in (
        ("kernel_size", "kernel", kernel, 1),
        ("pad", "pad", pad, 0),
        ("stride", "stride", stride, 1),
    ):
        keys.append(_whole(name, default, minimum, f"{stem}_h", f"{stem}_w"))
        keys.append(_whole(f"{name}_h", default, minimum, f"{stem}_h"))
        keys.append(_whole(f"{name}_w", default, minimum, f"{stem}_w"))
    return tuple(keys)


DATA_KEYS: Final = (
    _text("name"),
    *(_whole(name, None, 1) for name in "nchw"),
    _text("previous_layer"),
)
"""Keys of every section: the layer's name, its input dimensions and the layer before it."""

DIMENSIONS: Final = ("n", "c", "h", "w")

_OWN: Final[Mapping[str, tuple[Key, ...]]] = {
    "Convolution": (
        _text("conv_mode", "cross_correlation", choices=("convolution", "cross_correlation", "transpose")),
        _whole("num_output", 32, 1),
        *_window(5, 2, 1),
        Key("propagation", bool, True, fields=("propagation",)),
        *(
            _text(name)
            for name in ("algo", "algod", "conv_fwd_pref", "conv_bwd_filter_pref", "conv_bwd_data_pref")
        ),
    ),
    "Pooling": (_text("pool_mode", "max", choices=("max", "avg")), *_window(3, 0, 2)),
    "LRN": (
        _text("lrn_mode", "cross_channel_dim1", choices=("cross_channel_dim1", "within_channel")),
        _whole("local_size", 5, 1),
        _real("alpha", 0.0001),
        _real("beta", 0.75),
        _real("k", 2.0),
    ),
    "Activation": (_text("activation_mode", "relu", choices=("sigmoid", "relu", "tanh", "soft_relu")),),
    "FullyConnected": (_whole("num_output", 4096, 1),),
    "Softmax": (_text("softmax_algo"), _text("softmax_mode")),
    "BatchNorm": (
        _text("batchnorm_mode", "per_activation", choices=("per_activation", "spatial")),
        Key("save_intermediates", bool, True, fields=("save_intermediates",)),
        _real("exp_avg_factor", 1.0),
        _real("epsilon", 1e-5, 1e-5),
    ),
    "Dropout": (_real("dropout_probability", 0.5), _whole("random_seed", 0, 0)),
    "Bypass": (),
}

LAYER_KEYS: Final[Mapping[str, Mapping[str, Key]]] = MappingProxyType(
    {kind: MappingProxyType({key.name: key for key in (*DATA_KEYS, *own)}) for kind, own in _OWN.items()}
)
"""Per layer kind (the section's name): its keys by name."""

RUN_MODES: Final = ("none", "standalone", "composed")


class NoOutput(ValueError):
    """The window does not fit into the padded input."""


def output_shape(params: Params, shape: Shape) -> Shape:
    """Shape of a layer's output.

    Raises:
        NoOutput: no output element is left.
    """
    if isinstance(params, Convolution):
        return Shape(
            shape.n,
            params.num_output,
            _floor_window(shape.h, params.kernel_h, params.pad_h, params.stride_h),
            _floor_window(shape.w, params.kernel_w, params.pad_w, params.stride_w),
        )
    if isinstance(params, Pooling):
        padded = params.pad_h > 0 and params.pad_w > 0
        return Shape(
            shape.n,
            shape.c,
            _ceil_window(shape.h, params.kernel_h, params.pad_h, params.stride_h, padded),
            _ceil_window(shape.w, params.kernel_w, params.pad_w, params.stride_w, padded),
        )
    if isinstance(params, FullyConnected):
        return Shape(shape.n, params.num_output, 1, 1)
    return shape


def _floor_window(size: int, kernel: int, pad: int, stride: int) -> int:
    """Convolution: only whole windows count."""
    room = size + 2 * pad - kernel
    if room < 0:
        raise NoOutput(f"a window of {kernel} in {size} with padding {pad}")
    return room // stride + 1


def _ceil_window(size: int, kernel: int, pad: int, stride: int, padded: bool) -> int:
    """Pooling: a part of a window counts, but none that starts behind the padded input (Caffe's rule)."""
    out = -((kernel - size - 2 * pad) // stride) + 1
    if padded and (out - 1) * stride >= size + pad:
        out -= 1
    if out < 1:
        raise NoOutput(f"a window of {kernel} in {size} with padding {pad} and stride {stride}")
    return out
