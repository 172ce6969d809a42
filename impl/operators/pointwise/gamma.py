"""Functions related to gamma: mvlgamma, Hurwitz's zeta, the incomplete gamma functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special

from impl.core.dtypes import BY_NUMPY, FLOATING, get_default_dtype
from impl.core.registry import array_ops, tensor_ops
from impl.dispatch.definition import Array, formula_operation, operator
from impl.dispatch.facts import MemoryOverlap
from impl.dispatch.not_implemented import (
    not_differentiated,
    refuse_complex,
    require_floating,
    require_full_precision,
)
from impl.dispatch.overloads import chosen
from impl.kernels.polygamma import hurwitz_zeta
from impl.kernels.reduced_precision import at_least_float32, rounded_once, widened
from impl.tensor.tensor import Tensor, new

# -- the multivariate gamma function ------------------------------------------------------------


def _halves(p: int, dtype) -> np.ndarray:
    """The shifts (1 - p) / 2, (2 - p) / 2, …, 0."""
    return (np.arange(1 - p, 1) / 2).astype(dtype)


def _check_written(value, p, out=None) -> None:
    """Raise RuntimeError for integers, in place or in an `out=` of this dtype, that would have to
    take the logarithm."""
    _check_dimension(value, p)
    refuse_complex(value, "arange_cpu")
    made = BY_NUMPY[value.dtype]
    made = made if made.category >= FLOATING else get_default_dtype()
    if BY_NUMPY[out or value.dtype].category < made.category:
        kind = BY_NUMPY[value.dtype].legacy
        raise RuntimeError(
            f"mvlgamma: result type {kind} can't be cast to the desired output type {made.legacy}"
        )


@operator(
    promote="float",
    inplace=True,
    out=True,
    layout_sensitive=True,
    batching="pointwise",
    memory=MemoryOverlap(preceded=_check_written),
)
def mvlgamma(self: Array, p) -> Array:
    """The logarithm of the multivariate gamma function of dimension p (torch.mvlgamma).

    Raises RuntimeError for a p below 1 and for bools.
    """
    refuse_complex(self, "arange_cpu")
    return _log_multigamma(self, p)


@at_least_float32
def _log_multigamma(value, p: int):
    terms = array_ops.lgamma(value[..., None] + _halves(p, value.dtype))
    constant = p * (p - 1) / 4 * math.log(math.pi)
    return (terms.sum(-1) + value.dtype.type(constant)).astype(value.dtype)


@mvlgamma.checked
def _check_dimension(self, p) -> None:
    if self.dtype.kind == "b":
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")


@mvlgamma.checks_out
def _check_out(out, value, p) -> None:
    _check_written(value, p, out)


@formula_operation
def multigamma_slope(value, p):
    """The derivative of `mvlgamma`: a sum of digammas."""
    shifted = widened(value)[..., None]
    return array_ops.digamma(shifted + _halves(p, shifted.dtype)).sum(-1).astype(value.dtype)


def _multigamma_slope(value: Tensor, p) -> Tensor:
    halves = new(_halves(p, value._raw.dtype))
    digammas = (halves + tensor_ops.unsqueeze(value, -1)).digamma_()
    return tensor_ops.sum_dim(digammas, -1, False, None)


tensor_ops.multigamma_slope = _multigamma_slope
mvlgamma.gradient(self=lambda F, grad, self, p: grad * F.multigamma_slope(self, p))

# -- zeta ---------------------------------------------------------------------------------------

_ZETA: dict[str, Any] = {
    "promote": "float",
    "elementwise": True,
    "function": False,
    "method": False,
}


def _zeta(x, q):
    dtype = (x if hasattr(x, "dtype") else q).dtype
    require_full_precision(dtype.type(0), "zeta_cpu")
    x, q = (np.asarray(value, dtype) for value in (x, q))
    # The last terms of an infinite q are products of zero and infinity.
    endless = np.isposinf(q) & (x > 1)
    return np.where(endless, dtype.type(np.nan), hurwitz_zeta(x, q)).astype(dtype)[()]


@operator(**_ZETA)
def special_zeta(self: Array, other: Array) -> Array:
    return _zeta(self, other)


@operator(node="SpecialZetaBackward1", **_ZETA, torch_name="special_zeta")
def special_zeta_of_scalar(self: Array, other: Array) -> Array:
    return _zeta(self, other)


@operator(node="SpecialZetaBackward2", **_ZETA, torch_name="special_zeta")
def special_zeta_scalar(self: Array, other: Array) -> Array:
    return _zeta(self, other)


special_zeta.gradient(
    self=not_differentiated("zeta"),
    other=lambda F, grad, self, other: grad * F.neg(self) * F.zeta_of_next(self, other),
)
special_zeta_of_scalar.gradient(
    other=lambda F, grad, self, other: F.mul_scalar(grad, -self) * F.zeta_of_number(self + 1, other)
)
special_zeta_scalar.gradient(self=not_differentiated("zeta"))
for _op in (special_zeta, special_zeta_of_scalar, special_zeta_scalar):
    _op.forward("unsupported", name="special_zeta", invited=True)


@formula_operation
def zeta_of_number(x, q):
    """zeta of a number and an array."""
    return _zeta(x, q)


@formula_operation
def zeta_of_next(x, q):
    """zeta of x + 1, of which the dtype may be another than that of q."""
    dtype = np.float64 if np.float64 in (x.dtype, q.dtype) else np.float32
    return _zeta((x + 1).astype(dtype), q.astype(dtype))


def _zeta_of_next(x: Tensor, q: Tensor) -> Tensor:
    if x.dtype.category < FLOATING:
        x = x.to(get_default_dtype())
    return special_zeta(tensor_ops.add_scalar(x, 1.0), q)


tensor_ops.zeta_of_next = _zeta_of_next
tensor_ops.zeta_of_number = lambda x, q: special_zeta_of_scalar(x, q)
zeta = chosen(
    "special_zeta",
    special_zeta,
    special_zeta_scalar,
    special_zeta_of_scalar,
    doc="Hurwitz's zeta function, the sum of (k + other) ** -input (torch.special.zeta).",
)

# -- incomplete gamma functions -----------------------------------------------------------------


@operator(promote="arithmetic", elementwise=True, inplace=True, out=True, numbers=False)
def igamma(self: Array, other: Array) -> Array:
    """The regularized lower incomplete gamma function P(self, other) (torch.igamma)."""
    require_floating(self, "igamma_cpu")
    return _incomplete(self, other)


@operator(promote="arithmetic", elementwise=True, inplace=True, out=True, numbers=False)
def igammac(self: Array, other: Array) -> Array:
    """1 - igamma(self, other), exact where igamma is nearly 1 (torch.igammac)."""
    require_floating(self, "igammac_cpu")
    return _incomplete_from(self, other)


def _without_parameter(found, a, x, at_zero: int):
    """The integral for a parameter `a` that is no number, of which ATen's loop looks at `x` alone
    where that is zero or infinite."""
    ends = np.where(x == 0, found.dtype.type(at_zero), found.dtype.type(1 - at_zero))
    return np.where(np.isnan(a) & ((x == 0) | np.isposinf(x)), ends, found)


_incomplete = rounded_once(lambda a, x: _without_parameter(scipy.special.gammainc(a, x), a, x, 0))
_incomplete_from = rounded_once(
    lambda a, x: _without_parameter(scipy.special.gammaincc(a, x), a, x, 1)
)


def _density(F, self, other):
    """The derivative of P by `other`: other ** (self - 1) exp(-other) / gamma(self)."""
    return F.exp(F.sub_scalar(self, 1) * F.log(other) - other - F.lgamma_of_operand(self))


@formula_operation
def lgamma_of_operand(value):
    """lgamma of an operand as it was given, which may be of whole numbers."""
    if value.dtype.kind in "biu":
        value = value.astype(get_default_dtype().numpy)
    return array_ops.lgamma(value)


tensor_ops.lgamma_of_operand = lambda value: tensor_ops.lgamma(value)


igamma.gradient(
    self=not_differentiated("igamma: input"),
    other=lambda F, grad, self, other: grad * _density(F, self, other),
)
igammac.gradient(
    self=not_differentiated("igammac: input"),
    other=lambda F, grad, self, other: -grad * _density(F, self, other),
)
for _op in (igamma, igammac):
    _op.forward("unsupported", name=_op.name, invited=True)
