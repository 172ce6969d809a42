"""Sums, means and products.

Gradients follow torch's derivatives: a reduction's gradient is restored to the reduced dimensions
and spread by expansion; products divide by the element where no element is zero.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from impl.core import messages
from impl.core.dims import wrap_dim, wrap_dims
from impl.core.dtypes import BY_NUMPY, FLOATING, INTEGRAL, REDUCED, dtype, get_default_dtype
from impl.core.meta_arrays import is_meta, reduced_shape
from impl.core.registry import tensor_ops
from impl.core.state import STATE
from impl.core.warning import warn_once
from impl.dispatch.definition import Array, formula_operation, function, operator
from impl.dispatch.facts import NoComplex, SavedAs
from impl.dispatch.not_implemented import not_implemented, refuse_integer_result
from impl.dispatch.out import fill_out, named_out, stored_reduction, working_dtype
from impl.dispatch.vmap_rules import fronted, hide
from impl.kernels import vectorized
from impl.kernels.casting import converted
from impl.kernels.reduced_precision import widened
from impl.kernels.sum_to import sum_to
from impl.tensor.batched_tensor import BatchedTensor
from impl.tensor.memory_overlap import check_cast
from impl.tensor.tensor import dispatches
from impl.tensor.wrappers import is_wrapped


def in_dtype(raw, dtype):
    """The operand of a reduction in the dtype that was asked for; the real part, with a warning, of
    complex numbers."""
    if raw.dtype.kind == "c" and dtype.numpy.kind not in "cb" and raw.size:
        warn_once(messages.DISCARDED)
    return converted(raw, dtype.numpy)


def summable(raw, dtype):
    """The operand of a sum or product: in the dtype that was asked for, else integers as int64."""
    if dtype is not None:
        return in_dtype(raw, dtype)
    return raw.astype(np.int64) if BY_NUMPY[raw.dtype].category <= INTEGRAL else raw


def accumulate(reduction, raw, axis=None, keepdims: bool = False, **options):
    """Apply a NumPy reduction; half and bfloat16 are accumulated in float32.

    The result has the array's dtype, which NumPy would widen for short integers, and is row-major,
    as ATen's are, whatever the order of dimensions.
    """
    wide = widened(raw)
    if reduction is np.sum and axis is None and not keepdims and not options:
        result = vectorized.total(wide)
    elif reduction is np.sum and not options:
        result = vectorized.sum_along(wide, axis, keepdims)
    else:
        result = reduction(wide, axis=axis, keepdims=keepdims, **options)
    if result.ndim > 1 and not result.flags.c_contiguous:
        result = np.ascontiguousarray(result)
    return result if result.dtype == raw.dtype else result.astype(raw.dtype)


def restore(F, value, dims, keepdim: bool, ndim: int):
    """Put the reduced dimensions back, with size one, where `keepdim` did not keep them.

    The empty tuple reduces all dimensions, and then the gradient broadcasts as it is.
    """
    if keepdim or ndim == 0 or dims in ((), []):
        return value
    for dim in sorted(wrap_dims(dims, ndim)):
        value = F.unsqueeze(value, dim)
    return value


def flat(value, level):
    """The examples of a batch, each as one dimension; those of no dimensions have one element."""
    whole = fronted(value, level)
    if whole._raw.ndim == 2:
        return whole
    return whole.reshape(level.size, math.prod(whole._raw.shape[1:]))


def over_all(all_op, dim_op) -> None:
    """State the batching rule of a reduction of all elements: the one over all dimensions but the
    mapped one."""

    @all_op.batches
    def of_batch(args, level):
        batch, *rest = args
        value = fronted(batch, level)
        if value._raw.ndim == 1:
            value = value.unsqueeze(1)
        axes = tuple(range(1, value._raw.ndim))
        return hide(dim_op(value, axes, False, *rest), level)


def reduced_size(shape, dims=None) -> int:
    """How many elements of `shape` go into one of the result."""
    return math.prod(shape[d] for d in wrap_dims(dims, len(shape)))


# -- sum and mean -----------------------------------------------------------------------------


@operator(node="SumBackward0", function=False, method=False, writes=1)
def sum_all(self: Array, dtype=None) -> Array:
    return accumulate(np.sum, summable(self, dtype))


sum_all.gradient(self=lambda F, grad, self_shape: F.expand(grad, self_shape))
sum_all.forward("linear")


@operator(
    node="SumBackward1",
    function=False,
    method=False,
    writes=1,
    saved_as=SavedAs(dim_as_tuple=True),
    batching="dims",
)
def sum_dim(self: Array, dim=None, keepdim=False, dtype=None) -> Array:
    return accumulate(np.sum, summable(self, dtype), wrap_dims(dim, self.ndim), keepdim)


def sum_backward(F, grad, shape, dim, keepdim):
    """The gradient of a sum of a tensor of `shape` over `dim`."""
    if dim is None:
        return F.expand(grad, shape)
    return F.expand(restore(F, grad, dim, keepdim, len(shape)), shape)


sum_dim.gradient(
    self=lambda F, grad, self_shape, dim, keepdim: sum_backward(F, grad, self_shape, dim, keepdim)
)
sum_dim.forward("linear")
over_all(sum_all, sum_dim)


# The default of a dimension that may be None: `sum(None)` is the overload with dimensions.
_UNSTATED: Any = object()


def _dtype_for(name: str, out, dtype, input, dim, keepdim: bool, text: str | None = None):
    """The dtype in which a reduction computes, `working_dtype` where it has `out=`."""
    if out is None:
        return dtype
    dims = None if dim is _UNSTATED else dim

    def shape():
        return reduced_shape(input._raw.shape, wrap_dims(dims, input._raw.ndim), keepdim)

    return working_dtype(name, out, dtype, input, shape, text=text)


@function("sum")
@named_out("sum")
def sum_(input, dim=_UNSTATED, keepdim=False, *, dtype=None, out=None):
    """The sum of all elements, or over `dim` (torch.sum). Integers are summed as int64."""
    dtype = _dtype_for("sum", out, dtype, input, dim, keepdim)
    refuse_integer_result(input, dtype)

    def compute():
        return sum_all(input, dtype) if dim is _UNSTATED else sum_dim(input, dim, keepdim, dtype)

    return stored_reduction("sum", out, input, compute)


@operator(
    node="MeanBackward0",
    function=False,
    method=False,
    writes=2,
    written_by="sum",
    saved_as=SavedAs(parts=("_sym_sizes", "_sym_strides", "_dim", "_sym_numel")),
)
def mean_all(self: Array, dtype=None) -> Array:
    return mean_of(self if dtype is None else in_dtype(self, dtype), None, False)


def mean_of(raw, dims, keepdim: bool):
    """The mean of an array over `dims`, None for all; half and bfloat16 by way of float32."""
    wide = widened(raw)
    if dims is None and not keepdim:
        total = vectorized.total(wide)
    else:
        total = vectorized.sum_along(wide, dims, keepdim)
    count = raw.size if dims is None else math.prod(raw.shape[d] for d in dims)
    return (total / total.dtype.type(count)).astype(raw.dtype)


mean_all.gradient(
    self=lambda F, grad, self_shape: F.div_scalar(
        F.expand(grad, self_shape), reduced_size(self_shape)
    )
)
mean_all.forward("linear")


@operator(
    node="MeanBackward1",
    function=False,
    method=False,
    writes=2,
    written_by="sum",
    saved_as=SavedAs(parts=("_sym_sizes", "_sym_strides", "_dim", "_sym_numel"), dim_as_tuple=True),
    batching="dims",
)
def mean_dim(self: Array, dim=None, keepdim=False, dtype=None) -> Array:
    dims = wrap_dims(dim, self.ndim)
    return mean_of(self if dtype is None else in_dtype(self, dtype), dims, keepdim)


mean_dim.gradient(
    self=lambda F, grad, self_shape, dim, keepdim: F.div_scalar(
        sum_backward(F, grad, self_shape, dim, keepdim), reduced_size(self_shape, dim)
    )
)
mean_dim.forward("linear")
over_all(mean_all, mean_dim)


def _no_mean(name: str, kind: dtype, what: str) -> str:
    return (
        f"{name}(): could not infer output dtype. {what} must be either a floating point or "
        f"complex dtype. Got: {kind.legacy}"
    )


@function()
@named_out("mean")
def mean(input, dim=_UNSTATED, keepdim=False, *, dtype=None, out=None):
    """The mean of all elements, or over `dim`. Raises NotImplementedError for integers
    (torch.mean)."""
    kind = dtype or input.dtype
    if dim is _UNSTATED and out is not None and input.dtype.category > out.dtype.category:
        raise RuntimeError(
            "mean.dtype_out(): input types can't be cast to the desired output type "
            f"{out.dtype.legacy}"
        )
    if kind.category < FLOATING:
        what = "Input dtype" if dtype is None else "Optional dtype"
        raise NotImplementedError(_no_mean("mean", kind, what))
    dtype = _dtype_for("mean", out, dtype, input, dim, keepdim)
    if dtype is not None:
        whole = dtype.category < FLOATING
        check_cast(get_default_dtype().numpy if whole else dtype.numpy, dtype.numpy)

    def compute():
        return mean_all(input, dtype) if dim is _UNSTATED else mean_dim(input, dim, keepdim, dtype)

    return stored_reduction("mean", out, input, compute)


_NO_COMPLEX_NANSUM = "nansum on CPU does not support complex inputs"


@operator(
    writes=1,
    node="NansumBackward0",
    function=False,
    method=False,
    complex=NoComplex(text=_NO_COMPLEX_NANSUM),
    batching="dims",
)
def nansum_dim(self: Array, dim=None, keepdim=False, dtype=None) -> Array:
    floating = BY_NUMPY[self.dtype].category > INTEGRAL
    if dtype is not None and dtype.is_complex and floating:  # integers are merely summed
        raise not_implemented("nansum_cpu", dtype)
    raw = self if dtype is None else in_dtype(self, dtype)
    if BY_NUMPY[raw.dtype].category <= INTEGRAL:
        raw = raw.astype(np.int64) if dtype is None else raw
    else:
        raw = np.where(np.isnan(raw), raw.dtype.type(0), raw)
    return accumulate(np.sum, raw, wrap_dims(dim, self.ndim), keepdim)


nansum_dim.gradient(
    self=lambda F, grad, self, dim, keepdim: (
        sum_backward(F, grad, self.shape, dim, keepdim) * F.logical_not(F.isnan(self))
    )
)
nansum_dim.forward(
    lambda F, self_t, self, dim, keepdim, dtype: F.sum_dim(
        F.where(F.isnan(self), 0, self_t), dim, keepdim, dtype
    )
)


@function()
@named_out("nansum")
def nansum(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """The sum with NaN counted as zero; a NaN's gradient is zero (torch.nansum)."""
    if out is not None and input.is_complex():
        raise NotImplementedError(_NO_COMPLEX_NANSUM)
    text = "nansum: provided dtype must match dtype of result. Got {1} and {0}."
    sums = input.dtype.category <= INTEGRAL  # which ATen passes to sum
    dtype = _dtype_for("nansum", out, dtype, input, dim, keepdim, None if sums else text)
    if out is not None and out.dtype.category != FLOATING and not sums:
        if not input._raw.size:
            fill_out(out, np.zeros(out._raw.shape, out._raw.dtype))
            return out
        raise not_implemented("nansum_cpu", out.dtype)
    refuse_integer_result(input, dtype)
    dims = (dim,) if isinstance(dim, int) else dim
    return stored_reduction("nansum", out, input, lambda: nansum_dim(input, dims, keepdim, dtype))


