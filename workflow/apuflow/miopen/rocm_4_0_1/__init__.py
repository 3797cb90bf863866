"""What MIOpen of ROCm 4.0.1 (2.9.0, tag rocm-4.0.1) launches for each layer of DNNMark's HIP port."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from apuflow.miopen.launch import Builder
from apuflow.miopen.rocm_4_0_1 import activation, batchnorm, convolution, gemm, softmax, windows

BUILDERS: Final[Mapping[str, Builder]] = {
    "Convolution": convolution.launches,
    "Pooling": windows.pooling,
    "LRN": windows.lrn,
    "Activation": activation.launches,
    "FullyConnected": gemm.launches,
    "Softmax": softmax.launches,
    "BatchNorm": batchnorm.launches,
    "Dropout": lambda work: (),
    "Bypass": activation.launches,
}
"""Per layer kind. Dropout launches nothing on HIP."""
BY_COMPUTE_UNITS: Final = frozenset({"LRN"})
"""Kinds whose launches depend on the number of compute units."""
