"""Variance and standard deviation."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from impl.core.dims import wrap_dims
from impl.core.dtypes import BY_NUMPY, FLOATING, REDUCED, float64, real_of
from impl.core.meta_arrays import reduced_shape
from impl.core.meta_functions import reduced
from impl.core.state import STATE
from impl.core.warning import warn
from impl.dispatch.definition import OPERATORS, Array, function, operator
from impl.dispatch.not_implemented import not_implemented
from impl.dispatch.out import fit, store, warn_of_temporary
from impl.kernels.casting import storable
from impl.operators.reductions.reductions import reduced_size, restore
from impl.tensor.batched_tensor import levels_of
from impl.tensor.memory_overlap import check_cast
from impl.tensor.tensor import Tensor


def _correction(dim, correction, unbiased):
    """The correction as torch's overload passes it on; None stands for 1 and is saved as it is."""
    if unbiased is not None:
        return 1 if unbiased else 0
    return correction if dim is None or correction is not None else 1


def _degrees_of_freedom(count: int, correction) -> float:
    """Raises RuntimeError for a complex correction with an imaginary part."""
    if isinstance(correction, complex):
        correction = storable(correction, float64.numpy).item()
    return count - (1 if correction is None else correction)


def variance_and_mean(raw, dim, correction, keepdim) -> tuple:
    """The variance of an array over `dim` and its mean, both in double precision.

    ATen's WelfordOps accumulate in double whatever the dtype is, and the parts of a complex number
    apart: its variance is the sum of theirs.
    """
    if raw.dtype.kind == "c":
        real, real_mean = variance_and_mean(raw.real, dim, correction, keepdim)
        imag, imag_mean = variance_and_mean(raw.imag, dim, correction, keepdim)
        mean = np.empty(np.shape(real_mean), np.complex128)
        mean.real, mean.imag = real_mean, imag_mean
        return real + imag, mean
    dims = wrap_dims(dim, raw.ndim)
    wide = raw.astype(np.float64)
    count = reduced_size(raw.shape, dim)
    mean = np.sum(wide, axis=dims, keepdims=True) / np.float64(count)
    deviation = wide - mean
    divisor = max(_degrees_of_freedom(count, correction), 0) if raw.size else np.nan
    value = np.sum(deviation * deviation, axis=dims, keepdims=keepdim) / np.float64(divisor)
    infinite = np.isinf(mean)
    if infinite.any():
        mean = np.where(infinite & ~_ends_infinite(wide, dims), np.nan, mean)
    return value, mean if keepdim else mean.reshape(np.shape(value))


def _ends_infinite(wide, dims):
    """Whether only the last element that is reduced is infinite: Welford's running mean is nan
    where an element follows an infinity."""
    dims = tuple(range(wide.ndim)) if dims is None else dims
    infinite = np.isinf(wide)
    last = tuple(slice(-1, None) if d in dims else slice(None) for d in range(wide.ndim))
    return infinite[last] & (np.sum(infinite, axis=dims, keepdims=True) == 1)


def variance(raw, dim, correction, keepdim):
    """The variance of an array over `dim`, in double precision."""
    return variance_and_mean(raw, dim, correction, keepdim)[0]


def _of_all(args) -> bool:
    """Whether ATen computes the one result by its kernel for all elements."""
    self, dim, *_ = args
    kept = reduced_shape(self._raw.shape, wrap_dims(dim, self._raw.ndim), False)
    return math.prod(kept) == 1 and self._raw.size > 0 and self._raw.dtype.char in "fd"


def _writes(args) -> int:
    """A result is filled where it is that of all elements, or of none."""
    return int(_of_all(args) or not args[0]._raw.size)


def _written_by(args) -> str | None:
    """ATen's kernel for all elements takes their mean, which is a sum with `out=`; not of one."""
    return "sum" if _of_all(args) else None


@operator(
    node="VarBackward0",
    function=False,
    method=False,
    layout_sensitive=True,
    writes=_writes,
    written_by=_written_by,
    batching="dims",
)
def var_correction(self: Array, dim, correction, keepdim) -> Array:
    return variance(self, dim, correction, keepdim).astype(real_dtype(self.dtype))


def var_backward(F, grad, self, dim, correction, keepdim):
    """The gradient of a variance of `value`, with the operations of torch's."""
    shape = self.shape
    # For the gradient, though not for the value, the empty tuple stands for no dimension.
    count = 1 if dim in ((), []) else reduced_size(shape, dim)
    freedom = _degrees_of_freedom(count, correction)
    if dim is None or not shape:
        if freedom <= 0:
            return grad * F.where(self == F.mean_all(self), math.nan, math.inf)
        return F.mul_scalar(grad, 2.0 / freedom) * (self - F.mean_all(self))
    if len(shape) > 1:
        grad = restore(F, grad, dim, keepdim, len(shape))
    factor = 2.0 / freedom if freedom else math.inf
    return F.mul_scalar(grad, factor) * (self - F.mean_dim(self, dim, True))


var_correction.gradient(self=var_backward)


