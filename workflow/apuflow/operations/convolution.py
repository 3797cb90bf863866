"""Convolutions that DNNMark has no keys for: groups, depthwise, dilation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from apuflow.core.errors import ConfigError
from apuflow.dnnmark import Direction
from apuflow.miopen.launch import Buffers, Launch
from apuflow.operations import direct
from apuflow.operations.filter import Filter
from apuflow.operations.key import choice, flag
from apuflow.operations.operation import Pass


@dataclass(frozen=True, kw_only=True)
class Convolution(Filter):
    """Cross-correlation over NCHW, by matrix products as MIOpen's GEMM algorithm makes them.

    Of ``groups`` groups each sees its own channels: rocBLAS runs them as one batch for every image. Depthwise
    is ``groups = c``.
    """

    kind: ClassVar[str] = "convolution"
    title: ClassVar[str] = "convolution with groups (depthwise too) and dilation"
    source: ClassVar[str] = "MIOpen's GEMM algorithm with rocBLAS' sgemm; or MIOpenConvUni, MIOpenConv1x1"

    algorithm: str = choice("DNNMark's GEMM, or MIOpen's direct kernels forward", "gemm", ("gemm", "direct"))
    propagation: bool = flag("backward also computes the gradient of the input", True)

    @override
    def problems(self) -> Iterator[tuple[str, str, str]]:
        found = list(super().problems())
        yield from found
        if not found and self.algorithm == "direct" and (problem := direct.objection(self)) is not None:
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

    @override
    def macs(self, direction: Pass) -> int:
        forward = self.n * self.out.h * self.out.w * self.weights
        return forward if direction == "fwd" else forward * (2 if self.propagation else 1)

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        if direction == "fwd" and self.algorithm == "direct":
            return (direct.forward(self),)
        parts = ("bottom", "bottom_diff", "top", "top_diff")
        buffers = Buffers(self.kind, *(f"{self.kind}.{part}" for part in parts))
        work = self.products(self.bottom, self.top, buffers, direction, self.groups)
        if direction == "fwd":
            return work.product()
        return work.weights() + (work.data(loop=2) if self.propagation else ())
