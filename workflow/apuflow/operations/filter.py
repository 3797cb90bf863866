"""Operations that move a filter over images: keys, shapes, and the matrix products that compute them.

Keys stand in the order of the classes here, which is part of a point's identity. Source of the transposed
convolution: MIOpen rocm-4.0.1 ``src/convolution_api.cpp`` (``miopenTranspose``): forward is the plain
convolution's backward data, the gradient of the input its forward.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from typing_extensions import override

from apuflow import dnnmark
from apuflow.dnnmark import Plane, Shape
from apuflow.dnnmark.shape import windows
from apuflow.miopen.launch import Buffers, Launch
from apuflow.miopen.rocm_4_0_1.convolution import Products
from apuflow.operations.key import whole
from apuflow.operations.operation import Operation, Pass, Wrong, too_large


@dataclass(frozen=True, kw_only=True)
class _Images(Operation):
    n: int = whole("images")
    c: int = whole("input channels")
    h: int = whole("height")
    w: int = whole("width")


@dataclass(frozen=True, kw_only=True)
class _Outputs(_Images):
    num_output: int = whole("output channels")


@dataclass(frozen=True, kw_only=True)
class Window(_Images):
    """One that moves a window over them."""

    no_output: ClassVar[Wrong] = (
        "kernel_h",
        "the filter is larger than the padded image",
        "make the filter smaller",
    )
    """What ``problems`` says where no output pixel is left."""

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
        """Height and width of the output: a convolution's; 0 where the filter is larger than the image."""
        spans = (self.kernel_h - 1) * self.dilation_h + 1, (self.kernel_w - 1) * self.dilation_w + 1
        h = windows(self.h, spans[0], self.pad_h, self.stride_h, started=False)
        w = windows(self.w, spans[1], self.pad_w, self.stride_w, started=False)
        return Plane(h or 0, w or 0)

    @property
    def columns(self) -> int:
        """Elements of the column matrix of one image, all groups together."""
        return self.c * self.kernel_h * self.kernel_w * self.out.h * self.out.w

    @property
    def bottom(self) -> Shape:
        """The input."""
        return Shape(self.n, self.c, self.h, self.w)

    @override
    def problems(self) -> Iterator[Wrong]:
        if self.out.h < 1 or self.out.w < 1:
            yield self.no_output
        else:
            yield from too_large("n", self.largest_buffer)

    @property
    def largest_buffer(self) -> int:
        """Its elements."""
        return max(self.columns, self.bottom.elements)

    def products(
        self, image: Shape, filtered: Shape, buffers: Buffers, direction: Pass, groups: int = 1
    ) -> Products:
        """The plain convolution that MIOpen computes with, from ``image`` to ``filtered``."""
        kernel, pad = Plane(self.kernel_h, self.kernel_w), Plane(self.pad_h, self.pad_w)
        stride, dilation = Plane(self.stride_h, self.stride_w), Plane(self.dilation_h, self.dilation_w)
        params = dnnmark.Convolution(num_output=filtered.c, kernel=kernel, pad=pad, stride=stride)
        layer = dnnmark.Layer(self.kind, "null", image, filtered, params)
        return Products(layer, params, buffers, direction, groups, dilation)


@dataclass(frozen=True, kw_only=True)
class Filter(Window, _Outputs):
    """One whose window is a learnt filter: a convolution or a transposed one."""

    groups: int = whole("groups of channels", 1)

    @property
    def top(self) -> Shape:
        """The output."""
        return Shape(self.n, self.num_output, *self.out)

    @property
    def weights(self) -> int:
        """Elements of the filter."""
        return self.c * self.num_output * self.kernel_h * self.kernel_w // self.groups

    @property
    @override
    def largest_buffer(self) -> int:
        return max(super().largest_buffer, self.top.elements)

    @override
    def problems(self) -> Iterator[Wrong]:
        for name in ("c", "num_output"):
            if getattr(self, name) % self.groups:
                yield name, f"{self.groups} groups do not divide it", "make it a multiple of groups"
        yield from super().problems()


@dataclass(frozen=True, kw_only=True)
class Deconvolution(Filter):
    """Every pixel of the input adds its filter to the output."""

    kind: ClassVar[str] = "deconvolution"
    title: ClassVar[str] = "transposed convolution, with groups and dilation"
    source: ClassVar[str] = "MIOpen's GEMM algorithm: rocBLAS' sgemm, col2im, im2col, transposes"
    no_output = "pad_h", "the padding cuts off the whole output", "make the padding smaller"

    pad_h: int = whole("rows that are cut off above and below", 0, 0)
    pad_w: int = whole("columns that are cut off left and right", 0, 0)
    stride_h: int = whole("rows from one pixel's filter to the next", 1)
    stride_w: int = whole("columns from one pixel's filter to the next", 1)

    @property
    @override
    def out(self) -> Plane:
        return Plane(
            (self.h - 1) * self.stride_h + (self.kernel_h - 1) * self.dilation_h + 1 - 2 * self.pad_h,
            (self.w - 1) * self.stride_w + (self.kernel_w - 1) * self.dilation_w + 1 - 2 * self.pad_w,
        )

    @property
    @override
    def columns(self) -> int:
        return self.num_output * self.kernel_h * self.kernel_w * self.h * self.w

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        if direction == "fwd":
            return self._plain(direction, "top", "bottom").data()
        weights = self._plain(direction, "top_diff", "bottom").weights()
        return weights + self._plain(direction, "top_diff", "bottom_diff").product(loop=2)

    def _plain(self, direction: Pass, image: str, filtered: str) -> Products:
        """The plain convolution from the output's side, on these buffers."""
        x, y = f"{self.kind}.{image}", f"{self.kind}.{filtered}"
        buffers = Buffers(self.kind, x, x, y, y)
        return self.products(self.top, self.bottom, buffers, direction, self.groups)


@dataclass(frozen=True, kw_only=True)
class Im2col(Window):
    """Of each image a row for every tap of the filter, a column for every output pixel.

    The images' matrices lie in the same memory, one after the other, as in a convolution.
    """

    kind: ClassVar[str] = "im2col"
    title: ClassVar[str] = "column matrix of a convolution, image by image"
    source: ClassVar[str] = "MIOpen: Im2d2Col"
    directions: ClassVar[tuple[Pass, ...]] = ("fwd",)

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        buffers = Buffers(self.kind, *(f"{self.kind}.{part}" for part in ("image", "image", "out", "out")))
        filtered = Shape(self.n, 1, *self.out)
        launch = self._of(self.products(self.bottom, filtered, buffers, direction))
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
