"""The transposed convolution: the plain one with its passes exchanged.

Source: MIOpen rocm-4.0.1 ``src/convolution_api.cpp`` (``miopenTranspose``): forward is the plain
convolution's backward data, the gradient of the input its forward.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from apuflow import dnnmark
from apuflow.dnnmark import Plane, Shape
from apuflow.miopen.launch import Buffers, Launch
from apuflow.miopen.rocm_4_0_1.convolution import Products
from apuflow.operations.key import whole
from apuflow.operations.operation import Operation, Pass

INT_ELEMENTS = 2**31


@dataclass(frozen=True, kw_only=True)
class Deconvolution(Operation):
    """Every pixel of the input adds its filter to the output."""

    kind: ClassVar[str] = "deconvolution"
    title: ClassVar[str] = "transposed convolution, with groups and dilation"
    source: ClassVar[str] = "MIOpen's GEMM algorithm: rocBLAS' sgemm, col2im, im2col, transposes"

    n: int = whole("images")
    c: int = whole("input channels")
    h: int = whole("height")
    w: int = whole("width")
    num_output: int = whole("output channels")
    kernel_h: int = whole("height of the filter")
    kernel_w: int = whole("width of the filter")
    pad_h: int = whole("rows that are cut off above and below", 0, 0)
    pad_w: int = whole("columns that are cut off left and right", 0, 0)
    stride_h: int = whole("rows from one pixel's filter to the next", 1)
    stride_w: int = whole("columns from one pixel's filter to the next", 1)
    dilation_h: int = whole("rows from one of the filter's rows to the next", 1)
    dilation_w: int = whole("columns from one of the filter's columns to the next", 1)
    groups: int = whole("groups of channels", 1)

    @override
    def problems(self) -> Iterator[tuple[str, str, str]]:
        for name in ("c", "num_output"):
            if getattr(self, name) % self.groups:
                yield name, f"{self.groups} groups do not divide it", "make it a multiple of groups"
        if self.out.h < 1 or self.out.w < 1:
            yield "pad_h", "the padding cuts off the whole output", "make the padding smaller"
        elif max(self._bottom.elements, self._top.elements, self._columns) >= INT_ELEMENTS:
            yield "n", "a buffer has more elements than a C int counts", "make it smaller"

    @property
    def out(self) -> Plane:
        """Height and width of the output."""
        return Plane(
            (self.h - 1) * self.stride_h + (self.kernel_h - 1) * self.dilation_h + 1 - 2 * self.pad_h,
            (self.w - 1) * self.stride_w + (self.kernel_w - 1) * self.dilation_w + 1 - 2 * self.pad_w,
        )

    @property
    def _columns(self) -> int:
        return self.num_output * self.kernel_h * self.kernel_w * self.h * self.w

    @property
    def _bottom(self) -> Shape:
        return Shape(self.n, self.c, self.h, self.w)

    @property
    def _top(self) -> Shape:
        return Shape(self.n, self.num_output, *self.out)

    @override
    def macs(self, direction: Pass) -> int:
        forward = self.n * self.c * self._columns // self.groups
        return forward if direction == "fwd" else 2 * forward

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        if direction == "fwd":
            return self._plain(direction, "top", "bottom").data()
        weights = self._plain(direction, "top_diff", "bottom").weights()
        return weights + self._plain(direction, "top_diff", "bottom_diff").product(loop=2)

    def _plain(self, direction: Pass, image: str, filtered: str) -> Products:
        """The plain convolution from the output's side, on these buffers."""
        params = dnnmark.Convolution(
            num_output=self.c,
            kernel=Plane(self.kernel_h, self.kernel_w),
            pad=Plane(self.pad_h, self.pad_w),
            stride=Plane(self.stride_h, self.stride_w),
        )
        layer = dnnmark.Layer(self.kind, "null", self._top, self._bottom, params)
        x, y = f"{self.kind}.{image}", f"{self.kind}.{filtered}"
        dilation = Plane(self.dilation_h, self.dilation_w)
        return Products(layer, params, Buffers(self.kind, x, x, y, y), direction, self.groups, dilation)
