"""Addition, subtraction, multiplication, and the Scalar overloads that gradient formulas use."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import blas

from impl.core.dtypes import (
    BOOL,
    CATEGORY,
    COMPLEX,
    FLOATING,
    REDUCED,
    WIDE,
    category_of_number,
    result_dtype,
)
from impl.core.messages import (
    ADD_BOOL_ALPHA,
    ADD_COMPLEX_ALPHA,
    ADD_FLOAT_ALPHA,
    NEGATE_BOOL,
    SUBTRACT_BOOL,
    SUBTRACT_BOOLS,
)
from impl.core.named_types import type_name
from impl.core.registry import FUNCTIONS, array_ops, tensor_ops
from impl.core.sizes import broadcast_shapes
from impl.dispatch.definition import Array, alias, formula_operation, function, operator
from impl.dispatch.formula_helpers import multiplied, times
from impl.dispatch.out import same_dtype_out
from impl.dispatch.spellings import spelled
from impl.kernels.casting import storable
from impl.kernels.fused_multiply_add import product_plus
from impl.kernels.reduced_precision import rounded_once
from impl.tensor.tensor import Tensor, new


@formula_operation
def conj(value):
    """The conjugate of a complex value or number; any other value, None included, unchanged."""
    if isinstance(value, np.ndarray):
        return value.conjugate() if value.dtype.kind == "c" else value
    return value.conjugate() if isinstance(value, _COMPLEX) else value


def _taped_conj(value):
    if isinstance(value, Tensor):
        return value.conj() if value.is_complex() else value
    return conj(value)


_COMPLEX = (complex, np.complexfloating)
tensor_ops.conj = _taped_conj


def _conj_operand(value):
    """The conjugate of an operand of a formula.

    That of a complex number is a 0-dim tensor, not a wrapped number, as in torch: type promotion
    with another 0-dim tensor counts its dtype.
    """
    if isinstance(value, complex):
        return new(np.array(value.conjugate(), np.complex128))
    return _taped_conj(value)


array_ops.conj_operand, tensor_ops.conj_operand = conj, _conj_operand


def require_tensor(name: str, value) -> None:
    """Raise TypeError unless the first argument is a tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{name}(): argument 'input' (position 1) must be Tensor, not {type_name(value)}"
        )


def category(value) -> int:
    """The category of a raw value's dtype or of a Python number."""
    d = getattr(value, "dtype", None)
    return category_of_number(value) if d is None else CATEGORY[d]


# -- Scalar overloads, which gradient formulas use ----------------------------------------------
#
# In Python `x * 2` wraps the number as a tensor (MulBackward0); a formula in torch's C++ that
# multiplies by a number records MulBackward1. The number is not rounded to half or bfloat16.


@operator(node="MulBackward1", function=False, method=False, elementwise=True, takes_real_part=True)
@rounded_once
def mul_scalar(self: Array, other) -> Array:
    return self * other


@operator(node="AddBackward1", function=False, method=False, elementwise=True, takes_real_part=True)
@rounded_once
def add_scalar(self: Array, other) -> Array:
    return self + other


@operator(node="SubBackward1", function=False, method=False, elementwise=True, takes_real_part=True)
@rounded_once
def sub_scalar(self: Array, other) -> Array:
    if self.dtype.kind == "b":
        raise NotImplementedError(SUBTRACT_BOOL)
    if self.dtype.kind == "c":  # adds minus one times the number, whose zeros have a sign
        return self + complex(-1) * complex(other)
    return self - other


@operator(
    node="DivBackward1",
    promote="float",
    function=False,
    method=False,
    elementwise=True,
    takes_real_part=True,
)
@rounded_once
def div_scalar(self: Array, other) -> Array:
    return self / other


mul_scalar.gradient(self="F.mul_scalar(grad, other_conj)")
add_scalar.gradient(self="grad").forward(lambda F, self_t: self_t.clone())
sub_scalar.gradient(self="grad")
div_scalar.gradient(self="F.div_scalar(grad, other_conj)")


def _multiple(value, alpha, beside):
    """value * alpha in the dtype of the operands; `value` or `beside` may be a Python number."""
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        dtype = beside.dtype
        value = dtype.type(value)
    if dtype in REDUCED or dtype.kind == "u":
        alpha = storable(alpha, dtype)
    product = value * alpha
    return product if product.dtype is dtype else product.astype(dtype)


def _plus_multiple(self, other, alpha):
    """self + alpha * other, rounded once in float32; one of the two may be a Python number."""
    dtype = getattr(other, "dtype", None) or self.dtype
    if dtype != np.float32:
        return self + _multiple(other, alpha, self)
    return product_plus(np.asarray(other, dtype)[()], dtype.type(alpha), self)


