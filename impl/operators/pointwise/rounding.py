"""Signs, absolute values and rounding to integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from impl.core.dtypes import BY_NUMPY
from impl.core.inference_mode import refuses
from impl.dispatch.definition import Array, alias, function, operator, written
from impl.dispatch.facts import NoComplex, SavedAs
from impl.dispatch.not_implemented import no_derivative, refuse_bool, require_floating
from impl.dispatch.operator import Operator
from impl.dispatch.out import only_bools, same_dtype_out
from impl.dispatch.overloads import publish
from impl.kernels.reduced_precision import widened
from impl.operators.pointwise.unary import unary
from impl.tensor.tensor import Tensor


@operator(elementwise=True, inplace=True, out=True, writes=1)
def abs_(self: Array) -> Array:
    """The absolute value; its slope at 0 and at NaN is 0 (torch.abs)."""
    refuse_bool(self, "abs_cpu")
    return np.abs(self)


abs_.composes(refuses("abs"))
abs_.gradient(self=lambda F, grad, self: grad * F.sgn(self))
abs_.forward(lambda F, self_t, self: F.real_part(F.conj(self_t) * F.sgn(self)))


@function("abs_")
def abs_inplace(input):
    """`abs` in place. Raises RuntimeError for complex numbers, whose absolute value is real."""
    if input._raw.dtype.kind == "c":
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    return abs_.inplace(input)


def _sign(value):
    if value.dtype.kind in "bu":
        return (value != 0).astype(value.dtype)
    if value.dtype.kind == "c":
        size = np.abs(value)
        return np.where(size == 0, value.dtype.type(0), value / size)
    return (value > 0).astype(value.dtype) - (value < 0).astype(value.dtype)


@operator(
    elementwise=True,
    inplace=True,
    out=True,
    complex=NoComplex(
        text="Unlike NumPy, torch.sign is not intended to support complex numbers. "
        "Please use torch.sgn instead.",
        error=NotImplementedError,
    ),
)
def sign(self: Array) -> Array:
    """-1, 0 or 1; 0 for NaN. Its slope is 0 (torch.sign)."""
    return _sign(self)


@operator(elementwise=True, inplace=True, out=True)
def sgn(self: Array) -> Array:
    """The sign, as `sign`, but a node of its own (torch.sgn)."""
    return _sign(self)


sign.gradient(self=lambda F, grad: F.zeros_like(grad))


def _sgn_backward(F, self, grad, result):
    if not F.is_complex(grad):
        return F.vanishing(result)
    size = F.abs(self)
    turned = grad - result * result * F.conj(grad)
    return F.fill_fresh(turned / F.mul_scalar(size, 2), size == 0, 0)


def _sgn_writes(arrived, made) -> bool:
    raw = made._raw if isinstance(made, Tensor) else made
    return raw.dtype.kind == "c"


sgn.gradient(self=written(_sgn_backward, times=_sgn_writes))
sgn.forward(lambda F, self_t, self, result: _sgn_backward(F, self, self_t, result))


@operator(promote="float", elementwise=True, out=True, writes=lambda args: args[0].is_complex())
def angle(self: Array) -> Array:
    """The angle of complex numbers; of real ones 0, or pi below zero (torch.angle).

    Its slope is 0 for real numbers, and at 0.
    """
    if self.dtype.kind == "c":
        return np.angle(self)
    return np.where(np.isnan(self), self, np.where(self < 0, np.pi, 0.0)).astype(self.dtype)


# That of complex numbers is row-major, whatever the layout of the operand.
angle.laid_out_as(
    lambda args: [(t._raw.shape, t.stride()) for t in args if t._raw.dtype.kind != "c"]
)


def _angle_backward(F, grad, self):
    if not F.is_complex(self):
        return F.zeros_like(self)
    turn = F.mul_scalar(grad * self / F.pow_scalar(F.abs(self), 2), 1j)
    return F.where(self == 0, 0.0, turn)


angle.casts_out(False)
angle.gradient(self=_angle_backward)
angle.forward(lambda F, self_t, self: F.real_part(F.conj(_angle_backward(F, F.conj(self_t), self))))


@operator(
    elementwise=True,
    out=True,
    complex=NoComplex(
        text="signbit is not implemented for complex tensors.", error=NotImplementedError
    ),
)
def signbit(self: Array) -> Array:
    """Whether the sign is set, also that of -0. (torch.signbit)."""
    if self.dtype.kind in "iub":
        return self < 0
    return np.signbit(self)


only_bools(signbit)


def _rounded(function, value, kernel: str):
    refuse_bool(value, kernel)
    return value.copy() if value.dtype.kind in "iu" else function(value)


def _whole(name: str, function, words: str) -> Operator:
    def compute(value):
        return _rounded(function, value, f"{name}_vml_cpu")

    refused = NoComplex(text=f"{name} is not supported for complex inputs")
    return unary(name, compute, f"{words}; integers stay", promote=None, complex=refused)


floor = _whole("floor", np.floor, "The largest integer not above")
ceil = _whole("ceil", np.ceil, "The smallest integer not below")
trunc = _whole("trunc", np.trunc, "Rounded towards zero")


@operator(
    node="RoundBackward0",
    elementwise=True,
    function=False,
    method=False,
    complex=NoComplex("round_vml_cpu"),
    torch_name="round",
)
def round_whole(self: Array) -> Array:
    return _rounded(np.rint, self, "round_vml_cpu")


@operator(node="RoundBackward1", elementwise=True, function=False, method=False, torch_name="round")
def round_decimals(self: Array, decimals) -> Array:
    require_floating(self, "round_cpu" if decimals else "round_vml_cpu")
    wide = widened(self)
    factor = wide.dtype.type(10.0 ** abs(decimals))
    found = np.rint(wide / factor) * factor if decimals < 0 else np.rint(wide * factor) / factor
    return found.astype(self.dtype)


@operator(elementwise=True, inplace=True, out=True)
def frac(self: Array) -> Array:
    """The fractional part; floating dtypes only (torch.frac)."""
    require_floating(self, "frac_cpu")
    return self - np.trunc(self)


for _op in (floor, ceil, trunc, round_whole, round_decimals):
    _op.gradient(self=lambda F, grad: F.zeros_like(grad))
for _op in (abs_, sign, sgn, floor, ceil, trunc, round_whole, round_decimals, frac):
    _op.checks_out(same_dtype_out)


def _check_out(out, value) -> None:
    # The absolute values of complex numbers are of another dtype, and cast.
    if value.dtype.kind != "c" or out.kind == "c":
        same_dtype_out(out, value)


abs_.checks_out(_check_out)
frac.gradient(self=lambda F, grad: grad)


@function("round")
def round_(input, *, decimals=None, out=None):
    """To the nearest integer, or multiple of 10 ** -decimals; halves go to even (torch.round)."""
    op, args = _rounding(input, decimals)
    return op(*args) if out is None else op.call_out(out, args)


@function("round_")
def round_inplace(input, *, decimals=None):
    """`round` in place."""
    op, args = _rounding(input, decimals)
    return op.inplace(*args)


def _rounding(input, decimals):
    return (round_whole, (input,)) if decimals is None else (round_decimals, (input, decimals))


# -- the sign of another -----------------------------------------------------------------------


@operator(
    promote="float",
    elementwise=True,
    function=False,
    method=False,
    complex=NoComplex("copysign_cpu"),
    saved_as=SavedAs(parts=()),
)
def copysign(self: Array, other: Array) -> Array:
    return np.copysign(self, other)


@operator(
    node="CopysignBackward1",
    promote="float",
    elementwise=True,
    function=False,
    method=False,
    complex=NoComplex("copysign_cpu"),
)
def copysign_scalar(self: Array, other: Array) -> Array:
    return np.copysign(self, other)


def _of_magnitude(F, grad, self, result):
    return grad * F.fill_fresh(result / self, self == 0, 0)


copysign.gradient(
    self=_of_magnitude,
    other=written(lambda F, other_shape, other_dtype: F.zeros(other_shape, other_dtype)),
)
copysign_scalar.gradient(self=_of_magnitude)
copysign_scalar.composes(copysign)
copysign.forward(lambda F, self_t, self, result: _of_magnitude(F, self_t, self, result))
publish(
    "copysign",
    copysign,
    copysign_scalar,
    doc="The magnitude of one with the sign of the other (torch.copysign).",
)


_HIDDEN: dict[str, Any] = {
    "elementwise": True,
    "numbers": False,
    "function": False,
    "method": False,
}


@operator(
    promote="arithmetic",
    node="NotImplemented",
    elementwise=True,
    out=True,
    numbers=False,
    complex=NoComplex(
        text="heaviside is not yet implemented for complex tensors.", error=NotImplementedError
    ),
)
def heaviside(self: Array, values: Array) -> Array:
    """0 below zero, 1 above, `values` at zero (torch.heaviside); without a derivative."""
    return np.where(self == 0, values, (self > 0).astype(self.dtype)).astype(self.dtype)


@operator(
    promote="arithmetic",
    node="NotImplemented",
    **_HIDDEN,
    complex=NoComplex(
        text="heaviside is not yet implemented for complex tensors.", error=NotImplementedError
    ),
)
def heaviside_into(self: Array, values: Array) -> Array:
    return heaviside.kernel(self, values)


def _check_same(self, values) -> None:
    if self.dtype != values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")


def _check_heaviside_out(out, self, values) -> None:
    if "c" in (out.kind, self.dtype.kind, values.dtype.kind):
        raise heaviside.complex.refusal(BY_NUMPY[self.dtype])
    _check_same(self, values)
    if out != self.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")


heaviside.checks_out(_check_heaviside_out, first=True)
for _op, _name in ((heaviside, "heaviside"), (heaviside_into, "heaviside_")):
    _op.checked(_check_same)
    _op.gradients("self", "values")(no_derivative(_name))


@function("heaviside_")
def heaviside_inplace(input, values):
    """`heaviside` in place."""
    return heaviside_into.inplace(input, values)


alias("abs", "absolute")
alias("trunc", "fix")
