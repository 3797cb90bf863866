"""What MIOpen's tensor kernels do between layers: element-wise operators, concatenation, copies, fills.

Source: MIOpen rocm-4.0.1 ``src/ocl/tensorocl.cpp`` (``OpTensor4d``, ``CopyTensor``, ``SetTensor``),
``src/ocl/batchnormocl.cpp`` (``BatchNormForwardInference``), ``src/ocl/utilocl.cpp`` (transposes).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from apuflow.dnnmark import Plane
from apuflow.miopen.launch import Arg, Launch
from apuflow.miopen.rocm_4_0_1.common import FP32, FP32_ALL, floats, read_unit
from apuflow.miopen.rocm_4_0_1.gemm import GROUP, Transpose
from apuflow.operations.key import choice, real, whole, words
from apuflow.operations.launching import HIP_COPY, buffer, copy, fill, launch, scalars
from apuflow.operations.operation import Operation, Pass

INT_ELEMENTS = 2**31
MOST_GROUPS = 4096


@dataclass(frozen=True, kw_only=True)
class _Packed(Operation):
    """One on a packed buffer."""

    directions: ClassVar[tuple[Pass, ...]] = ("fwd",)

    elements: int = whole("32-bit floats")


@dataclass(frozen=True, kw_only=True)
class Tensor(Operation):
    """One on an NCHW shape."""

    directions: ClassVar[tuple[Pass, ...]] = ("fwd",)

    n: int = whole("images")
    c: int = whole("channels")
    h: int = whole("height", 1)
    w: int = whole("width", 1)

    @property
    def elements(self) -> int:
        """Of the tensor."""
        return self.n * self.c * self.h * self.w

    @override
    def problems(self) -> Iterator[tuple[str, str, str]]:
        if self.elements >= INT_ELEMENTS:
            yield (
                "n",
                f"a tensor of {self.elements} elements: the kernels count in a C int",
                "make it smaller",
            )


@dataclass(frozen=True, kw_only=True)
class Elementwise(Tensor):
    """``c = a operator b`` of two tensors of one shape (residual connections, gates)."""

    kind: ClassVar[str] = "elementwise"
    title: ClassVar[str] = "sum, product, smaller or larger of two tensors, element by element"
    source: ClassVar[str] = "MIOpen: Op4dTensorLite"

    operator: str = choice("what is done to two elements", "add", ("add", "mul", "min", "max"))

    @override
    def problems(self) -> Iterator[tuple[str, str, str]]:
        yield from super().problems()
        if self.n == self.h == self.w == 1 < self.c:
            yield "c", "MIOpen takes a tensor of 1xCx1x1 for a bias", "give its elements as w"

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        elements, unit = self.elements, read_unit(self.elements)
        work = elements // unit
        groups = min(MOST_GROUPS, -(-work // GROUP))
        read = "float" if unit == 1 else f"float{unit}"
        args = (
            buffer("elementwise.a", elements, "in"),
            buffer("elementwise.b", elements, "in"),
            buffer("elementwise.c", elements, "out"),
            *floats(alpha0=1.0, alpha1=1.0, beta=0.0),
            *scalars("long", a_offset=0, b_offset=0, c_offset=0, total_work=work),
            Arg("int", 0, name="use_beta"),
        )
        arguments = (
            f" -DMIOPEN_TYPE=float -DMAX_NUM_WG={MOST_GROUPS}{FP32_ALL}"
            f" -DMIOPEN_TENSOR_OP=miopen{self.operator.capitalize()} -DUSE_4D_TENSOR_LITE"
            f" -DRD_BLCK={unit} -DREAD_TYPE={read}"
        )
        grid, group = (groups * GROUP, 1, 1), (GROUP, 1, 1)
        return (
            launch(self, direction, "MIOpenTensorKernels.cl", arguments, "Op4dTensorLite", grid, group, args),
        )


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
    def problems(self) -> Iterator[tuple[str, str, str]]:
        if not re.fullmatch(r"[1-9]\d{0,8}(,[1-9]\d{0,8})+", self.channels):
            yield "channels", "two or more whole numbers are needed", "write them as 64,128,32"
        elif self.n * sum(self.parts) * self.h * self.w >= INT_ELEMENTS:
            yield "n", "its output has more elements than a C int counts", "make it smaller"

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        area, total, start, found = self.h * self.w, sum(self.parts), 0, []
        forward = direction == "fwd"
        for number, channels in enumerate(self.parts):
            size = channels * area
            suffix = "" if forward else "_diff"
            whole_name, name = f"concat.top{suffix}", f"concat.bottom{number}{suffix}"
            one = (buffer(name, self.n * size, "in" if forward else "out"), 0, size)
            all_ = (
                buffer(whole_name, self.n * total * area, "out" if forward else "in"),
                start,
                total * area,
            )
            note = HIP_COPY if self.n == 1 and start == 0 else ""
            source, target = (one, all_) if forward else (all_, one)
            found.append(copy(self, direction, source, target, (self.n, size), note))
            start += size
        return tuple(found)


@dataclass(frozen=True, kw_only=True)
class ScaleShift(Tensor):
    """Frozen batch normalisation: ``scale (x - mean) / sqrt(variance + epsilon) + bias`` per channel."""

    kind: ClassVar[str] = "scale_shift"
    title: ClassVar[str] = "batch normalisation with frozen statistics, per channel (inference)"
    source: ClassVar[str] = "MIOpen: MIOpenBatchNormFwdInferSpatialEst"

    epsilon: float = real("what is added to the variance", 1e-5, 1e-10)

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        area = self.h * self.w
        args = (
            buffer("scale_shift.bottom", self.elements, "in", "x"),
            buffer("scale_shift.top", self.elements, "out", "y"),
            *(buffer(f"scale_shift.{part}", self.c, "in") for part in ("mean", "variance", "scale", "bias")),
            Arg("double", self.epsilon, name="epsilon"),
            *scalars("uint", batch=self.n, image=area, image_stride=self.c * area),
        )
        arguments = f"{FP32} -DMIOPEN_USE_FPMIX=0 -DMIO_BN_GRP0=1 -DMIO_BN_GRP1={GROUP} -DMIO_BN_GRP2=1"
        kernel = "MIOpenBatchNormFwdInferSpatialEst"
        program = kernel.removesuffix("Est") + ".cl"
        grid, group = (self.c, GROUP * -(-area // GROUP), 1), (1, GROUP, 1)
        return (launch(self, direction, program, arguments, kernel, grid, group, args),)


@dataclass(frozen=True, kw_only=True)
class Copy(_Packed):
    """A packed buffer copied."""

    kind: ClassVar[str] = "copy"
    title: ClassVar[str] = "a buffer copied"
    source: ClassVar[str] = "MIOpen: SubTensorOpWithSubTensor1d, in place of hipMemcpy"

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        source = (buffer("copy.source", self.elements, "in"), 0, self.elements)
        target = (buffer("copy.target", self.elements, "out"), 0, self.elements)
        return (copy(self, direction, source, target, (1, self.elements), HIP_COPY),)


@dataclass(frozen=True, kw_only=True)
class Fill(_Packed):
    """Every element of a buffer set to one value."""

    kind: ClassVar[str] = "fill"
    title: ClassVar[str] = "a buffer filled with one value"
    source: ClassVar[str] = "MIOpen: SubTensorOpWithScalar1d"

    value: float = real("what is written", 0.0)

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        return (fill(self, direction, buffer("fill.target", self.elements, "out"), self.value),)


@dataclass(frozen=True, kw_only=True)
class Exchange(Tensor):
    """Images and channels exchanged: NCHW becomes CNHW."""

    kind: ClassVar[str] = "transpose"
    title: ClassVar[str] = "images and channels exchanged, NCHW to CNHW"
    source: ClassVar[str] = "MIOpen: transpose_NCHW2CNHW_opt"

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        plane = Plane(self.h, self.w)
        plan = Transpose(True, self.n, self.c, plane, plane, 0, 0, Plane(1, 1))
        args = (
            buffer("transpose.source", self.elements, "in"),
            buffer("transpose.target", self.elements, "out"),
        )
        program, arguments = "MIOpenUtilKernels4.cl", plan.arguments
        return (launch(self, direction, program, arguments, plan.kernel, plan.grid, (GROUP, 1, 1), args),)
