"""Special functions: error functions, gamma functions, the logistic sigmoid, sinc, hypot."""

from __future__ import annotations

import math

import numpy as np
import scipy.special

from impl.core.dtypes import BY_NUMPY, bfloat16
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.facts import NoComplex
from impl.dispatch.not_implemented import not_implemented, require_floating
from impl.dispatch.out import named_out
from impl.kernels import polygamma as polygammas
from impl.kernels.casting import element
from impl.kernels.reduced_precision import at_least_float32, rounded_once, rounded_once_in
from impl.operators.pointwise.unary import unary
from impl.tensor.tensor import Tensor

erf_of = at_least_float32(scipy.special.erf)
_erfc = at_least_float32(scipy.special.erfc)
_erfinv = at_least_float32(lambda value: np.where(value == 0, value, scipy.special.erfinv(value)))
_real_expit = at_least_float32(scipy.special.expit)


def expit(value):
    """The logistic sigmoid of real or complex values."""
    return 1 / (1 + np.exp(-value)) if value.dtype.kind == "c" else _real_expit(value)


erf = unary("erf", erf_of, "The error function", complex=NoComplex("erf_vml_cpu"))
erfc = unary(
    "erfc", _erfc, "1 - erf(self), exact where erf is nearly 1", complex=NoComplex("erfc_vml_cpu")
)
erfinv = unary(
    "erfinv",
    _erfinv,
    "The inverse of the error function; NaN outside [-1, 1]",
    complex=NoComplex("erfinv_vml_cpu"),
)


def _bell(F, value, scale: float):
    return F.mul_scalar(F.exp(-F.pow_scalar(value, 2)), scale)


_SLOPE = 2 / math.sqrt(math.pi)
erf.gradient(self=lambda F, grad, self: _bell(F, self, _SLOPE) * grad)
erfc.gradient(self=lambda F, grad, self: _bell(F, self, -_SLOPE) * grad)
erfinv.gradient(
    self=lambda F, grad, self: (
        F.mul_scalar(F.exp(F.pow_scalar(F.erfinv(self), 2)), math.pi / 4 * _SLOPE) * grad
    )
)


# -- gamma functions ---------------------------------------------------------------------------


@at_least_float32
def _lgamma(value):
    result = scipy.special.gammaln(value)
    return np.where(np.isinf(value), np.inf, result).astype(value.dtype)


_digamma = at_least_float32(polygammas.digamma)


def _polygamma(value, n: int):
    if value.dtype.kind == "c":
        kernel = {0: "digamma", 1: "trigamma"}.get(n, "polygamma")
        raise not_implemented(kernel, BY_NUMPY[value.dtype])
    if n == 0:
        return _digamma(value)
    if n == 1:
        return _trigamma(value)
    slopes = polygammas.polygamma(n, value)
    return np.where(value == np.inf, np.nan, slopes).astype(value.dtype)


@at_least_float32
def _trigamma(value):
    """Reflection below 1/2, six steps of the recurrence, then the asymptotic series.

    Abramowitz and Stegun, 6.4.7, 6.4.6 and 6.4.12.
    """
    reflected = value < 0.5
    x = np.where(reflected, 1 - value, value)
    total = np.zeros_like(x)
    for _ in range(6):
        total = total + 1 / (x * x)
        x = x + 1
    square = 1 / (x * x)
    series = 1 + 1 / (2 * x) + square * (1 / 6 - square * (1 / 30 - square / 42))
    total = total + series / x
    sine = np.sin(np.pi * value)
    return np.where(reflected, np.pi**2 / (sine * sine) - total, total).astype(value.dtype)


lgamma = unary(
    "lgamma", _lgamma, "The logarithm of |gamma(self)|", complex=NoComplex("lgamma_vml_cpu")
)
digamma = unary("digamma", _digamma, "The derivative of lgamma", complex=NoComplex("digamma"))


@operator(promote="float", elementwise=True, function=False, method=False)
def polygamma(n, self: Array) -> Array:
    return _polygamma(self, n)


@function("polygamma", method=False)
@named_out("polygamma")
def polygamma_(n, input, *, out=None):
    """The n-th derivative of digamma (torch.polygamma). Raises RuntimeError for a negative n."""
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return polygamma(n, input) if out is None else polygamma.call_out(out, (n, input))


@operator(
    node="PolygammaBackward1",
    promote="float",
    elementwise=True,
    function=False,
    method=False,
)
def polygamma_into(self: Array, n) -> Array:
    return _polygamma(self, n)


def _write_polygamma(input, n):
    """`polygamma` in place (torch.Tensor.polygamma_). Raises RuntimeError for a negative n."""
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return polygamma_into.inplace(input, n)


