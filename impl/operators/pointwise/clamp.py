"""clamp between numbers or tensors, on one side or both."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from impl.core.dtypes import BY_NUMPY, CATEGORY, WIDE, bool_, result_dtype
from impl.core.state import STATE
from impl.dispatch.definition import Array, alias, function, operator, written
from impl.dispatch.facts import NoComplex, SavedAs
from impl.dispatch.not_implemented import not_implemented
from impl.dispatch.out import named_out
from impl.kernels.casting import limit, storable
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
from impl.tensor.tensor import Tensor, requires_grad

_COMPLEX = "clamp is not supported for complex types"


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
    complex=NoComplex(text=_COMPLEX, error=NotImplementedError),
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
    if any(isinstance(bound, float) and math.isnan(bound) for bound in (min, max)):
        return  # the result is full of NaN
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
    torch_name="clamp",
)
def clamp_tensors(self: Array, min: Array | None, max: Array | None) -> Array:
    return _clamped(self, min, max)


@clamp_tensors.checked
def _refuse_complex(self, min, max) -> None:
    if self.dtype.kind == "c":
        raise NotImplementedError(_COMPLEX)


@clamp_tensors.on_slow_path
def _clamp_or_refuse(self: Array, min: Array | None, max: Array | None) -> Array:
    """The bounds in their common dtype with `self`; with one of them it is torch's maximum or
    minimum that computes, and that has no name of clamp."""
    both = min is not None and max is not None
    if self.dtype.kind in ("bc" if both else "c"):
        kernel = "clamp" if both else "minimum" if min is None else "maximum"
        raise not_implemented(f"{kernel}_cpu", BY_NUMPY[self.dtype])
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


def _promoted_out(out, self, *bounds) -> None:
    """Raise RuntimeError for an `out=` of another dtype than that of the input and its bounds."""
    d = result_dtype([self, *(bound for bound in bounds if bound is not None)])
    if out != d.numpy:
        raise RuntimeError(f"Found dtype {BY_NUMPY[out].legacy} but expected {d.legacy}")


clamp_numbers.checks_out(_promoted_out)
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
    refused = NoComplex(text=_COMPLEX)
    number_kernel.__name__ = f"clamp_{which}_number"
    saved = SavedAs(renamed={"bound": which})
    number = operator(node=f"{node}0", complex=refused, saved_as=saved, **settings)(number_kernel)
    number.gradient(self=of_value)
    number.checked(functools.partial(_check_bounds, kernel=f"clamp_{which}_scalar"))
    number.laid_out_as(_layout_of_self)
    number.checks_out(_promoted_out)
    refused = NoComplex("maximum_cpu" if low else "minimum_cpu")
    tensor_kernel.__name__ = f"clamp_{which}_tensor"
    saved = SavedAs(renamed={"other": which})
    tensor = operator(node=f"{node}1", complex=refused, saved_as=saved, **settings)(tensor_kernel)
    (larger if low else smaller)(tensor)
    return number, tensor


_MIN_NUMBER, _MIN_TENSOR = _one_bound("min")
_MAX_NUMBER, _MAX_TENSOR = _one_bound("max")


def _overload(input, written=False, **bounds):
    """The operator for these bounds, and the bounds; whole numbers in the range of integers.

    Raises RuntimeError for a bound that no integer is within, and where the input, if it is to be
    `written`, cannot hold the result; NotImplementedError for a complex number as the only bound.
    """
    if any(isinstance(bound, Tensor) for bound in bounds.values()):
        return _BESIDE_TENSORS[*bounds], bounds.values()
    if len(bounds) == 1 and any(isinstance(bound, complex) for bound in bounds.values()):
        raise NotImplementedError(_COMPLEX)
    d = input._raw.dtype
    if d.kind in "iub":
        given = [bound for bound in bounds.values() if bound is not None]
        common = result_dtype([input._raw, *given])
        if written and common.category > CATEGORY[d]:
            raise RuntimeError(
                f"result type {common.legacy} can't be cast to the desired output type "
                f"{BY_NUMPY[d].c_name}"
            )
        if common.numpy == d and d.kind != "b":
            bounds = {
                end: None if bound is None else limit(end, bound, d).item()
                for end, bound in bounds.items()
            }
    return _BESIDE_NUMBERS[*bounds], bounds.values()


_BESIDE_TENSORS = {("min", "max"): clamp_tensors, ("min",): _MIN_TENSOR, ("max",): _MAX_TENSOR}
_BESIDE_NUMBERS = {("min", "max"): clamp_numbers, ("min",): _MIN_NUMBER, ("max",): _MAX_NUMBER}


def _given(input, min, max) -> list:
    """The bounds, those that are complex numbers as real ones, for an operand of a floating dtype.

    Raises RuntimeError without a bound, and for an imaginary part of one of such an operand.
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    real = input._raw.dtype.kind == "f"
    if real and any(isinstance(b, complex) and b.imag for b in (min, max)):
        raise RuntimeError("value cannot be converted to type double without overflow")
    if not real or (STATE.enabled and requires_grad(input)):  # the formula compares with them
        return [min, max]
    return [b.real if isinstance(b, complex) else b for b in (min, max)]


@function()
@named_out("clamp")
def clamp(input, min=None, max=None, *, out=None):
    """`input` limited to [min, max]; numbers or tensors, `max` where they cross (torch.clamp).

    Between numbers the gradient passes on the open interval; what ties with a bound that is a
    tensor shares with it. Raises RuntimeError without any bound.
    """
    min, max = _given(input, min, max)
    op, bounds = _overload(input, min=min, max=max)
    return op(input, *bounds) if out is None else op.call_out(out, (input, *bounds))


@function()
def clamp_(input, min=None, max=None):
    """`clamp` in place."""
    min, max = _given(input, min, max)
    op, bounds = _overload(input, True, min=min, max=max)
    return op.inplace(input, *bounds)


@function()
def clamp_min(input, min, *, out=None):
    """The larger of `input` and `min`, NaN if one is (torch.clamp_min)."""
    op, bounds = _overload(input, min=min)
    return op(input, *bounds) if out is None else op.call_out(out, (input, *bounds))


@function()
def clamp_min_(input, min):
    """`clamp_min` in place."""
    op, bounds = _overload(input, True, min=min)
    return op.inplace(input, *bounds)


@function()
def clamp_max(input, max, *, out=None):
    """The smaller of `input` and `max`, NaN if one is (torch.clamp_max)."""
    op, bounds = _overload(input, max=max)
    return op(input, *bounds) if out is None else op.call_out(out, (input, *bounds))


@function()
def clamp_max_(input, max):
    """`clamp_max` in place."""
    op, bounds = _overload(input, True, max=max)
    return op.inplace(input, *bounds)


alias("clamp", "clip")
