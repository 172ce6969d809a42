"""Variance or standard deviation together with the mean: var_mean, std_mean."""

from __future__ import annotations

import numpy as np

from impl.dispatch.definition import Array, function, operator
from impl.dispatch.formula_helpers import summed
from impl.operators.reductions.reductions import reduced_size, sum_backward
from impl.operators.reductions.variance import (
    real_dtype,
    spread,
    std_backward,
    var_backward,
    var_tangent,
    variance_and_mean,
)


@operator(
    layout_sensitive=True,
    node="VarMeanBackward0",
    outputs=("result0", "result1"),
    function=False,
    method=False,
    writes=lambda args: not args[0]._raw.size,
    batching="dims",
)
def var_mean_correction(self: Array, dim, correction, keepdim) -> tuple:
    value, mean = variance_and_mean(self, dim, correction, keepdim)
    return value.astype(real_dtype(self.dtype)), mean.astype(self.dtype)


@operator(
    layout_sensitive=True,
    node="StdMeanBackward0",
    outputs=("result0", "result1"),
    function=False,
    method=False,
    writes=lambda args: not args[0]._raw.size,
    batching="dims",
)
def std_mean_correction(self: Array, dim, correction, keepdim) -> tuple:
    value, mean = variance_and_mean(self, dim, correction, keepdim)
    return np.sqrt(value).astype(real_dtype(self.dtype)), mean.astype(self.dtype)


def _of_mean(F, grad, shape, dim, keepdim):
    count = reduced_size(shape, dim)
    return F.div_scalar(sum_backward(F, grad, shape, dim, keepdim), count)


@var_mean_correction.gradients("self")
def _var_mean_gradient(F, grads, self, dim, correction, keepdim):
    of_var, of_mean = grads
    result = None
    if of_var is not None:
        result = var_backward(F, of_var, self, dim, correction, keepdim)
    if of_mean is not None:
        result = summed(result, _of_mean(F, of_mean, tuple(self.shape), dim, keepdim))
    return result


@std_mean_correction.gradients("self")
def _std_mean_gradient(F, grads, self, dim, correction, keepdim, result0):
    of_std, of_mean = grads
    result = None
    if of_std is not None:
        result = std_backward(F, of_std, self, result0, dim, correction, keepdim)
    if of_mean is not None:
        result = summed(result, _of_mean(F, of_mean, tuple(self.shape), dim, keepdim))
    return result


def _mean_tangent(F, self_t, dim, keepdim):
    return F.mean_dim(self_t, () if dim is None else dim, keepdim)


var_mean_correction.forward(
    result0=lambda F, self_t, self, dim, correction, keepdim: var_tangent(
        F, self_t, self, dim, correction, keepdim
    ),
    result1=_mean_tangent,
)
std_mean_correction.forward(
    result0=lambda F, self_t, self, result0, dim, correction, keepdim: F.masked_fill(
        var_tangent(F, self_t, self, dim, correction, keepdim) / F.mul_scalar(result0, 2.0),
        result0 == 0,
        0,
    ),
    result1=_mean_tangent,
)


@function(method=False)
def var_mean(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The variance, and the mean, over `dim` (torch.var_mean)."""
    return spread(var_mean_correction, "var_mean", input, dim, unbiased, correction, keepdim)


@function(method=False)
def std_mean(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The standard deviation, and the mean, over `dim` (torch.std_mean)."""
    return spread(std_mean_correction, "std_mean", input, dim, unbiased, correction, keepdim)