Tensor.polygamma = lambda self, n: polygamma_(n, self)
Tensor.polygamma_ = _write_polygamma
lgamma.gradient(self=lambda F, grad, self: grad * F.digamma(self))
digamma.gradient(self=lambda F, grad, self: grad * F.polygamma(1, self))
for _op in (polygamma, polygamma_into):
    _op.gradient(self=lambda F, grad, n, self: grad * F.polygamma(n + 1, self))


# -- the logistic sigmoid ----------------------------------------------------------------------


sigmoid = unary("sigmoid", expit, "1 / (1 + exp(-self))")


@operator(
    node="SigmoidBackwardBackward0", elementwise=True, function=False, method=False, numbers=False
)
@rounded_once_in(bfloat16.numpy)
def sigmoid_backward(grad_output: Array, output: Array) -> Array:
    if output.dtype.kind == "c":
        return grad_output * np.conj((1 - output) * output)
    return grad_output * (1 - output) * output


sigmoid.gradient(self=lambda F, grad, result: F.sigmoid_backward(grad, result))
sigmoid_backward.gradient(
    grad_output=lambda F, grad, output_conj: F.sigmoid_backward(grad, output_conj),
    output=lambda F, grad, grad_output, output_conj: (
        F.conj(grad) * grad_output * F.add_scalar(F.mul_scalar(output_conj, -2), 1)
    ),
)
sigmoid_backward.forward(
    lambda F, grad_output_t, output_t, grad_output, output: (
        F.sigmoid_backward(grad_output_t, output)
        + F.conj(output_t) * grad_output * F.add_scalar(F.mul_scalar(F.conj(output), -2), 1)
    )
)


@operator(promote="float", elementwise=True, inplace=True, out=True, complex=NoComplex("logit_cpu"))
def logit(self: Array, eps=None) -> Array:
    """log(self / (1 - self)), of self clamped to [eps, 1 - eps] if eps is given (torch.logit)."""
    x = self
    if eps is not None:
        low = element(eps, self.dtype)
        high = self.dtype.type(1) - low
        # For eps above 1/2 the limits cross, and the lower is looked at first.
        x = np.where(self < low, low, np.where(self > high, high, self))
    return np.log(x / (1 - x))


logit.casts_out(False)


@operator(elementwise=True, numbers=False, function=False, method=False)
def logit_backward(grad_output: Array, self: Array, eps) -> Array:
    """The slope of logit: exactly infinite at 0 and 1, whatever the zero's sign."""
    grad, x = grad_output, self
    slope = np.where((x == 0) | (x == 1), grad * np.inf, grad / (x * (1 - x)))
    if eps is None:
        return np.where((x < 0) | (x > 1), np.nan, slope).astype(grad.dtype)
    return np.where((x < eps) | (x > 1 - eps), 0, slope).astype(grad.dtype)


logit_backward.forward("unknown")


@logit.gradients("self")
def _of_probability(F, grad, self, eps):
    if not F.records:
        return F.logit_backward(grad, self, eps)
    low, high, outside = (0.0, 1.0, math.nan) if eps is None else (eps, 1.0 - eps, 0.0)
    inside = (self >= low) & (self <= high)
    return F.where(inside, grad / (self * F.sub(1.0, self)), outside)


# -- sinc and hypot ----------------------------------------------------------------------------


@operator(promote="float", elementwise=True, inplace=True, out=True)
@rounded_once
def sinc(self: Array) -> Array:
    """sin(pi x) / (pi x), 1 at 0 (torch.sinc)."""
    angle = self * self.dtype.type(np.pi)
    return np.where(self == 0, 1, np.sin(angle) / angle).astype(self.dtype)


@sinc.gradients("self")
def _of_frequency(F, grad, self):
    angle = F.mul_scalar(self, math.pi)
    square = F.mul_scalar(self * self, math.pi)
    sine = F.sin(angle)  # recorded before the cosine
    slope = (angle * F.cos(angle) - sine) / square
    return F.where(square == 0.0, 0.0, grad * F.conj(slope))


@operator(promote="arithmetic", elementwise=True, inplace=True, out=True, numbers=False)
def hypot(self: Array, other: Array) -> Array:
    """sqrt(self ** 2 + other ** 2) without overflow (torch.hypot)."""
    require_floating(self, "hypot_cpu")
    return np.hypot(self, other)


hypot.gradient(
    self=lambda F, grad, self, result: grad * self / result,
    other=lambda F, grad, other, result: grad * other / result,
)
hypot.forward(
    lambda F, self_t, self, other_t, other, result: (
        self_t * self / result + other_t * other / result
    )
)
