"""Division with its rounding modes, remainders and reciprocals."""

from __future__ import annotations

import numpy as np

from impl.dtypes import result_dtype
from impl.operator import TAPED, Array, alias, formula_operation, function, operator
from impl.overloads import OUT, publish, refusal
from impl.refusals import no_derivative, not_implemented, refuse_bool


@operator(node="DivBackward0", promote="float", elementwise=True, function=False, method=False)
def true_div(self: Array, other: Array) -> Array:
    return self / other


def _by_other(F, grad, other_conj):
    return grad / other_conj


def _minus_quotient(F, grad, self, other):
    quotient = F.true_div(self, other)
    return -grad * F.conj(quotient / other)


true_div.gradient(self=_by_other, other=_minus_quotient)
true_div.forward(lambda F, self_t, other_t, other, result: (self_t - other_t * result) / other)


@operator(node="DivBackward2", promote="arithmetic", elementwise=True, function=False, method=False)
def div_rounded(self: Array, other: Array, rounding_mode) -> Array:
    return quotient(self, other, rounding_mode)


@operator(node="DivBackward2", promote="float", elementwise=True, function=False, method=False)
def div_unrounded(self: Array, other: Array, rounding_mode) -> Array:
    return np.true_divide(self, other)


true_div.exact_number = div_rounded.exact_number = div_unrounded.exact_number = True


def quotient(a, b, rounding_mode):
    """a / b rounded towards zero ("trunc") or down ("floor"), in the dtype of a and b.

    Raises RuntimeError for a zero divisor among integers.
    """
    if "c" in (_kind(a), _kind(b)):
        raise not_implemented(f"div_{rounding_mode}_cpu", result_dtype([a, b]))
    if _kind(a) in "iub" and _kind(b) in "iub":
        return _integer_quotient(a, b, rounding_mode)
    if rounding_mode == "trunc":
        return np.trunc(a / b)
    return np.floor_divide(a, b)


def _kind(value) -> str:
    return np.asarray(value).dtype.kind


def _integer_quotient(a, b, rounding_mode):
    name = "div_trunc_cpu" if rounding_mode == "trunc" else "div_floor_cpu"
    refuse_bool(a if hasattr(a, "dtype") else b, name)
    if not np.all(b):
        raise RuntimeError("ZeroDivisionError")
    down = np.floor_divide(a, b)
    if rounding_mode == "floor":
        return down
    return down + ((down < 0) & (down * b != a)).astype(down.dtype)


def _check_rounding(self, other, rounding_mode) -> None:
    if rounding_mode not in (None, "trunc", "floor"):
        raise RuntimeError(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
            f"'{rounding_mode}'"
        )


def _dividend_gradient(F, grad, other, rounding_mode):
    return _by_other(F, grad, other) if rounding_mode is None else F.zeros_like(grad)


def _divisor_gradient(F, grad, self, other, rounding_mode):
    if rounding_mode is None:
        return _minus_quotient(F, grad, self, other)
    return F.zeros_like(grad)


true_div.name = "div"
for _op in (div_rounded, div_unrounded):
    _op.checked(_check_rounding)
    _op.gradient(self=_dividend_gradient, other=_divisor_gradient)
    _op.name = "div"
for _op in (div_rounded, div_unrounded):
    _op.forward(
        lambda F, self_t, self, other_t, other, rounding_mode, result: (
            self_t / other - other_t * (self / other) / other
            if rounding_mode is None
            else F.zeros_like(result)
        )
    )

_UNSET = object()


@function()
def div(input, other, *, rounding_mode=_UNSET, out=None):
    """The quotient, rounded if asked; shapes broadcast, dtypes promote (torch.div).

    Without rounding integers give the default floating dtype. Raises RuntimeError for an unknown
    `rounding_mode` (None, "trunc" and "floor" are known) and for integers divided by zero.
    """
    op, args = _division(input, other, rounding_mode)
    return op(*args) if out is None else op.into(out, args)


@function()
def div_(input, other, *, rounding_mode=_UNSET):
    """`div` in place."""
    op, args = _division(input, other, rounding_mode)
    return op.inplace(*args)


def _division(input, other, rounding_mode):
    if rounding_mode is _UNSET:
        return true_div, (input, other)
    op = div_unrounded if rounding_mode is None else div_rounded
    return op, (input, other, rounding_mode)


@operator(
    node="NotImplemented", promote="arithmetic", elementwise=True, function=False, method=False
)
def floor_divide(self: Array, other: Array) -> Array:
    return quotient(self, other, "floor")


@operator(
    node="NotImplemented", promote="arithmetic", elementwise=True, function=False, method=False
)
def floor_divide_scalar(self: Array, other: Array) -> Array:
    return quotient(self, other, "floor")


@operator(
    node="NotImplemented", promote="arithmetic", elementwise=True, function=False, method=False
)
def floor_divide_of_scalar(other: Array, self: Array) -> Array:
    return quotient(other, self, "floor")


floor_divide.gradients("self", "other")(no_derivative("floor_divide"))
floor_divide_scalar.gradient(self=no_derivative("floor_divide"))
floor_divide_of_scalar.gradient(self=no_derivative("floor_divide"))


