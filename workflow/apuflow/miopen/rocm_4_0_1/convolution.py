"""Convolution by matrix products (the only algorithm that DNNMark's HIP port runs).

A transposed convolution (``conv_mode=convolution`` or ``transpose`` on HIP) swaps the passes of the plain
one: its forward is the plain backward data. MIOpen accepts it only if c = num_output.

Source: MIOpen ``src/ocl/convolutionocl.cpp`` (``ConvFwdGemm``, ``ConvBwdGemm``, ``BackwardWeightsGemm``),
``src/convolution_api.cpp`` (transposed), ``src/gemm_v2.cpp`` (products).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from apuflow.core.errors import NotDerivable
from apuflow.dnnmark import Convolution, Layer, Plane, Shape
from apuflow.miopen.launch import Arg, Buffers, Extent, Gemm, Launch, LayerPass, Role
from apuflow.miopen.rocm_4_0_1.common import floats, ints
from apuflow.miopen.rocm_4_0_1.gemm import (
    COL2IM_ARGUMENTS,
    GROUP,
    Transpose,
    im2col_arguments,
    im2col_plan,
    product,
    set_arguments,
    set_items,
)

UNIT = Plane(1, 1)


def launches(work: LayerPass) -> tuple[Launch, ...]:
    """Forward; or backward weights, then backward data unless ``propagation=false``.

    Raises:
        NotDerivable: a transposed convolution with c != num_output, which MIOpen refuses.
    """
    layer, params = work.layer, work.layer.params
    assert isinstance(params, Convolution)
    if params.transposed and layer.input.c != params.num_output:
        raise NotDerivable(
            f"conv_mode={params.conv_mode} is a transposed convolution on HIP and needs c = num_output: "
            "DNNMark aborts before any kernel",
            key=layer.label,
            value=f"c={layer.input.c}, num_output={params.num_output}",
            remedy="set conv_mode=cross_correlation",
        )
    plain = Products(layer, params, work.buffers, work.direction)
    if work.forward:
        return plain.data() if params.transposed else plain.product()
    weights = plain.weights()
    if not params.propagation:
        return weights
    return weights + (plain.product(loop=2) if params.transposed else plain.data(loop=2))


class Products:
    """A layer as the plain convolution that MIOpen computes: image x, filtered plane y.

    Args:
        groups: groups of channels; an image's groups form one batch of products.
        dilation: pixels from one tap of the filter to the next.
    """

    def __init__(
        self,
        layer: Layer,
        params: Convolution,
        buffers: Buffers,
        direction: Literal["fwd", "bwd"],
        groups: int = 1,
        dilation: Plane = UNIT,
    ) -> None:
        self.layer, self.direction, self.own = layer, direction, buffers.own
        x: tuple[str, Shape] = (buffers.bottom, layer.input)
        y: tuple[str, Shape] = (buffers.top if direction == "fwd" else buffers.top_diff, layer.output)
        (self.x_buffer, self.x), (self.y_buffer, self.y) = (y, x) if params.transposed else (x, y)
        self.k, self.c = params.num_output, layer.input.c
        self.kernel, self.pad, self.stride = params.kernel, params.pad, params.stride
        self.groups, self.dilation = groups, dilation
        self.image, self.out = Plane(self.x.h, self.x.w), Plane(self.y.h, self.y.w)
        self.taps = self.c * self.kernel.h * self.kernel.w
        self.area, self.pixels = self.x.h * self.x.w, self.y.h * self.y.w
        self.pointwise = self.kernel == UNIT and self.pad == (0, 0)

    # products ------------------------------------------------------------------------------------------
    def product(self, loop: int = 1) -> tuple[Launch, ...]:
        """y = w * x: MIOpen's forward."""
        if self.pointwise and self.stride == UNIT:
            return self._by_image(self._x("in"), self._y("out"), False, loop)
        if self.pointwise and self.stride == (2, 2):
            size = self.x.n * self.c * self.pixels
            there, back = self._strided(True, 0), self._plain(False, size)
            return self._transposed(there, self._x("in"), back, self._y("out"), False)
        gemm = self._by_group(self.pixels, self.k, self.taps)._replace(step_c=self.k * self.pixels)
        memory = self._columns("in"), self._weights("in"), self._y("out")
        return self.im2col(loop), self._gemm(memory, gemm, self.x.n, loop)

    def weights(self, loop: int = 1) -> tuple[Launch, ...]:
        """dw = dy * x, summed over the batch: MIOpen's backward weights."""
        n, k = self.x.n, self.k
        dw = self._weights("inout", "weights_diff")
        clear = self._set(dw._replace(role="out", name="dw"))
        if self.pointwise and self.stride == UNIT:
            gemm = self._by_group(self.c, k, self.area, transpose_a=True)
            gemm = gemm._replace(beta=1.0, step_a=self.c * self.area, step_b=k * self.area)
            return clear, self._gemm((self._x("in"), self._y("in"), dw), gemm, n, loop)
        gemm = self._by_group(self.taps, k, self.pixels, transpose_a=True)
        gemm = gemm._replace(beta=1.0, step_b=k * self.pixels)
        return clear, self.im2col(loop), self._gemm((self._columns("in"), self._y("in"), dw), gemm, n, loop)

    def data(self, loop: int = 1) -> tuple[Launch, ...]:
        """dx = w^T * dy: MIOpen's backward data, which DNNMark writes to the layer's input."""
        if self.pointwise and self.stride == UNIT:
            return self._by_image(self._y("in"), self._x("out"), True, loop)
        if self.pointwise and self.stride == (2, 2):
            size = self.x.n * self.k * self.pixels
            there, back = self._plain(True, 0), self._strided(False, size)
            spread = self._transposed(there, self._y("in"), back, self._x("inout"), True)
            return self._set(self._x("out")), *spread
        gemm = self._by_group(self.pixels, self.taps, self.k, transpose_b=True)
        memory = self._y("in"), self._weights("in"), self._columns("out")
        by_image = self._gemm(memory, gemm._replace(step_a=self.k * self.pixels), self.x.n, loop)
        return by_image, self.col2im(loop)

    def _by_image(self, source: Arg, target: Arg, turned: bool, loop: int) -> tuple[Launch, ...]:
        """1x1: a product per image, those of all images in one batch unless there are groups."""
        n, area = self.x.n, self.area
        read, written = (self.k, self.c) if turned else (self.c, self.k)
        memory = source, self._weights("in"), target
        if self.groups > 1:
            gemm = self._by_group(area, written, read, transpose_b=turned)
            return (self._gemm(memory, gemm._replace(step_a=read * area, step_c=written * area), n, loop),)
        gemm = Gemm.packed(area, written, read, False, turned, n)
        return (self._gemm(memory, gemm._replace(stride_a=read * area, stride_c=written * area)),)

    def _transposed(
        self, first: Transpose, source: Arg, last: Transpose, target: Arg, turned: bool
    ) -> tuple[Launch, ...]:
        """1x1 of stride 2: one product of all images between transposes."""
        pixels = self.x.n * self.pixels
        read, written = (self.k, self.c) if turned else (self.c, self.k)
        gemm = self._by_group(pixels, written, read, transpose_b=turned)._replace(offset_c=read * pixels)
        both = self._workspace((self.c + self.k) * pixels, "inout")
        made, given = both._replace(role="out"), both._replace(role="in")
        return (
            self._transpose(first, source, made),
            self._gemm((given, self._weights("in"), both), gemm),
            self._transpose(last, given, target),
        )

    def _by_group(
        self, m: int, n: int, k: int, *, transpose_a: bool = False, transpose_b: bool = False
    ) -> Gemm:
        """The product of all channels, or one per group (``CreateGemmDescriptorGroupConv...``).

        ``m``, ``n`` and ``k`` are those of all channels; those over channels are divided.
        """
        groups = self.groups
        m, n, k = (m // groups, n // groups, k) if transpose_a else (m, n // groups, k // groups)
        gemm = Gemm.packed(m, n, k, transpose_a, transpose_b, groups)
        return gemm if groups == 1 else gemm._replace(stride_a=m * k, stride_b=n * k, stride_c=m * n)

    # buffers -------------------------------------------------------------------------------------------
    def _x(self, role: Role) -> Arg:
        return Arg("buffer", self.x_buffer, self.x.elements, role, "x")

    def _y(self, role: Role) -> Arg:
        return Arg("buffer", self.y_buffer, self.y.elements, role, "y")

    def _weights(self, role: Role, which: str = "weights") -> Arg:
        return Arg("buffer", f"{self.own}.{which}", self.k * self.taps // self.groups, role, which)

    def _workspace(self, elements: int, role: Role) -> Arg:
        return Arg("buffer", f"{self.own}.workspace", elements, role, "workspace")

    def _columns(self, role: Role) -> Arg:
        return self._workspace(self.taps * self.pixels, role)

    # launches ------------------------------------------------------------------------------------------
    def _gemm(self, memory: tuple[Arg, Arg, Arg], gemm: Gemm, count: int = 1, loop: int = 0) -> Launch:
        return product(self.layer.label, self.layer.kind, self.direction, memory, gemm, count, loop)

    def _launch(
        self, program: str, arguments: str, kernel: str, grid: Extent, args: tuple[Arg, ...], loop: int = 0
    ) -> Launch:
        """A launch, or one for each image in a loop."""
        layer, count = self.layer, self.x.n if loop else 1
        made = Launch(
            layer.label, layer.kind, self.direction, program, arguments, kernel, grid, (GROUP, 1, 1), args
        )
        return replace(made, count=count, loop=loop)

    def _window(self) -> tuple[Arg, ...]:
        """Stride, padding and dilation."""
        return (
            *ints(pad_h=self.pad.h, pad_w=self.pad.w, stride_h=self.stride.h, stride_w=self.stride.w),
            *ints(dilation_h=self.dilation.h, dilation_w=self.dilation.w),
        )

    def im2col(self, loop: int) -> Launch:
        """Columns of every image."""
        spread = Plane((self.kernel.h - 1) * self.dilation.h + 1, (self.kernel.w - 1) * self.dilation.w + 1)
        plan = im2col_plan(self.c, self.out, spread, self.stride)
        size = self.c * self.area
        args = (
            *ints(image_elements=size),
            self._x("in"),
            Arg("int", 0, name="image_offset", step=size),
            *ints(image_h=self.x.h, image_w=self.x.w, kernel_h=self.kernel.h, kernel_w=self.kernel.w),
            *ints(column_h=self.y.h, column_w=self.y.w),
            *self._window(),
            self._columns("out"),
        )
        compiled = im2col_arguments(self.c, plan, self.stride)
        grid = (GROUP * max(1, self.c // plan.channels) * plan.blocks, 1, 1)
        return self._launch("MIOpenIm2d2Col.cl", compiled, "Im2d2Col", grid, args, loop)

    def col2im(self, loop: int) -> Launch:
        """Every image of its columns."""
        size = self.c * self.area
        args = (
            self._columns("in"),
            *ints(column_h=self.y.h, column_w=self.y.w, kernel_h=self.kernel.h, kernel_w=self.kernel.w),
            *self._window(),
            *ints(image_h=self.x.h, image_w=self.x.w),
            self._x("out"),
            Arg("int", 0, name="image_offset", step=size),
        )
        return self._launch("MIOpenCol2Im2d.cl", COL2IM_ARGUMENTS, "Col2Im2d", (size, 1, 1), args, loop)

    def _set(self, target: Arg) -> Launch:
        elements, items = target.elements, set_items(target.elements)
        args = (target, *floats(value=0.0), *ints(offset=0, stride=1, elements=elements))
        program, kernel = "MIOpenSubTensorOpWithScalarKernel.cl", "SubTensorOpWithScalar1d"
        made = self._launch(program, set_arguments(elements), kernel, (items, 1, 1), args)
        return replace(made, workgroup=(min(GROUP, items), 1, 1))

    def _plain(self, to_cnhw: bool, offset: int) -> Transpose:
        """The transpose of y with all pixels."""
        return Transpose(to_cnhw, self.x.n, self.k, self.out, self.out, offset, 0, UNIT)

    def _strided(self, to_cnhw: bool, offset: int) -> Transpose:
        """The transpose of x with the pixels that the filter reads."""
        return Transpose(to_cnhw, self.x.n, self.c, self.image, self.out, offset, 0, self.stride)

    def _transpose(self, transpose: Transpose, source: Arg, target: Arg) -> Launch:
        of, args = transpose, (source, target)
        return self._launch("MIOpenUtilKernels4.cl", of.arguments, of.kernel, of.grid, args)
