"""The column matrices of a convolution by themselves: MIOpen's kernels around its matrix product."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from typing_extensions import override

from apuflow.dnnmark import Shape
from apuflow.miopen.launch import Buffers, Launch
from apuflow.miopen.rocm_4_0_1.convolution import Products
from apuflow.operations.filter import Window
from apuflow.operations.operation import Pass


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
    def problems(self) -> Iterator[tuple[str, str, str]]:
        yield from self.size_problems(self.columns, self.bottom.elements)

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
