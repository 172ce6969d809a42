"""Orthogonal polynomials, which torch does not differentiate: Chebyshev, Hermite, Laguerre,
Legendre."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from impl.dispatch.definition import Array, operator
from impl.dispatch.not_implemented import require_full_precision
from impl.dispatch.overloads import chosen

POLYNOMIALS: dict[str, Any] = {}  # the functions, by their names in torch.special


def _define(name: str, function, what: str) -> None:
    """Define the polynomial of degree n at x; n is truncated, and below 0 the polynomial is 0."""

    def kernel(x: Array, n: Array) -> Array:
        dtype = (x if hasattr(x, "dtype") else n).dtype
        require_full_precision(dtype.type(0), f"{name}_cpu")
        degree = np.trunc(n)
        value = function(np.maximum(degree, 0), x)
        return np.where(degree < 0, 0, value).astype(dtype)[()]

    kernel.__name__ = f"special_{name}"
    op = operator(promote="float", elementwise=True, function=False, method=False)(kernel)
    POLYNOMIALS[name] = chosen(
        f"special_{name}",
        op,
        op,
        op,
        doc=f"{what} of degree n at x (torch.special.{name}).",
        parameters=("x", "n"),
    )


def _second_kind(n, x):
    """U_n, where U_-1 is 0."""
    return np.where(n < 0, 0, scipy.special.eval_chebyu(np.maximum(n, 0).astype(np.int64), x))


# J. C. Mason and D. C. Handscomb, "Chebyshev Polynomials" (2002), 1.2: V and W are differences and
# sums of neighbours among the U.
_CHEBYSHEV = {
    "t": (lambda n, x: scipy.special.eval_chebyt(n.astype(np.int64), x), "first"),
    "u": (_second_kind, "second"),
    "v": (lambda n, x: _second_kind(n, x) - _second_kind(n - 1, x), "third"),
    "w": (lambda n, x: _second_kind(n, x) + _second_kind(n - 1, x), "fourth"),
}


def _shifted(function):
    return lambda n, x: function(n, 2 * x - 1)


for _letter, (_function, _kind) in _CHEBYSHEV.items():
    _text = f"Chebyshev polynomial of the {_kind} kind"
    _define(f"chebyshev_polynomial_{_letter}", _function, f"The {_text}")
    _define(f"shifted_chebyshev_polynomial_{_letter}", _shifted(_function), f"The shifted {_text}")
for _name, _function, _text in (
    ("hermite_polynomial_h", scipy.special.eval_hermite, "The physicist's Hermite polynomial"),
    (
        "hermite_polynomial_he",
        scipy.special.eval_hermitenorm,
        "The probabilist's Hermite polynomial",
    ),
    ("laguerre_polynomial_l", scipy.special.eval_laguerre, "The Laguerre polynomial"),
    ("legendre_polynomial_p", scipy.special.eval_legendre, "The Legendre polynomial"),
):
    _define(_name, lambda n, x, of=_function: of(n.astype(np.int64), x), _text)
