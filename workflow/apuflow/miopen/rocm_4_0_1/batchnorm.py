"""Batch normalisation: ``MIOpenBatchNorm{Fwd,Bwd}{TrainPerAct,PerAct,TrainSpatial,Spatial}.cl``.

Source: MIOpen ``src/ocl/batchnormocl.cpp`` (arguments, geometry), ``src/batch_norm.cpp`` (kernel arguments).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from apuflow.core.errors import NotDerivable
from apuflow.dnnmark import BatchNorm, Layer, Shape
from apuflow.miopen.launch import Arg, Buffers, Extent, Launch
from apuflow.miopen.rocm_4_0_1.common import FP32

LARGE_BATCH = 32 * 1024 * 1024
_TYPE = f"{FP32} -DMIOPEN_USE_FPMIX=0"
_SAVED = " -DMIO_SAVE_MEAN_VARIANCE=1 -DMIO_RUNNING_RESULT=1"


class Variant(NamedTuple):
    """A spatial kernel's variant with its workgroup (x, y) and LDS size (elements).

    Variant 2 spreads a channel over several workgroups and takes three kernels; the others need one.
    """

    number: int
    group_x: int
    group_y: int

    @property
    def lds(self) -> int:
        """Elements of LDS: one per work-item along the longer side."""
        return max(self.group_x, self.group_y)

    def grid(self, channels: int, plane: int) -> Extent:
        """Work-items along x, y and z for a number of channels of ``plane`` = h*w values."""
        if self.number == 2:
            return channels, -(-plane // self.group_y) * self.group_y, 1
        return channels * self.group_x, 1, 1


def forward_variant(n: int, plane: int) -> Variant:
    """Variant of the spatial forward kernel for batch ``n`` and ``plane`` = h*w."""
    number = 0 if plane <= 512 else 1 if plane > 1024 and n * plane < LARGE_BATCH else 2
    if number == 2 or (n > 768 and plane > 150):
        return Variant(2, 1, 1024)
    small = (plane < 256 and n < 256) or (plane < 100 and n <= 256)
    return Variant(number, 256 if small else 1024, 1)


def backward_variant(n: int, plane: int) -> Variant:
    """Variant of the spatial backward kernel."""
    rounded = min(64 * ((plane + 63) // 64), 1024)
    if (n * plane < LARGE_BATCH and plane > 1024) or n > 768:
        return Variant(1, 1024, 1)
    if n * plane < LARGE_BATCH and plane > 512:
        return Variant(1 if n >= 32 else 3, rounded, 1)
    if plane <= 512:
        return Variant(3, rounded, 1) if n > 64 and plane > 160 else Variant(0, 1024, 1)
    return Variant(2, 1, 1024)


def _sizes(shape: Shape) -> tuple[str, str]:
    n, c, h, w = shape
    plane = h * w
    return f" -DMIO_BN_N={n}", (
        f" -DMIO_BN_C={c} -DMIO_BN_HW={plane} -DMIO_BN_NHW={n * plane} -DMIO_BN_CHW={c * plane}"
    )


def _group(x: int, y: int) -> str:
    return f" -DMIO_BN_GRP0={x} -DMIO_BN_GRP1={y} -DMIO_BN_GRP2=1"


def forward_per_activation_arguments(shape: Shape) -> str:
    """Compile arguments of ``MIOpenBatchNormFwdTrainPerAct.cl`` for a batch of this shape."""
    batch, sizes = _sizes(shape)
    return (
        f"{_TYPE}{_SAVED}{batch}{sizes} -DMIO_BN_LDS_SIZE=256{_group(1, 256)} -DMIO_BN_NCHW={shape.elements}"
    )


def backward_per_activation_group(plane: int) -> int:
    """Work-items (along y) of a workgroup."""
    return 64 if plane <= 64 else 256


def backward_per_activation_arguments(shape: Shape) -> str:
    """Compile arguments of ``MIOpenBatchNormBwdPerAct.cl`` for a batch of this shape."""
    batch, sizes = _sizes(shape)
    plane = shape.h * shape.w
    group = backward_per_activation_group(plane)
    return (
        f"{_TYPE}{batch}{sizes} -DMIO_BN_NCHW={shape.elements} -DMIO_BN_NGRPS={-(-plane // group)}"
        f"{_group(1, group)}"
    )


def forward_spatial_arguments(shape: Shape) -> str:
    """Compile arguments of ``MIOpenBatchNormFwdTrainSpatial.cl`` for a batch of this shape."""
    variant = forward_variant(shape.n, shape.h * shape.w)
    batch, sizes = _sizes(shape)
    group = _group(variant.group_x, variant.group_y)
    lds = f" -DMIO_BN_LDS_SIZE={variant.lds} -DMIO_BN_LDSGCN_SIZE={variant.lds // 64}"
    number, total = f" -DMIO_BN_VARIANT={variant.number}", f" -DMIO_BN_NCHW={shape.elements}"
    if variant.number == 2:
        groups = f" -DMIO_BN_NGRPS={-(-shape.h * shape.w // 1024)}"
        return f"{_TYPE}{_SAVED}{batch}{sizes}{total}{groups}{lds}{number}{group}"
    return f"{_TYPE}{_SAVED}{number}{lds}{batch}{group}{group}{sizes}{total}"


def backward_spatial_arguments(shape: Shape) -> str:
    """Compile arguments of ``MIOpenBatchNormBwdSpatial.cl`` for a batch of this shape."""
    variant = backward_variant(shape.n, shape.h * shape.w)
    batch, sizes = _sizes(shape)
    groups = f" -DMIO_BN_NGRPS={-(-shape.h * shape.w // 1024)}" if variant.number == 2 else ""
    return (
        f"{_TYPE} -DMIO_BN_USESAVED=1{batch}{sizes} -DMIO_BN_NCHW={shape.elements}{groups}"
        f" -DMIO_BN_LDS_SIZE={variant.lds} -DMIO_BN_LDSGCN_SIZE={variant.lds // 64}"
        f" -DMIO_BN_VARIANT={variant.number}{_group(variant.group_x, variant.group_y)}"
    )


class _Kernel(NamedTuple):
    name: str
    args: tuple[Arg, ...]


def launches(
    layer: Layer, buffers: Buffers, direction: Literal["fwd", "bwd"], compute_units: int
) -> tuple[Launch, ...]:
    """One launch, or the three of spatial variant 2.

    Raises:
        NotDerivable: ``save_intermediates=false``, with which DNNMark crashes.
    """
    params = layer.params
    assert isinstance(params, BatchNorm)
    if not params.save_intermediates:
        raise NotDerivable(
            "batch normalisation with save_intermediates=false: DNNMark crashes before any kernel",
            key=layer.label,
            value="save_intermediates=false",
            remedy="set save_intermediates=true",
        )
    _, c, h, w = layer.input
    plane = h * w
    spatial = params.batchnorm_mode == "spatial"
    length = c if spatial else c * plane
    forward = direction == "fwd"
    grid: Extent
    if spatial:
        variant = (forward_variant if forward else backward_variant)(layer.input.n, plane)
        group, grid = (variant.group_x, variant.group_y, 1), variant.grid(c, plane)
        split = variant.number == 2
        kernels = (_forward_spatial if forward else _backward_spatial)(layer, params, buffers, length, split)
        compiled = (forward_spatial_arguments if forward else backward_spatial_arguments)(layer.input)
        program = f"MIOpenBatchNorm{'FwdTrain' if forward else 'Bwd'}Spatial.cl"
    else:
        rows = 256 if forward else backward_per_activation_group(plane)
        group, grid = (1, rows, 1), (c, -(-plane // rows) * rows, 1)
        kernels = (_forward_activation if forward else _backward_activation)(layer, params, buffers, length)
        compiled = (forward_per_activation_arguments if forward else backward_per_activation_arguments)(
            layer.input
        )
        program = f"MIOpenBatchNorm{'FwdTrain' if forward else 'Bwd'}PerAct.cl"
    return tuple(
        Launch(layer.label, layer.kind, direction, program, compiled, name, grid, group, args)
        for name, args in kernels
    )


class _Memory:
    """The layer's buffers as kernel arguments."""

    def __init__(self, layer: Layer, buffers: Buffers, length: int) -> None:
        elements = layer.input.elements
        own = buffers.own
        self.x = Arg("buffer", buffers.bottom, elements, "in", "x")
        self.y = Arg("buffer", buffers.top, elements, "out", "y")
        self.dx = Arg("buffer", buffers.bottom_diff, elements, "out", "dx")
        self.dy = Arg("buffer", buffers.top_diff, elements, "in", "dy")
        self.scale = Arg("buffer", f"{own}.scale", length, "in", "scale")
        self.bias = Arg("buffer", f"{own}.bias", length, "in", "bias")
        self.running = (
            Arg("buffer", f"{own}.running_mean", length, "inout", "running_mean"),
            Arg("buffer", f"{own}.running_variance", length, "inout", "running_variance"),
        )
        self.save = (
            Arg("buffer", f"{own}.saved_mean", length, "out", "saved_mean"),
            Arg("buffer", f"{own}.saved_inverse_variance", length, "out", "saved_inverse_variance"),
        )
        self.saved = tuple(arg._replace(role="in") for arg in self.save)
        self.gradients = (
            Arg("buffer", f"{own}.scale_diff", length, "out", "scale_diff"),
            Arg("buffer", f"{own}.bias_diff", length, "out", "bias_diff"),
        )
        self.mean_factor = Arg("float", 1.0 / (layer.input.n * layer.input.h * layer.input.w), name="1/nhw")


