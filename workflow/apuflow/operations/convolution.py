"""Convolutions that DNNMark has no keys for: groups, depthwise, dilation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from apuflow.core.errors import ConfigError
from apuflow.dnnmark import Direction
from apuflow.miopen.launch import Buffers, Launch
from apuflow.operations import direct, direct_weights
from apuflow.operations.filter import Filter
from apuflow.operations.key import choice, flag
from apuflow.operations.operation import Pass, Wrong


@dataclass(frozen=True, kw_only=True)
class Convolution(Filter):
    """Cross-correlation over NCHW, by matrix products as MIOpen's GEMM algorithm makes them.

    Of ``groups`` groups each sees its own channels: rocBLAS runs them as one batch for every image. Depthwise
    is ``groups = c``.
    """

    kind: ClassVar[str] = "convolution"
    title: ClassVar[str] = "convolution with groups (depthwise too) and dilation"
    source: ClassVar[str] = "MIOpen's GEMM algorithm with rocBLAS' sgemm; or its direct OpenCL kernels"

    algorithm: str = choice("DNNMark's GEMM, or MIOpen's direct kernels", "gemm", ("gemm", "direct"))
    propagation: bool = flag("backward also computes the gradient of the input", True)

    @override
    def problems(self) -> Iterator[Wrong]:
        found = list(super().problems())
        yield from found
        if not found and self.algorithm == "direct":
            problem = self._objection("fwd")
            if problem is not None and self._objection("bwd") is not None:
                yield problem

    @override
    def passes(self, direction: Direction) -> tuple[Pass, ...]:
        wanted = super().passes(direction)
        for one in wanted if self.algorithm == "direct" else ():
            if (problem := self._objection(one)) is not None:
                key, what, remedy = problem
                what = f"operation convolution {one}: {what}"
                raise ConfigError(what, key=key, value=getattr(self, key), remedy=remedy)
        return wanted

    def _objection(self, direction: Pass) -> Wrong | None:
        """Why MIOpen has no direct kernel in a direction; backward one gradient is enough."""
        if direction == "fwd":
            return direct.objection(self, forward=True)
        problem = direct_weights.objection(self)
        if problem is None or not self.propagation:
            return problem
        return direct.objection(self, forward=False)

    @override
    def macs(self, direction: Pass) -> int:
        forward = self.n * self.out.h * self.out.w * self.weights
        return forward if direction == "fwd" else forward * (2 if self.propagation else 1)

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        parts = ("bottom", "bottom_diff", "top", "top_diff")
        buffers = Buffers(self.kind, *(f"{self.kind}.{part}" for part in parts))
        work = self.products(self.bottom, self.top, buffers, direction, self.groups)
        wanted = self.algorithm == "direct"
        if direction == "fwd":
            return direct.launches(self, forward=True) if wanted else work.product()
        by_weights = wanted and direct_weights.objection(self) is None
        weights = direct_weights.launches(self) if by_weights else work.weights()
        if not self.propagation:
            return weights
        by_data = wanted and direct.objection(self, forward=False) is None
        return weights + (direct.launches(self, forward=False) if by_data else work.data(loop=2))
