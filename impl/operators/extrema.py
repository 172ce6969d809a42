"""The max and min family: who wins, who is tied, and where the gradient goes.

Element-wise maximum halves on ties; fmax prefers its first operand. The full reductions and
amax/amin share among all tied elements; reductions that return an index send everything to it
(torch's derivatives for these operators; torch.amax's documentation states the difference).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from impl import inplace
from impl.dimensions import wrap_dim, wrap_dims
from impl.dtypes import BY_NUMPY
from impl.operator import TAPED, Array, formula_operation, function, operator, written
from impl.operators.lapack import stored
from impl.operators.reductions import restore
from impl.overloads import OUT, refusal
from impl.tensor import Tensor


class _Indexed(NamedTuple):
    values: Tensor
    indices: Tensor


class _Extremes(NamedTuple):
    min: Tensor
    max: Tensor


def indexed(pair) -> _Indexed:
    """The (values, indices) pair as torch's return types print and unpack it."""
    return _Indexed(*pair)


# -- element-wise -----------------------------------------------------------------------------


@operator(promote="arithmetic", elementwise=True, out=True, numbers=False)
def maximum(self: Array, other: Array) -> Array:
    """The larger element; NaN if either is NaN. A tie's gradient is halved (torch.maximum)."""
    return np.maximum(self, other)


@operator(promote="arithmetic", elementwise=True, out=True, numbers=False)
def minimum(self: Array, other: Array) -> Array:
    """The smaller element; NaN if either is NaN. A tie's gradient is halved (torch.minimum)."""
    return np.minimum(self, other)


def _halve(F, grad, tied, lost):
    return F.fill_fresh(F.where(tied, F.div_scalar(grad, 2), grad), lost, 0)


_to_larger_self = written(lambda F, grad, self, other: _halve(F, grad, self == other, self < other))
_to_smaller_self = written(
    lambda F, grad, self, other: _halve(F, grad, self == other, self > other)
)
maximum.gradient(self=_to_larger_self, other=_to_smaller_self)
maximum.forward(
    lambda F, self_t, self, other_t, other, result: _weighed(
        F, self_t, other_t, F.cast_like(self > other, result), self == other
    )
)
minimum.gradient(self=_to_smaller_self, other=_to_larger_self)
minimum.forward(
    lambda F, self_t, self, other_t, other, result: _weighed(
        F, self_t, other_t, F.cast_like(self < other, result), self == other
    )
)


def _weighed(F, tangent, other_tangent, wins, tied):
    return other_tangent + F.where(tied, 0.5, wins) * (tangent - other_tangent)


@operator(promote="arithmetic", elementwise=True, out=True, numbers=False)
def fmax(self: Array, other: Array) -> Array:
    """The larger element, a number before NaN; a tie goes to the first operand (torch.fmax)."""
    return np.fmax(self, other)


@operator(promote="arithmetic", elementwise=True, out=True, numbers=False)
def fmin(self: Array, other: Array) -> Array:
    """The smaller element, a number before NaN; a tie goes to the first operand (torch.fmin)."""
    return np.fmin(self, other)


def _first_of(F, wins, other):
    return F.logical_or(wins, F.isnan(other))


fmax.gradient(
    self=lambda F, grad, self, other: F.masked_fill(
        grad, F.logical_not(_first_of(F, self >= other, other)), 0
    ),
    other=lambda F, grad, self, other: F.masked_fill(grad, _first_of(F, self >= other, other), 0),
)
fmax.forward(
    lambda F, self_t, self, other_t, other: (
        other_t + _first_of(F, self > other, other) * (self_t - other_t)
    )
)
fmin.forward(
    lambda F, self_t, self, other_t, other: (
        other_t + _first_of(F, self <= other, other) * (self_t - other_t)
    )
)
fmin.gradient(
    self=lambda F, grad, self, other: F.masked_fill(
        grad, F.logical_not(_first_of(F, self <= other, other)), 0
    ),
    other=lambda F, grad, self, other: F.masked_fill(grad, _first_of(F, self <= other, other), 0),
)


