"""Choosing between values: where, clamp and nan_to_num."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import ml_dtypes
import numpy as np

from impl.core import messages
from impl.core.dtypes import BY_NUMPY, INTEGRAL, WIDE, bfloat16, bool_, result_dtype
from impl.core.registry import FUNCTIONS, array_ops
from impl.dispatch.definition import Array, alias, function, operator, written
from impl.dispatch.facts import NoComplex, SavedAs
from impl.dispatch.not_implemented import not_implemented
from impl.dispatch.out import named_out, same_dtype_out
from impl.kernels.casting import filled, limit, storable
from impl.kernels.reduced_precision import kept_where
from impl.kernels.vectorized import beyond
from impl.operators.pointwise.halved_ties import (
    halved,
    larger,
    larger_gradient,
    larger_tangent,
    mean_tangent,
    smaller,
    smaller_gradient,
    smaller_tangent,
)
from impl.tensor.allocation import copied_layout
from impl.tensor.tensor import Tensor


@operator(node="WhereBackward0", elementwise=True, function=False, method=False)
def where(condition: Array, self: Array, other: Array) -> Array:
    target = result_dtype([self, other]).numpy
    return np.where(condition, _cast(self, target), _cast(other, target))


def _cast(value, target):
    if isinstance(value, (np.ndarray, np.generic)):
        return value if value.dtype == target else value.astype(target)
    return storable(value, target) if target.kind == "u" else target.type(value)


def _same_as_promoted(out, condition, self, other) -> None:
    target = result_dtype([self, other])
    if out != target.numpy:
        raise RuntimeError(
            f"Expected out type to be {target.legacy} but got {BY_NUMPY[out].legacy}"
        )


where.checks_out(_same_as_promoted)
where.gradient(
    self=lambda F, grad, condition: F.where(condition, grad, 0),
    other=lambda F, grad, condition: F.where(condition, 0, grad),
)
where.forward(lambda F, condition, self_t, other_t: F.where(condition, self_t, other_t))
del array_ops.where


def _where(condition, a, b):
    """np.where in formulas; a number on one side takes the dtype of the other side."""
    if type(b) is int and b == 0 and isinstance(a, np.ndarray):
        return kept_where(condition, a)
    result = np.where(condition, a, b)
    dtype = a.dtype if hasattr(a, "dtype") else getattr(b, "dtype", None)
    # NumPy does not convert a Python number to bfloat16.
    return result.astype(dtype) if dtype == bfloat16.numpy else result


array_ops.where = _where


def _select(condition, self, other, out):
    if not isinstance(condition, Tensor):
        raise TypeError(
            "where(): argument 'condition' (position 1) must be Tensor, "
            f"not {type(condition).__name__}"
        )
    d = condition._raw.dtype
    if d == np.uint8:
        warnings.warn(messages.UINT8_CONDITION, UserWarning, stacklevel=3)
    elif d.kind != "b":
        raise RuntimeError(
            "where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{BY_NUMPY[d].legacy}"
        )
    args = (condition, *_beside_number(self, other))
    return where(*args) if out is None else where.call_out(out, args)


def _beside_number(self, other):
    """The operands of `where`; a tensor beside a number is cast to the promoted dtype, recorded."""
    d = result_dtype([v._raw if isinstance(v, Tensor) else v for v in (self, other)])
    for value in (self, other):
        if not isinstance(value, Tensor):
            filled((), value, d.numpy)  # raises where it is out of range
    if not isinstance(other, Tensor) and isinstance(self, Tensor):
        return self.to(d), other
    if not isinstance(self, Tensor) and isinstance(other, Tensor):
        return self, other.to(d)
    return self, other


_UNSET = object()


@function("where", method=False)
def where_(condition, input=_UNSET, other=_UNSET, *, out=None):
    """`input` where the condition holds, else `other`; either may be a number (torch.where).

    With a condition alone, the indices where it holds. Raises RuntimeError for a condition that
    is not bool.
    """
    if input is _UNSET and other is _UNSET:
        return FUNCTIONS["nonzero"](condition, as_tuple=True)
    return _select(condition, input, other, out)


Tensor.where = lambda self, condition, other: _select(condition, self, other, None)


# -- clamp -------------------------------------------------------------------------------------


def _strictly_inside(self, min, max):
    if min is None:
        return self < max
    if max is None:
        return self > min
    return (self > min) & (self < max)


def _of_value(F, grad, self, min, max):
    return F.where(_strictly_inside(self, min, max), grad, 0)


def at_least(value, bound):
    """The larger of the two; the value where they are equal, so that a zero keeps its sign."""
    if getattr(value, "dtype", None) in WIDE:
        return beyond(np.maximum, bound, value)  # np.maximum returns the second of equal operands
    return np.where((value >= bound) | np.isnan(value), value, bound)


def at_most(value, bound):
    """The smaller of the two; the value where they are equal."""
    if getattr(value, "dtype", None) in WIDE:
        return beyond(np.minimum, bound, value)
    return np.where((value <= bound) | np.isnan(value), value, bound)


def _clamped(value, low, high):
    if low is not None:
        value = at_least(value, low)
    return value if high is None else at_most(value, high)


@operator(
    node="ClampBackward1",
    promote="arithmetic",
    elementwise=True,
    function=False,
    method=False,
    complex=NoComplex(text="clamp is not supported for complex types", error=NotImplementedError),
    saved_as=SavedAs(numbers_as_tensors=False),
    torch_name="clamp",
)
def clamp_numbers(self: Array, min: Array | None, max: Array | None) -> Array:
    return _clamped(self, min, max)


def _check_bounds(self, *bounds, kernel: str) -> None:
    """Raise RuntimeError for a number that the dtype of the result cannot hold, and
    NotImplementedError where that is bool."""
    if all(type(bound) in (int, float) and -32 <= bound <= 32 for bound in bounds):
        return  # held by every dtype but bool, to which none of them belongs
    d = result_dtype([self, *bounds]).numpy
    if d.kind == "b":
        raise not_implemented(f"{kernel}_cpu", bool_)
    for bound in bounds:
        storable(bound, d)


@clamp_numbers.checked
def _check_both(self, min, max) -> None:
    given = {name: v for name, v in (("min_", min), ("max_", max)) if v is not None}
    which = "" if len(given) == 2 else next(iter(given))
    _check_bounds(self, *given.values(), kernel=f"clamp_{which}scalar")


@operator(
    node="ClampBackward0",
    promote="arithmetic",
    elementwise=True,
    function=False,
    method=False,
    numbers=False,
    complex=NoComplex(text="clamp is not supported for complex types", error=NotImplementedError),
    torch_name="clamp",
)
def clamp_tensors(self: Array, min: Array | None, max: Array | None) -> Array:
    return _clamped(self, min, max)


@written
def _beside_bounds(F, grad, self, min, max):
    if max is None:
        return larger_gradient(F, grad, self, min)
    if min is None:
        return smaller_gradient(F, grad, self, max)
    tied = ((self == min) | (self == max)) & (min < max)
    return F.fill_fresh(halved(F, grad, tied), (self < min) | (self > max), 0)


@written
def _of_minimum(F, grad, self, min, max):
    if min is None:
        return None
    if max is None:
        return larger_gradient(F, grad, min, self)
    tied = (self == min) & (min < max)
    kept = tied | ((self < min) & (min <= max))
    return F.fill_fresh(halved(F, grad, tied), F.logical_not(kept), 0)


@written
def _of_maximum(F, grad, self, min, max):
    if max is None:
        return None
    if min is None:
        return smaller_gradient(F, grad, max, self)
    tied = (self == max) & (min < max)
    kept = tied | ((self > max) & (min <= max)) | (min > max)
    return F.fill_fresh(halved(F, grad, tied), F.logical_not(kept), 0)


def _clamped_tangent(F, self_t, self, min_t, min, max_t, max):
    if max is None:
        return larger_tangent(F, self_t, self, min_t, min)
    if min is None:
        return smaller_tangent(F, self_t, self, max_t, max)
    outside = F.where(self > max, max_t, F.where(self < min, min_t, self_t))
    lowest = (self == min) & (min < max)
    highest = (self == max) & (min < max)
    result = F.where(lowest, mean_tangent(F, self_t, min_t), outside)
    result = F.where(highest, mean_tangent(F, self_t, max_t), result)
    return F.where(min > max, max_t, result)


def _layout_of_self(args):
    # A number is no operand of ATen's iterator here.
    return [(args[0]._raw.shape, args[0].stride())]


clamp_numbers.checks_out(same_dtype_out)
clamp_numbers.laid_out_as(_layout_of_self)
clamp_numbers.gradient(self=_of_value)
clamp_tensors.gradient(self=_beside_bounds, min=_of_minimum, max=_of_maximum)
clamp_tensors.forward(_clamped_tangent)


def _one_bound(which: str):
    """clamp_min or clamp_max: the primitives for a number and for a tensor."""
    low = which == "min"
    node = f"Clamp{which.capitalize()}Backward"

    def number_kernel(self: Array, bound: Array) -> Array:
        return at_least(self, bound) if low else at_most(self, bound)

    def tensor_kernel(self: Array, other: Array) -> Array:
        return at_least(self, other) if low else at_most(self, other)

    def of_value(F, grad, self, bound):
        return F.where(self > bound if low else self < bound, grad, 0)

    settings: dict[str, Any] = {
        "promote": "arithmetic",
        "elementwise": True,
        "function": False,
        "method": False,
        "torch_name": f"clamp_{which}",
    }
    refused = NoComplex(text="clamp is not supported for complex types")
    number_kernel.__name__ = f"clamp_{which}_number"
    saved = SavedAs(renamed={"bound": which})
    number = operator(node=f"{node}0", complex=refused, saved_as=saved, **settings)(number_kernel)
    number.gradient(self=of_value)
    number.checked(functools.partial(_check_bounds, kernel=f"clamp_{which}_scalar"))
    number.laid_out_as(_layout_of_self)
    refused = NoComplex("maximum_cpu" if low else "minimum_cpu")
    tensor_kernel.__name__ = f"clamp_{which}_tensor"
    saved = SavedAs(renamed={"other": which})
    tensor = operator(node=f"{node}1", complex=refused, saved_as=saved, **settings)(tensor_kernel)
    (larger if low else smaller)(tensor)
    return number, tensor


_MIN_NUMBER, _MIN_TENSOR = _one_bound("min")
_MAX_NUMBER, _MAX_TENSOR = _one_bound("max")


def _bound(input, number, side: str):
    """A "min" or "max", an integer as one that the integers of the input hold."""
    if type(number) is int and input.dtype.category == INTEGRAL:
        return int(limit(number, input.dtype.numpy, side))
    return number


def _clamping(input, min, max):
    """The operator, and its arguments."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        return clamp_tensors, (input, min, max)
    return clamp_numbers, (input, _bound(input, min, "min"), _bound(input, max, "max"))


