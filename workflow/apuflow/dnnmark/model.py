"""A DNNMark network as values: shapes, layer parameters, layers.

Source: DNNMark ``core/include/dnn_param.h`` (parameters and their defaults), ``dnn_layer.h`` (shapes).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

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