# -- reductions that share --------------------------------------------------------------------


def _evenly(F, grad, value, result):
    """Share among every element equal to the result; all NaN ones when the result is NaN."""
    mask = F.isnan(value) if F.is_nan(result) else value == result
    return F.masked_fill(F.new_zeros(grad, value.shape), mask, grad / F.count_of(mask, grad))


@formula_operation
def is_nan(value) -> bool:
    return bool(np.isnan(value))


@formula_operation
def count_of(mask, like):
    return like.dtype.type(np.count_nonzero(mask))


TAPED.is_nan = lambda value: bool(np.isnan(value._raw))
TAPED.count_of = lambda mask, like: mask.sum()


def _shared(F, grad, value, result, dim, keepdim):
    """Share among the tied elements of each reduced slice; a NaN slice divides zero by zero."""
    dims = wrap_dims(dim, value.ndim)
    if not keepdim:
        kept = tuple(1 if i in dims else n for i, n in enumerate(value.shape))
        kept = kept or (1,) * len(dim or ())  # a 0-dim tensor's dimension comes back as well
        grad, result = F.view(grad, kept), F.view(result, kept)
    mask = result == value
    return grad / F.count_along(mask, dims, grad) * mask


def _require_elements(name: str, raw, dims) -> None:
    """Raise IndexError when a reduced dimension is empty: an extremum has no identity."""
    if raw.size:
        return
    if dims is None or len(dims) == 0:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
            "Specify the reduction dim with the 'dim' argument."
        )
    for dim in wrap_dims(dims, raw.ndim):
        if raw.ndim and raw.shape[dim] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")


@operator(node="MaxBackward1", function=False, method=False)
def max_all(self: Array) -> Array:
    _require_elements("max", self, None)
    return np.max(self)


@operator(node="MinBackward1", function=False, method=False)
def min_all(self: Array) -> Array:
    _require_elements("min", self, None)
    return np.min(self)


evenly = written(lambda F, grad, self, result: _evenly(F, grad, self, result))
max_all.ordered = min_all.ordered = True
max_all.gradient(self=evenly)


def read_evenly(F, self_t, self, result):
    """The mean of the tangents of all elements equal to the result."""
    mask = self == result
    return F.sum_all(mask * (self_t / mask.sum()))


max_all.forward(read_evenly)
min_all.forward(read_evenly)
min_all.gradient(self=evenly)


@operator(node="AmaxBackward0", function=False, method=False)
def amax_dim(self: Array, dim, keepdim) -> Array:
    _require_elements("amax", self, dim)
    return np.max(self, axis=wrap_dims(dim, self.ndim), keepdims=keepdim)


@operator(node="AminBackward0", function=False, method=False)
def amin_dim(self: Array, dim, keepdim) -> Array:
    _require_elements("amin", self, dim)
    return np.min(self, axis=wrap_dims(dim, self.ndim), keepdims=keepdim)


for _op in (amax_dim, amin_dim):
    _op.ordered = True
    _op.gradient(
        self=lambda F, grad, self, result, dim, keepdim: _shared(
            F, grad, self, result, dim, keepdim
        )
    )


def _mean_of_tied(F, self_t, self, result, dim, keepdim):
    axes = None if dim is None else wrap_dims(dim, self.ndim)
    mask = self == (result if dim is None else restore(F, result, axes, keepdim, self.ndim))
    return F.sum_dim(F.where(mask, self_t, 0.0), axes, keepdim) / F.sum_dim(mask, axes, keepdim)


amax_dim.forward(_mean_of_tied)
amin_dim.forward(_mean_of_tied)


@function()
def amax(input, dim=(), keepdim=False, *, out=None):
    """The maximum over any dimensions (all by default), ties sharing evenly (torch.amax)."""
    arguments = (input, (dim,) if isinstance(dim, int) else dim, keepdim)
    return amax_dim(*arguments) if out is None else amax_dim.into(out, arguments)


