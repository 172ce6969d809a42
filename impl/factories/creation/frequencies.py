"""The frequencies of discrete Fourier transforms: fftfreq, rfftfreq."""

from __future__ import annotations

import functools
import math

import numpy as np

from impl.core.dtypes import FLOATING, get_default_dtype
from impl.core.registry import tensor_ops
from impl.core.sizes import negative_size
from impl.dispatch.record import store_underived
from impl.factories.creation.options import factory
from impl.factories.creation.ranges import arange, fill_arange
from impl.tensor import write
from impl.tensor.tensor import Tensor


@factory(name="fft_fftfreq")
def fftfreq(n, d=1.0, *, dtype=None, out=None):
    """The frequencies of the elements of `fft`, in cycles per unit of `d` (torch.fft.fftfreq).

    Zero, the positive ones, the negative ones. Raises RuntimeError for an integer dtype.
    """
    return _frequencies("fftfreq", n, n, d, dtype, out)


@factory(name="fft_rfftfreq")
def rfftfreq(n, d=1.0, *, dtype=None, out=None):
    """The frequencies of the elements of `rfft` (torch.fft.rfftfreq). Errors as `fftfreq`."""
    return _frequencies("rfftfreq", n, int(n / 2) + 1, d, dtype, out)


def _frequencies(name, n, count, d, dtype, out) -> Tensor:
    if out is not None:
        compute = functools.partial(_frequencies, name, n, count, d, out.dtype, None)
        storing = functools.partial(_storing_numbers, n, d)
        return store_underived(f"aten::fft_{name}", (), out, compute, storing)
    dtype = dtype or get_default_dtype()
    if count < 0:
        raise negative_size([count])
    if dtype.category < FLOATING:
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    result = arange(count, dtype=dtype)
    if name == "fftfreq":
        result[(n + 1) // 2 :] -= n
    result = result.mul_(_scale(n, d))
    result._storage.version = 0  # torch fills it below the version counter
    return result


def _scale(n, d) -> float:
    step = n * d
    return 1.0 / step if step else math.copysign(math.inf, step)


def _storing_numbers(n, d, name: str, out: Tensor, result: Tensor) -> Tensor:
    """Store the frequencies in an `out=` as `arange` does, by which torch makes them.

    The negative ones of `fftfreq` go to memory that begins at a slice of the first dimension, which
    is not theirs unless `out` is a contiguous vector.
    """
    if name.endswith("rfftfreq"):
        fill_arange(out, result._raw)
        return out
    kind, version = result._raw.dtype, out._storage.version
    try:
        fill_arange(out, np.arange(n).astype(kind))
        below = tensor_ops.slice(out.detach(), 0, (n + 1) // 2, 0)
        fill_arange(below, np.arange(-(n // 2), 0).astype(kind))
    finally:
        out._storage.version = version
    write.write(out, out._raw * kind.type(_scale(n, d)))
    return out
