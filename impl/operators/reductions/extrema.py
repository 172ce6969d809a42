"""The max and min family, with the tie convention of each gradient.

Element-wise operators halve on ties. The full reductions and amax/amin share among all tied
elements; reductions that return an index send everything to it (torch's derivatives for these
operators; torch.amax's documentation states the difference).
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from impl.core import messages
from impl.core.dims import wrap_dim, wrap_dims
from impl.core.dtypes import BY_NUMPY
from impl.core.meta_arrays import reduced_shape
from impl.core.meta_functions import reduced
from impl.core.registry import FUNCTIONS, tensor_ops
from impl.core.return_types import return_type
from impl.dispatch.definition import (
    OPERATORS,
    Array,
    formula_operation,
    function,
    operator,
    outside_transforms,
    taking_out,
    written,
)
from impl.dispatch.facts import NoComplex
from impl.dispatch.out import (
    check_dtypes,
    fit,
    named_out,
    refuse_links,
    refusing_gradients,
    store,
    store_exactly,
    stored,
)
from impl.dispatch.vmap_rules import hide, with_dims
from impl.operators.pointwise.halved_ties import (
    larger,
    larger_before_nan,
    smaller,
    smaller_before_nan,
)
from impl.operators.reductions.reductions import flat, restore
from impl.tensor.memory_overlap import check_disjoint, is_disjoint
from impl.tensor.tensor import Tensor, new

Extremes = return_type("aminmax", "min", "max")


def indexed(name: str):
    """The class of the (values, indices) that an operator returns."""
    return return_type(name, "values", "indices")


# -- element-wise -----------------------------------------------------------------------------


def _elementwise(name: str, compute, words: str):
    def kernel(self: Array, other: Array) -> Array:
        return compute(self, other)

    kernel.__name__, kernel.__doc__ = name, f"The {words} (torch.{name})."
    refused = NoComplex(text=f"{name} not implemented for complex tensors.", error=TypeError)
    facts: dict[str, Any] = {"complex": refused, "numbers": False}
    return operator(promote="arithmetic", elementwise=True, out=True, **facts)(kernel)


_NAN = "element; NaN if either is NaN. A tie's gradient is halved"
_NUMBER = "element, a number before NaN. A tie's gradient is halved"
maximum = _elementwise("maximum", np.maximum, f"larger {_NAN}")
minimum = _elementwise("minimum", np.minimum, f"smaller {_NAN}")
fmax = _elementwise("fmax", np.fmax, f"larger {_NUMBER}")
fmin = _elementwise("fmin", np.fmin, f"smaller {_NUMBER}")
larger(maximum)
smaller(minimum)
larger_before_nan(fmax)
smaller_before_nan(fmin)


# -- reductions that share --------------------------------------------------------------------


def evenly(F, grad, self, result):
    """Share among every element equal to the result; all NaN ones when the result is NaN."""
    if F.is_subclass_like(grad, self, result):
        mask = (self == result) | (F.isnan(self) & F.isnan(result))
        return mask * (grad / mask.sum())
    mask = F.isnan(self) if F.is_nan(result) else self == result
    return F.masked_fill(F.new_zeros(grad, self.shape), mask, grad / F.count_of(mask, grad))


written(evenly, outside_transforms)


@formula_operation
def is_nan(value) -> bool:
    return bool(np.isnan(value))


@formula_operation
def count_of(mask, like):
    return like.dtype.type(np.count_nonzero(mask))


tensor_ops.is_nan = lambda value: not value.is_meta and bool(np.isnan(value._raw))
tensor_ops.count_of = lambda mask, like: mask.sum()


def _shared(F, grad, self, result, dim, keepdim):
    """Share among the tied elements of each reduced slice; a NaN slice divides zero by zero."""
    dims = wrap_dims(dim, self.ndim)
    if not keepdim:
        kept = tuple(1 if i in dims else n for i, n in enumerate(self.shape))
        kept = kept or (1,) * len(dim or ())  # a 0-dim tensor's dimension comes back as well
        grad, result = F.view(grad, kept), F.view(result, kept)
    mask = result == self
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
    for dim in dims:
        if raw.shape[wrap_dim(dim, raw.ndim)] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")


def read_evenly(F, self_t, self, result):
    """The mean of the tangents of all elements equal to the result."""
    mask = self == result
    return F.sum_all(mask * (self_t / mask.sum()))


def _of_all(name: str, reduction):
    """The operator `max_all` or `min_all`."""

    def kernel(self: Array) -> Array:
        _require_elements(name, self, None)
        return reduction(self)

    kernel.__name__ = f"{name}_all"
    refused = NoComplex(f"{name}_all")
    facts: dict[str, Any] = {"writes": 1, "complex": refused, "layout_sensitive": True}
    node = f"{name.capitalize()}Backward1"
    op = operator(node=node, function=False, method=False, **facts)(kernel)
    op.gradient(self=evenly).forward(read_evenly)
    return op


max_all = _of_all("max", np.max)
min_all = _of_all("min", np.min)


@written
def _evenly_by_row(F, grad, self, result):
    grad, result = F.unsqueeze(grad, 1), F.unsqueeze(result, 1)
    mask = (self == result) | (F.isnan(self) & F.isnan(result))
    return mask * (grad / F.count_along(mask, (1,), grad))


def sharing_by_row(all_op, select) -> None:
    """State the batching rule of a reduction of all elements to one of them, which is that of the
    reduction over a dimension: `select`. Its gradient goes to the selected element; but in a
    transform within the `vmap` the reduction of all elements is differentiated."""

    def kernel(self: Array) -> Array:
        return np.asarray([all_op.kernel(row) for row in self], self.dtype)

    kernel.__name__ = f"{all_op.name}_by_row"
    by_row = operator(node=all_op.node_name, function=False, method=False)(kernel)
    by_row.gradient(self=_evenly_by_row)
    by_row.forward(
        lambda F, self_t, self, result: F.sum_dim(
            _evenly_by_row(F, F.ones_like(result), self, result) * self_t, (1,), False
        )
    )

    @all_op.batches
    def of_batch(args, level):
        rows = flat(args[0], level)
        shares = rows._raw.size and args[0].requires_grad
        return hide(by_row(rows) if shares else select(rows), level)


sharing_by_row(max_all, lambda rows: FUNCTIONS["max"](rows, 1)[0])
sharing_by_row(min_all, lambda rows: FUNCTIONS["min"](rows, 1)[0])


def _tied_mean(F, self_t, self, result, dim, keepdim):
    axes = None if dim is None else wrap_dims(dim, self.ndim)
    mask = self == (result if dim is None else restore(F, result, axes, keepdim, self.ndim))
    return F.sum_dim(F.where(mask, self_t, 0.0), axes, keepdim) / F.sum_dim(mask, axes, keepdim)


def _same_dtype(out, value, *rest) -> None:
    if out != value.dtype:
        own, other = BY_NUMPY[value.dtype].legacy, BY_NUMPY[out].legacy
        raise RuntimeError(
            "Expected the dtype for input and out to match, but got "
            f"{own} for input's dtype and {other} for out's dtype."
        )


def _of_dims(name: str, reduction, words: str):
    """The operator `amax_dim` or `amin_dim`; publishes `amax` or `amin`."""

    def kernel(self: Array, dim, keepdim) -> Array:
        _require_elements(name, self, dim)
        return reduction(self, axis=wrap_dims(dim, self.ndim), keepdims=keepdim)

    kernel.__name__ = f"{name}_dim"
    facts: dict[str, Any] = {"torch_name": name, "layout_sensitive": True}
    facts["writes"] = lambda args: args[0]._raw.size > 0
    facts["complex"] = NoComplex({"amax": "max_values_cpu", "amin": "min_values_cpu"}[name])
    facts["batching"] = "dims"
    node = f"{name.capitalize()}Backward0"
    op = operator(node=node, function=False, method=False, **facts)(kernel)
    op.checks_out(_same_dtype, first=True)

    @functools.partial(op.structured, late=True)
    def reduced_output(self, dim, keepdim):
        _require_elements(name, self, dim)
        return reduced_shape(self.shape, wrap_dims(dim, self.ndim), keepdim), None

    @op.on_shared_memory
    def over_start(out, self, dim, keepdim):
        out[...] = _identity("max" if name == "amax" else "min", out.dtype)
        return op.kernel(self, dim, keepdim)

    op.gradient(self=_shared).forward(_tied_mean)

    def extremum(input, dim=(), keepdim=False, *, out=None):
        arguments = (input, (dim,) if isinstance(dim, int) else dim, keepdim)
        return op(*arguments) if out is None else op.call_out(out, arguments)

    extremum.__doc__ = (
        f"The {words} over any dimensions (all by default), ties sharing evenly (torch.{name})."
    )
    function(name)(extremum)
    return op


amax_dim = _of_dims("amax", np.max, "maximum")
amin_dim = _of_dims("amin", np.min, "minimum")


def _writes_of_both(args) -> int:
    """ATen fills the results, or gives them the dimension and takes it away, if it is not kept."""
    self, dim, keepdim = args
    return 1 if dim is None or not self._raw.ndim else 2 * (not keepdim)


@operator(
    outputs=("min", "max"),
    node="AminmaxBackward0",
    function=False,
    method=False,
    writes=_writes_of_both,
    copies=lambda args: None if args[1] is None or args[0]._raw.ndim else 0,
    complex=NoComplex(text="aminmax not implemented for {}", error=TypeError),
    batching="dims",
)
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


aminmax_dim.copied_by = "fill_tensor_inplace"


def _reduce_batches(op) -> None:
    """Register the batching rule of an operator of a dimension, or of all elements as one."""

    @op.batches
    def of_batch(args, level):
        batch, dim, keepdim = args
        if dim is None and not keepdim:
            return hide(op(flat(batch, level), 1, False), level)
        return NotImplemented if dim is None else with_dims(op, args, level)


_reduce_batches(aminmax_dim)


def _aminmax_backward(F, self, dim, keepdim, grad_min, grad_max, min, max):
    dims = None if dim is None else (dim,)
    parts = [
        _shared(F, grad, self, result, dims, keepdim)
        for grad, result in ((grad_min, min), (grad_max, max))
        if grad is not None
    ]
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


# The second output's share is added in place to the first's.
aminmax_dim.gradient(self=written(_aminmax_backward, times=lambda arrived, made: all(arrived)))
aminmax_dim.forward(
    min=lambda F, self_t, self, min, dim, keepdim: _tied_mean(F, self_t, self, min, dim, keepdim),
    max=lambda F, self_t, self, max, dim, keepdim: _tied_mean(F, self_t, self, max, dim, keepdim),
)


@function()
def aminmax(input, *, dim=None, keepdim=False, out=None):
    """The minimum and the maximum, ties of each sharing evenly (torch.aminmax).

    Raises ValueError for `out` of tensors that share memory.
    """
    if out is not None:
        _check_extremes(input, out)
    result = Extremes(aminmax_dim(input, dim, keepdim))
    return stored("aminmax", out, result)


def _check_extremes(input: Tensor, out) -> None:
    """Raise the errors that come before those of dimensions."""
    if not is_disjoint(*out):
        raise ValueError("aminmax(): the `min` and `max` out= tensors must not overlap.")
    refuse_links("aminmax", input, out)
    if input.is_complex():
        raise aminmax_dim.complex.refusal(input.dtype)
    check_dtypes(out, input.dtype, input.dtype)
    for tensor in out:
        check_disjoint(tensor, input)


# -- reductions that return an index ----------------------------------------------------------


def to_index(F, grad, dim, indices, self_shape, keepdim):
    """Send each gradient to the one element its index names (value_selecting_reduction)."""
    if not keepdim and len(self_shape):
        dim = wrap_dim(dim, len(self_shape))
        grad, indices = F.unsqueeze(grad, dim), F.unsqueeze(indices, dim)
    return F.scatter(F.new_zeros(grad, self_shape), dim, indices, grad)


selected = written(to_index, times=2)


def read_at(F, self_t, dim, indices, keepdim):
    """The tangents of the elements that were selected."""
    if keepdim:
        return F.gather(self_t, dim, indices)
    return F.squeeze_dim(F.gather(self_t, dim, F.unsqueeze(indices, dim)), dim)


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


def copies_single(args) -> int | None:
    """A 0-dim tensor fills the result of a dimension."""
    return None if args[0]._raw.ndim else 0


def changes_of_rank(args) -> int:
    """How often ATen writes to the results of a dimension: it gives them that dimension and takes
    it away, unless it is kept or there is nothing."""
    self, _, keepdim = args
    return 2 * (not keepdim and self._raw.size > 0)


def _writes_of_dim(args) -> int:
    return changes_of_rank(args) if args[0]._raw.ndim else 1


def _of_dim(name: str, arg):
    """The operator `max_dim` or `min_dim`, which also returns the indices."""

    def kernel(self: Array, dim, keepdim) -> Array:
        array = np.asarray(self)
        dim = wrap_dim(dim, array.ndim)
        _require_elements(name, array, (dim,))
        if array.ndim == 0:
            return select(array, None, dim, keepdim)
        index = first_nan_or(array, dim, arg(array, axis=dim))
        return select(array, index, dim, keepdim)

    kernel.__name__ = f"{name}_dim"
    node, outputs = f"{name.capitalize()}Backward0", ("values", "indices")
    text = f"{name}(): does not support complex input"
    refused = NoComplex(text=text, error=TypeError, after_dims=True)
    facts: dict[str, Any] = {"writes": _writes_of_dim, "copies": copies_single}
    facts |= {"complex": refused, "batching": "dims"}
    op = operator(node=node, outputs=outputs, function=False, method=False, **facts)(kernel)
    op.copied_by = "fill_tensor_inplace"
    op.differentiable("values").gradient(self=selected).forward(values=read_at)
    return op


_UNCASTABLE = messages.expected(
    "canCast( typeMetaToScalarType(self.dtype()), typeMetaToScalarType(out.dtype()))"
)


def _identity(name: str, kind: np.dtype):
    """The maximum or minimum of no elements as torch stores it: the smallest or largest value."""
    least, most = -math.inf, math.inf
    if kind.kind == "b":
        least, most = 0, 1
    elif kind.kind in "iu":
        least, most = np.iinfo(kind).min, np.iinfo(kind).max
    return np.array(least if name == "max" else most, kind)[()]


def _overloaded(name: str, all_op, dim_op, elementwise, words: str) -> None:
    """Publish `max` or `min`: of all elements, of a dimension, or of two tensors."""

    pair = indexed(name)

    @refusing_gradients
    @named_out(name, outputs=(0,))
    def of_dim(input, dim, keepdim, *, out=None):
        return stored(name, out, pair(dim_op(input, dim, keepdim)))

    def extremum(input, dim=None, keepdim=False, *, other=None, out=None):
        other = dim if isinstance(dim, Tensor) else other
        if other is not None:
            if out is None:
                return elementwise(input, other)
            return elementwise.call_out(out, (input, other))
        if dim is not None:
            return of_dim(input, dim, keepdim, out=out)
        if out is None:
            return all_op(input)
        kind = input._raw.dtype
        refuse_links(name, input, out)
        if isinstance(out, Tensor) and input.dtype.category > out.dtype.category:
            raise RuntimeError(_UNCASTABLE)
        fit(out, ())
        return store(name, out, all_op(input) if input._raw.size else new(_identity(name, kind)))

    extremum.__doc__ = (
        f"The {words} of all elements; over `dim` with indices; or of two tensors (torch.{name})."
    )
    function(name)(extremum)


_overloaded("max", max_all, _of_dim("max", np.argmax), maximum, "maximum")
_overloaded("min", min_all, _of_dim("min", np.argmin), minimum, "minimum")


def _fills(args) -> bool:
    """Whether ATen fills the index of a dimension with zeros, since that has one element."""
    self, dim, _ = args
    shape = self._raw.shape
    return dim is not None and len(shape) > 0 and shape[wrap_dim(dim, len(shape))] == 1


def _argument(name: str, arg, words: str) -> None:
    """Define `argmax` or `argmin`."""

    def kernel(self: Array, dim=None, keepdim=False) -> Array:
        array = np.asarray(self)
        if array.dtype.kind == "b":
            raise NotImplementedError(f"{name}(): does not support bool input")
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

    kernel.__name__ = name
    kernel.__doc__ = (
        f"The index of the {words}, the first of several; not differentiable (torch.{name})."
    )
    refused = NoComplex(text=f"{name}(): does not support complex input", error=TypeError)
    _reduce_batches(operator(complex=refused, writes=_fills, batching="dims")(kernel))
    FUNCTIONS[name] = taking_out(FUNCTIONS[name], storing=store_exactly)


_argument("argmax", np.argmax, "maximum")
_argument("argmin", np.argmin, "minimum")


for _name in ("max_dim", "min_dim"):
    OPERATORS[_name].on_large_meta(reduced(None, np.int64))
for _name in ("argmax", "argmin"):
    OPERATORS[_name].on_large_meta(reduced(np.int64))
