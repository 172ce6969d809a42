"""Division with its rounding modes, remainders and reciprocals."""

from __future__ import annotations

from typing import Any

import numpy as np

from impl.core.dtypes import result_dtype
from impl.core.registry import tensor_ops
from impl.core.sizes import broadcast_shapes
from impl.dispatch.definition import Array, alias, formula_operation, function, operator
from impl.dispatch.facts import NoComplex
from impl.dispatch.not_implemented import no_derivative, not_implemented, refuse_bool
from impl.dispatch.operator import Operator
from impl.dispatch.overloads import publish
from impl.dispatch.spellings import spelled


@operator(
    node="DivBackward0",
    promote="float",
    elementwise=True,
    function=False,
    method=False,
    exact_number=True,
    torch_name="div",
    takes_real_part=True,
)
def true_div(self: Array, other: Array) -> Array:
    return self / other


def _by_other(F, grad, other_conj):
    return grad / other_conj


def _minus_quotient(F, grad, self, other):
    slope = F.conj(F.true_div(self, other) / other)
    return F.in_domain_of(-grad * slope, other)


true_div.gradient(self=_by_other, other=_minus_quotient)
true_div.forward(lambda F, self_t, other_t, other, result: (self_t - other_t * result) / other)


@operator(
    node="DivBackward2",
    promote="arithmetic",
    elementwise=True,
    function=False,
    method=False,
    exact_number=True,
    torch_name="div",
)
def div_rounded(self: Array, other: Array, rounding_mode) -> Array:
    return quotient(self, other, rounding_mode)


@operator(
    node="DivBackward2",
    promote="float",
    elementwise=True,
    function=False,
    method=False,
    exact_number=True,
    torch_name="div",
    takes_real_part=True,
)
def div_unrounded(self: Array, other: Array, rounding_mode) -> Array:
    return np.true_divide(self, other)


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
    return _of_integers(np.floor_divide if rounding_mode == "floor" else _truncated, a, b)


def _truncated(a, b):
    down = np.floor_divide(a, b)
    return down + ((down < 0) & (down * b != a)).astype(down.dtype)


def _check_rounding(self, other, rounding_mode) -> None:
    if rounding_mode not in (None, "trunc", "floor"):
        raise RuntimeError(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
            f"'{rounding_mode}'"
        )


def _dividend_gradient(F, grad, other_conj, rounding_mode):
    return _by_other(F, grad, other_conj) if rounding_mode is None else F.zeros_like(grad)


def _divisor_gradient(F, grad, self, other, rounding_mode):
    if rounding_mode is None:
        return _minus_quotient(F, grad, self, other)
    return F.zeros_like(grad)


for _op in (div_rounded, div_unrounded):
    _op.checked(_check_rounding)
    _op.gradient(self=_dividend_gradient, other=_divisor_gradient)
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
    return op(*args) if out is None else op.call_out(out, args)


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


def _pair(name: str, node: str, compute, aten: str, swapped: bool = False) -> Operator:
    """An unpublished operator of a dividend and a divisor, with the kernel `aten`; `swapped` if the
    number is divided, for which torch names the parameters so."""

    def kernel(self: Array, other: Array) -> Array:
        return compute(self, other)

    def of_scalar(other: Array, self: Array) -> Array:
        return compute(other, self)

    function = of_scalar if swapped else kernel
    function.__name__ = name
    settings: dict[str, Any] = {"elementwise": True, "function": False, "method": False}
    settings["complex"] = NoComplex(aten)
    return operator(node=node, promote="arithmetic", **settings)(function)


def _floored(a, b):
    return quotient(a, b, "floor")


floor_divide = _pair("floor_divide", "NotImplemented", _floored, "div_floor_cpu")
floor_divide_scalar = _pair("floor_divide_scalar", "NotImplemented", _floored, "div_floor_cpu")
floor_divide_of_scalar = _pair(
    "floor_divide_of_scalar", "NotImplemented", _floored, "div_floor_cpu", swapped=True
)
floor_divide_into = _pair("floor_divide_into", "NotImplemented", _floored, "div_floor_cpu")
for _op in (floor_divide, floor_divide_scalar, floor_divide_of_scalar, floor_divide_into):
    _op.casts_out(False)
