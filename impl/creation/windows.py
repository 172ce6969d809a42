"""Windows of signal processing: hann, hamming, blackman, bartlett, kaiser.

F. J. Harris, "On the use of windows for harmonic analysis with the discrete Fourier transform",
1978. A periodic window is the symmetric one of a length greater by one, without its last element.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.special

from impl import dtypes
from impl.creation.options import check_options, publish, require
from impl.creation.ranges import arange
from impl.dtypes import get_default_dtype
from impl.modes import no_grad
from impl.operator import new
from impl.precision import widened
from impl.tensor import Tensor


def _cosines(name: str, length: int, periodic: bool, shape, dtype, requires_grad, device) -> Tensor:
    """A window whose elements `shape` makes of their numbers and of how many there are."""
    check_options(device)
    dtype = dtype or get_default_dtype()
    if dtype.category < dtypes.FLOATING or dtype.is_complex:
        raise RuntimeError(
            f"{name} expects floating point dtypes, got: TensorOptions(dtype={dtype.c_name}, "
            "device=cpu, layout=Strided (default), requires_grad=false (default), "
            "pinned_memory=false, memory_format=(nullopt))"
        )
    if length < 0:
        raise RuntimeError(
            f"{name} requires non-negative window_length, got window_length={length}"
        )
    with no_grad():
        if length < 2:
            window = new(np.ones(length, dtype.numpy))
        else:
            count = length + bool(periodic)
            window = shape(arange(count, dtype=dtype), count)
            window = window.narrow(0, 0, length) if periodic else window
    return require(window, requires_grad, name)


@publish
def hamming_window(
    window_length,
    periodic=True,
    alpha=0.54,
    beta=0.46,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
) -> Tensor:
    """alpha - beta * cos of a full turn (torch.hamming_window)."""
    return _cosine_bell(
        "hamming_window", window_length, periodic, alpha, beta, dtype, requires_grad, device
    )


@publish
def hann_window(
    window_length,
    periodic=True,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
) -> Tensor:
    """Half of one minus the cosine of a full turn (torch.hann_window)."""
    return _cosine_bell(
        "hann_window", window_length, periodic, 0.5, 0.5, dtype, requires_grad, device
    )


def _cosine_bell(name, length, periodic, alpha, beta, dtype, requires_grad, device) -> Tensor:
    def shape(number, count):
        return number.mul_(2 * math.pi / (count - 1)).cos_().mul_(-beta).add_(alpha)

    return _cosines(name, length, periodic, shape, dtype, requires_grad, device)


@publish
def blackman_window(
    window_length,
    periodic=True,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
) -> Tensor:
    """0.42 - 0.5 cos + 0.08 cos of the double angle (torch.blackman_window)."""

    def shape(number, count):
        half = number.mul_(math.pi / (count - 1))
        return half.mul(4).cos_().mul_(0.08) - half.mul(2).cos_().mul_(0.5) + 0.42

    name = "blackman_window"
    return _cosines(name, window_length, periodic, shape, dtype, requires_grad, device)


@publish
def bartlett_window(
    window_length,
    periodic=True,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
) -> Tensor:
    """A triangle from 0 over 1 to 0 (torch.bartlett_window)."""

    def shape(number, count):
        number.mul_(2.0 / (count - 1))
        rising = ((count - 1) >> 1) + 1
        number.narrow(0, rising, count - rising).mul_(-1).add_(2)
        return number

    name = "bartlett_window"
    return _cosines(name, window_length, periodic, shape, dtype, requires_grad, device)


@publish
def kaiser_window(
    window_length,
    periodic=True,
    beta=12.0,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
) -> Tensor:
    """i0(beta * sqrt(1 - x**2)) / i0(beta) for x from -1 to 1 (torch.kaiser_window)."""

    def shape(number, count):
        x = widened(number._raw)
        x = x * x.dtype.type(2 / (count - 1)) - 1
        bell = scipy.special.i0(x.dtype.type(beta) * np.sqrt(np.maximum(1 - x * x, 0)))
        return new((bell / scipy.special.i0(x.dtype.type(beta))).astype(number._raw.dtype))

    name = "kaiser_window"
    return _cosines(name, window_length, periodic, shape, dtype, requires_grad, device)
