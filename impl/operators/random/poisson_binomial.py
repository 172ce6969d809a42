"""Samples of Poisson and binomial distributions.

W. Hörmann, "The transformed rejection method for generating Poisson random variables", 1993, and
"The generation of binomial random variates", 1993; for small means by products of uniform and by
sums of geometric samples. The generator's numbers are consumed in torch's order.
"""

from __future__ import annotations

import math

import numpy as np

from impl.core import dtypes
from impl.core.sizes import broadcast_shapes
from impl.core.strides import unboxed
from impl.dispatch import forward_rules, randomness
from impl.dispatch.definition import Array, function, operator, written
from impl.dispatch.dispatch_modes import Draw
from impl.dispatch.not_implemented import no_derivative, not_implemented, require_full_precision
from impl.dispatch.out import same_dtype_out, warn_resized
from impl.factories.generator import default_generator
from impl.tensor.torch_dispatch import asks

_DOUBLE = np.dtype(np.float64)


@operator(writes=1, function=False, method=False, node="PoissonBackward0")
def poisson_drawn(self: Array, drawn) -> Array:
    return drawn


poisson_drawn.gradient(
    self=written(lambda F, grad, self_shape, self_dtype: F.zeros(self_shape, self_dtype))
)


@function(method=False, batching="random")
@randomness.of_values
def poisson(input, generator=None):
    """Samples of Poisson distributions with the rates in `input`, whose gradient is zero
    (torch.poisson). Raises RuntimeError for a negative rate."""
    if asks((input,)):
        return poisson_drawn(input, Draw("poisson", generator=generator))
    d = input.dtype
    if d.category != dtypes.FLOATING:
        raise not_implemented("poisson_cpu", d)
    source = generator or default_generator
    counts = [_poisson(rate, source) for rate in np.ravel(input._raw).astype(_DOUBLE).tolist()]
    drawn = np.array(counts, _DOUBLE).astype(d.numpy).reshape(input._raw.shape)
    return poisson_drawn(input, unboxed(drawn))


def _uniform(source) -> float:
    return float(source.uniform(1, _DOUBLE)[0])


def _poisson(rate: float, source) -> int:
    if not rate >= 0:
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    if rate >= 10:
        return _large_poisson(rate, source)
    if rate == 0:
        return 0
    least, product, count = math.exp(-rate), 1.0, 0
    while (product := product * _uniform(source)) > least:
        count += 1
    return count


def _integer(number: float) -> int:
    """The greatest integer below, as C++ casts it: the least of 64 bits where there are too few."""
    return math.floor(number) if -(2.0**63) <= number < 2.0**63 else -(2**63)


def _large_poisson(rate: float, source) -> int:
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    surely = 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = _uniform(source) - 0.5, _uniform(source)
        rest = 0.5 - abs(u)
        k = _integer((2 * a / rest + b) * u + rate + 0.43)
        if rest >= 0.07 and v <= surely:
            return k
        if k < 0 or (rest < 0.013 and v > rest):
            continue
        bound = -rate + k * math.log(rate) - math.lgamma(k + 1.0)
        if math.log(v) + math.log(inverse_alpha) - math.log(a / (rest * rest) + b) <= bound:
            return k


@operator(function=False, method=False, node="NotImplemented")
def binomial_drawn(count: Array, prob: Array, drawn) -> Array:
    return drawn


binomial_drawn.gradients("count", "prob")(no_derivative("binomial"))


@function(method=False, batching="random")
@randomness.of_values
def binomial(count, prob, generator=None):
    """Samples of binomial distributions of `count` trials with probability `prob`, which broadcast
    (torch.binomial). Not differentiable."""
    if asks((count, prob)):
        return binomial_drawn(count, prob, Draw("binomial", generator=generator))
    for name, value in (("count", count), ("prob", prob)):
        if value.dtype.category != dtypes.FLOATING:
            raise ValueError(
                f"binomial only supports floating-point dtypes for {name}, got: "
                f"{value.dtype.legacy}"
            )
    forward_rules.refuse(binomial_drawn, (count, prob, None))
    kind = count._raw.dtype
    source = generator or default_generator
    shape = broadcast_shapes(count._raw.shape, prob._raw.shape)
    same_dtype_out(prob._raw.dtype, count._raw)
    require_full_precision(count._raw, "binomial_cpu")
    if shape != count._raw.shape and count._raw.size:  # ATen's result begins with that shape
        warn_resized(count._raw.shape, shape)
    pairs = (np.broadcast_to(v._raw, shape).ravel().astype(_DOUBLE) for v in (count, prob))
    found = [_binomial(n, p, source) for n, p in zip(*map(np.ndarray.tolist, pairs), strict=True)]
    drawn = np.array(found, _DOUBLE).astype(kind).reshape(shape)
    return binomial_drawn(count, prob, unboxed(drawn))


def _binomial(count: float, p: float, source) -> float:
    if count <= 0 or p <= 0:
        return 0
    if p >= 1:
        return count
    if p > 0.5:
        return count - _binomial(count, 1 - p, source)
    if math.isnan(p):
        return p
    if math.isinf(count):
        return count
    return _large_binomial(count, p, source) if count * p >= 10 else _gaps(count, p, source)


def _gaps(count: float, p: float, source) -> int:
    """A binomial sample for a small mean, by geometric samples of the trials up to a success."""
    total, found, scale = 0.0, 0, math.log1p(-p)
    while True:
        total += math.ceil(math.log(_uniform(source)) / scale)
        if total > count:
            return found
        found += 1


def _large_binomial(count: float, p: float, source) -> int:
    deviation = math.sqrt(count * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    odds, mode = p / (1 - p), math.floor((count + 1) * p)
    alpha = (2.83 + 5.1 / b) * deviation
    while True:
        u, v = _uniform(source) - 0.5, _uniform(source)
        rest = 0.5 - abs(u)
        k = math.floor((2 * a / rest + b) * u + count * p + 0.5)
        if rest >= 0.07 and v <= 0.92 - 4.2 / b:
            return k
        if k < 0 or k > count:
            continue
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (count - mode + 1)))
            + (count + 1) * math.log((count - mode + 1) / (count - k + 1))
            + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
            + _stirling(mode)
            + _stirling(count - mode)
            - _stirling(k)
            - _stirling(count - k)
        )
        if math.log(v * alpha / (a / (rest * rest) + b)) <= bound:
            return k


def _stirling(k: float) -> float:
    """The error of Stirling's approximation of log(k!)."""
    if k <= 9:
        return math.lgamma(k + 1) - (
            (k + 0.5) * math.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi)
        )
    square = (k + 1) * (k + 1)
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)
