"""Matrix products, and what MIOpen's tensor kernels do: element-wise operators, biases, copies, fills.

Source: MIOpen rocm-4.0.1 ``src/ocl/tensorocl.cpp`` (``OpTensor4d``, ``CopyTensor``, ``SetTensor``),
``src/ocl/batchnormocl.cpp`` (``BatchNormForwardInference``), ``src/ocl/utilocl.cpp`` (transposes),
``src/convolution_api.cpp`` (``miopenConvolutionForwardBias``), ``src/ocl/convolutionocl.cpp``
(``ConvolutionBackwardBias``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from typing_extensions import override

from apuflow.dnnmark import Plane
from apuflow.miopen.launch import Arg, Gemm, Launch, defines
from apuflow.miopen.rocm_4_0_1.common import FP32, FP32_ALL, floats, ints, read_unit
from apuflow.miopen.rocm_4_0_1.gemm import GROUP, Transpose, product
from apuflow.operations.key import choice, flag, real, whole, words
from apuflow.operations.launching import HIP_COPY, View, copy, fill, reads, scalars
from apuflow.operations.operation import Operation, Pass, Wrong, too_large

MOST_GROUPS = 4096
FEW_GROUPS = 640
"""Below so many workgroups MIOpen adds a bias with one for each channel of each image, not of all images."""
READ = 4
"""Gradients that a work-item of a bias' gradient reads at once."""


@dataclass(frozen=True, kw_only=True)
class Product(Operation):
    """``C = alpha op(A) op(B) + beta C``, column major, packed; a batch has its matrices one after the other.

    C is read where beta is not 0, which DeepBench's rule (alpha = beta = 1) asks for.
    """

    kind: ClassVar[str] = "gemm"
    title: ClassVar[str] = "matrix product, any transposes, alpha, beta, batch"
    source: ClassVar[str] = "rocBLAS' sgemm, or what the engine has in its place"
    directions: ClassVar[tuple[Pass, ...]] = ("fwd",)

    m: int = whole("rows of C")
    n: int = whole("columns of C")
    k: int = whole("columns of op(A), rows of op(B)")
    transpose_a: bool = flag("op(A) is the transpose of A", False)
    transpose_b: bool = flag("op(B) is the transpose of B", False)
    alpha: float = real("factor of the product", 1.0)
    beta: float = real("factor of what C held", 0.0)
    batch: int = whole("products, each with matrices of its own", 1)

    @override
    def problems(self) -> Iterator[Wrong]:
        yield from too_large("batch", self.batch * max(self._sizes))

    @property
    def _sizes(self) -> tuple[int, int, int]:
        """Elements of a matrix A, B and C."""
        return self.m * self.k, self.k * self.n, self.m * self.n

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        m, n, k = self.m, self.n, self.k
        a, b, c = self._sizes
        first, second = self.buffer("a", self.batch * a, "in"), self.buffer("b", self.batch * b, "in")
        result = self.buffer("c", self.batch * c, "inout" if self.beta else "out")
        lda, ldb = k if self.transpose_a else m, n if self.transpose_b else k
        sizes = (m, n, k, self.transpose_a, self.transpose_b, self.batch, lda, ldb, m)
        gemm = Gemm(*sizes, stride_a=a, stride_b=b, stride_c=c, beta=self.beta, alpha=self.alpha)
        return (product(self.kind, self.kind, direction, (first, second, result), gemm),)


@dataclass(frozen=True, kw_only=True)
class _Packed(Operation):
    directions: ClassVar[tuple[Pass, ...]] = ("fwd",)

    elements: int = whole("32-bit floats")


@dataclass(frozen=True, kw_only=True)
class _Tensor(Operation):
    directions: ClassVar[tuple[Pass, ...]] = ("fwd",)

    n: int = whole("images")
    c: int = whole("channels")
    h: int = whole("height", 1)
    w: int = whole("width", 1)

    @property
    def area(self) -> int:
        """Pixels of a channel."""
        return self.h * self.w

    @property
    def elements(self) -> int:
        """Of the tensor."""
        return self.n * self.c * self.area

    @override
    def problems(self) -> Iterator[Wrong]:
        yield from too_large("n", self.elements)