# -- addition and subtraction ------------------------------------------------------------------


def _is_plain(self, other, alpha) -> bool:
    """Fast path of the checks: one dtype, float32 or float64, and a real alpha in its range."""
    kind = getattr(self, "dtype", None)
    plain = kind in WIDE and getattr(other, "dtype", None) is kind and type(alpha) in (int, float)
    return plain and -1e38 < alpha < 1e38


def _check_alpha(self, other, alpha) -> None:
    if _is_plain(self, other, alpha) or (type(alpha) is int and alpha == 1):
        return
    broadcast_shapes(np.shape(self), np.shape(other))  # which torch looks at first
    check_alpha(self, other, alpha)
    storable(alpha, result_dtype([self, other]).numpy)


def check_alpha(self, other, alpha) -> None:
    """Raise RuntimeError for an alpha of another category than the operands may have."""
    highest = max(category(self), category(other))
    if isinstance(alpha, bool) and highest != BOOL:
        raise RuntimeError(ADD_BOOL_ALPHA)
    if highest < FLOATING and not isinstance(alpha, int):
        raise RuntimeError(ADD_FLOAT_ALPHA)
    if highest < COMPLEX and isinstance(alpha, complex):
        raise RuntimeError(ADD_COMPLEX_ALPHA)


def _accumulate(memory, other, alpha) -> None:
    """memory += alpha * other, fused and in place; an array has the memory's dtype and layout.

    BLAS's axpy takes zero times NaN for zero, hence the test of alpha.
    """
    if alpha == 1:
        np.add(memory, other, out=memory)
    elif alpha == -1:
        np.subtract(memory, other, out=memory)
    elif alpha and type(other) is np.ndarray and memory.size and memory.dtype in _AXPY:
        _AXPY[memory.dtype](other.reshape(-1), memory.reshape(-1), a=alpha)
    else:
        np.add(memory, _multiple(other, alpha, memory), out=memory)


_AXPY = {np.dtype(np.float32): blas.saxpy, np.dtype(np.float64): blas.daxpy}


@operator(
    promote="arithmetic",
    elementwise=True,
    inplace=True,
    out=True,
    validated_numbers=("alpha",),
    takes_real_part=True,
)
def add(self: Array, other: Array, *, alpha=1) -> Array:
    """self + alpha * other; shapes broadcast, dtypes promote, bools are or-ed (torch.add).

    Raises RuntimeError for a floating `alpha` with integers, and a bool one with numbers.
    """
    return self + other if alpha == 1 else _plus_multiple(self, other, alpha)


@add.on_slow_path
def _add(self: Array, other: Array, *, alpha=1) -> Array:
    if alpha == 1 and not (_is_complex(self) or _is_complex(other)):
        return self + other
    # torch multiplies complex numbers by an alpha of 1, too: infinite ones have other parts then.
    return _plus_multiple(self, other, alpha)


def _is_complex(value) -> bool:
    return isinstance(value, complex) or category(value) == COMPLEX


add.checked(_check_alpha)
add.in_memory(lambda self, other, alpha=1: _accumulate(self, other, alpha))
add.gradient(
    self="grad",
    other=lambda F, grad, alpha: grad if alpha == 1 else F.mul_scalar(grad, F.conj(alpha)),
)
add.forward(lambda F, self_t, other_t, alpha: self_t + times(F, other_t, alpha))


@operator(
    promote="arithmetic",
    elementwise=True,
    inplace=True,
    out=True,
    validated_numbers=("alpha",),
    takes_real_part=True,
)
def sub(self: Array, other: Array, *, alpha=1) -> Array:
    """self - alpha * other; shapes broadcast, dtypes promote (torch.sub).

    Raises RuntimeError when an operand is bool.
    """
    return self - other if alpha == 1 else _plus_multiple(self, other, -alpha)


@sub.on_slow_path
def _sub(self: Array, other: Array, *, alpha=1) -> Array:
    if alpha == 1 and not (_is_complex(self) or _is_complex(other)):
        return self - other
    return _plus_multiple(self, other, -alpha)


@sub.checked
def _check_subtraction(self, other, alpha) -> None:
    if _is_plain(self, other, alpha):
        return
    check_subtraction(self, other)
    _check_alpha(self, other, alpha)


def check_subtraction(self, other) -> None:
    """Raise NotImplementedError for bools."""
    bools = (category(self) == BOOL) + (category(other) == BOOL)
    if bools:
        raise NotImplementedError(SUBTRACT_BOOLS if bools == 2 else SUBTRACT_BOOL)


@formula_operation
def difference(value, other):
    """value - other, which refuses bools. Raises NotImplementedError."""
    _check_subtraction(value, other, 1)
    return value - other


