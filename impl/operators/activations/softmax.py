"""Softmax, log-softmax, and log-sum-exp, with the maximum subtracted for stability.

Their derivatives are operators of their own (torch's `_softmax_backward_data`), so that a second
derivative has the graph torch gives it.
"""

from __future__ import annotations

import numpy as np

from impl.core import messages
from impl.core.dims import wrap_dim, wrap_dims
from impl.core.dtypes import BY_NUMPY, FLOATING, WIDE, get_default_dtype
from impl.core.inference_mode import refuses
from impl.core.meta_arrays import reduced_shape
from impl.core.meta_functions import like_first
from impl.core.registry import FUNCTIONS
from impl.core.state import STATE
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.facts import NoComplex
from impl.dispatch.not_implemented import not_implemented, require_scalar_type
from impl.dispatch.out import check_out, fit, named_out, refuse_links, set_output, store
from impl.dispatch.record import underived_out
from impl.dispatch.vmap_rules import ensured, hide, with_dims
from impl.kernels.reduced_precision import widened
from impl.kernels.vectorized import MODERATE, largest, ones, smallest, sum_along
from impl.operators.reductions.reductions import accumulate, restore
from impl.tensor.tensor import Tensor, requires_grad

_SEVERAL = 512  # elements, of which exponentials are so cheap that it pays to try without a shift


def checked(raw, dim: int, name: str) -> int:
    dim = wrap_dim(dim, raw.ndim)
    if raw.dtype not in WIDE and BY_NUMPY[raw.dtype].category != FLOATING and raw.size:
        loop = "lastdim_kernel_impl" if _is_last(raw, dim) else "kernel_impl"
        raise not_implemented(f"{name}_{loop}", BY_NUMPY[raw.dtype])
    return dim


def _exponentials(raw, dim: int):
    """exp(x) in new memory, and its sums along `dim`, which are kept.

    So that nothing overflows, rows are shifted by their maximum. Most need not be, as their sums
    show, which are found many times faster.
    """
    wide = np.asarray(widened(raw))
    if wide.size >= _SEVERAL:
        result = np.exp(wide)
        total = _total(result, dim)
        if smallest(total) > 1e-3 and largest(total) < np.inf:
            return result, total
    result = np.exp(_shifted(wide, dim))
    return result, _total(result, dim)


def _shifted(wide, dim: int):
    """The array less its maximum along `dim` (rows of a 0-dim tensor have one element)."""
    if wide.size == 0:
        return wide.copy()
    return wide - np.maximum.reduce(wide, dim if wide.ndim else None, keepdims=True)


def _is_last(raw, dim: int) -> bool:
    return dim == max(raw.ndim, 1) - 1


def _total(wide, dim: int):
    """The sum along `dim`, which is kept; rows of moderate length as a product with ones."""
    shape = wide.shape
    rows = dim == len(shape) - 1 > 0 and shape[dim] <= MODERATE and wide.flags.c_contiguous
    if rows and wide.dtype in WIDE:
        column = ones((shape[dim], 1), wide.dtype)
        return wide.dot(column) if dim == 1 else np.matmul(wide, column)
    return sum_along(wide, (dim,) if wide.ndim else None, True)


# The names are those of torch's nodes; they are reached as `softmax` and `log_softmax`.


@operator(
    node="SoftmaxBackward0",
    function=False,
    method=False,
    complex=NoComplex(derivative="_softmax"),
    batching="dims",
)
def softmax_along(self: Array, dim) -> Array:
    dim = checked(self, dim, "softmax")
    exponentials, total = _exponentials(self, dim)
    if self.dtype in WIDE:
        exponentials /= total
        return exponentials
    if not _is_last(self, dim):  # half precision keeps its intermediate values in the result
        exponentials = exponentials.astype(self.dtype, copy=False)
    return (exponentials / total).astype(self.dtype, copy=False)


def logarithms(raw, dim: int):
    """The log-softmax of float32 or float64 along a dimension that exists."""
    if raw.size >= _SEVERAL:
        total = _total(np.exp(raw), dim)
        # The logarithm of such a sum costs no more than the last digit.
        if smallest(total) > 1e-8 and largest(total) < 1e8:
            return raw - np.log(total)
    shifted = _shifted(np.asarray(raw), dim)
    shifted -= np.log(_total(np.exp(shifted), dim))
    return shifted


@operator(
    node="LogSoftmaxBackward0",
    function=False,
    method=False,
    complex=NoComplex(derivative="_log_softmax"),
    batching="dims",
)
def log_softmax_along(self: Array, dim) -> Array:
    dim = checked(self, dim, "log_softmax")
    if self.dtype in WIDE:
        return logarithms(self, dim)
    if not self.size:  # of any dtype
        return np.empty(self.shape, self.dtype)
    shifted = _shifted(np.asarray(widened(self)), dim)
    total = _total(np.exp(shifted), dim)
    if _is_last(self, dim):  # half precision rounds the sum and its logarithm
        total = np.log(total.astype(self.dtype, copy=False).astype(total.dtype, copy=False)).astype(
            self.dtype, copy=False
        )
    else:
        total = np.log(total)
    return (shifted - total).astype(self.dtype, copy=False)