@function()
def nanmean(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """The mean of the elements that are not NaN (torch.nanmean).

    Raises NotImplementedError for integers and bools, RuntimeError for one of them as `dtype`.
    """
    if input.dtype.category < FLOATING and out is not None:
        raise NotImplementedError(
            "nanmean(): integral types and 'Bool' are not supported for nanmean, even for empty "
            "tensors."
        )
    if input.dtype.category < FLOATING:
        raise NotImplementedError(
            "nanmean(): expected input to have floating point or complex dtype but got "
            f"{input.dtype.legacy}"
        )
    if dtype is not None and dtype.category < FLOATING:
        raise RuntimeError(_no_mean("nanmean", dtype, "Optional dtype"))
    count = input.isnan().logical_not().sum(dim, keepdim)
    if out is None:
        return nansum(input, dim, keepdim, dtype=dtype) / count
    return nansum(input, dim, keepdim, dtype=dtype, out=out).div_(count)


# -- product ----------------------------------------------------------------------------------


_PRODUCT: dict[str, Any] = {
    "function": False,
    "method": False,
    "autocast": "fp32",
    "writes": 1,
    "layout_sensitive": True,
}


@operator(node="ProdBackward0", **_PRODUCT)
def prod_all(self: Array, dtype=None) -> Array:
    return _product(summable(self, dtype))


@operator(node="ProdBackward1", **_PRODUCT, batching="dims")
def prod_dim(self: Array, dim, keepdim=False, dtype=None) -> Array:
    dim = wrap_dim(dim, self.ndim)
    return _product(summable(self, dtype), dim if self.ndim else None, keepdim)


def _product(raw, dim=None, keepdim=False):
    """The product; half and bfloat16 are rounded after each factor, unlike sums."""
    if raw.dtype not in REDUCED:
        return accumulate(np.prod, raw, dim, keepdim)
    factors = np.moveaxis(raw, dim, 0) if dim is not None else np.reshape(raw, -1)
    total = np.ones(factors.shape[1:], raw.dtype)
    for factor in factors:
        total = total * factor
    return np.expand_dims(total, dim) if keepdim and dim is not None else total


def products_of_others(F, value, dim: int):
    """For each element the product of the others along `dim`, without division."""
    size = value.shape[dim]
    ones = F.ones_like(F.narrow(value, dim, 0, 1))
    before = F.cumprod(F.cat([ones, F.narrow(value, dim, 0, size - 1)], dim), dim)
    rest = F.flip(F.narrow(value, dim, 1, size - 1), (dim,))
    after = F.flip(F.cumprod(F.cat([ones, rest], dim), dim), (dim,))
    return before * after


def _prod_backward(F, grad, self, result):
    if self.ndim == 0:
        return grad
    if self.dtype != grad.dtype:
        self = F.cast_to(self, F.dtype_of(grad))
    if F.is_subclass_like(self):
        return F.view(_safe_prod_backward(F, grad, F.reshape(self, (-1,)), 0), self.shape)
    zeros = F.count_zeros(self)
    if not zeros:
        return grad * F.conj(result / self)
    if zeros > 1 and not F.records:
        return F.zeros_like(self)
    if F.numel(self) == 1:
        return F.reshape(grad, self.shape)
    flat = F.reshape(F.contiguous(self), (-1,))
    return F.reshape(grad * F.conj(products_of_others(F, flat, 0)), self.shape)


def _prod_dim_backward(F, grad, self, result, dim, keepdim):
    if self.ndim == 0:
        return grad
    dim = wrap_dim(dim, self.ndim)
    if not keepdim:
        grad, result = F.unsqueeze(grad, dim), F.unsqueeze(result, dim)
    if not F.is_subclass_like(self) and not F.count_zeros(self):
        return grad * F.conj(result / self)
    return _safe_prod_backward(F, grad, self, dim)


def _safe_prod_backward(F, grad, value, dim: int):
    if 0 in value.shape:
        return F.expand(grad, value.shape)
    if value.shape[dim] == 1:
        return grad
    return grad * F.conj(products_of_others(F, value, dim))


prod_all.gradient(self=_prod_backward)
prod_all.forward(
    lambda F, self_t, self, result: F.conj(
        F.sum_all(_prod_backward(F, F.ones_like(result), self, result) * F.conj(self_t))
    )
)


@prod_all.batches
def _prod_of_batch(args, level):
    return hide(prod_dim(flat(args[0], level), 1, False, *args[1:]), level)


prod_dim.gradient(self=_prod_dim_backward)
prod_dim.forward(
    lambda F, self_t, self, result, dim, keepdim: F.conj(
        F.sum_dim(
            _prod_dim_backward(F, F.ones_like(result), self, result, dim, keepdim) * F.conj(self_t),
            (dim,),
            keepdim,
        )
    )
)


@function()
@named_out("prod")
def prod(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """The product of all elements, or over one dimension (torch.prod)."""
    dtype = _dtype_for("prod", out, dtype, input, dim, keepdim)
    refuse_integer_result(input, dtype)

    def compute():
        return prod_all(input, dtype) if dim is None else prod_dim(input, dim, keepdim, dtype)

    return stored_reduction("prod", out, input, compute, start=1)


@formula_operation
def is_subclass_like(*values) -> bool:
    """Whether a value is of a transform, or of a class that operators ask, so that a formula must
    not look at its elements (ATen's areAnyTensorSubclassLike)."""
    return False


@formula_operation
def count_zeros(value) -> int:
    if is_meta(value):
        return 0
    return value.size - np.count_nonzero(value)


@formula_operation
def count_along(mask, dims, like):
    """How many elements are true, in the dtype of `like`; reduced dimensions keep size one."""
    counts = np.count_nonzero(np.asarray(mask), axis=wrap_dims(dims, mask.ndim), keepdims=True)
    return np.asarray(counts).astype(like.dtype)


@formula_operation
def numel(value) -> int:
    return int(value.size)


formula_operation(sum_to)


def _is_subclass_like(*values) -> bool:
    if STATE.dispatch_modes or STATE.before_write is not None:  # modes see all tensors
        return True
    return any(
        isinstance(value, BatchedTensor) or is_wrapped(value) or dispatches(value)
        for value in values
    )


tensor_ops.is_subclass_like = _is_subclass_like
tensor_ops.count_zeros = lambda value: count_zeros(value._raw)
tensor_ops.count_along = lambda mask, dims, like: mask.sum(wrap_dims(dims, mask.ndim), True)
tensor_ops.numel = lambda value: value.numel()