tensor_ops.difference = lambda value, other: value - other


# Of floats there is nothing else to refuse.
sub.in_memory(lambda self, other, alpha=1: _accumulate(self, other, -alpha))
sub.gradient(
    self="grad",
    other="-grad if alpha == 1 else F.mul_scalar(-grad, F.conj(alpha))",
)
sub.forward(lambda F, self_t, other_t, alpha: self_t - times(F, other_t, alpha))


_WITH_ALPHA: dict[str, Any] = {
    "promote": "arithmetic",
    "elementwise": True,
    "function": False,
    "method": False,
    "validated_numbers": ("alpha",),
    "takes_real_part": True,
}
"""Facts of subtractions that are reached through another name (`sub`, `rsub`, and operators)."""


@operator(node="SubBackward1", torch_name="sub", **_WITH_ALPHA)
def sub_number(self: Array, other: Array, *, alpha=1) -> Array:
    return _sub(self, other, alpha=alpha)


sub_number.checked(_check_subtraction)
sub_number.gradient(self="grad")


def _subtracting(name: str, of_tensors, of_number):
    def call(input, other, *number_alpha, alpha=1, **named):
        if number_alpha:
            return of_number(input, other, *number_alpha)
        return of_tensors(input, other, alpha=alpha, **named)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = "`sub`, of which an alpha by position makes that for a number (torch.subtract)."
    return function(name)(call)


_subtracting("subtract", FUNCTIONS["sub"], sub_number)
_subtracting(
    "subtract_",
    spelled("subtract_")(FUNCTIONS["sub_"]),
    spelled("subtract_")(sub_number.inplace),
)


@operator(**_WITH_ALPHA)
def rsub(self: Array, other: Array, *, alpha=1) -> Array:
    return other - self if alpha == 1 else _plus_multiple(other, self, -alpha)


@operator(node="RsubBackward1", torch_name="rsub", **_WITH_ALPHA)
def rsub_scalar(self: Array, other: Array, *, alpha=1) -> Array:
    return other - self if alpha == 1 else _plus_multiple(other, self, -alpha)


def _rsub(self: Array, other: Array, *, alpha=1) -> Array:
    return _sub(other, self, alpha=alpha)


rsub.on_slow_path(_rsub)
rsub_scalar.on_slow_path(_rsub)

# Computed as other - self: layouts and errors follow that order of the operands.
rsub.tensor_positions = rsub_scalar.tensor_positions = (1, 0)
rsub.checked(_check_subtraction)
rsub_scalar.checked(_check_subtraction)
rsub.gradient(
    self=lambda F, grad, alpha: multiplied(F, -grad, alpha),
    other=lambda F, grad: grad,
)
rsub.forward(lambda F, self_t, other_t, alpha: -times(F, self_t, alpha) + other_t)
rsub_scalar.gradient(self=lambda F, grad, alpha: multiplied(F, -grad, alpha))
for _op in (rsub, rsub_scalar):
    _op.composes(lambda self, other, alpha: sub(other, self, alpha))


@function("rsub", method=False)
def rsub_(input, other, *, alpha=1):
    """other - alpha * input, where `other` is a tensor or a number (torch.rsub)."""
    return (rsub if isinstance(other, Tensor) else rsub_scalar)(input, other, alpha)


@operator(elementwise=True, inplace=True, out=True)
def neg(self: Array) -> Array:
    """-self. Raises RuntimeError for bools (torch.neg)."""
    if self.dtype.kind == "b":
        raise NotImplementedError(NEGATE_BOOL)
    return -self


@neg.checks_out
def _check_negated_out(out, self) -> None:
    if self.dtype.kind == "b":
        raise NotImplementedError(NEGATE_BOOL)
    same_dtype_out(out, self)


neg.gradient(self="-grad")


@function()
def positive(input):
    """The tensor itself. Raises NotImplementedError for bools (torch.positive)."""
    if input._raw.dtype.kind == "b":
        raise NotImplementedError("The `+` operator, on a bool tensor is not supported.")
    return input


# -- multiplication ---------------------------------------------------------------------------


@operator(
    promote="arithmetic",
    elementwise=True,
    inplace=True,
    out=True,
    exact_number=True,
    takes_real_part=True,
)
def mul(self: Array, other: Array) -> Array:
    """The product; shapes broadcast, dtypes promote (torch.mul)."""
    return self * other


mul.in_memory(lambda self, other: np.multiply(self, other, out=self))
mul.gradient(self="grad * other_conj", other="grad * self_conj")
mul.forward(lambda F, self_t, self, other_t, other: other_t * self + self_t * other)


alias("mul", "multiply")
alias("neg", "negative")