@function()
def amin(input, dim=(), keepdim=False, *, out=None):
    """The minimum over any dimensions (all by default), ties sharing evenly (torch.amin)."""
    arguments = (input, (dim,) if isinstance(dim, int) else dim, keepdim)
    return amin_dim(*arguments) if out is None else amin_dim.into(out, arguments)


def _same_dtype(out, value, *rest) -> None:
    if out != value.dtype:
        own, other = BY_NUMPY[value.dtype].legacy, BY_NUMPY[out].legacy
        raise RuntimeError(
            "Expected the dtype for input and out to match, but got "
            f"{own} for input's dtype and {other} for out's dtype."
        )


amax_dim.name, amin_dim.name = "amax", "amin"
amax_dim.validate_out = amin_dim.validate_out = _same_dtype


@operator(outputs=("min", "max"), node="AminmaxBackward0", function=False, method=False)
def aminmax_dim(self: Array, dim, keepdim) -> Array:
    if self.size == 0 and dim is None:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
            "identity."
        )
    if dim is not None and np.ndim(self) and not self.shape[wrap_dim(dim, self.ndim)]:
        place = wrap_dim(dim, self.ndim)
        raise IndexError(f"aminmax: Expected reduction dim {place} to have non-zero size.")
    axis = None if dim is None else wrap_dims(dim, self.ndim)
    array = np.asarray(self)
    if dim is None and keepdim:
        axis = tuple(range(array.ndim))
    return array.min(axis=axis, keepdims=keepdim), array.max(axis=axis, keepdims=keepdim)


def _aminmax_backward(F, value, dim, keepdim, grad_min, grad_max, low, high):
    dims = None if dim is None else (dim,)
    parts = [
        _shared(F, grad, value, result, dims, keepdim)
        for grad, result in ((grad_min, low), (grad_max, high))
        if grad is not None
    ]
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


aminmax_dim.gradient(
    self=written(
        lambda F, self, dim, keepdim, grad_min, grad_max, min, max: _aminmax_backward(
            F, self, dim, keepdim, grad_min, grad_max, min, max
        ),
        # The second output's share is added in place to the first's.
        times=lambda arrived, made: all(arrived),
    )
)
aminmax_dim.forward(
    min=lambda F, self_t, self, min, dim, keepdim: _mean_of_tied(
        F, self_t, self, min, None if dim is None else (dim,), keepdim
    ),
    max=lambda F, self_t, self, max, dim, keepdim: _mean_of_tied(
        F, self_t, self, max, None if dim is None else (dim,), keepdim
    ),
)


@function()
def aminmax(input, *, dim=None, keepdim=False, out=None):
    """The minimum and the maximum, ties of each sharing evenly (torch.aminmax)."""
    result = _Extremes(*aminmax_dim(input, dim, keepdim))
    return stored("aminmax", out, result)


# -- reductions that return an index ----------------------------------------------------------


def to_index(F, grad, dim, indices, shape, keepdim):
    """Send each gradient to the one element its index names (value_selecting_reduction)."""
    if not keepdim and len(shape):
        dim = wrap_dim(dim, len(shape))
        grad, indices = F.unsqueeze(grad, dim), F.unsqueeze(indices, dim)
    return F.scatter(F.new_zeros(grad, shape), dim, indices, grad)


def select(array, index, dim: int, keepdim: bool):
    """Take along `dim` the element each index names, and give both in the reduced shape."""
    if array.ndim == 0:
        return array[()].copy(), np.int64(0)
    index = np.expand_dims(index, dim) if index.ndim < array.ndim else index
    values = np.take_along_axis(array, index, dim)
    if keepdim:
        return values, index.astype(np.int64)
    return values.squeeze(dim), index.squeeze(dim).astype(np.int64)


def first_nan_or(array, dim: int, index):
    """The first NaN along `dim` where there is one, else `index`."""
    if array.dtype.kind not in "fcV":
        return index
    nan = np.isnan(array)
    if not nan.any():
        return index
    return np.where(nan.any(dim), nan.argmax(dim), index)