def _clamping_once(input, bound, side: str):
    number, tensor = (_MIN_NUMBER, _MIN_TENSOR) if side == "min" else (_MAX_NUMBER, _MAX_TENSOR)
    if isinstance(bound, Tensor):
        return tensor, (input, bound)
    return number, (input, _bound(input, bound, side))


@function()
@named_out("clamp")
def clamp(input, min=None, max=None, *, out=None):
    """`input` limited to [min, max]; numbers or tensors, `max` where they cross (torch.clamp).

    Between numbers the gradient passes on the open interval; what ties with a bound that is a
    tensor shares with it. Raises RuntimeError without any bound.
    """
    op, args = _clamping(input, min, max)
    return op(*args) if out is None else op.call_out(out, args)


@function()
def clamp_(input, min=None, max=None):
    """`clamp` in place."""
    op, args = _clamping(input, min, max)
    return op.inplace(*args)


@function()
def clamp_min(input, min, *, out=None):
    """The larger of `input` and `min`, NaN if one is (torch.clamp_min)."""
    op, args = _clamping_once(input, min, "min")
    return op(*args) if out is None else op.call_out(out, args)


@function()
def clamp_min_(input, min):
    """`clamp_min` in place."""
    op, args = _clamping_once(input, min, "min")
    return op.inplace(*args)