def _training(params: BatchNorm, memory: _Memory) -> tuple[Arg, ...]:
    return (
        Arg("double", params.exp_avg_factor, name="exp_avg_factor"),
        *memory.running,
        Arg("double", params.epsilon, name="epsilon"),
        *memory.save,
    )


def _strides(shape: Shape) -> tuple[Arg, Arg]:
    plane = shape.h * shape.w
    return Arg("uint", shape.c * plane, name="n_stride"), Arg("uint", plane, name="c_stride")


def _forward_activation(
    layer: Layer, params: BatchNorm, buffers: Buffers, length: int
) -> tuple[_Kernel, ...]:
    memory = _Memory(layer, buffers, length)
    args = (memory.x, *_strides(layer.input), memory.y, memory.scale, memory.bias)
    return (_Kernel("MIOpenBatchNormFwdTrainPerActivation", args + _training(params, memory)),)


def _backward_activation(
    layer: Layer, params: BatchNorm, buffers: Buffers, length: int
) -> tuple[_Kernel, ...]:
    memory = _Memory(layer, buffers, length)
    args = (
        memory.x,
        memory.dy,
        Arg("uint", layer.input.n, name="n"),
        *_strides(layer.input),
        memory.dx,
        memory.scale,
        *memory.gradients,
        *memory.saved,
    )
    return (_Kernel("MIOpenBatchNormBwdPerActivationSaved", args),)


