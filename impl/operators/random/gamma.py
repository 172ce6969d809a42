"""Samples of gamma distributions, and their derivative with respect to the shape parameter.

G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", 2000. The derivative
is that of the reparametrised sample, by a series for small samples, a saddle point expansion for
large parameters and a rational approximation between them (ATen/native/Distributions.h).
"""

from __future__ import annotations

import math

import numpy as np
import scipy.special

from impl.core.strides import unboxed
from impl.dispatch import randomness
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.dispatch_modes import Draw
from impl.dispatch.not_implemented import not_differentiated, require_full_precision
from impl.factories.generator import default_generator
from impl.tensor.torch_dispatch import asks

_DOUBLE = np.dtype(np.float64)
_THIRD = np.float32(1) / np.float32(3)  # as torch rounds it for float64, too
_RATIONAL = np.array(
    [
        [0.16009398, -0.094634809, 0.025146376, -0.0030648343],
        [1, 0.32668115, 0.10406089, 0.0014179084],
        [0.53487893, 0.1298071, 0.065735949, -0.0015649758],
        [0.16639465, 0.020070113, -0.0035938915, -0.00058392623],
        [0.040121004, -0.0065914022, -0.0026286047, -0.0013441777],
        [0.017050642, -0.0021309326, 0.00085092367, -1.5247877e-07],
    ]
)


@operator(node="StandardGammaBackward0", function=False, method=False)
def gamma_drawn(self: Array, drawn) -> Array:
    return drawn


@operator(node="StandardGammaGradBackward0", function=False, method=False)
def gamma_slope(self: Array, output: Array) -> Array:
    """The derivative of samples with respect to the parameters they were drawn with."""
    require_full_precision(self, "_standard_gamma_grad_cpu")
    slopes = map(_slope, self.ravel().tolist(), output.ravel().tolist())
    return np.array([*slopes], _DOUBLE).astype(self.dtype).reshape(self.shape)[()]


gamma_drawn.gradient(self=lambda F, grad, self, result: grad * F.gamma_slope(self, result))
gamma_drawn.forward("unsupported", name="_standard_gamma", invited=True)
gamma_slope.gradient(self=not_differentiated("_standard_gamma_grad"))


@function("_standard_gamma", method=False, batching="random")
@randomness.of_values
def standard_gamma(input, generator=None):
    """Samples of gamma distributions with the shape parameters in `input` and the rate one, which
    are differentiable in them (torch._standard_gamma)."""
    if asks((input,)):
        return gamma_drawn(input, Draw("_standard_gamma", generator=generator))
    kind = input._raw.dtype
    require_full_precision(input._raw, "gamma_cpu")
    source = generator or default_generator
    least = np.finfo(kind).tiny
    samples = [gamma_sample(kind.type(alpha), source) for alpha in np.ravel(input._raw)]
    drawn = np.fmax(np.array(samples, _DOUBLE).astype(kind), least).reshape(input._raw.shape)
    return gamma_drawn(input, unboxed(drawn))


def gamma_sample(alpha, source) -> float:
    scale = 1.0
    number = type(alpha)
    if alpha < 1:
        if alpha == 0:
            return 0.0
        scale = float(np.power(1 - _uniform(source), float(number(1) / alpha)))
        alpha = alpha + number(1)
    d = float(alpha - number(_THIRD))
    c = float(1 / np.sqrt(9 * np.float64(d)))  # NaN for a parameter out of the domain
    while True:
        y = 0.0
        while y <= 0:
            x = float(source.normal_numbers(1)[0])
            y = 1 + c * x
        v = y * y * y
        u = 1 - _uniform(source)
        square = x * x
        if u < 1 - float(np.float32(0.0331)) * square * square:
            return scale * d * v
        if math.log(u) < 0.5 * square + d * (1 - v + math.log(v)):
            return scale * d * v


def _uniform(source) -> float:
    return float(source.uniform(1, _DOUBLE)[0])


def _slope(alpha: float, x: float) -> float:
    if x < 0.8:
        return _slope_by_series(alpha, x)
    if alpha > 8:
        return _slope_by_saddle_point(alpha, x)
    u, v = math.log(x / alpha), math.log(alpha)
    powers = (_RATIONAL[:2] + u * (_RATIONAL[2:4] + u * _RATIONAL[4:])) @ v ** np.arange(4)
    return math.exp(powers[0] / powers[1])


def _slope_by_series(alpha: float, x: float) -> float:
    numerator, denominator = 1.0, alpha
    first, second = 1 / alpha, 1 / (alpha * alpha)
    for i in range(1, 6):
        numerator *= -x / i
        denominator += 1
        first += numerator / denominator
        second += numerator / (denominator * denominator)
    power = x**alpha
    density = x ** (alpha - 1) * math.exp(-x)
    digamma = float(scipy.special.digamma(alpha))
    change = (math.log(x) - digamma) * power * first - power * second
    result = -change / density if density else math.nan
    return 0.0 if math.isnan(result) else result


def _slope_by_saddle_point(alpha: float, x: float) -> float:
    if 0.9 * alpha <= x <= 1.1 * alpha:
        square = alpha * alpha
        one = 1 + 24 * alpha * (1 + 12 * alpha)
        two = 1440 * square + 6 * x * (53 - 120 * x) - 65 * x * x / alpha
        two += alpha * (107 + 3600 * x)
        return one * two / (1244160 * square * square)
    root = math.sqrt(8 * alpha)
    term2 = root / (alpha - x)
    term3 = (x - alpha - alpha * math.log(x / alpha)) ** -1.5
    term23 = term2 - term3 if x < alpha else term2 + term3
    distance = (alpha - x) * (alpha - x)
    term1 = math.log(x / alpha) * term23 - math.sqrt(2 / alpha) * (alpha + x) / distance
    stirling = 1 + 1 / (12 * alpha) * (1 + 1 / (24 * alpha))
    return -stirling * x * term1 / root


@function("_standard_gamma_grad", method=False)
def standard_gamma_grad(input, output):
    """The derivative of samples of gamma distributions (torch._standard_gamma_grad)."""
    return gamma_slope(input, output)
