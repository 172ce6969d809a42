"""Bessel functions of the orders 0 and 1, with the error that ATen's have.

ATen evaluates Cephes' rational approximations (j0.c, j1.c), but leaves out the highest power of
each denominator, whose coefficient is 1 and which Cephes does not list (its p1evl adds it). The
values are wrong by up to 6e-6 of themselves just beyond 5, which shows in float64.

SciPy's functions are the right ones. Without its power z**n a denominator D turns a quotient R
into R (1 + z**n / D).
"""

from __future__ import annotations

import numpy as np
from scipy.special import j0, j1, y0, y1

_FIRST, _SECOND = (j0, j1), (y0, y1)


def _denominators(*orders: str) -> list[list[float]]:
    """Polynomials by order: the coefficients that are listed, the highest power first."""
    return [[float(number) for number in order.split()] for order in orders]


# Up to 5 they are polynomials of x**2: of the first kind,
_UP_TO_5 = _denominators(
    """499.563147152651 173785.4016763747 48440965.83399621 11185553704.535683
    2112775201154.892 310518229857422.56 3.1812195594320496e+16 1.7108629408104315e+18""",
    """620.8364781180543 256987.25675774884 83514679.14319493 22151159547.97925
    4749141220799.914 784369607876235.9 8.952223361846274e+16 5.322786203326801e+18""",
)
# and of the part of the second kind that has no logarithm.
_WITHOUT_LOGARITHM = _denominators(
    """1041.2835366425984 626107.330137135 268919633.39381415 86400248710.3935
    20297961275010.555 3171577528429750.5 2.5059625617265306e+17""",
    """594.3015923461282 235564.09294306856 73481194.44597217 18760131610.870617
    3882312774962.3857 620557727146953.8 6.871410873553005e+16 3.9727060811656064e+18""",
)
# Beyond 5 they are polynomials of (5 / x)**2.
_BEYOND_5 = _denominators(
    """64.3178256118178 856.4300259769806 3882.4018360540163 7240.467741956525
    5930.727011873169 2062.0933166032783 242.0057402402914""",
    """74.23732770356752 1056.4488603826283 4986.410583376536 9562.318924047562
    7997.041604473507 2826.1927851763908 336.0936078106983""",
)


def first_kind(order: int, x: np.ndarray) -> np.ndarray:
    """J of order 0 or 1, in float64."""
    x = np.asarray(x, np.float64)
    size = np.abs(x)
    near = _first_up_to_5(order, x)
    phase, error = _error_beyond(order, size)
    far = _FIRST[order](size) - error * np.sin(phase)
    return np.where(size <= 5, near, np.copysign(far, far * x) if order else far)


def _first_up_to_5(order: int, x: np.ndarray) -> np.ndarray:
    return _FIRST[order](x) * (1 + _left_out(_UP_TO_5[order], x * x))


def second_kind(order: int, x: np.ndarray) -> np.ndarray:
    """Y of order 0 or 1, in float64."""
    x = np.asarray(x, np.float64)
    pole = order / x
    logarithm = np.log(x)
    rational = _SECOND[order](x) - 2 / np.pi * (_FIRST[order](x) * logarithm - pole)
    near = rational * (1 + _left_out(_WITHOUT_LOGARITHM[order], x * x))
    near = near + 2 / np.pi * (_first_up_to_5(order, x) * logarithm - pole)
    phase, error = _error_beyond(order, x)
    far = _SECOND[order](x) + error * np.cos(phase)
    return np.where(x == 0, -np.inf, np.where(x <= 5, near, far))


def _left_out(denominator: list[float], z: np.ndarray) -> np.ndarray:
    """The power that is left out, in parts of the others."""
    return z ** len(denominator) / np.polyval(denominator, z)


def _error_beyond(order: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The phase t of the asymptotic expansion, and the error of Q, the quotient in it.

    J = s (P cos t - 5 / x Q sin t) and Y = s (P sin t + 5 / x Q cos t), where s = sqrt(2 / (pi x)),
    so that s 5 / x Q = Y cos t - J sin t (DLMF 10.17).
    """
    phase = x - (order + 0.5) * np.pi / 2
    quotient = _SECOND[order](x) * np.cos(phase) - _FIRST[order](x) * np.sin(phase)
    return phase, quotient * _left_out(_BEYOND_5[order], 25 / (x * x))