def _forward_spatial(
    layer: Layer, params: BatchNorm, buffers: Buffers, length: int, split: bool
) -> tuple[_Kernel, ...]:
    name = "MIOpenBatchNormFwdTrainSpatial"
    memory = _Memory(layer, buffers, length)
    training = _training(params, memory)
    if not split:
        args = (memory.x, memory.y, memory.scale, memory.bias, memory.mean_factor)
        return (_Kernel(name, args + training),)
    stash = memory.y._replace(role="inout")
    return (
        _Kernel(f"{name}MeanVariance", (memory.x, memory.y)),
        _Kernel(f"{name}FinalMeanVariance", (stash, memory.mean_factor, *training)),
        _Kernel(f"{name}Norm", (memory.x, stash, memory.scale, memory.bias)),
    )


def _backward_spatial(
    layer: Layer, params: BatchNorm, buffers: Buffers, length: int, split: bool
) -> tuple[_Kernel, ...]:
    name = "MIOpenBatchNormBwdSpatial"
    memory = _Memory(layer, buffers, length)
    last = (memory.x, memory.dy, memory.dx, memory.scale)
    if not split:
        return (_Kernel(name, (*last, *memory.gradients, *memory.saved, memory.mean_factor)),)
    stash = memory.dx._replace(role="inout")
    gradients = tuple(arg._replace(role="in") for arg in memory.gradients)
    return (
        _Kernel(f"{name}DScaleDBias", (memory.x, memory.dy, memory.dx, *memory.saved)),
        _Kernel(f"{name}FinalDScaleDBias", (stash, *memory.gradients)),
        _Kernel(
            f"{name}DX",
            (memory.x, memory.dy, stash, memory.scale, *gradients, *memory.saved, memory.mean_factor),
        ),
    )
