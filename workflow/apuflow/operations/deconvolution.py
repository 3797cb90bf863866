"""The transposed convolution: the plain one with its passes exchanged.

Source: MIOpen rocm-4.0.1 ``src/convolution_api.cpp`` (``miopenTranspose``): forward is the plain
convolution's backward data, the gradient of the input its forward.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from apuflow.dnnmark import Plane
from apuflow.miopen.launch import Buffers, Launch
from apuflow.miopen.rocm_4_0_1.convolution import Products
from apuflow.operations.filter import Filter
from apuflow.operations.key import whole
from apuflow.operations.operation import Pass


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
    def macs(self, direction: Pass) -> int:
        forward = self.n * self.h * self.w * self.weights
        return forward if direction == "fwd" else 2 * forward

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