@operator(node="SoftmaxBackwardDataBackward0", function=False, method=False, batching="dims")
def softmax_backward_data(grad_output: Array, output: Array, dim) -> Array:
    require_scalar_type(output, grad_output.dtype)
    if grad_output.shape != output.shape:
        raise RuntimeError(
            "Expected tensor for argument #1 'grad' to have same size as tensor for argument #2 "
            f"'output'; but {[*grad_output.shape]} does not equal {[*output.shape]} (while "
            "checking arguments for softmax_backward)"
        )
    dim = wrap_dim(dim, output.ndim)
    if output.ndim and output.dtype in WIDE:
        result = grad_output * output
        # Exact where one value is nearly all.
        np.subtract(grad_output, _total(result, dim), out=result)
        result *= output
        return np.ascontiguousarray(result)
    gradient, value = np.asarray(widened(grad_output)), np.asarray(widened(output))
    return ((gradient - _total(gradient * value, dim)) * value).astype(output.dtype, order="C")


@operator(node="LogSoftmaxBackwardDataBackward0", function=False, method=False, batching="dims")
def log_softmax_backward_data(grad_output: Array, output: Array, dim) -> Array:
    require_scalar_type(output, grad_output.dtype)
    dim = wrap_dim(dim, output.ndim)
    if output.ndim and output.dtype in WIDE:
        result = np.exp(output)
        result *= _total(grad_output, dim)
        np.subtract(grad_output, result, out=result)
        return np.ascontiguousarray(result)
    gradient, value = np.asarray(widened(grad_output)), np.asarray(widened(output))
    return (gradient - np.exp(value) * _total(gradient, dim)).astype(output.dtype, order="C")


def _batched_backward(op):
    """The batching rule: the gradient of numbers, whose softmax is one, is zeros without history
    (ATen/functorch/BatchRulesReduceOps.cpp)."""

    @op.batches
    def rule(args, level):
        grad_output, output, dim = args
        if output._raw.ndim:
            return with_dims(op, args, level)
        wrap_dim(dim, 0)
        return hide(FUNCTIONS["zeros_like"](ensured(grad_output, level)), level)


_batched_backward(softmax_backward_data)
_batched_backward(log_softmax_backward_data)

softmax_along.gradient(self="F.softmax_backward_data(grad, result, dim)")
log_softmax_along.gradient(self="F.log_softmax_backward_data(grad, result, dim)")


def _softmax_double_backward(F, grad, grad_output, output, dim):
    # The last term first: nodes that are recorded last are differentiated first.
    shared = grad_output * F.sum_dim(output * grad, (dim,), True)
    other = F.sum_dim(output * grad_output, (dim,), True) * grad
    return grad_output * grad - other - shared


def _log_softmax_double_backward(F, grad, grad_output, output, dim):
    exponential = F.exp(output)
    return -F.sum_dim(grad_output, (dim,), True) * exponential * grad


softmax_backward_data.gradient(
    grad_output=lambda F, grad, output, dim: F.softmax_backward_data(grad, output, dim),
    output=_softmax_double_backward,
)
log_softmax_backward_data.gradient(
    grad_output=lambda F, grad, output, dim: grad - F.sum_dim(grad * F.exp(output), (dim,), True),
    output=_log_softmax_double_backward,
)


# -- how torch spells them --------------------------------------------------------------------


def _prepared(input, dtype) -> Tensor:
    return input if dtype is None or dtype is input.dtype else input.to(dtype)


def _softmax_meta(out, input, dim, dtype=None):
    """Check the dtype of `out=` and resize it, before the kernel refuses integers; returns the
    operator's arguments."""
    input = _prepared(input, dtype)
    wrap_dim(dim, input._raw.ndim)
    set_output(out, input._raw.shape, input._raw.dtype)
    return input, dim


@function()
@underived_out("aten::softmax", before=_softmax_meta)
def softmax(input, dim, dtype=None):
    """exp(x) along `dim`, divided by its sum; computed in `dtype` if given (torch.softmax).

    Raises IndexError for a dimension out of range, NotImplementedError for integers.
    """
    return softmax_along(_prepared(input, dtype), dim)


@function()
@underived_out("aten::log_softmax", before=_softmax_meta)
def log_softmax(input, dim, dtype=None):
    """The logarithm of softmax, computed stably (torch.log_softmax). Errors as `softmax`."""
    return log_softmax_along(_prepared(input, dtype), dim)


# -- log-sum-exp ------------------------------------------------------------------------------


