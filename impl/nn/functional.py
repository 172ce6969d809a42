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
from impl.nn.loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    smooth_l1_loss,
)
from impl.operators.adaptive_pooling import adaptive_avg_pool1d, adaptive_avg_pool2d
from impl.operators.attention import (
    multi_head_attention_forward,
    scaled_dot_product_attention,
)
from impl.operators.average_pooling import avg_pool1d, avg_pool2d, avg_pool3d
from impl.operators.batch_norm import batch_norm, instance_norm
from impl.operators.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from impl.operators.dropout import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
)
from impl.operators.embedding import embedding
from impl.operators.gathering import one_hot
from impl.operators.layer_norm import group_norm, layer_norm, rms_norm
from impl.operators.losses_nll import cross_entropy, nll_loss
from impl.operators.norms import cosine_similarity, normalize, pairwise_distance
from impl.operators.padding import pad
from impl.operators.pooling import (
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool3d,
)
from impl.operators.products import linear
from impl.operators.softmax import functional_log_softmax as log_softmax
from impl.operators.softmax import functional_softmax as softmax
from impl.operators.softmax import softmin
from impl.operators.unpooling import max_unpool1d, max_unpool2d, max_unpool3d