@operator(
    node="NotImplemented", promote="arithmetic", elementwise=True, function=False, method=False
)
def floor_divide_into(self: Array, other: Array) -> Array:
    return quotient(self, other, "floor")


floor_divide_into.gradients("self", "other")(no_derivative("floor_divide_"))
publish(
    "floor_divide",
    floor_divide,
    floor_divide_scalar,
    floor_divide_of_scalar,
    written=(floor_divide_into, floor_divide_into),
    doc="The quotient rounded down; recorded, but without a derivative (torch.floor_divide).",
)


# -- remainders --------------------------------------------------------------------------------


def _fmod(a, b):
    _check_modulus(a, b, "fmod_cpu")
    return np.fmod(a, b)


def _remainder(a, b):
    _check_modulus(a, b, "remainder_cpu")
    rest = np.fmod(a, b)
    return np.where((rest != 0) & ((b < 0) != (rest < 0)), rest + b, rest).astype(rest.dtype)


def _check_modulus(a, b, kernel: str) -> None:
    if _kind(a) in "iub" and _kind(b) in "iub":
        refuse_bool(a if hasattr(a, "dtype") else b, kernel)
        if not np.all(b):
            raise RuntimeError("ZeroDivisionError")


@operator(
    node="FmodBackward1", promote="arithmetic", elementwise=True, function=False, method=False
)
def fmod(self: Array, other: Array) -> Array:
    return _fmod(self, other)


@operator(
    node="FmodBackward0", promote="arithmetic", elementwise=True, function=False, method=False
)
def fmod_scalar(self: Array, other: Array) -> Array:
    return _fmod(self, other)


@operator(
    node="RemainderBackward1", promote="arithmetic", elementwise=True, function=False, method=False
)
def remainder(self: Array, other: Array) -> Array:
    return _remainder(self, other)


@operator(
    node="RemainderBackward0", promote="arithmetic", elementwise=True, function=False, method=False
)
def remainder_scalar(self: Array, other: Array) -> Array:
    return _remainder(self, other)


@operator(
    node="NotImplemented", promote="arithmetic", elementwise=True, function=False, method=False
)
def remainder_of_scalar(other: Array, self: Array) -> Array:
    return _remainder(other, self)


@formula_operation
def quotient_towards(self, other, rounding_mode):
    return quotient(self, other, rounding_mode)


TAPED.quotient_towards = lambda a, b, rounding_mode: div(a, b, rounding_mode=rounding_mode)

fmod.gradient(
    self=lambda F, grad: grad,
    other=lambda F, grad, self, other: -grad * F.quotient_towards(self, other, "trunc"),
)
fmod.forward(
    lambda F, self_t, self, other_t, other: (
        self_t - other_t * F.quotient_towards(self, other, "trunc")
    )
)
remainder.gradient(
    self=lambda F, grad: grad,
    other=lambda F, grad, self, other: -grad * F.quotient_towards(self, other, "floor"),
)
remainder.forward(
    lambda F, self_t, self, other_t, other: (
        self_t - other_t * F.quotient_towards(self, other, "floor")
    )
)
fmod_scalar.gradient(self=lambda F, grad: grad)
remainder_scalar.gradient(self=lambda F, grad: grad)
remainder_of_scalar.gradient(self=no_derivative("remainder"))


def _no_tensor(input, other) -> TypeError:
    kinds = f"!{type(input).__name__}!, !{type(other).__name__}!"
    return refusal(
        "remainder",
        (input, other),
        f"Tensor input, Tensor other{OUT}",
        "Number self, Tensor other)\n      didn't match because some of the arguments have invalid "
        f"types: ({kinds}",
        f"Tensor input, Number other{OUT}",
    )


publish(
    "fmod",
    fmod,
    fmod_scalar,
    doc="""The remainder with the sign of the dividend (C's fmod; torch.fmod).

    Raises RuntimeError for integers and a zero divisor.
    """,
)
publish(
    "remainder",
    remainder,
    remainder_scalar,
    remainder_of_scalar,
    refuse=_no_tensor,
    doc="""The remainder with the sign of the divisor (Python's %; torch.remainder).

    Raises RuntimeError for integers and a zero divisor.
    """,
)


# -- reciprocals -------------------------------------------------------------------------------


@operator(promote="float", elementwise=True, inplace=True, out=True)
def reciprocal(self: Array) -> Array:
    """1 / self; integers give the default floating dtype (torch.reciprocal)."""
    inverse = np.reciprocal(self)
    if inverse.dtype.kind != "c":
        return inverse
    return np.where(self == 0, inverse.dtype.type(complex(np.inf, np.nan)), inverse)


reciprocal.gradient(self=lambda F, grad, result: -grad * F.conj(result * result))

alias("div", "divide")

for _op in (true_div, div_unrounded):
    _op.node_class._takes_real_part = True


def _true_divide(input, other, *, out=None):
    """`div` without rounding (torch.true_divide)."""
    return true_div(input, other) if out is None else true_div.into(out, (input, other))


def _true_divide_inplace(input, other):
    """`true_divide` in place."""
    return true_div.inplace(input, other)


function("true_divide")(_true_divide)
function("true_divide_")(_true_divide_inplace)
