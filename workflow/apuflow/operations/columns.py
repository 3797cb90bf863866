"""The column matrices of a convolution by themselves: MIOpen's kernels around its matrix product."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from typing_extensions import override

from apuflow import dnnmark
from apuflow.dnnmark import Plane, Shape
from apuflow.miopen.launch import Buffers, Launch
from apuflow.miopen.rocm_4_0_1.convolution import Products
from apuflow.operations.filter import INT_ELEMENTS, NO_OUTPUT, outputs
from apuflow.operations.key import whole
from apuflow.operations.operation import Operation, Pass


@dataclass(frozen=True, kw_only=True)
class Im2col(Operation):
    """Of each image a row for every tap of the filter, a column for every output pixel.

    The images' matrices lie in the same memory, one after the other, as in a convolution.
    """

    kind: ClassVar[str] = "im2col"
    title: ClassVar[str] = "column matrix of a convolution, image by image"
    source: ClassVar[str] = "MIOpen: Im2d2Col"
    directions: ClassVar[tuple[Pass, ...]] = ("fwd",)

    n: int = whole("images")
    c: int = whole("channels")
    h: int = whole("height")
    w: int = whole("width")
    kernel_h: int = whole("height of the filter")
    kernel_w: int = whole("width of the filter")
    pad_h: int = whole("zeros above and below", 0, 0)
    pad_w: int = whole("zeros left and right", 0, 0)
    stride_h: int = whole("step down", 1)
    stride_w: int = whole("step across", 1)
    dilation_h: int = whole("rows from one of the filter's rows to the next", 1)
    dilation_w: int = whole("columns from one of the filter's columns to the next", 1)

    @property
    def out(self) -> Plane:
        """Height and width of the convolution's output."""
        return Plane(
            outputs(self.h, self.kernel_h, self.pad_h, self.stride_h, self.dilation_h),
            outputs(self.w, self.kernel_w, self.pad_w, self.stride_w, self.dilation_w),
        )

    @override
    def problems(self) -> Iterator[tuple[str, str, str]]:
        columns = self.c * self.kernel_h * self.kernel_w * self.out.h * self.out.w
        if self.out.h < 1 or self.out.w < 1:
            yield NO_OUTPUT
        elif max(columns, self.n * self.c * self.h * self.w) >= INT_ELEMENTS:
            yield "n", "a buffer has more elements than a C int counts", "make it smaller"

    @override
    def macs(self, direction: Pass) -> int:
        return 0

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        params = dnnmark.Convolution(
            num_output=1,
            kernel=Plane(self.kernel_h, self.kernel_w),
            pad=Plane(self.pad_h, self.pad_w),
            stride=Plane(self.stride_h, self.stride_w),
        )
        image, out = Shape(self.n, self.c, self.h, self.w), Shape(self.n, 1, *self.out)
        layer = dnnmark.Layer(self.kind, "null", image, out, params)
        buffers = Buffers(self.kind, *(f"{self.kind}.{part}" for part in ("image", "image", "out", "out")))
        dilation = Plane(self.dilation_h, self.dilation_w)
        launch = self._of(Products(layer, params, buffers, direction, dilation=dilation))
        columns = f"{self.kind}.columns"
        args = (arg._replace(value=columns) if arg.name == "workspace" else arg for arg in launch.args)
        return (replace(launch, args=tuple(args)),)

    def _of(self, products: Products) -> Launch:
        return products.im2col(loop=1)


@dataclass(frozen=True, kw_only=True)
class Col2im(Im2col):
    """Each image as the sum of the columns that its pixels are in."""

    kind: ClassVar[str] = "col2im"
    title: ClassVar[str] = "images as sums of the column matrix, image by image"
    source: ClassVar[str] = "MIOpen: Col2Im2d"

    @override
    def _of(self, products: Products) -> Launch:
        return products.col2im(loop=1)
