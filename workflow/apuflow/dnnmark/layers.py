"""The kinds of layers, one class each: its keys, its output shape, its memory and its traps.

The name of a class is that of its section in a ``.dnnmark`` file. Other modules know the kinds through the
class ``Kind`` only: a new one is a class here, with a place in ``_CLASSES``.

Source: DNNMark ``core/include/dnn_param.h`` (keys and defaults), ``layers/*_layer.h`` (shapes:
``ComputeOutputDim``, memory: ``Setup``, traps: HIP branches); MIOpen rocm-4.0.1 where named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from typing_extensions import override

from apuflow.core.gpus import gpu
from apuflow.dnnmark.key import Key, flag, keys_of, real, text, whole, window
from apuflow.dnnmark.kind import Direction, Kind, Parameters, Trap
from apuflow.dnnmark.shape import FLOAT_BYTES, Plane, Shape, started_windows, whole_windows

MOST_WORKSPACE_BYTES: Final = 7_287_183_769
"""Largest workspace that MIOpen asks for."""


@dataclass(frozen=True)
class Convolution(Kind):
    """Default ``conv_mode`` is what ``ConvolutionParam`` starts with: ``miopenConvolution``.

    On HIP ``conv_mode=convolution`` and ``transpose`` are both ``miopenTranspose`` (see ``transposed``).
    """

    title = "convolution"

    conv_mode: str = text(
        "cross_correlation",
        "plain or transposed convolution",
        ("convolution", "cross_correlation", "transpose"),
    )
    num_output: int = whole(32, 1, "output channels")
    kernel: Plane = window("kernel_size", 5, 1, "size of the filter")
    pad: Plane = window("pad", 2, 0, "zeros on each side of the image")
    stride: Plane = window("stride", 1, 1, "step of the filter")
    propagation: bool = flag(True, "whether the backward pass computes the gradient of the input")
    algo: str = text("", "an algorithm of cuDNN; no effect on HIP")
    algod: str = text("", "an algorithm of cuDNN; no effect on HIP")
    conv_fwd_pref: str = text("", "how cuDNN chooses its algorithm forward; no effect on HIP")
    conv_bwd_filter_pref: str = text("", "how cuDNN chooses that of the filter's gradient; no effect on HIP")
    conv_bwd_data_pref: str = text("", "how cuDNN chooses that of the input's gradient; no effect on HIP")

    @property
    def transposed(self) -> bool:
        """Whether HIP runs MIOpen's transposed convolution."""
        return self.conv_mode != "cross_correlation"

    @override
    def output(self, bottom: Shape) -> Shape:
        h = whole_windows(bottom.h, self.kernel.h, self.pad.h, self.stride.h)
        w = whole_windows(bottom.w, self.kernel.w, self.pad.w, self.stride.w)
        return Shape(bottom.n, self.num_output, h, w)

    @override
    def parameters(self, bottom: Shape) -> tuple[Parameters, ...]:
        return (Parameters("weights", self.num_output * bottom.c * self.kernel.h * self.kernel.w, 2),)

    @override
    def workspaces(self, bottom: Shape, top: Shape) -> tuple[int, ...]:
        """GEMM's, forward and the two backward (other algorithms may ask for more).

        Column matrix of one image: ``c*kh*kw`` x ``oh*ow``. Source: MIOpen ``src/convolution.cpp``
        (``ForwardGetWorkSpaceSizeGEMM`` and its backward twins).
        """
        columns = FLOAT_BYTES * bottom.c * self.kernel.h * self.kernel.w * top.h * top.w
        if (self.kernel, self.pad) == ((1, 1), (0, 0)):
            if self.stride == (1, 1):
                return (0, 0, 0)
            if self.stride == (2, 2):
                transposed = FLOAT_BYTES * bottom.n * (bottom.c + top.c) * top.h * top.w
                return (transposed, columns, transposed)
        return (columns, columns, columns)

    @override
    def traps(self, bottom: Shape, top: Shape, direction: Direction, gfx: str | None) -> Iterator[Trap]:
        if self.transposed and bottom.c != self.num_output:
            yield (
                "error",
                f"conv_mode={self.conv_mode} is MIOpen's transposed convolution on HIP, which needs "
                f"c ({bottom.c}) = num_output ({self.num_output}): Setup aborts before any kernel",
                "set conv_mode=cross_correlation",
            )
        elif self.transposed:
            yield (
                "warning",
                f"conv_mode={self.conv_mode} is MIOpen's transposed convolution on HIP: forward runs the "
                "kernels of a plain convolution's backward data, and the other way round",
                "set conv_mode=cross_correlation for a plain convolution",
            )
        columns = max(self.workspaces(bottom, top))
        if columns > MOST_WORKSPACE_BYTES:
            yield (
                "error",
                f"its column matrix takes {columns} bytes: above {MOST_WORKSPACE_BYTES} MIOpen asks for no "
                "workspace and the kernel writes to address 0 (convolution.cpp, MAX_MEM_ALLOC_SZ)",
                "make the image, the kernel or the number of channels smaller",
            )
        small = (self.kernel, self.pad, self.stride) == ((3, 3), (1, 1), (1, 1))
        winograd = small and all(n >= 16 and n % 2 == 0 for n in (bottom.c, self.num_output))
        if winograd and gfx is not None and gpu(gfx).winograd_workspace:
            yield (
                "warning",
                f"on {gfx} MIOpen sizes the workspace for Winograd, which DNNMark does not run, and "
                "that may be too small for it (convolution.cpp, IsWinograd3x3SupportedAndFast)",
                "use gfx801, another kernel size, or fewer than 16 channels",
            )
        if direction in ("bwd", "both") and self.propagation:
            yield (
                "warning",
                "backward data writes into the layer's input instead of its gradient (conv_layer.h)",
                "expect the same kernels; do not use the gradient's values",
            )


