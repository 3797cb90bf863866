"""Which model answers for which kernel: a formula, or launches that the interpreter executed."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from apuflow.preview.kernels.activation import activation
from apuflow.preview.kernels.batchnorm_activation import per_activation_backward, per_activation_forward
from apuflow.preview.kernels.batchnorm_spatial import spatial
from apuflow.preview.kernels.bias import bias, bias_gradient
from apuflow.preview.kernels.col2im import col2im
from apuflow.preview.kernels.direct import direct
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.kernels.gradient_points import point_gradient
from apuflow.preview.kernels.gradient_rows import weight_gradient
from apuflow.preview.kernels.gradient_sums import gradient_sums
from apuflow.preview.kernels.im2col import im2col
from apuflow.preview.kernels.lrn import across_backward, lrn_forward, within_backward, within_forward
from apuflow.preview.kernels.matrix import set_tensor, sgemm
from apuflow.preview.kernels.own import (
    embedding_backward,
    embedding_forward,
    layer_norm_rows,
    layer_norm_weights,
    straight,
    upsample,
)
from apuflow.preview.kernels.pointwise import pointwise
from apuflow.preview.kernels.pointwise_gradient import pointwise_gradient
from apuflow.preview.kernels.pooling_backward import pooling_backward
from apuflow.preview.kernels.pooling_forward import pooling_forward
from apuflow.preview.kernels.softmax import softmax
from apuflow.preview.kernels.tensile import has_counts, library_product, scale
from apuflow.preview.kernels.traced import Resources, interpolated, resources
from apuflow.preview.profile import Profile

Model = Callable[[Facts], Profile]

FORMULAS: dict[str, Model] = {
    "SoftmaxForward": softmax,
    "SoftmaxBackward": softmax,
    "MIOpenActiveFwdLite": activation,
    "MIOpenActiveBwdLite": activation,
    "MIOpenBatchNormFwdTrainPerActivation": per_activation_forward,
    "MIOpenBatchNormBwdPerActivationSaved": per_activation_backward,
    "MIOpenBatchNormFwdTrainSpatial": spatial,
    "MIOpenBatchNormFwdTrainSpatialMeanVariance": spatial,
    "MIOpenBatchNormFwdTrainSpatialFinalMeanVariance": spatial,
    "MIOpenBatchNormFwdTrainSpatialNorm": spatial,
    "MIOpenBatchNormBwdSpatial": spatial,
    "MIOpenBatchNormBwdSpatialDScaleDBias": spatial,
    "MIOpenBatchNormBwdSpatialFinalDScaleDBias": spatial,
    "MIOpenBatchNormBwdSpatialDX": spatial,
    "OpTensorFwdBias": bias,
    "MIOpenConvBwdB": bias_gradient,
    "mloPoolingG": pooling_forward,
    "mloPoolingMaxBwd": pooling_backward,
    "mloPoolingAveBwd": pooling_backward,
    "MIOpenLRNAcrossChannels4": lrn_forward,
    "MIOpenLRNAcrossChannelsBwd1": across_backward,
    "MIOpenLRNWithinChannel_PS": within_forward,
    "MIOpenLRNWithinChannelBwd": within_backward,
    "Im2d2Col": im2col,
    "Col2Im2d": col2im,
    "MIOpenConvUni": direct,
    "MIOpenConv1x1": pointwise,
    "MIOpenConv1x1pquv": pointwise_gradient,
    "MIOpenCvBwdWrW_8x8map": point_gradient,
    "MIOpenCvBwdWrW_16x16map": point_gradient,
    "MIOpenCvBwdWrW_rdc": gradient_sums,
    "MIOpenCvBwdWrW": weight_gradient,
    "upsample_forward": upsample,
    "upsample_backward": upsample,
    "gelu_forward": straight,
    "gelu_backward": straight,
    "sgd_momentum": straight,
    "layernorm_forward": layer_norm_rows,
    "layernorm_backward": layer_norm_rows,
    "layernorm_weights": layer_norm_weights,
    "embedding_forward": embedding_forward,
    "embedding_backward": embedding_backward,
    "SubTensorOpWithScalar1d": set_tensor,
    "sgemm": sgemm,
    "Cijk_S": scale,
}
"""Kernels whose compiled code changes in steps with the shape. All others are interpolated."""


def formula(kernel: str) -> Model | None:
    """The formula of a kernel; None: its launches are interpolated, if any was traced."""
    return library_product if has_counts(kernel) else FORMULAS.get(kernel)


@lru_cache(maxsize=262144)
def profile(facts: Facts) -> Profile:
    """Profile of a launch.

    Raises:
        NotModelled: no model for the kernel or for this variant of it.
    """
    return (formula(facts.kernel) or interpolated)(facts)


def taken(facts: Facts) -> Resources:
    """What a launch's workgroup takes; 0 where it is not known.

    Raises:
        NotModelled: the kernel's formula does not have this variant of it.
    """
    if formula(facts.kernel):
        known = profile(facts)
        return Resources(known.lds_bytes, known.vgprs, known.sgprs)
    return resources(facts) or Resources(0, 0, 0)