@operator(
    node="LogsumexpBackward0",
    function=False,
    method=False,
    writes=1,
    layout_sensitive=True,
    batching="dims",
)
def logsumexp_dims(self: Array, dim, keepdim) -> Array:
    axes = wrap_dims(dim, self.ndim)
    raw = np.asarray(self)
    if raw.size == 0:
        return np.log(accumulate(np.sum, np.exp(raw), axes, keepdim))
    highest = np.max(raw.real, axis=axes, keepdims=True)
    if len(dim) == 0 and raw.ndim and not keepdim:
        raise RuntimeError(messages.OUTPUT_SHAPE.format([], [1] * raw.ndim))
    # An infinite maximum is not subtracted: infinity less infinity is not a number.
    shift = np.where(np.isinf(highest), highest.dtype.type(0), highest)
    total = accumulate(np.sum, np.exp(raw - shift), axes, True)
    result = np.log(total) + shift
    return result if keepdim else result.squeeze(axes)


def _logsumexp_backward(F, grad, self, result, dim, keepdim):
    if dim:
        grad = restore(F, grad, dim, keepdim, self.ndim)
        result = restore(F, result, dim, keepdim, self.ndim)
    return grad * F.conj(F.exp(self - result))


logsumexp_dims.composes(refuses("logsumexp"))
logsumexp_dims.gradient(self=_logsumexp_backward)


def logsumexp_tangent(F, tangent, value, dim, keepdim):
    """The mean of the tangents, weighted by the exponentials."""
    highest = F.amax_dim(F.real_part(value), dim, True) if F.numel(value) else None
    exponentials = F.exp(value if highest is None else value - highest)
    total = F.sum_dim(exponentials, dim, keepdim)
    if STATE.transforms:  # in which ATen writes nothing in place (areAnyTensorSubclassLike)
        return F.sum_dim(exponentials * tangent, dim, keepdim) / total
    # In place, so the exponentials that were saved are stale, as they are in torch.
    return F.sum_dim(exponentials.mul_(tangent), dim, keepdim).div_(total)


logsumexp_dims.forward(
    lambda F, self_t, self, dim, keepdim: logsumexp_tangent(F, self_t, self, dim, keepdim)
)
softmax_along.forward(
    lambda F, self_t, self, result, dim: (
        result * (self_t - logsumexp_tangent(F, self_t, self, (dim,), True))
    )
)
log_softmax_along.forward(
    lambda F, self_t, self, dim: self_t - logsumexp_tangent(F, self_t, self, (dim,), True)
)


def _prepare_logarithm(out, input, dim, keepdim) -> None:
    """Resize `out=`. Raises RuntimeError where it has no floating dtype."""
    refuse_links("logsumexp", input, out)
    if out.dtype.category < FLOATING:
        raise RuntimeError(
            "logsumexp(): Expected floating point type for result tensor, but got: "
            f"{out.dtype.legacy}"
        )
    fit(out, reduced_shape(input._raw.shape, wrap_dims(dim, input._raw.ndim), keepdim))


def _stored_logarithm(out, result, input, dim, keepdim):
    """Store a sum's logarithm, the real part of a complex one."""
    if isinstance(out, Tensor) and result.is_complex() and not out.is_complex():
        check_out("logsumexp", out, requires_grad(result))
        result = _real_logarithm(input.detach(), dim, keepdim, out.dtype)
    return store("logsumexp", out, result)


def _real_logarithm(input, dim, keepdim, dtype):
    """The logarithm of a sum of complex exponentials that are cast to a real dtype before it."""
    if not input._raw.size:
        return FUNCTIONS["real"](input.exp().sum(dim, keepdim)).to(dtype).log()
    highest = FUNCTIONS["real"](input).amax(dim, True)
    highest = highest.masked_fill(highest.isinf(), 0)
    total = (input - highest).exp().to(dtype).sum(dim, keepdim)
    return total.log() + highest.reshape(total._raw.shape)


@function()
@named_out("logsumexp")
def logsumexp(input, dim, keepdim=False, *, out=None):
    """log(sum(exp(x))) over one or several dimensions (torch.logsumexp). Integers become floats.

    Raises IndexError for a dimension out of range, RuntimeError for one given twice.
    """
    if input.dtype.category < FLOATING:
        input = input.to(get_default_dtype())
    dim = (dim,) if isinstance(dim, int) else tuple(dim)
    if out is not None:
        _prepare_logarithm(out, input, dim, keepdim)
    result = logsumexp_dims(input, dim, keepdim)
    return result if out is None else _stored_logarithm(out, result, input, dim, keepdim)


for _op in (softmax_along, log_softmax_along, softmax_backward_data, log_softmax_backward_data):
    _op.on_large_meta(like_first)


def _called_as_aten(op, derivative) -> None:
    """State the arguments that ATen's operators have besides: whether half precision is widened,
    and the dtype of the input."""
    op.as_aten(
        lambda self, dim: ((self, dim, False), {}), lambda self, dim, wide=False: op(self, dim)
    )
    derivative.as_aten(
        lambda grad, output, dim: ((grad, output, dim, output.dtype), {}),
        lambda grad, output, dim, dtype=None: derivative(grad, output, dim),
    )


_called_as_aten(softmax_along, softmax_backward_data)
_called_as_aten(log_softmax_along, log_softmax_backward_data)
