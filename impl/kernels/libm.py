"""The C library's logarithm, exponential, sine, cosine, tangent and power on float64 arrays, bit
for bit.

torch draws random numbers, and makes ranges, with these scalar functions. NumPy's own are
vectorised where the processor allows it, with other last bits; but SciPy's Box-Cox transformations
with the power 0 and elliptic functions with the parameter 0 call the C library for each element,
without Python's 50 ns. There is no such detour to `tan`; but float32 results rarely depend on those
last bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import boxcox, boxcox1p, ellipj, inv_boxcox


def log(x: np.ndarray) -> np.ndarray:
    """The logarithm of numbers that are not negative; -inf of 0."""
    return boxcox(x, 0.0)


def log1p(x: np.ndarray) -> np.ndarray:
    """The logarithm of 1 + x, for x above -1."""
    return boxcox1p(x, 0.0)


def exp(x: np.ndarray) -> np.ndarray:
    """The exponential."""
    return inv_boxcox(x, 0.0)


def sine_cosine(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sine and cosine."""
    sine, cosine, _, _ = ellipj(x, 0.0)
    return sine, cosine


def tan(x: np.ndarray) -> np.ndarray:
    """The tangent."""
    return np.fromiter(map(math.tan, x.data), np.float64, x.size)


def power(base: float, x: np.ndarray) -> np.ndarray:
    """The power of a number; that of NumPy's scalars is the C library's."""
    number = np.float64(base)
    with np.errstate(all="ignore"):
        return np.fromiter((number**exponent for exponent in x), np.float64, x.size)


def float32_of(
    function: Callable[[np.ndarray], np.ndarray],
    nearly: Callable[[np.ndarray], np.ndarray],
    x: np.ndarray,
    magnitude: float,
) -> np.ndarray:
    """function(x) in float32, mostly found by a faster function of nearly the same values.

    The values may differ by 2**-40 of themselves and of another magnitude. Only those are computed
    by `function` that this could round to another number (A. Ziv's rounding test).
    """
    values = nearly(x)
    margin = np.abs(values)
    margin += magnitude
    margin *= 2.0**-40
    result = (values - margin).astype(np.float32)
    doubtful = np.flatnonzero(result != (values + margin).astype(np.float32))
    result[doubtful] = function(x[doubtful])
    return result