floor_divide.casts_out(True, late=True)
floor_divide.gradients("self", "other")(no_derivative("floor_divide"))
floor_divide_scalar.gradient(self=no_derivative("floor_divide"))
floor_divide_of_scalar.gradient(self=no_derivative("floor_divide"))
floor_divide_into.gradients("self", "other")(no_derivative("floor_divide_"))
floor_divide_scalar.composes(floor_divide)
floor_divide_of_scalar.composes(floor_divide)
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
    return _modulus(np.fmod, a, b, "fmod_cpu")


def _remainder(a, b):
    return _modulus(_with_sign_of_divisor, a, b, "remainder_cpu")


def _with_sign_of_divisor(a, b):
    rest = np.fmod(a, b)
    return np.where((rest != 0) & ((b < 0) != (rest < 0)), rest + b, rest).astype(rest.dtype)


def _modulus(compute, a, b, kernel: str):
    if _kind(a) in "iub" and _kind(b) in "iub":
        refuse_bool(a if hasattr(a, "dtype") else b, kernel)
        return _of_integers(compute, a, b)
    return compute(a, b)


def _of_integers(compute, a, b):
    """The result for integers. Raises RuntimeError for a zero divisor, whose `computed` are results
    and whether each comes before it, and before that for two shapes that do not fit."""
    if not np.size(a) or np.all(b):
        return compute(a, b)
    zero = np.broadcast_to(np.equal(b, 0), broadcast_shapes(np.shape(a), np.shape(b)))
    reached = ~np.logical_or.accumulate(zero.reshape(-1)).reshape(zero.shape)
    error = RuntimeError("ZeroDivisionError")
    error.computed = compute(a, np.where(zero, 1, b).astype(np.asarray(b).dtype)), reached  # type: ignore[attr-defined]
    raise error


fmod = _pair("fmod", "FmodBackward1", _fmod, "fmod_cpu")
fmod_scalar = _pair("fmod_scalar", "FmodBackward0", _fmod, "fmod_cpu")
remainder = _pair("remainder", "RemainderBackward1", _remainder, "remainder_cpu")
remainder_scalar = _pair("remainder_scalar", "RemainderBackward0", _remainder, "remainder_cpu")
remainder_of_scalar = _pair(
    "remainder_of_scalar", "NotImplemented", _remainder, "remainder_cpu", swapped=True
)


@formula_operation
def quotient_towards(self, other, rounding_mode):
    return quotient(self, other, rounding_mode)


tensor_ops.quotient_towards = lambda a, b, rounding_mode: div(a, b, rounding_mode=rounding_mode)


def _differentiate_by_quotient(op, rounding_mode: str) -> None:
    """State the derivatives of self - other * quotient, in which the quotient is constant."""
    op.gradient(
        self=lambda F, grad: grad,
        other=lambda F, grad, self, other: -grad * F.quotient_towards(self, other, rounding_mode),
    )
    op.forward(
        lambda F, self_t, self, other_t, other: (
            self_t - other_t * F.quotient_towards(self, other, rounding_mode)
        )
    )


_differentiate_by_quotient(fmod, "trunc")
_differentiate_by_quotient(remainder, "floor")
fmod_scalar.gradient(self=lambda F, grad: grad)
remainder_scalar.gradient(self=lambda F, grad: grad)
remainder_of_scalar.gradient(self=no_derivative("remainder"))
fmod_scalar.composes(fmod)
remainder_scalar.composes(remainder)
remainder_of_scalar.composes(remainder)


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


def _of_reciprocal(F, grad, result):
    slope = F.conj(result * result)
    return -grad * slope


reciprocal.gradient(self=_of_reciprocal)

alias("div", "divide")


def _true_divide(input, other, *, out=None):
    """`div` without rounding (torch.true_divide)."""
    return true_div(input, other) if out is None else true_div.call_out(out, (input, other))


@spelled("true_divide_")
def _true_divide_inplace(input, other):
    """`true_divide` in place."""
    return true_div.inplace(input, other)


function("true_divide")(_true_divide)
function("true_divide_")(_true_divide_inplace)