@dataclass(frozen=True)
class Pooling(Kind):
    """Largest or mean value of each window; part of a window counts (see ``started_windows``)."""

    title = "largest or mean value of each window"

    pool_mode: str = text("max", "largest or mean value of a window", choices=("max", "avg"))
    kernel: Plane = window("kernel_size", 3, 1, "size of the window")
    pad: Plane = window("pad", 0, 0, "padding on each side of the image")
    stride: Plane = window("stride", 2, 1, "step of the window")

    @override
    def output(self, bottom: Shape) -> Shape:
        padded = self.pad.h > 0 and self.pad.w > 0
        h = started_windows(bottom.h, self.kernel.h, self.pad.h, self.stride.h, padded)
        w = started_windows(bottom.w, self.kernel.w, self.pad.w, self.stride.w, padded)
        return Shape(bottom.n, bottom.c, h, w)

    @override
    def workspaces(self, bottom: Shape, top: Shape) -> tuple[int, ...]:
        """An 8-bit index for each output."""
        return (top.elements,)

    @override
    def traps(self, bottom: Shape, top: Shape, direction: Direction, gfx: str | None) -> Iterator[Trap]:
        if direction == "fwd" or self.pool_mode != "max":
            return
        if self.kernel.h * self.kernel.w > 255:
            yield (
                "error",
                f"max pooling backward over {self.kernel.h}x{self.kernel.w}: MIOpen's 8-bit index ends at "
                "255 (pooling_ocl.cpp)",
                "make kernel_h*kernel_w at most 255, or set pool_mode=avg",
            )
        yield (
            "warning",
            "max pooling backward reads an index that DNNMark's forward pass never saves (do_backward=false)",
            "expect the same kernel and traffic; do not use the gradient's values",
        )


@dataclass(frozen=True)
class LRN(Kind):
    """Local response normalisation: each value over ``(k + alpha * sum of squares)**beta`` of its window."""

    title = "local response normalisation"

    lrn_mode: str = text(
        "cross_channel_dim1", "across channels or within one", ("cross_channel_dim1", "within_channel")
    )
    local_size: int = whole(5, 1, "channels, or rows and columns, of the window")
    alpha: float = real(0.0001, "factor of the sum of squares")
    beta: float = real(0.75, "exponent")
    k: float = real(2.0, "what is added to the scaled sum of squares")

    @property
    def refused(self) -> bool:
        """k is 0 as a float: MIOpen refuses it (``lrn_ocl.cpp``: expect non-zero bias/K)."""
        return abs(self.k) < 7.1e-46

    @override
    def workspaces(self, bottom: Shape, top: Shape) -> tuple[int, ...]:
        """The scale of each output."""
        return (FLOAT_BYTES * top.elements,)

    @override
    def traps(self, bottom: Shape, top: Shape, direction: Direction, gfx: str | None) -> Iterator[Trap]:
        if self.refused:
            yield ("error", "k=0: MIOpen refuses it (Expect non-zero bias/K)", "set k to 1.0 or 2.0")


@dataclass(frozen=True)
class Activation(Kind):
    """A function of each value."""

    title = "a function of each value"

    activation_mode: str = text("relu", "function", choices=("sigmoid", "relu", "tanh", "soft_relu"))


