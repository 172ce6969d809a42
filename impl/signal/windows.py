"""`torch.signal.windows`: windows, symmetric by default.

F. J. Harris, "On the use of windows for harmonic analysis with the discrete Fourier transform",
1978. A periodic window is the symmetric one of a length greater by one, without its last element.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from impl.core.dtypes import float32, float64, get_default_dtype
from impl.core.memory_formats import strided
from impl.core.method_names import hands_on
from impl.core.registry import C
from impl.factories.creation import tensor
from impl.tensor.tensor import Tensor

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


def _checked(name: str, M: int, dtype: Any, layout: Any) -> Any:
    """The dtype of a window. Raises ValueError for a negative length, and for a layout or dtype
    that windows do not have."""
    dtype = get_default_dtype() if dtype is None else dtype
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if dtype not in (float32, float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    return dtype


def _options(
    name: str, M: int, dtype: Any, layout: Any, device: Any, requires_grad: bool
) -> dict[str, Any]:
    """The options of the factories that make a window. Raises ValueError as `_checked` does."""
    return {
        "dtype": _checked(name, M, dtype, layout),
        "layout": layout,
        "device": device,
        "requires_grad": requires_grad,
    }


def _short(M: int, options: dict[str, Any]) -> Tensor | None:
    """The window of no element or of one; None for a longer one."""
    if M == 0:
        return C.empty((0,), **options)
    return C.ones((1,), **options) if M == 1 else None


def _places(start: Any, end: Any, M: int, options: dict[str, Any]) -> Any:
    """M numbers from start to end, of which the window is a function; by keywords, as torch passes
    them, which its message for a length that is no integer lists."""
    return C.linspace(start=start, end=end, steps=M, **options)


def _count(M: int, sym: bool) -> int:
    """The length of the symmetric window of which this is a part."""
    return M if sym or M <= 1 else M + 1


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Falls by a factor of e each `tau` elements from the center, which is the middle by default
    (torch.signal.windows.exponential)."""
    options = _options("exponential", M, dtype, layout, device, requires_grad)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if M == 0:
        return C.empty((0,), **options)
    if center is None:
        center = (_count(M, sym) - 1) / 2.0
    scale = 1 / tau
    start, end = -center * scale, (-center + (M - 1)) * scale
    at = _places(start, end, M, options)
    return C.exp(-C.abs(at))


def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Half a wave of the sine, at the middles of its elements (torch.signal.windows.cosine)."""
    options = _options("cosine", M, dtype, layout, device, requires_grad)
    if M == 0:
        return C.empty((0,), **options)
    scale = math.pi / _count(M, sym)
    start, end = 0.5 * scale, (0.5 + (M - 1)) * scale
    return C.sin(_places(start, end, M, options))


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A normal density around the middle, whose largest value is 1
    (torch.signal.windows.gaussian)."""
    options = _options("gaussian", M, dtype, layout, device, requires_grad)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if M == 0:
        return C.empty((0,), **options)
    first = -(_count(M, sym) - 1) / 2.0
    scale = 1 / (std * math.sqrt(2))
    start, end = first * scale, (first + (M - 1)) * scale
    at = _places(start, end, M, options)
    return C.exp(-(at**2))


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The window of Bessel functions that is narrowest for its side lobes, set by `beta`
    (torch.signal.windows.kaiser)."""
    options = _options("kaiser", M, dtype, layout, device, requires_grad)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    short = _short(M, options)
    if short is not None:
        return short
    shape: Any = tensor(beta, dtype=options["dtype"], device=device)
    scale = 2.0 * shape / (_count(M, sym) - 1)
    end = C.minimum(shape, -shape + (M - 1) * scale)
    at = _places(-shape, end, M, options)
    return C.i0(C.sqrt(shape * shape - C.pow(at, 2))) / C.i0(shape)


def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A triangle with zeros at its ends (torch.signal.windows.bartlett)."""
    options = _options("bartlett", M, dtype, layout, device, requires_grad)
    short = _short(M, options)
    if short is not None:
        return short
    scale = 2 / (_count(M, sym) - 1)
    at = _places(-1, -1 + (M - 1) * scale, M, options)
    return 1 - C.abs(at)


def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A sum of cosines with coefficients of alternating sign
    (torch.signal.windows.general_cosine)."""
    options = _options("general_cosine", M, dtype, layout, device, requires_grad)
    short = _short(M, options)
    if short is not None:
        return short
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    scale = 2 * math.pi / (_count(M, sym) - 1)
    at = _places(0, (M - 1) * scale, M, options)
    signed = [(-1) ** i * weight for i, weight in enumerate(a)]
    weights = tensor(signed, dtype=options["dtype"], device=device, requires_grad=requires_grad)
    order = C.arange(len(signed), **options)
    return (weights.unsqueeze(-1) * C.cos(order.unsqueeze(-1) * at)).sum(0)


_keywords = hands_on("dtype", "layout", "device", "requires_grad")


@_keywords
def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **options: Any) -> Tensor:
    """A raised cosine whose mean is `alpha` (torch.signal.windows.general_hamming)."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, **options)


@_keywords
def hamming(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """The raised cosine whose first side lobe is lowest (torch.signal.windows.hamming)."""
    return general_hamming(M, sym=sym, **options)


@_keywords
def hann(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """The raised cosine with zeros at its ends (torch.signal.windows.hann)."""
    return general_hamming(M, alpha=0.5, sym=sym, **options)


@_keywords
def blackman(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """A sum of three cosines (torch.signal.windows.blackman)."""
    _checked("blackman", M, options.get("dtype"), options.get("layout", strided))
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **options)


@_keywords
def nuttall(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """The sum of four cosines of the lowest side lobes (torch.signal.windows.nuttall)."""
    weights = [0.3635819, 0.4891775, 0.1365995, 0.0106411]
    return general_cosine(M, a=weights, sym=sym, **options)
