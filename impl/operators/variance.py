"""Variance and standard deviation."""

from __future__ import annotations

import math
import warnings

import numpy as np

from impl.dimensions import wrap_dims
from impl.dtypes import BY_NUMPY, FLOATING, real_of
from impl.operator import Array, function, operator
from impl.operators.reductions import mean_of, reduced_size, restore
from impl.precision import widened


def _correction(correction, unbiased) -> float:
    if unbiased is not None:
        return 1 if unbiased else 0
    return 1 if correction is None else correction


def _variance(raw, dim, correction, keepdim):
    dims = wrap_dims(dim, raw.ndim)
    """The variance, of half and bfloat16 in float32."""
    wide = widened(raw)
    mean = mean_of(wide, dims, True)
    deviation = wide - mean
    squares = deviation * deviation
    if raw.dtype.kind == "c":  # distances squared, which are real
        squares = deviation.real**2 + deviation.imag**2
    total = np.sum(squares, axis=dims, keepdims=keepdim)
    divisor = max(reduced_size(raw.shape, dim) - correction, 0)
    return total / total.dtype.type(divisor)


@operator(node="VarBackward0", function=False, method=False)
def var_correction(self: Array, dim, correction, keepdim) -> Array:
    return _variance(self, dim, correction, keepdim).astype(_real(self.dtype))


def _mean_keeping(F, value, dim):
    return F.mean_all(value) if dim is None else F.mean_dim(value, dim, True)


def _var_backward(F, grad, value, dim, correction, keepdim):
    shape = value.shape
    count = reduced_size(shape, dim) - correction
    if dim is not None:
        grad = restore(F, grad, dim, keepdim, len(shape))
    factor = 2.0 / count if count > 0 else (math.nan if count == 0 else math.inf)
    if count == 0:
        factor = math.inf
    return F.mul_scalar(grad, factor) * (value - _mean_keeping(F, value, dim))


var_correction.gradient(
    self=lambda F, grad, self, dim, correction, keepdim: _var_backward(
        F, grad, self, dim, correction, keepdim
    )
)


@operator(node="StdBackward0", function=False, method=False)
def std_correction(self: Array, dim, correction, keepdim) -> Array:
    return np.sqrt(_variance(self, dim, correction, keepdim)).astype(_real(self.dtype))


def _real(dtype: np.dtype) -> np.dtype:
    return real_of(BY_NUMPY[dtype]).numpy


def _std_backward(F, grad, value, result, dim, correction, keepdim):
    scaled = F.masked_fill(grad / F.mul_scalar(result, 2), result == 0, 0)
    return _var_backward(F, scaled, value, dim, correction, keepdim)


std_correction.gradient(
    self=lambda F, grad, self, result, dim, correction, keepdim: _std_backward(
        F, grad, self, result, dim, correction, keepdim
    )
)


def _var_tangent(F, tangent, value, dim, correction, keepdim):
    if value.ndim == 0 and correction >= 1:  # torch's constant, which has its own dtype
        slope = F.conj(tangent) * F.where(value == F.mean_all(value), math.nan, math.inf)
    else:
        slope = _var_backward(F, F.conj(tangent), value, dim, correction, True)
    return F.real_part(F.sum_dim(slope, dim, keepdim))


var_correction.forward(
    lambda F, self_t, self, dim, correction, keepdim: _var_tangent(
        F, self_t, self, dim, correction, keepdim
    )
)
std_correction.forward(
    lambda F, self_t, self, result, dim, correction, keepdim: F.fill_fresh(
        _var_tangent(F, self_t, self, dim, correction, keepdim) / F.mul_scalar(result, 2.0),
        result == 0,
        0,
    )
)


def _spread(apply, input, dim, unbiased, correction, keepdim):
    if isinstance(dim, bool):  # var(unbiased)
        dim, unbiased = None, dim
    fix = _correction(correction, unbiased)
    name = "var" if apply is var_correction else "std"
    if input.dtype.category < FLOATING:
        raise RuntimeError("std and var only support floating point and complex dtypes")
    dims = wrap_dims(dim, input.ndim)
    kept = math.prod(n for d, n in enumerate(input._raw.shape) if d not in dims)
    if (input.numel() // kept if kept else 0) - fix <= 0:
        warnings.warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the "
            "reduction factor (input numel divided by output numel).",
            UserWarning,
            stacklevel=3,
        )
    if dim is not None and isinstance(dim, int):
        dim = (dim,)
    return apply(input, dim, fix, keepdim)


@function()
def var(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The variance with Bessel's correction by default (torch.var)."""
    return _spread(var_correction, input, dim, unbiased, correction, keepdim)


@function()
def std(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The standard deviation; its gradient is zero where it is zero (torch.std)."""
    return _spread(std_correction, input, dim, unbiased, correction, keepdim)
