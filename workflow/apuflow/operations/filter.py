"""The shape of a convolution: what all its algorithms ask for."""

from __future__ import annotations

from dataclasses import dataclass

from apuflow.dnnmark import Plane
from apuflow.operations.key import choice, flag, whole
from apuflow.operations.operation import Operation


@dataclass(frozen=True, kw_only=True)
class Filter(Operation):
    """An operation that moves a filter over images."""

    n: int = whole("images")
    c: int = whole("input channels")
    h: int = whole("height")
    w: int = whole("width")
    num_output: int = whole("output channels")
    kernel_h: int = whole("height of the filter")
    kernel_w: int = whole("width of the filter")
    pad_h: int = whole("zeros above and below", 0, 0)
    pad_w: int = whole("zeros left and right", 0, 0)
    stride_h: int = whole("step down", 1)
    stride_w: int = whole("step across", 1)
    dilation_h: int = whole("rows from one of the filter's rows to the next", 1)
    dilation_w: int = whole("columns from one of the filter's columns to the next", 1)
    groups: int = whole("groups of channels", 1)
    algorithm: str = choice("DNNMark's GEMM, or MIOpen's direct kernels forward", "gemm", ("gemm", "direct"))
    propagation: bool = flag("backward also computes the gradient of the input", True)

    @property
    def out(self) -> Plane:
        """Height and width of the output."""
        high = self.h + 2 * self.pad_h - (self.kernel_h - 1) * self.dilation_h - 1
        wide = self.w + 2 * self.pad_w - (self.kernel_w - 1) * self.dilation_w - 1
        return Plane(
            high // self.stride_h + 1 if high >= 0 else 0, wide // self.stride_w + 1 if wide >= 0 else 0
        )

    @property
    def taps(self) -> int:
        """Elements of the columns of one output pixel, all groups together."""
        return self.c * self.kernel_h * self.kernel_w