@dataclass(frozen=True)
class FullyConnected(Kind):
    """A matrix product: every output is a weighted sum of all values of an image."""

    title = "fully connected layer: a matrix product"

    fills_backward = ("top_diff", "bottom")

    num_output: int = whole(4096, 1, "outputs")

    @override
    def output(self, bottom: Shape) -> Shape:
        return Shape(bottom.n, self.num_output, 1, 1)

    @override
    def parameters(self, bottom: Shape) -> tuple[Parameters, ...]:
        return (Parameters("weights", self.num_output * bottom.c * bottom.h * bottom.w, 2),)


@dataclass(frozen=True)
class Softmax(Kind):
    """Both keys are accepted and ignored on HIP: MIOpen's softmax is always accurate, over channels."""

    title = "softmax over channels"

    softmax_algo: str = text("", "cuDNN's algorithm; no effect on HIP")
    softmax_mode: str = text("", "cuDNN's choice of what is summed; no effect on HIP")

    @override
    def traps(self, bottom: Shape, top: Shape, direction: Direction, gfx: str | None) -> Iterator[Trap]:
        if self.softmax_algo not in ("", "accurate") or self.softmax_mode not in ("", "channel"):
            yield (
                "warning",
                "softmax_algo and softmax_mode have no effect on HIP: accurate, over channels, is what runs",
                "write accurate and channel",
            )


@dataclass(frozen=True)
class BatchNorm(Kind):
    """Values less their mean over the batch, in units of their standard deviation, scaled and shifted."""

    title = "batch normalisation"

    batchnorm_mode: str = text(
        "per_activation", "a mean for each activation or each channel", choices=("per_activation", "spatial")
    )
    save_intermediates: bool = flag(True, "whether the forward pass saves mean and variance")
    exp_avg_factor: float = real(1.0, "weight of the new mean in the running one")
    epsilon: float = real(1e-5, "what is added to the variance", minimum=1e-5)

    @override
    def parameters(self, bottom: Shape) -> tuple[Parameters, ...]:
        """Scale, bias, means and variances, a vector each."""
        length = bottom.c if self.batchnorm_mode == "spatial" else bottom.c * bottom.h * bottom.w
        return (Parameters("statistics", length, 8 if self.save_intermediates else 6),)

    @override
    def traps(self, bottom: Shape, top: Shape, direction: Direction, gfx: str | None) -> Iterator[Trap]:
        if not self.save_intermediates:
            yield (
                "error",
                "save_intermediates=false: DNNMark calls Get() on a null pointer (bn_layer.h) and crashes",
                "set save_intermediates=true",
            )


@dataclass(frozen=True)
class Dropout(Kind):
    """Sets values to 0 at random. DNNMark reads its section but has no kernel for HIP."""

    title = "values set to 0 at random; no kernel on HIP"

    fills_backward = ("top_diff",)

    dropout_probability: float = real(0.5, "share of values that become 0")
    random_seed: int = whole(0, 0, "of the generator")

    @override
    def traps(self, bottom: Shape, top: Shape, direction: Direction, gfx: str | None) -> Iterator[Trap]:
        yield (
            "error",
            "dropout is not implemented for HIP: no kernel runs, and DNNMark reads uninitialised sizes "
            "(dropout_layer.h), so it may crash or allocate at random",
            "leave the layer out",
        )


@dataclass(frozen=True)
class Bypass(Kind):
    """Passes its input on, by MIOpen's activation kernels; it has no keys of its own."""

    title = "its input passed on"


DATA_KEYS: Final = (
    Key(str, "", "the layer's name", name="name"),
    Key(int, None, "images of the input", 1, name="n"),
    Key(int, None, "channels of the input", 1, name="c"),
    Key(int, None, "height of the input", 1, name="h"),
    Key(int, None, "width of the input", 1, name="w"),
    Key(str, "", "name of the layer whose output is the input, or null", name="previous_layer"),
)
"""Keys of every section: the layer's name, its input dimensions and the layer before it."""

_CLASSES: Final = (Convolution, Pooling, LRN, Activation, FullyConnected, Softmax, BatchNorm, Dropout, Bypass)
KINDS: Final[Mapping[str, type[Kind]]] = MappingProxyType({kind.__name__: kind for kind in _CLASSES})
"""By the section's name."""
LAYER_KEYS: Final[Mapping[str, Mapping[str, Key]]] = MappingProxyType(
    {name: MappingProxyType({k.name: k for k in (*DATA_KEYS, *keys_of(KINDS[name]))}) for name in KINDS}
)
"""Per layer kind (the section's name): its keys by name."""
