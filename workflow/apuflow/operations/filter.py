"""What operations that move a filter over images have in common: keys, shapes, products that compute them.

Keys stand in the order of the classes here, which is part of a point's identity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from apuflow import dnnmark
from apuflow.dnnmark import Plane, Shape
from apuflow.miopen.launch import Buffers
from apuflow.miopen.rocm_4_0_1.convolution import Products
from apuflow.operations.key import whole
from apuflow.operations.operation import Operation, Pass

INT_ELEMENTS = 2**31


def outputs(size: int, kernel: int, pad: int, stride: int, dilation: int) -> int:
    """Output pixels of a convolution along one side; 0: the filter is larger than the padded image."""
    room = size + 2 * pad - (kernel - 1) * dilation - 1
    return room // stride + 1 if room >= 0 else 0


@dataclass(frozen=True, kw_only=True)
class _Images(Operation):
    """An operation on images."""

    n: int = whole("images")
    c: int = whole("input channels")
    h: int = whole("height")
    w: int = whole("width")


@dataclass(frozen=True, kw_only=True)
class _Outputs(_Images):
    """One with output channels of its own."""

    num_output: int = whole("output channels")


@dataclass(frozen=True, kw_only=True)
class Window(_Images):
    """One that moves a window over them."""

    no_output: ClassVar[tuple[str, str, str]] = (
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
        """Height and width of the output: a convolution's."""
        return Plane(
            outputs(self.h, self.kernel_h, self.pad_h, self.stride_h, self.dilation_h),
            outputs(self.w, self.kernel_w, self.pad_w, self.stride_w, self.dilation_w),
        )

    @property
    def columns(self) -> int:
        """Elements of the column matrix of one image, all groups together."""
        return self.c * self.kernel_h * self.kernel_w * self.out.h * self.out.w

    @property
    def bottom(self) -> Shape:
        """The input."""
        return Shape(self.n, self.c, self.h, self.w)

    def size_problems(self, *buffers: int) -> Iterator[tuple[str, str, str]]:
        """No output pixel, or a buffer of more elements than a C int counts."""
        if self.out.h < 1 or self.out.w < 1:
            yield self.no_output
        elif max(buffers) >= INT_ELEMENTS:
            yield "n", "a buffer has more elements than a C int counts", "make it smaller"

    def products(
        self, image: Shape, filtered: Shape, buffers: Buffers, direction: Pass, groups: int = 1
    ) -> Products:
        """The plain convolution that MIOpen computes with, from ``image`` to ``filtered``."""
        params = dnnmark.Convolution(
            num_output=filtered.c,
            kernel=Plane(self.kernel_h, self.kernel_w),
            pad=Plane(self.pad_h, self.pad_w),
            stride=Plane(self.stride_h, self.stride_w),
        )
        layer = dnnmark.Layer(self.kind, "null", image, filtered, params)
        dilation = Plane(self.dilation_h, self.dilation_w)
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

    @override
    def problems(self) -> Iterator[tuple[str, str, str]]:
        for name in ("c", "num_output"):
            if getattr(self, name) % self.groups:
                yield name, f"{self.groups} groups do not divide it", "make it a multiple of groups"
        yield from self.size_problems(self.bottom.elements, self.top.elements, self.columns)
