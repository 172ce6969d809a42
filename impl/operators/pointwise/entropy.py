"""Products with logarithms that are 0 where the factor is: entr, xlogy, xlog1py."""

from __future__ import annotations

import numpy as np
import scipy.special

from impl.core.registry import array_ops, tensor_ops
from impl.dispatch.definition import Array, operator
from impl.dispatch.facts import NoComplex, SavedAs
from impl.dispatch.not_implemented import require_floating
from impl.dispatch.overloads import chosen, publish
from impl.kernels.reduced_precision import at_least_float32

_entr = at_least_float32(scipy.special.entr)


@operator(promote="float", elementwise=True, function=False, method=False, out=True)
def special_entr(self: Array) -> Array:
    """-x log(x); 0 at 0 and -inf below it (torch.special.entr)."""
    require_floating(self, "entr_cpu")
    return _entr(self)


special_entr.gradient(self=lambda F, grad, self: grad * -F.add_scalar(F.log(self), 1))


# -- x log(y) and x log(1 + y) ------------------------------------------------------------------


def _times_log(name: str, node: str, log, pole: int, check=None, **facts):
    """Define self * log(other) or self * log(1 + other), which are 0 where self is 0 and other no
    NaN: the operators of two tensors, of a tensor and a number, and of a number and a tensor.

    `pole` is where the logarithm is minus infinity; `facts` are those of all three operators.
    """

    def product(x, y):
        # Half and bfloat16 round the logarithm, too.
        dtype = x.dtype if hasattr(x, "dtype") else y.dtype
        if check is not None:
            check(dtype.type(0))
        if not hasattr(y, "dtype") or y.dtype != dtype:
            y = np.asarray(y).astype(dtype)[()]
        value = (x * log(y)).astype(dtype)
        return np.where(np.isnan(y), y, np.where(x == 0, dtype.type(0), value))

    def kernel(self: Array, other: Array) -> Array:
        return product(self, other)

    def define(suffix: str, number: int):
        kernel.__name__ = name + suffix
        settings = {**facts, "elementwise": True, "function": False, "method": False}
        if number and name == "xlogy":
            settings["saved_as"] = SavedAs(numbers_as_tensors=False)
        return operator(node=f"{node}Backward{number}", promote="float", **settings)(kernel)

    of_tensors, scalar, of_scalar = define("", 0), define("_scalar", 2), define("_of_scalar", 1)
    by_number = f"{name.removeprefix('special_')}_number"
    setattr(array_ops, by_number, lambda x, y: product(x, x.dtype.type(y)))
    setattr(tensor_ops, by_number, lambda x, y: scalar(x, y))

    def distance(F, other):
        return F.add_scalar(other, -pole) if pole else other

    def of_factor(F, grad, self, other):
        return F.masked_fill(getattr(F, name)(grad, other), (self == 0) & (other <= pole), 0.0)

    def of_factor_by_number(F, grad, self, other):
        slope = getattr(F, by_number)(grad, other)
        return slope if other > pole else F.masked_fill(slope, self == 0, 0.0)

    def tangent(F, self_t, self, other_t, other):
        return of_factor(F, self_t, self, other) + other_t * self / distance(F, other)

    of_tensors.gradient(
        self=of_factor, other=lambda F, grad, self, other: grad * self / distance(F, other)
    ).forward(tangent)
    scalar.gradient(self=of_factor_by_number)
    of_scalar.gradient(
        other=lambda F, grad, self, other: F.mul_scalar(grad, self) / distance(F, other)
    )
    for op in (scalar, of_scalar):
        op.composes(of_tensors)
    return of_tensors, scalar, of_scalar


publish(
    "xlogy",
    *_times_log("xlogy", "Xlogy", np.log, 0, complex=NoComplex("xlogy_cpu")),
    doc="input * log(other), and 0 where input is 0 and other no NaN (torch.xlogy).",
)
xlog1py = chosen(
    "special_xlog1py",
    *_times_log(
        "special_xlog1py",
        "SpecialXlog1Py",
        np.log1p,
        -1,
        lambda value: require_floating(value, "xlog1py_cpu"),
    ),
    doc="input * log(1 + other), and 0 where input is 0 and other no NaN (torch.special.xlog1py).",
)
