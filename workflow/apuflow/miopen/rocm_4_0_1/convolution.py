"""Convolution by matrix products (the only algorithm that DNNMark's HIP port runs).

A transposed convolution (``conv_mode=convolution`` or ``transpose`` on HIP) swaps the passes of the plain
one: its forward is the plain backward data. MIOpen accepts it only if c = num_output.

Source: MIOpen ``src/ocl/convolutionocl.cpp`` (``ConvFwdGemm``, ``ConvBwdGemm``, ``BackwardWeightsGemm``),
``src/convolution_api.cpp`` (transposed), ``src/gemm_v2.cpp`` (products).
"""

from __future__ import annotations

from typing import Literal

from apuflow.core.errors import NotDerivable
from apuflow.dnnmark import Convolution, Layer, Plane, Shape
from apuflow.miopen.launch import Arg, Buffers, Extent, Gemm, Launch
from apuflow.miopen.rocm_4_0_1.common import floats, ints
from apuflow.miopen.rocm_4_0_1.gemm import (
    COL2IM_ARGUMENTS,
    GROUP,
    Transpose,
    gemm_launch,
    im2col_arguments,
    im2col_grid,
    im2col_plan,
    set_arguments,
    set_items,
)

UNIT = Plane(1, 1)


def launches(
    layer: Layer, buffers: Buffers, direction: Literal["fwd", "bwd"], compute_units: int
) -> tuple[Launch, ...]:
    """Forward; or backward weights, then backward data unless ``propagation=false``.

    Raises:
        NotDerivable: a transposed convolution with c != num_output, which MIOpen refuses.
    """
    params = layer.params
    assert isinstance(params, Convolution)
    if params.transposed and layer.input.c != params.num_output:
        raise NotDerivable(
            f"conv_mode={params.conv_mode} is a transposed convolution on HIP and needs c = num_output: "
            "DNNMark aborts before any kernel",
            key=layer.label,
            value=f"c={layer.input.c}, num_output={params.num_output}",
            remedy="set conv_mode=cross_correlation",
        )
    work = Products(layer, params, buffers, direction)
    if direction == "fwd":
        return work.data() if params.transposed else work.product()
    weights = work.weights()
    if not params.propagation:
        return weights
    return weights + (work.product(loop=2) if params.transposed else work.data(loop=2))


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
        y: tuple[str, Shape] = (buffers.top, layer.output)
        gradient = (buffers.top_diff, layer.output)
        if direction == "bwd":
            y = gradient
        if params.transposed:
            x, y = y, x
        self.x_buffer, self.x = x
        self.y_buffer, self.y = y
        self.k, self.c = params.num_output, layer.input.c
        self.kernel, self.pad, self.stride = params.kernel, params.pad, params.stride
        self.groups, self.dilation = groups, dilation
        self.taps = self.c * self.kernel.h * self.kernel.w
        self.pixels = self.y.h * self.y.w
        self.pointwise = self.kernel == UNIT and self.pad == (0, 0)

    # products ------------------------------------------------------------------------------------------
    def product(self, loop: int = 1) -> tuple[Launch, ...]:
        """y = w * x: MIOpen's forward."""
        n, k, c, pixels = self.x.n, self.k, self.c, self.pixels
        w = self._weights("in")
        if self.pointwise and self.stride == UNIT:
            area = self.x.h * self.x.w
            if self.groups > 1:
                gemm = self._by_group(area, k, c, False, False, step_a=c * area, step_c=k * area)
                return (self._gemm((self._x("in"), w, self._y("out")), gemm, n, loop),)
            gemm = Gemm(area, k, c, False, False, n, area, c, area, c * area, 0, k * area)
            return (self._gemm((self._x("in"), w, self._y("out")), gemm),)
        if self.pointwise and self.stride == (2, 2):
            size = n * c * pixels
            gemm = self._by_group(n * pixels, k, c, False, False, offset_c=size)
            memory = self._workspace(size + n * k * pixels, "inout")
            there = Transpose(
                True, n, c, Plane(self.x.h, self.x.w), Plane(self.y.h, self.y.w), 0, 0, self.stride
            )
            back = self._plain(False, size)
            return (
                self._transpose(there, self._x("in"), memory._replace(role="out")),
                self._gemm((memory._replace(role="in"), w, memory), gemm),
                self._transpose(back, memory._replace(role="in"), self._y("out")),
            )
        gemm = self._by_group(pixels, k, self.taps, False, False, step_c=k * pixels)
        columns = self._workspace(self.taps * pixels, "in")
        return (
            self.im2col(loop),
            self._gemm((columns, w, self._y("out")), gemm, n, loop),
        )

    def weights(self, loop: int = 1) -> tuple[Launch, ...]:
        """dw = dy * x, summed over the batch: MIOpen's backward weights."""
        n, k, pixels = self.x.n, self.k, self.pixels
        dw = self._weights("inout", "weights_diff")
        clear = self._set(dw._replace(role="out", name="dw"))
        if self.pointwise and self.stride == UNIT:
            area = self.x.h * self.x.w
            steps = {"step_a": self.c * area, "step_b": k * area}
            gemm = self._by_group(self.c, k, area, True, False, beta=1.0, **steps)
            return clear, self._gemm((self._x("in"), self._y("in"), dw), gemm, n, loop)
        gemm = self._by_group(self.taps, k, pixels, True, False, beta=1.0, step_b=k * pixels)
        columns = self._workspace(self.taps * pixels, "in")
        return clear, self.im2col(loop), self._gemm((columns, self._y("in"), dw), gemm, n, loop)

    def data(self, loop: int = 1) -> tuple[Launch, ...]:
        """dx = w^T * dy: MIOpen's backward data, which DNNMark writes to the layer's input."""
        n, k, c, pixels = self.x.n, self.k, self.c, self.pixels
        w = self._weights("in")
        if self.pointwise and self.stride == UNIT:
            area = self.x.h * self.x.w
            if self.groups > 1:
                gemm = self._by_group(area, c, k, False, True, step_a=k * area, step_c=c * area)
                return (self._gemm((self._y("in"), w, self._x("out")), gemm, n, loop),)
            gemm = Gemm(area, c, k, False, True, n, area, c, area, k * area, 0, c * area)
            return (self._gemm((self._y("in"), w, self._x("out")), gemm),)
        if self.pointwise and self.stride == (2, 2):
            size = n * k * pixels
            gemm = self._by_group(n * pixels, c, k, False, True, offset_c=size)
            memory = self._workspace(size + n * c * pixels, "inout")
            back = Transpose(
                False, n, c, Plane(self.x.h, self.x.w), Plane(self.y.h, self.y.w), size, 0, self.stride
            )
            return (
                self._set(self._x("out")),
                self._transpose(self._plain(True, 0), self._y("in"), memory._replace(role="out")),
                self._gemm((memory._replace(role="in"), w, memory), gemm),
                self._transpose(back, memory._replace(role="in"), self._x("inout")),
            )
        gemm = self._by_group(pixels, self.taps, k, False, True, step_a=k * pixels)
        columns = self._workspace(self.taps * pixels, "out")
        return (
            self._gemm((self._y("in"), w, columns), gemm, n, loop),
            self.col2im(loop),
        )

    def _by_group(
        self,
        m: int,
        n: int,
        k: int,
        transpose_a: bool,
        transpose_b: bool,
        *,
        beta: float = 0.0,
        offset_c: int = 0,
        step_a: int = 0,
        step_b: int = 0,
        step_c: int = 0,
    ) -> Gemm:
        """The product of all channels, or one per group (``CreateGemmDescriptorGroupConv...``).

        ``m``, ``n`` and ``k`` are those of all channels; those over channels are divided.
        """
        groups = self.groups
        forward, backward = (transpose_a, transpose_b) == (False, False), transpose_b
        m, n, k = (m, n // groups, k // groups) if forward or backward else (m // groups, n // groups, k)
        lda = k if transpose_a else m
        ldb = n if transpose_b else k
        strides = (m * k, n * k, m * n) if groups > 1 else (0, 0, 0)
        return Gemm(
            m,
            n,
            k,
            transpose_a,
            transpose_b,
            groups,
            lda,
            ldb,
            m,
            *strides,
            beta=beta,
            offset_c=offset_c,
            step_a=step_a,
            step_b=step_b,
            step_c=step_c,
        )

    # buffers -------------------------------------------------------------------------------------------
    def _x(self, role: Literal["in", "out", "inout"]) -> Arg:
        return Arg("buffer", self.x_buffer, self.x.elements, role, "x")

    def _y(self, role: Literal["in", "out", "inout"]) -> Arg:
        return Arg("buffer", self.y_buffer, self.y.elements, role, "y")

    def _weights(self, role: Literal["in", "out", "inout"], which: str = "weights") -> Arg:
        return Arg("buffer", f"{self.own}.{which}", self.k * self.taps // self.groups, role, which)

    def _workspace(self, elements: int, role: Literal["in", "out", "inout"]) -> Arg:
        return Arg("buffer", f"{self.own}.workspace", elements, role, "workspace")

    # launches ------------------------------------------------------------------------------------------
    def _gemm(self, memory: tuple[Arg, Arg, Arg], gemm: Gemm, count: int = 1, loop: int = 0) -> Launch:
        return gemm_launch(self.layer, self.direction, memory, gemm, count, loop)

    def _launch(
        self,
        program: str,
        arguments: str,
        kernel: str,
        grid: Extent,
        workgroup: int,
        args: tuple[Arg, ...],
        count: int = 1,
        loop: int = 0,
    ) -> Launch:
        layer = self.layer
        group = (workgroup, 1, 1)
        return Launch(
            layer.label,
            layer.kind,
            self.direction,
            program,
            arguments,
            kernel,
            grid,
            group,
            args,
            "",
            None,
            count,
            loop,
        )

    def _window(self) -> tuple[Arg, ...]:
        return ints(
            kernel_h=self.kernel.h,
            kernel_w=self.kernel.w,
            column_h=self.y.h,
            column_w=self.y.w,
            pad_h=self.pad.h,
            pad_w=self.pad.w,
            stride_h=self.stride.h,
            stride_w=self.stride.w,
            dilation_h=self.dilation.h,
            dilation_w=self.dilation.w,
        )

    def _image(self) -> tuple[int, Arg]:
        """Elements of one image and the argument with its offset."""
        size = self.c * self.x.h * self.x.w
        return size, Arg("int", 0, name="image_offset", step=size)

    def im2col(self, loop: int) -> Launch:
        """Columns of every image."""
        spread = Plane((self.kernel.h - 1) * self.dilation.h + 1, (self.kernel.w - 1) * self.dilation.w + 1)
        plan = im2col_plan(self.c, Plane(self.y.h, self.y.w), spread, self.stride)
        size, offset = self._image()
        args = (
            Arg("int", size, name="image_elements"),
            self._x("in"),
            offset,
            *ints(image_h=self.x.h, image_w=self.x.w),
            *self._window(),
            self._workspace(self.taps * self.pixels, "out"),
        )
        compiled = im2col_arguments(self.c, plan, self.stride)
        grid = im2col_grid(self.c, plan)
        return self._launch("MIOpenIm2d2Col.cl", compiled, "Im2d2Col", grid, GROUP, args, self.x.n, loop)

    def col2im(self, loop: int) -> Launch:
        """Every image of its columns."""
        size, offset = self._image()
        window = self._window()
        args = (
            self._workspace(self.taps * self.pixels, "in"),
            *window[2:4],
            *window[:2],
            *window[4:],
            *ints(image_h=self.x.h, image_w=self.x.w),
            self._x("out"),
            offset,
        )
        return self._launch(
            "MIOpenCol2Im2d.cl", COL2IM_ARGUMENTS, "Col2Im2d", (size, 1, 1), GROUP, args, self.x.n, loop
        )

    def _set(self, target: Arg) -> Launch:
        items = set_items(target.elements)
        args = (target, *floats(value=0.0), *ints(offset=0, stride=1, elements=target.elements))
        program = "MIOpenSubTensorOpWithScalarKernel.cl"
        compiled = set_arguments(target.elements)
        return self._launch(
            program, compiled, "SubTensorOpWithScalar1d", (items, 1, 1), min(GROUP, items), args
        )

    def _plain(self, to_cnhw: bool, offset: int) -> Transpose:
        """The transpose of y with all pixels."""
        plane = Plane(self.y.h, self.y.w)
        return Transpose(to_cnhw, self.x.n, self.k, plane, plane, offset, 0, UNIT)

    def _transpose(self, transpose: Transpose, source: Arg, target: Arg) -> Launch:
        return self._launch(
            "MIOpenUtilKernels4.cl",
            transpose.arguments,
            transpose.kernel,
            transpose.grid,
            GROUP,
            (source, target),
        )