@dataclass(frozen=True, kw_only=True)
class Elementwise(_Tensor):
    """``c = a operator b`` of two tensors of one shape (residual connections, gates)."""

    kind: ClassVar[str] = "elementwise"
    title: ClassVar[str] = "sum, product, smaller or larger of two tensors, element by element"
    source: ClassVar[str] = "MIOpen: Op4dTensorLite"

    operator: str = choice("what is done to two elements", "add", ("add", "mul", "min", "max"))

    @override
    def problems(self) -> Iterator[Wrong]:
        yield from super().problems()
        if self.n == self.h == self.w == 1 < self.c:
            yield "c", "MIOpen takes a tensor of 1xCx1x1 for a bias", "give its elements as w"

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        elements, unit = self.elements, read_unit(self.elements)
        work = elements // unit
        args = (
            *(self.buffer("a", elements, "in"), self.buffer("b", elements, "in")),
            self.buffer("c", elements, "out"),
            *floats(alpha0=1.0, alpha1=1.0, beta=0.0),
            *scalars("long", a_offset=0, b_offset=0, c_offset=0, total_work=work),
            *ints(use_beta=0),
        )
        arguments = (
            f" -DMIOPEN_TYPE=float -DMAX_NUM_WG={MOST_GROUPS}{FP32_ALL}"
            f" -DMIOPEN_TENSOR_OP=miopen{self.operator.capitalize()} -DUSE_4D_TENSOR_LITE{reads(unit)}"
        )
        grid = (min(MOST_GROUPS, -(-work // GROUP)) * GROUP, 1, 1)
        program, kernel = "MIOpenTensorKernels.cl", "Op4dTensorLite"
        return (self.launch(direction, program, arguments, kernel, grid, GROUP, args),)


@dataclass(frozen=True, kw_only=True)
class Bias(_Tensor):
    """``y = y + b`` with a value for each channel; backward the sum of each channel's gradients."""

    kind: ClassVar[str] = "bias"
    title: ClassVar[str] = "a value for each channel added to all its pixels"
    source: ClassVar[str] = "MIOpen: OpTensorFwdBias, MIOpenConvBwdB"
    directions: ClassVar[tuple[Pass, ...]] = ("fwd", "bwd")

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        return (self._forward() if direction == "fwd" else self._backward(),)

    def _forward(self) -> Launch:
        area, groups = self.area, self.c
        work = self.n * area
        by_image = groups < FEW_GROUPS and work > GROUP
        if by_image:
            work, groups = area, groups * self.n
        y = self.buffer("y", self.elements, "in")
        args = (
            y,
            self.buffer("b", self.c, "in"),
            *ints(channels=self.c),
            y._replace(role="inout"),
            *ints(images=self.n, image_stride=self.c * area, channel_stride=area, work=work),
            *floats(alpha0=1.0, alpha1=1.0, beta=0.0),
            *scalars("long", a_offset=0, b_offset=0, c_offset=0),
            *ints(groups=groups, by_image=int(by_image)),
        )
        arguments = (
            f" -DMIOPEN_TYPE=float -DMAX_NUM_WG={MOST_GROUPS}{FP32_ALL}"
            " -DMIOPEN_TENSOR_OP=miopenAdd -DUSE_FWD_BIAS"
        )
        grid = (min(groups, MOST_GROUPS) * GROUP, 1, 1)
        return self.launch("fwd", "MIOpenTensorKernels.cl", arguments, "OpTensorFwdBias", grid, GROUP, args)

    def _backward(self) -> Launch:
        args = self.buffer("dy", self.elements, "in"), self.buffer("db", self.c, "out")
        values = {
            "CONVBWD_GROUP_SZ0": GROUP,
            "CONVBWD_GROUP_SZ1": 1,
            "CONVBWDB_LCL_MEMSZ": GROUP,
            "CONVBWDB_UNITSIZE": READ,
            "OUT_BATCH_SZ": self.n,
            "OUT_CHANNEL_STRIDE": self.area,
            "OUT_BATCH_STRIDE": self.c * self.area,
            "WK_SIZE": -(-self.area // READ),
            "N_PIX_OFF": self.area % READ,
        }
        program, arguments, grid = "MIOpenConvBwdBias.cl", defines(values) + FP32_ALL, (GROUP, self.c, 1)
        return self.launch("bwd", program, arguments, "MIOpenConvBwdB", grid, GROUP, args)


@dataclass(frozen=True, kw_only=True)
class Concat(Operation):
    """Tensors joined along their channels: a copy of each; backward each takes its part of the gradient."""

    kind: ClassVar[str] = "concat"
    title: ClassVar[str] = "tensors joined along their channels, backward taken apart"
    source: ClassVar[str] = "MIOpen: SubTensorOpWithSubTensor1d or 2d, once per input"

    n: int = whole("images")
    channels: str = words("channels of the inputs, as 64,128,32")
    h: int = whole("height")
    w: int = whole("width")

    @property
    def parts(self) -> tuple[int, ...]:
        """Channels of each input."""
        return tuple(int(part) for part in self.channels.split(","))

    @override
    def problems(self) -> Iterator[Wrong]:
        if not re.fullmatch(r"[1-9]\d{0,8}(,[1-9]\d{0,8})+", self.channels):
            yield "channels", "two or more whole numbers are needed", "write them as 64,128,32"
        else:
            yield from too_large("n", self.n * sum(self.parts) * self.h * self.w)

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        start, found = 0, []
        total = sum(self.parts) * self.h * self.w
        forward = direction == "fwd"
        suffix = "" if forward else "_diff"
        for number, channels in enumerate(self.parts):
            size = channels * self.h * self.w
            one = View(f"concat.bottom{number}{suffix}", self.n * size, 0, size)
            joined = View(f"concat.top{suffix}", self.n * total, start, total)
            note = HIP_COPY if self.n == 1 and start == 0 else ""
            source, target = (one, joined) if forward else (joined, one)
            found.append(copy(self, direction, source, target, (self.n, size), note))
            start += size
        return tuple(found)


@dataclass(frozen=True, kw_only=True)
class ScaleShift(_Tensor):
    """Frozen batch normalisation: ``scale (x - mean) / sqrt(variance + epsilon) + bias`` per channel."""

    kind: ClassVar[str] = "scale_shift"
    title: ClassVar[str] = "batch normalisation with frozen statistics, per channel (inference)"
    source: ClassVar[str] = "MIOpen: MIOpenBatchNormFwdInferSpatialEst"

    epsilon: float = real("what is added to the variance", 1e-5, 1e-10)

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        area = self.area
        args = (
            self.buffer("bottom", self.elements, "in", "x"),
            self.buffer("top", self.elements, "out", "y"),
            *(self.buffer(f"{part}", self.c, "in") for part in ("mean", "variance", "scale", "bias")),
            Arg("double", self.epsilon, name="epsilon"),
            *scalars("uint", batch=self.n, image=area, image_stride=self.c * area),
        )
        arguments = f"{FP32} -DMIOPEN_USE_FPMIX=0 -DMIO_BN_GRP0=1 -DMIO_BN_GRP1={GROUP} -DMIO_BN_GRP2=1"
        program = "MIOpenBatchNormFwdInferSpatial"
        grid = (self.c, GROUP * -(-area // GROUP), 1)
        made = self.launch(direction, f"{program}.cl", arguments, f"{program}Est", grid, GROUP, args)
        return (replace(made, workgroup=(1, GROUP, 1)),)


@dataclass(frozen=True, kw_only=True)
class Copy(_Packed):
    """A packed buffer copied."""

    kind: ClassVar[str] = "copy"
    title: ClassVar[str] = "a buffer copied"
    source: ClassVar[str] = "MIOpen: SubTensorOpWithSubTensor1d, in place of hipMemcpy"

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        size = self.elements
        source, target = View("copy.source", size, 0, size), View("copy.target", size, 0, size)
        return (copy(self, direction, source, target, (1, size), HIP_COPY),)


@dataclass(frozen=True, kw_only=True)
class Fill(_Packed):
    """Every element of a buffer set to one value."""

    kind: ClassVar[str] = "fill"
    title: ClassVar[str] = "a buffer filled with one value"
    source: ClassVar[str] = "MIOpen: SubTensorOpWithScalar1d"

    value: float = real("what is written", 0.0)

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        return (fill(self, direction, self.buffer("target", self.elements, "out"), self.value),)


@dataclass(frozen=True, kw_only=True)
class Exchange(_Tensor):
    """Images and channels exchanged: NCHW becomes CNHW."""

    kind: ClassVar[str] = "transpose"
    title: ClassVar[str] = "images and channels exchanged, NCHW to CNHW"
    source: ClassVar[str] = "MIOpen: transpose_NCHW2CNHW_opt"

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        plane = Plane(self.h, self.w)
        plan = Transpose(True, self.n, self.c, plane, plane, 0, 0, Plane(1, 1))
        size = self.elements
        ends = self.buffer("source", size, "in"), self.buffer("target", size, "out")
        program = "MIOpenUtilKernels4.cl"
        return (self.launch(direction, program, plan.arguments, plan.kernel, plan.grid, GROUP, ends),)
