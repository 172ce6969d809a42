"""Windows of signal processing: hann, hamming, blackman, bartlett, kaiser.

F. J. Harris, "On the use of windows for harmonic analysis with the discrete Fourier transform",
1978. A periodic window is the symmetric one of a length greater by one, without its last element.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.special

from impl.core import dtypes
from impl.core.dtypes import get_default_dtype
from impl.core.grad_mode import no_grad
from impl.factories.creation.options import factory, publish
from impl.factories.creation.ranges import arange
from impl.kernels.reduced_precision import widened
from impl.tensor.tensor import Tensor, new


def _fresh(view: Tensor) -> Tensor:
    """The view as a tensor of its own, of version 0: torch makes it below the autograd layer."""
    view._view = None
    view._storage = view._storage.sharing()
    return view


def _window(shape):
    """Decorate what makes a window's elements of their numbers and of how many there are; further
    parameters are the window's settings. Publishes the factory of the window.

    It raises RuntimeError for a dtype that is not floating point and for a negative length.
    """
    name = shape.__name__

    def window(window_length, periodic=True, *settings, dtype=None, **named) -> Tensor:
        dtype = dtype or get_default_dtype()
        if dtype.category < dtypes.FLOATING:
            raise RuntimeError(
                f"{name} expects floating point dtypes, got: TensorOptions(dtype={dtype.c_name}, "
                "device=cpu, layout=Strided (default), requires_grad=false (default), "
                "pinned_memory=false, memory_format=(nullopt))"
            )
        if window_length < 0:
            raise RuntimeError(
                f"{name} requires non-negative window_length, got window_length={window_length}"
            )
        with no_grad():
            if window_length < 2:
                return new(np.ones(window_length, dtype.numpy))
            count = window_length + bool(periodic)
            elements = shape(arange(count, dtype=dtype), count, *settings, **named)
            return _fresh(elements.narrow(0, 0, window_length))

    window.__name__ = window.__qualname__ = name
    window.__doc__ = shape.__doc__
    return publish(factory(window))


@_window
def hamming_window(number, count, alpha=0.54, beta=0.46):
    """alpha - beta * cos of a full turn (torch.hamming_window)."""
    return number.mul_(2 * math.pi / (count - 1)).cos_().mul_(-beta).add_(alpha)


@_window
def hann_window(number, count):
    """Half of one minus the cosine of a full turn (torch.hann_window)."""
    return number.mul_(2 * math.pi / (count - 1)).cos_().mul_(-0.5).add_(0.5)


@_window
def blackman_window(number, count):
    """0.42 - 0.5 cos + 0.08 cos of the double angle (torch.blackman_window)."""
    half = number.mul_(math.pi / (count - 1))
    return half.mul(4).cos_().mul_(0.08) - half.mul(2).cos_().mul_(0.5) + 0.42


@_window
def bartlett_window(number, count):
    """A triangle from 0 over 1 to 0 (torch.bartlett_window)."""
    number.mul_(2.0 / (count - 1))
    rising = ((count - 1) >> 1) + 1
    number.narrow(0, rising, count - rising).mul_(-1).add_(2)
    return number


@_window
def kaiser_window(number, count, beta=12.0):
    """i0(beta * sqrt(1 - x**2)) / i0(beta) for x from -1 to 1 (torch.kaiser_window)."""
    x = widened(number._raw)
    x = x * x.dtype.type(2 / (count - 1)) - 1
    bell = scipy.special.i0(x.dtype.type(beta) * np.sqrt(np.maximum(1 - x * x, 0)))
    return new((bell / scipy.special.i0(x.dtype.type(beta))).astype(number._raw.dtype))
