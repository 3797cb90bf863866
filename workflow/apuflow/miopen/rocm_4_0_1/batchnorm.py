"""Batch normalisation: ``MIOpenBatchNorm{Fwd,Bwd}{TrainPerAct,PerAct,TrainSpatial,Spatial}.cl``.

Source: MIOpen ``src/ocl/batchnormocl.cpp`` (arguments, geometry), ``src/batch_norm.cpp`` (kernel arguments).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from apuflow.core.errors import NotDerivable
from apuflow.dnnmark import BatchNorm, Shape
from apuflow.miopen.launch import Arg, Extent, Launch, LayerPass
from apuflow.miopen.rocm_4_0_1.common import FP32

LARGE_BATCH = 32 * 1024 * 1024
_TYPE = f"{FP32} -DMIOPEN_USE_FPMIX=0"
_SAVED = " -DMIO_SAVE_MEAN_VARIANCE=1 -DMIO_RUNNING_RESULT=1"


class Variant(NamedTuple):
    """A spatial kernel's variant (of others 0) with its workgroup.

    Variant 2 spreads a channel over several workgroups and takes three kernels; the others need one.
    """

    number: int
    group_x: int
    group_y: int

    def grid(self, channels: int, plane: int) -> Extent:
        """Work-items along x, y and z for a number of channels of ``plane`` = h*w values."""
        return channels * self.group_x, self.group_y * self.groups(plane) if self.group_y > 1 else 1, 1

    def groups(self, plane: int) -> int:
        """Workgroups along y."""
        return -(-plane // self.group_y)


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


def arguments(shape: Shape, spatial: bool, forward: bool, variant: Variant) -> str:
    """Compile arguments for a batch of this shape; each program has its own order."""
    n, c, h, w = shape
    plane = h * w
    number, x, y = variant
    batch, total = f" -DMIO_BN_N={n}", f" -DMIO_BN_NCHW={shape.elements}"
    sizes = f" -DMIO_BN_C={c} -DMIO_BN_HW={plane} -DMIO_BN_NHW={n * plane} -DMIO_BN_CHW={c * plane}"
    group = f" -DMIO_BN_GRP0={x} -DMIO_BN_GRP1={y} -DMIO_BN_GRP2=1"
    groups = f" -DMIO_BN_NGRPS={variant.groups(plane)}" if number == 2 or not spatial else ""
    if not spatial and forward:
        return f"{_TYPE}{_SAVED}{batch}{sizes} -DMIO_BN_LDS_SIZE={y}{group}{total}"
    if not spatial:
        return f"{_TYPE}{batch}{sizes}{total}{groups}{group}"
    chosen, lds = f" -DMIO_BN_VARIANT={number}", max(x, y)
    memory = f" -DMIO_BN_LDS_SIZE={lds} -DMIO_BN_LDSGCN_SIZE={lds // 64}"
    if not forward:
        return f"{_TYPE} -DMIO_BN_USESAVED=1{batch}{sizes}{total}{groups}{memory}{chosen}{group}"
    if number == 2:
        return f"{_TYPE}{_SAVED}{batch}{sizes}{total}{groups}{memory}{chosen}{group}"
    return f"{_TYPE}{_SAVED}{chosen}{memory}{batch}{group}{group}{sizes}{total}"


def launches(work: LayerPass) -> tuple[Launch, ...]:
    """One launch, or the three of spatial variant 2.

    Raises:
        NotDerivable: ``save_intermediates=false``, with which DNNMark crashes.
    """
    layer, params = work.layer, work.layer.params
    assert isinstance(params, BatchNorm)
    if not params.save_intermediates:
        raise NotDerivable(
            "batch normalisation with save_intermediates=false: DNNMark crashes before any kernel",
            key=layer.label,
            value="save_intermediates=false",
            remedy="set save_intermediates=true",
        )
    n, c, h, w = layer.input
    plane = h * w
    spatial = params.batchnorm_mode == "spatial"
    if spatial:
        variant = (forward_variant if work.forward else backward_variant)(n, plane)
    else:
        variant = Variant(0, 1, 256 if work.forward or plane > 64 else 64)
    compiled = arguments(layer.input, spatial, work.forward, variant)
    program = f"MIOpenBatchNorm{'FwdTrain' if work.forward else 'Bwd'}{'Spatial' if spatial else 'PerAct'}.cl"
    grid, group = variant.grid(c, plane), (variant.group_x, variant.group_y, 1)
    kernels = (_forward if work.forward else _backward)(work, params, spatial, variant.number == 2)
    return tuple(work.launch(program, compiled, name, grid, group, args) for name, args in kernels)


def _length(work: LayerPass, spatial: bool) -> int:
    """Elements of each statistic."""
    shape = work.layer.input
    return shape.c if spatial else shape.c * shape.h * shape.w


def _strides(shape: Shape) -> tuple[Arg, Arg]:
    plane = shape.h * shape.w
    return Arg("uint", shape.c * plane, name="n_stride"), Arg("uint", plane, name="c_stride")


def _mean_factor(shape: Shape) -> Arg:
    return Arg("float", 1.0 / (shape.n * shape.h * shape.w), name="1/nhw")


def _forward(
    work: LayerPass, params: BatchNorm, spatial: bool, split: bool
) -> Iterator[tuple[str, tuple[Arg, ...]]]:
    """Kernels with their arguments."""
    x, y, shape, length = work.x, work.y, work.layer.input, _length(work, spatial)
    scale, bias = (work.own(name, length, "in") for name in ("scale", "bias"))
    training = (
        Arg("double", params.exp_avg_factor, name="exp_avg_factor"),
        *(work.own(name, length, "inout") for name in ("running_mean", "running_variance")),
        Arg("double", params.epsilon, name="epsilon"),
        *(work.own(name, length, "out") for name in ("saved_mean", "saved_inverse_variance")),
    )
    name, stash = "MIOpenBatchNormFwdTrainSpatial", y._replace(role="inout")
    if not spatial:
        yield "MIOpenBatchNormFwdTrainPerActivation", (x, *_strides(shape), y, scale, bias, *training)
    elif not split:
        yield name, (x, y, scale, bias, _mean_factor(shape), *training)
    else:
        yield f"{name}MeanVariance", (x, y)
        yield f"{name}FinalMeanVariance", (stash, _mean_factor(shape), *training)
        yield f"{name}Norm", (x, stash, scale, bias)


def _backward(
    work: LayerPass, params: BatchNorm, spatial: bool, split: bool
) -> Iterator[tuple[str, tuple[Arg, ...]]]:
    """Kernels with their arguments."""
    x, dy, dx, shape, length = work.x, work.dy, work.dx, work.layer.input, _length(work, spatial)
    scale = work.own("scale", length, "in")
    gradients = tuple(work.own(name, length, "out") for name in ("scale_diff", "bias_diff"))
    saved = tuple(work.own(name, length, "in") for name in ("saved_mean", "saved_inverse_variance"))
    name, stash = "MIOpenBatchNormBwdSpatial", dx._replace(role="inout")
    if not spatial:
        sizes = Arg("uint", shape.n, name="n"), *_strides(shape)
        yield "MIOpenBatchNormBwdPerActivationSaved", (x, dy, *sizes, dx, scale, *gradients, *saved)
    elif not split:
        yield name, (x, dy, dx, scale, *gradients, *saved, _mean_factor(shape))
    else:
        known = tuple(arg._replace(role="in") for arg in gradients)
        yield f"{name}DScaleDBias", (x, dy, dx, *saved)
        yield f"{name}FinalDScaleDBias", (stash, *gradients)
        yield f"{name}DX", (x, dy, stash, scale, *known, *saved, _mean_factor(shape))
