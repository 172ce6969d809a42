"""Fusion of batch normalisation, in evaluation mode, into the layer before it."""

from __future__ import annotations

import copy
from typing import Any

from impl.core.registry import C
from impl.nn.modules.module import Module
from impl.nn.parameter import Parameter
from impl.tensor.tensor import Tensor


def _check_mode(layer: Module, bn: Module) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")


def _fused(layer: Module, bn: Module, fuse_weights, *settings) -> Module:
    """A copy of a layer with the weight and bias that `fuse_weights` computes."""
    fused = copy.deepcopy(layer)
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    given = fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    fused.weight, fused.bias = fuse_weights(*given, *settings)
    return fused


def fuse_conv_bn_eval(conv: Module, bn: Module, transpose: bool = False) -> Module:
    """A copy of a convolution with a batch normalisation fused into it. Raises AssertionError in
    training and without running statistics (torch.nn.utils.fuse_conv_bn_eval)."""
    _check_mode(conv, bn)
    return _fused(conv, bn, fuse_conv_bn_weights, transpose)


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Any,
    bn_rm: Any,
    bn_rv: Any,
    bn_eps: float,
    bn_w: Any,
    bn_b: Any,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution that includes the normalisation after it; `transpose` if the
    weight's second dimension is that of the outputs."""
    of_weight, of_bias = conv_w.dtype, conv_w.dtype if conv_b is None else conv_b.dtype
    like, zeros, ones = bn_rm, C.zeros_like, C.ones_like
    bias = zeros(like) if conv_b is None else conv_b
    bn_w = ones(like) if bn_w is None else bn_w
    bn_b = zeros(like) if bn_b is None else bn_b
    scale = (bn_rv + bn_eps).rsqrt()
    shape = [1, -1] if transpose else [-1, 1]
    shape += [1] * (conv_w._raw.ndim - 2)
    weight = (conv_w * (bn_w * scale).reshape(shape)).to(dtype=of_weight)
    fused = ((bias - bn_rm) * scale * bn_w + bn_b).to(dtype=of_bias)
    return Parameter(weight, conv_w.requires_grad), Parameter(fused, bias.requires_grad)


def fuse_linear_bn_eval(linear: Module, bn: Module) -> Module:
    """A copy of a linear layer with a batch normalisation fused into it. Raises AssertionError in
    training, without running statistics, and for another number of features
    (torch.nn.utils.fuse_linear_bn_eval)."""
    _check_mode(linear, bn)
    if bn.num_features not in (1, linear.out_features):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    return _fused(linear, bn, fuse_linear_bn_weights)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Any,
    bn_rm: Any,
    bn_rv: Any,
    bn_eps: float,
    bn_w: Any,
    bn_b: Any,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a linear layer that includes the normalisation after it."""
    of_bias = linear_w.dtype if linear_b is None else linear_b.dtype
    bias = C.zeros_like(bn_rm) if linear_b is None else linear_b
    scale = bn_w * (bn_rv + bn_eps).rsqrt()
    weight = linear_w * scale.unsqueeze(-1).to(dtype=linear_w.dtype)
    fused = ((bias - bn_rm) * scale + bn_b).to(dtype=of_bias)
    return Parameter(weight, linear_w.requires_grad), Parameter(fused, bias.requires_grad)
