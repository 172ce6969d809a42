"""`torch.nn.functional`: functions of layers, with the names and defaults of PyTorch."""

from __future__ import annotations

from impl.core.registry import FUNCTIONS
from impl.nn.activation import (
    celu,
    celu_,
    elu,
    elu_,
    gelu,
    glu,
    gumbel_softmax,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    hardtanh_,
    leaky_relu,
    leaky_relu_,
    log_softmax,
    logsigmoid,
    mish,
    prelu,
    relu,
    relu6,
    relu_,
    rrelu,
    rrelu_,
    selu,
    selu_,
    sigmoid,
    silu,
    softmax,
    softmin,
    softplus,
    softshrink,
    softsign,
    tanh,
    tanhshrink,
    threshold,
    threshold_,
)
from impl.nn.dropout import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
)
from impl.nn.embedding import embedding, embedding_bag
from impl.nn.images import affine_grid, fold, grid_sample, pad, unfold
from impl.nn.interpolation import interpolate, upsample, upsample_bilinear, upsample_nearest
from impl.nn.loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    huber_loss,
    kl_div,
    l1_loss,
    linear_cross_entropy,
    mse_loss,
    nll_loss,
    smooth_l1_loss,
)
from impl.nn.loss_margin import (
    cosine_embedding_loss,
    ctc_loss,
    gaussian_nll_loss,
    hinge_embedding_loss,
    margin_ranking_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    poisson_nll_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from impl.nn.multi_head_attention import multi_head_attention_forward
from impl.nn.normalization import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    normalize,
    rms_norm,
)
from impl.nn.pooling import (
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices,
    fractional_max_pool2d,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
)
from impl.nn.unpooling import max_unpool1d, max_unpool2d, max_unpool3d
from impl.operators.images.adaptive_pooling import adaptive_avg_pool1d
from impl.operators.images.average_pooling import avg_pool1d, avg_pool2d, avg_pool3d
from impl.operators.indexing.gathering import one_hot
from impl.operators.layers.attention import scaled_dot_product_attention
from impl.operators.layers.conv_tbc import conv_tbc
from impl.operators.layers.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from impl.operators.losses.similarity import cosine_similarity, pairwise_distance
from impl.operators.products.linear import linear
from impl.overrides import (
    handle_torch_function,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
)

bilinear = FUNCTIONS["bilinear"]
channel_shuffle = FUNCTIONS["channel_shuffle"]
native_channel_shuffle = FUNCTIONS["native_channel_shuffle"]
pdist = FUNCTIONS["pdist"]
pixel_shuffle = FUNCTIONS["pixel_shuffle"]
pixel_unshuffle = FUNCTIONS["pixel_unshuffle"]