def _extreme(self, dim, keepdim, arg, name):
    array = np.asarray(self)
    dim = wrap_dim(dim, array.ndim)
    _require_elements(name, array, (dim,))
    if array.ndim == 0:
        return select(array, None, dim, keepdim)
    index = first_nan_or(array, dim, arg(array, axis=dim))
    return select(array, index, dim, keepdim)


@operator(node="MaxBackward0", outputs=("values", "indices"), function=False, method=False)
def max_dim(self: Array, dim, keepdim) -> Array:
    return _extreme(self, dim, keepdim, np.argmax, "max")


@operator(node="MinBackward0", outputs=("values", "indices"), function=False, method=False)
def min_dim(self: Array, dim, keepdim) -> Array:
    return _extreme(self, dim, keepdim, np.argmin, "min")


selected = written(
    lambda F, grad, dim, indices, self_shape, keepdim: to_index(
        F, grad, dim, indices, self_shape, keepdim
    ),
    times=2,
)
for _op in (max_dim, min_dim):
    _op.differentiable("values").gradient(self=selected)


def read_at(F, self_t, dim, indices, keepdim):
    """The tangents of the elements that were selected."""
    if keepdim:
        return F.gather(self_t, dim, indices)
    return F.squeeze_dim(F.gather(self_t, dim, F.unsqueeze(indices, dim)), dim)


max_dim.forward(values=read_at)
min_dim.forward(values=read_at)


def _check_overload(name: str, input, other) -> None:
    if not isinstance(input, Tensor):
        indices = "Tensor input, int dim, bool keepdim = False, *, tuple of Tensors out = None"
        elements = "Tensor input, Tensor other"
        raise refusal(name, (input, other), f"Tensor input{OUT}", f"{elements}{OUT}", indices)


@function("max")
def max_(input, dim=None, keepdim=False, *, other=None, out=None):
    """The maximum of all elements; over `dim` with indices; or of two tensors (torch.max)."""
    other = dim if isinstance(dim, Tensor) else other
    _check_overload("max", input, dim if other is None else other)
    if other is not None:
        return maximum(input, other) if out is None else maximum.into(out, (input, other))
    result = max_all(input) if dim is None else indexed(max_dim(input, dim, keepdim))
    return result if out is None else inplace.store("max", out, result)


@function("min")
def min_(input, dim=None, keepdim=False, *, other=None, out=None):
    """The minimum of all elements; over `dim` with indices; or of two tensors (torch.min)."""
    other = dim if isinstance(dim, Tensor) else other
    _check_overload("min", input, dim if other is None else other)
    if other is not None:
        return minimum(input, other) if out is None else minimum.into(out, (input, other))
    result = min_all(input) if dim is None else indexed(min_dim(input, dim, keepdim))
    return result if out is None else inplace.store("min", out, result)


def _arg(self, dim, keepdim, arg, name):
    array = np.asarray(self)
    if dim is None:
        if array.size == 0:
            raise IndexError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0."
            )
        flat = array.reshape(-1)
        position = np.int64(first_nan_or(flat, 0, arg(flat, axis=0)))
        return np.full((1,) * array.ndim, position) if keepdim else position
    dim = wrap_dim(dim, array.ndim)
    _require_elements(name, array, (dim,))
    if array.ndim == 0:
        return np.int64(0)
    index = np.asarray(first_nan_or(array, dim, arg(array, axis=dim)), np.int64)
    return np.expand_dims(index, dim) if keepdim else index


@operator()
def argmax(self: Array, dim=None, keepdim=False) -> Array:
    """The index of the maximum, the first of several; not differentiable (torch.argmax)."""
    return _arg(self, dim, keepdim, np.argmax, "argmax")


@operator()
def argmin(self: Array, dim=None, keepdim=False) -> Array:
    """The index of the minimum, the first of several; not differentiable (torch.argmin)."""
    return _arg(self, dim, keepdim, np.argmin, "argmin")


__all__ = ["evenly", "indexed", "read_at", "read_evenly", "select", "selected", "to_index"]
