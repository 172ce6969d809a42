"""The cumulative distribution function of the normal distribution (ndtr), its logarithm and
inverse, and the scaled complementary error function."""

from __future__ import annotations

import math
from typing import Any

import scipy.special

from impl.core.dtypes import FLOATING, get_default_dtype
from impl.core.registry import tensor_ops
from impl.dispatch.definition import Array, operator
from impl.dispatch.not_implemented import require_full_precision
from impl.dispatch.out import copy_out
from impl.tensor.tensor import requires_grad

_SPECIAL: dict[str, Any] = {
    "promote": "float",
    "elementwise": True,
    "function": False,
    "method": False,
    "out": True,
}


@operator(**_SPECIAL)
def special_erfcx(self: Array) -> Array:
    """exp(self ** 2) erfc(self) (torch.special.erfcx)."""
    require_full_precision(self, "erfcx_cpu")
    return scipy.special.erfcx(self)


@operator(**_SPECIAL)
def special_ndtri(self: Array) -> Array:
    """The inverse of `ndtr`; NaN outside [0, 1] (torch.special.ndtri)."""
    require_full_precision(self, "ndtri_cpu")
    return scipy.special.ndtri(self)


@operator(**_SPECIAL, batching="fallback")
def special_log_ndtr(self: Array) -> Array:
    """log(ndtr(self)), exact where `ndtr` is nearly 0 or 1 (torch.special.log_ndtr)."""
    require_full_precision(self, "log_ndtr_cpu")
    return scipy.special.log_ndtr(self)


special_erfcx.gradient(
    self=lambda F, grad, self, result: (
        F.sub_scalar(F.mul_scalar(self, 2.0) * result, 2.0 / math.sqrt(math.pi)) * grad
    )
)
_WIDTH = math.sqrt(2 * math.pi)


# The right factors are recorded first, as C++ evaluates them.


def _of_quantile(F, grad, result):
    slope = F.exp(F.mul_scalar(F.pow_scalar(result, 2), 0.5))
    return F.mul_scalar(grad, _WIDTH) * slope


def _of_logarithm(F, grad, self, result):
    slope = F.exp(-(result + F.mul_scalar(F.pow_scalar(self, 2), 0.5)))
    return F.mul_scalar(grad, 1 / _WIDTH) * slope


special_ndtri.gradient(self=_of_quantile)
special_log_ndtr.gradient(self=_of_logarithm)


def ndtr(input, *, out=None):
    """The cumulative distribution function, (1 + erf(input / sqrt(2))) / 2 (torch.special.ndtr)."""
    if input.dtype.category < FLOATING:
        input = input.to(get_default_dtype())
    scaled = tensor_ops.mul_scalar(input, math.sqrt(0.5))
    result = tensor_ops.mul_scalar(tensor_ops.add_scalar(tensor_ops.erf(scaled), 1), 0.5)
    if out is None:
        return result
    if not requires_grad(result):
        result = result.contiguous()  # in which layout `out` is resized
    return copy_out("special_ndtr", out, result)
