"""Bessel and Airy functions; only the modified ones i0, i0e, i1 and i1e have derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from impl.core.dtypes import BY_NUMPY, REDUCED
from impl.dispatch.definition import Array, operator
from impl.dispatch.not_implemented import not_implemented, require_floating, require_full_precision
from impl.kernels.reduced_precision import at_least_float32

_SPECIAL: dict[str, Any] = {"function": False, "method": False, "elementwise": True, "out": True}

_i0 = at_least_float32(scipy.special.i0)
_i0e = at_least_float32(scipy.special.i0e)
_i1 = at_least_float32(scipy.special.i1)
_i1e = at_least_float32(scipy.special.i1e)


@operator(promote="float", elementwise=True, inplace=True, out=True)
def i0(self: Array) -> Array:
    """The modified Bessel function of the first kind of order 0 (torch.special.i0)."""
    require_floating(self, "i0_vml_cpu")
    return _i0(self)


@operator(node="SpecialI0EBackward0", promote="float", **_SPECIAL)
def special_i0e(self: Array) -> Array:
    """exp(-|self|) i0(self) (torch.special.i0e)."""
    require_floating(self, "i0e_cpu")
    return _i0e(self)


@operator(promote="float", **_SPECIAL)
def special_i1(self: Array) -> Array:
    """The modified Bessel function of the first kind of order 1 (torch.special.i1)."""
    require_floating(self, "i1_cpu")
    return _i1(self)


@operator(node="SpecialI1EBackward0", promote="float", **_SPECIAL)
def special_i1e(self: Array) -> Array:
    """exp(-|self|) i1(self) (torch.special.i1e)."""
    require_floating(self, "i1e_cpu")
    return _i1e(self)


# DLMF 10.29: i0' = i1, and i1' = i0 - i1 / x, which is 1/2 at 0.


def _away_from_zero(F, value, name: str):
    """The mask |value| > eps, and the value with eps in place of the smaller elements.

    The formulas divide by the value and select the limit at 0 by the mask, as torch's do. Raises
    NotImplementedError for float16 and bfloat16, with `name` as the kernel.
    """
    if F.dtype_of(value) in REDUCED:
        raise not_implemented(name, BY_NUMPY[F.dtype_of(value)])
    smallest = float(np.finfo(F.dtype_of(value)).eps)
    large = abs(value) > smallest
    return large, F.where(large, value, smallest)


def _of_i1(F, grad, self, result):
    large, x = _away_from_zero(F, self, "i1_backward")
    return grad * F.where(large, F.i0(x) - result * F.reciprocal(x), 0.5)


def _of_i1e(F, grad, self, result):
    large, x = _away_from_zero(F, self, "i1e_backward")
    slope = F.special_i0e(x) - result * (F.sgn(x) + F.reciprocal(x))
    return grad * F.where(large, slope, 0.5)


def _of_i0e(F, grad, self, result):
    falling = F.sgn(self) * result  # recorded first: C++ evaluates torch's right operand first
    return grad * (F.special_i1e(self) - falling)


i0.gradient(self=lambda F, grad, self: grad * F.special_i1(self))
special_i0e.gradient(self=_of_i0e)
special_i1.gradient(self=_of_i1)
special_i1e.gradient(self=_of_i1e)


# -- without derivative -------------------------------------------------------------------------


def _undifferentiated(name: str, function, doc: str, of_x: bool = False):
    """Define a function of float32 and float64 that torch does not differentiate.

    `of_x`: torch names the parameter `x` instead of `input`.
    """

    def compute(value):
        require_full_precision(value, f"{name}_cpu")
        return function(value).astype(value.dtype)

    def of_input(self: Array) -> Array:
        return compute(self)

    def of_named(x: Array) -> Array:
        return compute(x)

    kernel = of_named if of_x else of_input
    kernel.__name__, kernel.__doc__ = f"special_{name}", f"{doc} (torch.special.{name})."
    return operator(promote="float", **_SPECIAL)(kernel)


_KINDS = {"j": "first", "y": "second"}
for _name in ("j0", "j1", "y0", "y1"):
    _undifferentiated(
        f"bessel_{_name}",
        getattr(scipy.special, _name),
        f"The Bessel function of the {_KINDS[_name[0]]} kind of order {_name[1]}",
    )
for _name in ("i0", "i1", "k0", "k1"):
    _undifferentiated(
        f"modified_bessel_{_name}",
        getattr(scipy.special, _name),
        f"The modified Bessel function {_name}",
    )
for _name in ("k0", "k1"):
    _undifferentiated(
        f"scaled_modified_bessel_{_name}",
        getattr(scipy.special, f"{_name}e"),
        f"exp(x) {_name}(x), of the modified Bessel function",
        of_x=True,
    )
_undifferentiated(
    "spherical_bessel_j0",
    lambda value: scipy.special.spherical_jn(0, value),
    "The spherical Bessel function of the first kind of order 0",
    of_x=True,
)
_undifferentiated(
    "airy_ai", lambda value: scipy.special.airy(value)[0], "The Airy function Ai", of_x=True
)
