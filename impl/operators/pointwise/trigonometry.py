"""Trigonometric and hyperbolic functions and their inverses."""

from __future__ import annotations

from typing import Any

import numpy as np

from impl.dispatch.definition import Array, alias, function, operator
from impl.dispatch.facts import NoComplex
from impl.kernels.fused_multiply_add import one_minus_square
from impl.kernels.reduced_precision import rounded_once
from impl.operators.pointwise.unary import unary

sin = unary("sin", np.sin, "The sine")
cos = unary("cos", np.cos, "The cosine")
tan = unary("tan", np.tan, "The tangent")
sin.gradient(self=lambda F, grad, self: grad * F.conj(F.cos(self)))
cos.gradient(self=lambda F, grad, self: grad * -F.conj(F.sin(self)))
tan.gradient(self=lambda F, grad, result: grad * F.conj(F.add_scalar(F.pow_scalar(result, 2), 1)))


asin = unary("asin", np.arcsin, "The inverse sine; NaN outside [-1, 1]")
acos = unary("acos", np.arccos, "The inverse cosine; NaN outside [-1, 1]")
atan = unary("atan", np.arctan, "The inverse tangent")


def _one_minus_square(F, value):
    return F.add_scalar(-value * value, 1)


asin.gradient(self=lambda F, grad, self: grad * F.conj(F.rsqrt(_one_minus_square(F, self))))
acos.gradient(self=lambda F, grad, self: grad * -F.conj(F.rsqrt(_one_minus_square(F, self))))
atan.gradient(self=lambda F, grad, self: grad / F.conj(F.add_scalar(self * self, 1)))


@operator(
    promote="float",
    elementwise=True,
    inplace=True,
    out=True,
    numbers=False,
    complex=NoComplex("atan2_cpu"),
)
def atan2(self: Array, other: Array) -> Array:
    """The angle of the point (other, self) from the axis of `other` (torch.atan2)."""
    return np.arctan2(self, other)


@atan2.gradients("self", "other")
def _of_coordinates(F, grad, self, other, needs):
    # At the origin the angle has no slope; torch's choice is 0.
    norm = self * self + other * other
    inverse = F.masked_fill(F.reciprocal(norm), norm == 0, 0.0)
    return (
        grad * other * inverse if needs[0] else None,
        grad * F.neg(self) * inverse if needs[1] else None,
    )


atan2.forward(
    lambda F, self_t, self, other_t, other: (
        (-self * other_t + other * self_t) / (F.pow_scalar(self, 2) + F.pow_scalar(other, 2))
    )
)


sinh = unary("sinh", np.sinh, "The hyperbolic sine")
cosh = unary("cosh", np.cosh, "The hyperbolic cosine")
tanh = unary("tanh", np.tanh, "The hyperbolic tangent")


@operator(
    node="TanhBackwardBackward0", elementwise=True, function=False, method=False, numbers=False
)
@rounded_once
def tanh_backward(grad_output: Array, output: Array) -> Array:
    slope = one_minus_square(output)
    return grad_output * (np.conj(slope) if slope.dtype.kind == "c" else slope)


sinh.gradient(self=lambda F, grad, self: grad * F.conj(F.cosh(self)))
cosh.gradient(self=lambda F, grad, self: grad * F.conj(F.sinh(self)))
tanh.gradient(self="F.tanh_backward(grad, result)")
tanh_backward.gradient(
    grad_output="F.tanh_backward(grad, output_conj)",
    output="F.conj(grad) * (F.mul_scalar(output_conj, -2) * grad_output)",
)
tanh_backward.forward(
    lambda F, grad_output_t, output_t, grad_output, output: (
        F.tanh_backward(grad_output_t, output)
        + F.conj(output_t) * (F.mul_scalar(F.conj(output), -2) * grad_output)
    )
)


asinh = unary("asinh", np.arcsinh, "The inverse hyperbolic sine", inplace=False)
acosh = unary("acosh", np.arccosh, "The inverse hyperbolic cosine; NaN below 1", inplace=False)
atanh = unary(
    "atanh", np.arctanh, "The inverse hyperbolic tangent; NaN outside [-1, 1]", inplace=False
)
asinh.gradient(
    self=lambda F, grad, self: grad * F.conj(F.rsqrt(F.add_scalar(F.pow_scalar(self, 2), 1)))
)


def _acosh_backward(F, grad, self):
    if F.is_complex(self):
        second = F.rsqrt(F.sub_scalar(self, 1))
        return grad * F.conj(F.rsqrt(F.add_scalar(self, 1)) * second)
    return grad * F.rsqrt(F.sub_scalar(self * self, 1))


acosh.gradient(self=_acosh_backward)


def _atanh_backward(F, grad, self):
    divisor = F.conj(F.sub(1, F.pow_scalar(self, 2)))  # recorded first, as C++ evaluates it
    return F.mul_scalar(grad, 1) / divisor


atanh.gradient(self=_atanh_backward)


def _in_place_only(op) -> None:
    """torch's inverse hyperbolic functions in place are differentiable by name only."""

    def kernel(self: Array) -> Array:
        return op.kernel(self)

    def refuse(F, grad):
        raise NotImplementedError(
            f"the derivative for 'inplace version of {op.name}' is not implemented."
        )

    kernel.__name__ = f"{op.name}_into"
    settings: dict[str, Any] = {
        "promote": "float",
        "elementwise": True,
        "function": False,
        "method": False,
    }
    into = operator(node=f"{op.name.capitalize()}Backward1", **settings)(kernel)
    into.gradient(self=refuse).forward("unsupported", name=f"{op.name}_")

    def write(input):
        return into.inplace(input)

    write.__name__ = write.__qualname__ = f"{op.name}_"
    write.__doc__ = f"`{op.name}` in place; its backward raises NotImplementedError."
    function(f"{op.name}_")(write)


for _op in (asinh, acosh, atanh):
    _in_place_only(_op)
for _name in ("sin", "cos", "tan", "sinh", "cosh", "tanh"):
    alias(f"a{_name}", f"arc{_name}")
alias("atan2", "arctan2")
