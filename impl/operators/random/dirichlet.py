"""Samples of Dirichlet distributions, and their derivative with respect to the concentrations.

A sample is a vector of gamma samples divided by its sum. Each of its elements has a beta
distribution, and the derivative is that of the reparametrised beta sample: by series for samples
near zero and one, a saddle point expansion for large parameters and a rational approximation
between them (ATen/native/Distributions.h).
"""

from __future__ import annotations

import math

import numpy as np

from impl.core.registry import FUNCTIONS
from impl.core.sizes import broadcast_shapes
from impl.core.strides import unboxed
from impl.dispatch import randomness
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.dispatch_modes import Draw
from impl.dispatch.not_implemented import (
    no_derivative,
    refuse_meta,
    require_full_precision,
    require_same_dtype,
)
from impl.dispatch.out import warn_resized
from impl.factories.generator import default_generator
from impl.operators.random.gamma import gamma_sample
from impl.tensor.tensor import new
from impl.tensor.torch_dispatch import asks

_DOUBLE = np.dtype(np.float64)
_RATIONAL = np.array(
    [
        [
            [1.003668233, -0.01061107488, -0.0657888334, 0.01201642863],
            [0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033],
            [-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013],
            [0.221950385, -0.3187676331, 0.01799915743, 0.01074823814],
            [-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057],
            [0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05],
            [-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565],
            [0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181],
            [0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05],
        ],
        [
            [1, -0.02924021934, -0.04438342661, 0.007285809825],
            [0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521],
            [-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149],
            [0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273],
            [0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956],
            [-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05],
            [0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05],
            [0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05],
            [-0.0003477407336, 6.959756487e-05, 1.097287507e-05, -1.650964693e-06],
        ],
    ]
)
"""Of numerator and denominator, the cubic polynomials that weight powers of logarithms."""

_ASYMPTOTIC = (1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12)
"""The series of digamma for large arguments, from the highest power down."""
_DIGAMMA_OF_TEN = 2.25175258906672110764


@operator(function=False, method=False, node="NotImplemented")
def dirichlet_drawn(self: Array, drawn) -> Array:
    return drawn


dirichlet_drawn.gradient(self=no_derivative("_sample_dirichlet"))


@function("_sample_dirichlet", method=False, batching="random")
@randomness.of_values
def sample_dirichlet(input, generator=None):
    """Samples of Dirichlet distributions with the concentrations along the last dimension of
    `input`, float32 or float64 (torch._sample_dirichlet). Not differentiable by itself; see
    `_dirichlet_grad`."""
    if asks((input,)):
        return dirichlet_drawn(input, Draw("_sample_dirichlet", generator=generator))
    refuse_meta("_sample_dirichlet", input)
    kind = input._raw.dtype
    require_full_precision(input._raw, "dirichlet")
    source = generator or default_generator
    alphas = np.ravel(input._raw).astype(_DOUBLE)
    least = np.finfo(_DOUBLE).tiny
    drawn = [max(least, gamma_sample(alpha, source)) for alpha in alphas]
    gammas = np.array(drawn, _DOUBLE).reshape(input._raw.shape)
    shares = gammas / FUNCTIONS["sum"](new(gammas), -1, True)._raw
    greatest = np.nextafter(kind.type(1), kind.type(0))
    bounded = np.minimum(np.fmax(shares.astype(kind), np.finfo(kind).tiny), greatest)
    return dirichlet_drawn(input, unboxed(np.asarray(bounded)))


@operator(function=False, method=False, numbers=False, node="NotImplemented")
def dirichlet_slope(x: Array, alpha: Array, total: Array) -> Array:
    require_full_precision(x, "_dirichlet_grad_cpu")
    for operand in (alpha, total):
        require_same_dtype(operand, x.dtype)
    shape = broadcast_shapes(np.shape(x), np.shape(alpha), np.shape(total))
    if shape != np.shape(x) and x.size:  # ATen's result begins with that shape
        warn_resized(np.shape(x), shape)
    operands = [np.broadcast_to(v, shape).ravel() for v in (x, alpha, total)]
    with np.errstate(all="ignore"):
        slopes = [_slope(*numbers) for numbers in zip(*operands, strict=True)]
    return np.array(slopes, x.dtype).reshape(shape)[()]


dirichlet_slope.gradients("x", "alpha", "total")(no_derivative("_dirichlet_grad"))


@function("_dirichlet_grad", method=False)
def dirichlet_grad(x, alpha, total):
    """The derivative of each sample `x` of a Dirichlet distribution with respect to its own
    concentration `alpha`, divided by `1 - x`; `total` is the sum of the concentrations
    (torch._dirichlet_grad). Raises RuntimeError for operands of several dtypes.

    M. Figurnov, S. Mohamed and A. Mnih, "Implicit reparameterization gradients", 2018.
    """
    refuse_meta("_dirichlet_grad", x, alpha, total)
    return dirichlet_slope(x, alpha, total)


def _log(number):
    """The logarithm as the C library rounds it."""
    if number > 0:
        return type(number)(math.log(number))
    return type(number)(-math.inf if number == 0 else math.nan)


def _power(base, exponent):
    """The power of a number that is not negative, as the C library rounds it."""
    try:
        return type(base)(math.pow(base, exponent))
    except OverflowError:
        return type(base)(math.inf)
    except ValueError:
        return type(base)(math.nan if base < 0 else math.inf)


