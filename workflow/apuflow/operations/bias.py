"""A bias of convolutions and fully connected layers.

Source: MIOpen rocm-4.0.1 ``src/convolution_api.cpp`` (``miopenConvolutionForwardBias``),
``src/ocl/tensorocl.cpp`` (``OpTensor4d``), ``src/ocl/convolutionocl.cpp`` (``ConvolutionBackwardBias``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from apuflow.miopen.launch import Launch
from apuflow.miopen.rocm_4_0_1.common import FP32_ALL, floats, ints
from apuflow.miopen.rocm_4_0_1.gemm import GROUP
from apuflow.operations.launching import buffer, launch, scalars
from apuflow.operations.operation import Pass
from apuflow.operations.tensors import MOST_GROUPS, Tensor

FEW_GROUPS = 640
"""Below so many workgroups MIOpen takes one for each channel of each image, not of all images."""
READ = 4
"""Gradients that a work-item reads at once."""


@dataclass(frozen=True, kw_only=True)
class Bias(Tensor):
    """``y = y + b`` with a value for each channel; backward the sum of each channel's gradients."""

    kind: ClassVar[str] = "bias"
    title: ClassVar[str] = "a value for each channel added to all its pixels"
    source: ClassVar[str] = "MIOpen: OpTensorFwdBias, MIOpenConvBwdB"
    directions: ClassVar[tuple[Pass, ...]] = ("fwd", "bwd")

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        return (self._forward() if direction == "fwd" else self._backward(),)

    def _forward(self) -> Launch:
        area = self.h * self.w
        work, groups = self.n * area, self.c
        by_image = groups < FEW_GROUPS and work > GROUP
        if by_image:
            work, groups = area, groups * self.n
        y = buffer("bias.y", self.elements, "in")
        args = (
            y,
            buffer("bias.b", self.c, "in"),
            *ints(channels=self.c),
            y._replace(role="inout"),
            *ints(images=self.n, image_stride=self.c * area, channel_stride=area, work=work),
            *floats(alpha0=1.0, alpha1=1.0, beta=0.0),
            *scalars("long", a_offset=0, b_offset=0, c_offset=0),
            *ints(groups=groups, by_image=int(by_image)),
        )
        arguments = (
            f" -DMIOPEN_TYPE=float -DMAX_NUM_WG={MOST_GROUPS}{FP32_ALL}"
            " -DMIOPEN_TENSOR_OP=miopenAdd -DUSE_FWD_BIAS"
        )
        grid, group = (min(groups, MOST_GROUPS) * GROUP, 1, 1), (GROUP, 1, 1)
        program = "MIOpenTensorKernels.cl"
        return launch(self, "fwd", program, arguments, "OpTensorFwdBias", grid, group, args)

    def _backward(self) -> Launch:
        area = self.h * self.w
        args = buffer("bias.dy", self.elements, "in"), buffer("bias.db", self.c, "out")
        arguments = (
            f" -DMLO_CONVBWD_GROUP_SZ0={GROUP} -DMLO_CONVBWD_GROUP_SZ1=1 -DMLO_CONVBWDB_LCL_MEMSZ={GROUP}"
            f" -DMLO_CONVBWDB_UNITSIZE={READ} -DMLO_OUT_BATCH_SZ={self.n} -DMLO_OUT_CHANNEL_STRIDE={area}"
            f" -DMLO_OUT_BATCH_STRIDE={self.c * area} -DMLO_WK_SIZE={-(-area // READ)}"
            f" -DMLO_N_PIX_OFF={area % READ}{FP32_ALL}"
        )
        grid, group = (GROUP, self.c, 1), (GROUP, 1, 1)
        return launch(self, "bwd", "MIOpenConvBwdBias.cl", arguments, "MIOpenConvBwdB", grid, group, args)
