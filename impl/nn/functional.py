"""`torch.nn.functional`: the operators under the names and defaults that people call them by."""

from __future__ import annotations

from impl.nn.activation import (
    celu,
    celu_,
    elu,
    elu_,
    gelu,
    glu,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    hardtanh_,
    leaky_relu,
    leaky_relu_,
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
    softplus,
    softshrink,
    softsign,
    tanh,
    tanhshrink,
    threshold,
    threshold_,
)
from impl.nn.channels import (
    channel_shuffle,
    local_response_norm,
    pixel_shuffle,
    pixel_unshuffle,
)
from impl.nn.interpolation import interpolate, upsample, upsample_bilinear, upsample_nearest
from impl.nn.loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    smooth_l1_loss,
)
from impl.nn.loss_linear import linear_cross_entropy
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
from impl.nn.pooling_with_indices import (
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d_with_indices,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d_with_indices,
    max_pool2d_with_indices,
    max_pool3d_with_indices,
)
from impl.nn.power_pooling import lp_pool1d, lp_pool2d, lp_pool3d
from impl.nn.sampled_softmax import gumbel_softmax
from impl.operators.adaptive_maxima import (
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
)
from impl.operators.adaptive_pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
)
from impl.operators.affine_grids import affine_grid
from impl.operators.attention import scaled_dot_product_attention
from impl.operators.average_pooling import avg_pool1d, avg_pool2d, avg_pool3d
from impl.operators.batch_norm import batch_norm, instance_norm
from impl.operators.blocks import fold, unfold
from impl.operators.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from impl.operators.cross_entropy import cross_entropy
from impl.operators.distances import pdist
from impl.operators.dropout import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
)
from impl.operators.embedding import embedding
from impl.operators.embedding_bag import embedding_bag
from impl.operators.fractional_pooling import fractional_max_pool2d, fractional_max_pool3d
from impl.operators.gathering import one_hot
from impl.operators.grid_sampling import grid_sample
from impl.operators.head_attention import multi_head_attention_forward
from impl.operators.layer_norm import group_norm, layer_norm, rms_norm
from impl.operators.linear import linear
from impl.operators.losses_nll import nll_loss
from impl.operators.padding import pad
from impl.operators.pooling import (
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool3d,
)
from impl.operators.similarity import cosine_similarity, normalize, pairwise_distance
from impl.operators.softmax import functional_log_softmax as log_softmax
from impl.operators.softmax import functional_softmax as softmax
from impl.operators.softmax import softmin
from impl.operators.temporal_convolution import conv_tbc
from impl.operators.trilinear import bilinear
from impl.operators.unpooling import max_unpool1d, max_unpool2d, max_unpool3d
