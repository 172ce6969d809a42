"""Powers and roots: pow with its three overloads, square, sqrt, rsqrt, float_power."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from impl.core.dtypes import (
    REDUCED,
    bfloat16,
    check_scalar,
    complex128,
    float16,
    float64,
    int64,
    result_dtype,
)
from impl.core.grad_mode import no_grad
from impl.core.registry import array_ops, tensor_ops
from impl.core.strides import contiguous_strides
from impl.dispatch.definition import Array, formula_operation, function, operator
from impl.dispatch.facts import SavedAs
from impl.dispatch.not_implemented import refuse_bool
from impl.dispatch.out import check_out, store
from impl.dispatch.spellings import spelled
from impl.dispatch.vmap_writes import falls_back
from impl.kernels.casting import element, storable
from impl.kernels.reduced_precision import rounded_once
from impl.tensor.allocation import dense_strides
from impl.tensor.tensor import Tensor, new, requires_grad

# The exponents that torch computes without pow. The results differ at zeros and infinities:
# pow(-0., .5) is 0., the square root of -0. is -0.
_EXACT: dict[float, Callable] = {
    0.5: np.sqrt,
    -0.5: lambda x: 1 / np.sqrt(x),
    -1: lambda x: array_ops.reciprocal(x),
    2: lambda x: x * x,
    -2: lambda x: 1 / (x * x),
    3: lambda x: x * x * x,
}


@operator(
    node="PowBackward0",
    elementwise=True,
    function=False,
    method=False,
    torch_name="pow",
    takes_real_part=True,
)
def pow_scalar(self: Array, exponent) -> Array:
    if self.dtype.kind in "iub" and isinstance(exponent, int):
        element(exponent, int64.numpy)  # raises where it is out of range
    target = result_dtype([self, exponent])
    base = self if self.dtype == target.numpy else self.astype(target.numpy)
    if target.numpy in REDUCED and not -100 < exponent < 100:
        storable(exponent, target.numpy)  # raises where it is out of range
    if target is bfloat16 and exponent in (3, -2, -0.5):  # rounded at each step, unlike all others
        return _EXACT[exponent](base)
    if target is float16 and exponent in (0.5, -0.5):
        return _power_of_half(base, exponent)
    if target.numpy in REDUCED and exponent not in _EXACT:
        exponent = float(target.numpy.type(float(exponent)))  # rounded to the reduced dtype, too
    return _power_by_number(base, exponent)


@pow_scalar.laid_out_as
def _cast_layout(args):
    """That of the base, which is cast before the power is taken."""
    base, exponent = args
    shape, strides = base._raw.shape, base.stride()
    if result_dtype([base._raw, exponent]) is not base.dtype:
        strides = dense_strides(base) or contiguous_strides(shape)
    return [(shape, strides)]


@rounded_once
def _power_of_half(base, exponent):
    """The power of half precision numbers, also where those of other dtypes are roots: it is
    infinite at minus infinity and has no sign at minus zero."""
    return np.power(base, np.full_like(base, exponent))  # of a number it would be a root


@rounded_once
def _power_by_number(base, exponent):
    if exponent == 0:
        return np.ones_like(base)
    if exponent == 1:
        return np.array(base, order="K")
    if base.dtype.kind in "iub":
        if exponent < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        return base ** storable(exponent, base.dtype)
    exact = _EXACT.get(exponent)
    if exact is None:
        if base.dtype.kind == "c":
            return _complex_power(base, exponent)
        return base ** float(exponent)  # bfloat16 takes no integer beyond int64
    return exact(base)


def _complex_power(base, exponent):
    """base ** exponent; at base 0 and exponent 0 exp(exponent * log(base)), NaN included, as in
    C."""
    result = np.power(base, exponent)
    zero = (base == 0) | (exponent == 0)
    if np.any(zero):
        result = np.where(zero, np.exp(exponent * np.log(base)), result)
    return result.astype(base.dtype)


@operator(
    node="PowBackward1",
    promote="arithmetic",
    elementwise=True,
    function=False,
    method=False,
    torch_name="pow",
    takes_real_part=True,
)
def pow_tensor(self: Array, exponent: Array) -> Array:
    return _power(self, exponent)


@operator(
    node="PowBackward2",
    writes=1,
    written_by=lambda args: None if args[0] == 1 else "pow",
    promote="arithmetic",
    elementwise=True,
    function=False,
    method=False,
    saved_as=SavedAs(numbers_as_tensors=False),
    torch_name="pow",
    takes_real_part=True,
)
def pow_of_scalar(self: Array, exponent: Array) -> Array:
    one = np.ndim(self) == 0 and self == 1 and exponent.dtype.kind != "b"
    return np.ones_like(exponent) if one else _power(self, exponent)


pow_scalar.casts_out(True)
pow_of_scalar.casts_out(False)
pow_of_scalar.structured(lambda self, exponent: (exponent.shape, None))
pow_of_scalar.laid_out_as(lambda args: [])  # row-major, whatever the exponent's layout


def _power(base, exponent):
    refuse_bool(exponent, "pow")
    if base.dtype.kind == "c":
        return _complex_power(base, exponent)
    if base.dtype.kind not in "iu" and exponent.dtype.kind in "biu":  # only in a formula
        exponent = exponent.astype(base.dtype)
    if exponent.dtype.kind not in "iu":
        return np.power(_of_exponents(base, exponent), exponent)
    if not np.any(exponent < 0):
        return np.power(base, exponent)
    # Rounded towards zero: only 1 and -1 have an inverse.
    negative = exponent < 0
    positive = np.power(base, np.where(negative, 0, exponent).astype(exponent.dtype))
    inverse = np.where(base == 1, 1, np.where(base == -1, 1 - 2 * (exponent & 1), 0))
    return np.where(negative, inverse, positive).astype(exponent.dtype)


def _of_exponents(base, exponent):
    """The base; under exponents of one half without the sign of -0. and -inf, for which pow is
    positive, while NumPy takes the square root of all under one exponent."""
    half = exponent == 0.5
    if not np.any(half):
        return base
    return np.where(half & ((base == 0) | np.isinf(base)), np.abs(base), base)


@formula_operation
def log_beside(value, other):
    """The logarithm, in the dtype of `other`."""
    return np.log(value if value.dtype == other.dtype else value.astype(other.dtype))


tensor_ops.log_beside = lambda value, other: (
    value if value.dtype is other.dtype else value.to(other.dtype)
).log()


def _not_negative(F, exponent):
    if not F.is_complex(exponent):
        return exponent >= 0
    return (F.imaginary_part(exponent) == 0) & (F.real_part(exponent) >= 0)


@formula_operation
def row_major_zeros(like):
    return np.zeros(like.shape, like.dtype)


tensor_ops.row_major_zeros = lambda like: tensor_ops.zeros_like(like).contiguous()


def _of_base_by_number(F, grad, self, exponent):
    if exponent == 0 and not isinstance(exponent, bool):  # no bool equals a number in ATen
        return F.row_major_zeros(grad)
    exponent = exponent if isinstance(exponent, complex) else float(exponent)
    slope = F.conj(F.mul_scalar(F.pow_scalar(self, exponent - 1), exponent))
    return F.in_domain_of(grad * slope, self)


def _of_base(F, grad, self, exponent):
    slope = exponent * F.pow_tensor(self, F.sub_scalar(exponent, 1))
    return F.in_domain_of(F.where(exponent == 0, 0.0, grad * F.conj(slope)), self)


def _of_exponent(F, grad, self, exponent, result):
    # 0 ** e is 0 for every positive e, so the derivative is 0; log(0) would give NaN.
    slope = result * F.log_beside(self, result)
    at_zero = (self == 0) & _not_negative(F, exponent)
    return F.in_domain_of(grad * F.where(at_zero, 0.0, F.conj(slope)), exponent)


def _of_exponent_over_number(F, grad, self, exponent, result):
    slope = F.conj(F.mul_scalar(result, _log(self, F.is_complex(result))))
    if self == 0 and not isinstance(self, bool):
        slope = F.where(_not_negative(F, exponent), 0.0, slope)
    return grad * slope


def _log(number, is_complex: bool) -> complex | float:
    return complex(np.log(complex(number))) if is_complex else float(np.log(float(number)))


pow_scalar.gradient(self=_of_base_by_number)
pow_tensor.gradient(self=_of_base, exponent=_of_exponent)
pow_tensor.forward(
    lambda F, self_t, self, exponent_t, exponent, result: F.conj(
        _as_input(F, _of_base(F, F.conj(self_t), self, exponent), self)
        + _as_input(F, _of_exponent(F, F.conj(exponent_t), self, exponent, result), exponent)
    )
)


def _as_input(F, slope, value):
    # The tangent reuses the gradient formula, which drops the imaginary part for a real input.
    return slope if F.is_complex(value) else F.real_part(slope)


pow_of_scalar.gradient(exponent=_of_exponent_over_number)


def _overload(input, exponent):
    if not isinstance(input, Tensor):
        return pow_of_scalar
    return pow_tensor if isinstance(exponent, Tensor) else pow_scalar


@function("pow")
def pow_(input, exponent, *, out=None):
    """input ** exponent; one of them may be a number, dtypes promote (torch.pow).

    Raises RuntimeError for an integer tensor and a negative integer, OverflowError for a base that
    no number holds.
    """
    if type(input) is int:
        check_scalar(input)
    op = _overload(input, exponent)
    if out is None:
        return op(input, exponent)
    if op is pow_of_scalar and input == 1 and not (isinstance(input, bool) or exponent.is_meta):
        return _ones_in(out, exponent)
    return op.call_out(out, (input, exponent))


def _ones_in(out, exponent):
    """Powers of one, which ATen fills in: of any dtype, and where elements share memory."""
    check_out("pow", out, requires_grad(exponent))
    if out._raw.shape == exponent._raw.shape:
        with no_grad():
            return out.fill_(1)
    return store("pow", out, new(np.ones(exponent._raw.shape, out._raw.dtype)))


@function("pow_")
def pow_inplace(input, exponent):
    """`pow` in place."""
    return _overload(input, exponent).inplace(input, exponent)


@function()
def float_power(input, exponent, *, out=None):
    """`pow` computed in float64, or complex128 (torch.float_power)."""
    wide, number = _widest(input, exponent)
    if out is not None and out.dtype is not wide:
        raise RuntimeError(
            f"the output given to float_power has dtype {out.dtype.legacy} but the operation's "
            f"result requires dtype {wide.legacy}"
        )
    exponent = exponent.to(wide) if isinstance(exponent, Tensor) else number(exponent)
    input = input.to(wide) if isinstance(input, Tensor) else number(input)  # as C++ casts them
    return pow_(input, exponent, out=out)


def _is_complex(value) -> bool:
    return value.is_complex() if isinstance(value, Tensor) else isinstance(value, complex)


@function()
@functools.partial(
    falls_back,
    lambda exponent: f"float_power_.{'Tensor' if isinstance(exponent, Tensor) else 'Scalar'}",
)
def float_power_(input, exponent):
    """`float_power` in place. Raises RuntimeError unless the base has the result's dtype."""
    wide, number = _widest(input, exponent)
    if input.dtype is not wide:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {input.dtype.legacy} but the operation's "
            f"result requires dtype {wide.legacy}"
        )
    exponent = exponent.to(wide) if isinstance(exponent, Tensor) else number(exponent)
    return pow_inplace(input, exponent)


def _widest(input, exponent):
    """The dtype in which `float_power` computes, and the Python type of its numbers."""
    if _is_complex(input) or _is_complex(exponent):
        return complex128, complex
    return float64, float


@function()
def square(input, *, out=None):
    """input ** 2, recorded as PowBackward0 (torch.square)."""
    return pow_(input, 2, out=out)


_squared = spelled("square_", "default")(pow_inplace)


@function()
def square_(input):
    """`square` in place."""
    return _squared(input, 2)


@operator(promote="float", elementwise=True, inplace=True, out=True)
def sqrt(self: Array) -> Array:
    """The square root; NaN below zero, integers give the default floating dtype (torch.sqrt)."""
    return np.sqrt(self)


sqrt.gradient(self=lambda F, grad, result_conj: grad / F.mul_scalar(result_conj, 2))


@operator(promote="float", elementwise=True, inplace=True, out=True)
def rsqrt(self: Array) -> Array:
    """1 / sqrt(self) (torch.rsqrt)."""
    return 1 / np.sqrt(self)


rsqrt.gradient(
    self=lambda F, grad, result: F.mul_scalar(grad, -0.5) * F.conj(F.pow_scalar(result, 3))
)