@operator(
    node="StdBackward0",
    function=False,
    method=False,
    layout_sensitive=True,
    writes=_writes,
    written_by=_written_by,
    batching="dims",
)
def std_correction(self: Array, dim, correction, keepdim) -> Array:
    return np.sqrt(variance(self, dim, correction, keepdim)).astype(real_dtype(self.dtype))


def real_dtype(dtype: np.dtype) -> np.dtype:
    """The NumPy dtype of the real numbers of a dtype."""
    return real_of(BY_NUMPY[dtype]).numpy


def std_backward(F, grad, self, result, dim, correction, keepdim):
    """The gradient of a standard deviation of `value`; zero where that is."""
    scaled = F.masked_fill(grad / F.mul_scalar(result, 2), result == 0, 0)
    return var_backward(F, scaled, self, dim, correction, keepdim)


std_correction.gradient(self=std_backward)


def var_tangent(F, self_t, self, dim, correction, keepdim):
    """The tangent of a variance of `value`."""
    # torch's constant, which has its own dtype.
    if self.ndim == 0 and _degrees_of_freedom(1, correction) <= 0:
        slope = F.conj(self_t) * F.where(self == F.mean_all(self), math.nan, math.inf)
    else:
        slope = var_backward(F, F.conj(self_t), self, dim, correction, True)
    return F.real_part(F.sum_dim(slope, dim, keepdim))


var_correction.forward(var_tangent)
std_correction.forward(
    lambda F, self_t, self, result, dim, correction, keepdim: F.fill_fresh(
        var_tangent(F, self_t, self, dim, correction, keepdim) / F.mul_scalar(result, 2.0),
        result == 0,
        0,
    )
)


def spread(apply, name: str, input, dim, unbiased, correction, keepdim):
    """Apply one of the operators above or their relatives to the arguments as callers give them.

    Raises NotImplementedError for integers; warns where there are no degrees of freedom.
    """
    if isinstance(dim, bool):  # var(unbiased)
        dim, unbiased = None, dim
    correction = _correction(dim, correction, unbiased)
    if input.dtype.category < FLOATING:
        who = "std and var" if name in ("std", "var") else name
        raise NotImplementedError(f"{who} only support floating point and complex dtypes")
    dims = wrap_dims(dim, input.ndim)
    kept = math.prod(n for d, n in enumerate(input._raw.shape) if d not in dims)
    examples = math.prod(level.size for level in levels_of(input)) if STATE.batched else 1
    if _degrees_of_freedom(input.numel() // kept if kept * examples else 0, correction) <= 0:
        # The variance of complex numbers is the sum of two.
        times = 2 if input.dtype.is_complex else 1
        warning = (
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the "
            "reduction factor (input numel divided by output numel)."
        )
        for _ in range(times):
            warn(warning)
    if dim is not None and isinstance(dim, int):
        dim = (dim,)
    return apply(input, dim, correction, keepdim)


def _resized_first(
    name: str, out, input, dim=None, unbiased=None, keepdim=False, *, correction=None
) -> None:
    """Resize `out=` before the degrees of freedom are looked at; for complex numbers the sum of two
    variances is written into it later. Raises NotImplementedError for one of complex numbers,
    unless the input has them or a single number is computed, RuntimeError for one of integers, and
    for a single number of half or bfloat16 in an `out=` of another dtype."""
    if not isinstance(out, Tensor) or input.dtype.category < FLOATING:
        return
    if input.is_complex():
        check_cast(input._raw.real.dtype, out._raw.dtype)
        return
    dims = wrap_dims(None if isinstance(dim, bool) else dim, input.ndim)
    fit(out, reduced_shape(input._raw.shape, dims, keepdim))
    check_cast(input._raw.dtype, out._raw.dtype)
    if not input.numel():
        return
    if out.numel() != 1 and out.dtype.is_complex:
        raise not_implemented("std_cpu", out.dtype)
    if out.numel() == 1 and input._raw.dtype in REDUCED and out._raw.dtype not in REDUCED:
        spread(_refuse_half, name, input, dim, unbiased, correction, keepdim)


def _refuse_half(input, *settings) -> None:
    raise RuntimeError(f"std_var_all: Unsupported dtype {input.dtype.legacy}")


def _stored(name: str, out, result):
    """`store`, where an `out=` of complex numbers in which a sum is cast is resized twice."""
    if isinstance(out, Tensor) and out.dtype.is_complex:
        warn_of_temporary(out, result._raw.shape, result._raw.dtype)
    return store(name, out, result)


@function(out=True, before=partial(_resized_first, "var"), storing=_stored)
def var(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The variance with Bessel's correction by default (torch.var)."""
    return spread(var_correction, "var", input, dim, unbiased, correction, keepdim)


@function(out=True, before=partial(_resized_first, "std"), storing=_stored)
def std(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The standard deviation; its gradient is zero where it is zero (torch.std)."""
    return spread(std_correction, "std", input, dim, unbiased, correction, keepdim)


for _name in ("var_correction", "std_correction"):
    OPERATORS[_name].on_large_meta(
        lambda self, dim, correction, keepdim: reduced(None)(self, dim, keepdim)
    )
