"""Products with logarithms that are 0 where the factor is: entr, xlog1py."""

from __future__ import annotations

import numpy as np
import scipy.special

from impl.operator import TAPED, Array, formula_operation, operator
from impl.overloads import chosen
from impl.precision import at_least_float32
from impl.refusals import require_floating

_entr = at_least_float32(scipy.special.entr)


@operator(promote="float", elementwise=True, function=False, method=False, out=True)
def special_entr(self: Array) -> Array:
    """-x log(x); 0 at 0 and -inf below it (torch.special.entr)."""
    require_floating(self, "entr_cpu")
    return _entr(self)


special_entr.gradient(self=lambda F, grad, self: grad * -F.add_scalar(F.log(self), 1))


# -- x log(1 + y) -------------------------------------------------------------------------------


def _xlog1py(x, y):
    # Half and bfloat16 round the logarithm, too.
    dtype = x.dtype if hasattr(x, "dtype") else y.dtype
    require_floating(dtype.type(0), "xlog1py_cpu")
    if getattr(y, "dtype", None) != dtype:
        y = np.asarray(y).astype(dtype)[()]
    product = (x * np.log1p(y)).astype(dtype)
    return np.where(np.isnan(y), y, np.where(x == 0, dtype.type(0), product))


@operator(
    node="SpecialXlog1PyBackward0", promote="float", elementwise=True, function=False, method=False
)
def special_xlog1py(self: Array, other: Array) -> Array:
    return _xlog1py(self, other)


@operator(
    node="SpecialXlog1PyBackward1", promote="float", elementwise=True, function=False, method=False
)
def special_xlog1py_of_scalar(self: Array, other: Array) -> Array:
    return _xlog1py(self, other)


@operator(
    node="SpecialXlog1PyBackward2", promote="float", elementwise=True, function=False, method=False
)
def special_xlog1py_scalar(self: Array, other: Array) -> Array:
    return _xlog1py(self, other)


def _of_factor(F, grad, self, other):
    return F.masked_fill(F.special_xlog1py(grad, other), (self == 0) & (other <= -1), 0.0)


def _of_factor_by_number(F, grad, self, other):
    slope = F.xlog1py_number(grad, other)
    return slope if other > -1 else F.masked_fill(slope, self == 0, 0.0)


@formula_operation
def xlog1py_number(x, y):
    """x log(1 + y) of an array and a number."""
    return _xlog1py(x, x.dtype.type(y))


TAPED.xlog1py_number = lambda x, y: special_xlog1py_scalar(x, y)

special_xlog1py.gradient(
    self=_of_factor,
    other=lambda F, grad, self, other: grad * self / F.add_scalar(other, 1),
)
special_xlog1py.forward(
    lambda F, self_t, self, other_t, other: (
        _of_factor(F, self_t, self, other) + other_t * self / F.add_scalar(other, 1)
    )
)
special_xlog1py_scalar.gradient(self=_of_factor_by_number)
special_xlog1py_of_scalar.gradient(
    other=lambda F, grad, self, other: F.mul_scalar(grad, self) / F.add_scalar(other, 1)
)
xlog1py = chosen(
    "special_xlog1py",
    special_xlog1py,
    special_xlog1py_scalar,
    special_xlog1py_of_scalar,
    doc="input * log(1 + other), and 0 where input is 0 and other no NaN (torch.special.xlog1py).",
)