def _digamma(x):
    """Digamma by its recurrence and its asymptotic series, in double precision but for `x`."""
    number = type(x)
    if x == 0 or (x < 0 and x == np.floor(x)):
        return number(math.inf)
    result = reflected = 0.0
    if x < 0:
        reflected = -math.pi / math.tan(math.pi * x)
        x = 1 - x
    while x < 10:
        result -= float(1 / x)
        x = x + 1
    if x == 10:
        return number(result + _DIGAMMA_OF_TEN + reflected)
    series = 0.0
    if x < 1e17:
        inverse = 1 / float(x * x)
        for coefficient in _ASYMPTOTIC:
            series = series * inverse + coefficient
        series *= inverse
    return number(result + float(_log(x)) - float(number(0.5) / x) - series + reflected)


def _slope(x, alpha, total):
    """The derivative of one sample by its concentration, divided by `1 - x`."""
    beta = total - alpha
    boundary = total * x * (1 - x)
    if x <= 0.5 and boundary < 2.5:
        return _slope_near_zero(x, alpha, beta)
    if x >= 0.5 and boundary < 0.75:
        return -_slope_near_one(1 - x, beta, alpha)
    wide = [np.float64(number) for number in (x, alpha, total)]
    if alpha > 6 and beta > 6:
        return _slope_by_saddle_point(*wide)
    digammas = float(_digamma(total) - _digamma(alpha))
    return _rational_correction(*wide) * (wide[0] * digammas / (wide[2] - wide[1]))


def _slope_near_zero(x, alpha, beta):
    factor = _digamma(alpha) - _digamma(alpha + beta) - _log(x)
    numerator = type(x)(1)
    series = numerator / alpha * (factor + 1 / alpha)
    for i in range(1, 11):
        numerator = numerator * ((i - beta) * x / i)
        denominator = alpha + i
        series = series + numerator / denominator * (factor + 1 / denominator)
    result = x * _power(1 - x, -beta) * series
    return type(x)(0) if np.isnan(result) else result


def _slope_near_one(x, alpha, beta):
    """The derivative of a beta sample by `beta`, for samples `x` near zero."""
    number = type(x)
    factor = _digamma(alpha + beta) - _digamma(beta)
    numerator, product, derivative = number(1), number(1), number(0)
    series = factor / alpha
    for i in range(1, 9):
        numerator = numerator * (-x / i)
        derivative = derivative * (beta - i) + product
        product = product * (beta - i)
        series = series + numerator / (alpha + i) * (derivative + factor * product)
    result = -_power(1 - x, 1 - beta) * series
    return number(0) if np.isnan(result) else result


def _slope_by_saddle_point(x, alpha, total):
    beta = total - alpha
    total = alpha + beta
    mean = alpha / total
    deviation = np.sqrt(alpha * beta / (total + 1)) / total
    if mean - 0.1 * deviation <= x <= mean + 0.1 * deviation:
        return _slope_at_mean(x, alpha, beta)
    stirling = _stirling(alpha) * _stirling(beta) / _stirling(total)
    square = beta * beta
    distance = alpha * (x - 1) + beta * x
    term1 = 2 * (alpha * alpha) * (x - 1) + alpha * beta * (x - 1) - x * square
    term1 /= np.sqrt(2 * alpha / beta) * _power(total, 1.5) * distance * distance
    term2 = 0.5 * _log(alpha / (total * x))
    term3 = np.sqrt(8 * alpha * beta / total) / (beta * x + alpha * (x - 1))
    divergence = beta * _log(beta / (total * (1 - x))) + alpha * _log(alpha / (total * x))
    term4 = _power(divergence, -1.5)
    terms = term1 + term2 * (term3 + (term4 if x < mean else -term4))
    return stirling * (-x / np.sqrt(2 * alpha * beta / total)) * terms


def _slope_at_mean(x, alpha, beta):
    """The saddle point expansion where the sample is about the mean, which is a pole of it."""
    total = alpha + beta
    square = beta * beta
    inner = (453 + 1620 * beta * (1 - x) - 455 * x) * beta + alpha * (
        8 * (1 - x) * (135 * beta - 11)
    )
    inner = 3 * (59 + 180 * beta - 90 * x) * square + alpha * inner
    inner = (43 + 20 * (16 + 27 * beta) * x) * square * beta + alpha * inner
    polynomial = 47 * x * square * square + alpha * inner
    numerator = (1 + 12 * alpha) * (1 + 12 * beta) / (total * total)
    denominator = 12960 * alpha * alpha * alpha * beta * beta * (1 + 12 * total)
    return numerator / (1 - x) * polynomial / denominator


def _stirling(number):
    return 1 + 1 / (12 * number) + 1 / (288 * number * number)


def _rational_correction(x, alpha, total):
    """The factor that corrects an analytic approximation of the derivative."""
    u = _log(x)
    a = _log(alpha) - u
    b = _log(total) - a
    c0, c1, c2, c3 = np.moveaxis(_RATIONAL, 2, 0)
    powers = np.outer([1, u, u * u], [1, a, a * a]).ravel()
    terms = powers * (c0 + b * (c1 + b * (c2 + b * c3)))
    numerator, denominator = np.add.accumulate(terms, axis=1)[:, -1]
    return numerator / denominator
