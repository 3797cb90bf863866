"""Which model answers for which kernel, and the names of the kernels' scalar arguments."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from apuflow.core.errors import NotModelled
from apuflow.preview.kernels.activation import activation
from apuflow.preview.kernels.batchnorm_activation import per_activation_backward, per_activation_forward
from apuflow.preview.kernels.batchnorm_spatial import spatial
from apuflow.preview.kernels.bias import bias, bias_gradient
from apuflow.preview.kernels.col2im import col2im
from apuflow.preview.kernels.direct import direct
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.kernels.gradient_points import point_gradient, subsample
from apuflow.preview.kernels.gradient_rows import weight_gradient
from apuflow.preview.kernels.gradient_sums import gradient_sums
from apuflow.preview.kernels.im2col import im2col
from apuflow.preview.kernels.lrn import across_backward, lrn_forward, within_backward, within_forward
from apuflow.preview.kernels.matrix import set_tensor, sgemm, transpose
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
from apuflow.preview.kernels.recurrent import activation_of_rows, combine, lstm_update
from apuflow.preview.kernels.softmax import softmax
from apuflow.preview.kernels.tensile import has_counts, library_product, scale
from apuflow.preview.kernels.tensors import elementwise, frozen_normalisation, rows
from apuflow.preview.profile import Profile

Model = Callable[[Facts], Profile]

MODELS: dict[str, Model] = {
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
    "mloPoolingG": pooling_forward,
    "mloPoolingMaxBwd": pooling_backward,
    "mloPoolingAveBwd": pooling_backward,
    "MIOpenLRNAcrossChannels4": lrn_forward,
    "MIOpenLRNAcrossChannelsBwd1": across_backward,
    "MIOpenLRNWithinChannel_PS": within_forward,
    "MIOpenLRNWithinChannelBwd": within_backward,
    "Im2d2Col": im2col,
    "Col2Im2d": col2im,
    "SubTensorOpWithScalar1d": set_tensor,
    "transpose_NCHW2CNHW": transpose,
    "transpose_CNHW2NCHW": transpose,
    "transpose_NCHW2CNHW_opt": transpose,
    "transpose_CNHW2NCHW_opt": transpose,
    "sgemm": sgemm,
    "Op2dTensorLite": combine,
    "MIOpenActiveFwd2DLite": activation_of_rows,
    "MIOpenActiveBwd2DLite": activation_of_rows,
    "LSTMFwdHidUpdate": lstm_update,
    "LSTMBwdHidUpdate": lstm_update,
    "Cijk_S": scale,
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
    "OpTensorFwdBias": bias,
    "MIOpenConvBwdB": bias_gradient,
    "Op4dTensorLite": elementwise,
    "SubTensorOpWithSubTensor1d": rows,
    "SubTensorOpWithSubTensor2d": rows,
    "MIOpenBatchNormFwdInferSpatialEst": frozen_normalisation,
    "MIOpenConvUni": direct,
    "MIOpenConv1x1": pointwise,
    "MIOpenConv1x1pquv": pointwise_gradient,
    "MIOpenCvBwdWrW_8x8map": point_gradient,
    "MIOpenCvBwdWrW_16x16map": point_gradient,
    "MIOpenCvBwdWrW_rdc": gradient_sums,
    "MIOpenCvBwdWrW": weight_gradient,
    "SubSample": subsample,
}


@lru_cache(maxsize=262144)
def profile(facts: Facts) -> Profile:
    """Profile of a launch.

    Raises:
        NotModelled: no model for the kernel or for this variant of it.
    """
    model = library_product if has_counts(facts.kernel) else MODELS.get(facts.kernel)
    if model is None:
        raise NotModelled(
            "the preview does not model this kernel",
            key="kernel",
            value=facts.kernel,
            remedy="run the point with the gem5 or gem5-kernels engine",
        )
    return model(facts)