@function()
def clamp_max(input, max, *, out=None):
    """The smaller of `input` and `max`, NaN if one is (torch.clamp_max)."""
    op, args = _clamping_once(input, max, "max")
    return op(*args) if out is None else op.call_out(out, args)


@function()
def clamp_max_(input, max):
    """`clamp_max` in place."""
    op, args = _clamping_once(input, max, "max")
    return op.inplace(*args)


alias("clamp", "clip")


# -- nan_to_num --------------------------------------------------------------------------------


@operator(elementwise=True, inplace=True, out=True, writes=1)
def nan_to_num(self: Array, nan=None, posinf=None, neginf=None) -> Array:
    """NaN and infinities replaced by numbers: 0 and the largest of the dtype (torch.nan_to_num).

    Of a complex number each part is replaced by itself; the derivative is 0 if either was.
    """
    if self.dtype.kind in "iub":
        return self.copy()
    if self.dtype.kind == "c":
        parts = np.empty_like(self)
        parts.real = nan_to_num.kernel(self.real, nan, posinf, neginf)
        parts.imag = nan_to_num.kernel(self.imag, nan, posinf, neginf)
        return parts
    limits = ml_dtypes.finfo(self.dtype)  # NumPy's does not know bfloat16
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    result = np.where(np.isnan(self), self.dtype.type(0 if nan is None else nan), self)
    result = np.where(self == np.inf, self.dtype.type(high), result)
    return np.where(self == -np.inf, self.dtype.type(low), result)


nan_to_num.laid_out_as(copied_layout)


def _same_as_input(out, self, *rest) -> None:
    if out != self.dtype:
        raise RuntimeError(
            f"nan_to_num: dtype of out: {BY_NUMPY[out].legacy} should be same as input: "
            f"{BY_NUMPY[self.dtype].legacy}"
        )


nan_to_num.checks_out(_same_as_input)
nan_to_num.gradient(self=lambda F, grad, self: grad * F.isfinite(self))
