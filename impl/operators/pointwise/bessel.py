"""Bessel and Airy functions; the scaled, spherical and Airy ones have no derivatives."""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np
import scipy.special

from impl.dispatch.definition import Array, operator
from impl.dispatch.not_implemented import require_floating, require_full_precision
from impl.kernels import bessel, modified_bessel

_SPECIAL: dict[str, Any] = {"function": False, "method": False, "elementwise": True, "out": True}


@operator(promote="float", elementwise=True, inplace=True, out=True)
def i0(self: Array) -> Array:
    """The modified Bessel function of the first kind of order 0 (torch.special.i0)."""
    require_floating(self, "i0_vml_cpu")
    return modified_bessel.i0(self)


@operator(node="SpecialI0EBackward0", promote="float", **_SPECIAL)
def special_i0e(self: Array) -> Array:
    """exp(-|self|) i0(self) (torch.special.i0e)."""
    require_floating(self, "i0e_cpu")
    return modified_bessel.i0e(self)


@operator(promote="float", **_SPECIAL)
def special_i1(self: Array) -> Array:
    """The modified Bessel function of the first kind of order 1 (torch.special.i1)."""
    require_floating(self, "i1_cpu")
    return modified_bessel.i1(self)


@operator(node="SpecialI1EBackward0", promote="float", **_SPECIAL)
def special_i1e(self: Array) -> Array:
    """exp(-|self|) i1(self) (torch.special.i1e)."""
    require_floating(self, "i1e_cpu")
    return modified_bessel.i1e(self)


# DLMF 10.29: i0' = i1, and i1' = i0 - i1 / x, which is 1/2 at 0; 10.6: j1' = j0 - j1 / x likewise.
# Right operands are recorded first, as C++ evaluates them.


def _away_from_zero(F, value):
    """The mask |value| <= eps, and the value with eps in place of these elements.

    The formulas divide by the value and select the limit at 0 by the mask, as torch's do.
    """
    smallest = float(ml_dtypes.finfo(F.dtype_of(value)).eps)
    small = abs(value) <= smallest
    return small, F.where(small, smallest, value)


def _of_first_order(zeroth: str):
    """The gradient of a function of order 1, from the name of that of order 0."""

    def formula(F, grad, self, result):
        small, x = _away_from_zero(F, self)
        subtracted = result * F.reciprocal(x)
        return grad * F.where(small, 0.5, getattr(F, zeroth)(x) - subtracted)

    return formula


def _of_i1e(F, grad, self, result):
    small, x = _away_from_zero(F, self)
    inverse = F.reciprocal(x)
    subtracted = result * (F.sgn(x) + inverse)
    return grad * F.where(small, 0.5, F.special_i0e(x) - subtracted)


def _of_i0e(F, grad, self, result):
    falling = F.sgn(self) * result
    return grad * (F.special_i1e(self) - falling)


i0.gradient(self=lambda F, grad, self: grad * F.special_i1(self))
special_i0e.gradient(self=_of_i0e)
special_i1.gradient(self=_of_first_order("i0"))
special_i1e.gradient(self=_of_i1e)


# -- of float32 and float64 only ----------------------------------------------------------------


def _special(name: str, function, doc: str, of_x: bool = False, batching: str = "front"):
    """Define a function of float32 and float64.

    `of_x`: torch names the parameter `x` instead of `input`; `batching` as in `operator`.
    """

    def compute(value):
        require_full_precision(value, f"{name}_cpu")
        return function(value).astype(value.dtype)

    def of_self(self: Array) -> Array:
        return compute(self)

    def of_named(x: Array) -> Array:
        return compute(x)

    kernel = of_named if of_x else of_self
    kernel.__name__, kernel.__doc__ = f"special_{name}", f"{doc} (torch.special.{name})."
    letters = name.title().replace("_", "")
    facts = {**_SPECIAL, "batching": batching}
    return operator(node=f"Special{letters}Backward0", promote="float", **facts)(kernel)


def _bessel(name: str):
    kind = {"j": "first", "y": "second"}[name[0]]
    doc = f"The Bessel function of the {kind} kind of order {name[1]}"
    kernel = bessel.first_kind if kind == "first" else bessel.second_kind
    return _special(f"bessel_{name}", functools.partial(kernel, int(name[1])), doc)


def _modified_bessel(name: str):
    doc = f"The modified Bessel function {name}"
    return _special(f"modified_bessel_{name}", getattr(scipy.special, name), doc)


def _of_y1(F, grad, self, result):
    subtracted = result * F.reciprocal(self)
    return grad * F.where(self == 0, np.inf, F.special_bessel_y0(self) - subtracted)


def _of_k1(F, grad, self, result):
    added = result * F.reciprocal(self)
    return grad * -(F.special_modified_bessel_k0(self) + added)


_bessel("j0").gradient(self=lambda F, grad, self: grad * -F.special_bessel_j1(self))
_bessel("j1").gradient(self=_of_first_order("special_bessel_j0"))
_bessel("y0").gradient(self=lambda F, grad, self: grad * -F.special_bessel_y1(self))
_bessel("y1").gradient(self=_of_y1)
_modified_bessel("i0").gradient(
    self=lambda F, grad, self: grad * F.special_modified_bessel_i1(self)
)
_modified_bessel("i1").gradient(self=_of_first_order("i0"))
_modified_bessel("k0").gradient(
    self=lambda F, grad, self: grad * -F.special_modified_bessel_k1(self)
)
_modified_bessel("k1").gradient(self=_of_k1)

for _name in ("k0", "k1"):
    _special(
        f"scaled_modified_bessel_{_name}",
        getattr(scipy.special, f"{_name}e"),
        f"exp(x) {_name}(x), of the modified Bessel function",
        of_x=True,
    )
_special(
    "spherical_bessel_j0",
    lambda value: scipy.special.spherical_jn(0, value),
    "The spherical Bessel function of the first kind of order 0",
    of_x=True,
)


def _airy(value):
    """Airy's function, zero where it is too small for any dtype."""
    found = scipy.special.airy(value)[0]
    return np.where((value > 103.892) & np.isfinite(value), found.dtype.type(0), found)


_special("airy_ai", _airy, "The Airy function Ai", of_x=True, batching="fallback")
