"""`torch.nn.functional`: functions of layers, with the names and defaults of PyTorch."""

from __future__ import annotations

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
    native_channel_shuffle,
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
    linear_cross_entropy,
    mse_loss,
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
from impl.nn.pooling import (
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d_with_indices,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d_with_indices,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool2d_with_indices,
    max_pool3d_with_indices,
)
from impl.operators.activations.dropout import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
)
from impl.operators.activations.softmax import functional_log_softmax as log_softmax
from impl.operators.activations.softmax import functional_softmax as softmax
from impl.operators.activations.softmax import softmin
from impl.operators.copies.padding import pad
from impl.operators.images.adaptive_maxima import (
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
)
from impl.operators.images.adaptive_pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
)
from impl.operators.images.affine_grids import affine_grid
from impl.operators.images.average_pooling import avg_pool1d, avg_pool2d, avg_pool3d
from impl.operators.images.fractional_pooling import fractional_max_pool2d, fractional_max_pool3d
from impl.operators.images.grid_sampling import grid_sample
from impl.operators.images.pooling import (
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool3d,
)
from impl.operators.images.unfold_fold import fold, unfold
from impl.operators.images.unpooling import max_unpool1d, max_unpool2d, max_unpool3d
from impl.operators.indexing.embedding import embedding
from impl.operators.indexing.embedding_bag import embedding_bag
from impl.operators.indexing.gathering import one_hot
from impl.operators.layers.attention import scaled_dot_product_attention
from impl.operators.layers.batch_norm import batch_norm, instance_norm
from impl.operators.layers.conv_tbc import conv_tbc
from impl.operators.layers.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from impl.operators.layers.group_norm import verified_group_norm as group_norm
from impl.operators.layers.layer_norm import layer_norm, rms_norm
from impl.operators.layers.multi_head_attention import multi_head_attention_forward
from impl.operators.losses.cross_entropy import cross_entropy
from impl.operators.losses.losses_nll import nll_loss
from impl.operators.losses.similarity import cosine_similarity, normalize, pairwise_distance
from impl.operators.products.bilinear import bilinear
from impl.operators.products.linear import linear
from impl.operators.reductions.cdist import pdist
