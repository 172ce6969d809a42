"""The weights of a cubic interpolation in half precision, with ATen's rounding after each step.

The polynomials are those of R. Keys, 1981, evaluated by Horner's rule. The order of steps matters
because the terms of a weight cancel.
"""

from __future__ import annotations

import numpy as np

from impl.kernels.reduced_precision import widened

_A = -0.75


def weights(share: np.ndarray) -> np.ndarray:
    """The weights (4, ...) of the elements around a position `share` past the second one, as
    float32."""
    number = share.dtype.type

    def near(x):
        return (number(_A + 2) * x - number(_A + 3)) * x * x + number(1)

    def far(x):
        return ((number(_A) * x - number(5 * _A)) * x + number(8 * _A)) * x - number(4 * _A)

    one, two = number(1), number(2)
    return widened(np.stack((far(share + one), near(share), near(one - share), far(two - share))))


def slopes(share: np.ndarray) -> np.ndarray:
    """The derivatives of `weights` with respect to `share`."""
    number = share.dtype.type

    # ATen measures distances from the sampling position, not to it, which reverses their sign.
    def near(x, sign):
        return (number(sign * 3 * (_A + 2)) * x - number(2 * (_A + 3))) * x

    def far(x, sign):
        product = (number(sign * 3 * _A) * x - number(10 * _A)) * x
        return product + number(sign * 8 * _A)

    zero, one, two = number(0), number(1), number(2)
    parts = (far(-one - share, -1), near(zero - share, -1), near(one - share, 1))
    return -widened(np.stack((*parts, far(two - share, 1))))
