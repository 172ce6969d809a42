"""where, and nan_to_num, which selects among its input and three numbers."""

from __future__ import annotations

import functools

import ml_dtypes
import numpy as np

from impl.core import messages
from impl.core.dtypes import BY_NUMPY, bfloat16, result_dtype
from impl.core.inference_mode import refuses
from impl.core.registry import FUNCTIONS, array_ops
from impl.core.strides import contiguous_strides
from impl.core.warning import warn_once
from impl.dispatch.batching_rules import RULES
from impl.dispatch.definition import Array, function, operator
from impl.kernels.casting import filled, storable
from impl.kernels.reduced_precision import kept_where
from impl.tensor.allocation import copied_layout, dense_strides
from impl.tensor.tensor import Tensor


@operator(node="WhereBackward0", elementwise=True, function=False, method=False)
def where(condition: Array, self: Array, other: Array) -> Array:
    _require_condition(condition.dtype)
    target = result_dtype([self, other]).numpy
    return np.where(condition, _cast(self, target), _cast(other, target))


def _require_condition(d: np.dtype) -> None:
    if d.kind != "b" and d != np.uint8:
        raise RuntimeError(
            "where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{BY_NUMPY[d].legacy}"
        )


def _cast(value, target):
    if isinstance(value, (np.ndarray, np.generic)):
        return value if value.dtype == target else value.astype(target)
    if target.kind == "u":
        return storable(value, target)
    return np.asarray(value).astype(target)[()]  # which takes integers beyond int64


def _same_as_promoted(out, condition, self, other) -> None:
    target = result_dtype([self, other])
    if out != target.numpy:
        raise RuntimeError(
            f"Expected out type to be {target.legacy} but got {BY_NUMPY[out].legacy}"
        )


@where.laid_out_as
def _cast_layouts(args):
    condition, *values = args
    common = result_dtype([value._raw if isinstance(value, Tensor) else value for value in values])
    layouts = [(condition._raw.shape, condition.stride())]
    for value in values:
        if isinstance(value, Tensor):
            shape, strides = value._raw.shape, value.stride()
            if value.dtype is not common:
                strides = dense_strides(value) or contiguous_strides(shape)
            layouts.append((shape, strides))
        else:
            layouts.append(((), ()))
    return layouts


where.checks_out(_same_as_promoted, first=True)


@functools.partial(where.prepares_out, late=True)
def _look_at_condition(out, condition, self, other):
    _check_condition(condition.dtype)
    return [condition, self, other]


where.gradient(
    self=lambda F, grad, condition: F.where(condition, grad, 0),
    other=lambda F, grad, condition: F.where(condition, 0, grad),
)
where.forward(
    lambda F, condition, self_t, self, other_t, other, result: F.where(
        condition, _of_operand(self_t, self, result), _of_operand(other_t, other, result)
    )
)


def _of_operand(tangent, operand, result):
    """The tangent of an operand; of a number zeros in the dtype in which it was read."""
    return tangent if isinstance(operand, Tensor) else tangent.to(result.dtype)


del array_ops.where


def _where(condition, a, b):
    """np.where in formulas; a number on one side takes the dtype of the other side."""
    _check_condition(condition.dtype)
    if type(b) is int and b == 0 and isinstance(a, np.ndarray):
        return kept_where(condition, a)
    result = np.where(condition, a, b)
    dtype = a.dtype if hasattr(a, "dtype") else getattr(b, "dtype", None)
    # NumPy does not convert a Python number to bfloat16.
    return result.astype(dtype) if dtype == bfloat16.numpy else result


array_ops.where = _where


def _check_condition(d: np.dtype) -> None:
    if d == np.uint8:
        warn_once(messages.UINT8_CONDITION)
    _require_condition(d)


def _select(condition, self, other, out):
    if not isinstance(condition, Tensor):
        raise TypeError(
            "where(): argument 'condition' (position 1) must be Tensor, "
            f"not {type(condition).__name__}"
        )
    if out is None and condition._raw.dtype == np.uint8:
        warn_once(messages.UINT8_CONDITION)
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


def _found(condition):
    return FUNCTIONS["nonzero"](condition, as_tuple=True)


_found.__name__ = "where"  # which the refusal of batched tensors shows
_positions = RULES["dynamic"](_found)


@function("where", method=False)
def where_(condition, input=_UNSET, other=_UNSET, *, out=None):
    """`input` where the condition holds, else `other`; either may be a number (torch.where).

    With a condition alone, the indices where it holds. Raises RuntimeError for a condition that
    is not bool.
    """
    if input is _UNSET and other is _UNSET:
        return _positions(condition)
    return _select(condition, input, other, out)


Tensor.where = lambda self, condition, other: _select(condition, self, other, None)


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
    high = limits.max if posinf is None else float(posinf)
    low = limits.min if neginf is None else float(neginf)
    result = np.where(np.isnan(self), self.dtype.type(0 if nan is None else float(nan)), self)
    result = np.where(self == np.inf, self.dtype.type(high), result)
    return np.where(self == -np.inf, self.dtype.type(low), result)


nan_to_num.laid_out_as(copied_layout)


def _same_as_input(out, self, *rest) -> None:
    if out != self.dtype:
        raise RuntimeError(
            f"nan_to_num: dtype of out: {BY_NUMPY[out].legacy} should be same as input: "
            f"{BY_NUMPY[self.dtype].legacy}"
        )


nan_to_num.checks_out(_same_as_input, first=True)
nan_to_num.composes(refuses("nan_to_num"))
nan_to_num.gradient(self=lambda F, grad, self: grad * F.isfinite(self))
