"""The C library's logarithm, exponential, sine, cosine and tangent on float64 arrays, bit for bit.

torch draws random numbers with these scalar functions. NumPy's own are vectorised where the
processor allows it, with other last bits; but its functions of complex numbers call the C library
for each element, without Python's 50 ns. `log1p` is SciPy's Box-Cox transformation with the power
0. There is no such detour to `tan`.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import boxcox1p


def log_of_uniform(x: np.ndarray) -> np.ndarray:
    """The logarithm of multiples of 2**-53 from [0, 1]; -inf of 0."""
    with np.errstate(divide="ignore"):
        return np.log1p((x - 1).astype(np.complex128)).real  # x - 1 is exact: log(|(x - 1) + 1|)


def exp(x: np.ndarray) -> np.ndarray:
    """The exponential."""
    with np.errstate(over="ignore"):
        result = np.exp(x.astype(np.complex128)).real
        large = np.flatnonzero(np.abs(x) > 700)  # which cexp computes in two factors
        for i in large.tolist():
            result[i] = _exp(x[i])
    return result


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def sine_cosine(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sine and cosine: the parts of exp(ix)."""
    turned = np.zeros(x.shape, np.complex128)
    turned.imag = x
    np.exp(turned, out=turned)
    return turned.imag, turned.real


def log1p(x: np.ndarray) -> np.ndarray:
    """The logarithm of 1 + x, for x above -1."""
    return boxcox1p(x, 0.0)


def tan(x: np.ndarray) -> np.ndarray:
    """The tangent."""
    return np.fromiter(map(math.tan, x.data), np.float64, x.size)
