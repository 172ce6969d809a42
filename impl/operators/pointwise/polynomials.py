"""Orthogonal polynomials, which torch does not differentiate: Chebyshev, Hermite, Laguerre,
Legendre."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from impl.dispatch.definition import Array, operator
from impl.dispatch.not_implemented import require_full_precision
from impl.dispatch.overloads import chosen
from impl.kernels.fused_multiply_add import product_plus

POLYNOMIALS: dict[str, Any] = {}  # the functions, by their names in torch.special

Step = Callable[[Any, Array, Array, Array], Array]


@dataclass(frozen=True)
class _Polynomial:
    """The polynomials of one family: those of degree 0 and 1, and the recurrence for the others.

    ``step(k, x, q, p)`` is the one of degree k, after q of degree k - 1 and p of k - 2, in which
    compilers fuse the product with q and the difference; ``ends``
    are the values at -1 and 1, from the degree, where torch does not use the recurrence, and
    ``oscillating`` the form between them, above a degree (torch's `Math.h`).
    """

    first: Callable[[Array], Array]
    step: Step
    ends: tuple[Callable[[Array], Array], Callable[[Array], Array]] | None = None
    oscillating: tuple[int, Callable[[Array, Array], Array]] | None = None
    highest: int | None = None  # the degree above which torch gives NaN

    def __call__(self, x: Array, degree: Array) -> Array:
        value = self._recurrence(x, degree)
        if self.oscillating is not None:
            above, form = self.oscillating
            inside = (degree > above) & (np.abs(x) < 1)
            at, n = np.where(inside, x, x.dtype.type(0)), degree.astype(x.dtype)
            value = np.where(inside, form(n, at), value)
        if self.ends is not None:
            value = np.where(x == -1, self.ends[0](degree), value)
            value = np.where(x == 1, self.ends[1](degree), value)
        if self.highest is not None:
            value = np.where(degree > self.highest, np.nan, value)
        return np.where(degree < 0, 0, value).astype(x.dtype)

    def _recurrence(self, x: Array, degree: Array) -> Array:
        """By recurrence, which ends early where the values have overflowed to NaN."""
        p, q = np.ones_like(x), self.first(x)
        value = np.where(degree == 1, q, p)
        going = degree > 1
        if self.oscillating is not None:
            going = going & ((degree <= self.oscillating[0]) | ~(np.abs(x) < 1))
        if self.ends is not None:
            going = going & (np.abs(x) != 1)
        if self.highest is not None:
            going = going & (degree <= self.highest)
        k = 2
        while going.any():
            p, q = q, self.step(x.dtype.type(k), x, q, p)
            value = np.where(going, q, value)
            going = going & (degree > k) & ~np.isnan(q)
            k += 1
        return value


def _chebyshev(
    first: Callable[[Array], Array],
    ends: tuple[Callable[[Array], Array], Callable[[Array], Array]],
    above: int,
    form: Callable[[Array, Array], Array],
) -> _Polynomial:
    return _Polynomial(first, lambda k, x, q, p: product_plus(x + x, q, -p), ends, (above, form))


def _rounded(function: np.ufunc) -> Callable[[Array], Array]:
    """A function of the C library in float32, which NumPy's vectors round differently."""
    return lambda x: function(x.astype(np.float64)).astype(x.dtype)


_cos, _sin, _arccos = _rounded(np.cos), _rounded(np.sin), _rounded(np.arccos)


def _sign(n: Array) -> Array:
    return np.where(n % 2 == 0, 1, -1)


# J. C. Mason and D. C. Handscomb, "Chebyshev Polynomials" (2002), 1.2.
_CHEBYSHEV = {
    "t": _chebyshev(
        lambda x: x,
        (_sign, np.ones_like),
        6,
        lambda n, x: _cos(n * _arccos(x)),
    ),
    "u": _chebyshev(
        lambda x: x + x,
        (lambda n: _sign(n) * (n + 1), lambda n: n + 1),
        8,
        lambda n, x: _sin((n + 1) * _arccos(x)) / _sin(_arccos(x)),
    ),
    "v": _chebyshev(
        lambda x: x + x - 1,
        (lambda n: _sign(n) * (n + n + 1), np.ones_like),
        8,
        lambda n, x: _cos((n + n.dtype.type(0.5)) * _arccos(x)) / _cos(_arccos(x) / 2),
    ),
    "w": _chebyshev(
        lambda x: x + x + 1,
        (_sign, lambda n: n + n + 1),
        8,
        lambda n, x: _sin((n + n.dtype.type(0.5)) * _arccos(x)) / _sin(_arccos(x) / 2),
    ),
}
_KINDS = {"t": "first", "u": "second", "v": "third", "w": "fourth"}


def _define(name: str, polynomial: Callable[[Array, Array], Array], what: str) -> None:
    """Define the polynomial of degree n at x; n is truncated, and below 0 the polynomial is 0."""

    def kernel(x: Array, n: Array) -> Array:
        dtype = (x if hasattr(x, "dtype") else n).dtype
        require_full_precision(dtype.type(0), f"{name}_cpu")
        with np.errstate(all="ignore"):
            # A degree that is no 64-bit integer becomes the most negative one, as in C.
            degree = np.asarray(n).astype(np.int64)
            return polynomial(np.asarray(x, dtype), degree).astype(dtype)[()]

    kernel.__name__ = f"special_{name}"
    op = operator(
        promote="float", elementwise=True, function=False, method=False, batching="fallback"
    )(kernel)
    POLYNOMIALS[name] = chosen(
        f"special_{name}",
        op,
        op,
        op,
        doc=f"{what} of degree n at x (torch.special.{name}).",
    )


def _shifted(polynomial: _Polynomial) -> Callable[[Array, Array], Array]:
    return lambda x, n: polynomial(x + x - 1, n)


for _letter, _polynomial in _CHEBYSHEV.items():
    _text = f"Chebyshev polynomial of the {_KINDS[_letter]} kind"
    _define(f"chebyshev_polynomial_{_letter}", _polynomial, f"The {_text}")
    _define(
        f"shifted_chebyshev_polynomial_{_letter}", _shifted(_polynomial), f"The shifted {_text}"
    )
for _name, _polynomial, _text in (
    (
        "hermite_polynomial_h",
        _Polynomial(
            lambda x: x + x,
            lambda k, x, q, p: product_plus(x + x, q, -2 * (k - 1) * p),
            highest=512,
        ),
        "The physicist's Hermite polynomial",
    ),
    (
        "hermite_polynomial_he",
        _Polynomial(lambda x: x, lambda k, x, q, p: product_plus(x, q, -(k - 1) * p), highest=512),
        "The probabilist's Hermite polynomial",
    ),
    (
        "laguerre_polynomial_l",
        _Polynomial(
            lambda x: 1 - x,
            lambda k, x, q, p: product_plus(2 * (k - 1) + (1 - x), q, -(k - 1) * p) / k,
        ),
        "The Laguerre polynomial",
    ),
    (
        "legendre_polynomial_p",
        _Polynomial(
            lambda x: x,
            lambda k, x, q, p: product_plus((2 * k - 1) * x, q, -(k - 1) * p) / k,
            ends=(_sign, np.ones_like),
        ),
        "The Legendre polynomial",
    ),
):
    _define(_name, _polynomial, _text)
