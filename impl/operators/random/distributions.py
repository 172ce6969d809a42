"""In-place fills with Cauchy, geometric and log-normal samples."""

from __future__ import annotations

import functools
import math

import numpy as np

from impl.core import dtypes
from impl.dispatch.definition import function
from impl.dispatch.not_implemented import not_implemented
from impl.factories import draws
from impl.factories.generator import default_generator
from impl.kernels import libm
from impl.kernels.fused_multiply_add import fused
from impl.operators.random.sampling import fill, filling
from impl.tensor.tensor import Tensor

_DOUBLE = np.dtype(np.float64)


_cauchy = filling("cauchy_drawn", "CauchyBackward0")
_geometric = filling("geometric_drawn", "GeometricBackward0")
_log_normal = filling("log_normal_drawn", "LogNormalBackward0")


def _filled(op, tensor: Tensor, numbers, name: str, *given, generator) -> Tensor:
    """Fill the tensor with numbers(count), in the order of memory; see `draws.fill`. A handler gets
    the sampler's `name` in ATen and the numbers `given`."""

    def draw(fresh):
        draws.fill(fresh, numbers)

    return fill(op, tensor, draw, name, *given, generator=generator)


def _uniforms(count: int, generator) -> np.ndarray:
    return (generator or default_generator).uniform(count, _DOUBLE)


@function("cauchy_", torch=False)
def cauchy_(self, median=0.0, sigma=1.0, *, generator=None):
    """Fill with samples of a Cauchy distribution (torch.Tensor.cauchy_).

    Raises RuntimeError unless `sigma` is positive, and for integers.
    """
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    draws.continuous("Cauchy", self.dtype, self.dtype.c_name)

    def samples(tan, angles):
        return fused(tan(angles), sigma, median)

    def numbers(count):
        angles = math.pi * (_uniforms(count, generator) - 0.5)
        exactly, nearly = (functools.partial(samples, tan) for tan in (libm.tan, np.tan))
        if self.dtype is dtypes.float64:
            return exactly(angles)
        return libm.float32_of(exactly, nearly, angles, abs(median))

    return _filled(_cauchy, self, numbers, "cauchy_", median, sigma, generator=generator)


@function("geometric_", torch=False)
def geometric_(self, p, *, generator=None):
    """Fill with samples of a geometric distribution on 1, 2, … (torch.Tensor.geometric_).

    Raises RuntimeError for a probability outside (0, 1).
    """
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    if self._raw.size and self.dtype.category in (dtypes.BOOL, dtypes.COMPLEX):
        raise not_implemented("geometric_cpu", self.dtype)
    scale = math.log1p(-p)
    return _filled(
        _geometric,
        self,
        lambda n: np.ceil(libm.log(_uniforms(n, generator)) / scale),
        "geometric_",
        p,
        generator=generator,
    )


@function("log_normal_", torch=False)
def log_normal_(self, mean=1.0, std=2.0, *, generator=None):
    """Fill with samples of a log-normal distribution (torch.Tensor.log_normal_).

    Raises RuntimeError unless `std` is positive, NotImplementedError for integers.
    """
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    if self._raw.size and not self.is_floating_point():
        raise not_implemented("log_normal_cpu", self.dtype)
    source = generator or default_generator
    return _filled(
        _log_normal,
        self,
        lambda n: libm.exp(fused(source.normal_numbers(n), std, mean)),
        "log_normal_",
        mean,
        std,
        generator=generator,
    )
