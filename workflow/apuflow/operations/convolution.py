"""Convolutions that DNNMark has no keys for: groups, depthwise, dilation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from typing_extensions import override

from apuflow import dnnmark
from apuflow.core.errors import ConfigError
from apuflow.dnnmark import Direction, Plane, Shape
from apuflow.miopen.launch import Buffers, Launch
from apuflow.miopen.rocm_4_0_1.convolution import Products
from apuflow.operations import direct
from apuflow.operations.filter import Filter
from apuflow.operations.operation import Pass

INT_ELEMENTS = 2**31


@dataclass(frozen=True, kw_only=True)
class Convolution(Filter):
    """Cross-correlation over NCHW, by matrix products as MIOpen's GEMM algorithm makes them.

    Of ``groups`` groups each sees its own channels: rocBLAS runs them as one batch for every image. Depthwise
    is ``groups = c``.
    """

    kind: ClassVar[str] = "convolution"
    title: ClassVar[str] = "convolution with groups (depthwise too) and dilation"
    source: ClassVar[str] = "MIOpen's GEMM algorithm with rocBLAS' sgemm; or MIOpenConvUni, MIOpenConv1x1"

    @override
    def problems(self) -> Iterator[tuple[str, str, str]]:
        for name in ("c", "num_output"):
            if getattr(self, name) % self.groups:
                yield name, f"{self.groups} groups do not divide it", "make it a multiple of groups"
        if self.out.h < 1 or self.out.w < 1:
            yield "kernel_h", "the filter is larger than the padded image", "make the filter smaller"
        elif (
            max(self._bottom.elements, self._top.elements, self.taps * self.out.h * self.out.w)
            >= INT_ELEMENTS
        ):
            yield "n", "a buffer has more elements than a C int counts", "make it smaller"
        elif self.algorithm == "direct" and (problem := direct.objection(self)) is not None:
            yield problem

    @override
    def passes(self, direction: Direction) -> tuple[Pass, ...]:
        if self.algorithm == "direct" and direction != "fwd":
            raise ConfigError(
                "MIOpen's direct kernels are here forward alone",
                key="direction",
                value=direction,
                remedy="direction: fwd, or algorithm: gemm",
            )
        return super().passes(direction)

    @property
    def _bottom(self) -> Shape:
        return Shape(self.n, self.c, self.h, self.w)

    @property
    def _top(self) -> Shape:
        return Shape(self.n, self.num_output, *self.out)

    @override
    def macs(self, direction: Pass) -> int:
        forward = self._top.elements * self.taps // self.groups
        return forward if direction == "fwd" else forward * (2 if self.propagation else 1)

    @cached_property
    def _layer(self) -> dnnmark.Layer:
        params = dnnmark.Convolution(
            num_output=self.num_output,
            kernel=Plane(self.kernel_h, self.kernel_w),
            pad=Plane(self.pad_h, self.pad_w),
            stride=Plane(self.stride_h, self.stride_w),
        )
        return dnnmark.Layer(self.kind, "null", self._bottom, self._top, params)

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        parts = ("bottom", "bottom_diff", "top", "top_diff")
        buffers = Buffers(self.kind, *(f"{self.kind}.{part}" for part in parts))
        params = self._layer.params
        assert isinstance(params, dnnmark.Convolution)
        dilation = Plane(self.dilation_h, self.dilation_w)
        work = Products(self._layer, params, buffers, direction, self.groups, dilation)
        if direction == "fwd" and self.algorithm == "direct":
            return (direct.forward(self),)
        if direction == "fwd":
            return work.product()
        return work.weights() + (work.data(loop=2) if self.propagation else ())
